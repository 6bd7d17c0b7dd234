#ifndef GOODPUT_SCHEDULE_SCHEDULER_HPP
#define GOODPUT_SCHEDULE_SCHEDULER_HPP

// One call from a snapshot to a plan. A Scheduler is put together of parts that users may write themselves:
// structs that concepts check at compile time. What plans is plain code behind joints (joints.hpp), which is
// compiled once, whatever the parts are (round_engine.hpp).

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

namespace goodput {

/// What a Scheduler is put together of.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor, class Pack = Limits<>, class Maker = ListedShapes,
          class Factor = Factors<>, class Station = NoNodeStation>
struct SchedulerParts {
    P policy{};              ///< what options are worth
    AllotOptions options{};  ///< gap of the allotment, and deadline of the plan
    NodePlacer placer{};     ///< which nodes
    Solver solver{};         ///< which option for each job
    Predictor predictor{};   ///< how good options are
    Pack limits{};           ///< what is limited besides GPUs (limits.hpp)
    Maker maker{};           ///< what jobs are offered (makers.hpp)
    Factor factor{};         ///< what else changes the goodput (concepts.hpp)
    Station station{};       ///< what happens once the nodes are known (concepts.hpp)
};

/// Does not compile for parts that do not fit, and says in one line what is wrong with them.
template <class P, class NodePlacer, class Solver, class Predictor, class Pack, class Maker, class Factor,
          class Station>
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

/// The joints of these parts, as long as they stay where they are.
template <class... Types>
[[nodiscard]] Joints joints_of(SchedulerParts<Types...>& parts) {
    return {policy_joint(parts.policy), predictor_joint(parts.predictor), maker_joint(parts.maker),
            limits_joint(parts.limits), factor_joint(parts.factor),       placer_joint(parts.placer),
            solver_joint(parts.solver), station_joint(parts.station)};
}

/// Makes plans round after round. Keeps buffers; nothing carries over from one snapshot to the next, but for
/// the last prices where AllotOptions::warm_start asks for them. A copy also knows the last plan.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor, class Pack = Limits<>, class Maker = ListedShapes,
          class Factor = Factors<>, class Station = NoNodeStation>
class Scheduler {
    static_assert(parts_fit<P, NodePlacer, Solver, Predictor, Pack, Maker, Factor, Station>());

public:
    /// The parts, each by its name.
    using Parts = SchedulerParts<P, NodePlacer, Solver, Predictor, Pack, Maker, Factor, Station>;

    /// A scheduler of these parts.
    explicit Scheduler(Parts parts) : parts_(std::move(parts)) {
        if constexpr (requires { parts_.policy.validate(); }) parts_.policy.validate();
    }
    /// A scheduler with a policy, a gap and deadline for the allotment, and parts of one's own.
    explicit Scheduler(P policy = P(), AllotOptions options = {}, NodePlacer placer = NodePlacer(),
                       Solver solver = Solver(), Predictor predictor = Predictor(), Pack limits = Pack(),
                       Maker maker = Maker())
        : Scheduler(Parts{std::move(policy), options, std::move(placer), std::move(solver),
                          std::move(predictor), std::move(limits), std::move(maker), Factor(), Station()}) {}

    /// A scheduler of the same parts with further limits (limits.hpp).
    template <class... Ls>
    [[nodiscard]] auto limited_by(Ls... limits) const {
        return with(parts_.limits.with(std::move(limits)...), parts_.maker, parts_.factor, parts_.station);
    }
    /// A scheduler of the same parts with another maker of options (makers.hpp).
    template <class M>
    [[nodiscard]] auto offering(M maker) const {
        return with(parts_.limits, std::move(maker), parts_.factor, parts_.station);
    }
    /// A scheduler of the same parts with further factors on the goodput of options (concepts.hpp).
    template <class... Fs>
    [[nodiscard]] auto counting(Fs... factors) const {
        return with(parts_.limits, parts_.maker, parts_.factor.with(std::move(factors)...), parts_.station);
    }
    /// A scheduler of the same parts with another station after the nodes (concepts.hpp).
    template <class S>
    [[nodiscard]] auto after_nodes(S station) const {
        return with(parts_.limits, parts_.maker, parts_.factor, std::move(station));
    }

    /// The plan for a snapshot; valid until the next call. A job or a node that makes no sense is set aside
    /// and named (Plan::warnings), and the rest is planned: what validate(Node) and validate(Job) refuse, two
    /// of one name, nodes given to more jobs than they hold. Where the snapshot is strict such are refused
    /// (std::invalid_argument naming job, field and value); a time that is not finite, and models of another
    /// number, or of more GPU types than the cluster's, always are. What the policy, the predictor, the maker
    /// or a limit does wrong costs the jobs concerned an option or the whole choice, but not the plan:
    /// Plan::faults. `step(PlanStep)` is called after each step.
    const Plan& plan(const Snapshot& snapshot, const AfterStep& step) & { return make_plan(snapshot, step); }
    /// The plan for a snapshot, without a call after each step.
    const Plan& plan(const Snapshot& snapshot) & {
        return plan(snapshot, [](PlanStep) {});
    }
    /// The same of a scheduler that is gone afterwards: the plan is the caller's.
    Plan plan(const Snapshot& snapshot) && {
        return std::move(make_plan(snapshot, [](PlanStep) {}));
    }

