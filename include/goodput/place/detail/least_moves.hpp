#ifndef GOODPUT_PLACE_DETAIL_LEAST_MOVES_HPP
#define GOODPUT_PLACE_DETAIL_LEAST_MOVES_HPP

// Implements least_moves.hpp. Pools (GPU type, node size) are independent. A block of size s is s free GPUs
// on one node. In each pool of nodes with G GPUs:
//
// 1. Keep all jobs that hold their allotment, and pack the others into what is free (detail/packing.hpp).
//    This mostly suffices, and takes O(jobs log jobs + nodes).
//
// 2. If the jobs would not fit even if all unpinned ones were moved, choose which jobs to place
//    (detail/admission.hpp).
//
// 3. Otherwise they fit with moves. A job on whole nodes never has to move, because the contents of nodes
//    can be exchanged. Let d_s > 0 be the number of missing blocks of size s. Let E be a set of jobs on a
//    node with f free GPUs, e the number of GPUs of a job in E, and |E| the total over E. Moving E off the
//    node gains
//
//        floor((f + |E|) / s) - floor(f / s) - sum_{e in E} floor(e / s)  >=  0
//
//    blocks of size s, after subtracting what the moved jobs need again. The cost of the cheapest sets that
//    together gain at least d_s blocks of each size s (detail/evictions.hpp) is a lower bound on the move
//    cost. These sets are optimal if the rest can then be packed, which is always so for sizes in a divisor
//    chain (1, 2, 4, 8; or 3, 6).
//
// 4. Otherwise (sizes such as 3 and 2) search for more moves (detail/move_search.hpp).
//
// 5. Best fit uses up the fewest wholly free nodes for a divisor chain. For other sizes, and to leave the
//    largest block free, try packings that leave nodes or blocks free (PoolState::set_aside).
//
// 6. Nodes that leave before the jobs to be placed end are treated as full if the jobs fit without them. If
//    some of these nodes are needed, those that leave last are used. Then the jobs that need nodes longest
//    exchange theirs for those that stay longest (Layout::exchange_for_stay).
//
// If several jobs that restart on whole nodes held GPUs of one node, the one that held the most gets it, or
// a min-cost flow decides (home_flow.hpp). The choice of nodes to vacate is not a flow problem, because one
// eviction gains blocks of several sizes at once.
//
// Limits: without a divisor chain all of this is bin packing. If a step limit is reached, the answer is
// still valid. fewest_unplaced_proven and move_cost_bound then say what is proven about goals a and b of
// least_moves.hpp. No field says so for goal c (free GPUs stay in large pieces). With a chain, the number
// of placed jobs is always the largest, and the move cost is the least unless many blocks of many sizes are
// missing in one pool. Goal c compares only placements in which the same jobs move; other placements of the
// same cost may leave more free. topology_placer.hpp handles topologies. A job over several nodes does not
// share a node with others.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/place/detail/admission.hpp"
#include "goodput/place/detail/holders.hpp"
#include "goodput/place/detail/layout.hpp"
#include "goodput/place/detail/move_search.hpp"
#include "goodput/place/detail/pool_state.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// The algorithm and the buffers of LeastMovesPlacer.
class LeastMoves {
public:
    /// Sets the options for all following placements.
    void set_options(const PlacementOptions& options) { options_ = options; }
    /// Throws std::invalid_argument in the cases that LeastMovesPlacer::place() lists.
    void validate(const Cluster& cluster, std::span<const PlacementRequest> requests);
    /// Returns nodes for valid requests.
    const PlacementResult& place(const Cluster& cluster, std::span<const PlacementRequest> requests);

private:
    void read(const Cluster& cluster, std::span<const PlacementRequest> requests);
    void load_pool(std::size_t pool, PlacementResult& result);
    void place_pool(std::size_t pool, PlacementResult& result);
    [[nodiscard]] std::string reason(const PoolItem& item, const FreeSpace& left) const;

    PlacementOptions options_{};
    PlacementResult result_;
    std::vector<Pool> pools_;
    std::vector<std::vector<std::size_t>> jobs_of_pool_;
    Holders holders_;
    std::vector<int> used_;  // by node
    std::int64_t weight_scale_ = 1;
    PoolState state_;
    Admission admission_;
    MoveSearch moves_;
    Layout layout_;
};

