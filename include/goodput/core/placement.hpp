#ifndef GOODPUT_CORE_PLACEMENT_HPP
#define GOODPUT_CORE_PLACEMENT_HPP

// The result of a round for a job: its nodes, the number of GPUs on each, and the reason.
//
// Three cases that are easily confused stay separate. A waiting job would fit a less busy cluster. An
// impossible job would not even fit the empty cluster. Bad input is neither, and never gets here
// (error.hpp).

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1 {

/// GPUs of one node.
struct NodeShare {
    std::size_t node = 0;  ///< index into Cluster::nodes
    int gpus = 0;          ///< at least 1

    /// Orders by node, then GPUs.
    friend constexpr auto operator<=>(const NodeShare&, const NodeShare&) = default;
};

/// Nodes in ascending order, each with at least one GPU. Empty if the job runs nowhere.
using Placement = std::vector<NodeShare>;

/// Returns the shape of a placement.
[[nodiscard]] inline Shape shape_of(const Placement& placement) {
    Shape shape{static_cast<int>(placement.size()), 0};
    for (const NodeShare& share : placement) shape.gpus += share.gpus;
    return shape;
}

/// Returns whether a placement has GPUs of a drained node.
[[nodiscard]] inline bool on_drained(const Placement& placement, const Cluster& cluster) {
    return std::ranges::any_of(placement,
                               [&](const NodeShare& share) { return cluster.nodes[share.node].drained; });
}

/// Returns the GPUs of a placement as a share of its pool. Returns an empty share if the placement is empty
/// or lies on nodes of several pools.
[[nodiscard]] inline PoolShare pool_share_of(const Placement& placement, const Cluster& cluster) {
    if (placement.empty()) return {};
    const Node& first = cluster.nodes[placement.front().node];
    for (const NodeShare& share : placement)
        if (!is_node_of(cluster.nodes[share.node], first)) return {};
    return {first.gpu_type, first.gpus, shape_of(placement), first.spot, first.group};
}

/// Returns the configuration of a placement: one part for every pool with nodes in it.
[[nodiscard]] inline Configuration configuration_of(const Placement& placement, const Cluster& cluster) {
    if (const PoolShare one = pool_share_of(placement, cluster); !one.empty() || placement.empty())
        return one;
    std::vector<PoolShare> parts;
    for (const NodeShare& share : placement) {
        const Node& node = cluster.nodes[share.node];
        const PoolShare added{node.gpu_type, node.gpus, {1, share.gpus}, node.spot, node.group};
        const auto part = std::find_if(parts.begin(), parts.end(),
                                       [&](const PoolShare& known) { return known.same_pool(added); });
        if (part == parts.end()) {
            parts.push_back(added);
        } else {
            ++part->shape.nodes;
            part->shape.gpus += share.gpus;
        }
    }
    return Configuration(std::move(parts));
}

/// The fate of a job in this round.
enum class Outcome {
    runs,       ///< has GPUs in this round
    waits,      ///< could run on this cluster, but lost to other jobs in this round
    impossible  ///< fits no set of healthy nodes
};

/// An outcome with its reason.
struct Verdict {
    Outcome outcome = Outcome::runs;  ///< one of the three fates
    std::string reason{};             ///< one sentence; empty for a job that runs
};

}  // namespace goodput::inline v0_1

#endif
