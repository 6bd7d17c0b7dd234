#ifndef GOODPUT_AGENT_TRAINING_AGENT_HPP
#define GOODPUT_AGENT_TRAINING_AGENT_HPP

// The job's side of an adaptive scheduler. The agent measures a training run from within, and chooses its
// batch plan and learning rate. In the training loop, call
//
//     agent.begin_step(seconds);
//     agent.plan();                                  for this step
//     agent.add_gradient(gradient);                  for each microbatch
//     agent.end_step(seconds);                       before the optimiser's update
//
// and retune() from time to time. From the gradients the agent estimates the gradient noise scale
// (fit/noise_scale.hpp), and from the clock times the durations of steps by GPU type, shape and batch plan
// (agent/step_times.hpp). From these it derives the batch plan with the largest goodput
// (model/batch_plan.hpp), the factor on the learning rate (agent/learning_rate.hpp), and a report for the
// scheduler.
//
// The agent starts no thread, and uses no clock except the times that the caller passes. It allocates
// memory in the first steps and at fits, not later.
//
// With several replicas, each replica has an agent. Before end_step(), the replicas sum totals() (one
// number per group, plus one) over all replicas. They also sum running_sum(), unless the averaged gradient
// is passed to add_mean_gradient(). Then all agents know the same about the gradient. Step times differ
// between replicas, so only one replica calls retune(), and the others adopt() its plan.
//
// Gradients are those of the loss: before clipping, and divided by the loss scale (or with their scale in
// StepGradients). If the gradients of a step have overflowed, the step is not counted and end_step()
// returns false. If you skip a step for another reason, call drop_step().
//
// The agent supports neither microbatches of unequal size within a step, nor pipelines or tensor
// parallelism, where one GPU is not a whole replica.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/agent/gradient_meter.hpp"
#include "goodput/agent/learning_rate.hpp"
#include "goodput/agent/step_times.hpp"
#include "goodput/agent/training_settings.hpp"
#include "goodput/core/error.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"

namespace goodput::inline v0_1 {

/// Properties of a step's gradients that the agent must know before the gradients.
struct StepGradients {
    /// The factor by which the gradients were multiplied: the loss scale of mixed precision, or 1 /
    /// microbatches if the loss was divided by their number.
    double scale = 1;
    std::int64_t adam_updates = 0;  ///< with Adam: number of updates that its second moments have seen
};

/// The report of a training run to its scheduler: a line of the input of `goodput plan`, without the job's
/// name.
struct TrainingReport {
    std::string gpu_type{};         ///< GPU type on which it runs
    ThroughputSample sample{};      ///< time of the present plan on this type
    GradientStatistics gradient{};  ///< both zero if not known yet
    /// Seconds from the start of the training to the end of its first step, if started() was called.
    std::optional<double> start_seconds{};
    /// Part of the time in which the GPU is busy under the present plan, if add_gpu_utilisation() was called.
    std::optional<double> gpu_utilisation{};
};

/// Measures one training run, and chooses its batch plan and learning rate.
class TrainingAgent {
public:
    /// Throws std::invalid_argument if validate() rejects the settings.
    explicit TrainingAgent(TrainingSettings settings)
        : settings_((validate(settings), std::move(settings))),
          meter_(settings_.group_sizes.empty() ? std::vector{settings_.parameters} : settings_.group_sizes,
                 settings_.mean_gradient_given),
          noise_(settings_.groups(), settings_.noise_smoothing()),
          norms_(settings_.groups()),
          times_(settings_.least_steps) {
        before_.reserve(settings_.groups());
    }

    /// Tells the agent which GPUs the job holds, at the start and after each restart, and chooses the plan.
    /// If enough is known, the plan keeps the previous total batch, or is the best plan if the goodput of
    /// that is larger by retune_gain. Otherwise it uses the initial batch. A total batch is split over the
    /// replicas with as few accumulation steps as possible. Throws std::invalid_argument if validate()
    /// rejects the holding, or if the holding allows no valid batch.
    void hold(const Holding& holding);
    /// Tells the agent when the training was started, by the clock of begin_step(): before it imported its
    /// libraries, so that report() says what a restart costs. Call this after hold() and before the first
    /// step. Throws std::invalid_argument if the time is not finite.
    void started(double started_seconds) {
        if (!std::isfinite(started_seconds))
            bad_input("agent", "started", started_seconds, "a finite number of seconds");
        started_ = started_seconds;
        start_seconds_.reset();
    }
    /// Returns the batch plan with which to train now; {0, 0} before hold(). Within a step this is the plan
    /// of the step, which may be the same batch in two halves (TrainingSettings::split_every).
    [[nodiscard]] BatchPlan plan() const { return begun_ ? step_plan_ : plan_; }
    /// Returns the examples per step of plan() on all replicas.
    [[nodiscard]] double total_batch() const { return static_cast<double>(plan().total(holding_.gpus)); }
    /// Returns the present factor on the base learning rate of a group. It is 1 at the initial batch. With
    /// a rule that uses the gradient, it is also 1 until enough steps have been measured. Throws
    /// std::invalid_argument if the group does not exist.
    [[nodiscard]] double learning_rate_factor(std::size_t group = 0) const;

