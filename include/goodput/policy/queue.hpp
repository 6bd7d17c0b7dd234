#ifndef GOODPUT_POLICY_QUEUE_HPP
#define GOODPUT_POLICY_QUEUE_HPP

// Policies that serve jobs one after another in some order. Each job takes the option that it prefers among
// those that the jobs before it left. The values are such that the allotment must give exactly these
// options.
//
// LeastAttainedService serves the job with the least attained service first (foreground-background; Nuyens
// and Wierman's survey, Performance Evaluation 2008). As in Tiresias (NSDI'19), service has two dimensions:
// jobs are served by
//
//     attained GPU-seconds - (lead if the job runs, else 0)               then by submission
//
// and each job gets all the GPUs for which it asked, or none. Without knowledge of how long jobs last, this
// favours short ones. On one server it is the best order without knowledge of the future, if a job that has
// run longer is also likely to go on longer, and if preempting costs nothing. Here a restart has a cost.
// With lead 0, the textbook rule, two equal jobs that do not fit together take turns every round. So a
// waiting job overtakes a running one only if it has attained less by more than `lead`. Gavel also calls
// its max-min fairness over fractions of time LAS, but that is a different policy.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// The default liking: prefers what the job holds, then the largest goodput.
struct LikesWhatItHolds {
    double operator()(const Round& round, const OptionRow& row, const Option& option, double) const {
        const Configuration held = round.held_by(row.job);
        return !held.empty() && option.configuration.same_gpus(held) ? std::numeric_limits<double>::infinity()
                                                                     : option.goodput;
    }
};

/// Gives all jobs the same weight.
struct AllAlike {
    double operator()(const OptionRow&) const { return 1; }
};

/// Serves rows in the given order. Sets the value of the option that a job takes to 1, and all others to 0.
/// A job considers the options that fit what is left of Round::capacity, and takes the one with the largest
/// liking(round, row, option, units left of the first resource that it takes) above 0; the first one if
/// there are several. Jobs that keep what they hold come before all others, then those that must run.
/// Without backfilling, the first job that finds nothing ends the round, unless it runs and gave way to a job
/// that must run.
///
/// Several options may have the same GPUs with different cores and memory (variants). Then a job is served
/// with the variant that takes least, and all its options with these GPUs get a value. The part of the
/// value that counts GPUs exceeds all that jobs can gain by faster variants, so that the job is served in
/// any case. A faster variant adds at most 1 to the values, so that cores and memory go where they help
/// most: in proportion to the speed relative to the leanest variant, and to weight(row), which is above 0.
/// These differences are small compared with the sum of all values, so an allotment distinguishes them only
/// with a gap of 1e-6 or less.
template <class Liking = LikesWhatItHolds, class Weight = AllAlike>
void serve_in_order(const Round& round, std::span<const OptionRow> rows, std::span<const std::size_t> order,
                    bool backfill, Liking liking = {}, Weight weight = {}) {
    std::vector<double> left(round.capacity.begin(), round.capacity.end());
    const auto fits = [&](const ResourceUse& use) {
        return use.units <= left[use.resource] + 1e-9 * round.capacity[use.resource];
    };
    // Returns the largest fraction of any capacity that an option takes.
    const auto part_of = [&](std::span<const ResourceUse> uses) {
        double part = 0;
        for (const ResourceUse& use : uses)
            if (use.units > 0) part = std::max(part, use.units / round.capacity[use.resource]);
        return part;
    };
    const bool variants = std::any_of(rows.begin(), rows.end(), [](const OptionRow& row) {
        return std::any_of(row.options.begin(), row.options.end(),
                           [](const Option& option) { return !option.configuration.host().empty(); });
    });
    // Options with the same GPUs are consecutive. These functions find the end of such a run, and the
    // option in it that takes least.
    const auto end_of_variants = [&](const OptionRow& row, std::size_t first) {
        std::size_t end = first + 1;
        while (variants && end < row.options.size() &&
               row.options[end].configuration.same_gpus(row.options[first].configuration))
            ++end;
        return end;
    };
    const auto leanest = [&](const OptionRow& row, std::size_t first, std::size_t end) {
        std::size_t lean = first;
        for (std::size_t k = first + 1; k < end; ++k)
            if (row.options[lean].goodput <= 0 ||
                (row.options[k].goodput > 0 && part_of(row.uses(k)) < part_of(row.uses(lean))))
                lean = k;
        return lean;
    };
    // Served rows with the number of their GPUs. Until all rows are served, their values hold the speeds of
    // the options relative to the leanest one.
    std::vector<std::pair<const OptionRow*, int>> served;
    double most = 0, gains = 0;
    const auto compare_variants = [&](const OptionRow& row, std::size_t chosen) {
        const Configuration& gpus = row.options[chosen].configuration;
        const double scale = weight(row) / row.options[chosen].goodput;
        double fastest = 0;
        for (std::size_t k = 0; k < row.options.size(); ++k)
            if (row.options[k].goodput > 0 && row.options[k].configuration.same_gpus(gpus)) {
                row.values[k] = scale * row.options[k].goodput;
                fastest = std::max(fastest, row.values[k]);
            }
        most = std::max(most, fastest);
        gains += fastest;
        served.emplace_back(&row, gpus.gpus());
    };
    const auto take = [&](const OptionRow& row, std::size_t option) {
        for (const ResourceUse& use : row.uses(option)) left[use.resource] -= use.units;
    };
    const auto serve = [&](const OptionRow& row) {
        std::size_t chosen = row.options.size();
        double best = 0;
        for (std::size_t first = 0; first < row.options.size();) {
            const std::size_t end = end_of_variants(row, first);
            const std::size_t k = leanest(row, first, end);
            first = end;
            const Option& option = row.options[k];
            const std::span<const ResourceUse> uses = row.uses(k);
            if (option.goodput <= 0 || !std::all_of(uses.begin(), uses.end(), fits)) continue;
            const double liked = liking(round, row, option, uses.empty() ? 0 : left[uses.front().resource]);
            if (liked <= best) continue;
            best = liked;
            chosen = k;
        }
        if (chosen == row.options.size()) return row.options.empty();
        row.values[chosen] = 1;
        if (variants) compare_variants(row, chosen);
        take(row, chosen);
        return true;
    };
    for (const OptionRow& row : rows) std::fill(row.values.begin(), row.values.end(), 0.0);
    for (const std::size_t index : order)
        // A job keeps what it holds even if its goodput is unknown.
        if (rows[index].job.keeps_what_it_holds() && !serve(rows[index])) take(rows[index], 0);
    // A job that must run gets GPUs wherever it stands in the queue, so no job before it may count on them.
    bool gives_way = false;  // whether running jobs may lose GPUs to it
    for (const std::size_t index : order)
        if (rows[index].job.must_run && !rows[index].job.keeps_what_it_holds()) {
            serve(rows[index]);
            gives_way = true;
        }
    for (const std::size_t index : order) {
        const Job& job = rows[index].job;
        if (job.keeps_what_it_holds() || job.must_run || serve(rows[index]) || backfill) continue;
        if (job.placement.empty() || !gives_way) break;
    }
    for (const auto& [row, gpus] : served)
        for (double& value : row->values)
            if (value > 0) value = (1 + gains / most) * gpus + value / most;
}

