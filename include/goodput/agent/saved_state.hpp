#ifndef GOODPUT_AGENT_SAVED_STATE_HPP
#define GOODPUT_AGENT_SAVED_STATE_HPP

// What an agent remembers, as text to be kept with the job's checkpoint: a line with name and version, then a
// name and a value at a time. Numbers are written so that they read back exactly. One function names all
// fields, for writing and reading.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/agent/step_times.hpp"
#include "goodput/agent/training_settings.hpp"
#include "goodput/core/error.hpp"
#include "goodput/fit/noise_scale.hpp"

namespace goodput {

/// What an agent remembers, besides its settings and the gradient of the last step.
struct AgentState {
    std::size_t parameters = 0;                           ///< of the settings it belongs to
    std::vector<std::size_t> group_sizes{};               ///< of those settings
    int initial_batch = 0;                                ///< of those settings
    Holding holding{};                                    ///< what is held; gpus 0: nothing yet
    BatchPlan plan{};                                     ///< the present one
    std::int64_t steps = 0;                               ///< begun so far
    std::int64_t measured_steps = 0;                      ///< that the noise scale's averages have taken in
    std::int64_t measured_at = 0;                         ///< steps when norms were last looked at
    int warmup_left = 0;                                  ///< steps whose times do not count yet
    double progress = 0;                                  ///< scale-invariant iterations
    std::vector<NoiseScaleState> noise{};                 ///< by group
    std::vector<GradientStatistics> before{};             ///< by group, of averages that began anew; or none
    bool metric_known = false;                            ///< GradientMeter::reported() has a value
    bool metric_preconditioned = false;                   ///< its fields
    double metric_scale = 0;                              ///< its fields
    std::vector<std::string> gpu_types{};                 ///< of StepTimes
    std::vector<TimedPlan> timed{};                       ///< of StepTimes
    std::vector<std::vector<ThroughputSample>> fitted{};  ///< of StepTimes, by GPU type
};

/// The state as text.
[[nodiscard]] std::string text_of_state(AgentState state);
/// The state that the text holds. Refuses any other text, naming where (std::invalid_argument).
[[nodiscard]] AgentState state_from_text(std::string_view text);

namespace detail {

template <class Archive>
void for_each_field(AgentState& state, Archive& archive) {
    archive("parameters", state.parameters);
    archive.list("group_sizes", state.group_sizes, state.parameters,
                 [&](std::size_t& size) { archive("size", size); });
    archive("initial_batch", state.initial_batch);
    archive("gpu_type", state.holding.gpu_type);
    archive("nodes", state.holding.nodes);
    archive("gpus", state.holding.gpus);
    archive("max_atomic_batch", state.holding.max_atomic_batch);
    archive("local_batch", state.plan.atomic_batch);
    archive("accumulation", state.plan.accumulation_steps);
    archive("steps", state.steps);
    archive("measured_steps", state.measured_steps);
    archive("warmup_left", state.warmup_left);
    archive("progress", state.progress);
    archive.list("noise", state.noise, state.parameters, [&](NoiseScaleState& noise) {
        archive("squared_norm", noise.squared_norm);
        archive("variance", noise.variance);
        archive("weight", noise.weight);
        archive("differenced", noise.differenced);
    });
    if (archive.version() > 1) {
        archive("measured_at", state.measured_at);
        archive.list("before", state.before, state.noise.size(), [&](GradientStatistics& of_group) {
            archive("squared_norm", of_group.squared_norm);
            archive("variance", of_group.variance);
        });
    } else {
        state.measured_at = state.steps;
    }
    archive("metric_known", state.metric_known);
    archive("metric_preconditioned", state.metric_preconditioned);
    archive("metric_scale", state.metric_scale);
    archive.list("gpu_types", state.gpu_types, StepTimes::most_gpu_types,
                 [&](std::string& name) { archive("name", name); });
    archive.list("timed", state.timed, StepTimes::most_plans, [&](TimedPlan& timed) {
        archive("type", timed.gpu_type);
        archive("nodes", timed.shape.nodes);
        archive("gpus", timed.shape.gpus);
        archive("local_batch", timed.plan.atomic_batch);
        archive("accumulation", timed.plan.accumulation_steps);
        archive("sync_known", timed.sync_known);
        if (archive.version() > 2) archive("whole_iteration", timed.whole_iteration);
        archive("steps", timed.steps);
        archive("fitted_steps", timed.fitted_steps);
        archive("last_used", timed.last_used);
        const std::size_t kept = static_cast<std::size_t>(
            std::clamp<std::int64_t>(timed.steps, 0, static_cast<std::int64_t>(TimedPlan::kept)));
        for (std::size_t i = 0; i < kept; ++i) {
            archive("step_s", timed.step_seconds[i]);
            archive("sync_s", timed.sync_seconds[i]);
        }
    });
    archive.list("fitted", state.fitted, StepTimes::most_gpu_types,
                 [&](std::vector<ThroughputSample>& samples) {
                     archive.list("samples", samples, StepTimes::most_plans, [&](ThroughputSample& sample) {
                         archive("nodes", sample.shape.nodes);
                         archive("gpus", sample.shape.gpus);
                         archive("local_batch", sample.plan.atomic_batch);
                         archive("accumulation", sample.plan.accumulation_steps);
                         archive("step_s", sample.step_seconds);
                         archive("sync_s", sample.sync_seconds);
                         archive("sync_known", sample.sync_known);
                         if (archive.version() > 2) archive("whole_iteration", sample.whole_iteration);
                     });
                 });
}

inline constexpr std::string_view saved_state_heading = "goodput-agent ";
inline constexpr int saved_state_version = 3;  // 1 and 2, with less, are read as well

class StateWriter {
public:
    [[nodiscard]] static int version() { return saved_state_version; }
    void operator()(std::string_view name, std::string& value) {
        add(name, text_of(value.size()) + ":" + value);
    }
    void operator()(std::string_view name, bool& value) { add(name, value ? "1" : "0"); }
    template <class Number>
    void operator()(std::string_view name, Number& value) {
        add(name, text_of(value));
    }
    template <class Value, class Each>
    void list(std::string_view name, std::vector<Value>& values, std::size_t, const Each& each) {
        add(name, text_of(values.size()));
        for (Value& value : values) each(value);
    }
    [[nodiscard]] std::string text() && { return std::move(text_); }

private:
    void add(std::string_view name, const std::string& value) {
        text_.append(name).append(1, ' ').append(value).append(1, '\n');
    }
    std::string text_ = std::string(saved_state_heading) + text_of(saved_state_version) + "\n";
};

class StateReader {
public:
    explicit StateReader(std::string_view text) : text_(text) {
        if (!text_.starts_with(saved_state_heading)) fail(saved_state_heading);
        at_ = saved_state_heading.size();
        number(version_);
        require_between("saved agent", "version", version_, 1, saved_state_version);
        end_line();
    }
    [[nodiscard]] int version() const { return version_; }
    void operator()(std::string_view name, std::string& value) {
        expect(name);
        std::size_t size = 0;
        number(size);
        if (size > text_.size() - at_ || size == text_.size() - at_ || text_[at_] != ':') fail("a text");
        value = text_.substr(at_ + 1, size);
        at_ += 1 + value.size();
        end_line();
    }
    void operator()(std::string_view name, bool& value) {
        int read = 0;
        (*this)(name, read);
        if (read != 0 && read != 1) bad_input("saved agent", name, read, "0 or 1");
        value = read == 1;
    }
    template <class Number>
    void operator()(std::string_view name, Number& value) {
        expect(name);
        number(value);
        end_line();
    }
    template <class Value, class Each>
    void list(std::string_view name, std::vector<Value>& values, std::size_t most, const Each& each) {
        std::size_t size = 0;
        (*this)(name, size);
        // Nothing is allocated for what the text cannot hold.
        if (size > most || size > text_.size() - at_)
            bad_input("saved agent", name, size, "a list that the text can hold");
        values.resize(size);
        for (Value& value : values) each(value);
    }
    void expect_end() const {
        if (at_ != text_.size()) fail("the end");
    }

private:
    void expect(std::string_view name) {
        if (!text_.substr(at_).starts_with(name) || at_ + name.size() >= text_.size() ||
            text_[at_ + name.size()] != ' ')
            fail(name);
        at_ += name.size() + 1;
    }
    template <class Number>
    void number(Number& value) {
        const char* const from = text_.data() + at_;
        const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), value);
        if (error != std::errc{}) fail("a number");
        if constexpr (std::floating_point<Number>)
            if (!std::isfinite(value)) fail("a finite number");
        at_ += static_cast<std::size_t>(end - from);
    }
    void end_line() {
        if (at_ >= text_.size() || text_[at_] != '\n') fail("the end of a line");
        ++at_;
    }
    [[noreturn]] void fail(std::string_view expected) const {
        bad_input("saved agent", "text at character " + text_of(at_ + 1),
                  at_ < text_.size() ? text_.substr(at_, 20) : std::string_view("the end"), expected);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int version_ = 0;
};

inline void validate(const AgentState& state) {
    const std::string_view subject = "saved agent";
    const auto require_total = [subject](BatchPlan plan, Shape shape) {
        const double total = 1.0 * plan.atomic_batch * (plan.accumulation_steps + 1.0) * shape.gpus;
        if (!(total <= 0x1p60)) bad_input(subject, "total batch", total, "at most 2^60");
    };
    if (state.holding.gpus != 0) {
        validate(state.holding);
        require_between(subject, "local_batch", state.plan.atomic_batch, 1, 1 << 30);
        require_between(subject, "accumulation", state.plan.accumulation_steps, 0, 1 << 20);
        require_total(state.plan, state.holding.shape());
    }
    require_between(subject, "steps", state.steps, 0, std::int64_t{1} << 60);
    require_between(subject, "measured_steps", state.measured_steps, 0, state.steps);
    require_between(subject, "measured_at", state.measured_at, 0, state.steps);
    if (!state.before.empty() && state.before.size() != state.noise.size())
        bad_input(subject, "before", state.before.size(), "none or one a group");
    for (const GradientStatistics& of_group : state.before) goodput::validate(of_group, subject);
    require_between(subject, "warmup_left", state.warmup_left, 0, 1 << 20);
    require_at_least(subject, "progress", state.progress, 0);
    require_at_least(subject, "metric_scale", state.metric_scale, 0);
    for (const NoiseScaleState& noise : state.noise) NoiseScaleEstimator().restore(noise);
    for (std::size_t i = 0; i < state.gpu_types.size(); ++i)
        if (state.gpu_types[i].empty() ||
            std::find(state.gpu_types.begin(), state.gpu_types.begin() + static_cast<std::ptrdiff_t>(i),
                      state.gpu_types[i]) != state.gpu_types.begin() + static_cast<std::ptrdiff_t>(i))
            bad_input(subject, "gpu_types", state.gpu_types[i], "a name of its own");
    if (state.fitted.size() != state.gpu_types.size())
        bad_input(subject, "fitted", state.fitted.size(), text_of(state.gpu_types.size()));
    for (const auto& samples : state.fitted)
        for (const ThroughputSample& sample : samples) goodput::validate(sample, subject);
    for (const TimedPlan& timed : state.timed) {
        if (timed.gpu_type >= state.gpu_types.size())
            bad_input(subject, "timed.type", timed.gpu_type, "below " + text_of(state.gpu_types.size()));
        require_total(timed.plan, timed.shape);
        require_between(subject, "timed.steps", timed.steps, 0, std::int64_t{1} << 60);
        require_between(subject, "timed.fitted_steps", timed.fitted_steps, 0, timed.steps);
        require_between(subject, "timed.last_used", timed.last_used, 0, std::int64_t{1} << 60);
        const auto kept = static_cast<std::size_t>(
            std::min<std::int64_t>(timed.steps, static_cast<std::int64_t>(TimedPlan::kept)));
        for (std::size_t i = 0; i < kept; ++i)
            goodput::validate(ThroughputSample{.shape = timed.shape,
                                               .plan = timed.plan,
                                               .step_seconds = timed.step_seconds[i],
                                               .sync_seconds = timed.sync_seconds[i],
                                               .sync_known = timed.sync_known,
                                               .whole_iteration = timed.whole_iteration},
                              subject);
    }
}

}  // namespace detail

inline std::string text_of_state(AgentState state) {
    detail::StateWriter writer;
    detail::for_each_field(state, writer);
    return std::move(writer).text();
}

inline AgentState state_from_text(std::string_view text) {
    AgentState state;
    detail::StateReader reader(text);
    detail::for_each_field(state, reader);
    reader.expect_end();
    detail::validate(state);
    return state;
}

}  // namespace goodput

#endif
