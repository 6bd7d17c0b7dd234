#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_KEPT_NODES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_KEPT_NODES_HPP

// Chooses nodes as Gavel's simulator does. A job that continues stays where it is. The others, those with
// the most GPUs first, get the first GPUs that are free, whatever nodes these are on. Drained nodes take no
// new job. Two jobs that share their GPUs stay where one of them is.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::peers {

/// The GPUs that a job should get.
struct WantedGpus {
    int gpus = 0;  ///< 0 for none
    std::size_t gpu_type = 0;
};

/// Fills in configuration and placement of the plan's decisions, by job of the snapshot. Together the jobs
/// want no more GPUs of a type than its undrained nodes have. Decision::shares_with is set: the second of
/// two such jobs wants nothing, and holds what the first gets.
inline void place_on_kept_nodes(const Snapshot& snapshot, std::span<const WantedGpus> wanted, Plan& plan) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    std::vector<int> free;
    for (const Node& node : nodes) free.push_back(node.drained ? 0 : node.gpus);
    std::vector<std::size_t> order;
    const auto keep = [&](std::size_t j, const Placement& held) {
        if (shape_of(held).gpus != wanted[j].gpus || nodes[held.front().node].gpu_type != wanted[j].gpu_type)
            return false;
        // A former partner may have kept these GPUs.
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
    // By GPU type: no earlier node has free GPUs.
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