    /// Begins a step at `now_seconds` of the caller's clock. Drops a step that has not ended. Throws
    /// std::invalid_argument before hold(), and if the time is not finite.
    void begin_step(double now_seconds, const StepGradients& gradients = {});
    /// Whether this step's gradients are measured (TrainingSettings::measure_every). In other steps all
    /// calls that pass gradients do nothing, and nothing needs to be summed over replicas. The answer is
    /// the same on all replicas.
    [[nodiscard]] bool gradients_wanted() const { return begun_ && wanted_; }
    /// Adds the next piece of a microbatch's mean gradient: the whole gradient, or one tensor after the
    /// other in the order of the parameters. Throws std::invalid_argument if the pieces exceed the
    /// parameters.
    template <std::floating_point Real>
    void add_gradient(std::span<const Real> piece) {
        if (gradients_wanted()) meter_.add(piece, metric_of(std::span<const Real>()));
    }
    /// The same for Adam, with the piece's second moments after the last update. Pass each tensor as one
    /// piece, because moments far below a tensor's mean count as a fifth of that mean.
    template <std::floating_point Real, std::floating_point Moment>
    void add_gradient(std::span<const Real> piece, std::span<const Moment> second_moments) {
        if (gradients_wanted()) meter_.add(piece, metric_of(second_moments));
    }
    /// Marks the end of a microbatch that is not the last of its step. If these calls are missing in a step
    /// with accumulation, the agent divides the computing time evenly among the microbatches if the
    /// synchronisation was timed, and otherwise stores the time of the whole iteration. Throws
    /// std::invalid_argument if time goes back.
    void end_microbatch(double now_seconds) {
        if (!begun_) bad_input("agent", "step", "not begun", "begun before a microbatch ends");
        require_time(now_seconds, last_mark_);
        last_mark_ = now_seconds;
        ++marks_;
    }
    /// Adds the next piece of the mean of the step's gradients over all replicas, if
    /// TrainingSettings::mean_gradient_given. `scale` is the factor by which the mean was multiplied.
    template <std::floating_point Real>
    void add_mean_gradient(std::span<const Real> piece, double scale = 1) {
        if (gradients_wanted()) meter_.add_mean(piece, metric_of(std::span<const Real>()), scale);
    }
    /// The same for Adam.
    template <std::floating_point Real, std::floating_point Moment>
    void add_mean_gradient(std::span<const Real> piece, std::span<const Moment> second_moments,
                           double scale = 1) {
        if (gradients_wanted()) meter_.add_mean(piece, metric_of(second_moments), scale);
    }
    /// Sets the squared norm of a group's part of that mean, in place of add_mean_gradient(). With Adam the
    /// norm is in Adam's metric.
    void set_square_of_mean(std::size_t group, double square) {
        if (gradients_wanted()) meter_.set_square_of_mean(group, square);
    }
    /// Returns the sum of this replica's gradients so far. The caller replaces it by the sum over the
    /// replicas, in place, before end_step(). It is empty if the mean is given, if the step has a single
    /// gradient, or if gradients are not wanted.
    [[nodiscard]] std::span<float> running_sum() {
        return gradients_wanted() ? meter_.running_sum() : std::span<float>();
    }
    /// Returns the sums of squared norms by group and the number of gradients. The caller replaces them by
    /// their sums over the replicas in the same way.
    [[nodiscard]] std::span<double> totals() {
        return gradients_wanted() ? meter_.totals() : std::span<double>();
    }
    /// Ends a step. Returns false if its gradients are not finite; the step is then not counted, and the
    /// caller must skip the update. `synchronisation_seconds` is the part of the last microbatch in which
    /// the GPU did not compute, if it was timed. Throws std::invalid_argument if the step was not begun, if
    /// gradients are unfinished or missing, or if the times are inconsistent.
    bool end_step(double now_seconds, std::optional<double> synchronisation_seconds = {});
    /// The same for callers that compute the norms themselves: `norms` contains the norms of this step's
    /// gradients by group. They count for all steps since norms were last given.
    bool end_step(double now_seconds, std::optional<double> synchronisation_seconds,
                  std::span<const GradientNorms> norms);
    /// Drops the present step.
    void drop_step() { begun_ = false; }

