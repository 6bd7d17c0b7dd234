#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_TASKS_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_TASKS_HPP

// `goodput replay --world tasks`: jobs of many tasks with one GPU each. The policies differ in what they
// estimate the remaining work from.

#include <iosfwd>
#include <string>

#include "replay/replay.hpp"

namespace cli {

/// Returns the names of the policies, separated by commas.
std::string tasks_policy_names();

/// Replays the trace for each policy, writes one row per policy to `out`, and returns the exit status.
/// Throws std::invalid_argument for invalid options and std::runtime_error for invalid files.
int run_tasks_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
