#ifndef GOODPUT_SCHEDULE_SCHEDULER_HPP
#define GOODPUT_SCHEDULE_SCHEDULER_HPP

// Makes a plan from a snapshot in one call. Users may replace any part of a Scheduler by a struct of their
// own, which concepts check at compile time. The planning itself is not a template: it calls the parts
// through joints, which hide their types (joints.hpp), so it is compiled once for all types of parts
// (round_engine.hpp).

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

/// The parts of a Scheduler.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor, class LimitPack = Limits<>, class Maker = ListedShapes,
          class Factor = Factors<>, class Station = NoNodeStation>
struct SchedulerParts {
    P policy{};              ///< values options
    AllotOptions options{};  ///< optimality gap of the allotment, and deadline of the plan
    NodePlacer placer{};     ///< finds nodes
    Solver solver{};         ///< chooses an option for each job
    Predictor predictor{};   ///< predicts the goodput of options
    LimitPack limits{};      ///< limits besides GPUs (limits.hpp)
    Maker maker{};           ///< lists the options of jobs (makers.hpp)
    Factor factor{};         ///< changes the predicted goodput (concepts.hpp)
    Station station{};       ///< may change the choice once the nodes are known (concepts.hpp)
};

/// Checks the parts. If one does not fit, compilation fails with one line that says what is wrong with it.
template <class P, class NodePlacer, class Solver, class Predictor, class LimitPack, class Maker,
          class Factor, class Station>
consteval bool parts_fit() {
    static_assert(policy_fits<P>());
    static_assert(placer_fits<NodePlacer>());
    static_assert(solver_fits<Solver>());
    static_assert(predictor_fits<Predictor>());
    static_assert(maker_fits<Maker>());
    static_assert(factor_fits<Factor>());
    static_assert(NodeStation<Station>,
                  "NodeStation: operator() is missing, or does not take these arguments: void "
                  "operator()(const Round&, const AllotmentProblem&, std::span<PlacedJob>)");
    static_assert(ForecastPredictor<Predictor> || !OptionPredictor<Predictor> || !GradientForecast<P>,
                  "ForecastPredictor: this policy has expected_gradient(job), so the predictor must also be "
                  "callable as predictor(job, model, options, gradient)");
    static_assert(
        !PricedOptionMaker<Maker> || !RoundPolicy<P> || ValuesBeside<P>,
        "ValuesBeside: this maker answers at prices, so a policy that values whole rounds must have "
        "double value_beside(round, row, option) const");
    return true;
}

/// Returns the joints of these parts. They are valid as long as the parts stay at their addresses.
template <class... Types>
[[nodiscard]] Joints joints_of(SchedulerParts<Types...>& parts) {
    return {policy_joint(parts.policy), predictor_joint(parts.predictor), maker_joint(parts.maker),
            limits_joint(parts.limits), factor_joint(parts.factor),       placer_joint(parts.placer),
            solver_joint(parts.solver), station_joint(parts.station)};
}

/// Makes plans round after round. It keeps buffers. A plan does not depend on earlier snapshots, except for
/// the last prices if AllotOptions::warm_start asks for them. A copy also knows the last plan.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor, class LimitPack = Limits<>, class Maker = ListedShapes,
          class Factor = Factors<>, class Station = NoNodeStation>
class Scheduler {
    static_assert(parts_fit<P, NodePlacer, Solver, Predictor, LimitPack, Maker, Factor, Station>());

public:
    /// The type of the parts.
    using Parts = SchedulerParts<P, NodePlacer, Solver, Predictor, LimitPack, Maker, Factor, Station>;

    /// Makes a scheduler of these parts.
    explicit Scheduler(Parts parts) : parts_(std::move(parts)) {
        if constexpr (requires { parts_.policy.validate(); }) parts_.policy.validate();
    }
    /// Makes a scheduler with a policy, an optimality gap and a deadline for the allotment, and parts
    /// written by the caller.
    explicit Scheduler(P policy = P(), AllotOptions options = {}, NodePlacer placer = NodePlacer(),
                       Solver solver = Solver(), Predictor predictor = Predictor(),
                       LimitPack limits = LimitPack(), Maker maker = Maker())
        : Scheduler(Parts{std::move(policy), options, std::move(placer), std::move(solver),
                          std::move(predictor), std::move(limits), std::move(maker), Factor(), Station()}) {}

