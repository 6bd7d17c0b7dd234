#ifndef GOODPUT_PROGRAM_WORLDS_REPLAY_FIXED_HPP
#define GOODPUT_PROGRAM_WORLDS_REPLAY_FIXED_HPP

// Gavel's and Hadar's policies in Sia's world, on jobs with the size that their owners asked for.

#include <optional>
#include <string>
#include <string_view>

#include "replay/scene.hpp"
#include "report/figures.hpp"

namespace cli {

/// Returns the names of these policies, separated by commas.
std::string fixed_policy_names();

/// Returns that name if it is one of them.
std::optional<std::string_view> fixed_policy(std::string_view name);

/// Replays under the policy of that name, in its published rounds unless the command sets others. Throws
/// std::invalid_argument for options that do not go with it.
PolicyReplay replay_fixed(std::string_view name, const Scene& scene, const ReplayCommand& command);

}  // namespace cli

#endif
