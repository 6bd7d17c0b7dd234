#ifndef GOODPUT_TASKS_TASK_DURATIONS_HPP
#define GOODPUT_TASKS_TASK_DURATIONS_HPP

// Estimates the work that is left in a job of many tasks. There are three kinds of estimates with different
// errors:
//
//   The job's own finished tasks (SLearn, NSDI'22: learning in space). The mean of a simple random sample of
//   n of N tasks has the variance S^2 / n (1 - n / N), and the sum of the other tasks has N (N - n) S^2 / n
//   (Cochran, Sampling Techniques, chapters 2 and 5). The first tasks of a job are such a sample if its tasks
//   come in no particular order.
//
// Earlier jobs of its kind (learning in time). The error is the variance between jobs, however many earlier
// jobs there were.
//
// Both, weighted by their variances. The logarithms y_i of task durations are assumed to be normal around
// the job's own mean m with variance s2, and m is assumed to be normal around the mean m0 of earlier jobs
// with variance b. With n finished tasks, and running tasks that have been running for e_i seconds:
//
//       ln density of m  =  -(m - m0)^2 / (2 b) - sum over ended (y_i - m)^2 / (2 s2)
//                           + sum over running ln Q((ln e_i - m) / s)          Q: upper tail of the normal
//       curvature        =  1 / b + (n + sum over running of h (h - a)) / s2
//
// A running task is a censored observation: e_i is a lower bound. Its term says next to nothing as long as
// e_i is short, and raises m when the task takes longer than expected. h is the normal hazard at a = (ln
// e_i - m) / s. The task counts as the fraction h (h - a) of a full observation (Cox and Oakes, 1984).
// Without these terms, estimates would be too low while tasks run, because the shortest of the tasks that
// begin together end first.
//
// Only the combined estimate uses running tasks. The mean of a job's first finished tasks is unbiased only
// after all tasks that began with them have ended.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "goodput/core/detail/normal_distribution.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/core/tasks.hpp"
#include "goodput/statistics/distributions.hpp"

namespace goodput::inline v0_1 {

/// The remaining work of a job's tasks, and its uncertainty.
struct DurationEstimate {
    int tasks = 0;                 ///< number of the job's tasks
    double spent_seconds = 0;      ///< seconds of finished tasks, plus seconds so far of running tasks
    double remaining_seconds = 0;  ///< task seconds still to come, summed over all GPUs
    /// Standard error of remaining_seconds; infinite if it is unknown how much tasks differ.
    double remaining_error = 0;
    double freedom = std::numeric_limits<double>::infinity();  ///< degrees of freedom of remaining_error
    bool skewed = false;  ///< errors are factors (log-normal) instead of differences