/// Sorts rows by key(row), then by submission, then by their present order.
template <class Key>
std::vector<std::size_t> ordered(std::span<const OptionRow> rows, Key key) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t r) { return std::pair(key(rows[r]), rows[r].job.submitted_seconds); });
    return order;
}

}  // namespace detail

/// First in, first out: running jobs keep what they hold, and waiting ones follow in the order of
/// submission.
struct Fifo {
    /// A replay runs jobs with the GPUs and batch size for which their owners asked.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< false: values only say which jobs are served
    bool backfill = false;                        ///< whether later jobs may pass one that does not fit

    /// Sets values so that each job gets what it would take if the queue were served in order.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto order =
            detail::ordered(rows, [](const OptionRow& row) { return row.job.placement.empty(); });
        detail::serve_in_order(round, rows, order, backfill);
    }
};

/// Shortest remaining time first, with preemption. The time is the declared remaining work divided by the
/// best goodput offered. Jobs without declared work come last, in the order of submission.
struct ShortestRemainingTime {
    /// A replay runs jobs with the GPUs and batch size for which their owners asked.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< false: values only say which jobs are served
    bool backfill = true;                         ///< whether later jobs may pass one that does not fit

    /// Sets values so that each job gets what it would take if the queue were served in order.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto seconds = [](const OptionRow& row) {
            const double best = best_goodput(row.options);
            return row.job.remaining_examples && best > 0 ? *row.job.remaining_examples / best
                                                          : std::numeric_limits<double>::infinity();
        };
        const auto order = detail::ordered(rows, seconds);
        // Give cores and memory first where the weight over the remaining time is largest (Smith's rule,
        // 1956).
        const auto weight = [&](const OptionRow& row) {
            const double left = seconds(row);
            return left < longest_seconds ? 1 / std::max(left, 1.0) : 1 / longest_seconds;
        };
        detail::serve_in_order(round, rows, order, backfill, detail::LikesWhatItHolds(), weight);
    }

private:
    static constexpr double longest_seconds = 1e9;
};

static_assert(RoundPolicy<Fifo> && RoundPolicy<ShortestRemainingTime>);

/// Serves the jobs with the least GPU time first. It is a RoundPolicy.
struct LeastAttainedService {
    /// A replay runs jobs with the GPUs and batch size for which their owners asked.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< false: values only say which jobs are served
    /// Least difference in attained service with which a waiting job overtakes a running one. The default,
    /// one GPU-hour, is several minutes of a job on one node, which is as long as a restart takes at most.
    double lead_gpu_seconds = 3600;
    bool backfill = true;  ///< whether later jobs may pass one that does not fit

    /// Throws std::invalid_argument for a negative lead.
    void validate() const { require_at_least("policy las", "lead", lead_gpu_seconds, 0); }

    /// Sets values so that each job gets what it would take if the queue were served in order.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto order = detail::ordered(rows, [&](const OptionRow& row) {
            return row.job.attained_gpu_seconds - (row.job.placement.empty() ? 0 : lead_gpu_seconds);
        });
        detail::serve_in_order(round, rows, order, backfill);
    }
};

static_assert(RoundPolicy<LeastAttainedService>);

}  // namespace goodput::inline v0_1

#endif
