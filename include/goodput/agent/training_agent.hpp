#ifndef GOODPUT_AGENT_TRAINING_AGENT_HPP
#define GOODPUT_AGENT_TRAINING_AGENT_HPP

// The job's half of an adaptive scheduler: it measures a training from within, and chooses what the training
// may choose itself. In the loop of a training
//
//     agent.begin_step(seconds);
//     agent.plan();                                  of this step
//     agent.add_gradient(gradient);                  of each microbatch
//     agent.end_step(seconds);                       before the optimiser's update
//
// and from time to time retune(). What the agent knows by then: the gradient noise scale
// (fit/noise_scale.hpp) and how long steps take by GPU type, shape and batch plan (agent/step_times.hpp).
// From these it has the batch plan of the largest goodput (model/batch_plan.hpp), the learning rate's factor
// (agent/learning_rate.hpp), and a report for the scheduler.
//
// No thread, and no clock but the caller's. Memory is allocated in the first steps and at fits, not after.
//
// Several replicas. Each has an agent; before end_step() the replicas sum totals() (a number a group, and
// one), and running_sum() unless the averaged gradient is given to add_mean_gradient() anyway. Then all
// agents know the same of the gradient. Step times differ from replica to replica: so one of them asks
// retune(), and the others are told and adopt().
//
// Gradients are those of the loss: before clipping, and divided by the loss scale (or with gradient_scale
// said). A step whose gradients overflowed is not counted: end_step() returns false. Who leaves out a step on
// other grounds calls drop_step().
//
// What it cannot do: microbatches of unequal size within a step; pipelines and tensor parallelism, where a
// GPU is no replica.

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

namespace goodput {

/// What is to be said of a step's gradients before they come.
struct StepGradients {
    /// What they are multiplied by: the loss scale of mixed precision; 1 / microbatches where the loss was
    /// divided by that.
    double scale = 1;
    std::int64_t adam_updates = 0;  ///< with Adam: updates that its second moments have seen
};

/// What a training tells its scheduler: a line of `goodput plan` without the job's name.
struct TrainingReport {
    std::string gpu_type{};         ///< what it runs on
    ThroughputSample sample{};      ///< how long the present plan takes there
    GradientStatistics gradient{};  ///< both zero: not known yet
};

/// Measures one training, and chooses its batch plan and learning rate.
class TrainingAgent {
public:
    /// Refuses settings that validate() refuses (std::invalid_argument).
    explicit TrainingAgent(TrainingSettings settings)
        : settings_((validate(settings), std::move(settings))),
          meter_(settings_.group_sizes.empty() ? std::vector{settings_.parameters} : settings_.group_sizes,
                 settings_.mean_gradient_given),
          noise_(settings_.groups(), settings_.smoothing),
          norms_(settings_.groups()),
          times_(settings_.least_steps) {
        before_.reserve(settings_.groups());
    }

    /// At the start and after each restart: what the job holds now. Chooses the plan for it: where enough is
    /// known, the total batch from before, or the best plan if that is better by retune_gain; else the
    /// initial batch. A total batch is split over the replicas with as few accumulation steps as fit. Refuses
    /// a holding that validate() refuses, and one on which no allowed batch is possible
    /// (std::invalid_argument).
    void hold(const Holding& holding);
    /// The batch plan to train with now; {0, 0} before hold(). Within a step it is that step's, which may be
    /// the same batch in two halves (TrainingSettings::split_every).
    [[nodiscard]] BatchPlan plan() const { return begun_ ? step_plan_ : plan_; }
    /// Examples of a step under it on all replicas.
    [[nodiscard]] double total_batch() const { return static_cast<double>(plan().total(holding_.gpus)); }
    /// By what to multiply the base learning rate of a group now: 1 at the initial batch, and while too few
    /// steps were measured for the rules that look at the gradient. Refuses a group that there is not
    /// (std::invalid_argument).
    [[nodiscard]] double learning_rate_factor(std::size_t group = 0) const;

