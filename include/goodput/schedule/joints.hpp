#ifndef GOODPUT_SCHEDULE_JOINTS_HPP
#define GOODPUT_SCHEDULE_JOINTS_HPP

// The border between a Scheduler's parts, which are types of the user's, and the engine that plans a round,
// which is plain code (round_engine.hpp). A joint is one part, and what it can do, as pointers to
// functions. A part need not have every function: the pointer of one that it lacks is null. joint_of() fills
// a joint; it is all that is compiled anew for a part of one's own.
//
// Joints point to the part that they were made of, and are good as long as it stays where it is.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/place/concepts.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/question.hpp"
#include "goodput/schedule/goodput_factor.hpp"
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

/// What else changes the goodput (schedule/goodput_factor.hpp).
struct FactorJoint {
    void* part = nullptr;  ///< all factors
    /// Whether any of them changes anything in this round.
    bool (*begin_round)(void*, const Round&) = nullptr;
    /// Changes the goodput of an option.
    void (*apply)(void*, const Job&, Option&) = nullptr;
};

/// Which nodes (place/concepts.hpp).
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

}  // namespace goodput

#include "goodput/schedule/detail/fill_joints.hpp"

#endif
