#ifndef GOODPUT_PARALLEL_PARALLEL_CLUSTER_HPP
#define GOODPUT_PARALLEL_PARALLEL_CLUSTER_HPP

// GPUs by zone and type, and the links between them: how long a message takes and what it costs. Bandwidth
// grows with the message. It was measured, and fitted by a parabola in the message's logarithm (Sailor).

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// Bandwidth of a link in GB/s (1e9 bytes) for a message of x bytes: square * u^2 + linear * u + constant
/// with u = log2(x / 1e6).
struct BandwidthCurve {
    double square = 0;    ///< GB/s per squared doubling of the message
    double linear = 0;    ///< GB/s per doubling
    double constant = 0;  ///< GB/s at 1e6 bytes

    friend bool operator==(const BandwidthCurve&, const BandwidthCurve&) = default;

    /// Returns the seconds that a message takes: 0 without any bytes, and infinity if the curve is not
    /// positive, because it was then fitted to other sizes.
    [[nodiscard]] double seconds(double bytes) const {
        if (!(bytes > 0)) return 0;
        const double size = std::log2(bytes) - std::log2(1e6);
        const double gigabytes_per_second = (square * size + linear) * size + constant;
        return gigabytes_per_second > 0 ? bytes / 1e9 / gigabytes_per_second
                                        : std::numeric_limits<double>::infinity();
    }
};

/// The properties of a GPU type that a plan needs.
struct GpuType {
    std::string name{};       ///< name used in profiles
    int gpus_per_node = 1;    ///< a tensor-parallel group lies within one node
    double memory_gib = 0;    ///< memory of one GPU
    double usd_per_hour = 0;  ///< price of one GPU
};

/// The place of a stage's replica: `gpus` GPUs of a type on one node of a zone.
struct LinkEnd {
    std::size_t zone = 0;      ///< index into ParallelCluster::zones
    std::size_t gpu_type = 0;  ///< index into ParallelCluster::types
    int gpus = 1;              ///< GPUs of one replica, on one node
    /// Orders by zone, type, GPUs.
    friend constexpr auto operator<=>(const LinkEnd&, const LinkEnd&) = default;
};

/// The GPUs that a plan may use, and the links between them.
struct ParallelCluster {
    std::vector<GpuType> types{};          ///< types of all zones
    std::vector<std::string> zones{};      ///< names of the zones
    std::vector<std::vector<int>> gpus{};  ///< number of GPUs by zone, then type
    /// Bandwidth from the first to the second end. A missing pair has no link.
    std::map<std::pair<LinkEnd, LinkEnd>, BandwidthCurve> links{};
    std::vector<std::vector<double>> usd_per_gigabyte{};  ///< price of traffic, by zone from, zone to

    /// Returns the link between two replicas, or nullptr.
    [[nodiscard]] const BandwidthCurve* link(const LinkEnd& from, const LinkEnd& to) const {
        const auto found = links.find({from, to});
        return found == links.end() ? nullptr : &found->second;
    }
    /// Returns the number of GPUs of a type in all zones.
    [[nodiscard]] int gpus_of(std::size_t type) const {
        int sum = 0;
        for (const auto& zone : gpus) sum += zone[type];
        return sum;
    }

    /// Returns the zones that have GPUs of any type, ascending.
    [[nodiscard]] std::vector<std::size_t> zones_with_gpus() const {
        std::vector<std::size_t> some;
        for (std::size_t z = 0; z < gpus.size(); ++z)
            if (std::any_of(gpus[z].begin(), gpus[z].end(), [](int count) { return count > 0; }))
                some.push_back(z);
        return some;
    }

    /// Throws std::invalid_argument for tables whose size does not match the zones and types, negative
    /// numbers of GPUs, nodes without GPUs, negative memory and prices, and curves that are not finite.
    void validate() const;
};

inline void ParallelCluster::validate() const {
    const auto at = [](std::size_t i) { return text_of(i); };
    const auto check_length = [](std::size_t length, std::size_t wanted, const char* field) {
        if (length != wanted)
            bad_input("cluster", field, length, "a table of " + text_of(wanted) + " entries");
    };
    for (const GpuType& type : types) {
        const auto subject = [&] { return "GPU type '" + type.name + "'"; };
        require_between(subject, "gpus_per_node", type.gpus_per_node, 1, 1 << 10);
        require_positive(subject, "memory_gib", type.memory_gib);
        require_at_least(subject, "usd_per_hour", type.usd_per_hour, 0);
    }
    check_length(gpus.size(), zones.size(), "gpus");
    check_length(usd_per_gigabyte.size(), zones.size(), "usd_per_gigabyte");
    for (std::size_t z = 0; z < zones.size(); ++z) {
        check_length(gpus[z].size(), types.size(), "gpus of a zone");
        check_length(usd_per_gigabyte[z].size(), zones.size(), "usd_per_gigabyte of a zone");
        for (const int count : gpus[z]) require_between("zone '" + zones[z] + "'", "gpus", count, 0, 1 << 24);
        for (const double price : usd_per_gigabyte[z])
            require_at_least("zone '" + zones[z] + "'", "usd_per_gigabyte", price, 0);
    }
    for (const auto& [ends, curve] : links) {
        for (const LinkEnd& end : {ends.first, ends.second})
            if (end.zone >= zones.size() || end.gpu_type >= types.size())
                bad_input("link", "end", "zone " + at(end.zone) + ", GPU type " + at(end.gpu_type),
                          "indices into the cluster's zones and types");
        for (const double number : {curve.square, curve.linear, curve.constant})
            if (!std::isfinite(number))
                bad_input("link from zone " + at(ends.first.zone) + " to zone " + at(ends.second.zone),
                          "bandwidth", number, "a finite number");
    }
}

}  // namespace goodput::inline v0_1

#endif
