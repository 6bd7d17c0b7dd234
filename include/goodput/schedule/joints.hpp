#ifndef GOODPUT_SCHEDULE_JOINTS_HPP
#define GOODPUT_SCHEDULE_JOINTS_HPP

// Joints connect a Scheduler's parts, whose types the user chooses, with the engine that plans a round,
// which is not a template (round_engine.hpp). A joint holds a pointer to one part and pointers to its
// functions. The pointer of a function that the part does not have is null. A member comment that consists
// of one name, such as GrowthLimit, gives the concept that describes the function. For a part of your own,
// only the functions that fill joints, such as policy_joint(), are compiled anew.
//
// A joint is valid as long as its part stays at its address.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/question.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

namespace detail {

// These objects exist only in rounds that need them. Joints hold the functions that use them, so that
// programs whose parts never need them compile without them.
class AskedOptions;
struct AskedRound;
class DomainBlocks;
class Offers;
class OpenNodes;
class PriceGroups;

/// Asks a maker for options and solves the allotment with them (asked_options.hpp).
void allot_asked(HiddenState<AskedOptions>& kept, const AskedRound& asked, const AllotOptions& options,
                 bool again, AllotResult& result);
/// Finds the rows for jobs that must stay within a domain (domain_blocks.hpp).
void find_domain_blocks(DomainBlocks& blocks, const Topology& topology, const Snapshot& snapshot,
                        const OpenNodes& open, const Offers& offers);
/// Returns whether nodes of one pool have different prices. If so, groups the nodes by price in the kept
/// snapshot (price_groups.hpp).
bool find_price_groups(HiddenState<PriceGroups>& kept, const Snapshot& snapshot);

}  // namespace detail

/// The function that is called when a policy throws. Its arguments are the row, the option (no_index means
/// all options of the row) and the message.
using PolicyFailed = std::function<void(std::size_t row, std::size_t option, std::string what)>;

/// Values options (policy/concepts.hpp).
struct PolicyJoint {
    const void* part = nullptr;  ///< the policy
    /// Fills in the values of all rows, times the jobs' weights. Passes exceptions of the policy to the
    /// last argument.
    void (*values)(const void*, const Round&, std::span<const OptionRow>, const PolicyFailed&) = nullptr;
    /// GrowthLimit
    int (*most_gpus)(const void*, const Job&, const JobModel&, std::size_t gpu_type) = nullptr;
    /// GradientForecast
    std::optional<GradientStatistics> (*expected_gradient)(const void*, const Job&) = nullptr;
    /// Returns what one more option of a job would be worth in addition to the round's options
    /// (ValuesBeside). Null if the policy itself decides what each job gets; then the job's other options
    /// are worth nothing.
    double (*value_beside)(const void*, const Round&, const OptionRow&, const Option&) = nullptr;
    bool by_round = false;  ///< whether it values all jobs of a round together

    /// Whether the policy itself decides what each job gets.
    [[nodiscard]] bool chooses() const { return value_beside == nullptr; }
};

/// Predicts how good options are (schedule/concepts.hpp).
struct PredictorJoint {
    void* part = nullptr;  ///< the predictor
    /// OptionPredictor
    void (*predict)(void*, const Job&, const JobModel&, std::span<Option>) = nullptr;
    /// ForecastPredictor
    void (*predict_with)(void*, const Job&, const JobModel&, std::span<Option>,
                         const std::optional<GradientStatistics>&) = nullptr;
    /// KeepsRunningPlans
    void (*keep_running_plan)(void*, const Job&, const JobModel&, Option&) = nullptr;
    /// DeclaresInputs
    void (*name_inputs)(const void*, const Job&, const JobModel&, detail::Question&) = nullptr;
};

/// Lists the options of jobs (schedule/makers.hpp).
struct MakerJoint {
    void* part = nullptr;  ///< the maker
    /// OptionMaker
    void (*list)(void*, const Round&, const Job&, std::span<const int> most_gpus,
                 std::vector<Option>&) = nullptr;
    /// Tells the maker that a round begins.
    void (*begin_round)(void*, const Round&) = nullptr;
    /// KeptMaker
    void (*list_kept)(void*, const Round&, const Job&, std::vector<Option>&) = nullptr;
    /// PricedOptionMaker
    double (*ask)(void*, const Round&, const Job&, std::span<const int> most_gpus, const AtPrices&,
                  double least, std::vector<Option>&) = nullptr;
    /// Solves the allotment with the options that `ask` finds; null if `ask` is null.
    void (*allot_asked)(detail::HiddenState<detail::AskedOptions>&, const detail::AskedRound&,
                        const AllotOptions&, bool again, AllotResult&) = nullptr;
    /// PredictingMaker
    void (*predict)(void*, const Job&, const std::optional<GradientStatistics>&, std::span<Option>,
                    const AskPredictor&) = nullptr;
    /// ReasonMaker
    std::string (*why_none)(void*, const Round&, const Job&) = nullptr;
    /// Whether a job without options waits, instead of being impossible.
    bool (*lets_wait)(void*, const Job&) = nullptr;
    /// DeclaresJobInputs
    void (*name_inputs)(const void*, const Job&, detail::Question&) = nullptr;
};

