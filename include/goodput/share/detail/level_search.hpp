#ifndef GOODPUT_SHARE_DETAIL_LEVEL_SEARCH_HPP
#define GOODPUT_SHARE_DETAIL_LEVEL_SEARCH_HPP

// Finds the highest level that all jobs can reach at once. The rate that a job needs for a level,
// rate_for(job, level), may be any non-decreasing function. At a level l the program
//
//     max z   s.t.   e_j >= z rate_for(j, l) for all j
//
// has z >= 1 exactly if l can be reached. It also gives prices: pi of the types and y_j of the rates. No
// level can be reached at which  sum_j y_j rate_for(j, level)  exceeds the worth of all capacity at the
// prices pi. The highest level that this does not exclude is tried next. That is Newton's method on z(l) =
// 1 from above, where it does not overshoot. If needs are proportional to the level, the first step ends
// it. LevelTrial is one step.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "goodput/share/detail/share_program.hpp"

namespace goodput::inline v0_1::detail {

/// What is known about the highest level.
struct HighestLevel {
    /// Level that all jobs reach with the shares of `result`.
    double reached = 0;
    double bound = std::numeric_limits<double>::infinity();  ///< no higher level can be reached
    ShareResult result{};                                    ///< shares, rates and iterations
    std::vector<double> prices{};                            ///< by type: levels gained per additional GPU
};

/// Returns the largest level in [low, high] at which a non-decreasing function is at most `most`,
/// approximated from above; low if there is none.
template <class Function>
double highest_where(Function function, double most, double low, double high) {
    double at_low = function(low) - most, at_high = function(high) - most;
    if (at_high <= 0) return high;
    if (at_low > 0) return low;
    int same = 0;
    for (int step = 0; step < 200 && high - low > 1e-14 * high; ++step) {
        // Regula falsi that halves the value of an end that stays (the Illinois rule).
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

/// Solves the program of one level.
class LevelTrial {
public:
    /// `row(job)` is the row of the job's rate in the program.
    template <class Row>
    LevelTrial(ShareProgram& program, std::size_t jobs, Row row, double accuracy)
        : program_(program), jobs_(jobs), method_(built(program, row)) {
        method_.solve(accuracy);
        worth_ = program.dual_value(method_, method_.rate_prices());
        price_of_level_ = cost([&](std::size_t job) { return row(job).slope * program.top_rate(job); });
    }
    [[nodiscard]] std::size_t iterations() const { return method_.iterations(); }
    /// Price of all of a type's GPUs.
    [[nodiscard]] double price(std::size_t type) const { return method_.price(type); }
    /// Price of one GPU, by type; `unit` is what a price of 1 is worth.
    [[nodiscard]] std::vector<double> gpu_prices(double unit) const {
        std::vector<double> prices = program_.gpu_prices(method_, method_.rate_prices(), no_value);
        for (double& of_gpu : prices) of_gpu *= unit;
        return prices;
    }
    /// Price of a job's rate, per step/s.
    [[nodiscard]] double rate_price(std::size_t job) const {
        return method_.rate_price(program_.group_of(job)) / program_.top_rate(job);
    }
    /// Returns whether the price of a job's rate shows that the job cannot have more. `part` is that price
    /// times the job's rise, as a fraction of the program's sum. An interior-point method leaves small
    /// prices on limits that do not bind; such a price is smaller than the slack of its limit.
    [[nodiscard]] bool keeps_back(std::size_t job, double part, double rate) const {
        const std::size_t g = program_.group_of(job);
        return !(part * program_.copies(g) * rate / program_.top_rate(job) < method_.rate_slack(g));
    }
    /// The level that the program's shares reach, and the price of a level according to the program's
    /// prices.
    [[nodiscard]] double level() const { return method_.level(); }
    [[nodiscard]] double price_of_level() const { return price_of_level_; }
    /// The most that all attainable rates cost, less what floors cost.
    [[nodiscard]] double worth() const { return worth_; }
    /// Returns what rates cost. Jobs that need equal rates at one level may need different rates at
    /// another, so every job is counted by itself.
    template <class RateOf>
    [[nodiscard]] double cost(RateOf rate_of) const {
        double sum = 0;
        for (std::size_t j = 0; j < jobs_; ++j)
            if (const std::size_t g = program_.group_of(j); g != ShareProgram::no_group)
                sum += method_.rate_price(g) * rate_of(j) / program_.top_rate(j);
        return sum;
    }
    /// Returns shares and rates.
    [[nodiscard]] ShareResult shares(double least_part) const {
        return program_.shares_of(method_, least_part);
    }

private:
    template <class Row>
    static ShareProgram& built(ShareProgram& program, Row row) {
        program.build(row, no_value, false);
        program.program().reward = 1;
        return program;
    }

    ShareProgram& program_;
    std::size_t jobs_;
    ShareProgram::Method<> method_;
    double worth_ = 0, price_of_level_ = 0;
};

/// Returns the levels gained per additional GPU, by type. `needed(level)` is what reaching a level costs.
template <class Needed>
std::vector<double> level_prices(const LevelTrial& trial, Needed needed, double bound) {
    const double around = 1e-6 * bound, steep = (needed(bound) - needed(bound - around)) / around;
    return trial.gpu_prices(steep > 0 ? 1 / steep : 0);
}

/// Finds the highest level. `rate_for(job, level)` is in steps/s. `level_at(job, rate)` is its inverse,
/// infinity for a job that must not limit the level. `top`, above 0, is at least the highest level: the
/// search begins there.
template <class RateFor, class LevelAt>
HighestLevel highest_level(const ShareProblem& problem, ShareProgram& program, RateFor rate_for,
                           LevelAt level_at, double top, const ShareOptions& options) {
    const double gap = options.gap;
    const std::size_t jobs = problem.jobs.size();
    HighestLevel best;
    best.bound = top;
    double level = top;
    for (int step = 0; step < 40; ++step) {
        const LevelTrial trial(
            program, jobs,
            [&](std::size_t job) -> ProgramRow {
                return {rate_for(job, level) / program.top_rate(job), 0};
            },
            std::max(0.5 * gap, 1e-10));
        best.result.iterations += trial.iterations();
        ShareResult found = trial.shares(options.least_part);
        double reached = top;
        for (std::size_t j = 0; j < jobs; ++j)
            if (program.top_rate(j) > 0) reached = std::min(reached, level_at(j, found.rates[j]));
        const auto needed = [&](double at) {
            return trial.cost([&](std::size_t job) { return rate_for(job, at); });
        };
        const double bound = highest_where(needed, trial.worth(), std::min(reached, best.bound), best.bound);
        const bool higher = reached > best.reached || step == 0;
        if (higher) {
            best.reached = reached;
            found.iterations = best.result.iterations;
            best.result = std::move(found);
        }
        if (bound < best.bound || step == 0) {
            best.bound = std::min(best.bound, bound);
            best.prices = level_prices(trial, needed, best.bound);
        }
        if (best.bound - best.reached <= gap * best.bound || (!higher && bound >= level)) break;
        level = best.bound;
    }
    return best;
}

}  // namespace goodput::inline v0_1::detail

#endif
