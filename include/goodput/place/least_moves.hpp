#ifndef GOODPUT_PLACE_LEAST_MOVES_HPP
#define GOODPUT_PLACE_LEAST_MOVES_HPP

// Chooses nodes for each job so that running jobs are disturbed as little as possible.
//
// Given the allotment of each job and the nodes where it runs now (request.hpp), the goals are, in this
// order:
//
// a) As few jobs as possible are left without nodes. Among such choices running jobs go first, then lower
//    indices. This looks at sizes only, because every job except the pinned ones could be moved.
//
// b) The jobs that hold their allotment move as little as possible: least sum of move costs, then fewest
//    jobs.
//
// c) Free GPUs stay in large pieces: given the jobs that stay where they are, no placement of the others
//    leaves more wholly free nodes, nor, if none is left, a larger block.
//
//     Free GPUs on nodes that leave before the jobs to be placed have ended (Node::leaves_seconds) are used
//     last: as many of these nodes as possible get no new jobs, the earliest to leave first.
//
// d) A job that restarts anyway keeps a node that it is on, if that costs nothing of the above.
//
// detail/least_moves.hpp says how, and what is proven.

#include <cstddef>
#include <span>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/place/request.hpp"

namespace goodput {

namespace detail {
class LeastMoves;
}

/// Limits on the effort for hard problems. The defaults keep a pool below about 10 ms.
struct PlacementOptions {
    std::size_t search_steps = 20'000;  ///< per search for a packing, if the sizes are no divisor chain
    /// For all searches of a pool together, in jobs and nodes looked at.
    std::size_t search_work = 1'000'000;
    std::size_t cover_states = 20'000;  ///< for the exact choice of moves, see AllotOptions::most_states
    /// Decides which jobs keep their home nodes. Null: the largest holder of a node keeps it. homes_by_flow
    /// (home_flow.hpp) keeps the most GPUs.
    HomeChoice homes = nullptr;
};

/// The placer described above. It keeps its buffers from call to call; its answers depend only on the
/// arguments.
class LeastMovesPlacer {
public:
    LeastMovesPlacer() = default;
    /// Makes a placer with these limits on its effort.
    explicit LeastMovesPlacer(PlacementOptions options) : options_(options) {}

    /// Returns nodes for every request; the result is valid until the next call. Throws
    /// std::invalid_argument for a shape that cannot exist, an unknown GPU type or node, a current
    /// placement that is not ascending or that overfills a node together with the others, a move cost
    /// outside [0, 1e9] s, and a pinned job whose allotment is not what it holds. If a pool does not exist
    /// or is too small, that is no bad input: the job is unplaced as `impossible`.
    const PlacementResult& place(const Cluster& cluster, std::span<const PlacementRequest> requests);

private:
    PlacementOptions options_{};
    detail::Kept<detail::LeastMoves> kept_;
};

static_assert(Placer<LeastMovesPlacer>);

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/place/detail/least_moves.hpp"
#endif

#endif