    /// Returns a scheduler of the same parts with further limits (limits.hpp).
    template <class... Ls>
    [[nodiscard]] auto limited_by(Ls... limits) const {
        return with(parts_.limits.with(std::move(limits)...), parts_.maker, parts_.factor, parts_.station);
    }
    /// Returns a scheduler of the same parts with another maker of options (makers.hpp).
    template <class M>
    [[nodiscard]] auto offering(M maker) const {
        return with(parts_.limits, std::move(maker), parts_.factor, parts_.station);
    }
    /// Returns a scheduler of the same parts with further factors on the goodput of options (concepts.hpp).
    template <class... Fs>
    [[nodiscard]] auto counting(Fs... factors) const {
        return with(parts_.limits, parts_.maker, parts_.factor.with(std::move(factors)...), parts_.station);
    }
    /// Returns a scheduler of the same parts with another station, the part that runs once the nodes are
    /// known (concepts.hpp).
    template <class S>
    [[nodiscard]] auto after_nodes(S station) const {
        return with(parts_.limits, parts_.maker, parts_.factor, std::move(station));
    }

    /// Returns the plan for a snapshot; it is valid until the next call.
    ///
    /// An invalid job or node is set aside and named in Plan::warnings, and the rest is planned. A job or
    /// node is invalid if validate(Job) or validate(Node) refuses it, or if an earlier one has its name. A
    /// job is also invalid if its placement holds GPUs that jobs listed before it hold. If a strict
    /// snapshot contains an invalid job or node, this throws std::invalid_argument, which names job, field
    /// and value. Every snapshot is refused if its time is not finite, if the number of models is not that
    /// of the jobs, or if a model has more GPU types than the cluster. If the policy, the predictor, the
    /// maker or a limit fails, the affected jobs lose one option or all of them, and Plan::faults names the
    /// failure; the plan is still made. `step(PlanStep)` is called after each step.
    const Plan& plan(const Snapshot& snapshot, const AfterStep& step) & { return make_plan(snapshot, step); }
    /// Returns the plan for a snapshot, without a call after each step.
    const Plan& plan(const Snapshot& snapshot) & {
        return plan(snapshot, [](PlanStep) {});
    }
    /// The same for a temporary scheduler: the caller owns the plan.
    Plan plan(const Snapshot& snapshot) && {
        return std::move(make_plan(snapshot, [](PlanStep) {}));
    }

    /// The placer, so that callers can change its settings between two plans
    /// (TopologyPlacer::set_topology).
    [[nodiscard]] NodePlacer& placer() { return parts_.placer; }
    /// The parts, with their settings.
    [[nodiscard]] const Parts& parts() const { return parts_; }
    /// The joints of the parts. They are valid as long as the scheduler stays at its address.
    [[nodiscard]] Joints joints() { return joints_of(parts_); }
    /// The optimality gap and the deadline for the allotments of the next plans.
    [[nodiscard]] AllotOptions& options() { return parts_.options; }
    /// The limits. They may be replaced between two plans.
    [[nodiscard]] LimitPack& limits() { return parts_.limits; }
    /// The maker of options.
    [[nodiscard]] const Maker& maker() const { return parts_.maker; }

    /// The factors on the goodput.
    [[nodiscard]] const Factor& factor() const { return parts_.factor; }