/// Limits besides GPUs (schedule/limits.hpp).
struct LimitsJoint {
    void* part = nullptr;  ///< all limits
    /// Whether any of them limits dollars.
    bool (*counts_dollars)(const void*) = nullptr;
    /// Groups nodes by price; null if no limit can count dollars.
    bool (*find_price_groups)(detail::HiddenState<detail::PriceGroups>&, const Snapshot&) = nullptr;
    /// Collects the rows of all limits. `first` is the number of rows of the problem before them.
    void (*rows)(void*, const Round&, std::size_t first, LimitRows&) = nullptr;
    /// Tells them to which job the next options belong.
    void (*start_job)(void*, const Round&, const Job&) = nullptr;
    /// Appends what an option takes of the rows.
    void (*uses)(void*, const Round&, const Job&, const Option&, std::vector<ResourceUse>&) = nullptr;
    /// Appends warnings of probable mistakes.
    void (*warn)(const void*, const Round&, std::vector<std::string>&) = nullptr;
};

/// Changes the goodput of options (schedule/concepts.hpp).
struct FactorJoint {
    void* part = nullptr;  ///< all factors
    /// Whether any of them changes anything in this round.
    bool (*begin_round)(void*, const Round&) = nullptr;
    /// Changes the goodput of an option.
    void (*apply)(void*, const Job&, Option&) = nullptr;
};

/// Finds nodes (place/request.hpp).
struct PlacerJoint {
    void* part = nullptr;  ///< the placer
    /// Placer. Returns a reference to the placer's own result, or to the last argument.
    const PlacementResult& (*place)(void*, const Cluster&, std::span<const PlacementRequest>,
                                    PlacementResult&) = nullptr;
    /// KnowsTopology: whether a placement lies within one domain of a level.
    bool (*lies_within)(const void*, const std::string& level, const Placement&) = nullptr;
    /// The topology that it respects.
    const Topology& (*topology)(const void*) = nullptr;
    /// Finds the rows that the topology needs; null if there is no topology.
    void (*find_domain_blocks)(detail::DomainBlocks&, const Topology&, const Snapshot&,
                               const detail::OpenNodes&, const detail::Offers&) = nullptr;
    /// Tells the placer how much time it has.
    void (*set_time)(void*, std::optional<std::chrono::nanoseconds>) = nullptr;
    /// Appends warnings of probable mistakes.
    void (*warn)(const void*, std::span<const Job>, std::vector<std::string>&) = nullptr;
};

/// Chooses an option for each job (schedule/concepts.hpp).
struct SolverJoint {
    void* part = nullptr;  ///< the solver
    /// AllotmentSolver
    void (*solve)(void*, const AllotmentProblem&, const AllotOptions&, AllotResult&) = nullptr;
    /// Whether it leaves GPUs idle on purpose.
    bool (*keeps_idle)(const void*) = nullptr;
};

/// Runs once the nodes are known (schedule/concepts.hpp). By default there is none.
struct StationJoint {
    void* part = nullptr;  ///< the station
    /// NodeStation
    void (*run)(void*, const Round&, const AllotmentProblem&, std::span<PlacedJob>) = nullptr;
    /// Tells the station how much time it has.
    void (*set_time)(void*, std::optional<std::chrono::nanoseconds>) = nullptr;
    /// KnowsRoom
    bool (*has_room)(void*, const Configuration&, const NodeShare&) = nullptr;
    /// KnowsRoom
    void (*take)(void*, const Configuration&, const Placement&) = nullptr;
};

/// All parts of a round.
struct Joints {
    PolicyJoint policy{};        ///< values options
    PredictorJoint predictor{};  ///< predicts how good they are
    MakerJoint maker{};          ///< lists the options of jobs
    LimitsJoint limits{};        ///< limits besides GPUs
    FactorJoint factor{};        ///< changes the goodput of options
    PlacerJoint placer{};        ///< finds nodes
    SolverJoint solver{};        ///< chooses an option for each job
    StationJoint station{};      ///< runs once the nodes are known
};

