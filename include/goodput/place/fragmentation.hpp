#ifndef GOODPUT_PLACE_FRAGMENTATION_HPP
#define GOODPUT_PLACE_FRAGMENTATION_HPP

// Measures the sizes of the free pieces of a cluster.
//
// A job on one node needs a block of GPUs, and a job over several nodes needs wholly free nodes, so f free
// GPUs are worth more on one node than spread over f nodes. Three numbers describe this: the free GPUs, the
// largest block, and the wholly free nodes. fragmentation() = 1 - (GPUs on wholly free nodes) / (free GPUs)
// is 0 if all free GPUs are on wholly free nodes, and 1 if none is. O(nodes + nodes held).

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::inline v0_1 {

/// The free GPUs, and the sizes of the free pieces.
struct FreeSpace {
    int gpus = 0;                 ///< free GPUs
    int largest_block = 0;        ///< largest number of free GPUs on one node
    std::size_t whole_nodes = 0;  ///< nodes that no job uses
    int whole_node_gpus = 0;      ///< GPUs on them

    /// Returns the fraction of the free GPUs that are not on wholly free nodes; 0 if no GPU is free.
    [[nodiscard]] double fragmentation() const {
        return gpus == 0 ? 0 : 1 - static_cast<double>(whole_node_gpus) / gpus;
    }

    /// Returns one line for a log.
    [[nodiscard]] std::string report() const {
        return text_of(gpus) + " GPUs free, " + text_of(largest_block) + " on one node, " +
               text_of(whole_nodes) + " whole nodes";
    }

    /// Compares all four members.
    friend constexpr bool operator==(const FreeSpace&, const FreeSpace&) = default;
};

/// Returns for each node the number of GPUs that a new job could get there. It is 0 on drained nodes and on
/// nodes of a job over several nodes. Throws std::invalid_argument for a node that does not exist or has
/// too few GPUs for its jobs, and for clusters that validate_nodes() refuses.
[[nodiscard]] inline std::vector<int> free_gpus(const Cluster& cluster,
                                                std::span<const Placement> placements) {
    validate_nodes(cluster);
    std::vector<int> free;
    free.reserve(cluster.nodes.size());
    for (const Node& node : cluster.nodes) free.push_back(node.gpus);
    for (std::size_t job = 0; job < placements.size(); ++job)
        for (const NodeShare& share : placements[job]) {
            const auto subject = [&] { return "placement " + text_of(job); };
            if (share.node >= free.size())
                bad_input(subject(), "node", share.node, "an index into the cluster's nodes");
            if (share.gpus < 1 || share.gpus > free[share.node])
                bad_input(subject(), "gpus on node '" + cluster.nodes[share.node].name + "'", share.gpus,
                          "between 1 and the " + text_of(free[share.node]) + " GPUs that others leave");
            free[share.node] -= share.gpus;
        }
    for (const Placement& placement : placements)
        for (const NodeShare& share : placement)
            if (placement.size() > 1) free[share.node] = 0;
    for (std::size_t node = 0; node < free.size(); ++node)
        if (cluster.nodes[node].drained) free[node] = 0;
    return free;
}

/// Returns the free space of these nodes, for example those of a pool. `free` contains the free GPUs by
/// node (see free_gpus()).
[[nodiscard]] inline FreeSpace free_space(const Cluster& cluster, std::span<const std::size_t> nodes,
                                          std::span<const int> free) {
    FreeSpace space;
    for (const std::size_t node : nodes) {
        space.gpus += free[node];
        space.largest_block = std::max(space.largest_block, free[node]);
        if (free[node] != cluster.nodes[node].gpus) continue;
        ++space.whole_nodes;
        space.whole_node_gpus += free[node];
    }
    return space;
}

/// Returns the free space that these placements leave on the whole cluster.
[[nodiscard]] inline FreeSpace free_space(const Cluster& cluster, std::span<const Placement> placements) {
    const std::vector<int> free = free_gpus(cluster, placements);
    std::vector<std::size_t> all(free.size());
    for (std::size_t node = 0; node < all.size(); ++node) all[node] = node;
    return free_space(cluster, all, free);
}

}  // namespace goodput::inline v0_1

#endif
