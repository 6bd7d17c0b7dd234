#ifndef GOODPUT_POLICY_NUMBERS_HPP
#define GOODPUT_POLICY_NUMBERS_HPP

// The numbers of policies by name, for programs and bindings in which a user names them.

#include <string_view>

#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/sia.hpp"

namespace goodput {

/// A number of a policy, and what users call it.
template <class P>
struct PolicyNumber {
    std::string_view name;  ///< lower case, as in the JSON and C interfaces
    double P::*number;      ///< the member
};

/// Those of Sia's policy.
inline constexpr PolicyNumber<Sia> sia_numbers[] = {{"p", &Sia::fairness_power},
                                                    {"lambda", &Sia::unserved_penalty},
                                                    {"rounding", &Sia::rounding},
                                                    {"largest", &Sia::largest}};
/// Those of ours.
inline constexpr PolicyNumber<GoodputPolicy> goodput_numbers[] = {
    {"p", &GoodputPolicy::fairness_power},         {"order", &GoodputPolicy::order_power},
    {"sharpness", &GoodputPolicy::sharpness},      {"patience", &GoodputPolicy::patience},
    {"restart", &GoodputPolicy::restart_weight},   {"horizon", &GoodputPolicy::horizon_seconds},
    {"usual", &GoodputPolicy::usual_seconds},      {"noise", &GoodputPolicy::initial_noise},
    {"wait", &GoodputPolicy::longest_wait_seconds}};

}  // namespace goodput

#endif
