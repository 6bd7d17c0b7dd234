#ifndef GOODPUT_POLICY_CONCEPTS_HPP
#define GOODPUT_POLICY_CONCEPTS_HPP

// A policy says what an option is worth to a job. A struct with one of these functions is a policy:
//
//   you know the worth of ...                                    write
//   one option by itself                                         double value(round, job, option)
//   a job's options compared with each other (normalising)       void value_row(round, job, options, values)
//   all jobs' options compared with each other (queues)          void value_round(round, rows)
//
// A job never gets an option worth 0 or less, unless it must keep that option. The allotment maximises the
// sum of the values, so values must be comparable between jobs. Option::goodput is not comparable, because
// its unit differs between jobs. A policy may, for example, divide it by best_goodput(options). A policy
// may also have
//
//   int most_gpus(job, model, gpu_type)                   larger options are not offered this round
//   optional<GradientStatistics> expected_gradient(job)   options are valued with these statistics; the batch
//                                                         plan keeps to the present ones
//   double value_beside(round, row, option)               what one more option would be worth; a policy of
//                                                         whole rounds needs it for makers that answer at
//                                                         prices
//   static constexpr bool weights_count = false           its values are not multiplied by Job::weight
//   static constexpr bool rigid_jobs = true               a replay runs jobs as their owners asked for

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

namespace goodput::inline v0_1 {

/// The moment of the decision, as a policy sees it. The options already contain what is known about
/// goodput.
struct Round {
    double time_seconds = 0;      ///< current time, on the clock of Job::submitted_seconds
    const Cluster& cluster;       ///< nodes at this time
    std::span<const Pool> pools;  ///< open nodes by GPU type, then node size; a pool may be empty
    /// Capacities of all limited resources: first the GPUs of every pool, then the rows of all other
    /// limits, in the order of ResourceUse::resource.
    std::span<const double> capacity{};
    std::span<const Job> jobs{};  ///< all jobs of the round; set when makers and limits are asked

    /// Returns what the job holds now; empty if it waits.
    [[nodiscard]] Configuration held_by(const Job& job) const {
        return configuration_of(job.placement, cluster);
    }
    /// Returns the seconds since the job was submitted; 0 if the clock was set back before that time.
    [[nodiscard]] double age_of(const Job& job) const {
        return std::clamp(time_seconds - job.submitted_seconds, 0.0, std::numeric_limits<double>::max());
    }
};

/// The options of one job, and the place for their values.
struct OptionRow {
    const Job& job;                   ///< the job
    std::span<const Option> options;  ///< options that it is offered; may be empty
    std::span<double> values;         ///< one value per option, to be filled with finite numbers
    OptionUses uses{};                ///< units of Round::capacity that each option takes
};

/// A policy that values options one by one.
template <class P>
concept OptionPolicy = requires(const P& policy, const Round& round, const Job& job, const Option& option) {
    { policy.value(round, job, option) } -> std::convertible_to<double>;
};

/// A policy that values the options of one job together.
template <class P>
concept RowPolicy = requires(const P& policy, const Round& round, const Job& job,
                             std::span<const Option> options, std::span<double> values) {
    policy.value_row(round, job, options, values);
};

/// A policy that values the options of all jobs together.
template <class P>
concept RoundPolicy = requires(const P& policy, const Round& round, std::span<const OptionRow> rows) {
    policy.value_round(round, rows);
};

/// A policy: it values options in one of these three ways.
template <class P>
concept Policy = OptionPolicy<P> || RowPolicy<P> || RoundPolicy<P>;

/// A policy that limits how far a job may grow this round.
template <class P>
concept GrowthLimit = requires(const P& policy, const Job& job, const JobModel& model, std::size_t gpu_type) {
    { policy.most_gpus(job, model, gpu_type) } -> std::convertible_to<int>;
};

/// A policy that forecasts the gradient statistics that a job will have while it holds what it is given.
template <class P>
concept GradientForecast = requires(const P& policy, const Job& job) {
    { policy.expected_gradient(job) } -> std::convertible_to<std::optional<GradientStatistics>>;
};

/// Whether a replay should run jobs with the GPUs and batch size for which their owners asked. Such a
/// policy has `static constexpr bool rigid_jobs = true`.
template <class P>
inline constexpr bool runs_rigid_jobs = requires {
    requires P::rigid_jobs;
};

/// Whether values are multiplied by Job::weight. A policy has `static constexpr bool weights_count = false`
/// if its values already contain the weights, or if they only say which jobs are served, because a factor on
/// such values has no meaning.
template <class P>
inline constexpr bool counts_weights = !requires {
    requires !P::weights_count;
};

/// A policy that can say what one more option would be worth to a job, compared with the options that it
/// has valued. Makers that find options at prices (schedule/makers.hpp) need this from a policy that values
/// whole rounds.
template <class P>
concept ValuesBeside = requires(const P& policy, const Round& round, const OptionRow& row,
                                const Option& option) {
    { policy.value_beside(round, row, option) } -> std::convertible_to<double>;
};

/// Checks a policy. If it does not fit, compilation fails with one line that says which function is wrong,
/// and how. It checks that one of the three functions is there and right, and that the optional functions
/// and constants of the opening comment are right if they are there: without this check, wrong ones would
/// be ignored silently. If a function is overloaded, one overload must fit.
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

/// In place of the index of a row or an option: all rows, or all options.
inline constexpr std::size_t no_index = std::numeric_limits<std::size_t>::max();

/// Lets a policy of any form fill all rows, and multiplies the values by the jobs' weights. Each call of
/// the policy goes through `guard(row, option, call)`; `row` and `option` are indices or no_index.
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
/// Lets a policy of any form fill all rows. Exceptions of the policy pass through.
template <class P>
void value_rows(const P& policy, const Round& round, std::span<const OptionRow> rows) {
    value_rows(policy, round, rows, [](std::size_t, std::size_t, auto call) { call(); });
}

/// Returns the worth of one more option to a job, compared with the options of the row, which have been
/// valued.
template <Policy P>
requires(!RoundPolicy<P> || ValuesBeside<P>) double value_beside(const P& policy, const Round& round,
                                                                 const OptionRow& row, const Option& option) {
    const double weight = counts_weights<P> ? row.job.weight : 1;
    if constexpr (ValuesBeside<P>) {
        // This is already in the unit of the row's values, and includes the weight.
        return policy.value_beside(round, row, option);
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

/// A number of a policy, with its name for users.
template <class P>
struct PolicyNumber {
    std::string_view name;  ///< lower case, as in the JSON and C interfaces
    double P::*number;      ///< the member
};

}  // namespace goodput::inline v0_1

#endif