inline void LeastMoves::validate(const Cluster& cluster, std::span<const PlacementRequest> requests) {
    validate_nodes(cluster);
    used_.assign(cluster.nodes.size(), 0);
    const auto subject = [](std::size_t job) { return "placement request " + text_of(job); };
    for (std::size_t job = 0; job < requests.size(); ++job) {
        const PlacementRequest& request = requests[job];
        const PoolShare& a = request.part;
        if (a.shape.gpus < 0 || a.shape.nodes < 0)
            bad_input(subject(job), "shape", std::min(a.shape.gpus, a.shape.nodes), "at least 0");
        if (!a.empty()) {
            if (a.gpu_type >= cluster.gpu_types.size())
                bad_input(subject(job), "gpu_type", a.gpu_type, "an index into the cluster's GPU types");
            if (a.gpus_per_node < 1) bad_input(subject(job), "gpus_per_node", a.gpus_per_node, "at least 1");
            if (a.shape.nodes < 1 || a.shape.nodes > a.shape.gpus)
                bad_input(subject(job), "shape.nodes", a.shape.nodes, "between 1 and the GPUs");
            if (a.shape.gpus > std::int64_t{a.shape.nodes} * a.gpus_per_node)
                bad_input(subject(job), "shape.gpus", a.shape.gpus, "at most what its nodes have");
        }
        if (!(request.move_cost >= 0 && request.move_cost <= 1e9))
            bad_input(subject(job), "move_cost", request.move_cost, "between 0 and 1e9 seconds");
        for (std::size_t i = 0; i < request.current.size(); ++i) {
            const NodeShare& share = request.current[i];
            if (share.node >= cluster.nodes.size() || (i > 0 && share.node <= request.current[i - 1].node))
                bad_input(subject(job), "current.node", share.node,
                          "an index into the cluster's nodes, ascending");
            const Node& node = cluster.nodes[share.node];
            if (share.gpus < 1 || share.gpus > node.gpus - used_[share.node])
                bad_input(subject(job), "current.gpus on node '" + node.name + "'", share.gpus,
                          "between 1 and the " + text_of(node.gpus - used_[share.node]) +
                              " GPUs that earlier requests leave");
            used_[share.node] += share.gpus;
        }
        if (!request.pinned || request.current.empty()) continue;
        if (a.empty() || pool_share_of(request.current, cluster) != a)
            bad_input(subject(job), "allotment", "not what the pinned job holds", "what it holds");
    }
}

inline const PlacementResult& LeastMoves::place(const Cluster& cluster,
                                                std::span<const PlacementRequest> requests) {
    read(cluster, requests);
    state_.cluster = &cluster;
    state_.requests = requests;
    state_.search_work = options_.search_work;
    state_.cover_states = options_.cover_states;
    state_.homes = options_.homes;
    PlacementResult& result = result_;
    result.start(requests.size());
    for (std::size_t job = 0; job < requests.size(); ++job) {
        const PoolShare& a = requests[job].part;
        if (a.empty()) continue;
        const std::size_t pool = find_pool(pools_, a);
        if (pool < pools_.size()) {
            jobs_of_pool_[pool].push_back(job);
            continue;
        }
        const std::string why = "no healthy " + std::string(a.spot ? "spot " : "") +
                                cluster.gpu_types[a.gpu_type] + " node of " + text_of(a.gpus_per_node) +
                                " GPUs exists";
        result.unplaced.push_back({job, {Outcome::impossible, why}});
    }
    for (std::size_t pool = 0; pool < pools_.size(); ++pool) place_pool(pool, result);
    result.sort();
    return result;
}

inline void LeastMoves::read(const Cluster& cluster, std::span<const PlacementRequest> requests) {
    find_pools(cluster, pools_);
    if (jobs_of_pool_.size() < pools_.size()) jobs_of_pool_.resize(pools_.size());
    for (auto& jobs : jobs_of_pool_) jobs.clear();
    std::int64_t total = 0;
    for (const PlacementRequest& request : requests) total += milliseconds(request.move_cost);
    // Weights order by cost first and by the number of moves second, if both fit into 62 bits.
    const std::int64_t jobs = static_cast<std::int64_t>(requests.size()) + 1;
    weight_scale_ = total < (std::int64_t{1} << 60) / jobs - jobs ? jobs : 1;
    holders_.find(cluster, requests);
}

