#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_ELASTICFLOW_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_ELASTICFLOW_HPP

// `goodput replay --world elasticflow`: jobs with deadlines whose number of GPUs may change at any time.

#include <iosfwd>
#include <string>

#include "replay/replay.hpp"

namespace cli {

/// Returns the policies of this world, separated by commas.
std::string elasticflow_policy_names();

/// Replays the trace under each policy, writes one row per policy to `out`, and returns the exit status.
/// Throws std::invalid_argument for invalid options and std::runtime_error for invalid files.
int run_elasticflow_replay(const ReplayCommand& command, std::ostream& out);

}  // namespace cli

#endif
