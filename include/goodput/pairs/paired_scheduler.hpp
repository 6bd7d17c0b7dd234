#ifndef GOODPUT_PAIRS_PAIRED_SCHEDULER_HPP
#define GOODPUT_PAIRS_PAIRED_SCHEDULER_HPP

// Rounds in which two jobs may hold the same GPUs at the same time (space sharing; for shares of time see
// share_pairs.hpp). PairedScheduler has the parts of a Scheduler, and an engine that knows pairs
// (pairs_engine.hpp).

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/pairs/job_pair.hpp"
#include "goodput/pairs/pairs_engine.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace goodput::inline v0_1 {

/// Plans rounds of jobs and pairs of jobs with the parts of a Scheduler. Round::jobs lists the snapshot's
/// jobs, then one entry per pair. Parts must not treat a pair's entry as a job.
///
/// A new pair needs two jobs that can be moved, are not jobs of many tasks, declare no cores and memory
/// (Job::host), and need not lie within different domains of the topology (Job::within). It gets GPUs of
/// one pool. A policy that decides what each job gets (a queue: policy/queue.hpp) makes no pairs.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor, class LimitPack = Limits<>, class Maker = ListedShapes,
          class Factor = Factors<>, class Station = NoNodeStation>
class PairedScheduler {
    static_assert(ListsAllOptions<Maker>,
                  "PairedScheduler: this maker answers at prices, but pairs are of options that are listed");

public:
    /// The parts, each by its name.
    using Parts = SchedulerParts<P, NodePlacer, Solver, Predictor, LimitPack, Maker, Factor, Station>;

    /// A scheduler of these parts.
    explicit PairedScheduler(Parts parts = {}) : parts_(std::move(parts)) {
        if constexpr (requires { parts_.policy.validate(); }) parts_.policy.validate();
    }

    /// Returns the plan for a snapshot in which each of these pairs may hold GPUs together; valid until the
    /// next call. It has a decision for each of the snapshot's jobs. Two jobs that share GPUs have the same
    /// placement, name each other (Decision::shares_with), have the goodput that they have together, and
    /// their verdicts say so. Without pairs the plan is that of the Scheduler. Refuses the same input as
    /// the Scheduler. A pair is left out and named (Plan::warnings) if it makes no sense
    /// (pairs/job_pair.hpp), repeats the jobs of another pair, or is together while one of its jobs is
    /// together with a third; if the snapshot is strict, such a pair is refused. `step(PlanStep)` is called
    /// after each step of all passes.
    const Plan& plan(const Snapshot& snapshot, std::span<const JobPair> pairs, const AfterStep& step) & {
        return engine_.plan(snapshot, pairs, joints_of(parts_), parts_.options, step);
    }
    /// The same without a call after each step.
    const Plan& plan(const Snapshot& snapshot, std::span<const JobPair> pairs) & {
        return plan(snapshot, pairs, [](PlanStep) {});
    }
    /// The same for a temporary scheduler: the caller owns the plan.
    Plan plan(const Snapshot& snapshot, std::span<const JobPair> pairs) && { return plan(snapshot, pairs); }

    /// Explains why every job of the last plan has what it has (schedule/explain_plan.hpp). For two jobs
    /// that share GPUs, the numbers are those of the pair.
    [[nodiscard]] std::vector<DecisionExplanation> explain() const {
        return engine_.explain(policy_joint(parts_.policy),
                               [&](const GivenOption& given) { return parts_.factor.notes(given); });
    }

    /// The last plan.
    [[nodiscard]] const Plan& last_plan() const { return engine_.last_plan(); }
    /// The placer, whose settings may be changed between two plans.
    [[nodiscard]] NodePlacer& placer() { return parts_.placer; }
    /// Gap and deadline of the next plans' allotments. The deadline is for all passes of a plan together.
    [[nodiscard]] AllotOptions& options() { return parts_.options; }
    /// The limits, to be replaced between two plans.
    [[nodiscard]] LimitPack& limits() { return parts_.limits; }
    /// The policy, with its settings.
    [[nodiscard]] const P& policy() const { return parts_.policy; }

private:
    Parts parts_;
    PairsEngine engine_;
};

}  // namespace goodput::inline v0_1

#endif
