#ifndef GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP
#define GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP

// Why every job has what the last plan gives it, and what would change that (detail/plan_explainer.hpp).

#include <vector>

#include "goodput/schedule/decision_explanation.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Explains the last plan of a Scheduler, made from this snapshot, job by job. A snapshot with another number
/// of jobs, and a Scheduler that has made no plan, get std::invalid_argument.
template <class AnyScheduler>
[[nodiscard]] std::vector<DecisionExplanation> explain_plan(const AnyScheduler& scheduler,
                                                            const Snapshot& snapshot) {
    return scheduler.explain(snapshot);
}

}  // namespace goodput

#endif
