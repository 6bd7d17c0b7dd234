#ifndef GOODPUT_PLACE_LEAST_MOVES_HPP
#define GOODPUT_PLACE_LEAST_MOVES_HPP

// Which nodes does each job get, so that as little as possible of what runs is disturbed?
//
// Given for each job its allotment and where it runs now (request.hpp), in this order:
//
//  a) As few jobs as possible are left without nodes; among such choices running jobs go first,
//     then lower indices. This looks at sizes only: every job but the pinned ones could be moved.
//
//  b) The jobs that hold their allotment move as little as possible: least sum of move costs, then
//     fewest jobs.
//
//  c) What stays free stays in large pieces: for those who stay where they are, no placement of the
//     others leaves more nodes wholly free, nor, if none is left, a larger block.
//
//     Free GPUs of nodes that leave before jobs to be placed have ended (Node::leaves_seconds) come
//     last: as many of these nodes stay without new jobs as can be spared, those that leave first.
//
//  d) A job that restarts anyway keeps a node that it is on where that costs nothing of the above.
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

/// How hard to try where the problem is hard. The defaults keep a pool below some 10 ms.
struct PlacementOptions {
    std::size_t search_steps = 20'000;    ///< of one search for a packing, where sizes are no divisor chain
    std::size_t search_work = 1'000'000;  ///< of all searches of a pool together, in jobs and nodes looked at
    std::size_t cover_states = 20'000;    ///< of the exact choice of moves, see AllotOptions::most_states
    HomeChoice homes =
        nullptr;  ///< none: whoever holds most keeps a node; homes_by_flow (home_flow.hpp): the best
};

/// The placer described above. Keeps its buffers from call to call; its answers depend on the arguments
/// alone.
class LeastMovesPlacer {
public:
    LeastMovesPlacer() = default;
    /// A placer that tries that hard.
    explicit LeastMovesPlacer(PlacementOptions options) : options_(options) {}

    /// Nodes for every request; the result is valid until the next call. Throws std::invalid_argument for a
    /// shape that cannot exist, an unknown GPU type or node, a current placement that is not ascending or
    /// overfills a node together with the others, a move cost that is not in [0, 1e9] s, and a pinned job
    /// whose allotment is not what it holds. A pool that does not exist or is too small is not bad input: the
    /// job is unplaced as `impossible`.
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
