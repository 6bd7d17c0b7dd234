// The agents of the C interface.

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/agent/training_agent.hpp"
#include "json/agent_lines.hpp"
#include "support.hpp"

struct goodput_agent {
    goodput::c::LastError error{};
    std::optional<goodput::TrainingAgent> agent{};
};

namespace goodput::c {

namespace {

TrainingSettings settings_of(const goodput_agent_settings& from) {
    constexpr std::string_view subject = "training settings";
    require_between(subject, "optimizer", from.optimizer, 0, 2);
    require_between(subject, "scaling", from.scaling, 0, 3);
    require_flags(subject, from.flags,
                  GOODPUT_AGENT_MEAN_GIVEN | GOODPUT_AGENT_NO_TRIALS | GOODPUT_AGENT_NO_WARMUP);
    const Elements<std::size_t> groups(from.group_size, from.group_count, sizeof(std::size_t), "group_size");
    TrainingSettings settings{.parameters = from.parameters,
                              .optimizer = static_cast<Optimizer>(from.optimizer),
                              .scaling = static_cast<LearningRateScaling>(from.scaling),
                              .initial_batch = from.initial_batch,
                              .max_batch = from.max_batch,
                              .max_atomic_batch = from.max_atomic_batch,
                              .mean_gradient_given = (from.flags & GOODPUT_AGENT_MEAN_GIVEN) != 0,
                              .measure_every = from.measure_every,
                              .retune_seconds = from.retune_seconds,
                              .tries_larger_batches = (from.flags & GOODPUT_AGENT_NO_TRIALS) == 0};
    for (std::size_t g = 0; g < groups.size(); ++g) settings.group_sizes.push_back(groups[g]);
    const auto take = [](auto& to, auto given) {
        if (given != 0) to = given;
    };
    take(settings.adam_beta2, from.adam_beta2);
    take(settings.adam_epsilon, from.adam_epsilon);
    take(settings.min_atomic_batch, from.min_atomic_batch);
    take(settings.smoothing, from.smoothing);
    take(settings.warmup_steps, from.warmup_steps);
    if ((from.flags & GOODPUT_AGENT_NO_WARMUP) != 0) settings.warmup_steps = 0;
    take(settings.least_steps, from.least_steps);
    take(settings.least_measured_steps, from.least_measured_steps);
    take(settings.retune_gain, from.retune_gain);
    take(settings.retune_horizon_seconds, from.retune_horizon_s);
    take(settings.largest_growth, from.largest_growth);
    settings.split_every = from.split_every;
    return settings;
}

/// Calls call(agent), which needs settings.
template <class Call>
goodput_status with_agent(goodput_agent* handle, Call call) {
    return guarded(handle, [&] {
        if (!handle->agent) throw Failure(GOODPUT_NOT_YET, "agent: it has no settings yet");
        call(*handle->agent);
    });
}

template <class Real>
std::span<const Real> piece_of(const Real* array, std::size_t count, std::string_view field) {
    if (count > 0) require_given(array, "agent", field);
    return {array, count};
}

template <class Real>
goodput_status add(goodput_agent* handle, const Real* piece, const Real* moments, std::size_t count) {
    return with_agent(handle, [&](TrainingAgent& agent) {
        if (moments)
            agent.add_gradient(piece_of(piece, count, "piece"), std::span<const Real>(moments, count));
        else
            agent.add_gradient(piece_of(piece, count, "piece"));
    });
}

template <class Real>
goodput_status add_mean(goodput_agent* handle, const Real* piece, const Real* moments, std::size_t count,
                        double scale) {
    return with_agent(handle, [&](TrainingAgent& agent) {
        if (moments)
            agent.add_mean_gradient(piece_of(piece, count, "piece"), std::span<const Real>(moments, count),
                                    scale);
        else
            agent.add_mean_gradient(piece_of(piece, count, "piece"), scale);
    });
}

template <class Number>
void write_numbers(std::span<const Number> from, Number* to, std::size_t capacity, std::size_t* count) {
    require_given(count, "agent", "count");
    *count = from.size();
    if (capacity < from.size())
        throw Failure(GOODPUT_TOO_SMALL, "agent: capacity is " + text_of(capacity) +
                                             ", but must be at least " + text_of(from.size()));
    if (!from.empty()) require_given(to, "agent", "array");
    std::copy(from.begin(), from.end(), to);
}

template <class Number>
void read_numbers(const Number* from, std::size_t count, std::span<Number> to) {
    if (count != to.size()) bad_input("agent", "count", count, text_of(to.size()));
    if (count > 0) require_given(from, "agent", "array");
    std::copy_n(from, count, to.begin());
}

void write_text(const std::string& from, char* text, std::size_t capacity, std::size_t* length) {
    if (length) *length = from.size();
    if (!text || capacity == 0) {
        if (!length) bad_input("agent", "text and length", "null", "given, one of them");
        if (text) throw Failure(GOODPUT_TOO_SMALL, "agent: capacity is 0");
        return;
    }
    const std::size_t written = std::min(from.size(), capacity - 1);
    std::memcpy(text, from.data(), written);
    text[written] = '\0';
    if (written < from.size())
        throw Failure(GOODPUT_TOO_SMALL, "agent: capacity is " + text_of(capacity) +
                                             ", but must be at least " + text_of(from.size() + 1));
}

std::optional<double> synchronisation(double sync_s) {
    return sync_s < 0 ? std::nullopt : std::optional(sync_s);
}

void say(int32_t* to, bool what) {
    if (to) *to = what ? 1 : 0;
}

}  // namespace

}  // namespace goodput::c

