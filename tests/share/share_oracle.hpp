#ifndef GOODPUT_TESTS_SHARE_SHARE_ORACLE_HPP
#define GOODPUT_TESTS_SHARE_SHARE_ORACLE_HPP

// Computes from scratch what prices of GPUs prove about shares. At given prices a job's best use of its time
// is a linear program with two rows, its time and its rate, so the best point uses two types at most, and we
// try all such points. No shares can be worth more than all GPUs at their prices plus what each job at its
// best has left after paying for what it takes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/share/problem.hpp"

namespace support {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Returns whether the job can run on a type: it has a rate there, and enough GPUs exist for all its workers.
inline bool share_usable(const goodput::ShareProblem& problem, std::size_t job, std::size_t type) {
    const goodput::ShareJob& its = problem.jobs[job];
    double most = 0;
    for (std::size_t t = 0; t < problem.types(); ++t)
        if (its.rates[t] > 0) most = std::max(most, std::ceil(problem.gpus[t]));
    return its.rates[type] > 0 && problem.gpus[type] > 0 && its.workers <= most;
}

/// Returns the rate on the job's fastest type at all times.
inline double share_top_rate(const goodput::ShareProblem& problem, std::size_t job) {
    double top = 0;
    for (std::size_t t = 0; t < problem.types(); ++t)
        if (share_usable(problem, job, t)) top = std::max(top, problem.jobs[job].rates[t]);
    return top;
}

/// Returns the price of all GPUs together.
inline double share_worth(const goodput::ShareProblem& problem, std::span<const double> prices) {
    double worth = 0;
    for (std::size_t t = 0; t < problem.types(); ++t) worth += prices[t] * problem.gpus[t];
    return worth;
}

/// Maximises sum_t gain(t) x_t with x >= 0, sum_t x_t <= 1 and sum_t rate_t x_t >= floor. Returns -infinity
/// if the floor cannot be reached.
template <class Gain>
double share_best_use(const goodput::ShareProblem& problem, std::size_t job, double floor, Gain gain) {
    const std::vector<double>& rates = problem.jobs[job].rates;
    double best = floor <= 0 ? 0 : -infinite;
    for (std::size_t t = 0; t < problem.types(); ++t) {
        if (!share_usable(problem, job, t) || rates[t] < floor) continue;
        best = std::max({best, gain(t), floor / rates[t] * gain(t)});
        for (std::size_t k = 0; k < problem.types(); ++k) {
            if (!share_usable(problem, job, k) || rates[k] >= floor) continue;
            const double part = (floor - rates[k]) / (rates[t] - rates[k]);
            best = std::max(best, part * gain(t) + (1 - part) * gain(k));
        }
    }
    return best;
}

/// Returns the least that a job pays for a rate, or infinity if the job cannot reach that rate.
inline double share_least_cost(const goodput::ShareProblem& problem, std::size_t job, double rate,
                               std::span<const double> prices) {
    return -share_best_use(problem, job, rate,
                           [&](std::size_t t) { return -prices[t] * problem.jobs[job].workers; });
}

/// Returns a level that the least level cannot exceed: beyond it the jobs' rates cost more than all GPUs are
/// worth. `low` is a level that can be reached.
template <class Objective>
double share_level_bound(const goodput::ShareProblem& problem, const Objective& objective,
                         std::span<const double> prices, double low) {
    const double worth = share_worth(problem, prices);
    const auto beyond = [&](double level) {
        double cost = 0;
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            const double top = share_top_rate(problem, j);
            if (top <= 0) continue;
            const double rate = objective.rate_for(problem, j, level);
            // Rounding alone may put a job above its top rate if it has its fastest type all the time.
            if (rate > top * (1 + 1e-12) || objective.level_at(problem, j, top) < level * (1 - 1e-12))
                return true;
            cost += share_least_cost(problem, j, std::min(rate, top), prices);
        }
        return cost > worth * (1 + 1e-12);
    };
    double high = low;
    for (int step = 0; step < 2000 && !beyond(high); ++step) high *= 1 + 1e-9 * std::pow(2.0, step);
    double reached = low;
    for (int step = 0; step < 200 && high - reached > 1e-15 * high; ++step) {
        const double middle = 0.5 * (reached + high);
        (beyond(middle) ? high : reached) = middle;
    }
    return high;
}

/// Bounds the sum of value(job, type) x over all shares; `floor(job)` is the rate that a job must have.
template <class Value, class Floor>
double share_sum_bound(const goodput::ShareProblem& problem, std::span<const double> prices, Value value,
                       Floor floor) {
    double bound = share_worth(problem, prices);
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        bound += share_best_use(problem, j, floor(j), [&](std::size_t t) {
            return value(j, t) - prices[t] * problem.jobs[j].workers;
        });
    return bound;
}

