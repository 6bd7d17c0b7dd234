#ifndef GOODPUT_AGENT_LEARNING_RATE_HPP
#define GOODPUT_AGENT_LEARNING_RATE_HPP

// By what to multiply the base learning rate, which was chosen for the initial batch size, when a step uses S
// times as many examples:
//
//     linear        S                         Goyal et al. 2017: right as long as noise dominates
//     square root   S^(1/2)                   Krizhevsky 2014: keeps the covariance of a step
//     AdaScale      gain(S) in [1, S]         Johnson et al. 2020, from the gradient's noise: S while noise
//                                             dominates, 1 once it does not
//     AdamScale     gain(S)^(1/2)             Pollux's released code for Adam and AdamW
//     LEGW          S^(1/2), and a warm-up of S times as many epochs (You et al. 2020)
//
// gain(S) is that of efficiency.hpp, for each parameter group with its own statistics.

#include <cmath>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/efficiency.hpp"

namespace goodput {

/// Says in which metric gradients are measured, and which rule scales the learning rate by default.
enum class Optimizer {
    sgd,       ///< gradients as they are
    momentum,  ///< the same
    adam       ///< Adam and AdamW: gradients divided by the root of their second moments
};

/// How the learning rate follows the batch size.
enum class LearningRateScaling {
    by_optimizer,  ///< AdaScale; for Adam its square root (AdamScale)
    ada_scale,     ///< from the gradient's noise, whatever the optimiser
    square_root,   ///< square root of the total batch over the initial one
    linear         ///< the total batch over the initial one
};

/// The factor on the base learning rate at `scale` times the initial batch size, with the statistics of the
/// parameter group, of the preconditioned gradient for Adam. While nothing is known of the gradient (both
/// zero) AdaScale's is 1: then a larger rate is a risk without a reason. Refuses a scale that is not positive
/// and finite, and statistics that are negative or not finite (std::invalid_argument).
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

/// LEGW, linear epoch gradual warm-up: the factor rises in proportion to progress over base_epochs S epochs,
/// then is S^(1/2). For a training loop that sets its learning rate itself.
struct LegwWarmup {
    double base_epochs = 0;       ///< at the initial batch size, at least 0
    double dataset_examples = 0;  ///< examples of an epoch
    double initial_batch = 0;     ///< total batch size, examples

    /// Scale-invariant iterations (TrainingAgent::progress_steps()) that the warm-up takes at `scale`.
    /// Refuses negative epochs, and sizes and scales that are not positive and finite
    /// (std::invalid_argument).
    [[nodiscard]] double iterations(double scale) const {
        require_at_least("LEGW", "warm-up epochs", base_epochs, 0);
        require_positive("LEGW", "dataset", dataset_examples);
        require_positive("LEGW", "initial batch", initial_batch);
        require_positive("LEGW", "scale", scale);
        return base_epochs * scale * dataset_examples / initial_batch;
    }

    /// Factor on the base learning rate after so many scale-invariant iterations, at least 0 (refused
    /// otherwise). The first step's is 0.
    [[nodiscard]] double factor(double scale, double progress) const {
        const double warmup = iterations(scale);
        require_at_least("LEGW", "progress", progress, 0);
        return std::sqrt(scale) * (progress < warmup ? progress / warmup : 1);
    }
};

}  // namespace goodput

#endif
