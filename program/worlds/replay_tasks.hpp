#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_TASKS_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_TASKS_HPP

// `goodput replay --world tasks`: jobs of many tasks of one GPU each, by what their remaining work is
// estimated from.

#include <iosfwd>
#include <string>

#include "replay/replay.hpp"

namespace cli {

/// Their names, separated by commas.
std::string tasks_policy_names();

/// Replays the trace for each policy, writes one row for each to `out` and returns the exit status.
/// std::invalid_argument for options that make no sense, std::runtime_error for such files.
int run_tasks_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
