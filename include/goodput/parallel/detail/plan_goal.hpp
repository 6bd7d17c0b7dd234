#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_GOAL_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_GOAL_HPP

// The question that a search answers. PlanGoal turns the worth of a plan into a number to minimise: seconds
// per iteration, dollars per iteration, or price minus reward. It grows with the iteration time and with one
// weighted sum of the GPUs, called "spending": dollars per second, or the price. If the time falls linearly
// with spending, the number is concave in spending, so on any interval it is least at one of the ends.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "goodput/parallel/detail/stage_tables.hpp"
#include "goodput/parallel/plan_question.hpp"

namespace goodput::inline v0_1::detail {

/// The question, as a function of time and spending.
class PlanGoal {
public:
    PlanGoal(const ParallelCluster& cluster, const PlanQuestion& question)
        : objective_(question.objective), reward_(question.reward), power_(question.power) {
        if (question.least_throughput && *question.least_throughput > 0)
            most_seconds_ = 1 / *question.least_throughput;
        if (question.most_usd) most_usd_ = *question.most_usd;
        for (std::size_t t = 0; t < cluster.types.size(); ++t)
            weights_.push_back(objective_ == PlanObjective::reward ? question.price[t]
                                                                   : cluster.types[t].usd_per_hour / 3600);
    }

    /// Spending per GPU, by type.
    [[nodiscard]] const std::vector<double>& weights() const { return weights_; }
    /// Whether spending matters at all.
    [[nodiscard]] bool spends() const { return objective_ != PlanObjective::throughput || most_usd_ < never; }

    /// Whether the dollars of traffic matter.
    [[nodiscard]] bool counts_traffic() const { return spends() && objective_ != PlanObjective::reward; }

    /// Whether the price of GPUs, rather than their number, decides how many a plan takes.
    [[nodiscard]] bool pays() const { return objective_ == PlanObjective::reward && most_seconds_ == never; }

    /// Returns the number to minimise for a plan; infinity if the plan exceeds a limit. `extra` is the
    /// dollars of traffic.
    [[nodiscard]] double value(double seconds, double spending, double extra = 0) const {
        if (!(seconds <= most_seconds_ * (1 + 1e-12))) return never;
        if (objective_ == PlanObjective::reward) return spending - earned(seconds);
        if (!(seconds * spending + extra <= most_usd_ * (1 + 1e-12))) return never;
        return objective_ == PlanObjective::throughput ? seconds : seconds * spending + extra;
    }

    /// Returns a lower bound on the value of any plan.
    [[nodiscard]] double least_of_any() const { return objective_ == PlanObjective::reward ? -never : 0; }

    /// Returns a lower bound on the value of plans whose spending is in [low, high] and whose seconds are
    /// at least `floor` and at least sum - slope * spending. `extra` is a lower bound on the dollars of
    /// traffic.
    [[nodiscard]] double least(double sum, double slope, double low, double high, double floor,
                               double extra) const {
        if (sum == never) return never;
        const auto seconds = [&](double spending) { return std::max(sum - slope * spending, floor); };
        if (seconds(high) > most_seconds_ * (1 + 1e-9)) return never;
        if (!spends()) return seconds(high);
        // The value is concave while the seconds fall with spending, and grows once they have reached the
        // floor. So it is least at an end of the part where they fall.
        double end = high;
        if (slope > 0 && sum - slope * high < floor) end = std::clamp((sum - floor) / slope, low, high);
        if (objective_ == PlanObjective::reward)
            return std::min(low - earned(seconds(low)), end - earned(seconds(end)));
        const double usd = std::min(low * seconds(low), end * seconds(end)) + extra;
        if (usd > most_usd_ * (1 + 1e-9)) return never;
        return objective_ == PlanObjective::throughput ? seconds(high) : usd;
    }

    /// Returns an upper bound on the seconds of every plan that is better than `value`, spends at least
    /// `low`, and pays at least `extra` dollars for traffic.
    [[nodiscard]] double most_time(double value, double low, double extra) const {
        double most = most_seconds_;
        if (objective_ == PlanObjective::throughput) most = std::min(most, value);
        if (objective_ == PlanObjective::cost && low > 0) most = std::min(most, (value - extra) / low);
        if (objective_ == PlanObjective::reward && value < low)
            most = std::min(
                most, power_ == 1 ? reward_ / (low - value) : std::pow(reward_ / (low - value), 1 / power_));
        if (most_usd_ < never && low > 0) most = std::min(most, (most_usd_ - extra) / low);
        return most + 1e-9 * std::abs(most);
    }

    /// Returns an upper bound on the spending of every plan that is better than `value`, takes at least
    /// `seconds`, and pays at least `extra` dollars for traffic.
    [[nodiscard]] double most_spending(double value, double seconds, double extra) const {
        double most = never;
        if (objective_ == PlanObjective::reward && value < never) {
            const double all = earned(seconds);
            most = value + all + 1e-9 * (std::abs(value) + all);
        }
        if (objective_ == PlanObjective::cost) most = (value - extra) / seconds;
        most = std::min(most, (most_usd_ - extra) / seconds);
        return most + 1e-9 * std::abs(most);
    }

    /// Returns a slope for least() that suits plans of about these seconds and this spending.
    [[nodiscard]] double slope(double seconds, double spending) const {
        if (objective_ == PlanObjective::cost) return spending > 0 ? seconds / spending : 0;
        if (objective_ == PlanObjective::reward)
            return reward_ > 0 ? seconds / (power_ * earned(seconds)) : 0;
        return 0;
    }
    [[nodiscard]] PlanObjective objective() const { return objective_; }
    [[nodiscard]] bool has_budget() const { return most_usd_ < never; }

    /// Converts the value to the caller's objective.
    [[nodiscard]] double told(double value) const {
        if (objective_ == PlanObjective::throughput) return value > 0 ? 1 / value : never;
        return objective_ == PlanObjective::cost ? value : -value;
    }

private:
    [[nodiscard]] double earned(double seconds) const {
        return power_ == 1 ? reward_ / seconds : reward_ * std::pow(seconds, -power_);
    }

    PlanObjective objective_;
    double reward_, power_;
    double most_seconds_ = never;
    double most_usd_ = never;
    std::vector<double> weights_{};
};

/// The question of a search, and all that it is about. The caller keeps what it refers to alive.
struct PlanTask {
    const LayeredModel& model;
    const ParallelCluster& cluster;
    const PlanQuestion& question;
    const ParallelConstants& constants;
    std::function<bool()> stop;  // asked now and then whether to give up
    PlanGoal goal{cluster, question};
};

}  // namespace goodput::inline v0_1::detail

#endif