// Questions to the parts about one job: how large it may become, and how good its options are.

/// Finds how many GPUs of each type the policy offers a job at most this round.
inline void find_most_gpus(const PolicyJoint& policy, const Snapshot& snapshot, std::size_t job,
                           std::vector<int>& most) {
    most.assign(snapshot.cluster.gpu_types.size(), std::numeric_limits<int>::max());
    for (std::size_t type = 0; policy.most_gpus && type < most.size(); ++type)
        most[type] = policy.most_gpus(policy.part, snapshot.jobs[job], model_of(snapshot, job), type);
}

/// Fills in options of a job through its maker if the maker predicts, or else through `ask(options)`.
inline void predict_options(const MakerJoint& maker, const Job& job,
                            const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                            const AskPredictor& ask) {
    if (maker.predict)
        maker.predict(maker.part, job, gradient, options, ask);
    else
        predict_options(options, ask);
}

/// Fills in options of a job with the gradient statistics that the policy expects.
inline void predict_as_valued(const Joints& joints, const Job& job, const JobModel& model,
                              std::span<Option> options) {
    const PredictorJoint& predictor = joints.predictor;
    const PolicyJoint& policy = joints.policy;
    if (policy.expected_gradient) {
        const std::optional<GradientStatistics> gradient = policy.expected_gradient(policy.part, job);
        const auto ask = [&](std::span<Option> asked) {
            predictor.predict_with(predictor.part, job, model, asked, gradient);
        };
        predict_options(joints.maker, job, gradient, options, std::cref(ask));  // cref: no allocation
    } else {
        const auto ask = [&](std::span<Option> asked) {
            predictor.predict(predictor.part, job, model, asked);
        };
        predict_options(joints.maker, job, job.gradient, options, std::cref(ask));
    }
}

/// Predicts one option as the job would run it now, with its present gradient statistics. If the option is
/// what the job holds, the job keeps its running batch plan as long as the predictor says so
/// (KeepsRunningPlans). If the predictor or the maker fails, the option stays unchanged and the function
/// returns false.
inline bool predict_one(const Joints& joints, const Snapshot& snapshot, std::size_t j, bool keeps_plan,
                        Option& option) {
    const Job& job = snapshot.jobs[j];
    const JobModel& model = model_of(snapshot, j);
    const PredictorJoint& predictor = joints.predictor;
    const auto ask = [&](std::span<Option> options) {
        predictor.predict(predictor.part, job, model, options);
        if (!keeps_plan || !predictor.keep_running_plan) return;
        for (Option& asked : options)
            if (asked.configuration.same_gpus(configuration_of(job.placement, snapshot.cluster)))
                predictor.keep_running_plan(predictor.part, job, model, asked);
    };
    Option predicted = option;
    if (!detail::contained([&] {
            predict_options(joints.maker, job, job.gradient, std::span<Option>(&predicted, 1),
                            std::cref(ask));
        }))
        return false;
    joints.factor.apply(joints.factor.part, job, predicted);
    if (!std::isfinite(predicted.goodput)) return false;
    option = predicted;
    return true;
}

}  // namespace goodput::inline v0_1

// The cost of moving a job to the same GPUs on other nodes.

namespace goodput::inline v0_1::detail {

/// Returns the cost of a move of a job in seconds, limited to the range that placers accept.
inline double move_cost(const Job& job) { return std::min(job.restart_cost_seconds, 1e9); }

/// Whether a configuration has the same GPUs as the job with that index holds.
inline bool is_held(const Snapshot& snapshot, std::size_t j, const Configuration& configuration) {
    return configuration.same_gpus(configuration_of(snapshot.jobs[j].placement, snapshot.cluster));
}

/// Returns the cost of the move if the job keeps the same GPUs on other nodes, or else 0.
inline double move_cost_of(const Snapshot& snapshot, std::size_t j, const Placement& placement) {
    const Job& job = snapshot.jobs[j];
    const bool moves = !job.placement.empty() && placement != job.placement &&
                       is_held(snapshot, j, configuration_of(placement, snapshot.cluster));
    return moves ? move_cost(job) : 0;
}

}  // namespace goodput::inline v0_1::detail

#include "goodput/schedule/detail/fill_joints.hpp"

#endif
