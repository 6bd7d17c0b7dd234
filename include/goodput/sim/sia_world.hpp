#ifndef GOODPUT_SIM_SIA_WORLD_HPP
#define GOODPUT_SIM_SIA_WORLD_HPP

// Sia's world: jobs are runs of applications with measured or modelled step times and gradient statistics
// (application.hpp). They measure their steps and their gradient, fit models as a modelling says
// (modelling.hpp), and choose their batch. The rules are those of Sia's public simulator.
//
// Checkpoints are free. They are taken at the end of an epoch, when a decision stops the job (its restart
// cost includes this), and after every `checkpoint_seconds` of training since the last one. Epochs last
// from seconds to hours, so neither epochs nor a period alone would match what trainers do. A failure takes
// the job back to its last checkpoint; it keeps the measurements of its speed.
//
// SiaRules::checkpoints may give checkpoints the cost of a mechanism: pauses, slower training while a state
// is written, and the time to restore it. Then no checkpoint is taken at the end of an epoch.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/sim/application.hpp"
#include "goodput/sim/detail/paid_checkpoints.hpp"
#include "goodput/sim/interruptions.hpp"
#include "goodput/sim/modelling.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/sim/world.hpp"

namespace goodput::inline v0_1 {

/// What checkpoints cost in Sia's world, and when they are taken.
enum class CheckpointRule {
    free,   ///< no cost: after every `checkpoint_seconds` of training, and at the end of an epoch
    fixed,  ///< the mechanism's cost: after every `checkpoint_seconds` of training
    chosen  ///< the mechanism's cost: as often as the last decision says, or as if fixed if it says nothing
};

/// How jobs of Sia's world report the work that they have left.
enum class WorkReport {
    declared,  ///< all of it, exactly
    estimated  ///< the expectation from their metric so far and the totals of their application's ended
               ///< jobs (tasks/learning_curve.hpp); nothing before the first epoch has ended
};

/// The rules for all jobs of Sia's world.
struct SiaRules {
    /// Whether jobs run with the GPUs and the batch size that their owners asked for.
    bool rigid = false;
    int most_gpus_per_job = 64;  ///< largest number of GPUs of any job that is not rigid
    /// Seconds of training between checkpoints within an epoch; may be infinite.
    double checkpoint_seconds = 1800;
    CheckpointRule checkpoints = CheckpointRule::free;  ///< cost and time of checkpoints
    /// How every job can save its state, if that costs anything. If empty, as assumed_checkpoint() says,
    /// with the real cost of a restart.
    std::vector<CheckpointMechanism> mechanisms{};
    WorkReport work = WorkReport::declared;  ///< how jobs report the work that is left
    /// Decides which interruptions are caught, and which checkpoints survive (CheckpointMechanism::caught,
    /// kept).
    std::uint64_t seed = 0;
};

namespace detail {

/// Returns the job of a submission as the scheduler knows it.
inline Job sia_job(const Submission& submission, const Application& application, const SiaRules& rules) {
    Job job;
    job.name = submission.name;
    job.submitted_seconds = submission.time_seconds;
    job.restart_cost_seconds = application.restart_cost_seconds;
    job.adaptivity = rules.rigid ? Adaptivity::none : Adaptivity::batch;
    job.max_gpus = rules.rigid ? submission.gpus : rules.most_gpus_per_job;
    job.initial_batch = application.curve.initial_batch();
    // A given batch may be rounded up to a multiple of the GPUs.
    job.max_batch = rules.rigid ? 0 : std::max(job.initial_batch, submission.batch);
    job.target_batch = submission.batch;
    job.single_gpu_accumulates = true;
    for (const ApplicationOnType& type : application.types)
        job.types.push_back({.min_atomic_batch = type.min_atomic_batch,
                             .max_atomic_batch = type.max_atomic_batch,
                             .max_nodes = type.max_nodes,
                             .reference_rate = type.reference_rate});
    if (rules.checkpoints != CheckpointRule::free) {
        job.checkpoints = rules.mechanisms;
        Job real;
        real.restart_cost_seconds = application.restart_seconds;
        if (job.checkpoints.empty()) job.checkpoints.push_back(assumed_checkpoint(real));
    }
    if (rules.checkpoints == CheckpointRule::fixed) job.checkpoint_seconds = rules.checkpoint_seconds;
    return job;
}

}  // namespace detail

/// The jobs of a trace, for one replay.
template <class Modelling = RefinedModels>
class SiaWorld {
public:
    /// The applications must outlive this world, and have as many GPU types as the cluster. Throws
    /// std::invalid_argument for unknown applications and numbers that are out of range. replay() checks
    /// times and names.
    SiaWorld(const Cluster& cluster, std::span<const Application> applications,
             std::span<const Submission> submissions, const SiaRules& rules = {});
    // The modelling holds pointers into this world.
    SiaWorld(const SiaWorld&) = delete;
    SiaWorld& operator=(const SiaWorld&) = delete;

