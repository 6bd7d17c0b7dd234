#ifndef GOODPUT_PAIRS_PAIRS_ENGINE_HPP
#define GOODPUT_PAIRS_PAIRS_ENGINE_HPP

// The engine that plans rounds of jobs and pairs. It knows the parts of a scheduler only by their joints
// (joints.hpp), so it is compiled once for all types of parts. detail/pairs_round.hpp implements it.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/pairs/job_pair.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

namespace detail {
class PairsRound;
}

/// Plans rounds with pairs, and explains the last plan. Keeps buffers.
class PairsEngine {
public:
    PairsEngine();
    /// What the engine keeps of a round moves with it.
    PairsEngine(PairsEngine&&) noexcept;
    /// See the move constructor.
    PairsEngine& operator=(PairsEngine&&) noexcept;
    ~PairsEngine();

    /// Returns the plan for a snapshot in which each of these pairs may hold GPUs together; valid until the
    /// next call. PairedScheduler::plan() says what is refused. A maker that answers at prices is only
    /// asked for its lists. Jobs listed in `alone` are put into no new pair, and leave the pair that they
    /// are in if it can be separated.
    const Plan& plan(const Snapshot& snapshot, std::span<const JobPair> pairs, const Joints& joints,
                     const AllotOptions& options, const AfterStep& step,
                     std::span<const std::size_t> alone = {});

    /// Explains why every job of the last plan has what it has. For two jobs that share GPUs, the numbers
    /// are those of the pair.
    [[nodiscard]] std::vector<DecisionExplanation> explain(const PolicyJoint& policy,
                                                           const NotesOf& notes) const;
    /// The last plan; empty before the first one.
    [[nodiscard]] const Plan& last_plan() const;

private:
    std::unique_ptr<detail::PairsRound> round_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/pairs/detail/pairs_round.hpp"
#endif

#endif
