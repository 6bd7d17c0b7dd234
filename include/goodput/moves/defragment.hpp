#ifndef GOODPUT_MOVES_DEFRAGMENT_HPP
#define GOODPUT_MOVES_DEFRAGMENT_HPP

// Finds running jobs to move, and an order for the moves, to make room for a wish: k whole free nodes, or a
// shape (a number of GPUs on a number of nodes).
//
// 1. Choice of moves. A wish is treated as a future job for which all others make room. It becomes one more
//    request, and every running job asks for what it holds. The placement with the least moves
//    (least_moves.hpp) is then the cheapest defragmentation, with its bound. Only jobs on part of a node
//    move.
//
// 2. Order. A move may need GPUs that an earlier one frees. The search looks for an order in which each job
//    restarts only once. A cycle of moves is broken through free GPUs, which takes additional restarts or
//    other targets. If that is impossible, a job stops: it waits without GPUs until it can start again
//    (detail/move_order.hpp).
//
// So cost = cost_bound proves that nothing cheaper makes room, in any order. If cost > cost_bound, or if
// jobs stop, another set of moves might cost less or need no stop. This is rare if few jobs are involved
// (detail/detour_search.hpp).
//
// Complexity: step 1 takes one placement, and about one more per wish if not all can be met. Step 2 takes
// O(moves) in the common case that no move waits for another. If not all wishes can be met, they are met in
// the order of the list, each if it fits next to the previous ones.

#include <span>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/moves/defragment_plan.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"

namespace goodput::inline v0_1 {

namespace detail {
class Defragmenting;
}

/// Limits on the effort, and the ways in which cycles may be broken.
struct DefragmentOptions {
    PlacementOptions placement{};  ///< options of the placement in step 1
    bool step_aside = true;        ///< if false, a job stops instead of stepping aside with one more restart
};

/// Plans defragmentations. It keeps its buffers from call to call; its answers depend only on the
/// arguments.
class Defragmenter {
public:
    /// Makes a planner with these settings.
    explicit Defragmenter(DefragmentOptions options = {}) : options_(options) {}

    /// Returns moves that make room for the wishes (whole_nodes() makes a wish for whole nodes). Only
    /// `current`, `move_cost` and `pinned` of each request count: the job keeps the shape that it holds.
    /// Some jobs stay in any case: pinned jobs, jobs over several pools, and jobs that share the nodes of a
    /// job over several nodes. Throws std::invalid_argument for an empty wish, and for whatever
    /// LeastMovesPlacer refuses.
    DefragmentPlan plan(const Cluster& cluster, std::span<const PlacementRequest> requests,
                        std::span<const PoolShare> wishes);

private:
    DefragmentOptions options_;
    detail::HiddenState<detail::Defragmenting> kept_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/moves/detail/defragment.hpp"
#endif

#endif
