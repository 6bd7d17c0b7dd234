#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_TIME_SHARED_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_TIME_SHARED_HPP

// `goodput replay --world gavel` and `--world shockwave`: jobs of fixed numbers of GPUs that take turns in
// rounds.

#include <iosfwd>
#include <string>

#include "replay/replay.hpp"

namespace cli {

/// Their policies, separated by commas.
std::string gavel_policy_names();
std::string shockwave_policy_names();

/// Replay the trace under each policy, write one row for each to `out` and return the exit status.
/// std::invalid_argument for options that make no sense, std::runtime_error for such files.
int run_gavel_replay(const ReplayCommand& command, std::ostream& out);
int run_shockwave_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
