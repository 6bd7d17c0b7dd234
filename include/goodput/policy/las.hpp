#ifndef GOODPUT_POLICY_LAS_HPP
#define GOODPUT_POLICY_LAS_HPP

// Least attained service first (foreground-background; Nuyens and Wierman's survey, Performance Evaluation
// 2008), in two dimensions as in Tiresias (NSDI'19): jobs are served in the order of
//
//     attained GPU-seconds - (lead if the job runs, else 0)               equal ones in that of submission
//
// each with all the GPUs that it asked for or none. Without knowing how long jobs last this favours the short
// ones: of all orders that know nothing of the future the best for one server, if the longer a job has run
// the longer it is likely to go on, and if preempting costs nothing. Here a restart costs something, and with
// lead 0, the rule of the textbooks, two equal jobs that do not fit together take turns every round. So a job
// that runs is only overtaken by those that have attained less by more than `lead`.
// Gavel's max-min fairness over fractions of time, also called LAS, is another thing.

#include <span>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"

namespace goodput {

/// Who has had least GPU time comes first; a RoundPolicy.
struct LeastAttainedService {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    /// How much less a job must have attained to overtake one that runs. A GPU-hour: several minutes of a job
    /// on one node, where a restart takes up to some minutes.
    double lead_gpu_seconds = 3600;
    bool backfill = true;  ///< lets later jobs pass one that does not fit

    /// Refuses a lead that is none (std::invalid_argument).
    void validate() const { require_at_least("policy las", "lead", lead_gpu_seconds, 0); }

    /// Values that give the queue what it takes.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto order = detail::ordered(rows, [&](const OptionRow& row) {
            return row.job.attained_gpu_seconds - (row.job.placement.empty() ? 0 : lead_gpu_seconds);
        });
        detail::serve_in_order(round, rows, order, backfill);
    }
};

static_assert(RoundPolicy<LeastAttainedService>);

}  // namespace goodput

#endif
