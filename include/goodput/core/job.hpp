#ifndef GOODPUT_CORE_JOB_HPP
#define GOODPUT_CORE_JOB_HPP

// A training job as the scheduler sees it when it decides.

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

namespace goodput::inline v0_1 {

/// The properties of a job that a decision may change (the classes of adaptivity in the Sia paper).
enum class Adaptivity {
    batch,  ///< GPU type, number of GPUs and batch size
    gpus,   ///< GPU type and number of GPUs; the total batch size is fixed (strong scaling)
    none    ///< only the GPU type; the number of GPUs is max_gpus, and the total batch size is fixed
};

/// The limits of a job on one GPU type.
struct TypeLimits {
    int min_atomic_batch = 1;  ///< fewest examples per GPU and step
    int max_atomic_batch = 0;  ///< most examples per GPU and step; 0: the job cannot run on this GPU type
    int gpus_per_replica = 1;  ///< pipeline stages; 1 for data parallelism
    int max_nodes = std::numeric_limits<int>::max();  ///< largest number of nodes that the job may span
    /// Examples per second of one replica at its largest batch, as profiled before the first run; 0 if
    /// unknown. It scales a model of another GPU type to this one (model/goodput_predictor.hpp). JobMemory
    /// also makes a refined model from it, as from a measurement (JobHistory::begin() and refit()). A
    /// Scheduler alone makes no model from it.
    double reference_rate = 0;
    /// The part of max_nodes that pinned jobs (jobs that keep what they hold) leave to this job in this
    /// round. limit_to_domains() sets it.
    int nodes_now = std::numeric_limits<int>::max();

    /// Largest number of nodes that the job may span in this round.
    [[nodiscard]] int most_nodes() const { return std::min(max_nodes, nodes_now); }
};

/// Everything that a scheduler knows about a job, and where the job runs. The defaults describe a waiting
/// job.
struct Job {
    std::string name{};  ///< unique among the round's jobs
    /// Jobs of one kind are believed to run one program, so measurements of some predict the speed and size
    /// of the others (schedule/job_kinds.hpp). If empty, jobs with the same limits are one kind.
    std::string kind{};
    double submitted_seconds = 0;               ///< submission time, on the clock of Snapshot::time_seconds
    int restarts = 0;                           ///< restarts so far; the first start does not count
    double restart_cost_seconds = 0;            ///< seconds that one more restart would cost
    double attained_gpu_seconds = 0;            ///< GPU-seconds that it has held so far
    int min_gpus = 1;                           ///< smallest number of GPUs that it may hold
    int max_gpus = 1;                           ///< largest number of GPUs that it may hold, elastic or not
    Adaptivity adaptivity = Adaptivity::batch;  ///< what a decision may change
    int initial_batch = 0;                      ///< total batch size that efficiency is relative to
    /// Largest total batch size of any plan; 0: no limit, for the classes with a target batch.
    int max_batch = 0;
    /// Largest total batch size that the owner wants at present, for a job whose batch is tuned. No plan
    /// exceeds it. JobMemory::take_in() writes it when the owner changes it (JobNews::wanted_batch). 0: no
    /// wish, only max_batch counts.
    int wanted_batch = 0;
    int target_batch = 0;                 ///< total batch size of a job whose batch is not tuned
    bool single_gpu_accumulates = false;  ///< see BatchLimits
    std::vector<TypeLimits> types{};      ///< limits by GPU type, as many as Cluster::gpu_types
    std::optional<GradientStatistics>
        gradient{};           ///< at the initial batch size; empty, or both numbers 0, if not measured
    bool preemptible = true;  ///< false: the job keeps what it holds
    bool restarting = false;  ///< in the middle of a restart: the job keeps what it holds in this round
    /// Seconds after a start during which the job keeps what it holds, so that its useful work outweighs
    /// the cost of the start. 0: the job may be stopped at any time.
    double minimum_run_seconds = 0;
    /// Whether less than minimum_run_seconds have passed since the start, so that the job keeps what it
    /// holds in this round. JobMemory::take_in() writes it for jobs with minimum_run_seconds whose start it
    /// has seen.
    bool just_started = false;
    Placement placement{};  ///< where it runs now; empty if it waits
    /// The batch plan that the job runs with now (RunningPlans); {0, 0} if not known. The job keeps this
    /// plan unless another one has a goodput that is sufficiently larger (least_plan_gain).
    BatchPlan running_plan{};
    /// The reason why this round leaves the job as it is. If set, the job keeps what it holds, or waits,
    /// and its other fields are ignored. If empty, the job is planned.
    std::string set_aside{};
    /// Whether the job must get one of its options, however little the policy values it, as long as all
    /// such jobs fit next to the pinned jobs. Its options are those that the maker lists
    /// (schedule/makers.hpp). What it holds is an option only if the maker lists it.
    bool must_run = false;
    /// Useful examples left to do, if the user declared the job's total work.
    std::optional<double> remaining_examples{};
    /// Useful examples done so far, if the job reports them.
    std::optional<double> done_examples{};
    /// Useful examples that the job probably still needs, estimated from other jobs (JobSizes). Empty if
    /// nothing is known.
    std::optional<double> expected_examples{};
    /// Gradient statistics that similar jobs begin with, estimated from other jobs (JobSizes).
    std::optional<GradientStatistics> usual_gradient{};
    /// By GPU type: seconds of its share of time on that type that the job has not had yet; negative if it
    /// had more than its share (share/time_sharing.hpp). Empty if nothing is owed.
    std::vector<double> owed_seconds{};
    std::string team{};               ///< team whose quota its GPUs count against (TeamQuotas); empty if none
    double weight = 1;                ///< factor on the job's values, above 0
    std::optional<HostNeeds> host{};  ///< cores and memory per GPU; if empty, its share of the node's
    /// The mechanisms by which the job can save its state. If nodes are interrupted, the best one is
    /// chosen. If empty, assumed_checkpoint() is used.
    std::vector<CheckpointMechanism> checkpoints{};
    /// Seconds of training between two checkpoints, above 0. If empty, the interval is chosen.
    std::optional<double> checkpoint_seconds{};
    bool spot_allowed = true;  ///< false: the job gets no options on spot nodes
    /// Name of a topology level (TopologyLevel::name), for example "rack". All nodes of the job must lie in
    /// one domain of this level, for which a TopologyPlacer is needed. If the placer finds no such layout
    /// for the job's allotment, the job waits. limit_to_domains() restricts the offers to what can fit. If
    /// the name is empty, or no such level exists, the nodes may be anywhere.
    std::string within{};
    std::optional<JobTasks> tasks{};  ///< set if the job consists of many tasks of one GPU each
    std::any user{};  ///< data of the user's own policies, limits and makers; copied with the job

