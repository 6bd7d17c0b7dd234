#ifndef GOODPUT_SCHEDULE_ROUND_ENGINE_HPP
#define GOODPUT_SCHEDULE_ROUND_ENGINE_HPP

// Plans a round for a Scheduler. The engine is not a template: it calls the exchangeable parts of a
// scheduler (policy, predictor, placer and so on) only through joints, which hide their types (joints.hpp).
// So it is compiled once for all types of parts. detail/round.hpp has the steps of a round.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

namespace detail {
class RoundState;
}

/// Returns the notes that factors, such as LostTime, add about the option that a job was given.
using NotesOf = std::function<std::vector<std::string>(const GivenOption&)>;

/// Plans rounds, and knows what the last plan was made from. It keeps buffers.
class RoundEngine {
public:
    /// Returns the plan for a snapshot, valid until the next call. Scheduler::plan() says what is refused.
    Plan& plan(const Snapshot& snapshot, const Joints& joints, const AllotOptions& options,
               const AfterStep& step);

    /// Explains the last plan job by job (explain_plan.hpp). The plan must be made from this snapshot.
    /// Throws std::invalid_argument if the snapshot has a different number of jobs than the plan, or if the
    /// engine has made no plan.
    [[nodiscard]] std::vector<DecisionExplanation> explain(const Snapshot& snapshot,
                                                           const PolicyJoint& policy,
                                                           const NotesOf& notes) const;

    /// The last plan. Before the first plan it is empty, and so is everything below.
    [[nodiscard]] const Plan& last_plan() const;
    /// The pools to which prices and resources belong, without their drained nodes.
    [[nodiscard]] std::span<const Pool> pools() const;
    /// The allotment problem. Its first rows are the pools, the next ones are those of the limits, and the
    /// last ones are those of blocks of nodes (detail/node_blocks.hpp).
    [[nodiscard]] const AllotmentProblem& problem() const;
    /// The solution of the problem. If options found no nodes, the allotment is solved again without them.
    /// This is then the last solution, with the bound of the first one.
    [[nodiscard]] const AllotResult& allotted() const;
    /// Returns the snapshot as the policy saw it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const;
    /// The options that the job with that index could be given.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const;
    /// The option that the plan gives each job, by job. For a job that found no nodes, it is the option
    /// from before the search for nodes. It differs from allotted() if the station, a part that runs after
    /// the search for nodes (concepts.hpp), has changed it.
    [[nodiscard]] std::span<const std::size_t> chosen() const;
    /// Whether the policy or another part failed for all options of the job with that index. Such a job
    /// keeps what it holds, or waits.
    [[nodiscard]] bool has_failed(std::size_t job) const;
    /// Whether the job with that index was set aside (Plan::warnings).
    [[nodiscard]] bool is_set_aside(std::size_t job) const;
    /// The rows of the limits. Plan::limits says how much of each is used.
    /// Describes a row of problem() that is not a pool, for the snapshot of the last plan.
    [[nodiscard]] LimitRow row_of(const Snapshot& snapshot, std::size_t row) const;

private:
    [[nodiscard]] const detail::RoundState& state() const;

    detail::HiddenState<detail::RoundState> kept_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/round_engine.hpp"
#endif

#endif
