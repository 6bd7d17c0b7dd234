#ifndef GOODPUT_DEADLINES_PROMISED_SCHEDULER_HPP
#define GOODPUT_DEADLINES_PROMISED_SCHEDULER_HPP

// Rounds in which jobs may have deadlines: a Scheduler's parts before an engine that gives and keeps promises
// (promises_engine.hpp).

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

namespace goodput {

/// A scheduler around which promises are given and kept. `S`: a Scheduler; `Predictor`: what promises count
/// on.
template <class S, OptionPredictor Predictor = GoodputPredictor>
class PromisedScheduler {
public:
    /// Around this scheduler. Refuses a round that is not above 0 seconds, a reserve below 0, and margins
    /// outside their ranges (std::invalid_argument).
    explicit PromisedScheduler(S scheduler, const PromisedRoundOptions& options = {},
                               Predictor predictor = Predictor())
        : scheduler_(std::move(scheduler)), predictor_(std::move(predictor)), promises_(options) {}

    /// How long it is from one round to the next, above 0 (std::invalid_argument).
    void set_round_seconds(double seconds) { promises_.set_round_seconds(seconds); }
    /// When nodes are announced to be there, by node of the next snapshots; empty: all the time. A node that
    /// is to come, or has gone, has to be drained in the snapshot.
    void set_node_times(std::vector<NodeTimes> times) { promises_.set_node_times(std::move(times)); }

    /// The plan for a snapshot in which these jobs have deadlines; valid until the next call. What becomes of
    /// the deadlines is in answers(). A promise ends when its job is not in the snapshot any more (a
    /// job of the same name that was submitted at another time is another job), or is there without a
    /// deadline and is not set aside. A deadline that is not finite, of an unknown job, or the second one of
    /// a job is refused, as are node times of another number of nodes, and what Scheduler::plan() refuses
    /// (std::invalid_argument). `step(PlanStep)` is called after each step of the scheduler, and
    /// after_promises() after each step in between.
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines, const AfterStep& step) & {
        return promises_.plan(
            snapshot, deadlines,
            {scheduler_.joints(),
             scheduler_.options(),
             predictor_joint(predictor_),
             [this](const Snapshot& asked, const Joints& joints, const AllotOptions& options,
                    std::span<const std::size_t>, const AfterStep& after) -> const Plan& {
                 return engine_.plan(asked, joints, options, after);
             },
             {}},
            step);
    }
    /// The same without a call after each step.
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines) & {
        return plan(snapshot, deadlines, [](PlanStep) {});
    }
    /// The same of a scheduler that is gone afterwards: the plan is the caller's.
    Plan plan(const Snapshot& snapshot, std::span<const Deadline> deadlines) && {
        return plan(snapshot, deadlines);
    }
    /// What to call after each step that is about promises.
    void after_promises(std::function<void()> call) { promises_.after_promises(std::move(call)); }

    /// In the last plan promised jobs had to have what their plans say, because not all promises would have
    /// been kept after a round of what the policy wanted.
    [[nodiscard]] bool enforced() const { return promises_.enforced(); }
    /// Of the last plan, by deadline. Times are on the clock of the snapshot.
    [[nodiscard]] const std::vector<PromiseAnswer>& answers() const { return promises_.answers(); }
    /// What would have to change so that a deadline that was refused or is broken in the last plan could be
    /// kept beside all promises, in words; empty where nothing was found. Takes some ten times as long as to
    /// find out that it is refused.
    [[nodiscard]] std::string what_would_help(std::size_t deadline) const {
        return promises_.what_would_help(deadline);
    }
    /// Why every job of the last plan has what it has (schedule/explain_plan.hpp), and what it was promised.
    [[nodiscard]] std::vector<DecisionExplanation> explain() const {
        std::vector<DecisionExplanation> all =
            engine_.explain(promises_.planned(), policy_joint(scheduler_.policy()),
                            [&](const GivenOption& given) { return scheduler_.factor().notes(given); });
        promises_.add_notes(all);
        return all;
    }

    /// The parts, for what they may be told between two plans. It makes no plans itself.
    [[nodiscard]] S& scheduler() { return scheduler_; }
    /// The promises that are kept.
    [[nodiscard]] Promises& promises() { return promises_.promises(); }

private:
    S scheduler_;
    Predictor predictor_;
    PromisesEngine promises_;
    RoundEngine engine_;
};

}  // namespace goodput

#endif