    /// Largest total batch size that a plan may use now; 0: no limit.
    [[nodiscard]] int largest_batch() const {
        return wanted_batch > 0 && adaptivity == Adaptivity::batch ? std::min(max_batch, wanted_batch)
                                                                   : max_batch;
    }
    /// The fewest GPUs that the job may be given: a rigid job always has max_gpus.
    [[nodiscard]] int fewest_gpus() const { return adaptivity == Adaptivity::none ? max_gpus : min_gpus; }
    /// Useful examples that are left: the declared ones, or else the expected ones, if either is known.
    [[nodiscard]] const std::optional<double>& examples_left() const {
        return remaining_examples ? remaining_examples : expected_examples;
    }
    /// Whether every decision must leave the job where it is.
    [[nodiscard]] bool keeps_what_it_holds() const {
        return !placement.empty() && (!preemptible || restarting || just_started);
    }
};

/// Returns the mechanism assumed for a job that declares none. A restart saves the state, starts and
/// restores. Therefore a checkpoint is assumed to stop the job for half the cost of a restart, and a start
/// after an interruption is assumed to take as long as any restart. If the restarts of a job cost nothing,
/// its checkpoints cost nothing either.
[[nodiscard]] inline CheckpointMechanism assumed_checkpoint(const Job& job) {
    return {.name = "full",
            .pause_seconds = job.restart_cost_seconds / 2,
            .restore_seconds = job.restart_cost_seconds};
}

/// Throws std::invalid_argument if no scheduler could handle the job. The message names job, field and
/// value.
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
        const auto subject_on_type = [&] { return subject() + " on " + cluster.gpu_types[t]; };
        require_between(subject_on_type, "min_atomic_batch", limits.min_atomic_batch, 1, 1 << 30);
        require_between(subject_on_type, "max_atomic_batch", limits.max_atomic_batch, limits.min_atomic_batch,
                        1 << 30);
        require_between(subject_on_type, "gpus_per_replica", limits.gpus_per_replica, 1, 1 << 20);
        require_between(subject_on_type, "max_nodes", limits.max_nodes, 1, std::numeric_limits<int>::max());
        require_between(subject_on_type, "nodes_now", limits.nodes_now, 1, std::numeric_limits<int>::max());
        require_at_least(subject_on_type, "reference_rate", limits.reference_rate, 0);
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

}  // namespace goodput::inline v0_1

#endif
