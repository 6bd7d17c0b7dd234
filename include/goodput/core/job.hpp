#ifndef GOODPUT_CORE_JOB_HPP
#define GOODPUT_CORE_JOB_HPP

// A training job as the scheduler sees it at the moment of a decision.

#include <algorithm>
#include <any>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/host.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/core/tasks.hpp"

namespace goodput {

/// What a decision may change about a job (Sia's classes of adaptivity).
enum class Adaptivity {
    batch,  ///< GPU type, number of GPUs and batch size
    gpus,   ///< GPU type and number of GPUs; the total batch size stays (strong scaling)
    none    ///< only the GPU type; the number of GPUs is max_gpus, the total batch size stays
};

/// What a job may use on one GPU type.
struct TypeLimits {
    int min_atomic_batch = 1;                         ///< least examples per GPU and step
    int max_atomic_batch = 0;                         ///< 0: the job cannot run on this GPU type
    int gpus_per_replica = 1;                         ///< pipeline stages; 1 for data parallelism
    int max_nodes = std::numeric_limits<int>::max();  ///< over which it may be spread
    /// Examples/s of one replica at its largest batch, as profiled before the first run; 0: unknown. Counts
    /// where a model of another GPU type is scaled to this one (model/goodput_predictor.hpp), and in
    /// JobHistory::begin(), as a measurement for refined models (JobMemory); by itself it makes no
    /// model.
    double reference_rate = 0;
    /// Of max_nodes, those that jobs which keep what they hold leave to it this round (limit_to_domains()).
    int nodes_now = std::numeric_limits<int>::max();

