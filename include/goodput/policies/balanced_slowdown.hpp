#ifndef GOODPUT_POLICIES_BALANCED_SLOWDOWN_HPP
#define GOODPUT_POLICIES_BALANCED_SLOWDOWN_HPP

// Completion times, fairness and makespan at once, for jobs of fixed sizes whose work is known: what is a
// round of GPUs worth to whom? Decided anew in every round.
//
// A job of s GPUs that needs R seconds more (a start included, if it waits) and I in all, of age A:
//
//   Critical jobs come first: the cluster ends no earlier than T = max(sum s R / GPUs, max R), and a job with
//   R = T that waits moves the end (McNaughton 1959). A waiting job is critical from R >= (1 - margin) T on,
//   and a running one remains so down to (1 - 2 margin) T: jobs must not take turns at a restart each.
//
//   All others are worth what a GPU gains: weight / (s R) (Smith 1956). The weight is what a second of delay
//   costs if the sum of all slowdowns to the power of p is to be small:
//
//       slowdown = (A + R) / I        weight = slowdown^(p-1) / I
//
//   p = 1 is the mean slowdown, and short jobs first; the larger p, the more the worst counts.
//
// An option is worth as much of that as it is fast: R over the seconds that the job would need with it, a
// restart included where it would have to move. So the GPUs of each type go where they help most, and not all
// to whoever comes first. R is what remains over the largest goodput, I what is done and what remains. Of a
// job that declared nothing, what others of its kind show is expected (Job::expected_examples), and of one of
// which nothing is known at all, that it goes on as long as it has run.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput {

/// Critical jobs, then those whose slowdown grows fastest.
struct BalancedSlowdown {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< they are in the gain already
    /// p, at least 1: of slowdowns in their sum. 2 favours the average, 4 the worst, by some 2 % of the
    /// first.
    double power = 3;
    /// How much shorter than the longest a job may be and still be critical, from 0 to 0.5: half of that and
    /// twice as much move average and makespan by 1 to 2 %.
    double margin = 0.04;

    /// Refuses settings out of range (std::invalid_argument).
    void validate() const {
        if (!(power >= 1 && power <= 100))
            bad_input("policy balanced slowdown", "power", power, "between 1 and 100");
        if (!(margin >= 0 && margin <= 0.5))
            bad_input("policy balanced slowdown", "margin", margin, "between 0 and 0.5");
    }

    /// What a round of each option gains.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        double gpus = 0;
        for (std::size_t p = 0; p < round.pools.size(); ++p) gpus += round.capacity[p];
        std::vector<Place> places;
        double work = 0, longest = 0;
        for (const OptionRow& row : rows) {
            places.push_back(place_of(round, row));
            if (places.back().gpus == 0) continue;
            work += places.back().gpus * places.back().left_seconds;
            longest = std::max(longest, places.back().left_seconds);
        }
        const double end = std::max(longest, gpus > 0 ? work / gpus : 0);
        for (Place& place : places) {
            const double short_by = (place.runs ? 2 : 1) * margin;
            place.critical = place.gpus > 0 && place.left_seconds >= (1 - short_by) * end;
        }
        double largest = std::numeric_limits<double>::min();
        for (const Place& place : places) largest = std::max(largest, place.index);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            std::fill(rows[r].values.begin(), rows[r].values.end(), 0.0);
            if (places[r].gpus > 0) value_options(round, rows[r], places[r], largest);
        }
    }

private:
    static constexpr double least_seconds = 1;
    static constexpr double critical_value = 2;  // of a GPU, beside at most 1 for all others

    struct Place {
        int gpus = 0;        // 0: nothing is offered
        double goodput = 0;  // of its best option
        bool runs = false;
        bool critical = false;
        double left_seconds = 0;
        double index = 0;  // gain of a GPU
    };

    /// An option is worth the gain of its GPUs, in proportion to how soon the job would end with it.
    static void value_options(const Round& round, const OptionRow& row, const Place& place, double largest) {
        const Configuration held = round.held_by(row.job);
        const double gpu_value = place.index / largest + (place.critical ? critical_value : 0);
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            const Option& option = row.options[k];
            if (option.goodput <= 0) continue;
            const bool moves = !held.empty() && !option.configuration.same_gpus(held);
            const double seconds = place.left_seconds * place.goodput / option.goodput +
                                   (moves ? row.job.restart_cost_seconds : 0);
            row.values[k] = option.configuration.gpus() * gpu_value * place.left_seconds / seconds;
        }
    }

    [[nodiscard]] Place place_of(const Round& round, const OptionRow& row) const {
        const Job& job = row.job;
        const Option* best = detail::best_option(row.options);
        if (best == nullptr) return {};
        Place place{
            .gpus = best->configuration.gpus(), .goodput = best->goodput, .runs = !job.placement.empty()};
        const double ran = job.attained_gpu_seconds / place.gpus, age = round.age_of(job);
        double left = std::max(ran, least_seconds), done = ran;
        if (job.done_examples) done = *job.done_examples / best->goodput;
        if (job.remaining_examples)
            left = *job.remaining_examples / best->goodput;
        else if (job.expected_examples)
            left = *job.expected_examples / best->goodput;
        const double whole = std::max(done + left, least_seconds);
        place.left_seconds = std::max(left, least_seconds) + (place.runs ? 0 : job.restart_cost_seconds);
        const double slowdown = (age + place.left_seconds) / whole;
        place.index = job.weight * std::pow(slowdown, power - 1) / whole / (place.gpus * place.left_seconds);
        if (!std::isfinite(place.index)) place.index = std::numeric_limits<double>::max();
        return place;
    }
};

static_assert(RoundPolicy<BalancedSlowdown>);

}  // namespace goodput

#endif
