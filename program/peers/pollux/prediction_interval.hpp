#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_PREDICTION_INTERVAL_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_PREDICTION_INTERVAL_HPP

// Computes how far a measurement may lie from the prediction of a fitted model.
//
// With theta the parameters, C their covariance and s the scatter of measured steps about the model
// (ThroughputFit), the logarithm of an iteration's time has to first order the variance
//
//     v = s^2 + g^T C g,      g = d ln iteration / d theta
//
// and the interval is exp(ln iteration -+ q sqrt(v)) with q the two-sided quantile of Student's t
// distribution at the degrees of freedom that s rests on. For synchronising times that were never measured g
// is a secant over one standard deviation of the prior, because at zero a tangent says nothing; and since
// they cannot be negative, the low end is at least that of computing alone.
//
// It cannot know errors of the model itself that all samples of a shape share; it takes them for scatter.
// On the profiles published with Sia, intervals for 90 % hold 91 % of further samples of the fitted shapes
// and 90 % of those of other shapes (tests/fit/throughput_test.cpp), on average over jobs. A single job may
// be well above or below.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/statistics/distributions.hpp"
#include "peers/pollux/throughput_fit.hpp"

namespace goodput::peers {

/// Returns the seconds between which an iteration on `shape` with `plan` lies with probability `coverage`,
/// in (0, 1). They are positive and finite, and enclose the model's prediction. Throws
/// std::invalid_argument for another coverage, for an invalid shape or plan, and for a fit whose model
/// is_valid() rejects.
[[nodiscard]] inline Interval predict_interval(const ThroughputFit& fit, Shape shape, BatchPlan plan,
                                               double coverage = 0.9) {
    if (!(coverage > 0 && coverage < 1))
        bad_input("predict_interval", "coverage", coverage, "between 0 and 1");
    detail::require_configuration("predict_interval", shape, plan);
    validate(fit.model, "predict_interval");
    const auto log_iteration = [&](const std::array<double, 7>& parameters) {
        return std::log(model_of(parameters).iteration_seconds(shape, plan));
    };
    const std::array<double, 7> values = parameters_of(fit.model);
    const double center = log_iteration(values);
    std::array<double, 7> gradient{};
    for (std::size_t i = 0; i < 7; ++i) {
        // Forward differences have a size at which neither rounding nor curvature matters; secants see
        // curvature.
        const bool secant = !fit.identified[i] && i >= 2 && i < 6;
        const double deviation = std::sqrt(fit.covariance[i][i]);
        double by = secant ? deviation : 1e-4 * deviation;
        if (i == 6 && values[i] + by > 10) by = -by;
        if (!(by != 0 && std::isfinite(by))) continue;
        std::array<double, 7> moved = values;
        moved[i] += by;
        gradient[i] = (log_iteration(moved) - center) / by;
    }
    double variance = square(fit.step_deviation);
    for (std::size_t i = 0; i < 7; ++i)
        for (std::size_t j = 0; j < 7; ++j) variance += gradient[i] * fit.covariance[i][j] * gradient[j];
    const double quantile = detail::student_quantile(coverage, fit.degrees_of_freedom);
    const double half = std::isfinite(variance) ? quantile * std::sqrt(std::max(variance, 0.0)) : 600;
    Interval interval{detail::bounded_exp(center - half), detail::bounded_exp(center + half)};
    const bool unmeasured = shape.gpus > 1 && !fit.identified[shape.nodes > 1 ? 2 : 4];
    if (unmeasured) {
        const double compute = (plan.accumulation_steps + 1.0) * fit.model.compute_seconds(plan.atomic_batch);
        interval.low = std::max(interval.low, compute * std::exp(-quantile * fit.step_deviation));
        interval.low = std::min(interval.low, std::exp(center));
    }
    return interval;
}

}  // namespace goodput::peers

#endif