    /// The placer, for what it may be told between two plans (TopologyPlacer::set_topology).
    [[nodiscard]] NodePlacer& placer() { return parts_.placer; }
    /// The parts, with their settings.
    [[nodiscard]] const Parts& parts() const { return parts_; }
    /// The joints of the parts, as long as the scheduler stays where it is.
    [[nodiscard]] Joints joints() { return joints_of(parts_); }
    /// Gap and deadline of the next plans' allotments.
    [[nodiscard]] AllotOptions& options() { return parts_.options; }
    /// The limits, to be replaced between two plans.
    [[nodiscard]] Pack& limits() { return parts_.limits; }
    /// The maker of options.
    [[nodiscard]] const Maker& maker() const { return parts_.maker; }

    /// The factors on the goodput.
    [[nodiscard]] const Factor& factor() const { return parts_.factor; }

    /// The last plan, and what it was made from: the pools that prices and resources are of, without their
    /// drained nodes; the allotment problem, whose first rows are these pools, whose next are those of the
    /// limits and whose last are those of blocks of nodes (detail/node_blocks.hpp), with its solution (not
    /// that of the plan for a job that found no nodes).
    [[nodiscard]] const Plan& last_plan() const { return engine_.last_plan(); }
    /// See last_plan().
    [[nodiscard]] std::span<const Pool> pools() const { return engine_.pools(); }
    /// See last_plan().
    [[nodiscard]] const AllotmentProblem& problem() const { return engine_.problem(); }
    /// See last_plan(). Where options found no nodes: of the last allotment, with the bound of the first.
    [[nodiscard]] const AllotResult& allotted() const { return engine_.allotted(); }
    /// The policy, with its settings.
    [[nodiscard]] const P& policy() const { return parts_.policy; }

    /// The last plan's snapshot as the policy saw it.
    [[nodiscard]] Round round_of(const Snapshot& snapshot) const { return engine_.round_of(snapshot); }
    /// The options and values that the last plan chose from, for the job of that index.
    [[nodiscard]] std::span<const Option> options_of(std::size_t job) const {
        return engine_.options_of(job);
    }
    /// As many as options_of(job); finite.
    [[nodiscard]] std::span<const double> values_of(std::size_t job) const { return problem().values(job); }
    /// By job: the option that the last plan gives it, or gave before it found no nodes. Other than in
    /// allotted() where a station after the nodes has changed it.
    [[nodiscard]] std::span<const std::size_t> chosen() const { return engine_.chosen(); }
    /// In the last plan everything that was asked about the job of that index failed: it keeps what it holds,
    /// or waits.
    [[nodiscard]] bool has_failed(std::size_t job) const { return engine_.has_failed(job); }
    /// In the last plan the job of that index was set aside (Plan::warnings).
    [[nodiscard]] bool is_set_aside(std::size_t job) const { return engine_.is_set_aside(job); }
    /// What the rows of the limits were; Plan::limits says what came of them.
    [[nodiscard]] std::span<const LimitRow> limit_rows() const { return engine_.limit_rows(); }
    /// A row of problem() that is no pool, in words; for the snapshot of the last plan.
    [[nodiscard]] LimitRow row_of(const Snapshot& snapshot, std::size_t row) const {
        return engine_.row_of(snapshot, row);
    }

    /// Why every job has what the last plan, made from this snapshot, gives it (explain_plan.hpp).
    [[nodiscard]] std::vector<DecisionExplanation> explain(const Snapshot& snapshot) const {
        return engine_.explain(snapshot, policy_joint(parts_.policy),
                               [&](const GivenOption& given) { return parts_.factor.notes(given); });
    }

private:
    Plan& make_plan(const Snapshot& snapshot, const AfterStep& step) {
        return engine_.plan(snapshot, joints_of(parts_), parts_.options, step);
    }

    /// These parts, and others in place of those that change their type.
    template <class OtherLimits, class M, class F, class S>
    auto with(OtherLimits limits, M maker, F factor, S station) const {
        using Other = Scheduler<P, NodePlacer, Solver, Predictor, OtherLimits, M, F, S>;
        return Other({parts_.policy, parts_.options, parts_.placer, parts_.solver, parts_.predictor,
                      std::move(limits), std::move(maker), std::move(factor), std::move(station)});
    }

    Parts parts_;
    RoundEngine engine_;
};

/// The plan for one snapshot under a policy, from scratch; see Scheduler for round after round, and for what
/// is refused. What is left out, or given as {}, is the default.
template <class P = Sia>
[[nodiscard]] Plan plan(const Snapshot& snapshot, P policy = {}, AllotOptions options = {}) {
    return Scheduler<P>(std::move(policy), options).plan(snapshot);
}

/// The same with parts of one's own: a placer, a solver, a predictor.
template <class P = Sia, class NodePlacer = LeastMovesPlacer, class Solver = Allotter<>,
          class Predictor = GoodputPredictor>
Plan plan(const Snapshot& snapshot, P policy, AllotOptions options, NodePlacer placer, Solver solver = {},
          Predictor predictor = {}) {
    return Scheduler<P, NodePlacer, Solver, Predictor>(std::move(policy), options, std::move(placer),
                                                       std::move(solver), std::move(predictor))
        .plan(snapshot);
}

}  // namespace goodput

#endif
