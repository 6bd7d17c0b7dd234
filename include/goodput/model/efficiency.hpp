#ifndef GOODPUT_MODEL_EFFICIENCY_HPP
#define GOODPUT_MODEL_EFFICIENCY_HPP

// How much an example is worth at a larger batch. With the gradient noise scale
// phi = initial_batch * variance / squared_norm (in examples; McCandlish et al. 2018, Pollux section 3.1) and
// the scale S = M / initial_batch:
//
//     efficiency(M) = (phi + initial_batch) / (phi + M)         1 at the initial batch, falling with M
//     gain(S)       = (variance + squared_norm) / (variance / S + squared_norm) = S efficiency
//
// The gain is the progress of one step at S, counted in steps at the initial batch size. It lies between 1
// and S.
//
// Statistics measured at one batch size differ from those measured at another. On published validation runs
// the squared norm falls with the batch size, in some applications like 1 / S: smaller batches move the
// parameters more noisily, so the parameters lie on steeper slopes. Two numbers describe this,
//
//     squared_norm / variance = signal + fluctuation / S
//
// and measurements at two batch sizes determine both (statistics/gradient_by_batch.hpp).

#include <algorithm>
#include <cmath>
#include <limits>

#include "goodput/core/sample.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Returns the same statistics, in another unit if products with batch sizes would overflow or vanish. Only
/// the ratio of the two numbers matters.
inline GradientStatistics in_range(GradientStatistics gradient) {
    const double larger = std::max(gradient.variance, gradient.squared_norm);
    if (!(larger > 0x1p400) && !(larger < 0x1p-400 && larger > 0)) return gradient;
    if (!std::isfinite(larger)) return gradient;
    const int exponent = std::ilogb(larger);
    return {std::scalbn(gradient.squared_norm, -exponent), std::scalbn(gradient.variance, -exponent)};
}

}  // namespace detail

/// Returns the progress of one step at `scale` times the initial batch size (`scale` above 0), counted in
/// steps at the initial batch size. Returns `scale` if there are no statistics (both zero).
[[nodiscard]] inline double gain(const GradientStatistics& statistics, double scale) {
    const GradientStatistics gradient = detail::in_range(statistics);
    const double denominator = gradient.variance + gradient.squared_norm * scale;
    return denominator > 0 ? (gradient.variance + gradient.squared_norm) * scale / denominator : scale;
}

/// Statistical efficiency from gradient statistics at the initial batch size.
struct NoiseScaleEfficiency {
    double initial_batch = 1;       ///< examples
    GradientStatistics gradient{};  ///< at the initial batch size; both zero if not measured

    /// Returns the progress per example at `total_batch` relative to the initial batch size. The formula
    /// stays defined if the squared norm is zero. Returns 1 if there are no statistics (both zero).
    [[nodiscard]] double efficiency(double total_batch) const {
        const auto [squared_norm, variance] = detail::in_range(gradient);
        const double numerator = (variance + squared_norm) * initial_batch;
        const double denominator = variance * initial_batch + squared_norm * total_batch;
        return denominator > 0 ? numerator / denominator : 1;
    }

    /// Returns the gradient noise scale in examples: the total batch size at which an example is worth
    /// about half as much as in a small batch. Infinite if the squared norm is zero.
    [[nodiscard]] double noise_scale() const {
        return gradient.squared_norm > 0 ? initial_batch * gradient.variance / gradient.squared_norm
                                         : std::numeric_limits<double>::infinity();
    }
};

/// Counts every example fully at any batch size, for jobs with a fixed batch or without gradient
/// statistics.
struct FullEfficiency {
    /// Returns 1 for any total batch size.
    [[nodiscard]] double efficiency(double /*total_batch*/) const { return 1; }
};

}  // namespace goodput::inline v0_1

#endif