    /// Mean seconds over all tasks of the job.
    [[nodiscard]] double mean_seconds() const { return (spent_seconds + remaining_seconds) / tasks; }
};

/// Returns an interval that contains the true remaining seconds with probability `coverage`. It uses
/// Student's t distribution, or a log-normal one with the same mean and error if the estimate is skewed.
/// Returns 0 to infinity if the error is unknown. Throws std::invalid_argument if `coverage` is not in (0,
/// 1).
[[nodiscard]] Interval remaining_interval(const DurationEstimate& estimate, double coverage);

/// Estimates from the job's finished tasks alone: the sample mean of each stratum, with the
/// finite-population correction. A stratum with one finished task takes the relative variance of the other
/// strata, or else that of earlier jobs' tasks. A stratum without a finished task takes the mean of the
/// others. Returns nothing if no task has finished.
[[nodiscard]] std::optional<DurationEstimate> estimate_own(const JobTasks& tasks);

/// Estimates from earlier jobs alone. Returns nothing if JobTasks::usual is empty.
[[nodiscard]] std::optional<DurationEstimate> estimate_usual(const JobTasks& tasks);

/// Estimates from both, and from how long running tasks have been running. Without earlier jobs it uses the
/// job's own tasks once two have finished. Returns nothing if no task has finished and no earlier jobs are
/// known.
[[nodiscard]] std::optional<DurationEstimate> estimate_combined(const JobTasks& tasks);

namespace detail {

/// Limits a variance to a range beyond which nothing changes: tasks are then completely uncertain, or
/// completely certain.
inline double bounded_variance(double variance) { return std::clamp(variance, 1e-12, 50.0); }

}  // namespace detail

/// Returns the published number of pilot tasks of a job with `tasks` tasks (at least 1): a fraction of
/// them, but at least one, and none if there are fewer than `few` tasks (SLearn, section 4). The defaults
/// of `part` and `few` are the published values.
[[nodiscard]] inline int published_pilots(int tasks, double part = 0.03, int few = 4) {
    if (tasks < few) return 0;
    return std::clamp(static_cast<int>(std::ceil(part * tasks - 1e-9)), 1, tasks);
}

/// Returns the number of pilot tasks after which one more costs as much as it gains:
///
///     k = s sqrt(N / (2 sqrt(pi w))) - s2 / b       rounded up or down, from 0 to `tasks`
///
/// where s2 and b are the variances of logarithms within and between jobs, w the variance of the logarithm
/// of whole jobs' work, and N the number of tasks. Take two jobs whose logarithms of work differ by a
/// normal amount with variance 2 w, and are known with the variances v1 and v2. The expected cost of
/// serving them in the wrong order is W (v1 + v2) / (4 sqrt(pi w)) seconds, where W is the number of
/// seconds that such a job takes on the cluster. With k pilots, the variance of a job is v = 1 / (1 / b + k
/// / s2); one more pilot lowers it by v^2 / s2. The pilot delays all jobs in front of this one, which are
/// half of the waiting jobs, by W / N. Load and cluster size cancel: each waiting job is one more possible
/// mistake, and one more job to delay. If no job waits, pilots delay no job.
[[nodiscard]] inline int best_pilots(int tasks, const UsualTasks& usual) {
    const double within = detail::bounded_variance(usual.within);
    const double between = detail::bounded_variance(usual.between);
    const double root = 2 * std::sqrt(std::numbers::pi * detail::bounded_variance(usual.work));
    const double even = std::sqrt(within * tasks / root) - within / between;
    const double pilots = std::floor(std::clamp(even, 0.0, tasks - 1.0));
    const auto variance = [&](double k) { return 1 / (1 / between + k / within); };
    const bool pays = tasks * (variance(pilots) - variance(pilots + 1)) > root;
    return static_cast<int>(pilots) + (pays ? 1 : 0);
}

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Returns the hazard of the normal distribution: its density over its upper tail.
inline double normal_hazard(double x) {
    if (x > 25) return x + 1 / x - 2 / (x * x * x);
    return normal_density(x) / normal_below(-x);
}

/// Returns the logarithm of the upper tail of the normal distribution.
inline double log_normal_tail(double x) {
    if (x > 25) return -x * x / 2 - std::log(normal_hazard(x)) - std::log(2 * std::numbers::pi) / 2;
    return std::log(normal_below(-x));
}

/// Task durations with normal logarithms.
struct LogNormalTasks {
    double mean_log = 0, variance = 1;  ///< mean and variance of the logarithms

    /// A running task whose deviate is below this is treated as one that has just begun.
    static constexpr double soon = -6;

