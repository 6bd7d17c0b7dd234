#ifndef GOODPUT_DEADLINES_PROMISES_ENGINE_HPP
#define GOODPUT_DEADLINES_PROMISES_ENGINE_HPP

// What gives and keeps promises in rounds, from the joints of parts: compiled once for all types of parts.
// How it does so is in detail/promises_round.hpp.

#include <array>
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

namespace goodput {

namespace detail {
class PromisesRound;
}

/// How promises are given and kept in rounds.
struct PromisedRoundOptions {
    double round_seconds = 60;  ///< until the next round, above 0: plans change GPUs at whole rounds
    /// Rounds before its deadline at which a job is planned to end, at least 0: rounds may be late.
    double reserve_rounds = 1;
    AskingOrder order = AskingOrder::first_come;  ///< of newcomers
    PromiseMargins margins{};                     ///< what promises count on
};

/// Two jobs that hold the same GPUs now.
struct SharingJobs {
    std::array<std::size_t, 2> jobs{};  ///< indices into Snapshot::jobs
    std::array<double, 2> parts{1, 1};  ///< of each one's speed alone, that it has beside the other
};

/// Plans a round: RoundEngine::plan(), or what plans rounds with pairs. `alone`: jobs that are to share their
/// GPUs with nobody.
using RoundPlanner =
    std::function<const Plan&(const Snapshot& snapshot, const Joints& joints, const AllotOptions& options,
                              std::span<const std::size_t> alone, const AfterStep& step)>;

/// What a plan with promises is put together of.
struct PromisedParts {
    Joints joints{};                     ///< of the round
    AllotOptions options{};              ///< gap of the allotment, and deadline of all
    PredictorJoint predictor{};          ///< what promises count on
    RoundPlanner plan{};                 ///< what plans the round
    std::vector<SharingJobs> sharing{};  ///< who holds GPUs together now
};

/// Gives promises, and plans rounds that keep them. Remembers them from round to round.
class PromisesEngine {
public:
    /// Refuses a round that is not above 0 seconds, a reserve below 0, and margins outside their ranges
    /// (std::invalid_argument).
    explicit PromisesEngine(const PromisedRoundOptions& options = {});
    /// What it remembers of promises moves with it.
    PromisesEngine(PromisesEngine&&) noexcept;
    /// See the constructor.
    PromisesEngine& operator=(PromisesEngine&&) noexcept;
    ~PromisesEngine();

    /// How long it is from one round to the next, above 0 (std::invalid_argument).
    void set_round_seconds(double seconds);
    /// When nodes are announced to be there, by node of the next snapshots; empty: all the time. A node that
    /// is to come, or has gone, has to be drained in the snapshot.
    void set_node_times(std::vector<NodeTimes> times);
    /// The plan for a snapshot in which these jobs have deadlines; valid until the next call. What becomes of
    /// the deadlines is in answers(). A promise ends when its job is not in the snapshot any more (a
    /// job of the same name that was submitted at another time is another job), or is there without a
    /// deadline and is not set aside. A deadline that is not finite, of an unknown job, or the second one of
    /// a job is refused, as are node times of another number of nodes, and what Scheduler::plan() refuses
    /// (std::invalid_argument). `step(PlanStep)` is called after each step of the scheduler, and
    /// after_promises() after each step in between.
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines,
                     const PromisedParts& parts, const AfterStep& step);
    /// What to call after each step that is about promises.
    void after_promises(std::function<void()> call);
    /// In the last plan promised jobs had to have what their plans say, because not all promises would have
    /// been kept after a round of what the policy wanted.
    [[nodiscard]] bool enforced() const;
    /// Of the last plan, by deadline. Times are on the clock of the snapshot.
    [[nodiscard]] const std::vector<PromiseAnswer>& answers() const;
    /// What would have to change so that a deadline that was refused or is broken in the last plan could be
    /// kept beside all promises, in words; empty where nothing was found. Takes some ten times as long as to
    /// find out that it is refused.
    [[nodiscard]] std::string what_would_help(std::size_t deadline) const;
    /// Adds to explanations of planned() what jobs were promised.
    void add_notes(std::vector<DecisionExplanation>& all) const;
    /// The snapshot that was planned last: that which was given, and what promises ask of it.
    [[nodiscard]] const Snapshot& planned() const;
    /// The promises that are kept.
    [[nodiscard]] Promises& promises();

private:
    std::unique_ptr<detail::PromisesRound> round_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/deadlines/detail/promises_round.hpp"
#endif

#endif
