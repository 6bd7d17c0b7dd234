#ifndef GOODPUT_SHARE_OBJECTIVES_HPP
#define GOODPUT_SHARE_OBJECTIVES_HPP

// Objectives: what the shares of time should optimise. An objective is a struct of one of three kinds. Each
// kind has two or three functions of the problem and a job's index. share_time() (share_time.hpp) finds the
// best shares for an objective, with a proof.
//
// The file also has the objectives known from the literature. Those of Gavel (OSDI'20, section 4) are the
// optimisation programs in Gavel's public code.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1 {

/// Every job has a level, which rises with its rate, and the least of all levels is maximised.
/// `rate_for(problem, job, level)` is the least rate, in steps/s, at which the job reaches the level. It is
/// at least 0 and non-decreasing in the level. `level_at(problem, job, rate)` is its inverse, the job's
/// level at a rate: infinity for a job that must not limit the minimum, such as one with nothing left to
/// do. Levels are above 0.
template <class O>
concept LevelObjective = requires(const O& objective, const ShareProblem& problem, std::size_t job,
                                  double number) {
    { objective.rate_for(problem, job, number) } -> std::convertible_to<double>;
    { objective.level_at(problem, job, number) } -> std::convertible_to<double>;
};

/// A level objective that is reported as `number_of(least level)` instead of the least level, for example
/// as its reciprocal. number_of() is monotone.
template <class O>
concept NumberedObjective = LevelObjective<O> && requires(const O& objective, double level) {
    { objective.number_of(level) } -> std::convertible_to<double>;
};

/// Every share of time has a value, and the sum of these values is maximised. `value(problem, job, type)`,
/// at least 0, is the value of all of the job's time on a GPU type. Jobs meet their deadlines if that is
/// possible for all of them.
template <class O>
concept LinearObjective = requires(const O& objective, const ShareProblem& problem, std::size_t job,
                                   std::size_t type) {
    { objective.value(problem, job, type) } -> std::convertible_to<double>;
};

/// Every job has a utility, an increasing and concave function of its rate, and the sum of utilities is
/// maximised. `utility(problem, job, rate)` is its value, `slope(problem, job, rate)` its derivative, above
/// 0, and `elasticity(problem, job, rate)` is -rate utility'' / utility', above 0. All three are asked only
/// for rates above 0. If it also has `sort(problem, job)`, a number, jobs of one sort whose rates are alike
/// up to a factor count as equal: each needs the same value of slope * rate, and the same elasticity, at the
/// same fraction of its largest rate.
template <class O>
concept UtilityObjective = requires(const O& objective, const ShareProblem& problem, std::size_t job,
                                    double rate) {
    { objective.utility(problem, job, rate) } -> std::convertible_to<double>;
    { objective.slope(problem, job, rate) } -> std::convertible_to<double>;
    { objective.elasticity(problem, job, rate) } -> std::convertible_to<double>;
};

/// An objective of one of the three kinds.
template <class O>
concept ShareObjective = LevelObjective<O> || LinearObjective<O> || UtilityObjective<O>;

/// Max-min fairness: maximises the least of workers * rate / (weight * proportional rate) (Gavel, section
/// 4.1). The proportional rate is the job's rate if its time is divided over the GPU types by their numbers
/// of GPUs (proportional_rate()).
struct MaxMin {
    /// Steps/s that a job needs for a level.
    [[nodiscard]] double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        return level * rate_of_one(problem, job);
    }
    /// Level of a job at a rate in steps/s.
    [[nodiscard]] double level_at(const ShareProblem& problem, std::size_t job, double rate) const {
        const double one = rate_of_one(problem, job);
        return one > 0 ? rate / one : std::numeric_limits<double>::infinity();
    }

private:
    static double rate_of_one(const ShareProblem& problem, std::size_t job) {
        const ShareJob& entry = problem.jobs[job];
        return entry.weight * proportional_rate(problem, job) / entry.workers;
    }
};

/// Max-min fairness without knowledge of speeds; call it with blind(problem). Maximises the least of
/// workers * fraction of the time / weight, whatever type a job runs on (Gavel's program with every rate 1;
/// a job gets no time where it cannot run).
struct MaxMinTime {
    /// Fraction of the time that a job needs for a level.
    [[nodiscard]] double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        return level * part_of_one(problem.jobs[job]);
    }
    /// Level of a job that runs for this fraction of the time.
    [[nodiscard]] double level_at(const ShareProblem& problem, std::size_t job, double part) const {
        return part / part_of_one(problem.jobs[job]);
    }

private:
    static double part_of_one(const ShareJob& job) { return job.weight / job.workers; }
};

