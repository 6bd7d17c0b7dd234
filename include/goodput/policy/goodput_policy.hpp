#ifndef GOODPUT_POLICY_GOODPUT_POLICY_HPP
#define GOODPUT_POLICY_GOODPUT_POLICY_HPP

// The goodput policies of this library. Each maximises, over jobs, a weighted sum of powers of the speed
// that a job gets, relative to the greatest speed that any of its options would give it now:
//
//     value = w * (speed * kept)^p * (1 + lost if the job runs)      speed = goodput / best goodput
//
//     w_j = (1 + 2 L_j)^q        L_j = sum over the others of 1 / (1 + (R_j / R_i)^sharpness)
//
//     lost = cost / (cost + held seconds)      1 / held seconds = speed / R + 1 / horizon
//     kept = 1 - lost                                          of the speed, for a start or a change
//          * max(age - restarts * cost, 0) / (age + cost)      for a change (1 while age < restart cost)
//
// R is the time in seconds that a job is expected to need on its best option; for `lost` it is at least the
// time of a restart, and for L_j the R of a running job is divided by `patience`, so that running jobs come
// first. L_j is the number of jobs that are expected to outlast job j, w is w_j times Job::weight, p, q and
// the other names are settings of GoodputPolicy, and cost = restart_weight * restart cost. docs/policy.md
// gives the reasons.
//
// R comes from what jobs of the same kind have shown (Job::expected_examples). DeclaredGoodputPolicy uses
// the declared work that is left. If neither is known, a job is expected to go on for about as long as it
// has run (`usual_seconds`, doubled until it is at least that long).
//
// A job about which nothing is known starts on one replica, and measurements follow. If a job has not
// measured its gradient noise, the policy assumes the noise with which jobs of its kind begin, or else
// `initial_noise` (in initial batches). No job waits forever: see ageing.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "goodput/policy/ageing.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Counts, for each of a set of times, how many of the others are expected to be longer: the sum of 1 / (1
/// + (time / other)^sharpness) over the others. Times are counted in bins, 16 per doubling. This takes O(1)
/// per time and a few thousand steps, and allocates no memory.
class OutlastingCount {
public:
    /// Adds a time, in seconds.
    void add(double seconds) { ++count_[bin_of(seconds)]; }
    /// Must be called once, after the last add().
    void finish(double sharpness) {
        std::array<std::size_t, bins> used;
        std::size_t last = 0;
        for (std::size_t bin = 0; bin < bins; ++bin)
            if (count_[bin] > 0) used[last++] = bin;
        for (std::size_t i = 0; i < last; ++i) {
            double& outlasting = outlasting_[used[i]];
            outlasting = -0.5;  // without itself
            for (std::size_t k = 0; k < last; ++k) {
                const double bins_longer = static_cast<double>(used[i]) - static_cast<double>(used[k]);
                outlasting += count_[used[k]] / (1 + std::exp2(sharpness * bins_longer / bins_a_doubling));
            }
        }
    }
    /// Returns the count for one of the added times.
    [[nodiscard]] double operator()(double seconds) const { return outlasting_[bin_of(seconds)]; }

private:
    static constexpr int bins_a_doubling = 16, most_doublings = 40;  // from a second to 30,000 years
    static constexpr std::size_t bins = bins_a_doubling * most_doublings + 1;

    static std::size_t bin_of(double seconds) {
        const double doublings = seconds > 1 ? std::min<double>(std::log2(seconds), most_doublings) : 0;
        return static_cast<std::size_t>(std::lround(doublings * bins_a_doubling));
    }

    std::array<double, bins> count_{}, outlasting_{};
};

}  // namespace detail

/// Uses measurements, age, restarts, and what other jobs have shown, but not the declared work.
struct GoodputPolicy {
    double fairness_power = 0.7;  ///< p: the lower, the more even the relative speeds; in (0, 1]
    double order_power = 0.7;     ///< q: weight of the number of jobs that outlast a job; 0 to 8
    /// Certainty of expectations: the larger the sharpness, the smaller the difference in time that is
    /// enough for a job to count as outlasting another one.
    double sharpness = 4;
    /// Divides the time left of a running job when the times of jobs are compared, so that running jobs
    /// come first.
    double patience = 2;
    double restart_weight = 2;  ///< factor on the seconds of a restart
    /// Seconds after which a decision no longer matters, because the cluster has changed.
    double horizon_seconds = 3600;
    /// Seconds on its best option that a job needs about which nothing is known.
    double usual_seconds = 300;
    /// Gradient noise scale before it is measured, in initial batches; 0 for none.
    double initial_noise = 10;
    /// Time after which a waiting job is overdue (ageing.hpp); infinite for never.
    double longest_wait_seconds = 43200;

