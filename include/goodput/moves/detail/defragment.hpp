#ifndef GOODPUT_MOVES_DETAIL_DEFRAGMENT_HPP
#define GOODPUT_MOVES_DETAIL_DEFRAGMENT_HPP

// Implements defragment.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/moves/defragment.hpp"
#include "goodput/moves/defragment_plan.hpp"
#include "goodput/moves/detail/move_order.hpp"
#include "goodput/place/detail/holders.hpp"
#include "goodput/place/detail/packing.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// The algorithm and the buffers of Defragmenter.
class Defragmenting {
public:
    DefragmentPlan plan(const Cluster& cluster, std::span<const PlacementRequest> requests,
                        std::span<const PoolShare> wishes, const DefragmentOptions& options);

private:
    void hold_all(std::span<const PlacementRequest> requests);
    PlacementResult choose(std::span<const PoolShare> wishes, DefragmentPlan& plan);
    void order(const Pool& pool, std::size_t jobs, std::span<const int> free, const PlacementResult& placed,
               DefragmentPlan& plan);
    Blocks wished_blocks(const Pool& pool, std::size_t jobs);
    void lay_out_wishes(std::span<const Placement> jobs, PlacementResult& placed);
    [[nodiscard]] bool is_in(const Pool& pool, std::size_t request) const {
        return requests_[request].part.same_pool(pool.share({}));
    }

    DefragmentOptions options_;
    LeastMovesPlacer placer_;
    Holders holders_;
    MoveOrder mover_;
    Packer wishes_;    // for the pool whose moves are ordered
    Cluster cluster_;  // nodes of jobs over several pools are marked as drained
    // One for each job, which asks for what it holds, followed by the wishes.
    std::vector<PlacementRequest> requests_;
};

inline DefragmentPlan Defragmenting::plan(const Cluster& cluster, std::span<const PlacementRequest> requests,
                                          std::span<const PoolShare> wishes,
                                          const DefragmentOptions& options) {
    options_ = options;
    placer_ = LeastMovesPlacer(options.placement);
    for (std::size_t w = 0; w < wishes.size(); ++w)
        if (wishes[w].empty()) bad_input("wish " + text_of(w), "shape", "empty", "a shape with GPUs");
    std::vector<Placement> placements;
    placements.reserve(requests.size());
    for (const PlacementRequest& request : requests) placements.push_back(request.current);
    DefragmentPlan plan;
    std::vector<int> free = free_gpus(cluster, placements);
    plan.before = free_space(cluster, placements);
    cluster_ = cluster;
    hold_all(requests);
    PlacementResult placed = choose(wishes, plan);
    std::vector<std::size_t> all;
    for (const Pool& pool : pools_of(cluster)) {
        order(pool, requests.size(), free, placed, plan);
        all.insert(all.end(), pool.nodes.begin(), pool.nodes.end());
    }

    std::int64_t cost = 0;
    for (const DefragmentMove& move : plan.moves) {
        cost += milliseconds(move.cost);
        plan.asides += move.kind == MoveKind::steps_aside ? 1 : 0;
        plan.stops += move.kind == MoveKind::stops ? 1 : 0;
        if (move.from.gpus > 0) free[move.from.node] += move.from.gpus;
        if (move.to.gpus > 0) free[move.to.node] -= move.to.gpus;
    }
    plan.cost = static_cast<double>(cost) / 1000;
    for (const DefragmentMove& move : plan.moves) placements[move.job] = {move.to};
    if (!std::equal(placements.begin(), placements.end(), placed.placements.begin()))
        lay_out_wishes(placements, placed);  // the detours have targets of their own
    plan.after = free_space(cluster, all, free);
    for (std::size_t w = 0; w < wishes.size(); ++w)
        plan.room.push_back(std::move(placed.placements[requests.size() + w]));
    return plan;
}

// Turns every running job into a request for what it holds.
inline void Defragmenting::hold_all(std::span<const PlacementRequest> requests) {
    requests_.assign(requests.begin(), requests.end());
    for (PlacementRequest& request : requests_) {
        request.part = pool_share_of(request.current, cluster_);
        request.leaves = false;
        if (!request.part.empty() || request.current.empty()) continue;
        request.pinned = false;
        for (const NodeShare& share : request.current) cluster_.nodes[share.node].drained = true;
    }
    // Pin jobs that would have to restart by the placer's rules. After one job is pinned, these rules may
    // make another one on its nodes restart, so repeat.
    for (bool all_hold = false; !all_hold;) {
        all_hold = true;
        holders_.find(cluster_, requests_);
        for (std::size_t job = 0; job < requests_.size(); ++job) {
            if (requests_[job].part.empty() || holders_.holds(job)) continue;
            requests_[job].pinned = true;
            all_hold = false;
        }
    }
}

