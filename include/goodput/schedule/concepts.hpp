#ifndef GOODPUT_SCHEDULE_CONCEPTS_HPP
#define GOODPUT_SCHEDULE_CONCEPTS_HPP

// What a Scheduler can be given besides a policy (policy/concepts.hpp) and a placer (place/request.hpp):
// what says how good options are, and what chooses among them. Any type with the function satisfies the
// concept.

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

// What a predictor does not know of an option's goodput: what interruptions leave of it, what the cores
// beside the GPUs make of it. A factor is a struct with
//
//   bool begin_round(const Round& round)              whether it changes anything in this round; where none
//                                                     does, no option is looked at
//   void operator()(const Job& job, Option& option)   changes the goodput that was predicted, and whatever
//                                                     else the option says of it
//
// Every maker's options and every policy's are changed alike. Answers must hang on the round alone. One that
// has something to say to the owner of a job says it in a sentence (explain_plan.hpp):
//
//   std::string note(const GivenOption& given) const  of what the job was given; empty: nothing

/// Changes the goodput of options.
template <class F>
concept GoodputFactor = requires(F& factor, const Round& round, const Job& job, Option& option) {
    { factor.begin_round(round) } -> std::convertible_to<bool>;
    factor(job, option);
};

/// What a job was given in a plan, and beside what.
struct GivenOption {
    const Job& job;                            ///< whose it is
    const Option& given;                       ///< as the plan has it
    std::span<const Option> options;           ///< that the job was offered
    std::size_t index = 0;                     ///< of what it was given, among the options
    std::span<const double> values;            ///< of the options
    OptionUses uses;                           ///< by option: what it takes of the rows of the allotment
    std::span<const double> capacity;          ///< by row: what there is
    std::span<const double> taken;             ///< by row: what all jobs together take
    std::span<const double> prices;            ///< by row: of a unit
    std::size_t pools = 0;                     ///< how many rows are GPUs of pools: the first
    std::function<LimitRow(std::size_t)> row;  ///< any other row in words
};

/// A factor that has something to say of what a job was given.
template <class F>
concept NotingFactor = GoodputFactor<F> && requires(const F& factor, const GivenOption& given) {
    { factor.note(given) } -> std::convertible_to<std::string>;
};

/// Does not compile for what is not quite a factor, and says in one line which function is wrong.
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

/// Several factors, one after the other. None by default: then the goodput is what the predictor says.
template <class... Fs>
class Factors {
    static_assert((true && ... && factor_fits<Fs>()));

public:
    static constexpr bool all_fit = (true && ... && GoodputFactor<Fs>);  ///< they are factors

    /// The factors of these types, each as it is by default.
    Factors() = default;
    /// These factors.
    explicit Factors(Fs... factors) requires(sizeof...(Fs) > 0) : factors_(std::move(factors)...) {}

    /// These factors, and others behind them.
    template <class... More>
    [[nodiscard]] Factors<Fs..., More...> with(More... more) const {
        return std::apply(
            [&](const auto&... mine) { return Factors<Fs..., More...>(mine..., std::move(more)...); },
            factors_);
    }

    /// Whether any of them changes anything in this round. All are told of it.
    bool begin_round(const Round& round) {
        bool any = false;
        std::apply([&](auto&... factor) { ((any = factor.begin_round(round) || any), ...); }, factors_);
        return any;
    }
    /// Applies all of them.
    void operator()(const Job& job, Option& option) {
        std::apply([&](auto&... factor) { (factor(job, option), ...); }, factors_);
    }

    /// What they have to say of what a job was given.
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

}  // namespace goodput

#endif
