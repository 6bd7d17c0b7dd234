#ifndef GOODPUT_SHARE_DETAIL_LEVEL_SEARCH_HPP
#define GOODPUT_SHARE_DETAIL_LEVEL_SEARCH_HPP

// The highest level that all jobs can reach at once. What each of them needs for a level, rate_for(job,
// level), may be any function that does not fall. At a level l the program
//
//     max z   s.t.   e_j >= z rate_for(j, l) for all j
//
// has z >= 1 exactly where l can be reached, and prices pi of the types and y_j of the rates. With them, no
// level at which  sum_j y_j rate_for(j, level) > the worth of all capacity at these prices  can be reached:
// that is the next level to try. It is Newton's method on z(l) = 1, from above, where it does not overshoot;
// where needs are proportional to the level, the first step ends.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "goodput/share/detail/share_program.hpp"

namespace goodput::detail {

/// What is known of the highest level.
struct HighestLevel {
    double reached = 0;                                      ///< by all jobs with the shares of `result`
    double bound = std::numeric_limits<double>::infinity();  ///< cannot be passed
    ShareResult result{};                                    ///< shares, rates and iterations
    std::vector<double> prices{};                            ///< by type: levels for a GPU more
    std::vector<double> push{};   ///< by job: part of the bound that its need makes, 1 in sum
    std::vector<double> slack{};  ///< by job: rate beyond its need, relative
};

/// The largest level of [low, high] at which a function that does not fall is at most `most`, from above; low
/// if it is not so there.
template <class Function>
double highest_where(Function function, double most, double low, double high) {
    double at_low = function(low) - most, at_high = function(high) - most;
    if (at_high <= 0) return high;
    if (at_low > 0) return low;
    int same = 0;
    for (int step = 0; step < 200 && high - low > 1e-14 * high; ++step) {
        // Regula falsi, halving the value of an end that stays (the Illinois rule).
        double between =
            std::isfinite(at_high) ? low - at_low * (high - low) / (at_high - at_low) : 0.5 * (low + high);
        if (!(between > low && between < high)) between = 0.5 * (low + high);
        const double value = function(between) - most;
        if (value > 0) {
            high = between;
            at_high = value;
            if (same > 0) at_low *= 0.5;
            same = std::max(same, 0) + 1;
            if (value <= 1e-15 * most) break;
        } else {
            low = between;
            at_low = value;
            if (same < 0 && std::isfinite(at_high)) at_high *= 0.5;
            same = std::min(same, 0) - 1;
        }
    }
    return high;
}

/// Highest level: `rate_for(job, level)` in steps/s, `level_at(job, rate)` its inverse, infinity where a job
/// does not count. `first` is where to begin, `top` where to end at the latest, both above 0.
template <class RateFor, class LevelAt>
HighestLevel highest_level(const ShareProblem& problem, ShareProgram& program, RateFor rate_for,
                           LevelAt level_at, double first, double top, const ShareOptions& options,
                           double below = 0) {
    const double gap = options.gap;
    const std::size_t jobs = problem.jobs.size(), types = problem.types();
    HighestLevel best;
    best.bound = top;
    const auto no_value = [](std::size_t, std::size_t) { return 0.0; };
    double level = std::min(first, top);
    for (int step = 0; step < 40; ++step) {
        const auto row = [&](std::size_t job) -> ProgramRow {
            return {rate_for(job, level) / program.top_rate(job), 0};
        };
        const BlockProgram& block = program.build(row, no_value, false, false);
        program.program().reward = 1;
        InteriorPoint<> method(block);
        method.solve(std::max(0.5 * gap, 1e-10));
        best.result.iterations += method.iterations();
        ShareResult found;
        program.take(method, options.least_part, found);
        double reached = top;
        for (std::size_t j = 0; j < jobs; ++j)
            if (program.top_rate(j) > 0) reached = std::min(reached, level_at(j, found.rates[j]));
        const auto price = [&](std::size_t t) { return method.price(t); };
        const auto rate_price = [&](std::size_t g) { return method.rate_price(g); };
        const double worth = program.dual_value(price, rate_price);
        // Jobs that need the same at one level may need different rates at another.
        const auto needed = [&](double at) {
            double sum = 0;
            for (std::size_t j = 0; j < jobs; ++j)
                if (const std::size_t g = program.group_of(j); g != ShareProgram::no_group)
                    sum += method.rate_price(g) * rate_for(j, at) / program.top_rate(j);
            return sum;
        };
        const double bound = highest_where(needed, worth, std::min(reached, best.bound), best.bound);
        const bool higher = reached > best.reached || step == 0;
        if (higher) {
            const std::size_t iterations = best.result.iterations;
            best.reached = reached;
            best.result = std::move(found);
            best.result.iterations = iterations;
        }
        if (bound < best.bound || step == 0) {
            best.bound = std::min(best.bound, bound);
            const double around = 1e-6 * best.bound, all = needed(best.bound);
            const double steep = (all - needed(best.bound - around)) / around;
            best.prices.assign(types, 0);
            for (std::size_t t = 0; t < types && steep > 0; ++t)
                if (problem.gpus[t] > 0) best.prices[t] = method.price(t) / problem.gpus[t] / steep;
            best.push.assign(jobs, 0);
            best.slack.assign(jobs, 0);
            for (std::size_t j = 0; j < jobs; ++j) {
                const std::size_t g = program.group_of(j);
                if (g == ShareProgram::no_group) continue;
                const double need = block.slope[g] * method.level();
                best.push[j] = method.rate_price(g) * block.slope[g];
                best.slack[j] = need > 0 ? method.rate_slack(g) / need : 1;
            }
        }
        if (best.bound - best.reached <= gap * (best.bound + below) || (!higher && bound >= level)) break;
        level = best.bound;
    }
    return best;
}

}  // namespace goodput::detail

#endif
