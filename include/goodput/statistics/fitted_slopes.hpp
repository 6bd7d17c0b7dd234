#ifndef GOODPUT_STATISTICS_FITTED_SLOPES_HPP
#define GOODPUT_STATISTICS_FITTED_SLOPES_HPP

// The coordinates of a fit on which predicted times depend, and the variance of predicted times that the
// coordinates do not cover. A coordinate is the logarithm of a fitted parameter. A slope is the derivative
// of the logarithm of a time with respect to a coordinate. Forecasts and the choice of profile runs use
// both.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/detail/refined_terms.hpp"
#include "goodput/fit/detail/touched_parameters.hpp"
#include "goodput/fit/refined_fit.hpp"

namespace goodput::inline v0_1 {

/// Whether a step on `batch` examples takes the time that the host needs to launch kernels.
inline bool waits_for_host(const RefinedFit& fit, double batch) {
    return fit.model.launch_seconds > fit.model.line_seconds(batch);
}

/// Calls visit(i, slope) for each coordinate i on which ln C depends. C is the computing time of `batch`
/// examples on a shape, as the model predicts it without the factor by which this shape deviates from the
/// model, as if the host launched kernels in no time.
template <class Visit>
void for_each_line_slope(const RefinedFit& fit, Shape shape, double batch, Visit&& visit) {
    const auto& breaks = fit.model.batches;
    const detail::RefinedBatch located =
        detail::locate_batch(batch, breaks.size(), [&](std::size_t i) { return breaks[i].batch; });
    detail::TouchedParameters<detail::RefinedTerms::most_touched> touched(fit.coordinates.data());
    const auto log_compute =
        detail::RefinedTerms().log_compute(touched, {detail::RefinedShape(shape), located});
    touched.for_each_derivative(log_compute, visit);
}

/// Calls visit(i, slope) for each coordinate i on which ln S depends. S is the synchronising time on a
/// shape with at least two replicas, as the model predicts it without the factor by which this shape
/// deviates.
template <class Visit>
void for_each_sync_slope(Shape shape, Visit&& visit) {
    detail::RefinedShape(shape).for_each_sync_term(visit);
}

/// Calls visit(i, slope) for the coordinates i on which ln C depends while the host is the bottleneck.
template <class Visit>
void for_each_launch_slope(const RefinedFit& fit, Shape shape, Visit&& visit) {
    const bool alone = shape.gpus < 2;
    visit(std::size_t{alone ? alone_factor : straggling_exponent}, alone ? 1.0 : std::log(shape.gpus));
    visit(fit.coordinates.size() - 1, 1.0);
}

/// Calls visit(i, slope) for each coordinate i on which ln C depends. C is the computing time of `batch`
/// examples on a shape, as the model predicts it without the factor by which this shape deviates from the
/// model.
template <class Visit>
void for_each_compute_slope(const RefinedFit& fit, Shape shape, double batch, Visit&& visit) {
    if (waits_for_host(fit, batch))
        for_each_launch_slope(fit, shape, visit);
    else
        for_each_line_slope(fit, shape, batch, visit);
}

/// Returns the part of the covariance of ln C at two batches (given by their logarithms) that exists
/// because batches were not measured. The deviation from the model is a random walk in ln b that is zero at
/// the measured batches. Beyond the largest or smallest measured batch, its variance grows with the
/// distance: it is that of the prior (break_deviation squared) at twice or half that batch, and twice as
/// much from four times or a quarter on. If no batch was measured, it is a stationary process with the same
/// increments.
inline double unmeasured_covariance(const RefinedFit& fit, double log_batch, double other) {
    const double variance = detail::square(fit.prior.break_deviation), per_log = variance / std::log(2.0);
    const auto& breaks = fit.model.batches;
    const double from = std::min(log_batch, other), to = std::max(log_batch, other);
    if (breaks.empty()) return variance * std::exp(-(to - from) / std::log(4.0));
    const double first = std::log(breaks.front().batch), last = std::log(breaks.back().batch);
    if (to < first) return std::min(per_log * (first - to), 2 * variance);
    if (from > last) return std::min(per_log * (from - last), 2 * variance);
    // Between two measured batches the walk is zero at both ends, and independent of the batches beyond
    // them.
    for (std::size_t i = 1; i < breaks.size(); ++i) {
        const double low = std::log(breaks[i - 1].batch), high = std::log(breaks[i].batch);
        if (from > low && to < high) return per_log * (from - low) * (high - to) / (high - low);
    }
    return 0;
}

}  // namespace goodput::inline v0_1

#endif