    [[nodiscard]] double deviate(double seconds) const {
        return seconds > 0 ? (std::log(seconds) - mean_log) / std::sqrt(variance)
                           : -std::numeric_limits<double>::infinity();
    }
    /// E[T^power | T > seconds], for power 1 or 2.
    [[nodiscard]] double moment_beyond(double seconds, int power) const {
        const double a = deviate(seconds), shifted = a - power * std::sqrt(variance);
        if (a < soon || shifted < -30) return std::exp(power * mean_log + power * power * variance / 2);
        return std::pow(seconds, power) * normal_hazard(a) / normal_hazard(shifted);
    }
};

/// The distribution of a job's mean logarithm.
struct LogMean {
    double mean = 0, variance = 1;
};

/// Returns the mean and variance of m under the density of the opening comment. `precision` is 1 / b. There
/// must be a prior or a finished task.
inline LogMean posterior_of(const TaskSample& sample, double prior_mean, double precision, double within) {
    const double ended = sample.finished / within, known = precision + ended;
    const double without = (precision * prior_mean + ended * sample.mean_log_seconds) / known;
    const auto deviate = [&](double seconds, double m) { return LogNormalTasks{m, within}.deviate(seconds); };
    // Find the maximum. The derivative falls and is convex in m, so Newton's steps from below rise to its
    // root.
    double mode = without, curvature = known;
    for (int pass = 0; pass < 50; ++pass) {
        double score = known * (without - mode);
        curvature = known;
        for (const double seconds : sample.running_seconds) {
            const double a = deviate(seconds, mode);
            if (a < LogNormalTasks::soon) continue;
            const double hazard = normal_hazard(a);
            score += hazard / std::sqrt(within);
            curvature += std::clamp(hazard * (hazard - a), 0.0, 1.0) / within;
        }
        const double step = score / curvature;
        mode += step;
        if (std::abs(step) <= 1e-9) break;
    }
    if (curvature <= 1.02 * known) return {mode, 1 / curvature};
    // If running tasks carry much of the information, the density falls steeply below its maximum and
    // slowly above it. It must then be integrated on both sides, each over its own width.
    const auto height = [&](double m) {
        double sum = -known * (m - without) * (m - without) / 2;
        for (const double seconds : sample.running_seconds) sum += log_normal_tail(deviate(seconds, m));
        return sum;
    };
    constexpr int steps = 12;
    const double top = height(mode);
    double mass = 0, first = 0, second = 0;
    for (const double side : {-1.0, 1.0}) {
        const double width = 5 / std::sqrt(side < 0 ? curvature : known);
        for (int i = 1; i <= steps; ++i) {  // finest at the maximum
            const double part = static_cast<double>(i) / steps, from = side * width * part * part;
            const double weight = width * part * std::exp(height(mode + from) - top);
            mass += weight;
            first += weight * from;
            second += weight * from * from;
        }
    }
    first /= mass;
    return {mode + first, std::max(second / mass - first * first, 1e-300)};
}

/// Adds a stratum to an estimate. Its tasks are log-normal, and `known` is the distribution of their mean
/// logarithm. `factor` is the mean of the seconds divided by the exponential of the mean logarithm.
inline void add_log_normal(DurationEstimate& to, const TaskSample& sample, LogMean known, double within,
                           double factor) {
    const LogNormalTasks law{known.mean, within};
    const double mean = factor * std::exp(known.mean + known.variance / 2);
    double remaining = sample.waiting() * mean, scatter = sample.waiting() * mean * mean * std::expm1(within);
    to.spent_seconds += sample.finished * sample.mean_seconds;
    for (const double seconds : sample.running_seconds) {
        const double whole = law.moment_beyond(seconds, 1);
        to.spent_seconds += seconds;
        remaining += std::max(whole - seconds, 0.0);
        scatter += std::max(law.moment_beyond(seconds, 2) - whole * whole, 0.0);
    }
    to.remaining_seconds += remaining;
    const double error = std::hypot(remaining * std::sqrt(std::expm1(known.variance)), std::sqrt(scatter));
    to.remaining_error = std::hypot(to.remaining_error, error);
}

}  // namespace detail

inline Interval remaining_interval(const DurationEstimate& estimate, double coverage) {
    require_fraction("interval", "coverage", coverage);
    const double remaining = estimate.remaining_seconds, error = estimate.remaining_error;
    if (std::isinf(error)) return {0, std::numeric_limits<double>::infinity()};
    const double quantile = detail::student_quantile(coverage, estimate.freedom);
    if (!estimate.skewed || remaining <= 0)
        return {std::max(remaining - quantile * error, 0.0), remaining + quantile * error};
    const double variance = std::log1p((error / remaining) * (error / remaining));
    const double middle = remaining * std::exp(-variance / 2),
                 spread = std::exp(quantile * std::sqrt(variance));
    return {middle / spread, middle * spread};
}

