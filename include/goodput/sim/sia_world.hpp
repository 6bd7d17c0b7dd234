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

#include "goodput/core/batch.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/job_history.hpp"
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

/// How one job of Sia's world trains and what it learns, from its submission to its completion.
template <class Modelling>
class SiaJob {
public:
    /// All of these have to outlive it: `known` is what the scheduler knows of it, `modelling` is shared
    /// by all jobs of a world, `ended` are the totals of its application's jobs that have ended.
    SiaJob(Job& known, const Application& application, Modelling& modelling, const SiaRules& rules,
           const std::vector<double>& ended)
        : known_(&known),
          application_(&application),
          modelling_(&modelling),
          rules_(&rules),
          ended_(&ended),
          own_history_(application.types.size()),
          shared_history_(modelling.begin(known)),
          random_(rules.seed, known.name) {
        if (pays()) paid_.choose(known.checkpoints.front(), rules.checkpoint_seconds);
    }

    /// How it trains since its last start.
    [[nodiscard]] BatchPlan plan() const { return plan_; }
    /// Epochs that are complete.
    [[nodiscard]] std::size_t epoch() const { return epoch_; }
    /// The part of its work that is done, from 0 to 1.
    [[nodiscard]] double done() const { return progress_ / application_->curve.total_progress(); }
    /// Its measurements and fits, or those of its kind.
    [[nodiscard]] const JobHistory& history() const {
        return shared_history_ ? *shared_history_ : own_history_;
    }

    /// What it tells the scheduler.
    void report(Job& job, JobModel& model) const {
        job.gradient = gradient_;
        job.done_examples = progress_ * job.initial_batch;
        job.remaining_examples = remaining_examples();
        model = history().model();
    }

    /// Trains with what it holds for `left` seconds from `now` on; returns when its work was done, if it was.
    std::optional<double> train(const Configuration& held, double now, double left) {
        const PoolShare& on = held.first();
        gpus_ = held.gpus();
        while (left > 0) {
            const auto total = static_cast<double>(plan_.total(held.gpus()));
            const GradientStatistics gradient = application_->curve.gradient(total, epoch_);
            const StepSeconds times = on_type(on).seconds(on.shape, plan_.atomic_batch);
            gradient_ = gradient;
            measure(on, times);
            const double efficiency =
                NoiseScaleEfficiency{static_cast<double>(known_->initial_batch), gradient}.efficiency(total);
            const double gain = efficiency * total / known_->initial_batch;
            const double iteration = times.step + plan_.accumulation_steps * (times.step - times.sync);
            const double rate = gain / iteration / application_->slowdown * (pays() ? paid_.speed() : 1);
            const double spell = pays() ? std::min(left, paid_.unchanged_seconds()) : left;
            const double goal = application_->curve.progress_after(epoch_);
            if (progress_ + rate * spell < goal) {
                if (!pays()) checkpoint_within(rate, spell);
                progress_ += rate * spell;
                if (pays()) paid_.pass(spell, gpus_, {progress_, epoch_});
                now += spell;
                left -= spell;
                if (left > 0) continue;  // the batch is chosen once a round and epoch
            } else {
                // Whole seconds, as published: epochs of a short job end on the clock's grid.
                const double needed = rate > 0 ? std::nearbyint((goal - progress_) / rate) : 0;
                progress_ = goal;
                now += needed;
                left -= needed;
                ++epoch_;
                estimate();
                if (pays())
                    paid_.pass(needed, gpus_, {progress_, epoch_});
                else
                    save();
                if (epoch_ == application_->curve.epochs()) return now;
            }
            choose_batch(on);
        }
        return std::nullopt;
    }

    /// Starts or restarts; returns how long that takes.
    double start(const Configuration& held) {
        choose_batch(held.first());
        return std::exchange(restores_, false) ? paid_.mechanism().restore_seconds
                                               : application_->restart_seconds;
    }

    /// How the last decision would have it save its state.
    void save_like(const Checkpointing& chosen) {
        if (!pays() || chosen.mechanism >= known_->checkpoints.size()) return;
        const double interval = rules_->checkpoints == CheckpointRule::chosen && chosen.interval_seconds > 0
                                    ? chosen.interval_seconds
                                    : rules_->checkpoint_seconds;
        paid_.choose(known_->checkpoints[chosen.mechanism], interval);
    }
    /// GPU-seconds that its checkpoints and failures have cost so far, starts not included.
    [[nodiscard]] double lost_gpu_seconds() const { return lost_ + paid_.lost_gpu_seconds(); }

