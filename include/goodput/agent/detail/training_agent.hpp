#ifndef GOODPUT_AGENT_DETAIL_TRAINING_AGENT_HPP
#define GOODPUT_AGENT_DETAIL_TRAINING_AGENT_HPP

// The function bodies of training_agent.hpp.

#include "goodput/agent/detail/saved_text.hpp"
#include "goodput/agent/training_agent.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Splits the initial batch over the replicas with as few accumulation steps as possible. The total is
/// larger than the initial batch if the smallest atomic batch requires it. Returns an empty plan if the
/// total would then exceed the largest batch.
inline BatchPlan initial_plan(Shape shape, const BatchLimits& limits) {
    if (limits.max_atomic_batch < limits.min_atomic_batch) return {};
    const int load = divide_up(limits.initial_batch, shape.gpus);
    const int microbatches = divide_up(load, limits.max_atomic_batch);
    const int atomic = std::max(divide_up(load, microbatches), limits.min_atomic_batch);
    // Rounding up may exceed the largest batch by less than one example per microbatch. The smallest atomic
    // batch must not exceed it.
    if (1.0 * shape.gpus * limits.min_atomic_batch * microbatches > limits.max_batch) return {};
    return {atomic, microbatches - 1};
}

}  // namespace detail

inline void TrainingAgent::hold(const Holding& holding) {
    validate(holding);
    BatchLimits allowed = limits_on(holding);
    BatchPlan plan = detail::initial_plan(holding.shape(), allowed);
    if (plan.atomic_batch == 0)
        bad_input("holding", "gpus", holding.gpus,
                  "few enough, and large enough, for a total batch of at most " +
                      text_of(settings_.max_batch) + " with at least " + text_of(settings_.min_atomic_batch) +
                      " examples each");
    const auto before =
        std::clamp<std::int64_t>(plan_.total(holding_.gpus), settings_.initial_batch, settings_.max_batch);
    type_ = times_.type_index(holding.gpu_type);
    holding_ = holding;
    meter_.forget();
    started_.reset();
    start_seconds_.reset();
    begun_ = false;
    if (model() && knows_noise()) {
        const BestPlan best = best_plan();
        allowed.initial_batch = static_cast<int>(before);
        const BatchPlan same = detail::initial_plan(holding.shape(), allowed);
        const bool stays =
            same.atomic_batch > 0 &&
            detail::goodput_of(*model(), efficiency_model(), holding.shape(), same) * settings_.retune_gain >=
                best.goodput;
        if (stays || best.goodput > 0) plan = stays ? same : best.plan;
    }
    change(plan);
}

inline BestPlan TrainingAgent::best_plan() const {
    BatchLimits allowed = limits_on(holding_);
    const double tried = std::max(times_.largest_total_batch(), 1.0 * settings_.initial_batch);
    allowed.max_batch = static_cast<int>(std::min(1.0 * allowed.max_batch, settings_.largest_growth * tried));
    return best_batch_plan(*model(), efficiency_model(), holding_.shape(), allowed);
}

inline double TrainingAgent::learning_rate_factor(std::size_t group) const {
    if (group >= settings_.groups())
        bad_input("agent", "parameter group", group, "below " + text_of(settings_.groups()));
    if (holding_.gpus == 0) return 1;
    return goodput::learning_rate_factor(settings_.scaling, settings_.optimizer,
                                         total_batch() / settings_.initial_batch,
                                         knows_noise() ? statistics(group) : GradientStatistics{});
}

inline int TrainingAgent::steps_a_measurement(bool single, bool splits) const {
    const int asked = settings_.measure_every;
    if (settings_.split_every == 0 || (single && !splits)) return settings_.steps_a_measurement();
    if (!single && asked > 0) return asked;
    // At the start of a training run the noise scale is needed soon, and splitting a batch costs only the
    // fixed part of a pass. If a step has several gradients, measuring more often would cost little. But
    // the learning rates depend on the estimates, so the course of training would then depend on the number
    // of replicas.
    if (!measured_enough()) return std::max(asked, 2);
    const bool large = asked == 0 && settings_.steps_a_measurement() > 1;
    return large ? 8 * settings_.split_every : std::max(asked, settings_.split_every);
}

