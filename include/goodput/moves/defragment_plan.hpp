#ifndef GOODPUT_MOVES_DEFRAGMENT_PLAN_HPP
#define GOODPUT_MOVES_DEFRAGMENT_PLAN_HPP

// The result of a defragmentation: which jobs move where, in which order, at what cost, and what that
// frees.

#include <cstddef>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/request.hpp"

namespace goodput::inline v0_1 {

/// Returns a wish for `count` wholly free nodes of a pool.
[[nodiscard]] inline PoolShare whole_nodes(std::size_t gpu_type, int gpus_per_node, int count,
                                           bool spot = false) {
    return {gpu_type, gpus_per_node, {count, count * gpus_per_node}, spot};
}

/// The kinds of steps in a plan.
enum class MoveKind {
    moves,  ///< moves to its final place
    /// Moves to free GPUs for a while, so that another job can move; costs one additional restart.
    steps_aside,
    /// Stops until it starts again: others must move to make room first, and no other GPUs are free.
    stops,
    starts  ///< starts after it had to stop
};

/// One step. All GPUs of its target are free once the steps before it are done.
struct DefragmentMove {
    std::size_t job = 0;              ///< index into the requests
    MoveKind kind = MoveKind::moves;  ///< what happens to the job
    NodeShare from{};                 ///< GPUs that it leaves; none if it starts
    NodeShare to{};                   ///< GPUs that it gets; none if it stops
    double cost = 0;      ///< seconds lost by the restart; 0 for a stop, because the start counts them
    int source_free = 0;  ///< free GPUs on the node that it leaves, after the step; 0 if it starts
};

/// A feasible sequence of moves, with its cost and its effect.
struct DefragmentPlan {
    std::vector<DefragmentMove> moves;  ///< moves in order
    std::vector<Placement> room;        ///< final place of each wish; empty if it has none
    std::vector<UnplacedJob> unmet;     ///< wishes that are not met, by ascending index, with the reason
    double cost = 0;                    ///< seconds lost by all moves
    double cost_bound = 0;              ///< lower bound on the cost of making room for the same wishes
    /// False if the search was cut off. Then it may be possible to meet an unmet wish.
    bool most_wishes_proven = true;
    std::size_t asides = 0;  ///< moves that step aside, to break cycles
    std::size_t stops = 0;   ///< jobs that must stop for a while
    FreeSpace before;        ///< free space of the whole cluster before the moves
    FreeSpace after;         ///< free space after the moves, without the wishes in place

    /// Whether no plan makes room for the same wishes at less cost.
    [[nodiscard]] bool proven() const { return cost <= cost_bound; }
    /// Returns one line for a log.
    [[nodiscard]] std::string report() const {
        std::string line = "room for " + text_of(room.size() - unmet.size()) + " of " + text_of(room.size()) +
                           " wishes in " + text_of(moves.size()) + " moves for " + text_of(cost) + " s";
        line += proven() ? " (proven least)" : " (at least " + text_of(cost_bound) + " s)";
        if (asides > 0) line += ", " + text_of(asides) + " of them steps aside";
        if (stops > 0) line += ", " + text_of(stops) + " jobs stop meanwhile";
        return line + "; whole free nodes " + text_of(before.whole_nodes) + " -> " +
               text_of(after.whole_nodes) + ", largest free block " + text_of(before.largest_block) + " -> " +
               text_of(after.largest_block);
    }
};

}  // namespace goodput::inline v0_1

#endif
