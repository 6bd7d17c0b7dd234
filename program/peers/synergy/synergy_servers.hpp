#ifndef GOODPUT_PROGRAM_PEERS_SYNERGY_SYNERGY_SERVERS_HPP
#define GOODPUT_PROGRAM_PEERS_SYNERGY_SYNERGY_SERVERS_HPP

// The servers of Synergy's public simulator. GPUs, CPU cores and memory form a vector for each server, and
// this decides where a job's vector goes. The simulator's fourth number, storage bandwidth, is left out:
// every job asks for exactly that of its GPUs, so it never decides anything.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::peers {

/// The amounts of a job, or those free on a server.
struct SynergyAmounts {
    double gpus = 0, cores = 0, memory_gib = 0;

    SynergyAmounts& operator+=(const SynergyAmounts& other) {
        gpus += other.gpus;
        cores += other.cores;
        memory_gib += other.memory_gib;
        return *this;
    }
    SynergyAmounts& operator-=(const SynergyAmounts& other) { return *this += other * -1; }
    SynergyAmounts operator*(double factor) const {
        return {gpus * factor, cores * factor, memory_gib * factor};
    }
    /// Whether it has all of `other`, up to rounding.
    [[nodiscard]] bool covers(const SynergyAmounts& other) const {
        const auto enough = [](double have, double want) { return have >= want - 1e-9 * (1 + want); };
        return enough(gpus, other.gpus) && enough(cores, other.cores) && enough(memory_gib, other.memory_gib);
    }
};

/// Returns the amounts of all nodes together.
inline SynergyAmounts amounts_of(const Cluster& cluster) {
    SynergyAmounts amounts;
    for (const Node& node : cluster.nodes)
        amounts += {static_cast<double>(node.gpus), node.cores, node.memory_gib};
    return amounts;
}

/// The order in which servers are tried.
enum class SynergyPlacement {
    fewest_free,  ///< published as "synergy placement": servers with few free GPUs first; one server if any
                  ///< has room
    in_order      ///< published as "random": GPU by GPU, from the first server to the last
};

/// The free amounts in a round, which begins with all servers empty.
class SynergyServers {
public:
    SynergyServers(const Cluster& cluster, SynergyPlacement placement) : placement_(placement) {
        for (const Node& node : cluster.nodes)
            free_.push_back({static_cast<double>(node.gpus), node.cores, node.memory_gib});
    }

    [[nodiscard]] std::span<const SynergyAmounts> free() const { return free_; }
    [[nodiscard]] int free_gpus(std::size_t server) const { return static_cast<int>(free_[server].gpus); }

    /// Finds a place for that many GPUs with that much per GPU. Returns an empty list if there is none.
    [[nodiscard]] Placement room_for(int gpus, const SynergyAmounts& beside_each) const {
        const bool fewest_first = placement_ == SynergyPlacement::fewest_free;
        const std::vector<std::size_t> order = fewest_first ? by_fewest_free_gpus() : in_order();
        if (fewest_first && gpus > 1)
            for (const std::size_t server : order)
                if (free_[server].covers(beside_each * gpus)) return {{server, gpus}};
        Placement parts;
        int left = gpus;
        for (const std::size_t server : order) {
            NodeShare part{server, 0};
            for (SynergyAmounts rest = free_[server]; left > 0 && rest.covers(beside_each); --left) {
                rest -= beside_each;
                ++part.gpus;
            }
            if (part.gpus > 0) parts.push_back(part);
            if (left == 0) return parts;
        }
        return {};
    }

    /// Returns the servers whose GPUs a job with that many may have, whatever else is free there.
    [[nodiscard]] Placement gpus_for(int gpus) const {
        const std::vector<std::size_t> fewest = by_fewest_free_gpus();
        for (const std::size_t server : gpus > 1 ? in_order() : fewest)
            if (free_gpus(server) >= gpus) return {{server, gpus}};
        Placement parts;
        for (const std::size_t server : fewest) {
            const int taken = std::min(free_gpus(server), gpus);
            if (taken > 0) parts.push_back({server, taken});
            gpus -= taken;
        }
        return parts;
    }

    void take(std::span<const NodeShare> parts, const SynergyAmounts& beside_each) {
        for (const NodeShare& part : parts) free_[part.node] -= beside_each * part.gpus;
    }
    void give_back(std::span<const NodeShare> parts, const SynergyAmounts& beside_each) {
        for (const NodeShare& part : parts) free_[part.node] += beside_each * part.gpus;
    }

private:
    [[nodiscard]] std::vector<std::size_t> in_order() const {
        std::vector<std::size_t> order(free_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        return order;
    }
    [[nodiscard]] std::vector<std::size_t> by_fewest_free_gpus() const {
        std::vector<std::size_t> order = in_order();
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return free_gpus(a) < free_gpus(b); });
        return order;
    }

    SynergyPlacement placement_;
    std::vector<SynergyAmounts> free_;
};

}  // namespace goodput::peers

#endif
