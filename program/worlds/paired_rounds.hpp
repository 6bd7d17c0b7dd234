#ifndef GOODPUT_PROGRAM_WORLDS_PAIRED_ROUNDS_HPP
#define GOODPUT_PROGRAM_WORLDS_PAIRED_ROUNDS_HPP

// Our policies for worlds in which two jobs may share their GPUs, at known speeds.

#include "goodput/sim/gavel_world.hpp"
#include "replay/any_planner.hpp"

namespace cli {

/// Balanced slowdown, with the world's speeds of single jobs and of pairs. Every round is planned with all
/// pairs that do more together than in turns on some GPU type, and with the pairs that share GPUs now. The
/// caller keeps `world` alive.
AnyPlanner goodput_of_pairs(const goodput::GavelWorld& world);

}  // namespace cli

#endif
