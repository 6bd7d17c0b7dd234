#ifndef GOODPUT_SHARE_SHARE_TIME_HPP
#define GOODPUT_SHARE_SHARE_TIME_HPP

// Computes, under an objective, the fraction of time that every job should have on every GPU type, with a
// proof and prices.
//
// Gavel writes each objective as a linear program over all jobs and types. Only the types need prices:
// given these, each job's best shares follow from its own data alone. An interior-point method, whose
// linear systems have one row per type, finds prices and shares together (detail/interior_point.hpp) in
// about fifteen passes over the jobs.
//
// The bound is computed from the prices alone in a separate pass, so it holds however the prices were
// found.
//
// pairs/share_pairs.hpp does the same for jobs that may run on the same GPUs in pairs.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "goodput/share/detail/level_search.hpp"
#include "goodput/share/detail/share_program.hpp"
#include "goodput/share/objectives.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1 {

/// Returns the best shares under an objective. Jobs that can run nowhere (ShareProblem::can_run) get no
/// time and do not affect objective or prices. If no job with work left can run, a makespan or a rho is
/// infinite, and the status is infeasible. Throws std::invalid_argument if ShareProblem::validate() does.
template <ShareObjective O>
[[nodiscard]] ShareResult share_time(const ShareProblem& problem, const O& objective,
                                     const ShareOptions& options = {});

// ---------------------------------------------------------------------------------------------------------

namespace detail {

template <LevelObjective O>
ShareResult share_by_level(const ShareProblem& problem, ShareProgram program, const O& objective,
                           const ShareOptions& options) {
    double top = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        if (program.top_rate(j) <= 0) continue;
        top = std::min(top, double(objective.level_at(problem, j, program.top_rate(j))));
    }
    const auto number = [&](double level) {
        if constexpr (NumberedObjective<O>)
            return double(objective.number_of(level));
        else
            return level;
    };
    ShareResult result;
    if (std::isfinite(top)) {
        HighestLevel best = highest_level(
            problem, program,
            [&](std::size_t j, double level) { return objective.rate_for(problem, j, level); },
            [&](std::size_t j, double rate) { return objective.level_at(problem, j, rate); }, top, options);
        result = std::move(best.result);
        result.prices = std::move(best.prices);
        result.objective = number(best.reached);
        result.bound = number(best.bound);
        const double around = 1e-6 * best.bound;
        const double scale = std::abs(number(best.bound) - number(best.bound - around)) / around;
        // If the slope of the level is next to nothing, the product may be infinite or not a number.
        for (double& price : result.prices)
            price = price * scale > 0 ? std::min(price * scale, std::numeric_limits<double>::max()) : 0;
        set_status(result, options.gap);
    } else {
        // No job that can run needs anything, so there is no program to solve. A job that has work left but
        // cannot run is at level 0, which as a time is infinite.
        result = no_shares(problem);
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            const bool has_need =
                problem.jobs[j].steps_left > 0 || std::isfinite(objective.level_at(problem, j, 0));
            if (program.top_rate(j) > 0 || !has_need) continue;
            result.objective = result.bound = number(0);
            if (!std::isfinite(number(0))) result.status = ShareStatus::infeasible;
        }
    }
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        result.levels.push_back(
            program.top_rate(j) > 0 ? number(objective.level_at(problem, j, result.rates[j])) : number(0));
    return result;
}

/// Steps/s that a job needs to meet its deadline; 0 if it has none.
inline double deadline_rate(const ShareJob& job) {
    return job.deadline_seconds ? job.steps_left / *job.deadline_seconds : 0;
}

/// Whether all deadlines can be met together.
inline bool deadlines_fit(const ShareProblem& problem, ShareProgram& program, const ShareOptions& options,
                          std::size_t& iterations) {
    const auto need = [&](std::size_t j) { return deadline_rate(problem.jobs[j]); };
    constexpr double rough = 0.1;
    bool any = false;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        if (need(j) > program.top_rate(j)) return false;
        any = any || need(j) > 0;
    }
    if (!any) return true;
    HighestLevel best;
    // A rough answer decides most cases.
    for (const double gap : {std::max(rough, options.gap), options.gap}) {
        best = highest_level(
            problem, program, [&](std::size_t j, double level) { return level * need(j); },
            [&](std::size_t j, double rate) {
                return need(j) > 0 ? rate / need(j) : std::numeric_limits<double>::infinity();
            },
            2, {.gap = gap, .least_part = options.least_part});
        iterations += best.result.iterations;
        if (best.bound < 1 || best.reached >= 1) break;
    }
    return best.bound >= 1;
}

