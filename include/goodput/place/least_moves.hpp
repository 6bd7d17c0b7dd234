#ifndef GOODPUT_PLACE_LEAST_MOVES_HPP
#define GOODPUT_PLACE_LEAST_MOVES_HPP

// Chooses nodes for each job so that running jobs are disturbed as little as possible.
//
// Given the allotment of each job and the nodes where it runs now (request.hpp), the goals are, in this
// order:
//
// a) As few jobs as possible are left without nodes. Among the ways to do so, running jobs have precedence,
//    then lower indices. This goal depends on sizes only, because every job except the pinned ones (jobs
//    that keep what they hold) could be moved.
//
// b) The jobs that hold their allotment (request.hpp) move as little as possible: least sum of move costs,
//    then fewest jobs.
//
// c) Free GPUs stay in large pieces: given the jobs that stay where they are, no placement of the others
//    leaves more wholly free nodes, nor, if none is left, a larger block.
//
//     Free GPUs on nodes that leave before the jobs to be placed have ended (Node::leaves_seconds) are used
//     last: as many of these nodes as possible get no new jobs, the earliest to leave first.
//
// d) A job that restarts anyway keeps a node on which it runs, if that does no harm to the goals above.
//
// detail/least_moves.hpp says how this is done, and what is proven.

#include <cstddef>
#include <span>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/place/request.hpp"

namespace goodput::inline v0_1 {

namespace detail {
class LeastMoves;
}

/// Limits on the effort for hard problems. With the defaults, a pool takes less than about 10 ms.
struct PlacementOptions {
    /// Steps per search for a packing. A search is needed only if not every size divides the next larger
    /// one.
    std::size_t search_steps = 20'000;
    /// For all searches of a pool together, in jobs and nodes looked at.
    std::size_t search_work = 1'000'000;
    /// States that the exact choice of moves may look at, see AllotOptions::most_states.
    std::size_t cover_states = 20'000;
    /// Decides which jobs keep their home nodes, that is, nodes on which they hold GPUs. Null: the job that
    /// holds the most GPUs of a node keeps it. homes_by_flow (home_flow.hpp) keeps the most GPUs in total.
    HomeChoice homes = nullptr;
};

/// The placer that the opening comment describes. It keeps its buffers from call to call; its answers
/// depend only on the arguments.
class LeastMovesPlacer {
public:
    LeastMovesPlacer() = default;
    /// Makes a placer with these limits on its effort.
    explicit LeastMovesPlacer(PlacementOptions options) : options_(options) {}

    /// Returns nodes for every request; the result is valid until the next call. Throws
    /// std::invalid_argument for a shape that cannot exist, an unknown GPU type or node, a current
    /// placement that is not ascending or that overfills a node together with the others, a move cost
    /// outside [0, 1e9] s, and a pinned job whose allotment is not what it holds. A pool that does not
    /// exist or is too small is not an error: its job is then unplaced as `impossible`.
    const PlacementResult& place(const Cluster& cluster, std::span<const PlacementRequest> requests);

private:
    PlacementOptions options_{};
    detail::HiddenState<detail::LeastMoves> kept_;
};

static_assert(Placer<LeastMovesPlacer>);

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/place/detail/least_moves.hpp"
#endif

#endif