    /// Returns a plan whose gain is worth the change (retune_gain, retune_seconds), or a plan with twice
    /// the atomic batch that is worth a trial (tries_larger_batches). The agent adopts the plan that it
    /// returns. Returns nothing if too little is known, or if no change is worth its cost. Throws
    /// std::invalid_argument within a step.
    std::optional<BatchPlan> retune();
    /// Trains with this plan from now on, for a plan that was chosen outside of this agent. Returns false
    /// if it is the present plan. Throws std::invalid_argument if the plan does not fit the GPU, if its
    /// total batch is below the initial or above the largest one, or within a step.
    bool adopt(BatchPlan plan);

    /// Returns the gradient statistics at the initial batch over all groups; zero before the first
    /// measurement. Averages begin anew if Adam's metric changes with the batch. Until enough steps for a
    /// plan have then been measured, returns the statistics from before.
    [[nodiscard]] GradientStatistics statistics() const {
        if (before_.empty()) return noise_.statistics();
        GradientStatistics sum;
        for (const GradientStatistics& group : before_) sum += group;
        return sum;
    }
    /// Returns the statistics of one group; `group` must be below the number of groups.
    [[nodiscard]] GradientStatistics statistics(std::size_t group) const {
        return before_.empty() ? noise_.statistics(group) : before_[group];
    }
    /// Returns the gradient noise scale in examples; infinite if it is not known.
    [[nodiscard]] double noise_scale() const { return efficiency_model().noise_scale(); }
    /// Returns the statistical efficiency of the present plan, in (0, 1].
    [[nodiscard]] double efficiency() const { return efficiency_model().efficiency(total_batch()); }
    /// Returns the useful examples per second of the present plan, from measurements if there are any, else
    /// from the model; 0 without either.
    [[nodiscard]] double goodput() const;
    /// Returns the progress of the training so far, counted in steps at the initial batch. A step at S
    /// times the initial batch makes as much progress as gain(S) such steps (efficiency.hpp). If nothing is
    /// known about the gradient, it counts as one step, or as S steps if S is below 1. In the validation
    /// runs published with Sia, the batches of one application differ by a factor of up to 128. At equal
    /// final progress, the metrics of these runs differ by 1 % (four of six applications) to 7 %.
    [[nodiscard]] double progress_steps() const { return progress_; }
    /// Returns the useful examples so far.
    [[nodiscard]] double useful_examples() const { return progress_ * settings_.initial_batch; }
    /// Returns the model of step times on the present GPU type; null before the first fit.
    [[nodiscard]] const RefinedThroughput* model() const {
        return holding_.gpus > 0 ? times_.model(type_) : nullptr;
    }
    /// Returns the measured step times on all GPU types and shapes that the job has held.
    [[nodiscard]] const StepTimes& step_times() const { return times_; }
    /// Returns the settings given at the start.
    [[nodiscard]] const TrainingSettings& settings() const { return settings_; }
    /// Returns the present holding.
    [[nodiscard]] const Holding& holding() const { return holding_; }

    /// Tells the agent which part of the time, in [0, 1], the GPU was busy while no other process used it, as
    /// its driver says. The report has the mean under the present plan. Throws std::invalid_argument for
    /// other numbers.
    void add_gpu_utilisation(double busy) {
        require_between("agent", "gpu_utilisation", busy, 0, 1);
        busy_sum_ += busy;
        ++busy_count_;
    }

    /// Returns a report for the scheduler, or nothing until the present plan has been timed.
    [[nodiscard]] std::optional<TrainingReport> report() const;