inline void LeastMoves::load_pool(std::size_t pool, PlacementResult& result) {
    PoolState& s = state_;
    s.pool = &pools_[pool];
    const int node_size = s.pool->gpus_per_node;
    s.base.resize(s.cluster->nodes.size());
    s.free.resize(s.cluster->nodes.size());
    std::size_t open_nodes = 0;
    for (const std::size_t node : s.pool->nodes) {
        const bool drained = s.cluster->nodes[node].drained;
        s.base[node] = drained ? 0 : node_size;
        open_nodes += drained ? 0 : 1;
    }
    s.items.clear();
    for (const std::size_t job : jobs_of_pool_[pool]) {
        const PlacementRequest& request = s.requests[job];
        const Shape shape = request.part.shape;
        const bool wide = shape.nodes > 1;
        if (holders_.fixed(job)) {
            result.placements[job] = request.current;
            for (const NodeShare& share : request.current)
                s.base[share.node] =
                    wide && !request.shares_nodes ? 0 : std::max(s.base[share.node] - share.gpus, 0);
            continue;
        }
        if (static_cast<std::size_t>(shape.nodes) > open_nodes) {
            const std::string why = "needs " + text_of(shape.nodes) + " " +
                                    s.cluster->gpu_types[s.pool->gpu_type] + " nodes of " +
                                    text_of(node_size) + " GPUs; " + text_of(open_nodes) + " are healthy";
            result.unplaced.push_back({job, {Outcome::impossible, why}});
            continue;
        }
        PoolItem item;
        item.job = job;
        item.nodes = shape.nodes;
        item.size = wide ? node_size : shape.gpus;
        item.whole = item.size == node_size;
        item.weight = milliseconds(request.move_cost) * weight_scale_ + (weight_scale_ > 1 ? 1 : 0);
        item.running = !request.current.empty();
        item.held = holders_.holds(job);
        s.items.push_back(item);
    }
    s.start(options_.search_steps);
}

inline void LeastMoves::place_pool(std::size_t pool, PlacementResult& result) {
    load_pool(pool, result);
    PoolState& s = state_;
    bool most_proven = true;
    if (s.pack() != Packing::found) {
        most_proven = admission_.choose(s);
        if (s.pack() != Packing::found) {
            const std::int64_t least = moves_.choose(s) / weight_scale_;  // whole milliseconds
            result.move_cost_bound += static_cast<double>(least) / 1000;
        }
    }
    // fill_up() needs the unchanged free GPUs.
    if (most_proven) s.avoid_leaving();
    const SetAside aside = most_proven ? s.set_aside() : SetAside{};
    layout_.lay_out(s, result.placements);
    if (most_proven) layout_.exchange_for_stay(s, result.placements);
    if (aside.gpus > 0) s.free[aside.node] += aside.gpus;
    if (!most_proven) layout_.fill_up(s, result.placements);
    s.give_back_leaving();
    result.fewest_unplaced_proven &= most_proven;
    const FreeSpace left = free_space(*s.cluster, s.pool->nodes, s.free);
    result.whole_free_nodes += left.whole_nodes;
    result.largest_free_block = std::max(result.largest_free_block, left.largest_block);
    std::int64_t cost = 0;
    for (const PoolItem& item : s.items) {
        if (!item.accepted) {
            result.unplaced.push_back({item.job, {Outcome::waits, reason(item, left)}});
        } else if (item.held && result.placements[item.job] != s.current(item)) {
            result.moved.push_back(item.job);
            cost += milliseconds(s.requests[item.job].move_cost);
        }
    }
    result.move_cost += static_cast<double>(cost) / 1000;
}

inline std::string LeastMoves::reason(const PoolItem& item, const FreeSpace& left) const {
    const PoolState& s = state_;
    const std::string nodes = " of the " + text_of(s.pool->nodes.size()) + (s.pool->spot ? " spot " : " ") +
                              s.cluster->gpu_types[s.pool->gpu_type] + " nodes of " +
                              text_of(s.pool->gpus_per_node) + " GPUs";
    if (item.whole)
        return "needs " + text_of(item.nodes) + nodes + " wholly free; " + text_of(left.whole_nodes) + " are";
    return "needs " + text_of(item.size) + " GPUs on one" + nodes + "; the largest free block is " +
           text_of(left.largest_block);
}

}  // namespace detail

GOODPUT_BODY const PlacementResult& LeastMovesPlacer::place(const Cluster& cluster,
                                                            std::span<const PlacementRequest> requests) {
    detail::LeastMoves& moves = kept_.get();
    moves.set_options(options_);
    moves.validate(cluster, requests);
    return moves.place(cluster, requests);
}

}  // namespace goodput::inline v0_1

#endif
