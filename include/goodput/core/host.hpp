#ifndef GOODPUT_CORE_HOST_HPP
#define GOODPUT_CORE_HOST_HPP

// CPU cores and host memory beside a GPU: how much of them a job may be given, and how fast it is with them
// (Synergy's sensitivity profile).

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"

namespace goodput {

/// A measured speed.
struct HostSpeed {
    double cores_per_gpu = 0;       ///< with so many CPU cores a GPU
    double memory_gib_per_gpu = 0;  ///< and so much host memory
    double factor = 1;              ///< on the throughput; at least 0
};

/// What a job may be given beside a GPU.
struct HostNeeds {
    HostShare least{};               ///< of each at least so much a GPU
    HostShare most{};                ///< of each at most so much; what it does not count, the job does not
    std::vector<HostSpeed> speed{};  ///< in any order; none: the throughput does not depend on it

    /// Factor on the throughput with this share, between the measured points: bilinear on the grid of their
    /// cores and memories, at its edge beyond them, and in proportion below its least. A grid point that was
    /// not measured takes the largest factor of those that have no more of either: more never harms. Of what
    /// the share does not count there is enough; an amount of 0 is the least that there is.
    [[nodiscard]] double factor(const HostShare& share) const;

    /// Calls `input(number)` for all numbers.
    template <class Input>
    void for_each_input(Input& input) const {
        for (const HostShare& share : {least, most}) {
            input(share.cores_per_gpu);
            input(share.memory_gib_per_gpu);
            input(share.counts_cores());
            input(share.counts_memory());
        }
        input(speed.size());
        for (const HostSpeed& point : speed) {
            input(point.cores_per_gpu);
            input(point.memory_gib_per_gpu);
            input(point.factor);
        }
    }
};

/// Refuses needs with numbers that are not finite, or with less at most than at least
/// (std::invalid_argument).
template <MessageSubject Subject>
void validate(const HostNeeds& needs, const Subject& subject) {
    require_at_least(subject, "host.cores_per_gpu (least)", needs.least.cores_per_gpu, 0);
    require_at_least(subject, "host.cores_per_gpu (most)", needs.most.cores_per_gpu,
                     needs.least.cores_per_gpu);
    require_at_least(subject, "host.memory_gib_per_gpu (least)", needs.least.memory_gib_per_gpu, 0);
    require_at_least(subject, "host.memory_gib_per_gpu (most)", needs.most.memory_gib_per_gpu,
                     needs.least.memory_gib_per_gpu);
    for (const HostSpeed& speed : needs.speed) {
        require_at_least(subject, "host.speed (cores)", speed.cores_per_gpu, 0);
        require_at_least(subject, "host.speed (memory_gib)", speed.memory_gib_per_gpu, 0);
        require_at_least(subject, "host.speed (factor)", speed.factor, 0);
    }
}

namespace detail {

/// The factor at a point of the grid.
inline double factor_at(const std::vector<HostSpeed>& points, double cores, double memory) {
    double with_no_more = -1, least = std::numeric_limits<double>::infinity();
    for (const HostSpeed& point : points) {
        least = std::min(least, point.factor);
        if (point.cores_per_gpu == cores && point.memory_gib_per_gpu == memory) return point.factor;
        if (point.cores_per_gpu <= cores && point.memory_gib_per_gpu <= memory)
            with_no_more = std::max(with_no_more, point.factor);
    }
    return with_no_more >= 0 ? with_no_more : least;
}

}  // namespace detail

inline double HostNeeds::factor(const HostShare& share) const {
    if (speed.empty()) return 1;
    constexpr double far = std::numeric_limits<double>::infinity();
    double below = 1;  // part of the least that was measured, where it is less than that
    // The measured amounts on both sides of one, and how far it is from the lower to the upper one. What is
    // not counted is not what limits.
    const auto between = [&](double HostSpeed::*amount, bool counts, double wanted) {
        const double at = counts ? wanted : far;
        double low = -far, high = far;
        for (const HostSpeed& point : speed) {
            if (point.*amount <= at) low = std::max(low, point.*amount);
            if (point.*amount >= at) high = std::min(high, point.*amount);
        }
        if (low == -far) {
            low = high;
            if (high > 0) below *= at / high;
        }
        if (high == far) high = low;
        return std::tuple{low, high, high > low ? (at - low) / (high - low) : 0};
    };
    const auto [few, many, cores] =
        between(&HostSpeed::cores_per_gpu, share.counts_cores(), share.cores_per_gpu);
    const auto [little, much, memory] =
        between(&HostSpeed::memory_gib_per_gpu, share.counts_memory(), share.memory_gib_per_gpu);
    const auto along_cores = [&, few = few, many = many, cores = cores](double gib) {
        const double low = detail::factor_at(speed, few, gib);
        return low + cores * (detail::factor_at(speed, many, gib) - low);
    };
    const double low = along_cores(little);
    return (low + memory * (along_cores(much) - low)) * below;
}

/// A measurement as it would have been at factor 1, so that samples with different shares are of one model:
/// step and synchronisation are multiplied by the factor of the share that they were measured with. As it is
/// where no share is stated, no needs are known, or the time at factor 1 would be none that a step can have.
[[nodiscard]] inline ThroughputSample at_factor_one(ThroughputSample sample,
                                                    const std::optional<HostNeeds>& needs) {
    const HostShare share = sample.host;
    sample.host = {};
    if (!needs || share.empty()) return sample;
    const double factor = needs->factor(share), step = sample.step_seconds * factor;
    if (!(step >= least_step_seconds && step <= most_step_seconds)) return sample;
    sample.step_seconds = step;
    // Rounding may take the one to the other.
    sample.sync_seconds = std::min(sample.sync_seconds * factor, std::nextafter(step, 0.0));
    return sample;
}

}  // namespace goodput

#endif