    /// The last plan. pools(), problem() and allotted() return what it was made from: the pools to which
    /// prices and resources belong, without their drained nodes; the allotment problem; and its solution.
    /// The first rows of the problem are these pools, the next rows are those of the limits, and the last
    /// rows are those of blocks of nodes (detail/node_blocks.hpp). The solution differs from the plan for
    /// jobs that found no nodes.
    [[nodiscard]] const Plan& last_plan() const { return engine_.last_plan(); }
    /// See last_plan().
    [[nodiscard]] std::span<const Pool> pools() const { return engine_.pools(); }
    /// See last_plan().
    [[nodiscard]] const AllotmentProblem& problem() const { return engine_.problem(); }
    /// See last_plan(). If options found no nodes, the allotment is solved again without them. This is then
    /// the last solution, with the bound of the first one.
    [[nodiscard]] const AllotResult& allotted() const { return engine_.allotted(); }
    /// The policy, with its settings.
    [[nodiscard]] const P& policy() const { return parts_.policy; }

    /// Returns the last plan's snapshot as the policy saw it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const { return engine_.round_of(snapshot); }
    /// The options from which the last plan chose for the job with that index.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return engine_.options_of(job);
    }
    /// The values of options_of(job), in the same order; all are finite.
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const { return problem().values(job); }
    /// The option that the last plan gives each job, by job. For a job that found no nodes, it is the
    /// option from before the search for nodes. It differs from allotted() if the station, which runs after
    /// that search, has changed it.
    [[nodiscard]] std::span<const std::size_t> chosen() const { return engine_.chosen(); }
    /// Whether the policy or another part failed for all options of the job with that index in the last
    /// plan. Such a job keeps what it holds, or waits.
    [[nodiscard]] bool has_failed(std::size_t job) const { return engine_.has_failed(job); }
    /// Whether the last plan set the job with that index aside (Plan::warnings).
    [[nodiscard]] bool is_set_aside(std::size_t job) const { return engine_.is_set_aside(job); }
    /// The rows of the limits. Plan::limits says how much of each is used.
    /// Describes a row of problem() that is not a pool, for the snapshot of the last plan.
    [[nodiscard]] LimitRow row_of(const Snapshot& snapshot, std::size_t row) const {
        return engine_.row_of(snapshot, row);
    }

    /// Explains why every job has what the last plan gives it (explain_plan.hpp). The plan must be made
    /// from this snapshot.
    [[nodiscard]] std::vector<DecisionExplanation> explain(const Snapshot& snapshot) const {
        return engine_.explain(snapshot, policy_joint(parts_.policy),
                               [&](const GivenOption& given) { return parts_.factor.notes(given); });
    }

private:
    Plan& make_plan(const Snapshot& snapshot, const AfterStep& step) {
        return engine_.plan(snapshot, joints_of(parts_), parts_.options, step);
    }

    /// Returns a scheduler of these parts, with the given ones in place of those that change their type.
    template <class OtherLimits, class M, class F, class S>
    auto with(OtherLimits limits, M maker, F factor, S station) const {
        using Other = Scheduler<P, NodePlacer, Solver, Predictor, OtherLimits, M, F, S>;
        return Other({parts_.policy, parts_.options, parts_.placer, parts_.solver, parts_.predictor,
                      std::move(limits), std::move(maker), std::move(factor), std::move(station)});
    }

    Parts parts_;
    RoundEngine engine_;
};

/// Makes a plan for one snapshot under a policy, from scratch. An argument that is left out, or given as
/// {}, has its default. Scheduler::plan() says which snapshots are refused; use a Scheduler to plan round
/// after round.
template <class P = Sia>
[[nodiscard]] Plan plan(const Snapshot& snapshot, P policy = {}, AllotOptions options = {}) {
    return Scheduler<P>(std::move(policy), options).plan(snapshot);
}

/// The same with a placer, a solver and a predictor written by the caller.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor>
Plan plan(const Snapshot& snapshot, P policy, AllotOptions options, NodePlacer placer, Solver solver = {},
          Predictor predictor = {}) {
    return Scheduler<P, NodePlacer, Solver, Predictor>(std::move(policy), options, std::move(placer),
                                                       std::move(solver), std::move(predictor))
        .plan(snapshot);
}

}  // namespace goodput::inline v0_1

#endif
