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
// where needs are proportional to the level, the first step ends. LevelTrial is one step.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "goodput/share/detail/share_program.hpp"

namespace goodput::inline v0_1::detail {

/// What is known of the highest level.
struct HighestLevel {
    double reached = 0;                                      ///< by all jobs with the shares of `result`
    double bound = std::numeric_limits<double>::infinity();  ///< cannot be passed
    ShareResult result{};                                    ///< shares, rates and iterations
    std::vector<double> prices{};                            ///< by type: levels for a GPU more
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

/// What a program says of one level.
class LevelTrial {
public:
    /// `row(job)` is what the program asks of a job.
    template <class Row>
    LevelTrial(ShareProgram& program, std::size_t jobs, Row row, double accuracy)
        : program_(program), jobs_(jobs), method_(built(program, row)) {
        method_.solve(accuracy);
        worth_ = program.dual_value(method_, method_.rate_prices());
        price_of_level_ = cost([&](std::size_t job) { return row(job).slope * program.top_rate(job); });
    }
    [[nodiscard]] std::size_t iterations() const { return method_.iterations(); }
    /// Of all of a type's GPUs.
    [[nodiscard]] double price(std::size_t type) const { return method_.price(type); }
    /// Of a GPU, by type; `unit` is what the price of 1 stands for.
    [[nodiscard]] std::vector<double> gpu_prices(double unit) const {
        std::vector<double> prices = program_.gpu_prices(method_, method_.rate_prices(), no_value);
        for (double& of_gpu : prices) of_gpu *= unit;
        return prices;
    }
    /// Of the rate of a job, in steps/s.
    [[nodiscard]] double rate_price(std::size_t job) const {
        return method_.rate_price(program_.group_of(job)) / program_.top_rate(job);
    }
    /// Whether the price of a job's rate is the part of its program's that says that the job cannot have
    /// more, and not what an interior-point method leaves of nothing: then what is left of the rate is less.
    [[nodiscard]] bool keeps_back(std::size_t job, double part, double rate) const {
        const std::size_t g = program_.group_of(job);
        return !(part * program_.copies(g) * rate / program_.top_rate(job) < method_.rate_slack(g));
    }
    /// The level that the program's shares reach, and what its prices say that a level costs.
    [[nodiscard]] double level() const { return method_.level(); }
    [[nodiscard]] double price_of_level() const { return price_of_level_; }
    /// What all rates that can be had cost at most, less what floors cost.
    [[nodiscard]] double worth() const { return worth_; }
    /// What rates cost: jobs that need the same at one level may need different rates at another.
    template <class RateOf>
    [[nodiscard]] double cost(RateOf rate_of) const {
        double sum = 0;
        for (std::size_t j = 0; j < jobs_; ++j)
            if (const std::size_t g = program_.group_of(j); g != ShareProgram::no_group)
                sum += method_.rate_price(g) * rate_of(j) / program_.top_rate(j);
        return sum;
    }
    /// Shares and rates.
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

/// Levels for a GPU more, by type, where a level of `bound` costs needed(bound).
template <class Needed>
std::vector<double> level_prices(const LevelTrial& trial, Needed needed, double bound) {
    const double around = 1e-6 * bound, steep = (needed(bound) - needed(bound - around)) / around;
    return trial.gpu_prices(steep > 0 ? 1 / steep : 0);
}

/// Highest level: `rate_for(job, level)` in steps/s, `level_at(job, rate)` its inverse, infinity where a job
/// does not count. `top`, above 0, cannot be passed: there it begins.
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
