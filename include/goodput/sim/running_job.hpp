#ifndef GOODPUT_SIM_RUNNING_JOB_HPP
#define GOODPUT_SIM_RUNNING_JOB_HPP

// One job of a replay: it trains with the GPUs that it holds, measures its steps and its gradient, fits its
// models, and chooses its batch. The rules are those of Sia's public simulator.
//
// Checkpoints are free and are taken at the end of an epoch, when a decision stops the job (its restart cost
// pays for that), and after every `checkpoint_seconds` of training since the last: epochs last from seconds
// to hours, so neither the epoch nor a period alone is what a trainer does. A failure takes the job back to
// the last one; what it measured of its speed it keeps.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "goodput/core/batch.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/schedule/job_history.hpp"
#include "goodput/sim/application.hpp"
#include "goodput/sim/detail/share_of.hpp"

namespace goodput {

/// One job of a replay, from its submission to its completion.
template <class Modelling>
class RunningJob {
public:
    /// `modelling` is shared by all jobs of a replay and has to outlive them. `rigid`: runs with the GPUs and
    /// the batch size that its owner asked for.
    RunningJob(const Submission& submission, const Application& application, Modelling& modelling, bool rigid,
               int most_gpus, double checkpoint_seconds = std::numeric_limits<double>::infinity())
        : submission_(&submission),
          application_(&application),
          modelling_(&modelling),
          rigid_(rigid),
          checkpoint_seconds_(checkpoint_seconds),
          own_history_(application.types.size()) {
        job_.name = submission.name;
        job_.submitted_seconds = submission.time_seconds;
        job_.restart_cost_seconds = application.restart_cost_seconds;
        job_.adaptivity = rigid ? Adaptivity::none : Adaptivity::batch;
        job_.max_gpus = rigid ? submission.gpus : most_gpus;
        job_.initial_batch = application.curve.initial_batch();
        job_.max_batch = std::max(job_.initial_batch, submission.batch);
        job_.target_batch = submission.batch;
        job_.single_gpu_accumulates = true;
        for (const ApplicationOnType& type : application.types) {
            TypeLimits limits;
            limits.min_atomic_batch = type.min_atomic_batch;
            limits.max_atomic_batch = type.max_atomic_batch;
            limits.max_nodes = type.max_nodes;
            limits.reference_rate = type.reference_rate;
            job_.types.push_back(limits);
        }
        shared_history_ = modelling.begin(job_);
    }

    /// All of its work is done.
    [[nodiscard]] bool complete() const { return completion_.has_value(); }
    /// When its work was done, from the start of the trace.
    [[nodiscard]] std::optional<double> completion_seconds() const { return completion_; }
    /// Starts but the first.
    [[nodiscard]] int restarts() const { return std::max(starts_ - 1, 0); }
    /// Restarts on a node that it was not on, of a job that ran until then.
    [[nodiscard]] int migrations() const { return migrations_; }
    /// Times that it was thrown back to its last checkpoint.
    [[nodiscard]] int failures() const { return failures_; }
    /// What it holds; empty if it waits.
    [[nodiscard]] const Configuration& held() const { return held_; }
    /// GPU-seconds held so far.
    [[nodiscard]] double gpu_seconds() const { return job_.attained_gpu_seconds; }
    /// Where; empty if it waits.
    [[nodiscard]] const Placement& placement() const { return job_.placement; }
    /// How it trains; empty while it holds nothing.
    [[nodiscard]] BatchPlan plan() const { return plan_; }
    /// Epochs that are complete.
    [[nodiscard]] std::size_t epoch() const { return epoch_; }
    /// The part of its work that is done, from 0 to 1.
    [[nodiscard]] double done() const { return progress_ / application_->curve.total_progress(); }
    /// The line of the trace that it came from.
    [[nodiscard]] const Submission& submission() const { return *submission_; }
    /// What it has learned of its speed.
    [[nodiscard]] const JobModel& model() const { return history().model(); }
    /// Its measurements and fits, or those of its kind.
    [[nodiscard]] const JobHistory& history() const {
        return shared_history_ ? *shared_history_ : own_history_;
    }

    /// The job as the policy sees it now.
    [[nodiscard]] const Job& view() {
        job_.restarts = restarts();
        job_.gradient = gradient_;
        job_.restarting = countdown_ > 0;
        job_.done_examples = progress_ * job_.initial_batch;
        job_.remaining_examples = (application_->curve.total_progress() - progress_) * job_.initial_batch;
        return job_;
    }

    /// Trains for `seconds` from `begin` on. The GPUs count as used for all of it, whatever happens within.
    void advance(double begin, double seconds) {
        if (held_.empty()) return;
        job_.attained_gpu_seconds += held_.gpus() * seconds;
        double now = begin, left = seconds;
        const double waiting = std::min(countdown_, left);
        countdown_ -= waiting;
        now += waiting;
        left -= waiting;
        while (left > 0 && !complete()) {
            const auto total = static_cast<double>(plan_.total(held_.gpus()));
            const GradientStatistics gradient = application_->curve.gradient(total, epoch_);
            const StepSeconds times = on_type().seconds(held_.first().shape, plan_.atomic_batch);
            gradient_ = gradient;
            measure(times);
            const double efficiency =
                NoiseScaleEfficiency{static_cast<double>(job_.initial_batch), gradient}.efficiency(total);
            const double gain = efficiency * total / job_.initial_batch;
            const double iteration = times.step + plan_.accumulation_steps * (times.step - times.sync);
            const double rate = gain / iteration / application_->slowdown;
            const double goal = application_->curve.progress_after(epoch_);
            if (progress_ + rate * left < goal) {
                checkpoint_within(rate, left);
                progress_ += rate * left;
                left = 0;
            } else {
                // Whole seconds, as published: epochs of a short job end on the clock's grid.
                const double needed = std::nearbyint((goal - progress_) / rate);
                progress_ = goal;
                now += needed;
                left -= needed;
                if (++epoch_ == application_->curve.epochs()) completion_ = now;
                checkpoint();
            }
            if (!complete()) choose_batch();
        }
    }

