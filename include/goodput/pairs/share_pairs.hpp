#ifndef GOODPUT_PAIRS_SHARE_PAIRS_HPP
#define GOODPUT_PAIRS_SHARE_PAIRS_HPP

// Which fraction of time on which GPU type, alone or together with whom (Gavel, OSDI'20, section 3.1): with
// proof and prices, as without pairs (share_time.hpp).

#include <utility>

#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/objectives.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"

namespace goodput::inline v0_1 {

/// The best shares of jobs alone and in pairs under an objective, which looks at the jobs' rates alone where
/// it compares (proportional and isolated rates), and at all that they get where it counts. A job that runs
/// only with others counts: it is compared as one that could have the largest of its rates alone everywhere.
/// A linear objective values the time of a pair as both values with the pair's rates. What the answer proves,
/// and who does not count, is as without pairs. Refuses what PairedShareProblem::validate() does
/// (std::invalid_argument).
///
/// With n sorts of jobs (alike in rates, pairs and what is asked of them) and p of pairs, a pass of the
/// method takes of the order of n^3 + p operations where most sorts may run together, and hardly more than
/// n + p where each of them has a few partners.
template <ShareObjective O>
[[nodiscard]] ShareResult share_time(const PairedShareProblem& problem, const O& objective,
                                     const ShareOptions& options = {}) {
    problem.validate();
    detail::ShareProgram program(problem.alone, problem.pairs);
    const ShareProblem compared = program.with_rates_to_compare();
    ShareResult result = detail::share_with(compared, std::move(program), objective, options);
    result.pair_shares.resize(problem.pairs.size() * problem.alone.types(), 0);  // none where nobody can run
    return result;
}

/// Shares by water filling, of jobs alone and in pairs: levels, objective and status are those of
/// fill_water() without pairs; proportional rates are those of jobs alone, and a job that runs only with
/// others counts as one that could have the largest of its rates everywhere. Refuses what
/// PairedShareProblem::validate() does, and hierarchies that fill_water() refuses (std::invalid_argument).
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
