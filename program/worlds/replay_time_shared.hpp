#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_TIME_SHARED_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_TIME_SHARED_HPP

// `goodput replay --world gavel` and `--world shockwave`: jobs with fixed numbers of GPUs that take turns
// in rounds.

#include <iosfwd>
#include <string>

#include "replay/replay.hpp"

namespace cli {

/// Return the policies of both worlds, separated by commas.
std::string gavel_policy_names();
std::string shockwave_policy_names();

/// Replay the trace under each policy, write one row per policy to `out`, and return the exit status. Throw
/// std::invalid_argument for invalid options and std::runtime_error for invalid files.
int run_gavel_replay(const ReplayCommand& command, std::ostream& out);
int run_shockwave_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
