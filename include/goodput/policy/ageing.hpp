#ifndef GOODPUT_POLICY_AGEING_HPP
#define GOODPUT_POLICY_AGEING_HPP

// Limits how long a job can wait. A job of many GPUs never finds them all free at once if short jobs take
// every GPU that is released; this happens under any policy that maximises a sum of values. Let W be
// `longest_wait_seconds`. A job that needs at least g GPUs, was submitted at time s and has held a
// GPU-seconds is due at
//
//     due = s + W + 24 a / g          so after W it gets a 24th of the time, if it wants it
//
// and overdue from then on. A running job remains overdue until W later, so that two jobs do not take turns
// with a restart each. The overdue job that was due first (where a running job counts as due W earlier) is
// worth more than all other jobs together, so it certainly gets one of its options. The policy decides
// which one, and everything else. If pinned jobs (jobs that keep what they hold) leave no room for the
// overdue job, then until there is room, waiting jobs that would be pinned once started get nothing that
// the overdue job could have. docs/policy.md bounds how late a job starts: a job i that is due earlier
// stays first until it has had (W + s - s_i) / 24 seconds on its GPUs, which it holds while it is first.
//
// Values do not change before some job is W seconds old.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/policy/concepts.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// One over the fraction of the time that an overdue job gets.
inline constexpr double waits_a_turn = 24;

/// Returns the time since which the job is overdue by the rule of the opening comment, in seconds on the
/// clock of the round. Empty if the job is not overdue.
inline std::optional<double> overdue_since(const Round& round, const Job& job, double longest_wait_seconds) {
    if (job.keeps_what_it_holds() || round.age_of(job) < longest_wait_seconds) return std::nullopt;
    const double had = waits_a_turn * job.attained_gpu_seconds / job.fewest_gpus();
    const double due = job.submitted_seconds + had + (job.placement.empty() ? longest_wait_seconds : 0);
    if (due > round.time_seconds) return std::nullopt;
    return due;
}

/// Whether any option with goodput fits these capacities.
inline bool any_fits(const OptionRow& row, std::span<const double> capacity) {
    for (std::size_t k = 0; k < row.options.size(); ++k) {
        if (row.options[k].goodput <= 0) continue;
        if (capacity.empty()) return true;
        const std::span<const ResourceUse> uses = row.uses(k);
        if (std::all_of(uses.begin(), uses.end(), [&](const ResourceUse& use) {
                return use.units <= capacity[use.resource] * (1 + 1e-9);
            }))
            return true;
    }
    return false;
}

/// Lowers to 0 the values of waiting jobs that would be pinned once started, for options that take anything
/// of what the overdue job's options take.
inline void hold_back(std::span<const OptionRow> rows, const OptionRow& overdue,
                      std::span<const double> capacity) {
    std::vector<char> wanted(capacity.size());
    for (std::size_t k = 0; k < overdue.options.size(); ++k)
        if (overdue.options[k].goodput > 0)
            for (const ResourceUse& use : overdue.uses(k)) wanted[use.resource] |= use.units > 0;
    for (const OptionRow& row : rows)
        if (!row.job.preemptible && row.job.placement.empty() && &row.job != &overdue.job)
            for (std::size_t k = 0; k < row.options.size(); ++k)
                for (const ResourceUse& use : row.uses(k))
                    if (use.units > 0 && wanted[use.resource]) row.values[k] = std::min(row.values[k], 0.0);
}

/// Changes the values of a round by the rule of the opening comment. The caller multiplies the values of a
/// row by factor(job) afterwards, which must be above 0. Takes O(rows), and O(options) if any job is
/// overdue.
template <class Factor>
void serve_overdue(const Round& round, std::span<const OptionRow> rows, double longest_wait_seconds,
                   Factor factor) {
    const OptionRow* first = nullptr;
    double since = std::numeric_limits<double>::infinity();
    for (const OptionRow& row : rows)
        if (const auto due = overdue_since(round, row.job, longest_wait_seconds);
            due && *due < since && any_fits(row, round.capacity)) {
            since = *due;
            first = &row;
        }
    if (!first) return;
    std::vector<double> left(round.capacity.begin(), round.capacity.end());
    double all = 0;
    for (const OptionRow& row : rows) {
        double most = 0;
        for (const double value : row.values) most = std::max(most, value);
        all += most * factor(row.job);
        if (row.job.keeps_what_it_holds() && !row.options.empty() && !left.empty())
            for (const ResourceUse& use : row.uses(0)) left[use.resource] -= use.units;
    }
    if (!any_fits(*first, left)) hold_back(rows, *first, round.capacity);
    const double more = (all > 0 ? 2 * all : 1) / factor(first->job);
    for (std::size_t k = 0; k < first->options.size(); ++k)
        if (first->options[k].goodput > 0) first->values[k] = std::max(first->values[k], 0.0) + more;
}

}  // namespace detail

/// Adds the rule of the opening comment to another policy. GoodputPolicy and DeclaredGoodputPolicy already
/// contain it.
template <class P>
struct Ageing {
    static_assert(policy_fits<P>());

    /// False, because the values already contain the weights.
    static constexpr bool weights_count = false;
    static constexpr bool rigid_jobs = runs_rigid_jobs<P>;  ///< the same as for P

    P policy{};                           ///< policy that decides everything else
    double longest_wait_seconds = 43200;  ///< W of the opening comment, above 0

    /// Throws std::invalid_argument for everything that P refuses, and for a wait that is not above 0.
    void validate() const {
        require_positive("policy ageing", "longest_wait_seconds", longest_wait_seconds);
        if constexpr (requires { policy.validate(); }) policy.validate();
    }
    /// Returns what P returns.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model,
                                std::size_t gpu_type) const requires GrowthLimit<P> {
        return policy.most_gpus(job, model, gpu_type);
    }
    /// Returns what P returns.
    [[nodiscard]] std::optional<GradientStatistics> expected_gradient(const Job& job) const requires
        GradientForecast<P> {
        return policy.expected_gradient(job);
    }
    /// Sets P's values, including the jobs' weights, and raises those of the job that has been overdue for
    /// longest.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        value_rows(policy, round, rows);
        detail::serve_overdue(round, rows, longest_wait_seconds, [](const Job&) { return 1.0; });
    }
};

}  // namespace goodput::inline v0_1

#endif
