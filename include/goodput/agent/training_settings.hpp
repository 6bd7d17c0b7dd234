#ifndef GOODPUT_AGENT_TRAINING_SETTINGS_HPP
#define GOODPUT_AGENT_TRAINING_SETTINGS_HPP

// The settings of the agent of a training run. TrainingSettings are given once: the model's size, the
// optimiser, the allowed batch sizes, and how readily the batch plan changes. A Holding is given at each
// start: the GPUs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "goodput/agent/learning_rate.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/model/batch_plan.hpp"

namespace goodput::inline v0_1 {

/// The properties and limits of a training run. The defaults describe a single parameter group under SGD.
struct TrainingSettings {
    std::size_t parameters = 0;  ///< length of a gradient, over all groups
    /// Sizes of groups with their own learning rates; empty if there is one group.
    std::vector<std::size_t> group_sizes{};
    Optimizer optimizer = Optimizer::sgd;  ///< optimiser that updates the parameters
    LearningRateScaling scaling = LearningRateScaling::by_optimizer;  ///< rule for the learning rate
    double adam_beta2 = 0.999;                                        ///< Adam's beta2, in (0, 1)
    double adam_epsilon = 1e-8;                                       ///< Adam's epsilon, above 0

    /// Total batch size for which the script and its learning rate were written; plans never go below it.
    int initial_batch = 0;
    int max_batch = 0;         ///< largest total batch size
    int min_atomic_batch = 1;  ///< fewest examples per GPU and microbatch
    /// Largest number of examples per GPU and microbatch, which memory limits, unless
    /// Holding::max_atomic_batch is set.
    int max_atomic_batch = 0;

    /// Whether the training loop averages its gradients anyway and passes the average to
    /// add_mean_gradient(). The agent then keeps no sum of its own.
    bool mean_gradient_given = false;
    /// Gradients are measured in one of every measure_every steps (in two successive steps if successive
    /// gradients are compared). 0 leaves the choice to split_every: steps with several gradients are then
    /// measured as rarely as steps with a single gradient, so that training takes the same course on one
    /// replica as on many. If split_every is 0 as well, the size of the model decides. Models of up to a
    /// million parameters are measured in every step, because their gradient fits into a cache. Larger
    /// models are measured in one of every 16 steps, and with Adam in one of every 64, because Adam's
    /// metric, in which the norms of its gradients are measured (gradient_meter.hpp), takes a root and a
    /// division per parameter.
    int measure_every = 0;
    /// If a step would have a single gradient (one replica, no accumulation), one of every split_every
    /// steps processes its batch in two halves, so that it has two gradients. TrainingAgent::plan() returns
    /// that plan from begin_step() to end_step(). Until enough is known for a plan, every other step is
    /// split. Later, only one of every 8 * split_every steps is split for models above a million
    /// parameters, because half a batch already takes long on a large model. measure_every may make splits
    /// rarer. 0 means that no step is split. Then successive gradients are compared, which gives biased
    /// norms as soon as parameters move (with momentum 0.9 the squared norm is wrong by a third or more).
    int split_every = 8;
    /// Factor by which the averages of the noise scale are multiplied per step at the initial batch. The
    /// noise scale changes during training. 0 means noise_smoothing(): 0.996, which averages over at most
    /// 500 steps, or 0.994 with Adam, whose bounded norms scatter less. A larger value would be steadier, but
    /// lag further behind.
    double smoothing = 0;

    int warmup_steps = 3;  ///< steps after a start or a change of plan whose times are ignored
    int least_steps = 5;   ///< timed steps before a plan's time is trusted
    /// Steps with measured gradients before the noise scale is used to choose a plan.
    int least_measured_steps = 20;
    double retune_gain =
        least_plan_gain;  ///< a plan must have at least this many times the present goodput to be adopted
    double retune_seconds = 0;  ///< cost of changing the plan, such as new buffers or another compilation
    double retune_horizon_seconds = 600;  ///< time within which a change must have gained more than its cost
    /// Whether the agent tries twice the atomic batch for some steps. It does so if no larger batch has
    /// been timed on the present holding, and if the larger batch would be worth a change provided that its
    /// steps took no longer. Each size is tried once.
    bool tries_larger_batches = true;
    /// Largest total batch of a plan, relative to the largest total batch timed so far. Large jumps of
    /// batch and learning rate make training diverge as long as the noise scale is based on few steps.
    double largest_growth = 2;

