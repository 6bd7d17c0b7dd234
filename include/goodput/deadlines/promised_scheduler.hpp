#ifndef GOODPUT_DEADLINES_PROMISED_SCHEDULER_HPP
#define GOODPUT_DEADLINES_PROMISED_SCHEDULER_HPP

// Rounds in which jobs may have deadlines: combines a Scheduler's parts with an engine that gives and keeps
// promises (promises_engine.hpp).

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/deadlines/promises_engine.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace goodput::inline v0_1 {

/// A scheduler that also gives and keeps promises. `S` is a Scheduler, and `Predictor` predicts the goodput
/// that promises count on.
template <class S, OptionPredictor Predictor = GoodputPredictor>
class PromisedScheduler {
public:
    /// Adds promises to this scheduler. Throws std::invalid_argument for a round that is not above 0
    /// seconds, a negative reserve, and margins outside their ranges.
    explicit PromisedScheduler(S scheduler, const PromisedRoundOptions& options = {},
                               Predictor predictor = Predictor())
        : scheduler_(std::move(scheduler)), predictor_(std::move(predictor)), promises_(options) {}

    /// Sets the time from one round to the next, above 0. Throws std::invalid_argument otherwise.
    void set_round_seconds(double seconds) { promises_.set_round_seconds(seconds); }
    /// Sets the times at which nodes are announced to exist, by node of the next snapshots. Empty means all
    /// the time. A node that is not there yet, or has gone, must be drained in the snapshot.
    void set_node_times(std::vector<NodeTimes> times) { promises_.set_node_times(std::move(times)); }

    /// Plans a snapshot in which these jobs have deadlines. The plan is valid until the next call, and
    /// answers() says what becomes of each deadline. A promise ends when its job is no longer in the
    /// snapshot, or is there without a deadline and is not set aside (as invalid). A job of the same name
    /// that was submitted at another time is a different job. Throws std::invalid_argument for a deadline
    /// that is not finite, a deadline of an unknown job, a job's second deadline, a wrong number of node
    /// times, and whatever Scheduler::plan() rejects. `step(PlanStep)` is called after each step of the
    /// scheduler.
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines, const AfterStep& step) & {
        return promises_.plan(
            snapshot, deadlines,
            {scheduler_.joints(), scheduler_.options(), predictor_joint(predictor_),
             [this](const Snapshot& asked, const Joints& joints, const AllotOptions& options,
                    std::span<const std::size_t>, const AfterStep& after) -> const Plan& {
                 return engine_.plan(asked, joints, options, after);
             }},
            step);
    }
    /// Plans in the same way, without a call after each step.
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines) & {
        return plan(snapshot, deadlines, [](PlanStep) {});
    }
    /// Plans in the same way with a temporary scheduler, and returns the plan by value.
    Plan plan(const Snapshot& snapshot, std::span<const Deadline> deadlines) && {
        return plan(snapshot, deadlines);
    }

    /// Returns whether the last plan forced promised jobs to get what their plans say. That happens if a
    /// promise could no longer be kept after a round in which jobs get what the policy wants.
    [[nodiscard]] bool enforced() const { return promises_.enforced(); }
    /// Returns the answers of the last plan, by deadline. Times are on the clock of the snapshot.
    [[nodiscard]] const std::vector<PromiseAnswer>& answers() const { return promises_.answers(); }
    /// Describes in words what would have to change so that a deadline refused or broken in the last plan
    /// could be met together with all promises. Returns an empty text if nothing was found. This takes
    /// about ten times as long as the refusal.
    [[nodiscard]] std::string what_would_help(std::size_t deadline) const {
        return promises_.what_would_help(deadline);
    }
    /// Explains why each job of the last plan has what it has (schedule/explain_plan.hpp), and what it was
    /// promised.
    [[nodiscard]] std::vector<DecisionExplanation> explain() const {
        std::vector<DecisionExplanation> all =
            engine_.explain(promises_.planned(), policy_joint(scheduler_.policy()),
                            [&](const GivenOption& given) { return scheduler_.factor().notes(given); });
        promises_.add_notes(all);
        return all;
    }

    /// Returns the scheduler whose parts are used, so that they can be updated between plans. Make no plans
    /// with it.
    [[nodiscard]] S& scheduler() { return scheduler_; }
    /// Returns the promises in force.
    [[nodiscard]] Promises& promises() { return promises_.promises(); }

private:
    S scheduler_;
    Predictor predictor_;
    PromisesEngine promises_;
    RoundEngine engine_;
};

}  // namespace goodput::inline v0_1

#endif
