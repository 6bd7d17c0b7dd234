#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_KEPT_NODES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_KEPT_NODES_HPP

// Which nodes: as in Gavel's simulator. A job that runs on stays where it is; the others, those of most GPUs
// first, get the first GPUs that are free, whatever nodes these are on; drained nodes take no new job. Two
// jobs that share their GPUs stay where one of them is.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::peers {

/// What a job is to get.
struct WantedGpus {
    int gpus = 0;  ///< 0: nothing
    std::size_t gpu_type = 0;
};

/// Fills in configuration and placement of the plan's decisions, by job of the snapshot. Together they want
/// no more GPUs of a type than nodes have that are not drained. Decision::shares_with is given: the second of
/// two such jobs wants nothing and has what the first gets.
inline void place_on_kept_nodes(const Snapshot& snapshot, std::span<const WantedGpus> wanted, Plan& plan) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    std::vector<int> free;
    for (const Node& node : nodes) free.push_back(node.drained ? 0 : node.gpus);
    std::vector<std::size_t> order;
    const auto keep = [&](std::size_t j, const Placement& held) {
        if (shape_of(held).gpus != wanted[j].gpus || nodes[held.front().node].gpu_type != wanted[j].gpu_type)
            return false;
        // Who shared these GPUs may have kept them.
        for (const NodeShare& share : held)
            if (!nodes[share.node].drained && free[share.node] < share.gpus) return false;
        plan.decisions[j].placement = held;
        for (const NodeShare& share : held) free[share.node] -= share.gpus;
        return true;
    };
    for (std::size_t j = 0; j < wanted.size(); ++j) {
        if (wanted[j].gpus == 0 || keep(j, snapshot.jobs[j].placement)) continue;
        const std::optional<std::size_t> partner = plan.decisions[j].shares_with;
        if (!partner || !keep(j, snapshot.jobs[*partner].placement)) order.push_back(j);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return wanted[a].gpus > wanted[b].gpus; });
    // By GPU type: before that node nothing is free.
    std::vector<std::size_t> first(snapshot.cluster.gpu_types.size());
    for (const std::size_t j : order) {
        int missing = wanted[j].gpus;
        for (std::size_t& n = first[wanted[j].gpu_type]; n < nodes.size() && missing > 0; ++n) {
            if (nodes[n].gpu_type != wanted[j].gpu_type || free[n] <= 0) continue;
            const int given = std::min(missing, free[n]);
            plan.decisions[j].placement.push_back({n, given});
            missing -= given;
            free[n] -= given;
            if (free[n] > 0) break;
        }
    }
    for (std::size_t j = 0; j < wanted.size(); ++j) {
        Decision& decision = plan.decisions[j];
        if (decision.shares_with && wanted[j].gpus == 0)
            decision.placement = plan.decisions[*decision.shares_with].placement;
        decision.option.configuration = configuration_of(decision.placement, snapshot.cluster);
        decision.option.plan = {1, 0};
        decision.option.knowledge = Knowledge::measured;
    }
    find_actions(snapshot, plan);
}

}  // namespace goodput::peers

#endif
