#ifndef GOODPUT_EXAMPLES_CLI_PLAN_DEADLINES_HPP
#define GOODPUT_EXAMPLES_CLI_PLAN_DEADLINES_HPP

// Lines of `goodput plan` in which jobs have deadlines: the same parts within goodput::PromisedScheduler,
// compiled once for all policies.

#include <functional>
#include <memory>
#include <vector>

#include "any_policy.hpp"
#include "goodput/schedule/decision_explanation.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "json_fields.hpp"
#include "plan_models.hpp"
#include "round.hpp"

namespace cli {

/// Plans such lines, and remembers the promises of the lines before.
class PromisedLines {
public:
    PromisedLines(AnyPolicy<false> policy, PlanModels models);

    /// The plan of a line whose jobs have their models; valid until the next call.
    /// `after_promises` is called after each step that is about promises, `step` after the others.
    const goodput::Plan& plan(const Round& round, const std::function<void(goodput::PlanStep)>& step,
                              std::function<void()> after_promises);
    /// Ends promises whose jobs are not in a line any more; returns whether any job of it has a promise.
    bool keep_only(const Round& round);
    /// Adds to the jobs of an answer to the last line what becomes of their deadlines. What would help is
    /// looked for when a job is first refused, or always.
    void add_promises(const Round& round, bool always, Json& jobs);
    /// Of the last plan.
    [[nodiscard]] std::vector<goodput::DecisionExplanation> explain() const;

private:
    struct Inside;
    std::shared_ptr<Inside> inside_;
};

}  // namespace cli

#endif