template <LinearObjective O>
ShareResult share_by_value(const ShareProblem& problem, ShareProgram program, const O& objective,
                           const ShareOptions& options) {
    std::size_t iterations = 0;
    const bool fit = deadlines_fit(problem, program, options, iterations);
    double most = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        for (std::size_t t = 0; t < problem.types(); ++t)
            if (program.usable(j, t)) most = std::max(most, double(objective.value(problem, j, t)));
    const double scale = most > 0 ? 1 / most : 1;
    const auto value = [&](const ShareProblem& at, std::size_t j, std::size_t t) {
        return scale * objective.value(at, j, t);
    };
    program.build(
        [&](std::size_t j) -> ProgramRow {
            return {0, fit ? deadline_rate(problem.jobs[j]) / program.top_rate(j) : 0};
        },
        value, false);
    ShareProgram::Method<> method(program);
    method.solve(std::max(0.5 * options.gap, 1e-10));
    ShareResult result = program.shares_of(method, options.least_part);
    result.iterations = iterations + method.iterations();
    result.deadlines_met = fit;
    result.objective = program.worth_of(result, [&](const ShareProblem& at, std::size_t j, std::size_t t) {
        return double(objective.value(at, j, t));
    });
    result.bound = program.dual_value(method, method.rate_prices()) / scale;
    result.prices = program.gpu_prices(method, method.rate_prices(), value);
    for (double& price : result.prices) price /= scale;
    set_status(result, options.gap);
    return result;
}

/// An objective's utility for the program's groups, whose rates are fractions of the top rate.
template <UtilityObjective O>
struct GroupUtility {
    const ShareProblem& problem;
    const ShareProgram& program;
    const O& objective;

    [[nodiscard]] double slope(std::size_t g, double part) const {
        const std::size_t j = program.job_of(g);
        return program.top_rate(j) * objective.slope(problem, j, part * program.top_rate(j));
    }
    [[nodiscard]] double elasticity(std::size_t g, double part) const {
        const std::size_t j = program.job_of(g);
        return objective.elasticity(problem, j, part * program.top_rate(j));
    }
};

template <UtilityObjective O>
ShareResult share_by_utility(const ShareProblem& problem, ShareProgram program, const O& objective,
                             const ShareOptions& options) {
    program.build(
        [&](std::size_t j) -> ProgramRow {
            if constexpr (requires { objective.sort(problem, j); })
                return {.sort = objective.sort(problem, j)};
            return {.sort = static_cast<double>(j)};
        },
        no_value, true);
    const GroupUtility<O> utility{problem, program, objective};
    ShareProgram::Method<GroupUtility<O>> method(program, utility);
    method.solve(std::max(0.5 * options.gap, 1e-10));
    ShareResult result = program.shares_of(method, options.least_part);
    result.iterations = method.iterations();
    // A concave utility never exceeds its tangent, wherever the tangent touches it. Let it touch where the
    // slope is the price of the rate, because the types' prices fit that slope. The slope at the rate found
    // differs slightly, and these differences add up over many jobs.
    std::vector<double> slopes(program.groups()), touching(program.groups());
    for (std::size_t g = 0; g < slopes.size(); ++g) {
        const std::size_t j = program.job_of(g);
        const double part = result.rates[j] / program.top_rate(j);
        const double correction =
            std::pow(utility.slope(g, part) / method.rate_price(g), 1 / utility.elasticity(g, part));
        touching[g] = part * std::clamp(correction, 0.5, 2.0);
        slopes[g] = utility.slope(g, touching[g]);
    }
    double tangents = 0, size = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        const std::size_t g = program.group_of(j);
        if (g == ShareProgram::no_group) continue;
        const double gain = slopes[g] * touching[g];
        result.objective += objective.utility(problem, j, result.rates[j]);
        tangents += objective.utility(problem, j, touching[g] * program.top_rate(j)) - gain;
        size += gain;
    }
    const auto slope = [&](std::size_t g) { return slopes[g]; };
    result.bound = tangents + program.dual_value(method, slope);
    result.prices = program.gpu_prices(method, slope, no_value);
    // For a sum of logarithms only differences are meaningful: they are relative changes of rates.
    result.status =
        result.bound - result.objective <= options.gap * size ? ShareStatus::optimal : ShareStatus::feasible;
    return result;
}

