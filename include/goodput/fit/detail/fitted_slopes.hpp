#ifndef GOODPUT_FIT_DETAIL_FITTED_SLOPES_HPP
#define GOODPUT_FIT_DETAIL_FITTED_SLOPES_HPP

// On which coordinates of a fit does a predicted computing time depend, and how much of it do they not cover?

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/detail/refined_terms.hpp"
#include "goodput/fit/detail/touched_parameters.hpp"
#include "goodput/fit/refined_fit.hpp"

namespace goodput::detail {

/// Calls visit(i, slope) for the coordinates i by which ln C changes, C the computing time of `batch`
/// examples on a shape; the shape's own factor aside.
template <class Visit>
void for_each_compute_term(const RefinedFit& fit, const RefinedShape& shape, double batch, Visit&& visit) {
    const auto& breaks = fit.model.batches;
    const RefinedBatch located =
        locate_batch(batch, breaks.size(), [&](std::size_t i) { return breaks[i].batch; });
    TouchedParameters<RefinedTerms::most_touched> touched(fit.coordinates.data());
    const auto log_compute = RefinedTerms().log_compute(touched, {shape, located});
    touched.for_each_derivative(log_compute, visit);
}

/// Covariance of ln C at two batches, given by their logarithms, that comes from batches which were not
/// measured: a random walk in ln b tied to the measured ones, with the prior's variance at twice the batch.
/// Where none was measured a stationary one whose increments are the same.
inline double walk_between(const RefinedFit& fit, double log_batch, double other) {
    const double variance = square(fit.prior.break_deviation), per_log = variance / std::log(2.0);
    const auto& breaks = fit.model.batches;
    const double from = std::min(log_batch, other), to = std::max(log_batch, other);
    if (breaks.empty()) return variance * std::exp(-(to - from) / std::log(4.0));
    const double first = std::log(breaks.front().batch), last = std::log(breaks.back().batch);
    if (to < first) return std::min(per_log * (first - to), 2 * variance);
    if (from > last) return std::min(per_log * (from - last), 2 * variance);
    // Between two measured batches the walk is tied at both ends, and knows nothing of what is beyond.
    for (std::size_t i = 1; i < breaks.size(); ++i) {
        const double low = std::log(breaks[i - 1].batch), high = std::log(breaks[i].batch);
        if (from > low && to < high) return per_log * (from - low) * (high - to) / (high - low);
    }
    return 0;
}

}  // namespace goodput::detail

#endif
