#ifndef GOODPUT_POLICY_GOODPUT_POLICY_HPP
#define GOODPUT_POLICY_GOODPUT_POLICY_HPP

// Our own policies. Each maximises, over jobs, a sum of powers of the speed that a job gets, as a part of the
// greatest speed that any allotment would give it now:
//
//     value = weight * (kept * goodput / best goodput of the job's options)^p
//     kept  = max(age - restarts * c, 0) / (age + c)      for a change; 1 for what is held, and for a start
//
// with c the restart cost times `restart_weight`. What is different from Sia, and why:
//
// - Speeds are compared with the job's best, not with its worst option, and 0 < p < 1: a job that gets
//   nothing loses what it could have had, no more. p between 0 (equal relative shares) and 1 (all to who
//   makes most of it): half-way.
// - No doubling rule: models know from the first round what every size is likely to give (RefinedModels), so
//   a job starts with the size it is worth. That spares it two or three restarts.
// - Look-ahead. The gradient noise scale grows by orders of magnitude during training, and with it the batch
//   size and the GPUs that pay. An allotment lasts for many rounds, so it is valued at the noise that is to
//   be expected while it lasts: `noise_growth` times the present one, at least `initial_noise` (in initial
//   batches), which is also what a job gets that has not measured any. Only values look ahead: the batch plan
//   is that of the present noise.
// - A restart costs more than its seconds: others wait for the GPUs, and the next restart comes sooner.
//   Hence the weight of 2.
//
// With the jobs' declared work (DeclaredGoodputPolicy): the fewer jobs have less left to do, the more a job
// weighs. For jobs of speed k^q on k GPUs, the i-th of them counted from the one with most work left gets the
// share (i^(1/(1-q)) - (i-1)^(1/(1-q))) / m^(1/(1-q)) of the GPUs in the best schedule of all (heSRPT; Berg,
// Vesilo and Harchol-Balter, SIGMETRICS 2020), which is what weights to the power 1 - q of that give; q = 1/2
// here. And no job restarts for a gain that its rest cannot repay.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"

namespace goodput {

/// Uses nothing but measurements, age and restarts.
struct GoodputPolicy {
    double fairness_power = 0.5;  ///< p: the lower, the more even the relative speeds; in (0, 1]
    double restart_weight = 2;    ///< how many times its seconds a restart costs
    double noise_growth = 2;      ///< of the gradient noise scale while an allotment lasts
    double initial_noise = 10;    ///< least noise scale that is planned with, in initial batches; 0: none

    /// Refuses settings that make no sense (std::invalid_argument).
    void validate() const {
        if (!(fairness_power > 0 && fairness_power <= 1))
            bad_input("policy goodput", "p", fairness_power, "above 0 and at most 1");
        require_at_least("policy goodput", "restart", restart_weight, 0);
        require_at_least("policy goodput", "growth", noise_growth, 0);
        require_at_least("policy goodput", "noise", initial_noise, 0);
    }

    /// The gradient statistics that a job is expected to have while it holds what it is given.
    [[nodiscard]] std::optional<GradientStatistics> expected_gradient(const Job& job) const {
        if (!job.gradient) {
            if (initial_noise > 0) return GradientStatistics{1, initial_noise};
            return std::nullopt;
        }
        const GradientStatistics& now = *job.gradient;
        return GradientStatistics{now.squared_norm,
                                  std::max(now.variance * noise_growth, initial_noise * now.squared_norm)};
    }

    /// Share of its speed that is left to a job that changes what it holds, in [0, 1].
    [[nodiscard]] double kept(const Round& round, const Job& job) const {
        const double age = std::max(round.age_of(job), 0.0), cost = job.restart_cost_seconds * restart_weight;
        return age < job.restart_cost_seconds ? 1
                                              : std::max(age - job.restarts * cost, 0.0) /
                                                    std::max(age + cost, std::numeric_limits<double>::min());
    }

    /// Values of a job's options, in [0, 1]; 0 without goodput.
    void value_row(const Round& round, const Job& job, std::span<const Option> options,
                   std::span<double> values) const {
        value_row(round, job, options, values, kept(round, job), 1);
    }

    /// The same with another share that is kept, and a weight.
    void value_row(const Round& round, const Job& job, std::span<const Option> options,
                   std::span<double> values, double kept, double weight) const {
        const double best = best_goodput(options);
        const Allotment held = round.held_by(job);
        for (std::size_t k = 0; k < options.size(); ++k) {
            const bool stays = held.empty() || options[k].allotment == held;
            const double speed = options[k].goodput > 0 ? options[k].goodput / best : 0;
            values[k] = weight * std::pow(speed * (stays ? 1 : kept), fairness_power);
        }
    }

    /// The largest goodput of the options, examples/s.
    [[nodiscard]] static double best_goodput(std::span<const Option> options) {
        double best = 0;
        for (const Option& option : options) best = std::max(best, option.goodput);
        return best;
    }
};

/// Uses the jobs' declared remaining work, too. Jobs without count as those with most of it.
struct DeclaredGoodputPolicy {
    GoodputPolicy undeclared{.fairness_power = 0.75};  ///< what it shares with GoodputPolicy
    /// How many times longer than on its best option a job usually takes for what is left.
    double usual_slowdown = 4;

    /// Refuses settings that make no sense (std::invalid_argument).
    void validate() const {
        undeclared.validate();
        require_positive("policy goodput-declared", "slowdown", usual_slowdown);
    }

    /// As GoodputPolicy's.
    [[nodiscard]] std::optional<GradientStatistics> expected_gradient(const Job& job) const {
        return undeclared.expected_gradient(job);
    }

    /// Values of all jobs' options, weighed by who has least left to do.
    void value_round(const Round& round, std::span<const Row> rows) const {
        // Ranks by seconds left on the best option, equal ones alike.
        std::vector<double> seconds, sorted;
        for (const Row& row : rows) {
            const double best = GoodputPolicy::best_goodput(row.options);
            seconds.push_back(row.job.remaining_examples && best > 0
                                  ? *row.job.remaining_examples / best
                                  : std::numeric_limits<double>::infinity());
        }
        sorted = seconds;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t j = 0; j < rows.size(); ++j) {
            const Row& row = rows[j];
            const auto longer = sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), seconds[j]);
            // q = 1/2: i^2 - (i - 1)^2, i - 1 jobs taking longer.
            const double weight = std::sqrt(2.0 * static_cast<double>(longer) + 1);
            const double cost = row.job.restart_cost_seconds * undeclared.restart_weight;
            const double rest = 1 - cost / std::max(seconds[j] * usual_slowdown, cost);
            const double kept = std::min(undeclared.kept(round, row.job), rest);
            undeclared.value_row(round, row.job, row.options, row.values, kept, weight);
        }
    }
};

static_assert(RowPolicy<GoodputPolicy> && GradientForecast<GoodputPolicy>);
static_assert(RoundPolicy<DeclaredGoodputPolicy> && GradientForecast<DeclaredGoodputPolicy>);

}  // namespace goodput

#endif
