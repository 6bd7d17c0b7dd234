#ifndef GOODPUT_MOVES_DEFRAGMENT_PLAN_HPP
#define GOODPUT_MOVES_DEFRAGMENT_PLAN_HPP

// What a defragmentation answers: which jobs move where, in which order, what that costs and frees.

#include <cstddef>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/request.hpp"

namespace goodput {

/// A wish for `count` wholly free nodes of a pool.
[[nodiscard]] inline PoolShare whole_nodes(std::size_t gpu_type, int gpus_per_node, int count,
                                           bool spot = false) {
    return {gpu_type, gpus_per_node, {count, count * gpus_per_node}, spot};
}

/// What a step of the plan does with its job.
enum class MoveKind {
    moves,        ///< to where it stays
    steps_aside,  ///< to free GPUs for a while, so that another can move: one restart more than needed
    stops,        ///< until it starts again: others have to move before there is room, and none is free
    starts        ///< after it had to stop
};

/// One step: all of its target is free once the steps before it are done.
struct DefragmentMove {
    std::size_t job = 0;              ///< index into the requests
    MoveKind kind = MoveKind::moves;  ///< what becomes of it
    NodeShare from{};                 ///< no GPUs if it starts
    NodeShare to{};                   ///< no GPUs if it stops
    double cost = 0;                  ///< seconds lost by the restart; 0 for a stop, whose start has it
    int source_free = 0;  ///< GPUs free on the node that it leaves, after the step; 0 if it starts
};

/// Moves in an order in which they can be made, and what they come to.
struct DefragmentPlan {
    std::vector<DefragmentMove> moves;  ///< in this order
    std::vector<Placement> room;        ///< by wish: where it fits in the end; empty: nowhere
    std::vector<UnplacedJob> unmet;     ///< by index of the wish, ascending: which, and why
    double cost = 0;                    ///< seconds, of all moves
    double cost_bound = 0;              ///< nothing that makes room for the same wishes costs less
    bool most_wishes_proven = true;     ///< false: an unmet wish may be possible, the search was given up
    std::size_t asides = 0;             ///< moves that step aside: cycles that had to be broken
    std::size_t stops = 0;              ///< jobs that have to stop for a while
    FreeSpace before;                   ///< of the whole cluster, before the moves
    FreeSpace after;                    ///< and after them, the wishes not yet in place

    /// No plan makes room for the same wishes at less cost.
    [[nodiscard]] bool proven() const { return cost <= cost_bound; }
    /// One line for a log.
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

}  // namespace goodput

#endif