    /// Throws std::invalid_argument for settings out of range.
    void validate() const {
        require_factor("policy goodput", "p", fairness_power);
        if (!(order_power >= 0 && order_power <= 8))
            bad_input("policy goodput", "order", order_power, "at least 0 and at most 8");
        require_positive("policy goodput", "sharpness", sharpness);
        require_positive("policy goodput", "patience", patience);
        require_at_least("policy goodput", "restart", restart_weight, 0);
        require_at_least("policy goodput", "horizon", horizon_seconds, 1);
        require_at_least("policy goodput", "usual", usual_seconds, 1e-3);
        require_at_least("policy goodput", "noise", initial_noise, 0);
        if (!(longest_wait_seconds > 0)) bad_input("policy goodput", "wait", longest_wait_seconds, "above 0");
    }

    /// Returns the gradient statistics with which options are valued.
    [[nodiscard]] std::optional<GradientStatistics> expected_gradient(const Job& job) const {
        if (const auto measured = measured_gradient(job.gradient)) return measured;
        if (const auto usual = measured_gradient(job.usual_gradient)) return usual;
        if (initial_noise > 0) return GradientStatistics{1, initial_noise};
        return std::nullopt;
    }

    /// Returns one replica for a job without measurements, and no limit for others.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        const bool known = std::any_of(model.types.begin(), model.types.end(), [](const TypeModel& type) {
            return type.fitted || type.most_replicas > 0;
        });
        return known ? std::numeric_limits<int>::max() : job.types[gpu_type].gpus_per_replica;
    }

    /// Sets the values of all jobs' options. Values are at least 0, and 0 if the option has no goodput.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        value_round(round, rows, false);
    }

    /// The same; `declared` says whether the declared work is used.
    void value_round(const Round& round, std::span<const OptionRow> rows, bool declared) const {
        detail::OutlastingCount outlasting;
        for (const OptionRow& row : rows) {
            const double left = expected_seconds(row.job, row.options, declared);
            outlasting.add(counted(row.job, left));
            // Until the values are computed, their place holds the time from which they are computed.
            if (!row.values.empty()) row.values.front() = left;
        }
        outlasting.finish(sharpness);
        for (const OptionRow& row : rows) {
            if (row.values.empty()) continue;
            const double left = row.values.front();
            const double weight = std::pow(1 + 2 * outlasting(counted(row.job, left)), order_power);
            const Speeds speeds(*this, round, row, left);
            const double factor = weight * speeds.start_saved(row.options);
            for (std::size_t k = 0; k < row.options.size(); ++k)
                row.values[k] = factor * std::pow(speeds(row.options[k]), fairness_power);
        }
        detail::serve_overdue(round, rows, longest_wait_seconds, [](const Job& job) { return job.weight; });
    }

    /// Returns the worth of another option compared with those of the row, in the unit of their values. It
    /// depends on the option's speed relative to theirs, and may exceed all their values. Returns 0 if no
    /// option of the row is worth anything.
    [[nodiscard]] double value_beside(const Round& round, const OptionRow& row, const Option& option,
                                      bool declared = false) const {
        const Speeds speeds(*this, round, row, expected_seconds(row.job, row.options, declared));
        const auto powered = [&](const Option& valued) { return std::pow(speeds(valued), fairness_power); };
        std::size_t slow = no_index, fast = no_index;
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            if (row.values[k] <= 0 || speeds(row.options[k]) <= 0) continue;
            if (slow == no_index || row.values[k] < row.values[slow]) slow = k;
            if (fast == no_index || row.values[k] > row.values[fast]) fast = k;
        }
        if (fast == no_index) return 0;
        const double most = powered(row.options[fast]), least = powered(row.options[slow]);
        if (!detail::overdue_since(round, row.job, longest_wait_seconds))
            return row.values[fast] * powered(option) / most;
        // If the job is overdue, the same amount may have been added to all its values.
        const double slope = most > least ? (row.values[fast] - row.values[slow]) / (most - least) : 0;
        return row.values[fast] + slope * (powered(option) - most);
    }

    /// Returns the seconds that a job is still expected to need on its best option; infinite without one.
    [[nodiscard]] double expected_seconds(const Job& job, std::span<const Option> options,
                                          bool declared) const {
        const Option* best = detail::best_option(options);
        if (!best) return std::numeric_limits<double>::infinity();
        if (declared && job.remaining_examples) return *job.remaining_examples / best->goodput;
        if (job.expected_examples) return *job.expected_examples / best->goodput;
        const double so_far = job.done_examples ? *job.done_examples / best->goodput
                                                : job.attained_gpu_seconds / best->configuration.gpus();
        double seconds = usual_seconds;
        while (seconds < std::min(so_far, longest_seconds)) seconds *= 2;
        return seconds;
    }