/// Bounds the sum of weight * ln(rate) over all shares, counting the jobs that can run at all.
inline double share_nash_bound(const goodput::ShareProblem& problem, std::span<const double> prices) {
    double bound = share_worth(problem, prices);
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        const double top = share_top_rate(problem, j);
        if (top <= 0) continue;
        // ln(rate) less its cost is concave in ln(rate), because the cost is convex and rises.
        const auto left = [&](double logarithm) {
            return problem.jobs[j].weight * logarithm -
                   share_least_cost(problem, j, std::min(std::exp(logarithm), top), prices);
        };
        double low = std::log(top) - 60, high = std::log(top);
        for (int step = 0; step < 120; ++step) {
            const double a = low + (high - low) * 0.382, b = low + (high - low) * 0.618;
            (left(a) < left(b) ? low : high) = left(a) < left(b) ? a : b;
        }
        bound += std::max(left(std::log(top)), left(0.5 * (low + high)));
    }
    return bound;
}

/// Returns by which relative amount shares break a constraint, 0 if they keep all. Shares on a type where the
/// job cannot run count as broken, unless `anywhere`.
inline double share_violation(const goodput::ShareProblem& problem, std::span<const double> shares,
                              bool anywhere = false) {
    double worst = shares.size() == problem.jobs.size() * problem.types() ? 0 : infinite;
    std::vector<double> used(problem.types(), 0);
    for (std::size_t j = 0; j < problem.jobs.size() && worst < infinite; ++j) {
        double time = 0;
        for (std::size_t t = 0; t < problem.types(); ++t) {
            const double share = shares[j * problem.types() + t];
            if (!(share >= 0)) return infinite;  // or NaN
            if (share > 0 && !anywhere && !share_usable(problem, j, t)) return infinite;
            time += share;
            used[t] += share * problem.jobs[j].workers;
        }
        worst = std::max(worst, time - 1);
    }
    for (std::size_t t = 0; t < problem.types(); ++t)
        if (used[t] > 0) worst = std::max(worst, used[t] / problem.gpus[t] - 1);
    return worst;
}

/// Returns the effective rates by their definition.
inline std::vector<double> share_rates(const goodput::ShareProblem& problem, std::span<const double> shares) {
    std::vector<double> rates(problem.jobs.size(), 0);
    for (std::size_t j = 0; j < rates.size(); ++j)
        for (std::size_t t = 0; t < problem.types(); ++t)
            rates[j] += shares[j * problem.types() + t] * problem.jobs[j].rates[t];
    return rates;
}

/// Returns the least level of the jobs that can run, or infinity if there is none.
template <class Objective>
double share_least_level(const goodput::ShareProblem& problem, const Objective& objective,
                         std::span<const double> rates) {
    double least = infinite;
    for (std::size_t j = 0; j < rates.size(); ++j)
        if (share_top_rate(problem, j) > 0) least = std::min(least, objective.level_at(problem, j, rates[j]));
    return least;
}

/// Returns by what fraction the least level could be higher at most, by the prices of the result.
template <class Objective>
double share_level_gap(const goodput::ShareProblem& problem, const Objective& objective,
                       const goodput::ShareResult& result) {
    const double least = share_least_level(problem, objective, result.rates);
    return std::isinf(least) ? 0 : share_level_bound(problem, objective, result.prices, least) / least - 1;
}

/// Returns the steps/s that a job's deadline needs if deadlines are met, a little less for rounding.
inline double share_deadline_rate(const goodput::ShareProblem& problem, const goodput::ShareResult& result,
                                  std::size_t job) {
    const goodput::ShareJob& its = problem.jobs[job];
    if (!result.deadlines_met || !its.deadline_seconds) return 0;
    return its.steps_left / *its.deadline_seconds * (1 - 1e-9);
}

/// Returns by what fraction the sum could be larger at most, by the prices of the result.
template <class Objective>
double share_sum_gap(const goodput::ShareProblem& problem, const Objective& objective,
                     const goodput::ShareResult& result) {
    const double bound = share_sum_bound(
        problem, result.prices, [&](std::size_t j, std::size_t t) { return objective.value(problem, j, t); },
        [&](std::size_t j) { return share_deadline_rate(problem, result, j); });
    return bound > 0 ? bound / result.objective - 1 : 0;
}

/// Returns the logarithm of the factor by which all rates could rise at most, by the result's prices.
inline double share_nash_gap(const goodput::ShareProblem& problem, const goodput::ShareResult& result) {
    double welfare = 0, weights = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        if (share_top_rate(problem, j) <= 0) continue;
        welfare += problem.jobs[j].weight * std::log(result.rates[j]);
        weights += problem.jobs[j].weight;
    }
    return weights > 0 ? (share_nash_bound(problem, result.prices) - welfare) / weights : 0;
}

}  // namespace support

#endif
