#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_ELASTICFLOW_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_ELASTICFLOW_HPP

// `goodput replay --world elasticflow`: jobs with deadlines whose number of GPUs may change at any time.

#include <iosfwd>
#include <string>

#include "replay/replay.hpp"

namespace cli {

/// Its policies, separated by commas.
std::string elasticflow_policy_names();

/// Replays the trace under each policy, writes one row for each to `out` and returns the exit status.
/// std::invalid_argument for options that make no sense, std::runtime_error for such files.
int run_elasticflow_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
