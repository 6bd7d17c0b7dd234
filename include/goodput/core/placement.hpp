#ifndef GOODPUT_CORE_PLACEMENT_HPP
#define GOODPUT_CORE_PLACEMENT_HPP

// What a job got: which nodes, and how many GPUs of each; and why. Three things that are easily mixed up stay
// apart: a job that waits would fit an emptier cluster; a job that is impossible would not fit the empty one;
// bad input is neither and never gets here (error.hpp).

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"

namespace goodput {

/// GPUs of one node.
struct NodeShare {
    std::size_t node = 0;  ///< index into Cluster::nodes
    int gpus = 0;          ///< at least 1

    /// By node, then GPUs.
    friend constexpr auto operator<=>(const NodeShare&, const NodeShare&) = default;
};

/// Nodes in ascending order, each with at least one GPU; empty: the job runs nowhere.
using Placement = std::vector<NodeShare>;

/// The shape that a placement has.
[[nodiscard]] inline Shape shape_of(const Placement& placement) {
    Shape shape{static_cast<int>(placement.size()), 0};
    for (const NodeShare& share : placement) shape.gpus += share.gpus;
    return shape;
}

/// The GPUs of a pool that a placement holds. Empty for an empty placement, and for one over nodes of several
/// pools.
[[nodiscard]] inline PoolShare pool_share_of(const Placement& placement, const Cluster& cluster) {
    if (placement.empty()) return {};
    const Node& first = cluster.nodes[placement.front().node];
    for (const NodeShare& share : placement)
        if (!is_node_of(cluster.nodes[share.node], first)) return {};
    return {first.gpu_type, first.gpus, shape_of(placement), first.spot, first.group};
}

/// The configuration that a placement realises: one part for every pool that it has nodes of.
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

/// What became of a job this round.
enum class Outcome {
    runs,       ///< has GPUs this round
    waits,      ///< could run on this cluster, but lost to others this round
    impossible  ///< no set of healthy nodes could hold it
};

/// An outcome with its reason.
struct Verdict {
    Outcome outcome = Outcome::runs;  ///< which of the three
    std::string reason{};             ///< one sentence; empty for a job that runs
};

}  // namespace goodput

#endif
