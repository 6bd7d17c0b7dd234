#ifndef GOODPUT_PAIRS_SHARE_PAIRS_HPP
#define GOODPUT_PAIRS_SHARE_PAIRS_HPP

// Computes the fraction of time that every job should have on every GPU type, alone and with each partner
// (Gavel, OSDI'20, section 3.1), with a proof and prices, as share_time.hpp does without pairs.

#include <utility>

#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/objectives.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"

namespace goodput::inline v0_1 {

/// Returns the best shares of jobs alone and in pairs under an objective. To compare jobs (proportional and
/// isolated rates), the objective uses their rates alone; otherwise it counts all that they get. A job that
/// runs only with others is compared as if it could have the largest of its rates alone on every type. A
/// linear objective values the time of a pair as the sum of its value for both jobs at the pair's rates.
/// The answer proves the same as without pairs, and the same jobs do not count. Throws
/// std::invalid_argument if PairedShareProblem::validate() does.
///
/// Let n be the number of sorts of jobs (alike in rates, pairs and what is asked of them), and p that of
/// pairs. A pass of the method takes about p operations, and those of a linear system of n sorts in which
/// only pairs take part that may be in use: little more than n if each sort has few of them, n^3 at most.
template <ShareObjective O>
[[nodiscard]] ShareResult share_time(const PairedShareProblem& problem, const O& objective,
                                     const ShareOptions& options = {}) {
    problem.validate();
    detail::ShareProgram program(problem.alone, problem.pairs);
    const ShareProblem compared = program.with_rates_to_compare();
    ShareResult result = detail::share_with(compared, std::move(program), objective, options);
    result.pair_shares.resize(problem.pairs.size() * problem.alone.types(), 0);  // none if no job can run
    return result;
}

/// Returns shares by water filling, of jobs alone and in pairs. Levels, objective and status are as in
/// fill_water() without pairs. Proportional rates are those of jobs alone; a job that runs only with others
/// counts as if it could have the largest of its rates on every type. Throws std::invalid_argument if
/// PairedShareProblem::validate() does, and for hierarchies that fill_water() refuses.
[[nodiscard]] inline ShareResult fill_water(const PairedShareProblem& problem,
                                            const ShareHierarchy& hierarchy = {},
                                            const ShareOptions& options = {}) {
    problem.validate();
    validate(hierarchy, problem.alone);
    require_positive("share options", "gap", options.gap);
    detail::ShareProgram program(problem.alone, problem.pairs);
    const ShareProblem compared = program.with_rates_to_compare();
    ShareResult result = detail::WaterLevels(compared, std::move(program), hierarchy, options).fill();
    result.pair_shares.resize(problem.pairs.size() * problem.alone.types(), 0);
    return result;
}

}  // namespace goodput::inline v0_1

#endif
