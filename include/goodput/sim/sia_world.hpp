#ifndef GOODPUT_SIM_SIA_WORLD_HPP
#define GOODPUT_SIM_SIA_WORLD_HPP

// Sia's world: jobs are runs of applications with measured or modelled step times and gradient statistics
// (application.hpp). They measure their steps and their gradient, fit models as a modelling says
// (modelling.hpp), and choose their batch. The rules are those of Sia's public simulator.
//
// Checkpoints are free and are taken at the end of an epoch, when a decision stops the job (its restart cost
// pays for that), and after every `checkpoint_seconds` of training since the last: epochs last from seconds
// to hours, so neither the epoch nor a period alone is what a trainer does. A failure takes the job back to
// the last one; what it measured of its speed it keeps.
//
// SiaRules::checkpoints may have them cost what a mechanism says: pauses, slower training while a state is
// written, the time to restore it. Then there is none at the end of an epoch.

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

namespace goodput {

/// What checkpoints cost in Sia's world, and when they are taken.
enum class CheckpointRule {
    free,   ///< they cost nothing: after every `checkpoint_seconds` of training, and at the end of an epoch
    fixed,  ///< they cost what the mechanism says: after every `checkpoint_seconds` of training
    chosen  ///< they cost that: as often as the last decision says; where it says nothing, as if fixed
};

/// What jobs of Sia's world say of the work that they have left.
enum class WorkReport {
    declared,  ///< all of it, exactly
    estimated  ///< what their metric so far, and the totals of their application's ended jobs, let expect
               ///< (tasks/learning_curve.hpp); nothing before the first epoch has ended
};

/// What holds for all jobs of Sia's world.
struct SiaRules {
    bool rigid = false;          ///< they run with the GPUs and the batch size that their owners asked for
    int most_gpus_per_job = 64;  ///< that any job may hold, unless they are rigid
    /// Seconds of training from one checkpoint to the next within an epoch; may be infinite.
    double checkpoint_seconds = 1800;
    CheckpointRule checkpoints = CheckpointRule::free;  ///< what they cost, and when they are taken
    /// How every job can save its state, if that costs anything; empty: as assumed_checkpoint() has it, with
    /// what a restart really costs.
    std::vector<CheckpointMechanism> mechanisms{};
    WorkReport work = WorkReport::declared;  ///< what they say of the work that is left
    /// Which interruptions are caught, and which checkpoints outlive (CheckpointMechanism::caught, kept).
    std::uint64_t seed = 0;
};

namespace detail {

/// The job of a submission as the scheduler gets to know it.
inline Job sia_job(const Submission& submission, const Application& application, const SiaRules& rules) {
    Job job;
    job.name = submission.name;
    job.submitted_seconds = submission.time_seconds;
    job.restart_cost_seconds = application.restart_cost_seconds;
    job.adaptivity = rules.rigid ? Adaptivity::none : Adaptivity::batch;
    job.max_gpus = rules.rigid ? submission.gpus : rules.most_gpus_per_job;
    job.initial_batch = application.curve.initial_batch();
    // A batch that is given may be rounded up to a multiple of the GPUs.
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
    /// The applications have to outlive it, with as many GPU types as the cluster. Refuses unknown
    /// applications and numbers that are out of range (std::invalid_argument); replay() looks at times and
    /// names.
    SiaWorld(const Cluster& cluster, std::span<const Application> applications,
             std::span<const Submission> submissions, const SiaRules& rules = {});
    // Its modelling points into it.
    SiaWorld(const SiaWorld&) = delete;
    SiaWorld& operator=(const SiaWorld&) = delete;

    // What a world answers (world.hpp).

    /// The jobs, with the largest batch that each was seen to use.
    [[nodiscard]] const std::vector<Job>& jobs() const { return known_; }
    /// Lets a job train with what it holds: epochs end on whole seconds.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds);
    /// The part of its work that is done, from 0 to 1.
    [[nodiscard]] double done(std::size_t job) const {
        return trainings_[job].progress / application(job).curve.total_progress();
    }
    /// Its work, gradient and models.
    void report(std::size_t job, Job& known, JobModel& model) const {
        known.gradient = trainings_[job].gradient;
        known.done_examples = trainings_[job].progress * known.initial_batch;
        known.remaining_examples = remaining_examples(job);
        model = history(job).model();
    }
    /// The modelling's.
    [[nodiscard]] auto predictor() const { return typename Modelling::Predictor(); }
    /// Starts or restarts a job; returns what that takes.
    double start(std::size_t job, const Configuration& held) {
        choose_batch(job, held.first());
        Training& of = trainings_[job];
        return std::exchange(of.restores, false) ? of.paid.mechanism().restore_seconds
                                                 : application(job).restart_seconds;
    }
    /// Takes a checkpoint.
    void save(std::size_t job) {
        Training& of = trainings_[job];
        if (pays()) of.paid.save({of.progress, of.epoch});
        of.saved = {of.progress, of.epoch};
        of.since_checkpoint = 0;
    }
    /// Goes back to its last checkpoint.
    void fail(std::size_t job) {
        Training& of = trainings_[job];
        if (pays()) {
            const bool caught = of.random.unit() < of.paid.mechanism().caught;
            const bool kept = of.random.unit() < of.paid.mechanism().kept;
            of.saved = of.paid.fail({of.progress, of.epoch}, caught, kept);
            of.restores = true;
        } else {
            of.lost += of.since_checkpoint * of.gpus;
            of.since_checkpoint = 0;
        }
        of.progress = of.saved.progress;
        of.epoch = of.saved.epoch;
    }
    /// How the last decision would have a job save its state.
    void save_like(std::size_t job, const Checkpointing& chosen) {
        if (!pays() || chosen.mechanism >= known_[job].checkpoints.size()) return;
        const bool says = rules_.checkpoints == CheckpointRule::chosen && chosen.interval_seconds > 0;
        trainings_[job].paid.choose(known_[job].checkpoints[chosen.mechanism],
                                    says ? chosen.interval_seconds : rules_.checkpoint_seconds);
    }
    /// GPU-seconds that a job's checkpoints and failures have cost so far, starts not included.
    [[nodiscard]] double lost_gpu_seconds(std::size_t job) const {
        return trainings_[job].lost + trainings_[job].paid.lost_gpu_seconds();
    }

    // What else there is to see of a job.

    /// How it trains since its last start.
    [[nodiscard]] BatchPlan plan(std::size_t job) const { return trainings_[job].plan; }
    /// Useful examples a second, without starts and checkpoints, that it would make in its present epoch on
    /// GPUs of that type and shape with the batch that its owner asked for; 0 where it cannot run.
    [[nodiscard]] double fixed_rate(std::size_t job, const PoolShare& on) const {
        const Job& known = known_[job];
        if (on_type(job, on).max_atomic_batch == 0 || on.shape.nodes > on_type(job, on).max_nodes) return 0;
        const BatchPlan plan = detail::share_of(known.target_batch, on.shape, limits_of(job, on));
        const StepSeconds times = on_type(job, on).seconds(on.shape, plan.atomic_batch);
        return progress_rate(job, plan, on.shape.gpus, times) * known.initial_batch;
    }
    /// Epochs that are complete.
    [[nodiscard]] std::size_t epoch(std::size_t job) const { return trainings_[job].epoch; }
    /// Its measurements and fits, or those of its kind.
    [[nodiscard]] const JobHistory& history(std::size_t job) const {
        const Training& of = trainings_[job];
        return of.shared_history ? *of.shared_history : of.own_history;
    }

private:
    struct Training {
        std::size_t application = 0;
        JobHistory own_history;
        JobHistory* shared_history = nullptr;  ///< instead of that; of the modelling
        detail::SplitMix random;
        BatchPlan plan{};
        std::optional<GradientStatistics> gradient{};
        double progress = 0;  ///< iterations at the initial batch size
        std::size_t epoch = 0;
        double expected_progress = 0;   ///< in all, as it was when the last epoch ended
        double since_checkpoint = 0;    ///< seconds of training
        detail::TrainingState saved{};  ///< with free checkpoints
        int gpus = 0;                   ///< that it trained on last
        double lost = 0;                ///< GPU-seconds of work done again, with free checkpoints
        detail::PaidCheckpoints paid{};
        bool restores = false;  ///< its next start is one after a failure
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
    /// Iterations at the initial batch size that it makes a second in its present epoch, checkpoints aside.
    [[nodiscard]] double progress_rate(std::size_t job, const BatchPlan& plan, int gpus,
                                       const StepSeconds& times) const {
        const auto total = static_cast<double>(plan.total(gpus));
        const GradientStatistics gradient = application(job).curve.gradient(total, trainings_[job].epoch);
        const double gain = efficiency(job, gradient).efficiency(total) * total / known_[job].initial_batch;
        const double iteration = times.step + plan.accumulation_steps * (times.step - times.sync);
        return gain / iteration / application(job).slowdown;
    }
    [[nodiscard]] BatchLimits limits_of(std::size_t job, const PoolShare& on) const {
        return {known_[job].initial_batch, application(job).curve.max_batch(),
                on_type(job, on).min_atomic_batch, on_type(job, on).largest_batch(on.shape),
                known_[job].single_gpu_accumulates};
    }
    /// The checkpoints due within the next `seconds` of one epoch; only the last one matters.
    void checkpoint_within(Training& of, double rate, double seconds) {
        of.since_checkpoint += seconds;
        if (of.since_checkpoint < rules_.checkpoint_seconds) return;
        of.since_checkpoint = std::fmod(of.since_checkpoint, rules_.checkpoint_seconds);
        of.saved = {of.progress + rate * std::max(seconds - of.since_checkpoint, 0.0), of.epoch};
    }
    /// What it says of the work that it has left.
    [[nodiscard]] std::optional<double> remaining_examples(std::size_t job) const {
        const Training& of = trainings_[job];
        if (rules_.work == WorkReport::declared)
            return (application(job).curve.total_progress() - of.progress) * known_[job].initial_batch;
        if (of.epoch == 0) return std::nullopt;
        return std::max(of.expected_progress - of.progress, 0.0) * known_[job].initial_batch;
    }
    void estimate(std::size_t job);
    void measure(std::size_t job, const PoolShare& on, StepSeconds times) {
        Training& of = trainings_[job];
        if (history(job).has_measured(on.gpu_type, on.shape, of.plan.atomic_batch)) return;
        ThroughputSample sample{on.shape, of.plan, times.step, times.sync};
        if (!on_type(job, on).sync_measured) sample.sync_known = false, sample.sync_seconds = 0;
        of.shared_history = modelling_.add(known_[job], of.own_history, on.gpu_type, sample);
    }
    void choose_batch(std::size_t job, const PoolShare& on);

    SiaRules rules_;
    std::span<const Application> applications_;
    Modelling modelling_;
    std::vector<Job> known_;
    std::vector<Training> trainings_;
    std::vector<std::vector<double>> ended_;  // by application: the totals of jobs that have ended
};

/// Replays a trace (submissions in the order of their times) in Sia's world under a policy: with rigid jobs
/// if the policy wants them, otherwise as SiaRules has them. See replay() of a world.
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
    Training& of = trainings_[job];
    const TrainingCurve& curve = application(job).curve;
    const PoolShare& on = held.first();
    of.gpus = held.gpus();
    while (left > 0) {
        const StepSeconds times = on_type(job, on).seconds(on.shape, of.plan.atomic_batch);
        of.gradient = curve.gradient(static_cast<double>(of.plan.total(held.gpus())), of.epoch);
        measure(job, on, times);
        const double rate = progress_rate(job, of.plan, held.gpus(), times) * (pays() ? of.paid.speed() : 1);
        const double spell = pays() ? std::min(left, of.paid.unchanged_seconds()) : left;
        const double goal = curve.progress_after(of.epoch);
        if (of.progress + rate * spell < goal) {
            if (!pays()) checkpoint_within(of, rate, spell);
            of.progress += rate * spell;
            if (pays()) of.paid.pass(spell, of.gpus, {of.progress, of.epoch});
            now += spell;
            left -= spell;
            if (left > 0) continue;  // the batch is chosen once a round and epoch
        } else {
            // Whole seconds, as published: epochs of a short job end on the clock's grid.
            const double needed = rate > 0 ? std::nearbyint((goal - of.progress) / rate) : 0;
            of.progress = goal;
            now += needed;
            left -= needed;
            ++of.epoch;
            estimate(job);
            if (pays())
                of.paid.pass(needed, of.gpus, {of.progress, of.epoch});
            else
                save(job);
            if (of.epoch == curve.epochs()) {
                ended_[of.application].push_back(curve.total_progress());
                return now;
            }
        }
        choose_batch(job, on);
    }
    return std::nullopt;
}

/// What an epoch that has ended says of the work in all.
template <class Modelling>
void SiaWorld<Modelling>::estimate(std::size_t job) {
    Training& of = trainings_[job];
    if (rules_.work == WorkReport::declared || !(of.progress > 0)) return;
    const MetricCurve& metric = application(job).metric;
    std::vector<CurvePoint> seen;
    for (std::size_t epoch = 0; epoch < std::min(of.epoch, metric.by_epoch.size()); ++epoch)
        if (const double at = application(job).curve.progress_after(epoch);
            at > (seen.empty() ? 0 : seen.back().position))
            seen.push_back({at, metric.by_epoch[epoch]});
    const CurveForecast forecast =
        forecast_curve(seen, metric.target, of.progress, {.earlier_totals = ended_[of.application]});
    // Who is at the target may go on for a little.
    of.expected_progress = of.progress + std::max(forecast.remaining, forecast.interval.high / 4);
}

/// The batch plan of largest goodput by the job's own model, or the initial batch while it has none for this
/// GPU type.
template <class Modelling>
void SiaWorld<Modelling>::choose_batch(std::size_t job, const PoolShare& on) {
    Training& of = trainings_[job];
    Job& known = known_[job];
    const BatchLimits limits = limits_of(job, on);
    const TypeModel& model = history(job).model().types[on.gpu_type];
    BestPlan best;
    if (!rules_.rigid && measured_gradient(of.gradient) && model.most_replicas > 0)
        best = modelling_.best_plan(model, efficiency(job, *of.gradient), on.shape, limits);
    of.plan = best.goodput > 0 ? best.plan
                               : detail::share_of(rules_.rigid ? known.target_batch : known.initial_batch,
                                                  on.shape, limits);
    if (!rules_.rigid)
        known.max_batch =
            modelling_.max_batch(known.max_batch, static_cast<int>(of.plan.total(on.shape.gpus)));
}

}  // namespace goodput

#endif
