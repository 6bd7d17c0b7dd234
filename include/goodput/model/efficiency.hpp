#ifndef GOODPUT_MODEL_EFFICIENCY_HPP
#define GOODPUT_MODEL_EFFICIENCY_HPP

// How much of an example's worth is left at a larger batch. With the gradient noise scale
// phi = initial_batch * variance / squared_norm (in examples; McCandlish et al. 2018, Pollux section 3.1):
//
//     efficiency(M) = (phi + initial_batch) / (phi + M)         1 at the initial batch, falling with M

#include "goodput/core/sample.hpp"

namespace goodput {

/// Statistical efficiency from gradient statistics at the initial batch size.
struct NoiseScaleEfficiency {
    double initial_batch = 1;  ///< examples
    GradientStatistics gradient{};

    /// Progress per example at `total_batch` relative to the initial batch size, from the form that stays
    /// defined where the squared norm is zero; 1 where there are no statistics at all (both zero).
    [[nodiscard]] double efficiency(double total_batch) const {
        const double numerator = (gradient.variance + gradient.squared_norm) * initial_batch;
        const double denominator = gradient.variance * initial_batch + gradient.squared_norm * total_batch;
        return denominator > 0 ? numerator / denominator : 1;
    }
};

/// Every example counts fully at any batch size: for jobs without gradient statistics or with a fixed batch.
struct FullEfficiency {
    [[nodiscard]] double efficiency(double /*total_batch*/) const { return 1; }
};

}  // namespace goodput

#endif
