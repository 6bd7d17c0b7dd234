#ifndef GOODPUT_SHARE_OBJECTIVES_HPP
#define GOODPUT_SHARE_OBJECTIVES_HPP

// What shares are good for: an objective is a struct of one of three kinds, each with two or three functions
// of the problem and a job's index; share_time() (share_time.hpp) finds its best shares, with proof. And the
// objectives of the field: those of Gavel (OSDI'20, section 4) are programs of its public code.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1 {

/// Every job reaches a level that rises with its rate, and the least of all levels is to be as high as
/// possible. `rate_for(problem, job, level)` is the least rate in steps/s at which the job is at that level:
/// at least 0, not falling in the level. `level_at(problem, job, rate)` is its level at a rate: the inverse;
/// infinity for a job that does not count. Levels are above 0.
template <class O>
concept LevelObjective = requires(const O& objective, const ShareProblem& problem, std::size_t job,
                                  double number) {
    { objective.rate_for(problem, job, number) } -> std::convertible_to<double>;
    { objective.level_at(problem, job, number) } -> std::convertible_to<double>;
};

/// A level objective whose number is not the least level, but `number_of(level)`, which is monotone: for
/// example the reciprocal.
template <class O>
concept NumberedObjective = LevelObjective<O> && requires(const O& objective, double level) {
    { objective.number_of(level) } -> std::convertible_to<double>;
};

/// Every share of time has a value, and their sum is to be as large as possible: `value(problem, job, type)`
/// is that of all of the job's time on a GPU type, at least 0. Deadlines of jobs are kept where that is
/// possible.
template <class O>
concept LinearObjective = requires(const O& objective, const ShareProblem& problem, std::size_t job,
                                   std::size_t type) {
    { objective.value(problem, job, type) } -> std::convertible_to<double>;
};

/// Every job has a utility of its rate, increasing and concave, and their sum is to be as large as possible.
/// `utility(problem, job, rate)` is the value, `slope(problem, job, rate)` its derivative, above 0, and
/// `elasticity(problem, job, rate)` is -rate utility'' / utility', above 0; all at rates above 0.
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

/// Largest minimum: the least of workers * rate / (weight * proportional rate) (Gavel, section 4.1).
struct MaxMin {
    /// Steps/s of a job at a level.
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
        const ShareJob& its = problem.jobs[job];
        return its.weight * proportional_rate(problem, job) / its.workers;
    }
};

/// Largest minimum for one who does not know how fast jobs are on which type, to be asked of blind(problem):
/// the least of workers * part of the time / weight, whatever type a job runs on (Gavel's program with every
/// rate 1; a job gets no time where it cannot run).
struct MaxMinTime {
    /// Part of the time of a job at a level.
    [[nodiscard]] double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        return level * part_of_one(problem.jobs[job]);
    }
    /// Level of a job that runs for that part of the time.
    [[nodiscard]] double level_at(const ShareProblem& problem, std::size_t job, double part) const {
        return part / part_of_one(problem.jobs[job]);
    }

private:
    static double part_of_one(const ShareJob& job) { return job.weight / job.workers; }
};

/// Least total time: all jobs end within T seconds; told by T (Gavel, section 4.2).
struct Makespan {
    /// Steps/s of a job that has to end in 1 / level seconds.
    [[nodiscard]] double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        return level * problem.jobs[job].steps_left;
    }
    /// 1 / seconds that it needs at a rate.
    [[nodiscard]] double level_at(const ShareProblem& problem, std::size_t job, double rate) const {
        const double steps = problem.jobs[job].steps_left;
        return steps > 0 ? rate / steps : std::numeric_limits<double>::infinity();
    }
    /// Seconds.
    [[nodiscard]] double number_of(double level) const { return 1 / level; }
};

/// Finish-time fairness: the largest rho of a job, its time from submission to the end over what that would
/// be with the isolated share of the cluster, is to be small; told by that rho (Themis, NSDI'20; Gavel,
/// section 4.3). Weights do not count.
struct FinishTimeFairness {
    /// Steps/s of a job at rho = 1 / level.
    [[nodiscard]] double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        const ShareJob& its = problem.jobs[job];
        const double alone = seconds_alone(problem, job);
        if (!std::isfinite(alone) || its.steps_left <= 0) return 0;
        const double left = alone / level - its.age_seconds;
        return left > 0 ? its.steps_left / left : std::numeric_limits<double>::infinity();
    }
    /// 1 / rho at a rate.
    [[nodiscard]] double level_at(const ShareProblem& problem, std::size_t job, double rate) const {
        const ShareJob& its = problem.jobs[job];
        const double alone = seconds_alone(problem, job);
        if (!std::isfinite(alone)) return alone;
        if (its.steps_left <= 0)
            return its.age_seconds > 0 && alone > 0 ? alone / its.age_seconds
                                                    : std::numeric_limits<double>::infinity();
        return rate > 0 ? alone / (its.age_seconds + its.steps_left / rate) : 0;
    }
    /// Rho.
    [[nodiscard]] double number_of(double level) const { return 1 / level; }

private:
    static double seconds_alone(const ShareProblem& problem, std::size_t job) {
        const ShareJob& its = problem.jobs[job];
        const double rate = isolated_rate(problem, job);
        return rate > 0 ? its.isolated_seconds + its.steps_left / rate
                        : std::numeric_limits<double>::infinity();
    }
};

/// Largest sum of rates, in steps/s whatever a step is.
struct SumOfRates {
    /// Steps/s.
    [[nodiscard]] double value(const ShareProblem& problem, std::size_t job, std::size_t type) const {
        return problem.jobs[job].rates[type];
    }
};

/// Largest sum of rates over the price of a GPU, in steps/s per dollar an hour (Gavel, section 4.2).
struct SumPerDollar {
    /// Steps/s per dollar an hour.
    [[nodiscard]] double value(const ShareProblem& problem, std::size_t job, std::size_t type) const {
        return problem.jobs[job].rates[type] / problem.dollars_per_hour[type];
    }
};

/// Nash welfare, or proportional fairness: the largest sum of weight * ln(rate) (Nash 1950, Kelly 1997).
/// Nobody's part can grow by some per cent without others losing as many in sum.
struct NashWelfare {
    /// weight * ln(rate).
    [[nodiscard]] double utility(const ShareProblem& problem, std::size_t job, double rate) const {
        return problem.jobs[job].weight * std::log(rate);
    }
    /// weight / rate.
    [[nodiscard]] double slope(const ShareProblem& problem, std::size_t job, double rate) const {
        return problem.jobs[job].weight / rate;
    }
    /// 1 at every rate.
    [[nodiscard]] double elasticity(const ShareProblem&, std::size_t, double) const { return 1; }
};

static_assert(LevelObjective<MaxMin> && LevelObjective<MaxMinTime>);
static_assert(NumberedObjective<Makespan> && NumberedObjective<FinishTimeFairness>);
static_assert(LinearObjective<SumOfRates> && LinearObjective<SumPerDollar> && UtilityObjective<NashWelfare>);

/// The problem as one who does not know how fast jobs are on which type sees it: every job does one step a
/// second wherever it can run.
[[nodiscard]] inline ShareProblem blind(ShareProblem problem) {
    for (ShareJob& job : problem.jobs)
        for (double& rate : job.rates) rate = rate > 0 ? 1 : 0;
    return problem;
}

}  // namespace goodput::inline v0_1

#endif