/// Returns the best shares for a program under an objective of any kind.
template <ShareObjective O>
ShareResult share_with(const ShareProblem& problem, ShareProgram program, const O& objective,
                       const ShareOptions& options) {
    require_positive("share options", "gap", options.gap);
    if constexpr (LevelObjective<O>)
        return share_by_level(problem, std::move(program), objective, options);
    else if constexpr (LinearObjective<O>)
        return share_by_value(problem, std::move(program), objective, options);
    else
        return share_by_utility(problem, std::move(program), objective, options);
}

}  // namespace detail

template <ShareObjective O>
ShareResult share_time(const ShareProblem& problem, const O& objective, const ShareOptions& options) {
    problem.validate();
    return detail::share_with(problem, detail::ShareProgram(problem), objective, options);
}

// ---------------------------------------------------------------------------------------------------------
// Shares that follow from a rule, without a search. Their objective is the sum of rates, which only says
// how much work gets done. No rule gives time to a job that is too large for every type.

namespace detail {

template <class Share>
ShareResult shares_by_rule(const ShareProblem& problem, Share share) {
    ShareResult result;
    result.types = problem.types();
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        double rate = 0;
        for (std::size_t t = 0; t < problem.types(); ++t) {
            result.shares.push_back(problem.too_large(j) ? 0 : share(j, t));
            rate += result.shares.back() * problem.jobs[j].rates[t];
        }
        result.rates.push_back(rate);
        result.objective += rate;
    }
    result.bound = result.objective;
    result.prices.assign(problem.types(), 0);
    return result;
}

}  // namespace detail

/// Gives every job the same number of GPUs of each type, at most all of the time (Gavel's isolated policy).
/// Throws std::invalid_argument if ShareProblem::validate() does.
[[nodiscard]] inline ShareResult share_isolated(const ShareProblem& problem) {
    problem.validate();
    return detail::shares_by_rule(
        problem, [&](std::size_t j, std::size_t t) { return isolated_share(problem, j, t); });
}

/// Divides every job's time over the types by their numbers of GPUs (Gavel's proportional policy). Fairness
/// is relative to these shares. With many jobs they exceed the capacities. Throws std::invalid_argument if
/// ShareProblem::validate() does.
[[nodiscard]] inline ShareResult share_proportionally(const ShareProblem& problem) {
    problem.validate();
    const double all = problem.all_gpus();
    return detail::shares_by_rule(
        problem, [&](std::size_t, std::size_t t) { return all > 0 ? problem.gpus[t] / all : 0; });
}

/// Goes through the jobs in order. Each job gets all of its time on the type that is fastest for it among
/// those with enough GPUs left. The first job for which no type has enough ends it, unless that job fits no
/// type at all (Gavel's first-in-first-out policy). Throws std::invalid_argument if
/// ShareProblem::validate() does.
[[nodiscard]] inline ShareResult share_in_order(const ShareProblem& problem) {
    problem.validate();
    const std::size_t none = problem.types();
    std::vector<std::size_t> type_of(problem.jobs.size(), none);
    std::vector<double> left = problem.gpus;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        const ShareJob& job = problem.jobs[j];
        if (problem.too_large(j)) continue;
        std::size_t best = none;
        for (std::size_t t = 0; t < problem.types(); ++t)
            if (left[t] >= job.workers && (best == none || job.rates[t] > job.rates[best])) best = t;
        if (best == none) break;
        if (job.rates[best] <= 0) continue;
        type_of[j] = best;
        left[best] -= job.workers;
    }
    return detail::shares_by_rule(problem,
                                  [&](std::size_t j, std::size_t t) { return type_of[j] == t ? 1.0 : 0.0; });
}

}  // namespace goodput::inline v0_1

#endif