private:
    static constexpr double longest_seconds = 1e12;  // longer times count as this

    /// Returns the time with which a job enters the comparison with others, from the time that it is
    /// expected to need.
    [[nodiscard]] double counted(const Job& job, double left) const {
        return job.placement.empty() ? left : left / patience;
    }

    /// Computes the speeds from which the values of one job's options are made.
    class Speeds {
    public:
        Speeds(const GoodputPolicy& policy, const Round& round, const OptionRow& row, double left)
            : held_(round.held_by(row.job)),
              best_goodput_(best_goodput(row.options)),
              cost_(std::min(row.job.restart_cost_seconds * policy.restart_weight, longest_seconds)),
              seconds_(std::max(left, row.job.restart_cost_seconds)),
              horizon_(policy.horizon_seconds) {
            const double age = round.age_of(row.job);
            // A job younger than its restart cost cannot have finished its first start, so a restart wastes
            // no past progress.
            if (!held_.empty() && age >= row.job.restart_cost_seconds)
                life_ = detail::kept_of_life(age, row.job.restarts, cost_);
        }
        /// Returns speed * kept.
        [[nodiscard]] double operator()(const Option& option) const {
            return speed(option) * (stays(option) ? 1 : (1 - lost(speed(option))) * life_);
        }
        /// Returns 1 + lost if the job runs, else 1.
        [[nodiscard]] double start_saved(std::span<const Option> options) const {
            if (held_.empty()) return 1;
            const auto same = std::find_if(options.begin(), options.end(),
                                           [&](const Option& option) { return stays(option); });
            return 1 + lost(same == options.end() ? 0 : speed(*same));
        }

    private:
        [[nodiscard]] double speed(const Option& option) const {
            return option.goodput > 0 ? option.goodput / best_goodput_ : 0;
        }
        [[nodiscard]] bool stays(const Option& option) const {
            return !held_.empty() && option.configuration.same_gpus(held_);
        }
        [[nodiscard]] double lost(double speed) const {
            return cost_ > 0 ? cost_ / (cost_ + 1 / (speed / seconds_ + 1 / horizon_)) : 0;
        }

        Configuration held_;
        double best_goodput_, cost_;
        double seconds_;  // seconds left at full speed
        double horizon_;
        double life_ = 1;
    };
};

/// Uses the declared remaining work of jobs that have it.
struct DeclaredGoodputPolicy {
    /// The settings of GoodputPolicy. Declared work is more certain than an expectation, so it counts more.
    GoodputPolicy undeclared{.order_power = 1, .sharpness = 8, .patience = 1};

    /// Throws std::invalid_argument for settings out of range.
    void validate() const { undeclared.validate(); }

    /// The same as GoodputPolicy's.
    [[nodiscard]] std::optional<GradientStatistics> expected_gradient(const Job& job) const {
        return undeclared.expected_gradient(job);
    }
    /// The same as GoodputPolicy's.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        return undeclared.most_gpus(job, model, gpu_type);
    }
    /// The same as GoodputPolicy's.
    [[nodiscard]] double value_beside(const Round& round, const OptionRow& row, const Option& option) const {
        return undeclared.value_beside(round, row, option, true);
    }
    /// Sets the values of all jobs' options, with larger weights for jobs that have less left to do.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        undeclared.value_round(round, rows, true);
    }
};

static_assert(RoundPolicy<GoodputPolicy> && GradientForecast<GoodputPolicy> && GrowthLimit<GoodputPolicy>);
static_assert(ValuesBeside<GoodputPolicy> && ValuesBeside<DeclaredGoodputPolicy>);
static_assert(RoundPolicy<DeclaredGoodputPolicy> && GradientForecast<DeclaredGoodputPolicy>);

/// The numbers of GoodputPolicy.
inline constexpr PolicyNumber<GoodputPolicy> goodput_numbers[] = {
    {"p", &GoodputPolicy::fairness_power},         {"order", &GoodputPolicy::order_power},
    {"sharpness", &GoodputPolicy::sharpness},      {"patience", &GoodputPolicy::patience},
    {"restart", &GoodputPolicy::restart_weight},   {"horizon", &GoodputPolicy::horizon_seconds},
    {"usual", &GoodputPolicy::usual_seconds},      {"noise", &GoodputPolicy::initial_noise},
    {"wait", &GoodputPolicy::longest_wait_seconds}};

}  // namespace goodput::inline v0_1

#endif
