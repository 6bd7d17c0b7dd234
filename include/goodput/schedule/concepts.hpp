#ifndef GOODPUT_SCHEDULE_CONCEPTS_HPP
#define GOODPUT_SCHEDULE_CONCEPTS_HPP

// Concepts for the parts of a Scheduler besides the policy (policy/concepts.hpp) and the placer
// (place/request.hpp): the predictor, which says how good options are; the solver, which chooses an option
// for each job; the station, which may change the choice once the nodes are known; and the factors, which
// change the goodput of options. Any type with the required functions satisfies a concept.

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput::inline v0_1 {

/// Predicts how good each option of a job is. `predictor(job, model, options)` is given options whose
/// configurations are set, and sets their plan, goodput and knowledge. The goodput is 0 if no batch plan
/// fits. Write a predictor to use throughput or efficiency models of your own: `model` is the job's entry
/// in Snapshot::models, and the predictor may ignore it. The call is not const, so that a predictor may
/// keep its buffers. GoodputPredictor satisfies this.
template <class Predictor>
concept OptionPredictor = requires(Predictor& predictor, const Job& job, const JobModel& model,
                                   std::span<Option> options) {
    predictor(job, model, options);
};

/// A predictor that can also predict with gradient statistics other than the job's own. A policy that has
/// expected_gradient(job) needs such a predictor.
template <class Predictor>
concept ForecastPredictor = OptionPredictor<Predictor> &&
    requires(Predictor& predictor, const Job& job, const JobModel& model, std::span<Option> options,
             const std::optional<GradientStatistics>& gradient) {
    predictor(job, model, options, gradient);
};

/// A predictor that decides whether a job keeps the batch plan that it runs with (Job::running_plan). It is
/// asked about the option that the job holds, after the best plan was filled in.
template <class Predictor>
concept KeepsRunningPlans = requires(Predictor& predictor, const Job& job, const JobModel& model,
                                     Option& option) {
    predictor.keep_running_plan(job, model, option);
};

/// Chooses an option for each job: `result = solver(problem, options)`. Every Allotter satisfies this.
template <class Solver>
concept AllotmentSolver = requires(Solver& solver, const AllotmentProblem& problem,
                                   const AllotOptions& options) {
    { solver(problem, options) } -> std::convertible_to<AllotResult>;
};

/// Checks a predictor. If it does not fit, compilation fails with one line that says what it must be.
template <class Predictor>
consteval bool predictor_fits() {
    static_assert(OptionPredictor<Predictor>,
                  "OptionPredictor: operator() is missing, or is not: void operator()(const Job&, const "
                  "JobModel&, std::span<Option> options)");
    return true;
}

/// Checks a solver of allotments. If it does not fit, compilation fails with one line that says what it
/// must be.
template <class Solver>
consteval bool solver_fits() {
    static_assert(AllotmentSolver<Solver>,
                  "AllotmentSolver: operator() is missing, or is not: AllotResult operator()(const "
                  "AllotmentProblem&, const AllotOptions&)");
    return true;
}

namespace detail {

/// Accepts any named input, and ignores it.
struct AnyInput {
    template <class Named>
    void operator()(const Named&) {}
};

}  // namespace detail

/// A predictor whose answers depend only on three things: configurations, gradient statistics, and the
/// numbers and lists that Predictor::for_each_input(job, model, input) passes to `input`. DeclaresInputsOf
/// must be the predictor's own type, because a class that derives from the predictor may read more.
template <class Predictor>
concept DeclaresInputs = std::same_as<typename Predictor::DeclaresInputsOf, Predictor> &&
    requires(const Job& job, const JobModel& model, detail::AnyInput& input) {
    Predictor::for_each_input(job, model, input);
};

/// A maker (a part that lists options, makers.hpp) whose lists depend only on the cluster, the pools, the
/// largest number of GPUs of each type, and what Maker::for_each_input(job, input) passes to `input`.
template <class Maker>
concept DeclaresJobInputs = std::same_as<typename Maker::DeclaresInputsOf, Maker> &&
    requires(const Job& job, detail::AnyInput& input) {
    Maker::for_each_input(job, input);
};

// A station runs once the nodes are known. A row of the allotment problem limits a sum over a pool, and a
// single node may have less than the sum suggests: cores and memory, a disk, a link. A station sees which
// jobs are on which nodes, and may give a job another of its options, other nodes, or nothing. It is a
// struct with
//
//     void operator()(const Round& round, const AllotmentProblem& problem, std::span<PlacedJob> placed)
//
// which is called once per round. A station that knows what nodes have left has two more functions:
//
//     bool has_room(const Configuration& configuration, const NodeShare& share) const
//     void take(const Configuration& configuration, const Placement& placement)
//
// The changes of a station may leave GPUs free. These then go to jobs whose options the station withdrew
// and to waiting jobs, if has_room() says that the nodes have room (detail/leftovers.hpp).

/// A job that has found nodes.
struct PlacedJob {
    std::size_t job = 0;                ///< index into Round::jobs, and into the problem
    std::span<const Option> options{};  ///< all options that it was offered, in the order of the problem
    bool keeps = false;                 ///< whether it keeps its GPUs on its nodes, whatever happens
    /// Option that it has nodes for. The station may change it; no_option withdraws it.
    std::size_t option = no_option;
    Placement placement{};  ///< nodes of the option; the station may change them
    std::string why{};      ///< reason that the owner is told if the option is withdrawn
    /// Whether the job keeps running over several nodes although it shares them with other jobs. Such a job
    /// must not be given other nodes.
    bool shares_nodes = false;
};

/// A station: looks at the placed jobs, and may change them.
template <class S>
concept NodeStation = requires(S& station, const Round& round, const AllotmentProblem& problem,
                               std::span<PlacedJob> placed) {
    station(round, problem, placed);
};

/// A station that also knows how much room is left on each node after its changes.
template <class S>
concept KnowsRoom = NodeStation<S> && requires(S& station, const Configuration& configuration,
                                               const NodeShare& share, const Placement& placement) {
    { station.has_room(configuration, share) } -> std::convertible_to<bool>;
    station.take(configuration, placement);
};

/// Leaves all jobs as they were placed. This is the default.
struct NoNodeStation {
    /// Changes nothing.
    void operator()(const Round&, const AllotmentProblem&, std::span<PlacedJob>) const {}
};

static_assert(NodeStation<NoNodeStation>);

// A factor accounts for effects on an option's goodput that a predictor does not know, for example
// interruptions, or the cores that go with the GPUs. A factor is a struct with
//
//   bool begin_round(const Round& round)              returns whether it changes anything in this round
//   void operator()(const Job& job, Option& option)   changes the predicted goodput, and whatever else the
//                                                     option says about it
//
// If begin_round() of every factor returns false, the options are not looked at. Otherwise the options of
// all makers and for all policies are changed in the same way. The answers of a factor may depend on the
// round only. A factor may also tell the owner of a job something in a sentence (explain_plan.hpp):
//
//     std::string note(const GivenOption& given) const  about what the job was given; may be empty

/// Changes the goodput of options.
template <class F>
concept GoodputFactor = requires(F& factor, const Round& round, const Job& job, Option& option) {
    { factor.begin_round(round) } -> std::convertible_to<bool>;
    factor(job, option);
};

/// The option that a job was given in a plan, together with all options that the job was offered.
struct GivenOption {
    const Job& job;                   ///< the job
    const Option& given;              ///< its option in the plan
    std::span<const Option> options;  ///< all options that it was offered
    std::size_t index = 0;            ///< index of the given option among them
    std::span<const double> values;   ///< values of the options
    /// By option: units that it takes of each row of the allotment problem.
    OptionUses uses;
    std::span<const double> capacity;          ///< by row: units that there are
    std::span<const double> taken;             ///< by row: units that all jobs together take
    std::span<const double> prices;            ///< by row: price of a unit
    std::size_t pools = 0;                     ///< number of rows that are GPU pools; they come first
    std::function<LimitRow(std::size_t)> row;  ///< describes a row that is not a GPU pool
};

/// A factor that can say something about what a job was given.
template <class F>
concept NotingFactor = GoodputFactor<F> && requires(const F& factor, const GivenOption& given) {
    { factor.note(given) } -> std::convertible_to<std::string>;
};

/// Checks a factor. If it does not fit, compilation fails with one line that says which function is wrong.
template <class F>
consteval bool factor_fits() {
    static_assert(
        requires(F & factor, const Round& round) {
            { factor.begin_round(round) } -> std::convertible_to<bool>;
        },
        "GoodputFactor: begin_round is missing, or is not: bool begin_round(const Round&)");
    static_assert(
        requires(F & factor, const Job& job, Option& option) { factor(job, option); },
        "GoodputFactor: operator() is missing, or does not take these arguments: void operator()(const Job&, "
        "Option&)");
    return true;
}

/// Several factors, applied one after the other. By default there are none, and the goodput is the
/// predicted one.
template <class... Fs>
class Factors {
    static_assert((true && ... && factor_fits<Fs>()));

public:
    /// Whether all of them are factors.
    static constexpr bool all_fit = (true && ... && GoodputFactor<Fs>);

    /// Makes factors of these types with their defaults.
    Factors() = default;
    /// Makes a list of these factors.
    explicit Factors(Fs... factors) requires(sizeof...(Fs) > 0) : factors_(std::move(factors)...) {}

    /// Returns these factors followed by others.
    template <class... More>
    [[nodiscard]] Factors<Fs..., More...> with(More... more) const {
        return std::apply(
            [&](const auto&... present) { return Factors<Fs..., More...>(present..., std::move(more)...); },
            factors_);
    }

    /// Tells all factors about the round. Returns whether any of them changes anything in it.
    bool begin_round(const Round& round) {
        bool any = false;
        std::apply([&](auto&... factor) { ((any = factor.begin_round(round) || any), ...); }, factors_);
        return any;
    }
    /// Applies all of them.
    void operator()(const Job& job, Option& option) {
        std::apply([&](auto&... factor) { (factor(job, option), ...); }, factors_);
    }

    /// Returns the notes of all factors about what a job was given.
    [[nodiscard]] std::vector<std::string> notes(const GivenOption& given) const {
        std::vector<std::string> all;
        const auto ask = [&]([[maybe_unused]] const auto& factor) {
            if constexpr (NotingFactor<std::remove_cvref_t<decltype(factor)>>)
                if (std::string note = factor.note(given); !note.empty()) all.push_back(std::move(note));
        };
        std::apply([&](const auto&... factor) { (ask(factor), ...); }, factors_);
        return all;
    }

private:
    std::tuple<Fs...> factors_;
};

static_assert(GoodputFactor<Factors<>>);

}  // namespace goodput::inline v0_1

#endif
