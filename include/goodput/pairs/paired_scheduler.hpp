#ifndef GOODPUT_PAIRS_PAIRED_SCHEDULER_HPP
#define GOODPUT_PAIRS_PAIRED_SCHEDULER_HPP

// Rounds in which two jobs may hold the same GPUs at the same time (space sharing; for shares of time see
// pairs.hpp): a Scheduler's parts before an engine that knows pairs (pairs_engine.hpp).

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/pairs/job_pair.hpp"
#include "goodput/pairs/pairs_engine.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace goodput::inline v0_1 {

/// Plans rounds of jobs and pairs of jobs, put together of the parts of a Scheduler. Parts must not take a
/// job of Round::jobs behind those of the snapshot for one of their own: it is a pair.
///
/// New pairs are made of two jobs that can be moved, are no job of many tasks, say nothing of the cores and
/// the memory that they need (Job::host) and are not to lie within different levels of the topology; on GPUs
/// of one pool. A policy that says for each job what it gets (a queue: policy/queue.hpp) makes no pairs.
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

    /// The plan for a snapshot, in which each of these pairs may hold GPUs together; valid until the next
    /// call. Decisions are those of the snapshot's jobs: two that share GPUs have the same placement, name
    /// one another (Decision::shares_with), have the goodput that they have together, and in their verdict a
    /// sentence that says so. Without pairs the plan is that of the Scheduler. Refuses what that does; a pair
    /// that makes no sense (pairs/job_pair.hpp), the second one of the same two jobs, and one that is
    /// together while one of its jobs is so with another is left out and named (Plan::warnings), or refused
    /// where the snapshot is strict. `step(PlanStep)` is called after each step, of all passes.
    const Plan& plan(const Snapshot& snapshot, std::span<const JobPair> pairs, const AfterStep& step) & {
        return engine_.plan(snapshot, pairs, joints_of(parts_), parts_.options, step);
    }
    /// The same without a call after each step.
    const Plan& plan(const Snapshot& snapshot, std::span<const JobPair> pairs) & {
        return plan(snapshot, pairs, [](PlanStep) {});
    }
    /// The same of a scheduler that is gone afterwards: the plan is the caller's.
    Plan plan(const Snapshot& snapshot, std::span<const JobPair> pairs) && { return plan(snapshot, pairs); }

    /// Why every job of the last plan has what it has (schedule/explain_plan.hpp). Of two that share GPUs the
    /// numbers are those of the pair.
    [[nodiscard]] std::vector<DecisionExplanation> explain() const {
        return engine_.explain(policy_joint(parts_.policy),
                               [&](const GivenOption& given) { return parts_.factor.notes(given); });
    }

    /// The last plan.
    [[nodiscard]] const Plan& last_plan() const { return engine_.last_plan(); }
    /// The placer, for what it may be told between two plans.
    [[nodiscard]] NodePlacer& placer() { return parts_.placer; }
    /// Gap and deadline of the next plans' allotments, deadline of all passes of a plan together.
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