    /// Over how many nodes it may be spread this round.
    [[nodiscard]] int most_nodes() const { return std::min(max_nodes, nodes_now); }
};

/// What a scheduler knows of a job, and where it runs. Defaults are those of a job that waits.
struct Job {
    std::string name{};  ///< unique among the round's jobs
    /// Jobs of one kind are believed to be runs of one program: what some of them show of their speed and
    /// size is expected of the others (schedule/job_kinds.hpp). Empty: those with the same limits are.
    std::string kind{};
    double submitted_seconds = 0;               ///< on the clock of Snapshot::time_seconds
    int restarts = 0;                           ///< so far; the first start is none
    double restart_cost_seconds = 0;            ///< what one more would cost
    double attained_gpu_seconds = 0;            ///< GPU-seconds that it has held so far
    int min_gpus = 1;                           ///< fewest that it may hold
    int max_gpus = 1;                           ///< most that it may hold: left at 1, one GPU, elastic or not
    Adaptivity adaptivity = Adaptivity::batch;  ///< what a decision may change
    int initial_batch = 0;                      ///< total batch size that efficiency is relative to
    /// Largest total batch size, which no plan exceeds; 0: no limit, for the classes that have a target.
    int max_batch = 0;
    /// Largest total batch that the owner wants at present, where the batch is tuned: no plan exceeds it.
    /// JobMemory::take_in() writes it when the owner says so (JobNews::wanted_batch), and it stays until
    /// then. 0: no wish, only max_batch counts.
    int wanted_batch = 0;
    int target_batch = 0;                 ///< total batch size of the classes that do not tune it
    bool single_gpu_accumulates = false;  ///< see BatchLimits
    std::vector<TypeLimits> types{};      ///< by GPU type, as many as Cluster::gpu_types
    std::optional<GradientStatistics>
        gradient{};           ///< at the initial batch size; none, or both 0: not measured
    bool preemptible = true;  ///< false: keeps what it holds
    bool restarting = false;  ///< in the middle of a restart: keeps what it holds this round
    /// Once started it keeps what it holds for so long, so that what a start costs is worth something. 0: it
    /// may be stopped at any time.
    double minimum_run_seconds = 0;
    /// That time has not passed yet: it keeps what it holds this round. JobMemory::take_in() writes it for
    /// jobs with minimum_run_seconds that it has seen started.
    bool just_started = false;
    Placement placement{};  ///< where it runs now; empty: it waits
    /// The batch plan that it runs with there (RunningPlans), which it keeps unless another pays
    /// (least_plan_gain); {0, 0}: not known.
    BatchPlan running_plan{};
    /// Why it is to be left as it is this round: it keeps what it holds, or waits, and nothing else of it is
    /// looked at. Empty: it is planned.
    std::string set_aside{};
    /// It is given one of its options, whatever that is worth to the policy, as long as all who must run fit
    /// beside those that keep what they hold. It is offered what the maker lists, and what it holds only
    /// where that is listed.
    bool must_run = false;
    /// Useful examples still to do, where the user declared the job's total work.
    std::optional<double> remaining_examples{};
    /// Useful examples done so far, where the job reports them.
    std::optional<double> done_examples{};
    /// Useful examples that it is expected to need still, by what other jobs have shown (JobSizes); none:
    /// nothing is known.
    std::optional<double> expected_examples{};
    /// The gradient statistics that jobs like it begin with, as far as other jobs have shown (JobSizes).
    std::optional<GradientStatistics> usual_gradient{};
    /// By GPU type: seconds of its share of time there that it has not had yet, below 0 where it had more
    /// (share/time_sharing.hpp); empty: nothing is owed.
    std::vector<double> owed_seconds{};
    std::string team{};               ///< whose quota it counts in (TeamQuotas); empty: none
    double weight = 1;                ///< factor on its values, above 0
    std::optional<HostNeeds> host{};  ///< cores and memory beside its GPUs; none: its share of the node's
    /// Ways in which it can save its state, of which the best is chosen where nodes are interrupted. Empty:
    /// assumed_checkpoint().
    std::vector<CheckpointMechanism> checkpoints{};
    /// Seconds of training between two checkpoints, above 0, where that is not to be chosen.
    std::optional<double> checkpoint_seconds{};
    bool spot_allowed = true;  ///< false: it is offered nothing on spot nodes
    /// Name of the level of the topology (TopologyLevel::name) within one domain of which all its nodes have
    /// to lie, for example "rack"; empty, or no such level: anywhere. Needs a TopologyPlacer; where what it
    /// was allotted cannot be laid out so, it waits. limit_to_domains() keeps offers within reach.
    std::string within{};
    std::optional<JobTasks> tasks{};  ///< where it is many tasks of one GPU each; none: it is not
    std::any user{};  ///< for policies, limits and makers of the user's own; copied with the job