// Places everything with as many of the wishes as possible. Adds the wishes that are met to requests_.
inline PlacementResult Defragmenting::choose(std::span<const PoolShare> wishes, DefragmentPlan& plan) {
    const std::size_t jobs = requests_.size();
    for (const PoolShare& wish : wishes) requests_.push_back({.part = wish});
    PlacementResult placed = placer_.place(cluster_, requests_);
    if (!placed.unplaced.empty()) {
        // Try the wishes one by one, because together they could displace a running job.
        for (std::size_t w = 0; w < wishes.size(); ++w) requests_[jobs + w].part = {};
        for (std::size_t w = 0; w < wishes.size(); ++w) {
            requests_[jobs + w].part = wishes[w];
            placed = placer_.place(cluster_, requests_);
            if (placed.unplaced.empty()) continue;
            requests_[jobs + w].part = {};
            plan.most_wishes_proven &= placed.fewest_unplaced_proven;
            plan.unmet.push_back({w, std::move(placed.unplaced.front().why)});
        }
        if (!placed.unplaced.empty()) placed = placer_.place(cluster_, requests_);
    }
    plan.cost_bound = placed.move_cost_bound;
    return placed;
}

// Orders the moves of one pool.
inline void Defragmenting::order(const Pool& pool, std::size_t jobs, std::span<const int> free,
                                 const PlacementResult& placed, DefragmentPlan& plan) {
    std::vector<PendingMove> pending;
    for (const std::size_t job : placed.moved) {
        if (!is_in(pool, job)) continue;
        const NodeShare from = requests_[job].current.front(), to = placed.placements[job].front();
        pending.push_back({job, from.node, to.node, from.gpus, requests_[job].move_cost});
    }
    if (pending.empty()) return;
    std::vector<int> room(free.size(), 0);
    for (const std::size_t node : pool.nodes)
        if (!cluster_.nodes[node].drained) room[node] = free[node];
    std::vector<PendingMove> others;
    for (std::size_t job = 0; job < jobs; ++job) {
        const Placement& current = requests_[job].current;
        if (!is_in(pool, job) || current.size() != 1 || requests_[job].pinned) continue;
        const auto [node, gpus] = current.front();
        if (cluster_.nodes[node].drained || placed.placements[job] != current) continue;
        others.push_back({job, node, node, gpus, requests_[job].move_cost});
    }
    const Blocks blocks = wished_blocks(pool, jobs);
    mover_.order(
        std::move(room), std::move(pending), std::move(others),
        {.step_aside = options_.step_aside, .node_size = pool.gpus_per_node},
        [&](const FreeCounts& counts) { return wishes_.find(counts, blocks) == Packing::found; }, plan.moves);
}

// Collects the wishes of a pool that will be met, as blocks for wishes_.
inline Blocks Defragmenting::wished_blocks(const Pool& pool, std::size_t jobs) {
    Blocks blocks;
    std::vector<int> sizes;
    for (std::size_t r = jobs; r < requests_.size(); ++r) {
        const PoolShare& a = requests_[r].part;
        if (!is_in(pool, r)) continue;
        if (a.occupied_gpus() == a.shape.nodes * a.gpus_per_node)
            blocks.whole_nodes += a.shape.nodes;
        else
            sizes.push_back(a.shape.gpus);
    }
    std::sort(sizes.begin(), sizes.end());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i == 0 || sizes[i] != sizes[i - 1]) blocks.count.push_back(0);
        ++blocks.count.back();
    }
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    wishes_.prepare(sizes, options_.placement.search_steps);
    return blocks;
}

// Gives the wishes nodes, given where all jobs are in the end.
inline void Defragmenting::lay_out_wishes(std::span<const Placement> jobs, PlacementResult& placed) {
    for (std::size_t job = 0; job < jobs.size(); ++job) {
        requests_[job].current = jobs[job];
        requests_[job].pinned = !requests_[job].part.empty();
    }
    placed = placer_.place(cluster_, requests_);
}

}  // namespace detail

GOODPUT_BODY DefragmentPlan Defragmenter::plan(const Cluster& cluster,
                                               std::span<const PlacementRequest> requests,
                                               std::span<const PoolShare> wishes) {
    return kept_.get().plan(cluster, requests, wishes, options_);
}

}  // namespace goodput::inline v0_1

#endif