/// Least makespan: minimises the time T within which all jobs end. The objective is reported as T in
/// seconds (Gavel, section 4.2).
struct Makespan {
    /// Steps/s of a job that must end within 1 / level seconds.
    [[nodiscard]] double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        return level * problem.jobs[job].steps_left;
    }
    /// 1 / (seconds that the job needs at a rate).
    [[nodiscard]] double level_at(const ShareProblem& problem, std::size_t job, double rate) const {
        const double steps = problem.jobs[job].steps_left;
        return steps > 0 ? rate / steps : std::numeric_limits<double>::infinity();
    }
    /// The makespan in seconds.
    [[nodiscard]] double number_of(double level) const { return 1 / level; }
};

/// Finish-time fairness: minimises the largest rho. A job's rho is its time from submission to completion,
/// divided by the time that it would take with its isolated share of the cluster (isolated_share()). The
/// objective is reported as the largest rho (Themis, NSDI'20; Gavel, section 4.3). Weights do not matter.
struct FinishTimeFairness {
    /// Steps/s that a job needs for rho = 1 / level.
    [[nodiscard]] double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        const ShareJob& entry = problem.jobs[job];
        const double alone = seconds_alone(problem, job);
        if (!std::isfinite(alone) || entry.steps_left <= 0) return 0;
        const double left = alone / level - entry.age_seconds;
        return left > 0 ? entry.steps_left / left : std::numeric_limits<double>::infinity();
    }
    /// 1 / rho at a rate.
    [[nodiscard]] double level_at(const ShareProblem& problem, std::size_t job, double rate) const {
        const ShareJob& entry = problem.jobs[job];
        const double alone = seconds_alone(problem, job);
        if (!std::isfinite(alone)) return alone;
        if (entry.steps_left <= 0)
            return entry.age_seconds > 0 && alone > 0 ? alone / entry.age_seconds
                                                      : std::numeric_limits<double>::infinity();
        return rate > 0 ? alone / (entry.age_seconds + entry.steps_left / rate) : 0;
    }
    /// The job's rho.
    [[nodiscard]] double number_of(double level) const { return 1 / level; }

private:
    static double seconds_alone(const ShareProblem& problem, std::size_t job) {
        const ShareJob& entry = problem.jobs[job];
        const double rate = isolated_rate(problem, job);
        return rate > 0 ? entry.isolated_seconds + entry.steps_left / rate
                        : std::numeric_limits<double>::infinity();
    }
};

/// Largest sum of rates in steps/s, although the steps of different jobs differ.
struct SumOfRates {
    /// Steps/s.
    [[nodiscard]] double value(const ShareProblem& problem, std::size_t job, std::size_t type) const {
        return problem.jobs[job].rates[type];
    }
};

/// Largest sum of rate / price of a GPU, in steps/s per dollar per hour (Gavel, section 4.2).
struct SumPerDollar {
    /// Steps/s per dollar per hour.
    [[nodiscard]] double value(const ShareProblem& problem, std::size_t job, std::size_t type) const {
        return problem.jobs[job].rates[type] / problem.dollars_per_hour[type];
    }
};

/// Nash welfare, or proportional fairness: maximises the sum of weight * ln(rate) (Nash 1950, Kelly 1997).
/// At the maximum, no other shares raise the sum of the relative changes of rates, each times the job's
/// weight.
struct NashWelfare {
    /// weight * ln(rate).
    [[nodiscard]] double utility(const ShareProblem& problem, std::size_t job, double rate) const {
        return problem.jobs[job].weight * std::log(rate);
    }
    /// weight / rate.
    [[nodiscard]] double slope(const ShareProblem& problem, std::size_t job, double rate) const {
        return problem.jobs[job].weight / rate;
    }
    /// The job's weight: slope * rate is the weight at every rate.
    [[nodiscard]] double sort(const ShareProblem& problem, std::size_t job) const {
        return problem.jobs[job].weight;
    }
    /// 1 at every rate.
    [[nodiscard]] double elasticity(const ShareProblem&, std::size_t, double) const { return 1; }
};

static_assert(LevelObjective<MaxMin> && LevelObjective<MaxMinTime>);
static_assert(NumberedObjective<Makespan> && NumberedObjective<FinishTimeFairness>);
static_assert(LinearObjective<SumOfRates> && LinearObjective<SumPerDollar> && UtilityObjective<NashWelfare>);

/// Returns the same problem without knowledge of speeds: every job does one step per second on every type
/// on which it can run.
[[nodiscard]] inline ShareProblem blind(ShareProblem problem) {
    for (ShareJob& job : problem.jobs)
        for (double& rate : job.rates) rate = rate > 0 ? 1 : 0;
    return problem;
}

}  // namespace goodput::inline v0_1

#endif
