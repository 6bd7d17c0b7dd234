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
// gain(S) is that of efficiency.hpp, for each parameter group with its own statistics. A rule is a small type
// with one function; one of one's own needs nothing more.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/efficiency.hpp"

namespace goodput {

/// What a rule may look at.
struct LearningRateState {
    double scale = 1;               ///< S, examples of a step over the initial batch size
    GradientStatistics gradient{};  ///< of the parameter group; both zero: nothing is known yet
    double progress = 0;            ///< scale-invariant iterations so far (progress.hpp)
};

/// The factor on the base learning rate: `factor = rule.factor(state)`. Satisfied by the five rules below,
/// which all refuse a scale that is not positive and finite (std::invalid_argument).
template <class Rule>
concept LearningRateRule = requires(const Rule& rule, const LearningRateState& state) {
    { rule.factor(state) } -> std::convertible_to<double>;
};

/// Goyal et al.: S.
struct LinearScaling {
    /// Factor on the base learning rate.
    [[nodiscard]] double factor(const LearningRateState& state) const {
        require_positive("learning rate", "scale", state.scale);
        return state.scale;
    }
};

/// Krizhevsky: the square root of S.
struct SquareRootScaling {
    /// Factor on the base learning rate.
    [[nodiscard]] double factor(const LearningRateState& state) const {
        return std::sqrt(LinearScaling{}.factor(state));
    }
};

/// For SGD. 1 while nothing is known of the gradient: then a larger rate is a risk without a reason. Refuses
/// statistics that are negative or not finite (std::invalid_argument).
struct AdaScale {
    /// Factor on the base learning rate.
    [[nodiscard]] double factor(const LearningRateState& state) const {
        require_positive("learning rate", "scale", state.scale);
        validate(state.gradient, "learning rate");
        if (state.gradient.squared_norm + state.gradient.variance == 0) return 1;
        return gain(state.gradient, state.scale);
    }
};

/// For Adam and AdamW, with statistics of the preconditioned gradient. Otherwise as AdaScale.
struct AdamScale {
    /// Factor on the base learning rate.
    [[nodiscard]] double factor(const LearningRateState& state) const {
        return std::sqrt(AdaScale{}.factor(state));
    }
};

/// Linear epoch gradual warm-up: the factor rises in proportion to progress over base_warmup_epochs S epochs,
/// then is S^(1/2). Measured in progress, so that it lasts equally long in useful examples whatever the
/// efficiency. Its first step has the factor 0: advance the progress first where that matters. Refuses
/// negative epochs, sizes that are not positive and negative progress (std::invalid_argument).
struct LegwScaling {
    double base_warmup_epochs = 0;  ///< at the initial batch size
    double dataset_examples = 0;    ///< examples of an epoch
    double initial_batch = 0;       ///< total batch size, examples

    /// Scale-invariant iterations that the warm-up takes at `scale`.
    [[nodiscard]] double warmup_iterations(double scale) const {
        require_at_least("LEGW", "warm-up epochs", base_warmup_epochs, 0);
        require_positive("LEGW", "dataset", dataset_examples);
        require_positive("LEGW", "initial batch", initial_batch);
        return base_warmup_epochs * scale * dataset_examples / initial_batch;
    }

    /// Factor on the base learning rate.
    [[nodiscard]] double factor(const LearningRateState& state) const {
        const double full = SquareRootScaling{}.factor(state);
        const double warmup = warmup_iterations(state.scale);
        require_at_least("LEGW", "progress", state.progress, 0);
        return state.progress < warmup ? full * state.progress / warmup : full;
    }
};

/// Factors of all parameter groups: `factors[g]` from the statistics of group g, at one scale and progress.
/// Refuses spans of different lengths (std::invalid_argument).
template <LearningRateRule Rule>
void learning_rate_factors(const Rule& rule, double scale, double progress,
                           std::span<const GradientStatistics> groups, std::span<double> factors) {
    if (factors.size() != groups.size())
        bad_input("learning rate", "number of factors", factors.size(),
                  "the number of parameter groups, " + text_of(groups.size()));
    for (std::size_t g = 0; g < groups.size(); ++g) factors[g] = rule.factor({scale, groups[g], progress});
}

}  // namespace goodput

#endif
