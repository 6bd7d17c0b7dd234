#ifndef GOODPUT_SCHEDULE_ROUND_ENGINE_HPP
#define GOODPUT_SCHEDULE_ROUND_ENGINE_HPP

// What plans a round for a Scheduler: plain code that knows the parts by their joints alone (joints.hpp), so
// that it is compiled once for all types of parts. Its stations are in detail/round.hpp.

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

namespace goodput {

namespace detail {
class RoundState;
}

/// What factors have to say of what a job was given.
using NotesOf = std::function<std::vector<std::string>(const GivenOption&)>;

/// Plans rounds, and answers what the last plan was made from. Keeps buffers.
class RoundEngine {
public:
    /// The plan for a snapshot, valid until the next call: Scheduler::plan() says what is refused.
    Plan& plan(const Snapshot& snapshot, const Joints& joints, const AllotOptions& options,
               const AfterStep& step);

    /// Explains the last plan, which was made from this snapshot, job by job (explain_plan.hpp). A snapshot
    /// with another number of jobs gets std::invalid_argument, as does an engine that has made no plan.
    [[nodiscard]] std::vector<DecisionExplanation> explain(const Snapshot& snapshot,
                                                           const PolicyJoint& policy,
                                                           const NotesOf& notes) const;

    /// The last plan; empty before the first one, as is all that follows.
    [[nodiscard]] const Plan& last_plan() const;
    /// The pools that prices and resources are of, without their drained nodes.
    [[nodiscard]] std::span<const Pool> pools() const;
    /// The allotment problem. Its first rows are the pools, its next are those of the limits, and its last
    /// are those of blocks of nodes (detail/node_blocks.hpp).
    [[nodiscard]] const AllotmentProblem& problem() const;
    /// The solution of the problem. Where options found no nodes: of the last allotment, with the bound of
    /// the first.
    [[nodiscard]] const AllotResult& allotted() const;
    /// The snapshot as the policy saw it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const;
    /// The options that the job of that index could be given.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const;
    /// By job: the option that the plan gives it, or gave before it found no nodes. Other than in allotted()
    /// where a station after the nodes has changed it.
    [[nodiscard]] std::span<const std::size_t> chosen() const;
    /// Everything that was asked about the job of that index failed: it keeps what it holds, or waits.
    [[nodiscard]] bool has_failed(std::size_t job) const;
    /// The job of that index was set aside (Plan::warnings).
    [[nodiscard]] bool is_set_aside(std::size_t job) const;
    /// What the rows of the limits were; Plan::limits says what came of them.
    [[nodiscard]] std::span<const LimitRow> limit_rows() const;
    /// A row of problem() that is no pool, in words; for the snapshot of the last plan.
    [[nodiscard]] LimitRow row_of(const Snapshot& snapshot, std::size_t row) const;

private:
    [[nodiscard]] const detail::RoundState& state() const;

    detail::Kept<detail::RoundState> kept_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/round_engine.hpp"
#endif

#endif