inline void TrainingAgent::begin_step(double now_seconds, const StepGradients& gradients) {
    if (holding_.gpus == 0) bad_input("agent", "holding", "unknown", "told by hold() before the first step");
    require_time(now_seconds, now_seconds);
    require_at_least("agent", "adam_updates", static_cast<double>(gradients.adam_updates), 0);
    adam_updates_ = gradients.adam_updates;
    const bool single = holding_.gpus == 1 && plan_.accumulation_steps == 0;
    const int half = detail::divide_up(plan_.atomic_batch, 2);
    const bool splits =
        single && settings_.split_every > 0 && plan_.atomic_batch > 1 && half >= settings_.min_atomic_batch;
    measured_every_ = steps_a_measurement(single, splits);
    const std::int64_t every = measured_every_, phase = steps_ % every;
    wanted_ = phase == 0 || (single && !splits && phase == 1);
    step_plan_ = splits && wanted_ ? BatchPlan{half, 1} : plan_;
    if (wanted_)
        meter_.begin({.scale_of_one = static_cast<double>(step_plan_.atomic_batch) / settings_.initial_batch,
                      .single = single && !splits,
                      .after_the_last = every == 1 || phase == 1,
                      .before_the_next = every == 1 || phase == 0,
                      .gradient_scale = gradients.scale,
                      .preconditioned = metric_of(std::span<const double>()).ready()});
    begun_ = true;
    began_ = last_mark_ = now_seconds;
    marks_ = 0;
    ++steps_;
}

inline bool TrainingAgent::end_step(double now_seconds, std::optional<double> synchronisation_seconds) {
    if (!begun_) bad_input("agent", "step", "not begun", "begun before it ends");
    require_time(now_seconds, last_mark_);
    if (!wanted_) return finish(now_seconds, synchronisation_seconds, StepNorms::waiting, 0);
    const std::int64_t expected = std::int64_t{holding_.gpus} * (step_plan_.accumulation_steps + 1);
    if (meter_.count() < std::min<std::int64_t>(expected, 2) ||
        (settings_.mean_gradient_given && meter_.count() != expected))
        bad_input("agent", "gradients of the step, of all replicas", meter_.count(), text_of(expected));
    const StepNorms said = meter_.end(norms_);
    if (said == StepNorms::known && meter_.reported()->preconditioned) bound_norms();
    return finish(now_seconds, synchronisation_seconds, said, measured_every_);
}

inline bool TrainingAgent::end_step(double now_seconds, std::optional<double> synchronisation_seconds,
                                    std::span<const GradientNorms> norms) {
    if (!begun_) bad_input("agent", "step", "not begun", "begun before it ends");
    require_time(now_seconds, last_mark_);
    if (norms.size() != norms_.size())
        bad_input("agent", "parameter groups of the norms", norms.size(), text_of(norms_.size()));
    StepNorms said = StepNorms::known;
    for (const GradientNorms& each : norms) {
        if (!NoiseScaleEstimator::usable(each) && said == StepNorms::known) said = StepNorms::lost;
        if (!std::isfinite(each.mean_of_squares) || !std::isfinite(each.square_of_mean))
            said = StepNorms::not_finite;
    }
    std::copy(norms.begin(), norms.end(), norms_.begin());
    if (metric_of(std::span<const double>()).ready()) bound_norms();
    return finish(now_seconds, synchronisation_seconds, said, static_cast<double>(steps_ - measured_at_));
}

inline bool TrainingAgent::finish(double now_seconds, std::optional<double> synchronisation_seconds,
                                  StepNorms said, double stands_for) {
    if (synchronisation_seconds)
        require_at_least("agent", "synchronisation seconds", *synchronisation_seconds, 0);
    begun_ = false;
    if (started_) {
        if (now_seconds >= *started_) start_seconds_ = now_seconds - *started_;
        started_.reset();
    }
    if (said == StepNorms::not_finite) return false;
    const double scale = static_cast<double>(step_plan_.total(holding_.gpus)) / settings_.initial_batch;
    if (said == StepNorms::known) {
        for (GradientNorms& each : norms_) each.steps = stands_for;
        measured_at_ = steps_;
        const bool restarts =
            std::any_of(norms_.begin(), norms_.end(), [](const GradientNorms& each) { return each.restart; });
        // The averages also start anew at the first step with several gradients after steps with a single
        // one.
        const bool biased =
            noise_.state(0).weight > 0 && noise_.state(0).differenced && !norms_[0].differenced;
        if (restarts || biased) begin_anew();
        if (noise_.observe(norms_)) ++measured_steps_;
        if (measured_enough()) before_.clear();
    }
    const GradientStatistics gradient = statistics();
    progress_ += measured_gradient(gradient) ? gain(gradient, scale) : std::min(scale, 1.0);
    if (warmup_left_ > 0)
        --warmup_left_;
    else
        add_time(now_seconds, synchronisation_seconds);
    return true;
}

