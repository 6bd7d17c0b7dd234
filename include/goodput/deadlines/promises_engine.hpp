#ifndef GOODPUT_DEADLINES_PROMISES_ENGINE_HPP
#define GOODPUT_DEADLINES_PROMISES_ENGINE_HPP

// Gives and keeps promises in rounds. A joint (schedule/joints.hpp) is a part of a scheduler, such as its
// policy, in a form that does not depend on the part's type. The engine calls parts through joints, so it
// is compiled once for all types of parts. detail/promises_round.hpp implements it.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/deadlines/promises.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

namespace detail {
class PromisesRound;
}

/// Options for giving and keeping promises in rounds.
struct PromisedRoundOptions {
    double round_seconds = 60;  ///< time until the next round, above 0; plans change GPUs at whole rounds
    /// How many rounds before its deadline a job is planned to end, at least 0, because rounds may be late.
    double reserve_rounds = 1;
    AskingOrder order = AskingOrder::first_come;  ///< order in which newcomers ask
    PromiseMargins margins{};                     ///< margins of promises
};

/// Plans a round: RoundEngine::plan(), or a function that plans rounds with pairs. The jobs in `alone` must
/// share their GPUs with no other job.
using RoundPlanner =
    std::function<const Plan&(const Snapshot& snapshot, const Joints& joints, const AllotOptions& options,
                              std::span<const std::size_t> alone, const AfterStep& step)>;

/// The parts of a plan with promises.
struct PromisedParts {
    /// Joints of the round. A maker that answers at prices is only asked for its lists.
    Joints joints{};
    AllotOptions options{};                        ///< gap of the allotment, and deadline of the whole plan
    PredictorJoint predictor{};                    ///< predictor of the goodput that promises count on
    RoundPlanner plan{};                           ///< function that plans the round
    std::vector<SharingJobs> sharing{};            ///< pairs of jobs that share GPUs now
    std::function<void()> after_promises = [] {};  ///< called after each step that concerns promises
};

/// Gives promises, and plans rounds that keep them. Remembers the promises from round to round.
class PromisesEngine {
public:
    /// Throws std::invalid_argument for a round that is not above 0 seconds, a negative reserve, and
    /// margins outside their ranges.
    explicit PromisesEngine(const PromisedRoundOptions& options = {});
    /// Moves the remembered promises too.
    PromisesEngine(PromisesEngine&&) noexcept;
    /// Moves the remembered promises too.
    PromisesEngine& operator=(PromisesEngine&&) noexcept;
    ~PromisesEngine();

    /// Sets the time from one round to the next, above 0. Throws std::invalid_argument otherwise.
    void set_round_seconds(double seconds);
    /// Sets the times at which nodes are announced to exist, by node of the next snapshots. Empty means all
    /// the time. A node that is not there yet, or has gone, must be drained in the snapshot.
    void set_node_times(std::vector<NodeTimes> times);
    /// Plans a snapshot in which these jobs have deadlines. The plan is valid until the next call, and
    /// answers() says what becomes of each deadline. A promise ends when its job is no longer in the
    /// snapshot, or is there without a deadline and is not set aside (as invalid). A job of the same name
    /// that was submitted at another time is a different job. Throws std::invalid_argument for a deadline
    /// that is not finite, a deadline of an unknown job, a job's second deadline, a wrong number of node
    /// times, and whatever Scheduler::plan() rejects. `step(PlanStep)` is called after each step of the
    /// scheduler.
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines,
                     const PromisedParts& parts, const AfterStep& step);
    /// Returns whether the last plan forced promised jobs to get what their plans say. That happens if a
    /// promise could no longer be kept after a round in which jobs get what the policy wants.
    [[nodiscard]] bool enforced() const;
    /// Returns the answers of the last plan, by deadline. Times are on the clock of the snapshot.
    [[nodiscard]] const std::vector<PromiseAnswer>& answers() const;
    /// Describes in words what would have to change so that a deadline refused or broken in the last plan
    /// could be met together with all promises. Returns an empty text if nothing was found. This takes
    /// about ten times as long as the refusal.
    [[nodiscard]] std::string what_would_help(std::size_t deadline) const;
    /// Adds what jobs were promised to explanations of planned().
    void add_notes(std::vector<DecisionExplanation>& all) const;
    /// Returns the snapshot that was planned last: the one passed in, with what promises require of it.
    [[nodiscard]] const Snapshot& planned() const;
    /// Returns the promises in force.
    [[nodiscard]] Promises& promises();

private:
    std::unique_ptr<detail::PromisesRound> round_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/deadlines/detail/promises_round.hpp"
#endif

#endif
