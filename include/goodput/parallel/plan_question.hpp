#ifndef GOODPUT_PARALLEL_PLAN_QUESTION_HPP
#define GOODPUT_PARALLEL_PLAN_QUESTION_HPP

// The question to a planner, and the answer.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/plan_score.hpp"

namespace goodput::inline v0_1 {

/// The objective of a plan.
enum class PlanObjective {
    throughput,  ///< most iterations per second
    cost,        ///< fewest dollars per iteration
    reward       ///< most PlanQuestion::reward * (iterations/s)^power - price of its GPUs
};

/// The requirements on a plan.
struct PlanQuestion {
    int global_batch = 1;  ///< samples per iteration; the planner never changes it
    PlanObjective objective = PlanObjective::throughput;  ///< the objective
    std::optional<double> most_usd{};          ///< dollars per iteration, GPUs and traffic; at least 0
    std::optional<double> least_throughput{};  ///< iterations per second; at least 0
    double reward = 0;                         ///< PlanObjective::reward: value of one iteration per second
    /// PlanObjective::reward: twice as many iterations are worth 2^power times as much; in (0, 1].
    double power = 1;
    std::vector<double>
        price{};  ///< PlanObjective::reward: price per GPU by type, at least 0, in the unit of the reward

    /// Whether replicas of one stage may have different GPU types and degrees. Such plans gain a few per
    /// cent on some small clusters and nothing on most, and ruling them out takes far longer. If false, the
    /// bound covers only plans whose stages each have one type and degree, in any zones.
    bool mixed_stages = false;
    double gap = 0;  ///< the search ends when the objective is proven to within this part of it
    /// Plans to begin with, such as answers to earlier questions. Plans that are invalid for this question
    /// are skipped.
    std::vector<ParallelPlan> known{};
    /// The search also ends after this many partial plans, so that a question without a deadline ends:
    /// after ten seconds, or minutes if many zones make partial plans expensive.
    std::size_t most_searched = 200'000'000;

    /// Throws std::invalid_argument for batches below 1, limits below 0, prices that are missing, negative
    /// or not finite, and a budget together with a reward.
    void validate(const ParallelCluster& cluster) const {
        require_between("question", "global_batch", global_batch, 1, 1 << 30);
        if (most_usd) require_at_least("question", "most_usd", *most_usd, 0);
        if (least_throughput) require_at_least("question", "least_throughput", *least_throughput, 0);
        require_at_least("question", "gap", gap, 0);
        if (objective != PlanObjective::reward) return;
        if (most_usd) bad_input("question", "most_usd", *most_usd, "left out where plans have a reward");
        require_at_least("question", "reward", reward, 0);
        if (!(power > 0 && power <= 1)) bad_input("question", "power", power, "above 0 and at most 1");
        if (price.size() != cluster.types.size())
            bad_input("question", "price", price.size(), "a list of one price for each GPU type");
        for (const double number : price) require_at_least("question", "price", number, 0);
    }
};

/// The meaning of an answer.
enum class PlanStatus {
    optimal,   ///< proven to within PlanQuestion::gap
    feasible,  ///< a plan, and at most how far it is from the best: the deadline or most_searched came, or
               ///< chains of stages remain open for which no plan was found
    none,      ///< no plan within the limits; `why` gives the reasons
    unknown    ///< the deadline or most_searched came before a plan was found
};

/// The best plan found, and what is proven.
struct PlanAnswer {
    PlanStatus status = PlanStatus::none;  ///< meaning of the answer
    ParallelPlan plan{};                   ///< has no stages if there is no plan
    PlanScore score{};                     ///< score of the plan
    double objective = 0;  ///< iterations/s, dollars per iteration, or the reward less the price
    double bound = 0;      ///< no plan has a larger objective (cost: a smaller one); infinite (cost: 0) if
                           ///< the search was stopped before anything was known
    std::vector<std::string> why{};  ///< status none: the reasons, one sentence each
    std::size_t searched = 0;        ///< partial plans examined

    /// Returns how far the objective may be from the best, relative to the larger of both; infinite without
    /// a plan.
    [[nodiscard]] double gap() const {
        if (plan.stages.empty()) return std::numeric_limits<double>::infinity();
        const double largest = std::max(std::abs(objective), std::abs(bound));
        if (!std::isfinite(largest)) return std::numeric_limits<double>::infinity();
        return largest > 0 ? std::abs(bound - objective) / largest : 0;
    }
};

}  // namespace goodput::inline v0_1

#endif
