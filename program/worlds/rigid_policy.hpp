#ifndef GOODPUT_PROGRAM_WORLDS_RIGID_POLICY_HPP
#define GOODPUT_PROGRAM_WORLDS_RIGID_POLICY_HPP

#include <string_view>

#include "goodput/schedule/chosen_scheduler.hpp"

namespace cli {

/// Returns the policy of that name (policies.hpp) with its default settings, for worlds with jobs of a
/// fixed size.
goodput::ChosenPolicy rigid_policy(std::string_view name);

}  // namespace cli

#endif