    /// Appends what its work came to, for later jobs of its application.
    void note_total(std::vector<double>& ended) const {
        ended.push_back(application_->curve.total_progress());
    }

    /// Takes a checkpoint.
    void save() {
        if (pays()) paid_.save({progress_, epoch_});
        saved_progress_ = progress_;
        saved_epoch_ = epoch_;
        since_checkpoint_ = 0;
    }

    /// Goes back to its last checkpoint.
    void fail() {
        if (pays()) {
            const bool caught = random_.unit() < paid_.mechanism().caught;
            const bool kept = random_.unit() < paid_.mechanism().kept;
            const detail::TrainingState back = paid_.fail({progress_, epoch_}, caught, kept);
            progress_ = back.progress;
            epoch_ = back.epoch;
            restores_ = true;
            return;
        }
        lost_ += since_checkpoint_ * gpus_;
        progress_ = saved_progress_;
        epoch_ = saved_epoch_;
        since_checkpoint_ = 0;
    }

private:
    [[nodiscard]] bool pays() const { return rules_->checkpoints != CheckpointRule::free; }
    [[nodiscard]] const ApplicationOnType& on_type(const PoolShare& on) const {
        return application_->types[on.gpu_type];
    }

    /// The checkpoints due within the next `seconds` of one epoch; only the last one matters.
    void checkpoint_within(double rate, double seconds) {
        since_checkpoint_ += seconds;
        if (since_checkpoint_ < rules_->checkpoint_seconds) return;
        since_checkpoint_ = std::fmod(since_checkpoint_, rules_->checkpoint_seconds);
        saved_progress_ = progress_ + rate * std::max(seconds - since_checkpoint_, 0.0);
        saved_epoch_ = epoch_;
    }

    /// What it says of the work that it has left.
    [[nodiscard]] std::optional<double> remaining_examples() const {
        if (rules_->work == WorkReport::declared)
            return (application_->curve.total_progress() - progress_) * known_->initial_batch;
        if (epoch_ == 0) return std::nullopt;
        return std::max(expected_progress_ - progress_, 0.0) * known_->initial_batch;
    }
    /// What an epoch that has ended says of the work in all.
    void estimate() {
        if (rules_->work == WorkReport::declared || !(progress_ > 0)) return;
        const MetricCurve& metric = application_->metric;
        std::vector<CurvePoint> seen;
        for (std::size_t epoch = 0; epoch < std::min(epoch_, metric.by_epoch.size()); ++epoch)
            if (const double at = application_->curve.progress_after(epoch);
                at > (seen.empty() ? 0 : seen.back().position))
                seen.push_back({at, metric.by_epoch[epoch]});
        const CurveForecast forecast =
            forecast_curve(seen, metric.target, progress_, {.earlier_totals = *ended_});
        // Who is at the target may go on for a little.
        expected_progress_ = progress_ + std::max(forecast.remaining, forecast.interval.high / 4);
    }

    void measure(const PoolShare& on, StepSeconds times) {
        if (history().has_measured(on.gpu_type, on.shape, plan_.atomic_batch)) return;
        ThroughputSample sample{on.shape, plan_, times.step, times.sync};
        if (!on_type(on).sync_measured) sample.sync_known = false, sample.sync_seconds = 0;
        shared_history_ = modelling_->add(*known_, own_history_, on.gpu_type, sample);
    }

    /// The batch plan of largest goodput by the job's own model, or the initial batch while it has none for
    /// this GPU type.
    void choose_batch(const PoolShare& on) {
        const BatchLimits limits{known_->initial_batch, application_->curve.max_batch(),
                                 on_type(on).min_atomic_batch, on_type(on).largest_batch(on.shape),
                                 known_->single_gpu_accumulates};
        const TypeModel& model = history().model().types[on.gpu_type];
        BestPlan best;
        if (!rules_->rigid && measured_gradient(gradient_) && model.most_replicas > 0)
            best = modelling_->best_plan(
                model, NoiseScaleEfficiency{static_cast<double>(known_->initial_batch), *gradient_}, on.shape,
                limits);
        plan_ = best.goodput > 0
                    ? best.plan
                    : detail::share_of(rules_->rigid ? known_->target_batch : known_->initial_batch, on.shape,
                                       limits);
        if (!rules_->rigid)
            known_->max_batch =
                modelling_->max_batch(known_->max_batch, static_cast<int>(plan_.total(on.shape.gpus)));
    }