    // The functions of a world (world.hpp).

    /// Returns the jobs, each with the largest batch that it was seen to use.
    [[nodiscard]] const std::vector<Job>& jobs() const { return known_; }
    /// Trains a job with what it holds. Epochs end on whole seconds.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds);
    /// Returns the part of its work that is done, from 0 to 1.
    [[nodiscard]] double done(std::size_t job) const {
        return trainings_[job].progress / application(job).curve.total_progress();
    }
    /// Reports its work, its gradient and its models.
    void report(std::size_t job, Job& known, JobModel& model) const {
        known.gradient = trainings_[job].gradient;
        known.done_examples = trainings_[job].progress * known.initial_batch;
        known.remaining_examples = remaining_examples(job);
        model = history(job).model();
    }
    /// Returns the work that it reports as left.
    [[nodiscard]] std::optional<double> remaining_examples(std::size_t job) const {
        const Training& training = trainings_[job];
        if (rules_.work == WorkReport::declared)
            return (application(job).curve.total_progress() - training.progress) * known_[job].initial_batch;
        if (training.epoch == 0) return std::nullopt;
        return std::max(training.expected_progress - training.progress, 0.0) * known_[job].initial_batch;
    }
    /// Returns the predictor of the modelling.
    [[nodiscard]] auto predictor() const { return typename Modelling::Predictor(); }
    /// Starts or restarts a job. Returns the seconds that this takes.
    double start(std::size_t job, const Configuration& held) {
        choose_batch(job, held.first());
        Training& training = trainings_[job];
        return std::exchange(training.restores, false) ? training.paid.mechanism().restore_seconds
                                                       : application(job).restart_seconds;
    }
    /// Takes a checkpoint.
    void save(std::size_t job) {
        Training& training = trainings_[job];
        if (pays()) training.paid.save({training.progress, training.epoch});
        training.saved = {training.progress, training.epoch};
        training.since_checkpoint = 0;
    }
    /// Takes the job back to its last checkpoint.
    void fail(std::size_t job) {
        Training& training = trainings_[job];
        if (pays()) {
            const bool caught = training.random.unit() < training.paid.mechanism().caught;
            const bool kept = training.random.unit() < training.paid.mechanism().kept;
            training.saved = training.paid.fail({training.progress, training.epoch}, caught, kept);
            training.restores = true;
        } else {
            training.lost += training.since_checkpoint * training.gpus;
            training.since_checkpoint = 0;
        }
        training.progress = training.saved.progress;
        training.epoch = training.saved.epoch;
    }
    /// Sets how the last decision would have a job save its state.
    void save_like(std::size_t job, const Checkpointing& chosen) {
        if (!pays() || chosen.mechanism >= known_[job].checkpoints.size()) return;
        const bool says = rules_.checkpoints == CheckpointRule::chosen && chosen.interval_seconds > 0;
        trainings_[job].paid.choose(known_[job].checkpoints[chosen.mechanism],
                                    says ? chosen.interval_seconds : rules_.checkpoint_seconds);
    }
    /// Returns the GPU-seconds that a job's checkpoints and failures have cost so far, without starts.
    [[nodiscard]] double lost_gpu_seconds(std::size_t job) const {
        return trainings_[job].lost + trainings_[job].paid.lost_gpu_seconds();
    }