inline std::optional<DurationEstimate> estimate_own(const JobTasks& tasks) {
    if (tasks.finished() == 0) return std::nullopt;
    // Over all strata: the relative variance of the tasks within a stratum, and the mean and spread of the
    // means of the strata.
    double relative = 0, freedom = 0, weight = 0, mean = 0, spread = 0;
    int sampled = 0;
    for (const TaskSample& sample : tasks.strata) {
        if (sample.finished == 0) continue;
        relative += sample.squared_deviations / (sample.mean_seconds * sample.mean_seconds);
        freedom += sample.finished - 1;
        weight += sample.tasks;
        mean += sample.tasks * sample.mean_seconds;
        ++sampled;
    }
    mean /= weight;
    for (const TaskSample& sample : tasks.strata)
        if (sample.finished > 0)
            spread += (sample.mean_seconds - mean) * (sample.mean_seconds - mean) / std::max(sampled - 1, 1);
    constexpr double unknown = std::numeric_limits<double>::infinity();
    const bool taught = freedom == 0 && tasks.usual;
    if (taught) freedom = unknown;
    relative = taught ? std::expm1(detail::bounded_variance(tasks.usual->within))
                      : (freedom > 0 ? relative / freedom : unknown);

    DurationEstimate estimate{.tasks = tasks.tasks()};
    double variance = 0, by_freedom = 0;
    for (const TaskSample& sample : tasks.strata) {
        const double n = sample.finished, all = sample.tasks;
        const double stratum_mean = n > 0 ? sample.mean_seconds : mean;
        estimate.spent_seconds += n * sample.mean_seconds;
        estimate.remaining_seconds += sample.waiting() * stratum_mean;
        for (const double seconds : sample.running_seconds) {
            estimate.spent_seconds += seconds;
            estimate.remaining_seconds += std::max(stratum_mean - seconds, 0.0);
        }
        if (sample.finished == sample.tasks) continue;
        double part = unknown, stratum_freedom = freedom;
        if (n > 1) {
            part = all * (all - n) * sample.squared_deviations / (n - 1) / n;
            stratum_freedom = n - 1;
        } else if (n == 1) {
            part = all * (all - 1) * relative * stratum_mean * stratum_mean;
        } else if (sampled > 1) {
            part = all * all * spread * (1 + 1.0 / sampled);
            stratum_freedom = sampled - 1;
        }
        variance += part;
        by_freedom += part * part / stratum_freedom;
    }
    estimate.remaining_error = std::sqrt(variance);
    // The degrees of freedom of a sum of variances (Satterthwaite 1946).
    if (by_freedom > 0 && std::isfinite(variance)) estimate.freedom = variance * variance / by_freedom;
    return estimate;
}

inline std::optional<DurationEstimate> estimate_usual(const JobTasks& tasks) {
    if (!tasks.usual) return std::nullopt;
    DurationEstimate estimate{.tasks = tasks.tasks(), .skewed = true};
    const double within = detail::bounded_variance(tasks.usual->within);
    const detail::LogMean known{tasks.usual->mean_log_seconds,
                                detail::bounded_variance(tasks.usual->between)};
    for (const TaskSample& sample : tasks.strata)
        detail::add_log_normal(estimate, sample, known, within, tasks.usual->mean_factor);
    return estimate;
}

inline std::optional<DurationEstimate> estimate_combined(const JobTasks& tasks) {
    const bool taught = tasks.usual.has_value();
    double squares = 0, freedom = 0;
    bool each_sampled = true;
    for (const TaskSample& sample : tasks.strata) {
        squares += sample.squared_log_deviations;
        freedom += std::max(sample.finished - 1, 0);
        each_sampled &= sample.finished > 0;
    }
    if (!taught && (freedom == 0 || !each_sampled)) return estimate_own(tasks);
    double prior_mean = 0, precision = 0;
    if (taught) {
        squares += tasks.usual->within_freedom * tasks.usual->within;
        freedom += tasks.usual->within_freedom;
        prior_mean = tasks.usual->mean_log_seconds;
        precision = 1 / detail::bounded_variance(tasks.usual->between);
    }
    const double within = detail::bounded_variance(squares / freedom);
    // If tasks are not log-normal, their mean differs from the log-normal mean. The ratio of the two is
    // taken from earlier jobs.
    const double factor = taught ? tasks.usual->mean_factor *
                                       std::exp((within - detail::bounded_variance(tasks.usual->within)) / 2)
                                 : std::exp(within / 2);
    DurationEstimate estimate{.tasks = tasks.tasks(), .skewed = true};
    for (const TaskSample& sample : tasks.strata)
        detail::add_log_normal(estimate, sample, detail::posterior_of(sample, prior_mean, precision, within),
                               within, factor);
    return estimate;
}

}  // namespace goodput::inline v0_1

#endif
