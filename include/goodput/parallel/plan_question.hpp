#ifndef GOODPUT_PARALLEL_PLAN_QUESTION_HPP
#define GOODPUT_PARALLEL_PLAN_QUESTION_HPP

// What is asked of a planner, and what it answers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/plan_score.hpp"

namespace goodput {

/// What a plan is to be best at.
enum class PlanObjective {
    throughput,  ///< most iterations a second
    cost,        ///< fewest dollars an iteration
    reward       ///< most PlanQuestion::reward * (iterations/s)^power - price of its GPUs
};

/// Which plan is wanted.
struct PlanQuestion {
    int global_batch = 1;  ///< samples an iteration; the planner never changes it
    PlanObjective objective = PlanObjective::throughput;  ///< what the plan is to be best at
    std::optional<double> most_usd{};          ///< dollars an iteration, GPUs and traffic; at least 0
    std::optional<double> least_throughput{};  ///< iterations a second; at least 0
    double reward = 0;                         ///< PlanObjective::reward: for one iteration a second
    double power = 1;  ///< PlanObjective::reward: twice as many are worth 2^power times it; in (0, 1]
    std::vector<double>
        price{};  ///< PlanObjective::reward: of one GPU, by type, at least 0, unit of the reward

    /// Whether replicas of one stage may be of several GPU types and degrees. Such plans gain a few per cent
    /// on some small clusters and nothing on most, and to rule them out takes far longer; without it, the
    /// bound is on plans whose stages are each of one type and degree, in any zones.
    bool mixed_stages = false;
    double gap = 0;  ///< ends when the objective is proven to within this part of it
    /// Plans to begin with, such as answers to earlier questions. Those that are none here are passed over.
    std::vector<ParallelPlan> known{};
    /// Ends after so many partial plans, too, so that a question without a deadline ends: after ten
    /// seconds, or minutes where many zones make them dear.
    std::size_t most_searched = 200'000'000;

    /// Refuses batches below 1, limits below 0, prices that are missing, negative or not finite,
    /// and a budget together with a reward (std::invalid_argument).
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

/// How an answer is to be read.
enum class PlanStatus {
    optimal,   ///< proven to within PlanQuestion::gap
    feasible,  ///< a plan, and how far from the best it is at most: the deadline or most_searched came, or
               ///< chains of stages stay open that no plan was found for
    none,      ///< no plan within the limits: `why` says what stands in the way
    unknown    ///< the deadline or most_searched came before a plan was found
};

/// The best plan found, and what is proven.
struct PlanAnswer {
    PlanStatus status = PlanStatus::none;  ///< how the answer is to be read
    ParallelPlan plan{};                   ///< no stages: none
    PlanScore score{};                     ///< of that plan
    double objective = 0;  ///< iterations/s, dollars an iteration, or the reward less the price
    double bound = 0;      ///< no plan has a larger one (cost: a smaller one); infinite (cost: 0) where the
                           ///< search was told to stop before anything was known
    std::vector<std::string> why{};  ///< status none: what stands in the way, a sentence each
    std::size_t searched = 0;        ///< partial plans looked at

    /// How far the objective may be from the best, relative to the larger of both; infinite without a plan.
    [[nodiscard]] double gap() const {
        if (plan.stages.empty()) return std::numeric_limits<double>::infinity();
        const double largest = std::max(std::abs(objective), std::abs(bound));
        if (!std::isfinite(largest)) return std::numeric_limits<double>::infinity();
        return largest > 0 ? std::abs(bound - objective) / largest : 0;
    }
};

}  // namespace goodput

#endif
