#ifndef GOODPUT_EXAMPLES_CLI_PLAN_PAIRS_HPP
#define GOODPUT_EXAMPLES_CLI_PLAN_PAIRS_HPP

// Lines of `goodput plan` in which jobs may share GPUs: the same parts around goodput::PairedScheduler,
// compiled once for all policies.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "any_policy.hpp"
#include "goodput/schedule/decision_explanation.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "plan_models.hpp"
#include "round.hpp"

namespace cli {

/// Plans such lines.
class PairedRounds {
public:
    PairedRounds(AnyPolicy<false> policy, PlanModels models);

    /// The plan of a line whose jobs have their models; valid until the next call. Rates of jobs whose speed
    /// alone is not known are named among the warnings.
    const goodput::Plan& plan(Round& round, const std::function<void(goodput::PlanStep)>& step);
    /// Of the last plan: the speed of a job that shares its GPUs, as a part of its speed alone.
    [[nodiscard]] double part_of(std::size_t job) const;
    /// Of the last plan.
    [[nodiscard]] std::vector<goodput::DecisionExplanation> explain() const;

private:
    struct Inside;
    std::shared_ptr<Inside> inside_;
};

}  // namespace cli

#endif
