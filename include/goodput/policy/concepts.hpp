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
// the values, so values compare jobs. Option::goodput does not: its unit is the job's own. A policy divides
// it by best_goodput(options), for example. A policy may also have
//
//   int most_gpus(job, model, gpu_type)                   larger options are not offered this round
//   optional<GradientStatistics> expected_gradient(job)   options are valued with these instead of the
//                                                         present ones; the batch plan keeps to those
//   double value_beside(round, row, option)               what one more option would be worth
//   static constexpr bool weights_count = false           Job::weight is no factor on its values

#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput {

/// The moment of the decision, as a policy sees it. Options' knowledge of goodput is already in them.
struct Round {
    double time_seconds = 0;      ///< now, on the clock of Job::submitted_seconds
    const Cluster& cluster;       ///< the nodes now
    std::span<const Pool> pools;  ///< of the open nodes, by GPU type, then node size; some without nodes
    /// What there is of everything that is limited: first the GPUs of every pool, then the rows of all other
    /// limits, in the order that ResourceUse::resource counts.
    std::span<const double> capacity{};
    std::span<const Job> jobs{};  ///< all of the round, where its maker and its limits are asked

    /// What the job holds now; empty if it waits.
    [[nodiscard]] Configuration held_by(const Job& job) const {
        return configuration_of(job.placement, cluster);
    }
    /// Seconds since the job was submitted; 0 if the clock was put back before that.
    [[nodiscard]] double age_of(const Job& job) const {
        return std::clamp(time_seconds - job.submitted_seconds, 0.0, std::numeric_limits<double>::max());
    }
};

/// One job's options and where their values go.
struct OptionRow {
    const Job& job;                   ///< whose options they are
    std::span<const Option> options;  ///< that it is offered; may be none
    std::span<double> values;         ///< as many; to be filled, finite
    OptionUses uses{};                ///< what each option takes of Round::capacity
};

/// Values options one by one.
template <class P>
concept OptionPolicy = requires(const P& policy, const Round& round, const Job& job, const Option& option) {
    { policy.value(round, job, option) } -> std::convertible_to<double>;
};

/// Values a job's options beside each other.
template <class P>
concept RowPolicy = requires(const P& policy, const Round& round, const Job& job,
                             std::span<const Option> options, std::span<double> values) {
    policy.value_row(round, job, options, values);
};

/// Values all jobs' options beside each other.
template <class P>
concept RoundPolicy = requires(const P& policy, const Round& round, std::span<const OptionRow> rows) {
    policy.value_round(round, rows);
};

/// What says what options are worth: one of the three.
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

/// Policies with `static constexpr bool weights_count = false` give values that only say who is served, so
/// that a factor on them would say nothing. The values of all others are multiplied by Job::weight.
template <class P>
inline constexpr bool counts_weights = !requires {
    requires !P::weights_count;
};

/// A policy that says what another option would be worth to a job beside those that it has valued: what
/// makers that answer at prices (schedule/makers.hpp) need of a policy that values a whole round.
template <class P>
concept ValuesBeside = requires(const P& policy, const Round& round, const OptionRow& row,
                                const Option& option) {
    { policy.value_beside(round, row, option) } -> std::convertible_to<double>;
};