    /// Begins a step at a time of the caller's clock, in seconds. A step that is begun and not ended is
    /// dropped. Refuses to begin before hold(), and times that are not finite (std::invalid_argument).
    void begin_step(double now_seconds, const StepGradients& gradients = {});
    /// Whether this step's gradients are looked at (TrainingSettings::measure_every); in others all calls
    /// that give gradients do nothing, and nothing has to be reduced. The same on all replicas.
    [[nodiscard]] bool gradients_wanted() const { return begun_ && wanted_; }
    /// The next piece of a microbatch's mean gradient: all of it, or a tensor after the other in the order of
    /// the parameters. Refuses more numbers than parameters (std::invalid_argument).
    template <std::floating_point Real>
    void add_gradient(std::span<const Real> piece) {
        if (gradients_wanted()) meter_.add(piece, metric_of(std::span<const Real>()));
    }
    /// The same for Adam, with the piece's second moments as the last update left them.
    template <std::floating_point Real, std::floating_point Moment>
    void add_gradient(std::span<const Real> piece, std::span<const Moment> second_moments) {
        if (gradients_wanted()) meter_.add(piece, metric_of(second_moments));
    }
    /// A microbatch is done, of which more follow: when. Without these calls the seconds of a step with
    /// accumulation are divided among its microbatches evenly. Refuses times that go back
    /// (std::invalid_argument).
    void end_microbatch(double now_seconds) {
        if (!begun_) bad_input("agent", "step", "not begun", "begun before a microbatch ends");
        require_time(now_seconds, last_mark_);
        last_mark_ = now_seconds;
        ++marks_;
    }
    /// The next piece of the mean of all gradients of the step, of all replicas, where the settings say that
    /// it is given; `scale` is what it is multiplied by.
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
    /// Instead: the squared norm of a group's part of that mean, in Adam's metric with Adam.
    void set_square_of_mean(std::size_t group, double square) {
        if (gradients_wanted()) meter_.set_square_of_mean(group, square);
    }
    /// Sum of this replica's gradients so far, to be summed over the replicas in place, before end_step();
    /// empty where the mean is given or a step has a single gradient, and where gradients are not wanted.
    [[nodiscard]] std::span<float> running_sum() {
        return gradients_wanted() ? meter_.running_sum() : std::span<float>();
    }
    /// Sums of squared norms by group, and the number of gradients: to be summed likewise.
    [[nodiscard]] std::span<double> totals() {
        return gradients_wanted() ? meter_.totals() : std::span<double>();
    }
    /// Ends a step. False: its gradients are not finite, and it is not counted (leave out the update).
    /// `synchronisation_seconds`: the part of the last microbatch in which nothing was computed, where it was
    /// timed. Refuses a step that was not begun, has unfinished or missing gradients, or whose times make no
    /// sense (std::invalid_argument).
    bool end_step(double now_seconds, std::optional<double> synchronisation_seconds = {});
    /// The same for who has the norms: by group, of gradients of this step. They stand for all steps since
    /// the last whose norms were given.
    bool end_step(double now_seconds, std::optional<double> synchronisation_seconds,
                  std::span<const GradientNorms> norms);
    /// The step that was begun does not count.
    void drop_step() { begun_ = false; }

    /// A plan that is so much better that changing pays (retune_gain, retune_seconds), or one of twice the
    /// atomic batch that is worth a trial (tries_larger_batches); it is adopted when it is returned. Nothing
    /// while too little is known. Refuses to be asked within a step (std::invalid_argument).
    std::optional<BatchPlan> retune();
    /// Trains with this plan from now on, because somebody else has decided; false: it is the present one.
    /// Refuses what does not fit the GPU, total batches below the initial or above the largest one, and to be
    /// told within a step (std::invalid_argument).
    bool adopt(BatchPlan plan);

