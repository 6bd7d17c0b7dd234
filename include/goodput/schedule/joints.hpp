#ifndef GOODPUT_SCHEDULE_JOINTS_HPP
#define GOODPUT_SCHEDULE_JOINTS_HPP

// The border between a Scheduler's parts, which are types of the user's, and the engine that plans a round,
// which is plain code (round_engine.hpp). A joint is one part, and what it can do, as pointers to
// functions. A part need not have every function: the pointer of one that it lacks is null. joint_of() fills
// a joint; it is all that is compiled anew for a part of one's own.
//
// Joints point to the part that they were made of, and are good as long as it stays where it is.

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

namespace goodput {

namespace detail {

// What only some rounds need hangs at the joint of the part that needs it, so that others compile without.
class AskedOptions;
struct AskedRound;
class DomainBlocks;
class Offers;
class OpenNodes;
class PriceGroups;

/// Asks a maker for options and allots (asked_options.hpp).
void allot_asked(Kept<AskedOptions>& kept, const AskedRound& asked, const AllotOptions& options, bool again,
                 AllotResult& result);
/// Finds the rows for jobs that have to stay within a domain (domain_blocks.hpp).
void find_domain_blocks(DomainBlocks& blocks, const Topology& topology, const Snapshot& snapshot,
                        const OpenNodes& open, const Offers& offers);
/// Whether nodes of one pool cost unlike. If so, the kept snapshot has those of one price in a group
/// (price_groups.hpp).
bool find_price_groups(Kept<PriceGroups>& kept, const Snapshot& snapshot);

}  // namespace detail

/// Is told that a policy threw: for which row, which of its options (no_index: all of them), and what.
using PolicyFailed = std::function<void(std::size_t row, std::size_t option, std::string what)>;

/// What options are worth (policy/concepts.hpp).
struct PolicyJoint {
    const void* part = nullptr;  ///< the policy
    /// Fills all rows, times the jobs' weights. What the policy throws goes to the last argument.
    void (*values)(const void*, const Round&, std::span<const OptionRow>, const PolicyFailed&) = nullptr;
    /// GrowthLimit
    int (*most_gpus)(const void*, const Job&, const JobModel&, std::size_t gpu_type) = nullptr;
    /// GradientForecast
    std::optional<GradientStatistics> (*expected_gradient)(const void*, const Job&) = nullptr;
    /// Null where the policy says for each job what it gets: its other options are worth nothing then.
    double (*value_beside)(const void*, const Round&, const OptionRow&, const Option&) = nullptr;
    bool by_round = false;  ///< it values all jobs beside each other

