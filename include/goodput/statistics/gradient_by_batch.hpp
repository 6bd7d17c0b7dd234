#ifndef GOODPUT_STATISTICS_GRADIENT_BY_BATCH_HPP
#define GOODPUT_STATISTICS_GRADIENT_BY_BATCH_HPP

// Efficiency from gradient statistics that were measured at several batch sizes of one job, as elastic
// training does anyway. With r_i = squared norm / variance at the scale S_i = batch_i / initial batch:
//
//     minimise sum_i (signal + fluctuation / S_i - r_i)^2      signal >= 0, fluctuation >= 0
//
// Both parts are squared norms, hence the signs. Closed form, O(measurements). With batches of one size only
// nothing tells the parts apart: fluctuation 0, which is NoiseScaleEfficiency.
//
// On published validation runs (six applications, all pairs and triples of batch sizes) the formula from one
// batch size is off by 32 to 38 %, in the median over training, for the farthest pairs of three applications;
// with a second batch size no third one is off by more than 10 %. The measurements should be of the same
// stretch of progress, because the noise scale changes over training.
//
// What it costs: best_batch_plan has no short cut for this efficiency and tries every legal plan.

#include <cstddef>
#include <span>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/line.hpp"
#include "goodput/model/efficiency.hpp"

namespace goodput {

/// Statistical efficiency where the squared norm depends on the batch size that training runs at.
struct BatchDependentEfficiency {
    double initial_batch = 1;  ///< examples
    double signal = 0;         ///< of squared norm over variance: what does not depend on the batch size
    double fluctuation = 0;    ///< and what falls like 1 / S, its value at the initial batch size

    /// Squared norm over variance as training at `total_batch` would measure it.
    [[nodiscard]] double squared_norm_over_variance(double total_batch) const {
        return signal + fluctuation * initial_batch / total_batch;
    }

    /// Progress per example at `total_batch` relative to the initial batch size; NoiseScaleEfficiency with
    /// the statistics that hold there.
    [[nodiscard]] double efficiency(double total_batch) const {
        const double ratio = squared_norm_over_variance(total_batch);
        return (1 + ratio) / (1 + ratio * total_batch / initial_batch);
    }
};

/// Gradient statistics (variance at the initial batch size, as always) and where they were measured.
struct GradientAtBatch {
    double total_batch = 0;         ///< examples
    GradientStatistics gradient{};  ///< variance above 0
};

/// What efficiency do these measurements predict at any batch size? Refuses no measurements, batch sizes that
/// are not positive, statistics that are negative, not finite or without variance, and ratios of the
/// two, or of batch sizes, above 1e100 (std::invalid_argument).
[[nodiscard]] inline BatchDependentEfficiency efficiency_from_batches(
    std::span<const GradientAtBatch> measured, double initial_batch) {
    require_positive("efficiency", "initial batch", initial_batch);
    if (measured.empty()) bad_input("efficiency", "measurements", measured.size(), "at least 1");
    LineSums sums;
    constexpr double most = 1e100;
    for (const GradientAtBatch& at : measured) {
        require_positive("efficiency", "total batch", at.total_batch);
        validate(at.gradient, "efficiency");
        require_positive("efficiency", "gradient.variance", at.gradient.variance);
        const double x = initial_batch / at.total_batch;  // 1 / S
        const double r = at.gradient.squared_norm / at.gradient.variance;
        if (!(x <= most))
            bad_input("efficiency", "total batch", at.total_batch,
                      "no smaller part of the initial batch " + text_of(initial_batch));
        if (!(r <= most))
            bad_input("efficiency", "gradient.squared_norm", at.gradient.squared_norm,
                      "no larger multiple of the variance, " + text_of(at.gradient.variance));
        sums.add(1, x, r);
    }
    const Line line = sums.line();
    return {initial_batch, line.intercept, line.slope};
}

}  // namespace goodput

#endif