inline void TrainingAgent::add_time(double now_seconds, std::optional<double> synchronisation_seconds) {
    ThroughputSample sample{.shape = holding_.shape(), .plan = step_plan_};
    sample.sync_known = synchronisation_seconds.has_value() || holding_.gpus == 1;
    if (holding_.gpus > 1) sample.sync_seconds = synchronisation_seconds.value_or(0);
    const double all = now_seconds - began_;
    const int before = step_plan_.accumulation_steps;
    if (before > 0 && marks_ == before) {
        sample.step_seconds = now_seconds - last_mark_;
    } else if (sample.sync_known) {
        sample.step_seconds = (all - sample.sync_seconds) / (before + 1) + sample.sync_seconds;
    } else {
        sample.step_seconds = all;
        sample.whole_iteration = before > 0;
    }
    // Ignore a step that is too short for the clock.
    const double least = std::max(least_step_seconds, sample.sync_seconds);
    if (sample.step_seconds > least && sample.step_seconds <= most_step_seconds) times_.add(type_, sample);
}

inline BatchPlan TrainingAgent::plan_to_try() const {
    if (!settings_.tries_larger_batches) return {};
    const Shape shape = holding_.shape();
    const double most =
        std::min<double>(limits_on(holding_).max_atomic_batch,
                         settings_.max_batch / (shape.gpus * (plan_.accumulation_steps + 1.0)));
    const int atomic = static_cast<int>(std::min(2.0 * plan_.atomic_batch, most));
    const double enough = 1.5 * plan_.atomic_batch;
    if (atomic < enough) return {};
    for (const TimedPlan& timed : times_.plans())
        if (timed.gpu_type == type_ && timed.shape == shape && timed.plan.atomic_batch >= enough &&
            timed.steps >= settings_.least_steps)
            return {};
    return {atomic, plan_.accumulation_steps};
}

inline std::optional<BatchPlan> TrainingAgent::retune() {
    require_outside_step();
    if (!model() || !measured_enough() || !times_.measured(type_, holding_.shape(), plan_))
        return std::nullopt;
    const BestPlan best = best_plan();
    const double present = detail::goodput_of(*model(), efficiency_model(), holding_.shape(), plan_);
    if (best.plan != plan_ && pays(best.goodput, present, 1)) {
        change(best.plan);
        return plan_;
    }
    // The model's prediction for larger batches may be no more than its prior. A step with more examples
    // never takes less time. So a trial cannot teach anything if the larger batch would not be worth a
    // change even if its steps took no longer.
    const BatchPlan larger = plan_to_try();
    if (larger.atomic_batch == 0) return std::nullopt;
    const double examples = static_cast<double>(larger.total(holding_.gpus)) / total_batch();
    const double usefulness = efficiency_model().efficiency(examples * total_batch()) /
                              efficiency_model().efficiency(total_batch());
    if (!pays(present * examples * usefulness, present, 2)) return std::nullopt;
    change(larger);
    return plan_;
}

inline bool TrainingAgent::adopt(BatchPlan plan) {
    require_outside_step();
    if (holding_.gpus == 0) bad_input("agent", "holding", "unknown", "told by hold() before a plan");
    if (plan == plan_) return false;
    require_between("plan", "atomic batch", plan.atomic_batch, 1, limits_on(holding_).max_atomic_batch);
    require_between("plan", "accumulation steps", plan.accumulation_steps, 0, 1 << 20);
    const double total = 1.0 * holding_.gpus * plan.atomic_batch * (plan.accumulation_steps + 1.0);
    const BatchPlan initial = detail::initial_plan(holding_.shape(), limits_on(holding_));
    const double most =
        std::max<double>(settings_.max_batch, static_cast<double>(initial.total(holding_.gpus)));
    if (!(total >= settings_.initial_batch && total <= most))
        bad_input("plan", "total batch", total,
                  "between the initial batch " + text_of(settings_.initial_batch) + " and " + text_of(most));
    change(plan);
    return true;
}

inline double TrainingAgent::goodput() const {
    if (holding_.gpus == 0) return 0;
    const RefinedThroughput* const fitted = model();
    double seconds = fitted ? fitted->iteration_seconds(holding_.shape(), plan_) : 0;
    if (const auto sample = times_.measured(type_, holding_.shape(), plan_)) {
        const double computing =
            fitted ? fitted->compute_seconds(plan_.atomic_batch) * fitted->compute_factor(holding_.shape())
                   : sample->step_seconds / sample->microbatches();
        const int further = plan_.accumulation_steps + 1 - sample->microbatches();
        seconds = sample->step_seconds + further * sample->compute_seconds().value_or(computing);
    }
    return seconds > 0 ? total_batch() / seconds * efficiency() : 0;
}

inline std::optional<TrainingReport> TrainingAgent::report() const {
    if (holding_.gpus == 0) return std::nullopt;
    const auto sample = times_.measured(type_, holding_.shape(), plan_);
    if (!sample) return std::nullopt;
    const auto busy = busy_count_ > 0 ? std::optional(busy_sum_ / busy_count_) : std::nullopt;
    return TrainingReport{holding_.gpu_type, *sample, statistics(), start_seconds_, busy};
}