    // Further information about a job.

    /// Returns how it has trained since its last start.
    [[nodiscard]] BatchPlan plan(std::size_t job) const { return trainings_[job].plan; }
    /// Returns the useful examples per second, without starts and checkpoints, that it would make in its
    /// present epoch on GPUs of that type and shape with the batch that its owner asked for; 0 if it cannot
    /// run there.
    [[nodiscard]] double fixed_rate(std::size_t job, const PoolShare& on) const {
        const Job& known = known_[job];
        if (on_type(job, on).max_atomic_batch == 0 || on.shape.nodes > on_type(job, on).max_nodes) return 0;
        const BatchPlan plan = detail::share_of(known.target_batch, on.shape, limits_of(job, on));
        const StepSeconds times = on_type(job, on).seconds(on.shape, plan.atomic_batch);
        return progress_rate(job, plan, on.shape.gpus, times) * known.initial_batch;
    }
    /// Returns the number of complete epochs.
    [[nodiscard]] std::size_t epoch(std::size_t job) const { return trainings_[job].epoch; }
    /// Returns its measurements and fits, or those of its kind.
    [[nodiscard]] const JobHistory& history(std::size_t job) const {
        const Training& training = trainings_[job];
        return training.shared_history ? *training.shared_history : training.own_history;
    }

private:
    struct Training {
        std::size_t application = 0;
        JobHistory own_history;
        JobHistory* shared_history = nullptr;  ///< used instead of own_history if not null; not owned
        detail::SplitMix random;
        BatchPlan plan{};
        std::optional<GradientStatistics> gradient{};
        double progress = 0;  ///< iterations at the initial batch size
        std::size_t epoch = 0;
        double expected_progress = 0;   ///< total progress expected when the last epoch ended
        double since_checkpoint = 0;    ///< seconds of training
        detail::TrainingState saved{};  ///< used with free checkpoints
        int gpus = 0;                   ///< GPUs that it trained on last
        double lost = 0;                ///< GPU-seconds of repeated work, with free checkpoints
        detail::PaidCheckpoints paid{};
        bool restores = false;  ///< its next start follows a failure
    };

    [[nodiscard]] bool pays() const { return rules_.checkpoints != CheckpointRule::free; }
    [[nodiscard]] const Application& application(std::size_t job) const {
        return applications_[trainings_[job].application];
    }
    [[nodiscard]] const ApplicationOnType& on_type(std::size_t job, const PoolShare& on) const {
        return application(job).types[on.gpu_type];
    }
    [[nodiscard]] NoiseScaleEfficiency efficiency(std::size_t job, const GradientStatistics& gradient) const {
        return {static_cast<double>(known_[job].initial_batch), gradient};
    }
    /// Returns the iterations at the initial batch size per second in its present epoch, without
    /// checkpoints.
    [[nodiscard]] double progress_rate(std::size_t job, const BatchPlan& plan, int gpus,
                                       const StepSeconds& times) const {
        const auto total = static_cast<double>(plan.total(gpus));
        const GradientStatistics gradient = application(job).curve.gradient(total, trainings_[job].epoch);
        const double gain = efficiency(job, gradient).efficiency(total) * total / known_[job].initial_batch;
        return gain / times.iteration(plan) / application(job).slowdown;
    }
    [[nodiscard]] BatchLimits limits_of(std::size_t job, const PoolShare& on) const {
        return {known_[job].initial_batch, application(job).curve.max_batch(),
                on_type(job, on).min_atomic_batch, on_type(job, on).largest_batch(on.shape),
                known_[job].single_gpu_accumulates};
    }
    /// Takes the checkpoints due within the next `seconds` of one epoch; only the last one matters.
    void checkpoint_within(Training& training, double rate, double seconds) {
        training.since_checkpoint += seconds;
        if (training.since_checkpoint < rules_.checkpoint_seconds) return;
        training.since_checkpoint = std::fmod(training.since_checkpoint, rules_.checkpoint_seconds);
        training.saved = {training.progress + rate * std::max(seconds - training.since_checkpoint, 0.0),
                          training.epoch};
    }
    void estimate(std::size_t job);
    void measure(std::size_t job, const PoolShare& on, StepSeconds times) {
        Training& training = trainings_[job];
        if (history(job).has_measured(on.gpu_type, on.shape, training.plan.atomic_batch)) return;
        ThroughputSample sample{on.shape, training.plan, times.step, times.sync};
        if (!on_type(job, on).sync_measured) sample.sync_known = false, sample.sync_seconds = 0;
        training.shared_history = modelling_.add(known_[job], training.own_history, on.gpu_type, sample);
    }
    void choose_batch(std::size_t job, const PoolShare& on);