    /// Whether the policy says for each job what it gets.
    [[nodiscard]] bool chooses() const { return value_beside == nullptr; }
};

/// How good options are (schedule/concepts.hpp).
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

/// What jobs are offered (schedule/makers.hpp).
struct MakerJoint {
    void* part = nullptr;  ///< the maker
    /// OptionMaker
    void (*list)(void*, const Round&, const Job&, std::span<const int> most_gpus,
                 std::vector<Option>&) = nullptr;
    /// Tells it that a round begins.
    void (*begin_round)(void*, const Round&) = nullptr;
    /// KeptMaker
    void (*list_kept)(void*, const Round&, const Job&, std::vector<Option>&) = nullptr;
    /// PricedOptionMaker
    double (*ask)(void*, const Round&, const Job&, std::span<const int> most_gpus, const AtPrices&,
                  double least, std::vector<Option>&) = nullptr;
    /// Where there is `ask`: allots with what it answers.
    void (*allot_asked)(detail::Kept<detail::AskedOptions>&, const detail::AskedRound&, const AllotOptions&,
                        bool again, AllotResult&) = nullptr;
    /// PredictingMaker
    void (*predict)(void*, const Job&, const std::optional<GradientStatistics>&, std::span<Option>,
                    const AskPredictor&) = nullptr;
    /// ReasonMaker
    std::string (*why_none)(void*, const Round&, const Job&) = nullptr;
    /// Whether a job that is offered nothing waits, and is not impossible.
    bool (*lets_wait)(void*, const Job&) = nullptr;
    /// DeclaresJobInputs
    void (*name_inputs)(const void*, const Job&, detail::Question&) = nullptr;
};

/// What is limited besides GPUs (schedule/limits.hpp).
struct LimitsJoint {
    void* part = nullptr;  ///< all limits
    /// Whether any of them limits dollars.
    bool (*counts_dollars)(const void*) = nullptr;
    /// Where one of them may: puts nodes of one price into groups.
    bool (*find_price_groups)(detail::Kept<detail::PriceGroups>&, const Snapshot&) = nullptr;
    /// Collects their rows, which follow `first` others.
    void (*rows)(void*, const Round&, std::size_t first, LimitRows&) = nullptr;
    /// Tells them which job the next options are of.
    void (*start_job)(void*, const Round&, const Job&) = nullptr;
    /// Appends what an option takes of the rows.
    void (*uses)(void*, const Round&, const Job&, const Option&, std::vector<ResourceUse>&) = nullptr;
    /// Adds what is probably a slip.
    void (*warn)(const void*, const Round&, std::vector<std::string>&) = nullptr;
};

/// What else changes the goodput (schedule/concepts.hpp).
struct FactorJoint {
    void* part = nullptr;  ///< all factors
    /// Whether any of them changes anything in this round.
    bool (*begin_round)(void*, const Round&) = nullptr;
    /// Changes the goodput of an option.
    void (*apply)(void*, const Job&, Option&) = nullptr;
};

/// Which nodes (place/request.hpp).
struct PlacerJoint {
    void* part = nullptr;  ///< the placer
    /// Placer. The answer is the placer's own, or in the last argument.
    const PlacementResult& (*place)(void*, const Cluster&, std::span<const PlacementRequest>,
                                    PlacementResult&) = nullptr;
    /// KnowsTopology
    bool (*lies_within)(const void*, const std::string& level, const Placement&) = nullptr;
    /// The topology that it keeps to.
    const Topology& (*topology)(const void*) = nullptr;
    /// Where there is a topology: the rows that it makes.
    void (*find_domain_blocks)(detail::DomainBlocks&, const Topology&, const Snapshot&,
                               const detail::OpenNodes&, const detail::Offers&) = nullptr;
    /// Tells it how much time it has.
    void (*set_time)(void*, std::optional<std::chrono::nanoseconds>) = nullptr;
    /// Adds what is probably a slip.
    void (*warn)(const void*, std::span<const Job>, std::vector<std::string>&) = nullptr;
};

/// Which option for each job (schedule/concepts.hpp).
struct SolverJoint {
    void* part = nullptr;  ///< the solver
    /// AllotmentSolver
    void (*solve)(void*, const AllotmentProblem&, const AllotOptions&, AllotResult&) = nullptr;
    /// Whether it leaves GPUs idle on purpose.
    bool (*keeps_idle)(const void*) = nullptr;
};

/// What happens once the nodes are known (schedule/concepts.hpp); by default nothing.
struct StationJoint {
    void* part = nullptr;  ///< the station
    /// NodeStation
    void (*run)(void*, const Round&, const AllotmentProblem&, std::span<PlacedJob>) = nullptr;
    /// Tells it how much time it has.
    void (*set_time)(void*, std::optional<std::chrono::nanoseconds>) = nullptr;
    /// KnowsRoom
    bool (*has_room)(void*, const Configuration&, const NodeShare&) = nullptr;
    /// KnowsRoom
    void (*take)(void*, const Configuration&, const Placement&) = nullptr;
};

/// All parts of a round.
struct Joints {
    PolicyJoint policy{};        ///< what options are worth
    PredictorJoint predictor{};  ///< how good they are
    MakerJoint maker{};          ///< what jobs are offered
    LimitsJoint limits{};        ///< what is limited besides GPUs
    FactorJoint factor{};        ///< what else changes the goodput
    PlacerJoint placer{};        ///< which nodes
    SolverJoint solver{};        ///< which option for each job
    StationJoint station{};      ///< what happens once the nodes are known
};

// What the parts of a round say of one job: how large it may become, and how good its options are.

/// Most GPUs of each type that the policy offers a job this round.
inline void find_most_gpus(const PolicyJoint& policy, const Snapshot& snapshot, std::size_t job,
                           std::vector<int>& most) {
    most.assign(snapshot.cluster.gpu_types.size(), std::numeric_limits<int>::max());
    for (std::size_t type = 0; policy.most_gpus && type < most.size(); ++type)
        most[type] = policy.most_gpus(policy.part, snapshot.jobs[job], model_of(snapshot, job), type);
}

/// Fills in options of a job as their maker does, or else as `ask(options)` does.
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
        predict_options(joints.maker, job, gradient, options, std::cref(ask));  // which takes no memory
    } else {
        const auto ask = [&](std::span<Option> asked) {
            predictor.predict(predictor.part, job, model, asked);
        };
        predict_options(joints.maker, job, job.gradient, options, std::cref(ask));
    }
}

/// Predicts one option as the job would run it now: with its present gradient statistics and, on the GPUs
/// that it holds, with the batch plan that it runs with, where the predictor says how long it keeps that.
/// Where predictor or maker fails the option stays as it is, and the answer is false.
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

}  // namespace goodput

// What it costs a job to get the same GPUs on other nodes.

namespace goodput::detail {

/// Seconds that a move of a job costs, as far as placers take them.
inline double move_cost(const Job& job) { return std::min(job.restart_cost_seconds, 1e9); }

/// Whether a configuration has the GPUs that the job of that index holds.
inline bool is_held(const Snapshot& snapshot, std::size_t j, const Configuration& configuration) {
    return configuration.same_gpus(configuration_of(snapshot.jobs[j].placement, snapshot.cluster));
}

/// Who holds the same GPUs, but on other nodes, pays for the move.
inline double move_cost_of(const Snapshot& snapshot, std::size_t j, const Placement& placement) {
    const Job& job = snapshot.jobs[j];
    const bool moves = !job.placement.empty() && placement != job.placement &&
                       is_held(snapshot, j, configuration_of(placement, snapshot.cluster));
    return moves ? move_cost(job) : 0;
}

}  // namespace goodput::detail

#include "goodput/schedule/detail/fill_joints.hpp"

#endif
