#ifndef GOODPUT_TESTS_PARALLEL_PARALLEL_CLAIMS_HPP
#define GOODPUT_TESTS_PARALLEL_PARALLEL_CLAIMS_HPP

// Checks the claims of a planner's answer against all plans that exist.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "goodput/parallel/plan_question.hpp"
#include "parallel/parallel_random.hpp"
#include "parallel/parallel_reference.hpp"

namespace support {

inline constexpr double parallel_rounding = 1e-9;

/// Returns whether a plan is of a kind that the question allows and keeps its limits. A positive `slack`
/// widens the limits, a negative one narrows them.
inline bool keeps_limits(const goodput::PlanQuestion& question, const KnownPlan& plan, double slack) {
    return (question.mixed_stages || !plan.mixed) &&
           (!question.most_usd || plan.usd <= *question.most_usd * (1 + slack)) &&
           (!question.least_throughput || 1 / plan.seconds >= *question.least_throughput * (1 - slack));
}

/// Returns by how much `value` is better than `other`.
inline double advantage(const goodput::PlanQuestion& question, double value, double other) {
    return question.objective == goodput::PlanObjective::cost ? other - value : value - other;
}

/// Returns the best of the plans that keep the limits, or nullptr if none does.
inline const KnownPlan* best_plan(const goodput::PlanQuestion& question, const std::vector<KnownPlan>& plans,
                                  double slack) {
    const KnownPlan* best = nullptr;
    for (const KnownPlan& plan : plans)
        if (keeps_limits(question, plan, slack) &&
            (best == nullptr ||
             advantage(question, worth_of(question, plan).value, worth_of(question, *best).value) > 0))
            best = &plan;
    return best;
}

/// Returns a plan as one line of text.
inline std::string line_of(const goodput::ParallelPlan& plan) {
    std::ostringstream line;
    line << "micro-batch " << plan.microbatch;
    for (const goodput::PlanStage& stage : plan.stages) {
        line << "; layers " << stage.first_layer << '-' << stage.last_layer << " on";
        for (const goodput::ReplicaGroup& group : stage.replicas)
            line << ' ' << group.count << "x(type " << group.gpu_type << ", degree " << group.tensor_parallel
                 << ", zone " << group.zone << ')';
    }
    return line.str();
}

/// Checks the plan itself: it can be run, keeps the limits, and has the time and cost that the answer states.
inline std::vector<std::string> broken_plan_claims(const ParallelCase& asked,
                                                   const goodput::PlanQuestion& question,
                                                   const goodput::PlanAnswer& answer) {
    std::vector<std::string> broken;
    const auto claim = [&](bool holds, const char* words, double first = 0, double second = 0) {
        if (holds) return;
        std::ostringstream line;
        line.precision(17);
        line << "not so: " << words << " (" << first << ", " << second << "): " << line_of(answer.plan);
        broken.push_back(line.str());
    };
    const goodput::ParallelPlan& plan = answer.plan;
    claim(plan.global_batch == question.global_batch, "the batch is as it was asked");
    const bool valid = reference_valid(asked, plan);
    claim(valid, "the plan has no fault");
    if (!valid) return broken;
    const ReferenceScore score = reference_score(asked, plan);
    claim(score.fits, "every GPU holds its part");
    claim(std::isfinite(score.seconds), "everything is measured and can be sent");
    const auto same = [](double one, double other) {
        return std::abs(one - other) <= parallel_rounding * std::max(std::abs(one), std::abs(other));
    };
    claim(same(answer.score.iteration_seconds, score.seconds), "seconds are the reference's",
          answer.score.iteration_seconds, score.seconds);
    claim(same(answer.score.usd(), score.usd()), "dollars are the reference's", answer.score.usd(),
          score.usd());
    claim(answer.score.fits && !answer.score.fault, "its score says that it can be run");
    const KnownPlan known = known_as(0, score, reference_stages(plan), asked.cluster.types.size());
    claim(keeps_limits(question, known, parallel_rounding), "limits are kept", known.usd, 1 / known.seconds);
    const PlanWorth worth = worth_of(question, known);
    claim(std::abs(answer.objective - worth.value) <= parallel_rounding * worth.size,
          "the objective is the plan's", answer.objective, worth.value);
    return broken;
}

/// Plans that an answer is compared with.
struct Rivals {
    const std::vector<KnownPlan>& plans;
    bool all = true;  ///< whether `plans` are all plans that exist
    std::function<goodput::ParallelPlan(const KnownPlan&)> plan_of{};
};

inline Rivals all_rivals(const ParallelCase& asked, const AllParallelPlans& all) {
    return {all.plans(), true, [&asked](const KnownPlan& known) { return parallel_plan_of(asked, known); }};
}

/// Returns a sentence for each claim of an answer that is false.
inline std::vector<std::string> broken_claims(const ParallelCase& asked,
                                              const goodput::PlanQuestion& question,
                                              const goodput::PlanAnswer& answer, const Rivals& rivals) {
    using goodput::PlanStatus;
    const bool has_plan = !answer.plan.stages.empty();
    std::vector<std::string> broken;
    if (has_plan) broken = broken_plan_claims(asked, question, answer);
    const KnownPlan* const best = best_plan(question, rivals.plans, -parallel_rounding);
    const bool none = rivals.all && best_plan(question, rivals.plans, parallel_rounding) == nullptr;
    const auto claim = [&](bool holds, const char* words) {
        if (holds) return;
        std::ostringstream line;
        line.precision(17);
        line << "not so: " << words << " (objective " << answer.objective << ", bound " << answer.bound
             << ", status " << static_cast<int>(answer.status);
        if (best != nullptr)
            line << ", best " << worth_of(question, *best).value << ": " << line_of(rivals.plan_of(*best));
        line << ')';
        if (has_plan) line << "; answered " << line_of(answer.plan);
        broken.push_back(line.str());
    };
    claim(has_plan == (answer.status == PlanStatus::optimal || answer.status == PlanStatus::feasible),
          "there is a plan where the status says so");
    claim(!std::isnan(answer.bound), "the bound is a number");
    if (none) claim(!has_plan, "no plan is found where there is none");
    if (answer.status == PlanStatus::none) {
        claim(best == nullptr, "there is no plan where it says so");
        claim(!answer.why.empty() && !answer.why.front().empty(), "it says why there is none");
        return broken;
    }
    if (best == nullptr) return broken;
    const PlanWorth worth = worth_of(question, *best);
    claim(advantage(question, worth.value, answer.bound) <= parallel_rounding * worth.size,
          "no plan is beyond the bound");
    if (answer.status == PlanStatus::optimal) {
        const double allowed = question.gap * std::max(std::abs(answer.objective), std::abs(worth.value)) +
                               2 * parallel_rounding * worth.size;
        claim(advantage(question, worth.value, answer.objective) <= allowed, "what is proven is the best");
        claim(std::abs(answer.bound - answer.objective) <=
                  question.gap * std::max(std::abs(answer.objective), std::abs(answer.bound)) +
                      2 * parallel_rounding * worth.size,
              "the bound is as near as was asked");
    }
    return broken;
}

/// Returns plans near the answer's and some random ones, for cases with too many plans to list. The
/// `number` of each is its index in `drawn`.
template <class Source>
std::vector<KnownPlan> nearby_plans(Source& random, const ParallelCase& asked,
                                    const goodput::PlanAnswer& answer, int wanted,
                                    std::vector<goodput::ParallelPlan>& drawn) {
    std::vector<KnownPlan> plans;
    if (!answer.plan.stages.empty()) drawn.push_back(answer.plan);
    for (int n = 0; n < wanted; ++n) {
        const goodput::ParallelPlan plan =
            drawn.empty() || random.chance(0.05)
                ? random_parallel_plan(random, asked, 4)
                : random_neighbour(
                      random, asked,
                      drawn[static_cast<std::size_t>(random.integer(0, static_cast<int>(drawn.size()) - 1))]);
        std::optional<KnownPlan> known = known_plan(asked, plan);
        if (!known) continue;
        known->number = drawn.size();
        drawn.push_back(plan);
        plans.push_back(std::move(*known));
    }
    return plans;
}

/// Joins the lines of a message, one per line of text.
inline std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += "\n" + line;
    return text;
}

}  // namespace support

#endif
