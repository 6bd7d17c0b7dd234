#ifndef GOODPUT_PROGRAM_WORLDS_RIGID_POLICY_HPP
#define GOODPUT_PROGRAM_WORLDS_RIGID_POLICY_HPP

#include <string_view>

#include "goodput/schedule/chosen_scheduler.hpp"

namespace cli {

/// The policy of that name (policies.hpp), with its usual settings, for worlds of jobs of a fixed size.
goodput::ChosenPolicy rigid_policy(std::string_view name);

}  // namespace cli

#endif
