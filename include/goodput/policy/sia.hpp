#ifndef GOODPUT_POLICY_SIA_HPP
#define GOODPUT_POLICY_SIA_HPP

// Sia's policy (Jayaram Subramanya et al., SOSP'23; the released simulator where the two differ).
//
//     speedup = goodput / least goodput of the job's options * replica size of that option   (the smallest
//                                                                                             of equals)
//     factor  = max(age - restarts * cost, 0) / (age + cost), 1 if age < cost
//     W       = round((factor * speedup)^p), at most 3000
//     value   = lambda - W   (p < 0)      or W - lambda   (p > 0)
//
// The factor is applied to every option but the one held. Where p < 0 a small W is good, and going without
// costs lambda.
//
// Maximising the sum of the values is Sia's objective up to a constant. A job starts on one replica and at
// most doubles the number of GPUs that it has been measured on.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput {

/// Sia's policy; a RowPolicy with a growth limit.
struct Sia {
    double fairness_power = -0.5;   ///< p: the lower, the more even the speedups
    double unserved_penalty = 1.1;  ///< lambda: above 1 for p < 0, below -1 for p > 0
    double rounding = 0.01;         ///< W is rounded to multiples of this, as released; 0: not at all
    double largest = 3000;          ///< W is clipped here

    /// Refuses settings under which no job would be served or all values would be alike
    /// (std::invalid_argument).
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

    /// Twice the GPUs measured on any type, at least one replica.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        long long most = 0;
        for (std::size_t t = 0; t < model.types.size(); ++t)
            most = std::max(most, 2LL * model.types[t].most_replicas * job.types[t].gpus_per_replica);
        most = std::max<long long>(most, job.types[gpu_type].gpus_per_replica);
        return static_cast<int>(std::min<long long>(most, std::numeric_limits<int>::max()));
    }

    /// Values of a job's options, lambda - W or W - lambda; 0 without goodput.
    void value_row(const Round& round, const Job& job, std::span<const Option> options,
                   std::span<double> values) const {
        double least = std::numeric_limits<double>::infinity(), unit = 1;
        for (const Option& option : options)
            if (option.goodput > 0 && option.goodput <= least) {
                const double its = job.types[option.configuration.first().gpu_type].gpus_per_replica;
                unit = option.goodput < least ? its : std::min(unit, its);
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

/// Those of Sia's policy.
inline constexpr PolicyNumber<Sia> sia_numbers[] = {{"p", &Sia::fairness_power},
                                                    {"lambda", &Sia::unserved_penalty},
                                                    {"rounding", &Sia::rounding},
                                                    {"largest", &Sia::largest}};

}  // namespace goodput

#endif
