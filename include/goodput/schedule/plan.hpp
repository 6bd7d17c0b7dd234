#ifndef GOODPUT_SCHEDULE_PLAN_HPP
#define GOODPUT_SCHEDULE_PLAN_HPP

// One plan from scratch, declared: the definition is in scheduler.hpp.

#include "goodput/allot/result.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// The plan for one snapshot under a policy, from scratch; see Scheduler for round after round, and for what
/// is refused. What is left out, or given as {}, is the default.
template <class P = Sia>
[[nodiscard]] Plan plan(const Snapshot& snapshot, P policy = {}, AllotOptions options = {});

}  // namespace goodput

#endif