    /// Returns the agent's state as text, to be saved with the checkpoint. The gradient of the last step is
    /// not part of it, so a training with single gradients loses one pair.
    [[nodiscard]] std::string save() const;
    /// Continues from a saved state. Call hold() with the present holding afterwards. Throws
    /// std::invalid_argument and stays unchanged if save() did not write the text, or if the text belongs
    /// to a training run with another number of parameters or another initial batch.
    void restore(std::string_view text);

private:
    template <class Self, class Archive>
    static void for_each_field(Self& self, Archive& archive);
    void take_up();
    /// Returns the metric in which a piece with these second moments is measured.
    template <std::floating_point Moment>
    [[nodiscard]] AdamPreconditioner<Moment> metric_of(std::span<const Moment> second_moments) const {
        const AdamPreconditioner<Moment> metric{second_moments,
                                                settings_.optimizer == Optimizer::adam ? adam_updates_ : 0,
                                                settings_.adam_beta2, settings_.adam_epsilon};
        return metric.with_floor();
    }
    /// Limits what the norms of a step in Adam's metric count for.
    void bound_norms() {
        for (std::size_t g = 0; g < norms_.size(); ++g)
            norms_[g] = bounded_norms(norms_[g], settings_.group_size(g));
    }
    [[nodiscard]] NoiseScaleEfficiency efficiency_model() const {
        return {static_cast<double>(settings_.initial_batch), statistics()};
    }
    [[nodiscard]] BatchLimits limits_on(const Holding& holding) const {
        return {settings_.initial_batch, settings_.max_batch, settings_.min_atomic_batch,
                holding.max_atomic_batch > 0 ? holding.max_atomic_batch : settings_.max_atomic_batch};
    }
    [[nodiscard]] bool measured_enough() const { return measured_steps_ >= settings_.least_measured_steps; }
    [[nodiscard]] bool knows_noise() const { return measured_enough() || !before_.empty(); }
    [[nodiscard]] int steps_a_measurement(bool single, bool splits) const;
    [[nodiscard]] BestPlan best_plan() const;
    [[nodiscard]] bool pays(double goodput, double present, int changes) const {
        const double horizon = settings_.retune_horizon_seconds;
        return goodput > settings_.retune_gain * present &&
               goodput * (horizon - changes * settings_.retune_seconds) > present * horizon;
    }
    [[nodiscard]] BatchPlan plan_to_try() const;
    void change(BatchPlan plan) {
        plan_ = plan;
        warmup_left_ = settings_.warmup_steps;
        busy_sum_ = 0;
        busy_count_ = 0;
    }
    void require_outside_step() const {
        if (begun_) bad_input("agent", "step", "not ended", "ended before the plan is changed");
    }
    void require_time(double now_seconds, double since) const {
        if (!std::isfinite(now_seconds)) bad_input("agent", "seconds", now_seconds, "a finite number");
        if (now_seconds < since)
            bad_input("agent", "seconds", now_seconds, "no less than before, " + text_of(since));
    }
    /// Starts the averages anew. The old statistics are used until the new ones are reliable.
    void begin_anew() {
        if (measured_enough()) {
            before_.clear();
            for (std::size_t g = 0; g < noise_.size(); ++g) before_.push_back(noise_.statistics(g));
        }
        measured_steps_ = 0;
    }
    bool finish(double now_seconds, std::optional<double> synchronisation_seconds, StepNorms said,
                double stands_for);
    void add_time(double now_seconds, std::optional<double> synchronisation_seconds);

    TrainingSettings settings_;
    GradientMeter meter_;
    GroupedNoiseScale noise_;
    std::vector<GradientNorms> norms_;
    std::vector<GradientStatistics> before_{};  // statistics by group, while the restarted averages are young
    StepTimes times_;
    double progress_ = 0;  // in steps at the initial batch
    Holding holding_{.gpus = 0};
    std::size_t type_ = 0;
    BatchPlan plan_{};
    BatchPlan step_plan_{};  // plan of the step that is begun
    std::int64_t steps_ = 0, measured_steps_ = 0;
    // Value of steps_ when norms were last measured.
    std::int64_t measured_at_ = 0;
    int warmup_left_ = 0;
    double busy_sum_ = 0;  // of what the driver said of the GPU under the present plan
    int busy_count_ = 0;
    // State of the step that is begun.
    std::int64_t adam_updates_ = 0;
    double began_ = 0, last_mark_ = 0;
    // When the training was started, until its first step ends; then what that start took.
    std::optional<double> started_{}, start_seconds_{};
    int marks_ = 0, measured_every_ = 1;
    bool begun_ = false, wanted_ = false;
};

}  // namespace goodput::inline v0_1

#include "goodput/agent/detail/training_agent.hpp"

#endif