    Job* known_;  ///< its max_batch grows with what it uses
    const Application* application_;
    Modelling* modelling_;
    const SiaRules* rules_;
    const std::vector<double>* ended_;
    JobHistory own_history_;
    JobHistory* shared_history_;  ///< instead of that; of the modelling
    BatchPlan plan_;
    std::optional<GradientStatistics> gradient_;
    double progress_ = 0;  ///< iterations at the initial batch size
    std::size_t epoch_ = 0;
    double expected_progress_ = 0;  ///< in all, as it was when the last epoch ended
    double since_checkpoint_ = 0;   ///< seconds of training
    double saved_progress_ = 0;
    std::size_t saved_epoch_ = 0;
    int gpus_ = 0;     ///< that it trained on last
    double lost_ = 0;  ///< GPU-seconds of work done again, with free checkpoints
    detail::PaidCheckpoints paid_;
    bool restores_ = false;  ///< its next start is one after a failure
    detail::SplitMix random_;
};

/// The jobs of a trace, for one replay.
template <class Modelling = RefinedModels>
class SiaWorld {
public:
    /// The applications have to outlive it, with as many GPU types as the cluster. Refuses unknown
    /// applications and numbers that are out of range (std::invalid_argument); replay() looks at times and
    /// names.
    SiaWorld(const Cluster& cluster, std::span<const Application> applications,
             std::span<const Submission> submissions, const SiaRules& rules = {});
    // Its jobs point into it.
    SiaWorld(const SiaWorld&) = delete;
    SiaWorld& operator=(const SiaWorld&) = delete;

    // What a world answers (world.hpp).

    /// The jobs, with the largest batch that each was seen to use.
    [[nodiscard]] const std::vector<Job>& jobs() const { return known_; }
    /// Lets a job train.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        const std::optional<double> end = jobs_[job].train(held, begin, seconds);
        if (end) jobs_[job].note_total(ended_[applications_[job]]);
        return end;
    }
    /// The part of its work that is done.
    [[nodiscard]] double done(std::size_t job) const { return jobs_[job].done(); }
    /// Its work, gradient and models.
    void report(std::size_t job, Job& known, JobModel& model) const { jobs_[job].report(known, model); }
    /// The modelling's.
    [[nodiscard]] auto predictor() const { return typename Modelling::Predictor(); }
    /// Starts a job; returns what that takes.
    double start(std::size_t job, const Configuration& held) { return jobs_[job].start(held); }
    /// A checkpoint.
    void save(std::size_t job) { jobs_[job].save(); }
    /// Back to the last checkpoint.
    void fail(std::size_t job) { jobs_[job].fail(); }
    /// How the last decision would have a job save its state.
    void save_like(std::size_t job, const Checkpointing& chosen) { jobs_[job].save_like(chosen); }
    /// What a job's checkpoints and failures have cost.
    [[nodiscard]] double lost_gpu_seconds(std::size_t job) const { return jobs_[job].lost_gpu_seconds(); }

    /// What the job does and has learned.
    [[nodiscard]] const SiaJob<Modelling>& job(std::size_t job) const { return jobs_[job]; }

private:
    SiaRules rules_;
    Modelling modelling_;
    std::vector<Job> known_;
    std::vector<SiaJob<Modelling>> jobs_;
    std::vector<std::size_t> applications_;   // by job
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
    : rules_(rules) {
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
    known_.reserve(submissions.size());
    jobs_.reserve(submissions.size());
    ended_.resize(applications.size());
    for (const Submission& submission : submissions) {
        const auto subject = [&] { return "job '" + submission.name + "'"; };
        if (submission.application >= applications.size())
            bad_input(subject(), "application", submission.application, "one of those given");
        require_between(subject, "num_replicas", submission.gpus, 1, 1 << 20);
        require_between(subject, "batch_size", submission.batch, 1, 1 << 30);
        const Application& application = applications[submission.application];
        known_.push_back(detail::sia_job(submission, application, rules));
        jobs_.emplace_back(known_.back(), application, modelling_, rules_, ended_[submission.application]);
        applications_.push_back(submission.application);
    }
}

}  // namespace goodput

#endif