    /// Takes over what the plan gives; returns whether the job (re)starts. With `moves_restart` other nodes
    /// of the same shape are a restart, otherwise they cost nothing.
    bool hold(const Configuration& configuration, const Placement& placement, bool moves_restart) {
        const bool moved = moves_restart && placement != job_.placement;
        const bool starts = !configuration.empty() && (configuration != held_ || moved);
        if (starts && (evicted_ || (!held_.empty() && !on_known_nodes(placement)))) ++migrations_;
        evicted_ = false;
        if (starts || configuration.empty()) checkpoint();
        held_ = configuration;
        job_.placement = placement;
        if (configuration.empty()) plan_ = {};
        if (starts) start();
        return starts;
    }

    /// The nodes have other indices now: `moved_to` by index before, any that is no index of `nodes` for
    /// those that are gone. A job on one of these saves a checkpoint and holds nothing any more; returns
    /// whether.
    bool follow(std::span<const std::size_t> moved_to, std::size_t nodes) {
        for (NodeShare& share : job_.placement) {
            share.node = moved_to[share.node];
            if (share.node >= nodes) evicted_ = true;
        }
        if (!evicted_) return false;
        checkpoint();
        release();
        return true;
    }

    /// The job fails by itself: starts anew from its last checkpoint with the GPUs that it holds.
    void fail() {
        if (held_.empty()) return;
        roll_back();
        start();
    }
    /// A node under it fails: it is back at its last checkpoint and holds nothing.
    void lose_nodes() {
        if (held_.empty()) return;
        roll_back();
        release();
    }

    /// Gives back what it holds.
    void release() {
        held_ = {};
        plan_ = {};
        countdown_ = 0;
        job_.placement.clear();
    }

private:
    [[nodiscard]] const ApplicationOnType& on_type() const {
        return application_->types[held_.first().gpu_type];
    }

    void start() {
        ++starts_;
        countdown_ = application_->restart_seconds;
        choose_batch();
    }

    void checkpoint() {
        saved_progress_ = progress_;
        saved_epoch_ = epoch_;
        since_checkpoint_ = 0;
    }
    /// The checkpoints due within the next `seconds` of one epoch; only the last one matters.
    void checkpoint_within(double rate, double seconds) {
        since_checkpoint_ += seconds;
        if (since_checkpoint_ < checkpoint_seconds_) return;
        since_checkpoint_ = std::fmod(since_checkpoint_, checkpoint_seconds_);
        saved_progress_ = progress_ + rate * std::max(seconds - since_checkpoint_, 0.0);
        saved_epoch_ = epoch_;
    }
    void roll_back() {
        ++failures_;
        progress_ = saved_progress_;
        epoch_ = saved_epoch_;
        since_checkpoint_ = 0;
    }

    [[nodiscard]] bool on_known_nodes(const Placement& placement) const {
        return std::all_of(placement.begin(), placement.end(), [&](const NodeShare& share) {
            return std::any_of(job_.placement.begin(), job_.placement.end(),
                               [&](const NodeShare& before) { return before.node == share.node; });
        });
    }

    void measure(StepSeconds times) {
        if (history().has_measured(held_.first().gpu_type, held_.first().shape, plan_.atomic_batch)) return;
        shared_history_ = modelling_->add(job_, own_history_, held_.first().gpu_type,
                                          {held_.first().shape, plan_, times.step, times.sync});
    }

    /// The batch plan of largest goodput by the job's own model, or the initial batch while it has none for
    /// this GPU type.
    void choose_batch() {
        const Shape shape = held_.first().shape;
        const BatchLimits limits{job_.initial_batch, application_->curve.max_batch(),
                                 on_type().min_atomic_batch, on_type().largest_batch(shape),
                                 job_.single_gpu_accumulates};
        const TypeModel& model = history().model().types[held_.first().gpu_type];
        BestPlan best;
        if (!rigid_ && gradient_ && model.most_replicas > 0)
            best = modelling_->best_plan(
                model, NoiseScaleEfficiency{static_cast<double>(job_.initial_batch), *gradient_}, shape,
                limits);
        plan_ = best.goodput > 0
                    ? best.plan
                    : detail::share_of(rigid_ ? job_.target_batch : job_.initial_batch, shape, limits);
        job_.max_batch = modelling_->max_batch(job_.max_batch, static_cast<int>(plan_.total(shape.gpus)));
    }

    const Submission* submission_;
    const Application* application_;
    Modelling* modelling_;
    bool rigid_;
    double checkpoint_seconds_;
    Job job_;
    JobHistory own_history_;
    JobHistory* shared_history_ = nullptr;  ///< instead of that; of the modelling
    Configuration held_;
    BatchPlan plan_;
    std::optional<GradientStatistics> gradient_;
    std::optional<double> completion_;
    double countdown_ = 0;  ///< seconds until the restart under way is over
    double progress_ = 0;   ///< iterations at the initial batch size
    std::size_t epoch_ = 0;
    double since_checkpoint_ = 0;  ///< seconds of training
    double saved_progress_ = 0;
    std::size_t saved_epoch_ = 0;
    bool evicted_ = false;  ///< ran until now, and its node is taken away
    int starts_ = 0;
    int migrations_ = 0;
    int failures_ = 0;
};

}  // namespace goodput

#endif