using namespace goodput::c;

extern "C" {

goodput_agent* goodput_agent_create(void) {
    try {
        return new goodput_agent;
    } catch (...) {
        return nullptr;
    }
}

void goodput_agent_destroy(goodput_agent* agent) { delete agent; }

const char* goodput_agent_error(const goodput_agent* agent) {
    return agent ? agent->error.text() : "the handle is null";
}

goodput_status goodput_agent_configure(goodput_agent* agent, const goodput_agent_settings* settings) {
    return guarded(agent, [&] {
        goodput::TrainingAgent made(settings_of(read_sized(settings, "goodput_agent_settings")));
        agent->agent.emplace(std::move(made));
    });
}

goodput_status goodput_agent_hold(goodput_agent* agent, const goodput_holding* holding) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        const goodput_holding from = read_sized(holding, "goodput_holding");
        require_given(from.gpu_type, "holding", "gpu_type");
        it.hold({from.gpu_type, from.nodes, from.gpus, from.max_atomic_batch});
    });
}

goodput_status goodput_agent_started(goodput_agent* agent, double started_s) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) { it.started(started_s); });
}

goodput_status goodput_agent_begin_step(goodput_agent* agent, double now_s, double gradient_scale,
                                        uint64_t adam_updates, int32_t* wanted) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        constexpr std::uint64_t most = std::uint64_t{1} << 62;
        it.begin_step(now_s, {.scale = gradient_scale,
                              .adam_updates = static_cast<std::int64_t>(std::min(adam_updates, most))});
        say(wanted, it.gradients_wanted());
    });
}

goodput_status goodput_agent_add_floats(goodput_agent* agent, const float* piece, const float* second_moments,
                                        size_t count) {
    return add(agent, piece, second_moments, count);
}

goodput_status goodput_agent_add_doubles(goodput_agent* agent, const double* piece,
                                         const double* second_moments, size_t count) {
    return add(agent, piece, second_moments, count);
}

goodput_status goodput_agent_end_microbatch(goodput_agent* agent, double now_s) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) { it.end_microbatch(now_s); });
}

goodput_status goodput_agent_add_mean_floats(goodput_agent* agent, const float* piece,
                                             const float* second_moments, size_t count, double scale) {
    return add_mean(agent, piece, second_moments, count, scale);
}

goodput_status goodput_agent_add_mean_doubles(goodput_agent* agent, const double* piece,
                                              const double* second_moments, size_t count, double scale) {
    return add_mean(agent, piece, second_moments, count, scale);
}

goodput_status goodput_agent_set_square_of_mean(goodput_agent* agent, size_t group, double square) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        if (group >= it.settings().groups())
            goodput::bad_input("agent", "group", group,
                               "below the number of groups, " + goodput::text_of(it.settings().groups()));
        it.set_square_of_mean(group, square);
    });
}

goodput_status goodput_agent_totals(goodput_agent* agent, double* totals, size_t capacity, size_t* count) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        write_numbers<double>(it.totals(), totals, capacity, count);
    });
}

goodput_status goodput_agent_set_totals(goodput_agent* agent, const double* totals, size_t count) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) { read_numbers(totals, count, it.totals()); });
}

