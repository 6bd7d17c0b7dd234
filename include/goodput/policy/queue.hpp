#ifndef GOODPUT_POLICY_QUEUE_HPP
#define GOODPUT_POLICY_QUEUE_HPP

// Policies that serve jobs one after another in some order: each takes, of what the ones before it left, the
// option that it likes best, and the allotment step is asked for exactly that.
//
// LeastAttainedService: least attained service first (foreground-background; Nuyens and Wierman's survey,
// Performance Evaluation 2008), in two dimensions as in Tiresias (NSDI'19): jobs are served in the order of
//
//     attained GPU-seconds - (lead if the job runs, else 0)               equal ones in that of submission
//
// each with all the GPUs that it asked for or none. Without knowing how long jobs last this favours the short
// ones: of all orders that know nothing of the future the best for one server, if the longer a job has run
// the longer it is likely to go on, and if preempting costs nothing. Here a restart costs something, and with
// lead 0, the rule of the textbooks, two equal jobs that do not fit together take turns every round. So a job
// that runs is only overtaken by those that have attained less by more than `lead`.
// Gavel's max-min fairness over fractions of time, also called LAS, is another thing.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput {

namespace detail {

/// What a job holds, before the largest goodput.
struct LikesWhatItHolds {
    double operator()(const Round& round, const OptionRow& row, const Option& option, double) const {
        const Configuration held = round.held_by(row.job);
        return !held.empty() && option.configuration.same_gpus(held) ? std::numeric_limits<double>::infinity()
                                                                     : option.goodput;
    }
};

/// One job's speed counts as much as another's.
struct AllAlike {
    double operator()(const OptionRow&) const { return 1; }
};

/// Values 1 for what each job takes in the given order of rows, else 0: of the options that fit what is left
/// of Round::capacity, that of the largest liking(round, row, option, units left of what it takes first)
/// above 0, the first of equals. Jobs that keep what they hold come before all others. Without backfilling
/// the first job that finds nothing ends the round.
///
/// Where options are variants of the same GPUs with more or less beside them, a job is served with the
/// leanest, and all that are offered with these GPUs are worth something: for each of its GPUs more than all
/// that jobs can gain by faster variants, so that it is served in any case, and up to 1 more, so that what
/// there is beside the GPUs goes where it helps most: in proportion to how many times as fast as the leanest
/// they are, and to weight(row), above 0. These differences are small beside the sum of all values: gaps from
/// 1e-6 on see them.
template <class Liking = LikesWhatItHolds, class Weight = AllAlike>
void serve_in_order(const Round& round, std::span<const OptionRow> rows, std::span<const std::size_t> order,
                    bool backfill, Liking liking = {}, Weight weight = {}) {
    std::vector<double> left(round.capacity.begin(), round.capacity.end());
    const auto fits = [&](const ResourceUse& use) {
        return use.units <= left[use.resource] + 1e-9 * round.capacity[use.resource];
    };
    // The largest part of a capacity that an option takes.
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
    // Options with the same GPUs lie side by side: behind the last one, and which of them takes least.
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
    // What is served, and how fast its options are beside the leanest: until all is served, in their values.
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
        // What is kept is kept also where nothing is known of its goodput.
        if (rows[index].job.keeps_what_it_holds() && !serve(rows[index])) take(rows[index], 0);
    for (const std::size_t index : order) {
        if (rows[index].job.keeps_what_it_holds()) continue;
        if (!serve(rows[index]) && !backfill) break;
    }
    for (const auto& [row, gpus] : served)
        for (double& value : row->values)
            if (value > 0) value = (1 + gains / most) * gpus + value / most;
}

/// Rows in the order of key(row), equal ones in that of submission, and then as they come.
template <class Key>
std::vector<std::size_t> ordered(std::span<const OptionRow> rows, Key key) {
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&](std::size_t r) { return std::pair(key(rows[r]), rows[r].job.submitted_seconds); });
    return order;
}

}  // namespace detail

/// First in, first out: running jobs keep what they hold, waiting ones follow in the order of submission.
struct Fifo {
    /// A replay runs jobs with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    bool backfill = false;                        ///< lets later jobs pass one that does not fit

    /// Values that give the queue what it takes.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto order =
            detail::ordered(rows, [](const OptionRow& row) { return row.job.placement.empty(); });
        detail::serve_in_order(round, rows, order, backfill);
    }
};

/// Shortest remaining time first, preempting: the declared remaining work over the best goodput offered. Jobs
/// without declared work come last, in the order of submission.
struct ShortestRemainingTime {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    bool backfill = true;                         ///< lets later jobs pass one that does not fit

    /// Values that give the queue what it takes.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto seconds = [](const OptionRow& row) {
            const double best = best_goodput(row.options);
            return row.job.remaining_examples && best > 0 ? *row.job.remaining_examples / best
                                                          : std::numeric_limits<double>::infinity();
        };
        const auto order = detail::ordered(rows, seconds);
        // Cores and memory by weight over size (Smith's rule, 1956).
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

/// Who has had least GPU time comes first; a RoundPolicy.
struct LeastAttainedService {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    /// How much less a job must have attained to overtake one that runs. A GPU-hour: several minutes of a job
    /// on one node, where a restart takes up to some minutes.
    double lead_gpu_seconds = 3600;
    bool backfill = true;  ///< lets later jobs pass one that does not fit

    /// Refuses a lead that is none (std::invalid_argument).
    void validate() const { require_at_least("policy las", "lead", lead_gpu_seconds, 0); }

    /// Values that give the queue what it takes.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto order = detail::ordered(rows, [&](const OptionRow& row) {
            return row.job.attained_gpu_seconds - (row.job.placement.empty() ? 0 : lead_gpu_seconds);
        });
        detail::serve_in_order(round, rows, order, backfill);
    }
};

static_assert(RoundPolicy<LeastAttainedService>);

}  // namespace goodput

#endif
