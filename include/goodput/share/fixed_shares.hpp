#ifndef GOODPUT_SHARE_FIXED_SHARES_HPP
#define GOODPUT_SHARE_FIXED_SHARES_HPP

// Shares that follow from a rule, with nothing to search for. The objective of each is the sum of rates,
// which says nothing but how much comes out of it. No rule gives time to a job that is too large for every
// type.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/share/problem.hpp"
#include "goodput/share/result.hpp"

namespace goodput {

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

/// Everybody has the same number of GPUs of each type, at all times at most (Gavel's isolated policy).
/// Refuses what ShareProblem::validate() does.
[[nodiscard]] inline ShareResult share_isolated(const ShareProblem& problem) {
    problem.validate();
    return detail::shares_by_rule(
        problem, [&](std::size_t j, std::size_t t) { return isolated_share(problem, j, t); });
}

/// Everybody's time is dealt to the types as GPUs are: what fairness is relative to, and more than there is
/// where jobs are many (Gavel's proportional policy). Refuses what ShareProblem::validate() does.
[[nodiscard]] inline ShareResult share_proportionally(const ShareProblem& problem) {
    problem.validate();
    const double all = problem.all_gpus();
    return detail::shares_by_rule(
        problem, [&](std::size_t, std::size_t t) { return all > 0 ? problem.gpus[t] / all : 0; });
}

/// In their order, each job has all of its time on the type that is fastest for it among those with enough
/// GPUs left; the first that finds none ends it, unless it fits nowhere at all (Gavel's first-in-first-out
/// policy). Refuses what ShareProblem::validate() does.
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

}  // namespace goodput

#endif