    /// Gradient statistics at the initial batch, all groups together; zero before the first. Where averages
    /// had to begin anew, because Adam's metric changes with the batch, those from before it, until as many
    /// steps were measured again as a plan asks for.
    [[nodiscard]] GradientStatistics statistics() const {
        if (before_.empty()) return noise_.statistics();
        GradientStatistics sum;
        for (const GradientStatistics& group : before_) {
            sum.squared_norm += group.squared_norm;
            sum.variance += group.variance;
        }
        return sum;
    }
    /// Those of one group; `group` below the number of groups.
    [[nodiscard]] GradientStatistics statistics(std::size_t group) const {
        return before_.empty() ? noise_.statistics(group) : before_[group];
    }
    /// The gradient noise scale in examples; infinite while nothing is known.
    [[nodiscard]] double noise_scale() const { return efficiency_model().noise_scale(); }
    /// Statistical efficiency at the present plan, in (0, 1].
    [[nodiscard]] double efficiency() const { return efficiency_model().efficiency(total_batch()); }
    /// Useful examples a second at the present plan, by what was measured, else by the model; 0 while neither
    /// says anything.
    [[nodiscard]] double goodput() const;
    /// Steps at the initial batch that the training so far is worth, whatever batches it has used: a step at
    /// S times the initial batch makes as much progress as gain(S) of them (efficiency.hpp), or where nothing
    /// is known of the gradient as one, at most S. In the validation runs published with Sia, batches of one
    /// application differ by up to 128 times, and at equal final progress their metrics by 1 % (four
    /// applications of six) to 7 %.
    [[nodiscard]] double progress_steps() const { return progress_; }
    /// Useful examples so far.
    [[nodiscard]] double useful_examples() const { return progress_ * settings_.initial_batch; }
    /// The model of step times on the GPU type that is held; null before the first fit.
    [[nodiscard]] const RefinedThroughput* model() const {
        return holding_.gpus > 0 ? times_.model(type_) : nullptr;
    }
    /// The measured step times, of all that was held.
    [[nodiscard]] const StepTimes& step_times() const { return times_; }
    /// What it was told at the start.
    [[nodiscard]] const TrainingSettings& settings() const { return settings_; }
    /// What it was told last.
    [[nodiscard]] const Holding& holding() const { return holding_; }

    /// What the scheduler should know; nothing until the present plan has been timed.
    [[nodiscard]] std::optional<TrainingReport> report() const;

    /// All that it remembers, as text to be kept with the checkpoint.
    [[nodiscard]] std::string save() const;
    /// Goes on from there; then hold() what is held now. Refuses a text that save() has not written, or for a
    /// training of another size or initial batch, and is unchanged then (std::invalid_argument).
    void restore(std::string_view text);

private:
    template <class Self, class Archive>
    static void for_each_field(Self& self, Archive& archive);
    void take_up();
    /// In which norms of a piece with these second moments are taken.
    template <std::floating_point Moment>
    [[nodiscard]] AdamPreconditioner<Moment> metric_of(std::span<const Moment> second_moments) const {
        return {second_moments, settings_.optimizer == Optimizer::adam ? adam_updates_ : 0,
                settings_.adam_beta2, settings_.adam_epsilon};
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
    }
    void require_outside_step() const {
        if (begun_) bad_input("agent", "step", "not ended", "ended before the plan is changed");
    }
    void require_time(double now_seconds, double since) const {
        if (!std::isfinite(now_seconds)) bad_input("agent", "seconds", now_seconds, "a finite number");
        if (now_seconds < since)
            bad_input("agent", "seconds", now_seconds, "no less than before, " + text_of(since));
    }
    /// The averages begin anew: what they said is believed until they are old enough again.
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
    std::vector<GradientStatistics> before_{};  // by group, while the averages that began anew are young
    StepTimes times_;
    double progress_ = 0;  // steps at the initial batch
    Holding holding_{.gpus = 0};
    std::size_t type_ = 0;
    BatchPlan plan_{};
    BatchPlan step_plan_{};  // of the step that is begun
    std::int64_t steps_ = 0, measured_steps_ = 0;
    std::int64_t measured_at_ = 0;  // steps_ when norms were last looked at
    int warmup_left_ = 0;
    // The step that is begun.
    std::int64_t adam_updates_ = 0;
    double began_ = 0, last_mark_ = 0;
    int marks_ = 0, measured_every_ = 1;
    bool begun_ = false, wanted_ = false;
};

}  // namespace goodput

#include "goodput/agent/detail/training_agent.hpp"

#endif