    SiaRules rules_;
    std::span<const Application> applications_;
    Modelling modelling_;
    std::vector<Job> known_;
    std::vector<Training> trainings_;
    std::vector<std::vector<double>> ended_;  // by application: totals of jobs that have ended
};

/// Replays a trace (submissions in the order of their times) in Sia's world under a policy. Jobs are rigid
/// if the policy requires it, otherwise as SiaRules says. See replay() of a world.
template <class Modelling = RefinedModels, Policy P, class Observe = decltype(unobserved)>
ReplayResult replay(const Cluster& cluster, std::span<const Application> applications,
                    std::span<const Submission> submissions, P policy, const ReplayOptions& options = {},
                    Observe observe = unobserved) {
    SiaWorld<Modelling> world(cluster, applications, submissions, {.rigid = runs_rigid_jobs<P>});
    return replay(cluster, world, std::move(policy), options, std::move(observe));
}

// ---------------------------------------------------------------------------------------------------------

template <class Modelling>
SiaWorld<Modelling>::SiaWorld(const Cluster& cluster, std::span<const Application> applications,
                              std::span<const Submission> submissions, const SiaRules& rules)
    : rules_(rules), applications_(applications) {
    require_between("world", "most GPUs a job", rules.most_gpus_per_job, 1, std::numeric_limits<int>::max());
    if (!(rules.checkpoint_seconds > 0))
        bad_input("world", "seconds from checkpoint to checkpoint", rules.checkpoint_seconds, "above 0");
    for (const CheckpointMechanism& mechanism : rules.mechanisms) validate(mechanism);
    for (const Application& application : applications) {
        const auto subject = [&] { return "application '" + application.name + "'"; };
        if (application.types.size() != cluster.gpu_types.size())
            bad_input(subject(), "GPU types", application.types.size(),
                      "as many as the cluster's, " + text_of(cluster.gpu_types.size()));
        require_at_least(subject, "restart", application.restart_seconds, 0);
        for (const double metric : application.metric.by_epoch)
            if (!std::isfinite(metric)) bad_input(subject(), "metric", metric, "finite");
        require_positive(subject, "slowdown", application.slowdown);
    }
    ended_.resize(applications.size());
    for (const Submission& submission : submissions) {
        const auto subject = [&] { return "job '" + submission.name + "'"; };
        if (submission.application >= applications.size())
            bad_input(subject(), "application", submission.application, "one of those given");
        require_between(subject, "num_replicas", submission.gpus, 1, 1 << 20);
        require_between(subject, "batch_size", submission.batch, 1, 1 << 30);
        const Application& application = applications[submission.application];
        const Job& known = known_.emplace_back(detail::sia_job(submission, application, rules));
        trainings_.push_back({submission.application, JobHistory(application.types.size()),
                              modelling_.begin(known), detail::SplitMix(rules.seed, known.name)});
        if (pays()) trainings_.back().paid.choose(known.checkpoints.front(), rules.checkpoint_seconds);
    }
}

template <class Modelling>
std::optional<double> SiaWorld<Modelling>::train(std::size_t job, const Configuration& held, double now,
                                                 double left) {
    Training& training = trainings_[job];
    const TrainingCurve& curve = application(job).curve;
    const PoolShare& on = held.first();
    training.gpus = held.gpus();
    while (left > 0) {
        const StepSeconds times = on_type(job, on).seconds(on.shape, training.plan.atomic_batch);
        training.gradient =
            curve.gradient(static_cast<double>(training.plan.total(held.gpus())), training.epoch);
        measure(job, on, times);
        const double rate =
            progress_rate(job, training.plan, held.gpus(), times) * (pays() ? training.paid.speed() : 1);
        const double spell = pays() ? std::min(left, training.paid.unchanged_seconds()) : left;
        const double goal = curve.progress_after(training.epoch);
        if (training.progress + rate * spell < goal) {
            if (!pays()) checkpoint_within(training, rate, spell);
            training.progress += rate * spell;
            if (pays()) training.paid.pass(spell, training.gpus, {training.progress, training.epoch});
            now += spell;
            left -= spell;
            if (left > 0) continue;  // the batch is chosen once a round and epoch
        } else {
            // Whole seconds, as published: epochs of a short job end on the clock's grid.
            const double needed = rate > 0 ? std::nearbyint((goal - training.progress) / rate) : 0;
            training.progress = goal;
            now += needed;
            left -= needed;
            ++training.epoch;
            estimate(job);
            if (pays())
                training.paid.pass(needed, training.gpus, {training.progress, training.epoch});
            else
                save(job);
            if (training.epoch == curve.epochs()) {
                ended_[training.application].push_back(curve.total_progress());
                return now;
            }
        }
        choose_batch(job, on);
    }
    return std::nullopt;
}

/// Updates the expected total work when an epoch has ended.
template <class Modelling>
void SiaWorld<Modelling>::estimate(std::size_t job) {
    Training& training = trainings_[job];
    if (rules_.work == WorkReport::declared || !(training.progress > 0)) return;
    const MetricCurve& metric = application(job).metric;
    std::vector<CurvePoint> seen;
    for (std::size_t epoch = 0; epoch < std::min(training.epoch, metric.by_epoch.size()); ++epoch)
        if (const double at = application(job).curve.progress_after(epoch);
            at > (seen.empty() ? 0 : seen.back().position))
            seen.push_back({at, metric.by_epoch[epoch]});
    const CurveForecast forecast = forecast_curve(seen, metric.target, training.progress,
                                                  {.earlier_totals = ended_[training.application]});
    // A job at its target may continue for a little.
    training.expected_progress = training.progress + std::max(forecast.remaining, forecast.interval.high / 4);
}

/// Chooses the batch plan with the largest goodput by the job's own model, or the initial batch if it has
/// no model for this GPU type.
template <class Modelling>
void SiaWorld<Modelling>::choose_batch(std::size_t job, const PoolShare& on) {
    Training& training = trainings_[job];
    Job& known = known_[job];
    const BatchLimits limits = limits_of(job, on);
    const TypeModel& model = history(job).model().types[on.gpu_type];
    BestPlan best;
    if (!rules_.rigid && measured_gradient(training.gradient) && model.most_replicas > 0)
        best = modelling_.best_plan(model, efficiency(job, *training.gradient), on.shape, limits);
    training.plan =
        best.goodput > 0
            ? best.plan
            : detail::share_of(rules_.rigid ? known.target_batch : known.initial_batch, on.shape, limits);
    if (!rules_.rigid)
        known.max_batch =
            modelling_.max_batch(known.max_batch, static_cast<int>(training.plan.total(on.shape.gpus)));
}

}  // namespace goodput::inline v0_1

#endif