template <class Self, class Archive>
void TrainingAgent::for_each_field(Self& self, Archive& archive) {
    constexpr bool reads = !std::is_const_v<Self>;
    const auto require_same = [](std::string_view field, std::size_t saved, std::size_t own) {
        if (saved != own) bad_input("saved agent", field, saved, "that of the settings, " + text_of(own));
    };
    std::size_t parameters = self.settings_.parameters;
    std::vector<std::size_t> group_sizes = self.settings_.group_sizes;
    auto initial_batch = static_cast<std::size_t>(self.settings_.initial_batch);
    archive("parameters", parameters);
    require_same("parameters", parameters, self.settings_.parameters);
    archive.list("group_sizes", group_sizes, parameters, [&](auto& size) { archive("size", size); });
    if (group_sizes != self.settings_.group_sizes)
        bad_input("saved agent", "group_sizes", "different", "those of the settings");
    archive("initial_batch", initial_batch);
    require_same("initial_batch", initial_batch, static_cast<std::size_t>(self.settings_.initial_batch));
    archive("gpu_type", self.holding_.gpu_type);
    archive("nodes", self.holding_.nodes);
    archive("gpus", self.holding_.gpus);
    archive("max_atomic_batch", self.holding_.max_atomic_batch);
    archive("local_batch", self.plan_.atomic_batch);
    archive("accumulation", self.plan_.accumulation_steps);
    archive("steps", self.steps_);
    archive("measured_steps", self.measured_steps_);
    archive("warmup_left", self.warmup_left_);
    archive("progress", self.progress_);
    std::vector<NoiseScaleState> noise;
    for (std::size_t g = 0; g < self.noise_.size(); ++g) noise.push_back(self.noise_.state(g));
    archive.list("noise", noise, parameters, [&](auto& group) {
        archive("squared_norm", group.squared_norm);
        archive("variance", group.variance);
        archive("weight", group.weight);
        archive("differenced", group.differenced);
    });
    require_same("number of groups", noise.size(), self.settings_.groups());
    archive("measured_at", self.measured_at_);
    archive.list("before", self.before_, noise.size(), [&](auto& group) {
        archive("squared_norm", group.squared_norm);
        archive("variance", group.variance);
    });
    bool metric_known = self.meter_.reported().has_value();
    GradientMeter::Metric metric = self.meter_.reported().value_or(GradientMeter::Metric{});
    archive("metric_known", metric_known);
    archive("metric_preconditioned", metric.preconditioned);
    archive("metric_scale", metric.scale);
    StepTimes::for_each_field(self.times_, archive);
    if constexpr (reads) {
        require_at_least("saved agent", "metric_scale", metric.scale, 0);
        for (std::size_t g = 0; g < noise.size(); ++g) self.noise_.restore(g, noise[g]);
        if (metric_known) self.meter_.restore(metric);
        self.take_up();
    }
}

/// Checks the state that was read, and makes the agent ready to continue from it.
inline void TrainingAgent::take_up() {
    constexpr std::string_view subject = "saved agent";
    require_between(subject, "steps", steps_, 0, std::int64_t{1} << 60);
    require_between(subject, "measured_steps", measured_steps_, 0, steps_);
    require_between(subject, "measured_at", measured_at_, 0, steps_);
    if (!before_.empty() && before_.size() != noise_.size())
        bad_input(subject, "before", before_.size(), "none or one a group");
    for (const GradientStatistics& group : before_) validate(group, subject);
    require_between(subject, "warmup_left", warmup_left_, 0, 1 << 20);
    require_at_least(subject, "progress", progress_, 0);
    if (holding_.gpus == 0) return;
    validate(holding_);
    require_between(subject, "local_batch", plan_.atomic_batch, 1, 1 << 30);
    require_between(subject, "accumulation", plan_.accumulation_steps, 0, 1 << 20);
    detail::require_total(subject, plan_, holding_.shape(), settings_.initial_batch);
    const auto names = times_.gpu_types();
    type_ =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), holding_.gpu_type) - names.begin());
    if (type_ == names.size()) bad_input(subject, "gpu_type", holding_.gpu_type, "among gpu_types");
}

inline std::string TrainingAgent::save() const {
    detail::SavedTextWriter writer;
    for_each_field(*this, writer);
    return std::move(writer).text();
}

inline void TrainingAgent::restore(std::string_view text) {
    TrainingAgent read(settings_);
    detail::SavedTextReader reader(text);
    for_each_field(read, reader);
    reader.expect_end();
    *this = std::move(read);
}

}  // namespace goodput::inline v0_1

#endif
