#ifndef GOODPUT_POLICIES_BALANCED_SLOWDOWN_HPP
#define GOODPUT_POLICIES_BALANCED_SLOWDOWN_HPP

// Balances completion times, fairness and makespan for jobs of fixed sizes whose work is known. In every
// round it computes anew what the GPUs of that round are worth to each job.
//
// Consider a job of s GPUs and age A. It needs R more seconds (including a start, if it waits), and I
// seconds in all without waiting.
//
// Critical jobs come first. The cluster finishes no earlier than T = max(sum of s R over all jobs / GPUs,
// largest R), and a waiting job with R = T delays the end (McNaughton 1959). A waiting job is critical if R
// >= (1 - margin) T. A running job remains critical until R < (1 - 2 margin) T, so that jobs do not take
// turns with a restart each.
//
// The GPUs of other jobs are worth the gain per GPU, weight / (s R) (Smith 1956). The weight is the cost of
// one second of delay, if the sum of all slowdowns to the power of p should be small:
//
//       slowdown = (A + R) / I        weight = slowdown^(p-1) / I
//
// p = 1 is the mean slowdown, which favours short jobs. The larger p is, the more the worst slowdown counts.
//
// The value of an option is this worth of its GPUs, reduced in proportion to its speed: R over the seconds
// that the job would need with the option, including a restart if it would have to move. So the GPUs of
// each type go where they help most, and not all to the first job. R is the remaining work over the largest
// goodput, and I is computed from the done and the remaining work. If a job has not declared its work, the
// expectation from jobs of its kind is used (Job::expected_examples). If there is none, the job is expected
// to go on for as long as it has run.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput::inline v0_1 {

/// Serves critical jobs first, then those whose slowdown grows fastest.
struct BalancedSlowdown {
    /// A replay runs jobs with the GPUs and batch size for which their owners asked.
    static constexpr bool rigid_jobs = true;
    /// False, because the gain already contains the weights.
    static constexpr bool weights_count = false;
    /// p, the power of slowdowns in their sum, at least 1. p = 2 favours the average slowdown and p = 4 the
    /// worst one; the averages of the two differ by about 2 %.
    double power = 3;
    /// How much shorter than the longest job a critical job may be, as a fraction from 0 to 0.5. Half and
    /// twice the default change average slowdown and makespan by 1 to 2 %.
    double margin = 0.04;

    /// Throws std::invalid_argument for settings out of range.
    void validate() const {
        if (!(power >= 1 && power <= 100))
            bad_input("policy balanced slowdown", "power", power, "between 1 and 100");
        if (!(margin >= 0 && margin <= 0.5))
            bad_input("policy balanced slowdown", "margin", margin, "between 0 and 0.5");
    }

    /// Sets each value to what the option gains in one round.
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
    // Added per GPU for critical jobs. For all other jobs, the worth of a GPU is at most 1.
    static constexpr double critical_value = 2;

    struct Place {
        int gpus = 0;        // 0 if nothing is offered
        double goodput = 0;  // goodput of its best option
        bool runs = false;
        bool critical = false;
        double left_seconds = 0;
        double index = 0;  // gain per GPU
    };

    /// Sets each value to the worth of the option's GPUs, in proportion to how soon the job would end with
    /// it.
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
        if (job.examples_left()) left = *job.examples_left() / best->goodput;
        const double whole = std::max(done + left, least_seconds);
        place.left_seconds = std::max(left, least_seconds) + (place.runs ? 0 : job.restart_cost_seconds);
        const double slowdown = (age + place.left_seconds) / whole;
        place.index = job.weight * std::pow(slowdown, power - 1) / whole / (place.gpus * place.left_seconds);
        if (!std::isfinite(place.index)) place.index = std::numeric_limits<double>::max();
        return place;
    }
};

static_assert(RoundPolicy<BalancedSlowdown>);

}  // namespace goodput::inline v0_1

#endif
