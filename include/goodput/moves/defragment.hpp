#ifndef GOODPUT_MOVES_DEFRAGMENT_HPP
#define GOODPUT_MOVES_DEFRAGMENT_HPP

// Which running jobs should move, in which order, so that a wish fits: free k whole nodes, or make room for a
// shape?
//
// 1. Which. A wish is a job to come that everybody makes room for: with it as one more request, and every
//    running job asking for what it holds, the placement with the least moves (least_moves.hpp) is the
//    cheapest defragmentation, with its bound. Only jobs on part of a node move.
//
// 2. In which order. A move may need GPUs that an earlier one frees. Orders that need no more than each job's
//    one restart are searched for; a cycle is broken through free GPUs, at the price of restarts more or of
//    other targets, or, if there is no way through them, by a stop: the job waits, holding nothing, until it
//    can start again (detail/move_order.hpp).
//
// So cost = cost_bound proves that nothing cheaper makes room, in whatever order. Not proven: where cost >
// cost_bound, or jobs stop, that there is no other set of moves that takes less or needs no stop; with few
// jobs about (detail/detour_search.hpp) that is rare.
//
// Complexity: a placement for step 1, for several wishes that cannot all be met one for each; in step 2
// O(moves) in the common case that nobody waits for anybody. Wishes for more than can be are met in the order
// of the list, each if it fits beside those before.

#include <span>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/moves/defragment_plan.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"

namespace goodput {

namespace detail {
class Defragmenting;
}

/// How hard to try, and how cycles may be broken.
struct DefragmentOptions {
    PlacementOptions placement{};  ///< of the placement behind it
    bool step_aside = true;        ///< false: a job stops where it could step aside for one restart more
};

/// Plans defragmentations. Keeps its buffers from call to call; its answers depend on the arguments alone.
class Defragmenter {
public:
    /// A planner with these settings.
    explicit Defragmenter(DefragmentOptions options = {}) : options_(options) {}

    /// Moves that make room for the wishes (whole_nodes() makes one for whole nodes). Of each request
    /// `current`, `move_cost` and `pinned` count, its allotment does not: the job keeps the shape that it
    /// holds. Pinned jobs stay, and so do those over several pools or sharing the nodes of a job over several
    /// nodes. Throws std::invalid_argument for an empty wish and for what LeastMovesPlacer refuses.
    DefragmentPlan plan(const Cluster& cluster, std::span<const PlacementRequest> requests,
                        std::span<const PoolShare> wishes);

private:
    DefragmentOptions options_;
    detail::Kept<detail::Defragmenting> kept_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/moves/detail/defragment.hpp"
#endif

#endif
