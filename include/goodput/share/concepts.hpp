#ifndef GOODPUT_SHARE_CONCEPTS_HPP
#define GOODPUT_SHARE_CONCEPTS_HPP

// What shares are good for: an objective is a struct of one of three kinds, each with two or three functions
// of the problem and a job's index. share_time() (share_time.hpp) finds its best shares, with proof.

#include <concepts>
#include <cstddef>

#include "goodput/share/problem.hpp"

namespace goodput {

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

/// A level objective that is told by another number than the least level, for example by its reciprocal:
/// `number_of(level)`, monotone.
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

}  // namespace goodput

#endif
