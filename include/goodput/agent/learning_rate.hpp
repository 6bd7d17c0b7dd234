#ifndef GOODPUT_AGENT_LEARNING_RATE_HPP
#define GOODPUT_AGENT_LEARNING_RATE_HPP

// Rules for scaling the learning rate. The base learning rate was chosen for the initial batch size. If a
// step uses S times as many examples, the base rate is multiplied by a factor:
//
//     linear        S                         Goyal et al. 2017: correct as long as noise dominates
//     square root   S^(1/2)                   Krizhevsky 2014: keeps the covariance of a step
//     AdaScale      gain(S) in [1, S]         Johnson et al. 2020, from the gradient's noise: S while noise
//                                             dominates, 1 once it does not
//     AdamScale     gain(S)^(1/2)             Pollux's released code for Adam and AdamW
//     LEGW          S^(1/2), and a warm-up of S times as many epochs (You et al. 2020)
//
// gain(S) is defined in efficiency.hpp. Each parameter group uses its own statistics.

#include <cmath>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/efficiency.hpp"

namespace goodput::inline v0_1 {

/// The optimiser of the training. It determines the metric of gradients and the default rule for the
/// learning rate.
enum class Optimizer {
    sgd,       ///< gradients as they are
    momentum,  ///< gradients as they are
    adam       ///< Adam and AdamW: gradients divided by the root of their second moments
};

/// The rule that scales the learning rate with the batch size.
enum class LearningRateScaling {
    by_optimizer,  ///< AdaScale, or its square root (AdamScale) for Adam
    ada_scale,     ///< from the gradient's noise, for any optimiser
    square_root,   ///< square root of the total batch over the initial one
    linear         ///< the total batch over the initial one
};

/// Returns the factor on the base learning rate at `scale` times the initial batch size. `gradient`
/// contains the statistics of the parameter group, for Adam those of the preconditioned gradient. As long
/// as nothing is known about the gradient (both statistics are zero), AdaScale's factor is 1, because a
/// larger rate would be a risk without a reason. Throws std::invalid_argument if the scale is not positive
/// and finite, or if statistics are negative or not finite.
[[nodiscard]] inline double learning_rate_factor(LearningRateScaling scaling, Optimizer optimizer,
                                                 double scale, const GradientStatistics& gradient) {
    require_positive("learning rate", "scale", scale);
    validate(gradient, "learning rate");
    if (scaling == LearningRateScaling::linear) return scale;
    if (scaling == LearningRateScaling::square_root) return std::sqrt(scale);
    const double ada_scale = measured_gradient(gradient) ? gain(gradient, scale) : 1;
    const bool is_root = scaling == LearningRateScaling::by_optimizer && optimizer == Optimizer::adam;
    return is_root ? std::sqrt(ada_scale) : ada_scale;
}

/// LEGW (linear epoch gradual warm-up), for training loops that set their learning rate themselves. The
/// factor rises linearly with progress over base_epochs * S epochs and then stays at S^(1/2).
struct LegwWarmup {
    double base_epochs = 0;       ///< warm-up at the initial batch size, at least 0
    double dataset_examples = 0;  ///< examples per epoch
    double initial_batch = 0;     ///< total batch size in examples

    /// Returns the number of scale-invariant iterations, as TrainingAgent::progress_steps() counts them,
    /// that the warm-up takes at `scale`. Throws std::invalid_argument if the epochs are negative, or if a
    /// size or the scale is not positive and finite.
    [[nodiscard]] double iterations(double scale) const {
        require_at_least("LEGW", "warm-up epochs", base_epochs, 0);
        require_positive("LEGW", "dataset", dataset_examples);
        require_positive("LEGW", "initial batch", initial_batch);
        require_positive("LEGW", "scale", scale);
        return base_epochs * scale * dataset_examples / initial_batch;
    }

    /// Returns the factor on the base learning rate after `progress` scale-invariant iterations. The factor
    /// of the first step is 0. Throws std::invalid_argument if `progress` is below 0.
    [[nodiscard]] double factor(double scale, double progress) const {
        const double warmup = iterations(scale);
        require_at_least("LEGW", "progress", progress, 0);
        return std::sqrt(scale) * (progress < warmup ? progress / warmup : 1);
    }
};

}  // namespace goodput::inline v0_1

#endif
