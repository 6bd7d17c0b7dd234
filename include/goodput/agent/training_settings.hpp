#ifndef GOODPUT_AGENT_TRAINING_SETTINGS_HPP
#define GOODPUT_AGENT_TRAINING_SETTINGS_HPP

// What the agent of a training is told once: the model's size, the optimiser, which batch sizes are allowed,
// and how eagerly the batch plan is to be changed. And what it is told at each start: the GPUs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "goodput/agent/learning_rate.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/model/batch_plan.hpp"

namespace goodput {

/// What the training is and may do. Defaults are for a single group of parameters under SGD.
struct TrainingSettings {
    std::size_t parameters = 0;              ///< numbers of one gradient, all groups together
    std::vector<std::size_t> group_sizes{};  ///< of groups with learning rates of their own; empty: one group
    Optimizer optimizer = Optimizer::sgd;    ///< which one updates the parameters
    LearningRateScaling scaling = LearningRateScaling::by_optimizer;  ///< the rule of the learning rate
    double adam_beta2 = 0.999;                                        ///< of Adam, in (0, 1)
    double adam_epsilon = 1e-8;                                       ///< of Adam, above 0

    int initial_batch = 0;  ///< total batch that the script and its learning rate were written for: the least
    int max_batch = 0;      ///< largest total batch to train with
    int min_atomic_batch = 1;  ///< least examples per GPU and microbatch
    int max_atomic_batch = 0;  ///< most, by memory, where Holding::max_atomic_batch does not say

    /// The training averages its gradients anyway and gives the average to add_mean_gradient(): then the
    /// agent keeps no sum of its own.
    bool mean_gradient_given = false;
    /// Gradients are looked at in one step of so many (two successive ones where successive gradients are
    /// compared). 0: as often with several gradients a step as with one, which split_every says; the training
    /// then goes the same way on one replica and on many. Where split_every is 0, too: in every step up to a
    /// million parameters, whose gradient fits into a cache; else in one of 16, with Adam, whose metric takes
    /// a root and a division a parameter, in one of 64.
    int measure_every = 0;
    /// Where a step would have a single gradient (one replica, no accumulation), one in so many steps takes
    /// its batch in two halves: TrainingAgent::plan() says so from begin_step() to end_step(). Until enough
    /// is known for a plan, one in two; later above a million parameters, whose halves take long, one in
    /// eight times as many; fewer where measure_every says so. 0: never; then successive gradients are
    /// compared, which is biased as soon as parameters move (with momentum 0.9 the squared norm by a third
    /// and more).
    int split_every = 8;
    /// What a step at the initial batch leaves of the averages of the noise scale, which changes as a
    /// training goes on: a mean of 500 steps at most. More would be steadier, and lag further behind.
    double smoothing = 0.996;

    int warmup_steps = 3;  ///< after a start or another plan, whose times do not count
    int least_steps = 5;   ///< steps timed before a plan's time is believed
    /// Steps whose gradients were looked at, before a plan is chosen by the noise scale.
    int least_measured_steps = 20;
    double retune_gain =
        least_plan_gain;        ///< a plan is worth adopting above so many times the present goodput
    double retune_seconds = 0;  ///< what changing the plan costs: new buffers, another compilation
    double retune_horizon_seconds = 600;  ///< within which that must be won back
    /// Twice the atomic batch is tried for some steps where no larger one was timed on what is held, and it
    /// would pay if steps took no longer. Each is tried once.
    bool tries_larger_batches = true;
    /// A plan's total batch, over the largest that was timed so far. Leaps on a young noise scale, with the
    /// learning rate to match, make trainings diverge.
    double largest_growth = 2;

    /// Number of parameter groups.
    [[nodiscard]] std::size_t groups() const { return group_sizes.empty() ? 1 : group_sizes.size(); }
    /// Parameters of one group; `group` below groups().
    [[nodiscard]] std::size_t group_size(std::size_t group) const {
        return group_sizes.empty() ? parameters : group_sizes[group];
    }
    /// measure_every, or what its 0 stands for where split_every is 0.
    [[nodiscard]] int steps_a_measurement() const {
        if (measure_every > 0) return measure_every;
        if (parameters <= 1'000'000) return 1;
        return optimizer == Optimizer::adam ? 64 : 16;
    }
};

/// What the job holds now. All of it is one GPU type.
struct Holding {
    std::string gpu_type = "gpu";  ///< as the scheduler names it
    int nodes = 1;                 ///< nodes
    int gpus = 1;                  ///< in all: one replica each
    int max_atomic_batch = 0;      ///< most examples that fit one of these GPUs; 0: as the settings say

    /// Nodes and replicas.
    [[nodiscard]] Shape shape() const { return {nodes, gpus}; }
};

/// Refuses settings that contradict each other or are out of range (std::invalid_argument).
inline void validate(const TrainingSettings& settings) {
    constexpr std::string_view subject = "training settings";
    if (settings.parameters == 0) bad_input(subject, "parameters", settings.parameters, "at least 1");
    std::size_t left = settings.parameters;
    for (const std::size_t size : settings.group_sizes) {
        if (size == 0 || size > left)
            bad_input(subject, "group_sizes", size, "at least 1, and in all " + text_of(settings.parameters));
        left -= size;
    }
    if (!settings.group_sizes.empty() && left > 0)
        bad_input(subject, "sum of group_sizes", settings.parameters - left, text_of(settings.parameters));
    if (!(settings.adam_beta2 > 0 && settings.adam_beta2 < 1))
        bad_input(subject, "adam_beta2", settings.adam_beta2, "between 0 and 1");
    require_positive(subject, "adam_epsilon", settings.adam_epsilon);
    require_between(subject, "initial_batch", settings.initial_batch, 1, 1 << 30);
    require_between(subject, "max_batch", settings.max_batch, settings.initial_batch, 1 << 30);
    require_between(subject, "min_atomic_batch", settings.min_atomic_batch, 1, 1 << 30);
    require_between(subject, "max_atomic_batch", settings.max_atomic_batch, settings.min_atomic_batch,
                    1 << 30);
    require_between(subject, "measure_every", settings.measure_every, 0, 1 << 20);
    require_between(subject, "split_every", settings.split_every, 0, 1 << 20);
    if (!(settings.smoothing > 0 && settings.smoothing < 1))
        bad_input(subject, "smoothing", settings.smoothing, "between 0 and 1");
    require_between(subject, "warmup_steps", settings.warmup_steps, 0, 1 << 20);
    require_between(subject, "least_steps", settings.least_steps, 1, 1 << 20);
    require_between(subject, "least_measured_steps", settings.least_measured_steps, 1, 1 << 20);
    require_at_least(subject, "retune_gain", settings.retune_gain, 1);
    require_at_least(subject, "retune_seconds", settings.retune_seconds, 0);
    require_positive(subject, "retune_horizon_seconds", settings.retune_horizon_seconds);
    require_at_least(subject, "largest_growth", settings.largest_growth, 1);
}

/// Refuses a holding without a type, GPU or node, or with more nodes than GPUs (std::invalid_argument).
inline void validate(const Holding& holding) {
    constexpr std::string_view subject = "holding";
    if (holding.gpu_type.empty()) bad_input(subject, "gpu_type", "empty", "a name");
    require_between(subject, "nodes", holding.nodes, 1, 1 << 20);
    require_between(subject, "gpus", holding.gpus, holding.nodes, 1 << 20);
    require_between(subject, "max_atomic_batch", holding.max_atomic_batch, 0, 1 << 30);
}

}  // namespace goodput

#endif