    /// Number of parameter groups.
    [[nodiscard]] std::size_t groups() const { return group_sizes.empty() ? 1 : group_sizes.size(); }
    /// Parameters of one group; `group` below groups().
    [[nodiscard]] std::size_t group_size(std::size_t group) const {
        return group_sizes.empty() ? parameters : group_sizes[group];
    }
    /// Returns smoothing. If that is 0, returns the smoothing that suits the optimiser.
    [[nodiscard]] double noise_smoothing() const {
        if (smoothing != 0) return smoothing;
        return optimizer == Optimizer::adam ? 0.994 : 0.996;
    }
    /// Returns measure_every. If that is 0, returns the interval that applies when split_every is 0 as well.
    [[nodiscard]] int steps_a_measurement() const {
        if (measure_every > 0) return measure_every;
        if (parameters <= 1'000'000) return 1;
        return optimizer == Optimizer::adam ? 64 : 16;
    }
};

/// The GPUs that the job holds now, all of one type.
struct Holding {
    std::string gpu_type = "gpu";  ///< the scheduler's name for the GPU type
    int nodes = 1;                 ///< nodes
    int gpus = 1;                  ///< GPUs in total, one replica each
    int max_atomic_batch = 0;      ///< most examples that fit on one of these GPUs; 0: as in the settings

    /// Nodes and replicas.
    [[nodiscard]] Shape shape() const { return {nodes, gpus}; }
};

/// Throws std::invalid_argument if settings contradict each other or are out of range.
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
    require_fraction(subject, "adam_beta2", settings.adam_beta2);
    require_positive(subject, "adam_epsilon", settings.adam_epsilon);
    require_between(subject, "initial_batch", settings.initial_batch, 1, 1 << 30);
    require_between(subject, "max_batch", settings.max_batch, settings.initial_batch, 1 << 30);
    require_between(subject, "min_atomic_batch", settings.min_atomic_batch, 1, 1 << 30);
    require_between(subject, "max_atomic_batch", settings.max_atomic_batch, settings.min_atomic_batch,
                    1 << 30);
    require_between(subject, "measure_every", settings.measure_every, 0, 1 << 20);
    require_between(subject, "split_every", settings.split_every, 0, 1 << 20);
    if (!(settings.smoothing >= 0 && settings.smoothing < 1))
        bad_input(subject, "smoothing", settings.smoothing, "between 0 and 1");
    require_between(subject, "warmup_steps", settings.warmup_steps, 0, 1 << 20);
    require_between(subject, "least_steps", settings.least_steps, 1, 1 << 20);
    require_between(subject, "least_measured_steps", settings.least_measured_steps, 1, 1 << 20);
    require_at_least(subject, "retune_gain", settings.retune_gain, 1);
    require_at_least(subject, "retune_seconds", settings.retune_seconds, 0);
    require_positive(subject, "retune_horizon_seconds", settings.retune_horizon_seconds);
    require_at_least(subject, "largest_growth", settings.largest_growth, 1);
}

/// Throws std::invalid_argument if a holding has no type, GPU or node, or more nodes than GPUs.
inline void validate(const Holding& holding) {
    constexpr std::string_view subject = "holding";
    if (holding.gpu_type.empty()) bad_input(subject, "gpu_type", "empty", "a name");
    require_between(subject, "nodes", holding.nodes, 1, 1 << 20);
    require_between(subject, "gpus", holding.gpus, holding.nodes, 1 << 20);
    require_between(subject, "max_atomic_batch", holding.max_atomic_batch, 0, 1 << 30);
}

}  // namespace goodput::inline v0_1

#endif
