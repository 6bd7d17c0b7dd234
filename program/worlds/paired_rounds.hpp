#ifndef GOODPUT_PROGRAM_WORLDS_PAIRED_ROUNDS_HPP
#define GOODPUT_PROGRAM_WORLDS_PAIRED_ROUNDS_HPP

// Our policies where two jobs may share their GPUs: in a world that knows how fast they are then.

#include "goodput/sim/gavel_world.hpp"
#include "replay/any_planner.hpp"

namespace cli {

/// Balanced slowdown, with the world's speeds of jobs alone and of pairs: every round is planned with all
/// pairs that do more together than in turns, on any GPU type, and those that are together now. `world` has
/// to outlive it.
AnyPlanner goodput_of_pairs(const goodput::GavelWorld& world);

}  // namespace cli

#endif
