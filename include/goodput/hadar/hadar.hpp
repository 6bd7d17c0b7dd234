#ifndef GOODPUT_HADAR_HADAR_HPP
#define GOODPUT_HADAR_HADAR_HPP

// Hadar's policy (IPDPS'24). An option is worth the utility of the completion time that it leads to,
//
//     completion = age + examples left / goodput + restart cost (of every option but the one held)
//
// and the allotment maximises the sum of the utilities. Three utilities are published, each for a different
// goal. For the average completion time: examples of the whole job / completion. For the makespan: the same
// divided by the job's best goodput. For finish-time fairness: completion / completion alone on an equal
// share of the cluster (here the reciprocal, so that more is better). All fall with the completion time.
//
// With these published utilities, a job is worth less the longer it has waited. They are meant for jobs
// that are admitted once, at prices (PostedPrices). If jobs compete again in every round, as in a replay,
// then jobs that could have finished quickly wait longest. So our default utility counts the time from now
// on only: 1 / (completion - age), the finished jobs per second.
//
// The published algorithm is this policy with the solver PostedPrices (hadar/posted_prices.hpp) and
// configurations of several GPU types (hadar/mixed_types.hpp). The default solver maximises the same sum
// exactly.

#include <algorithm>
#include <cstddef>
#include <span>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput::inline v0_1 {

/// The utility of a completion time.
enum class CompletionUtility {
    jobs_per_second,        ///< 1 / seconds left: ours
    effective_throughput,   ///< all examples of the job / completion, for average completion, as published
    normalized_throughput,  ///< the same / best goodput, for makespan, as published
    finish_time_fairness    ///< completion on an equal share / completion, as published
};

/// The policy that maximises the sum of the utilities of completion times. It is a RoundPolicy.
struct Hadar {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    CompletionUtility utility = CompletionUtility::jobs_per_second;  ///< utility of a completion time
    double assumed_seconds = 3600;  ///< time left on its best option, for a job whose work left is unknown

    /// Throws std::invalid_argument if the assumed time is not above 0.
    void validate() const { require_positive("policy hadar", "assumed", assumed_seconds); }

    /// Sets the values of all jobs' options.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        for (const OptionRow& row : rows) {
            const Configuration held = round.held_by(row.job);
            const double left = std::max(detail::examples_left(row, assumed_seconds), least_examples);
            for (std::size_t k = 0; k < row.options.size(); ++k) {
                const Option& option = row.options[k];
                row.values[k] = 0;
                if (option.goodput <= 0) continue;
                const double restart =
                    option.configuration.same_gpus(held) ? 0 : row.job.restart_cost_seconds;
                row.values[k] = worth(round, row, rows.size(), left, left / option.goodput + restart);
            }
        }
    }

private:
    static constexpr double least_examples = 1e-9;  // keeps the value of a finished job finite

    /// Returns the worth to a job of finishing `seconds` from now.
    [[nodiscard]] double worth(const Round& round, const OptionRow& row, std::size_t jobs, double left,
                               double seconds) const {
        const double examples = row.job.done_examples.value_or(0) + left;
        const double completion = round.age_of(row.job) + seconds;
        switch (utility) {
            case CompletionUtility::jobs_per_second:
                return 1 / seconds;
            case CompletionUtility::effective_throughput:
                return examples / completion;
            case CompletionUtility::normalized_throughput:
                return examples / best_goodput(row.options) / completion;
            case CompletionUtility::finish_time_fairness:
                break;
        }
        return examples / detail::isolated_goodput(round, row, jobs) / completion;
    }
};

static_assert(RoundPolicy<Hadar>);

}  // namespace goodput::inline v0_1

#endif
