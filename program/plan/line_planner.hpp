#ifndef GOODPUT_PROGRAM_PLAN_LINE_PLANNER_HPP
#define GOODPUT_PROGRAM_PLAN_LINE_PLANNER_HPP

// What plans the lines of `goodput plan`: jobs with their cores and memory, in pairs where they may share
// GPUs, and with promises where they have deadlines. Compiled once for all policies.

#include <functional>
#include <memory>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "json/json_fields.hpp"
#include "plan/plan_models.hpp"
#include "plan/round.hpp"

namespace cli {

/// What a solver was asked, and its answer.
struct Allotment {
    goodput::AllotmentProblem problem;
    goodput::AllotResult result;
    double gap;  ///< that the solver was to prove
};

/// Plans lines one after the other, and remembers the promises of those before.
class LinePlanner {
public:
    /// The policy has to stay where it is.
    LinePlanner(const goodput::PolicyJoint& policy, const PlanModels& models);
    LinePlanner(LinePlanner&&) noexcept;
    LinePlanner& operator=(LinePlanner&&) noexcept;
    ~LinePlanner();

    /// The plan of a line whose jobs have their models; valid until the next call. Rates of jobs whose speed
    /// alone is not known are named among the warnings. `after_promises` is called after each step that is
    /// about promises, `step` after the others.
    const goodput::Plan& plan(Round& round, const goodput::AfterStep& step,
                              const std::function<void()>& after_promises);
    /// Whether the allotments of lines are kept from now on.
    void keep_allotment(bool keep);
    /// The allotment of the last line before anything was placed, whose bound is the plan's; null if none is
    /// kept.
    [[nodiscard]] const Allotment* kept_allotment() const;
    /// The last line had deadlines, or a job of it has a promise.
    [[nodiscard]] bool has_promises() const;
    /// Adds to the jobs of an answer to the last line what becomes of their deadlines. What would help is
    /// looked for when a job is first refused, or always.
    void add_promises(const Round& round, bool always, Json& jobs);
    /// Why every job of the last line has what it has.
    [[nodiscard]] std::vector<goodput::DecisionExplanation> explain(const Round& round) const;

private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace cli

#endif
