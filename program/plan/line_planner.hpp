#ifndef GOODPUT_PROGRAM_PLAN_LINE_PLANNER_HPP
#define GOODPUT_PROGRAM_PLAN_LINE_PLANNER_HPP

// Plans the lines of `goodput plan`: jobs with their cores and memory, in pairs if they may share GPUs, and
// with promises if they have deadlines. Compiled once for all policies.

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
    double gap;  ///< gap that the solver was to prove
};

/// Plans lines one after the other, and remembers the promises of earlier lines.
class LinePlanner {
public:
    /// The caller keeps the policy alive and in place.
    LinePlanner(const goodput::PolicyJoint& policy, const PlanModels& models);
    LinePlanner(LinePlanner&&) noexcept;
    LinePlanner& operator=(LinePlanner&&) noexcept;
    ~LinePlanner();

    /// Plans a line whose jobs have their models. The plan is valid until the next call. Rates of jobs
    /// whose own speed is unknown are named among the warnings. `after_promises` is called after each step
    /// that concerns promises, `step` after the others.
    const goodput::Plan& plan(Round& round, const goodput::AfterStep& step,
                              const std::function<void()>& after_promises);
    /// Sets whether the allotments of lines are kept from now on.
    void keep_allotment(bool keep);
    /// Returns the allotment of the last line before anything was placed, whose bound is the plan's. Null
    /// if none is kept.
    [[nodiscard]] const Allotment* kept_allotment() const;
    /// Whether the last line had deadlines, or one of its jobs has a promise.
    [[nodiscard]] bool has_promises() const;
    /// Adds the state of their deadlines to the jobs of an answer to the last line. Looks for what would
    /// help when a job is first refused, or always.
    void add_promises(const Round& round, bool always, Json& jobs);
    /// Adds the pairs of the last line whose speeds were estimated to an answer, if there are any.
    void add_pairs(const Round& round, Json& answer) const;
    /// Explains the decision for every job of the last line.
    [[nodiscard]] std::vector<goodput::DecisionExplanation> explain(const Round& round) const;

private:
    struct Inside;
    std::unique_ptr<Inside> inside_;
};

}  // namespace cli

#endif
