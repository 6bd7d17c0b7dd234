#ifndef GOODPUT_POLICY_SIA_HPP
#define GOODPUT_POLICY_SIA_HPP

// Sia's policy (Jayaram Subramanya et al., SOSP'23; where paper and released simulator differ, as in the
// simulator).
//
//     speedup = goodput / least goodput of the job's options * replica size of that option   (the smallest
//                                                                                             of equals)
//     factor  = max(age - restarts * cost, 0) / (age + cost), 1 if age < cost
//     W       = round((factor * speedup)^p), at most 3000
//     value   = lambda - W   (p < 0)      or W - lambda   (p > 0)
//
// For a job that runs, the factor is applied to every option except the one that it holds. If p < 0, a
// small W is good, and getting nothing costs lambda.
//
// Maximising the sum of the values is the same as Sia's objective, except for a constant. A job starts on
// one replica, and then gets at most twice the number of GPUs on which it was measured.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput::inline v0_1 {

/// Sia's policy. It is a RowPolicy with a growth limit.
struct Sia {
    double fairness_power = -0.5;   ///< p: the lower, the more even the speedups
    double unserved_penalty = 1.1;  ///< lambda: above 1 if p < 0, below -1 if p > 0
    /// W is rounded to multiples of this, as in the released simulator; 0 to disable.
    double rounding = 0.01;
    double largest = 3000;  ///< W is at most this

    /// Throws std::invalid_argument for settings with which no job would be served, or all values would be
    /// equal.
    void validate() const {
        if (!std::isfinite(fairness_power) || fairness_power == 0)
            bad_input("policy sia", "p", fairness_power, "a finite number other than 0");
        const bool opposite = fairness_power < 0 ? unserved_penalty > 1 : unserved_penalty < -1;
        if (!std::isfinite(unserved_penalty) || !opposite)
            bad_input("policy sia", "lambda", unserved_penalty,
                      fairness_power < 0 ? "above 1 where p < 0" : "below -1 where p > 0");
        require_at_least("policy sia", "rounding", rounding, 0);
        require_positive("policy sia", "largest", largest);
    }

    /// Returns twice the largest number of GPUs on which the job was measured, over all types; at least one
    /// replica.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        long long most = 0;
        for (std::size_t t = 0; t < model.types.size(); ++t)
            most = std::max(most, 2LL * model.types[t].most_replicas * job.types[t].gpus_per_replica);
        most = std::max<long long>(most, job.types[gpu_type].gpus_per_replica);
        return static_cast<int>(std::min<long long>(most, std::numeric_limits<int>::max()));
    }

    /// Sets the values of a job's options to lambda - W or W - lambda, or to 0 if an option has no goodput.
    void value_row(const Round& round, const Job& job, std::span<const Option> options,
                   std::span<double> values) const {
        double least = std::numeric_limits<double>::infinity(), unit = 1;
        for (const Option& option : options)
            if (option.goodput > 0 && option.goodput <= least) {
                const double replica_gpus = job.types[option.configuration.first().gpu_type].gpus_per_replica;
                unit = option.goodput < least ? replica_gpus : std::min(unit, replica_gpus);
                least = option.goodput;
            }
        const Configuration held = round.held_by(job);
        const double age = round.age_of(job), cost = job.restart_cost_seconds;
        const double factor = age < cost ? 1 : detail::kept_of_life(age, job.restarts, cost);
        for (std::size_t k = 0; k < options.size(); ++k) {
            const bool stays = held.empty() || options[k].configuration.same_gpus(held);
            const double speedup = options[k].goodput / least * unit * (stays ? 1 : factor);
            values[k] = options[k].goodput > 0 ? value_of(speedup) : 0;
        }
    }

private:
    [[nodiscard]] double value_of(double speedup) const {
        double weight = std::pow(speedup, fairness_power);
        if (rounding > 0) weight = std::nearbyint(weight / rounding) * rounding;
        weight = std::min(weight, largest);
        return fairness_power < 0 ? unserved_penalty - weight : weight - unserved_penalty;
    }
};

static_assert(RowPolicy<Sia> && GrowthLimit<Sia>);

/// The numbers of Sia's policy.
inline constexpr PolicyNumber<Sia> sia_numbers[] = {{"p", &Sia::fairness_power},
                                                    {"lambda", &Sia::unserved_penalty},
                                                    {"rounding", &Sia::rounding},
                                                    {"largest", &Sia::largest}};

}  // namespace goodput::inline v0_1

#endif