goodput_status goodput_agent_running_sum(goodput_agent* agent, float* sum, size_t capacity, size_t* count) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        write_numbers<float>(it.running_sum(), sum, capacity, count);
    });
}

goodput_status goodput_agent_set_running_sum(goodput_agent* agent, const float* sum, size_t count) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) { read_numbers(sum, count, it.running_sum()); });
}

goodput_status goodput_agent_end_step(goodput_agent* agent, double now_s, double sync_s, int32_t* counted) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        say(counted, it.end_step(now_s, synchronisation(sync_s)));
    });
}

goodput_status goodput_agent_end_step_norms(goodput_agent* agent, double now_s, double sync_s,
                                            const goodput_gradient_norms* norms, size_t count,
                                            size_t norms_size, int32_t* counted) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        const Elements<goodput_gradient_norms> given(norms, count, norms_size, "norms");
        std::vector<goodput::GradientNorms> groups;
        for (std::size_t g = 0; g < given.size(); ++g) {
            const goodput_gradient_norms from = given[g];
            if (!(from.count >= 2 && from.count <= 1 << 30))
                goodput::bad_input("gradient norms", "count", from.count, "between 2 and 2^30");
            const double scale =
                from.scale != 0 ? from.scale : it.total_batch() / it.settings().initial_batch;
            groups.push_back({.mean_of_squares = from.mean_of_squares,
                              .square_of_mean = from.square_of_mean,
                              .count = static_cast<int>(from.count),
                              .scale = scale});
        }
        say(counted, it.end_step(now_s, synchronisation(sync_s), groups));
    });
}

goodput_status goodput_agent_drop_step(goodput_agent* agent) {
    return with_agent(agent, [](goodput::TrainingAgent& it) { it.drop_step(); });
}

goodput_status goodput_agent_retune(goodput_agent* agent, int32_t* changed) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) { say(changed, it.retune().has_value()); });
}

goodput_status goodput_agent_adopt(goodput_agent* agent, int32_t local_batch, int32_t accumulation,
                                   int32_t* changed) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        say(changed, it.adopt({local_batch, accumulation}));
    });
}

goodput_status goodput_agent_adopt_text(goodput_agent* agent, const char* text, int32_t* changed) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        require_given(text, "agent", "text");
        const auto plan = cli::read_plan(text);
        say(changed, plan && it.adopt(*plan));
    });
}

goodput_status goodput_agent_read(goodput_agent* agent, goodput_agent_state* state) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        goodput_agent_state now = read_sized(state, "goodput_agent_state");
        const std::size_t size = now.struct_size;
        const goodput::GradientStatistics gradient = it.statistics();
        now.local_batch = it.plan().atomic_batch;
        now.accumulation = it.plan().accumulation_steps;
        now.total_batch = it.total_batch();
        const bool holds = it.holding().gpus > 0;
        now.learning_rate_factor = holds ? it.learning_rate_factor() : 1;
        now.gradient_sqr = gradient.squared_norm;
        now.gradient_var = gradient.variance;
        now.noise_scale = it.noise_scale();
        now.efficiency = holds ? it.efficiency() : 1;
        now.goodput = holds ? it.goodput() : 0;
        now.progress_steps = it.progress_steps();
        now.useful_examples = it.useful_examples();
        write_struct(state, size, now);
    });
}

goodput_status goodput_agent_learning_rate_factor(goodput_agent* agent, size_t group, double* factor) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        require_given(factor, "agent", "factor");
        *factor = it.learning_rate_factor(group);
    });
}

goodput_status goodput_agent_add_gpu_utilisation(goodput_agent* agent, double busy) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) { it.add_gpu_utilisation(busy); });
}

goodput_status goodput_agent_report(goodput_agent* agent, char* text, size_t capacity, size_t* length) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        const auto report = it.report();
        if (!report) throw Failure(GOODPUT_NOT_YET, "agent: the present plan has not been timed yet");
        write_text(cli::line_of(*report), text, capacity, length);
    });
}

goodput_status goodput_agent_save(goodput_agent* agent, char* text, size_t capacity, size_t* length) {
    return with_agent(agent,
                      [&](goodput::TrainingAgent& it) { write_text(it.save(), text, capacity, length); });
}

goodput_status goodput_agent_restore(goodput_agent* agent, const char* text, size_t length) {
    return with_agent(agent, [&](goodput::TrainingAgent& it) {
        require_given(text, "agent", "text");
        it.restore({text, length});
    });
}

}  // extern "C"