    /// Largest total batch that a plan may choose now; 0: no limit.
    [[nodiscard]] int largest_batch() const {
        return wanted_batch > 0 && adaptivity == Adaptivity::batch ? std::min(max_batch, wanted_batch)
                                                                   : max_batch;
    }
    /// A decision has to leave it where it is.
    [[nodiscard]] bool keeps_what_it_holds() const {
        return !placement.empty() && (!preemptible || restarting || just_started);
    }
};

/// How a job is taken to save its state that does not say so. A restart saves the state, starts and restores:
/// a checkpoint is taken to stop the job for half of what a restart costs, and a start after an interruption
/// to take as long as any. A job whose restarts cost nothing loses nothing.
[[nodiscard]] inline CheckpointMechanism assumed_checkpoint(const Job& job) {
    return {.name = "full",
            .pause_seconds = job.restart_cost_seconds / 2,
            .restore_seconds = job.restart_cost_seconds};
}

/// Refuses a job that no scheduler could make sense of (std::invalid_argument naming job, field and value).
inline void validate(const Job& job, const Cluster& cluster) {
    const auto subject = [&] { return "job '" + job.name + "'"; };
    if (job.name.empty()) bad_input("job", "name", "empty", "a name of its own");
    if (!std::isfinite(job.submitted_seconds))
        bad_input(subject(), "submitted_seconds", job.submitted_seconds, "finite");
    require_between(subject, "restarts", job.restarts, 0, std::numeric_limits<int>::max());
    require_at_least(subject, "restart_cost_seconds", job.restart_cost_seconds, 0);
    require_at_least(subject, "minimum_run_seconds", job.minimum_run_seconds, 0);
    require_at_least(subject, "attained_gpu_seconds", job.attained_gpu_seconds, 0);
    require_between(subject, "min_gpus", job.min_gpus, 1, 1 << 20);
    require_between(subject, "max_gpus", job.max_gpus, job.min_gpus, 1 << 20);
    require_between(subject, "initial_batch", job.initial_batch, 1, 1 << 30);
    if (job.adaptivity == Adaptivity::batch) {
        require_between(subject, "max_batch", job.max_batch, job.initial_batch, 1 << 30);
        if (job.wanted_batch != 0)
            require_between(subject, "wanted_batch", job.wanted_batch, job.initial_batch, 1 << 30);
    } else {
        require_between(subject, "target_batch", job.target_batch, 1, 1 << 30);
    }
    if (job.types.size() != cluster.gpu_types.size())
        bad_input(subject(), "size of types", job.types.size(),
                  text_of(cluster.gpu_types.size()) + ", one for each GPU type of the cluster");
    for (std::size_t t = 0; t < job.types.size(); ++t) {
        const TypeLimits& limits = job.types[t];
        if (limits.max_atomic_batch == 0) continue;
        const auto of = [&] { return subject() + " on " + cluster.gpu_types[t]; };
        require_between(of, "min_atomic_batch", limits.min_atomic_batch, 1, 1 << 30);
        require_between(of, "max_atomic_batch", limits.max_atomic_batch, limits.min_atomic_batch, 1 << 30);
        require_between(of, "gpus_per_replica", limits.gpus_per_replica, 1, 1 << 20);
        require_between(of, "max_nodes", limits.max_nodes, 1, std::numeric_limits<int>::max());
        require_between(of, "nodes_now", limits.nodes_now, 1, std::numeric_limits<int>::max());
        require_at_least(of, "reference_rate", limits.reference_rate, 0);
    }
    require_between(subject, "weight", job.weight, 1e-9, 1e9);
    if (job.host) validate(*job.host, subject);
    for (const CheckpointMechanism& mechanism : job.checkpoints) validate(mechanism, subject);
    if (job.checkpoint_seconds) require_positive(subject, "checkpoint_seconds", *job.checkpoint_seconds);
    if (job.tasks) validate(*job.tasks, subject);
    require_between(subject, "running_plan.atomic_batch", job.running_plan.atomic_batch, 0, 1 << 30);
    require_between(subject, "running_plan.accumulation_steps", job.running_plan.accumulation_steps, 0,
                    1 << 20);
    if (job.gradient) validate(*job.gradient, subject);
    if (job.usual_gradient) validate(*job.usual_gradient, subject);
    if (job.remaining_examples) require_at_least(subject, "remaining_examples", *job.remaining_examples, 0);
    if (job.done_examples) require_at_least(subject, "done_examples", *job.done_examples, 0);
    for (const double owed : job.owed_seconds)
        if (!std::isfinite(owed)) bad_input(subject(), "owed_seconds", owed, "finite");
    if (job.expected_examples) require_at_least(subject, "expected_examples", *job.expected_examples, 0);
    for (std::size_t i = 0; i < job.placement.size(); ++i) {
        const NodeShare& share = job.placement[i];
        if (share.node >= cluster.nodes.size() || (i > 0 && share.node <= job.placement[i - 1].node))
            bad_input(subject(), "placement.node", share.node,
                      "an index into the cluster's nodes, ascending");
        require_between(subject, "placement.gpus", share.gpus, 1, cluster.nodes[share.node].gpus);
    }
}

}  // namespace goodput

#endif
