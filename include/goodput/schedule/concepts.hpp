#ifndef GOODPUT_SCHEDULE_CONCEPTS_HPP
#define GOODPUT_SCHEDULE_CONCEPTS_HPP

// What a Scheduler can be given besides a policy (policy/concepts.hpp) and a placer (place/request.hpp):
// what says how good options are, and what chooses among them. Any type with the function satisfies the
// concept.

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/policy/concepts.hpp"

namespace goodput {

/// How good is each option of a job: `predictor(job, model, options)` sets plan, goodput and knowledge of all
/// options, whose allotments are set; goodput 0 where no batch plan fits. This is where throughput and
/// efficiency models of one's own come in: `model` is the job's entry in Snapshot::models, which a predictor
/// may leave unread. Not const, so that it may keep its buffers. Satisfied by GoodputPredictor.
template <class Predictor>
concept OptionPredictor = requires(Predictor& predictor, const Job& job, const JobModel& model,
                                   std::span<Option> options) {
    predictor(job, model, options);
};

/// The same with other gradient statistics than the job's: what a policy with expected_gradient(job) needs.
template <class Predictor>
concept ForecastPredictor = OptionPredictor<Predictor> &&
    requires(Predictor& predictor, const Job& job, const JobModel& model, std::span<Option> options,
             const std::optional<GradientStatistics>& gradient) {
    predictor(job, model, options, gradient);
};

/// A predictor that says how long a job keeps the batch plan that it runs with (Job::running_plan), on an
/// option that it holds and that was filled in with the best plan.
template <class Predictor>
concept KeepsRunningPlans = requires(Predictor& predictor, const Job& job, const JobModel& model,
                                     Option& option) {
    predictor.keep_running_plan(job, model, option);
};

/// Which option for each job: `result = solver(problem, options)`. Satisfied by every Allotter.
template <class Solver>
concept AllotmentSolver = requires(Solver& solver, const AllotmentProblem& problem,
                                   const AllotOptions& options) {
    { solver(problem, options) } -> std::convertible_to<AllotResult>;
};

/// Does not compile for what is not quite a predictor, and says in one line what it must be.
template <class Predictor>
consteval bool predictor_fits() {
    static_assert(OptionPredictor<Predictor>,
                  "OptionPredictor: operator() is missing, or is not: void operator()(const Job&, const "
                  "JobModel&, std::span<Option> options)");
    return true;
}

/// Does not compile for what is not quite a solver of allotments, and says in one line what it must be.
template <class Solver>
consteval bool solver_fits() {
    static_assert(AllotmentSolver<Solver>,
                  "AllotmentSolver: operator() is missing, or is not: AllotResult operator()(const "
                  "AllotmentProblem&, const AllotOptions&)");
    return true;
}

namespace detail {

/// Takes whatever is named of an input, and does nothing with it.
struct AnyInput {
    template <class Named>
    void operator()(const Named&) {}
};

}  // namespace detail

/// A predictor whose answers depend on nothing but configurations, gradient statistics, and the numbers and
/// lists that Predictor::for_each_input(job, model, input) names. It has to say so itself: who derives from
/// one that does may read more.
template <class Predictor>
concept DeclaresInputs = std::same_as<typename Predictor::DeclaresInputsOf, Predictor> &&
    requires(const Job& job, const JobModel& model, detail::AnyInput& input) {
    Predictor::for_each_input(job, model, input);
};

/// A maker whose lists depend on nothing but the cluster, the pools, the most GPUs of each type, and what
/// Maker::for_each_input(job, input) names.
template <class Maker>
concept DeclaresJobInputs = std::same_as<typename Maker::DeclaresInputsOf, Maker> &&
    requires(const Job& job, detail::AnyInput& input) {
    Maker::for_each_input(job, input);
};

// What happens once the nodes are known. Rows are sums over a pool, and a node may not have what a sum
// promises: cores and memory beside GPUs, a disk, a link. A station looks at who lies where, and may give a
// job another of its options, other nodes, or nothing. It is a struct with
//
//   void operator()(const Round& round, const AllotmentProblem& problem, std::span<PlacedJob> placed)
//
// which is called once a round. One that knows what nodes have left has two functions more:
//
//   bool has_room(const Configuration& configuration, const NodeShare& share) const
//   void take(const Configuration& configuration, const Placement& placement)
//
// Then what its changes leave free is offered to those whose options it took back, and to those who wait
// (detail/leftovers.hpp), where it says that there is room.

/// A job that has found nodes.
struct PlacedJob {
    std::size_t job = 0;                ///< index into Round::jobs, and into the problem
    std::span<const Option> options{};  ///< all that it was offered, in the order of the problem
    bool keeps = false;                 ///< it keeps its GPUs on its nodes whatever happens
    std::size_t option = no_option;     ///< that it has nodes for; may be changed, no_option: taken back
    Placement placement{};              ///< may be changed
    std::string why{};                  ///< for the owner of a job whose option is taken back
    /// It goes on, on several nodes that it shares with others: no other nodes would be as good to it.
    bool shares_nodes = false;
};

/// Looks at who lies where.
template <class S>
concept NodeStation = requires(S& station, const Round& round, const AllotmentProblem& problem,
                               std::span<PlacedJob> placed) {
    station(round, problem, placed);
};

/// And knows what nodes have left then.
template <class S>
concept KnowsRoom = NodeStation<S> && requires(S& station, const Configuration& configuration,
                                               const NodeShare& share, const Placement& placement) {
    { station.has_room(configuration, share) } -> std::convertible_to<bool>;
    station.take(configuration, placement);
};

/// Leaves everybody what the nodes gave: the default.
struct NoNodeStation {
    /// Changes nothing.
    void operator()(const Round&, const AllotmentProblem&, std::span<PlacedJob>) const {}
};

static_assert(NodeStation<NoNodeStation>);

}  // namespace goodput

#endif
