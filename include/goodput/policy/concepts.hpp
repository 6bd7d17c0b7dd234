#ifndef GOODPUT_POLICY_CONCEPTS_HPP
#define GOODPUT_POLICY_CONCEPTS_HPP

// What a policy has to answer: what is an option worth to a job? A struct with one of these functions is a
// policy:
//
//   you know what ...                                             write
//   one option is worth by itself                                 double value(round, job, option)
//   a job's options are worth beside each other (normalising)     void value_row(round, job, options, values)
//   all jobs' options are worth beside each other (queues)        void value_round(round, rows)
//
// Options worth 0 or less are not given, except what a job must keep. The allotment step maximises the sum of
// the values. A policy may also have
//
//   int most_gpus(job, model, gpu_type)                   larger options are not offered this round
//   optional<GradientStatistics> expected_gradient(job)   options are valued with these instead of the
//                                                         present ones; the batch plan keeps to those

#include <concepts>
#include <optional>
#include <span>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput {

/// The moment of the decision, as a policy sees it. Options' knowledge of goodput is already in them.
struct Round {
    double time_seconds = 0;
    const Cluster& cluster;
    std::span<const Pool> pools;

    /// What the job holds now; empty if it waits.
    [[nodiscard]] Allotment held_by(const Job& job) const { return allotment_of(job.placement, cluster); }
    [[nodiscard]] double age_of(const Job& job) const { return time_seconds - job.submitted_seconds; }
};

/// One job's options and where their values go.
struct Row {
    const Job& job;
    std::span<const Option> options;
    std::span<double> values;
};

template <class P>
concept OptionPolicy = requires(const P& policy, const Round& round, const Job& job, const Option& option) {
    { policy.value(round, job, option) } -> std::convertible_to<double>;
};

template <class P>
concept RowPolicy = requires(const P& policy, const Round& round, const Job& job,
                             std::span<const Option> options, std::span<double> values) {
    policy.value_row(round, job, options, values);
};

template <class P>
concept RoundPolicy = requires(const P& policy, const Round& round, std::span<const Row> rows) {
    policy.value_round(round, rows);
};

template <class P>
concept Policy = OptionPolicy<P> || RowPolicy<P> || RoundPolicy<P>;

/// A policy that limits how far a job may grow this round.
template <class P>
concept GrowthLimit = requires(const P& policy, const Job& job, const JobModel& model, std::size_t gpu_type) {
    { policy.most_gpus(job, model, gpu_type) } -> std::convertible_to<int>;
};

/// A policy that looks ahead to the gradient statistics that a job will have while it holds what it is given.
template <class P>
concept GradientForecast = requires(const P& policy, const Job& job) {
    { policy.expected_gradient(job) } -> std::convertible_to<std::optional<GradientStatistics>>;
};

/// Policies with `static constexpr bool rigid_jobs = true` run jobs with the GPUs and batch size that their
/// owners asked for.
template <class P>
inline constexpr bool runs_rigid_jobs = requires {
    requires P::rigid_jobs;
};

/// Lets a policy of any of the three forms fill all rows.
template <Policy P>
void value_rows(const P& policy, const Round& round, std::span<const Row> rows) {
    if constexpr (RoundPolicy<P>) {
        policy.value_round(round, rows);
    } else {
        for (const Row& row : rows) {
            if constexpr (RowPolicy<P>)
                policy.value_row(round, row.job, row.options, row.values);
            else
                for (std::size_t k = 0; k < row.options.size(); ++k)
                    row.values[k] = policy.value(round, row.job, row.options[k]);
        }
    }
}

}  // namespace goodput

#endif