/// Does not compile for what is not quite a policy, and says in one line which function is wrong in which
/// way: one of the three is missing or does not fit, or one of the optional functions or constants of the
/// names above, which would be left out without a word. Of overloaded ones it is only asked whether one fits.
template <class P>
consteval bool policy_fits() {
    constexpr bool names_value = requires { &P::value; };
    constexpr bool names_value_row = requires { &P::value_row; };
    constexpr bool names_value_round = requires { &P::value_round; };
    static_assert(
        Policy<P> || (!names_value && (names_value_row || names_value_round)),
        "Policy: value is missing, or is not: double value(const Round&, const Job&, const Option&) const");
    static_assert(RowPolicy<P> || !names_value_row,
                  "RowPolicy: value_row is not: void value_row(const Round&, const Job&, std::span<const "
                  "Option> options, std::span<double> values) const");
    static_assert(RoundPolicy<P> || !names_value_round,
                  "RoundPolicy: value_round is not: void value_round(const Round&, std::span<const "
                  "OptionRow> rows) const");
    static_assert(
        GrowthLimit<P> || !requires { &P::most_gpus; },
        "GrowthLimit: most_gpus is not: int most_gpus(const Job&, const JobModel&, std::size_t "
        "gpu_type) const");
    static_assert(
        GradientForecast<P> || !requires { &P::expected_gradient; },
        "GradientForecast: expected_gradient is not: std::optional<GradientStatistics> "
        "expected_gradient(const Job&) const");
    static_assert(
        ValuesBeside<P> || !requires { &P::value_beside; },
        "ValuesBeside: value_beside is not: double value_beside(const Round&, const OptionRow&, "
        "const Option&) const");
    constexpr bool names_weights_count = requires { P::weights_count; };
    constexpr bool knows_weights_count = requires { typename std::bool_constant<P::weights_count>; };
    static_assert(knows_weights_count || !names_weights_count,
                  "counts_weights: this policy's weights_count is not: static constexpr bool weights_count");
    constexpr bool names_rigid_jobs = requires { P::rigid_jobs; };
    constexpr bool knows_rigid_jobs = requires { typename std::bool_constant<P::rigid_jobs>; };
    static_assert(knows_rigid_jobs || !names_rigid_jobs,
                  "runs_rigid_jobs: this policy's rigid_jobs is not: static constexpr bool rigid_jobs");
    return true;
}

/// In place of an index where something is about all rows or options.
inline constexpr std::size_t no_index = std::numeric_limits<std::size_t>::max();

/// Lets a policy of any of the three forms fill all rows, and multiplies by the jobs' weights. Each call of
/// the policy goes through `guard(row, option, call)`, where `row` and `option` are indices or no_index.
template <class P, class Guard>
void value_rows(const P& policy, const Round& round, std::span<const OptionRow> rows, Guard guard) {
    static_assert(policy_fits<P>());
    if constexpr (RoundPolicy<P>) {
        guard(no_index, no_index, [&] { policy.value_round(round, rows); });
    } else {
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const OptionRow& row = rows[r];
            if constexpr (RowPolicy<P>)
                guard(r, no_index, [&] { policy.value_row(round, row.job, row.options, row.values); });
            else if constexpr (OptionPolicy<P>)
                for (std::size_t k = 0; k < row.options.size(); ++k)
                    guard(r, k, [&] { row.values[k] = policy.value(round, row.job, row.options[k]); });
        }
    }
    if constexpr (counts_weights<P>)
        for (const OptionRow& row : rows)
            if (row.job.weight != 1)
                for (double& value : row.values) value *= row.job.weight;
}
/// Lets a policy of any of the three forms fill all rows; what it throws passes through.
template <class P>
void value_rows(const P& policy, const Round& round, std::span<const OptionRow> rows) {
    value_rows(policy, round, rows, [](std::size_t, std::size_t, auto call) { call(); });
}

/// What another option is worth to a job beside those of the row, which have their values.
template <Policy P>
requires(!RoundPolicy<P> || ValuesBeside<P>) double value_beside(const P& policy, const Round& round,
                                                                 const OptionRow& row, const Option& option) {
    const double weight = counts_weights<P> ? row.job.weight : 1;
    if constexpr (ValuesBeside<P>) {
        return policy.value_beside(round, row, option);  // in the unit of the row's values, weight included
    } else if constexpr (RowPolicy<P>) {
        std::vector<Option> options(row.options.begin(), row.options.end());
        options.push_back(option);
        std::vector<double> values(options.size());
        policy.value_row(round, row.job, options, values);
        return weight * values.back();
    } else {
        return weight * policy.value(round, row.job, option);
    }
}

/// A number of a policy, and what users call it.
template <class P>
struct PolicyNumber {
    std::string_view name;  ///< lower case, as in the JSON and C interfaces
    double P::*number;      ///< the member
};

}  // namespace goodput

#endif
