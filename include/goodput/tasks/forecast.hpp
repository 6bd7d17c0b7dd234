#ifndef GOODPUT_TASKS_FORECAST_HPP
#define GOODPUT_TASKS_FORECAST_HPP

// Predicts the distribution of an iteration's time on a shape with a batch plan, as far as a fitted model
// knows it.
//
// Let T be the iteration's time, C its computing time, S its synchronising time and b its atomic batch. ln
// C and ln S are assumed to be normal around the model's prediction. Their variances are g^T V g, where V
// is the covariance of the fitted parameters and g the derivatives with respect to them, plus two parts
// that the parameters do not cover. The first part is the variance of the factors by which a shape deviates
// from the model: if the shape was measured, their own variance, otherwise that of the prior. The second
// part is the deviation of the computing time away from the measured batches, a random walk in ln b that is
// zero at these batches (statistics/fitted_slopes.hpp). In addition, a measurement scatters about the model
// with the standard deviation s.
//
// An iteration depends on C nearly linearly, but not on S. A synchronising time that is hidden behind
// computing has no slope, but may become visible when it is twice as long as predicted. So quantiles follow
// the curve in S, and only the other effects are linearised around that point. Let z be the quantile of the
// normal distribution and q that of Student's t distribution at the degrees of freedom of s. With S' = S
// e^(z deviation), where `deviation` is the standard deviation of ln S, the quantile T_p is
//
//     ln T_p = ln T + sign sqrt( (ln T(S') - ln T)^2 + z^2 share(S')^2 var ln C + q^2 s^2 )
//
// where share is d ln T / d ln C, which is nearly one if little of S is visible. Above the median, z share
// is replaced by its largest value at any z up to this one, so that quantiles rise with the probability.
//
// If computing takes at least the time that the host needs to launch kernels, ln of this time and of the line
// are both normal, and the quantile of C is the larger one of their quantiles. The line is below this time at
// every measured batch that waits for the host, so it rises above it at most in proportion to the batch.
// Steps that wait for the host have a scatter of their own.
//
// The forecast ignores errors that are common to all shapes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <Eigen/Core>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/statistics/distributions.hpp"
#include "goodput/statistics/fitted_slopes.hpp"

namespace goodput::inline v0_1 {

/// The distribution of an iteration's time.
class Forecast {
public:
    /// `shape.gpus` counts replicas. Throws std::invalid_argument if `shape` or `plan` is invalid. Also
    /// throws if `fit` does not come from a fitter (coordinates and covariance are missing), or if
    /// is_valid() rejects its model.
    Forecast(const RefinedFit& fit, Shape shape, BatchPlan plan);

    /// Returns the median in seconds, which is the model's own prediction.
    [[nodiscard]] double median() const { return detail::bounded_exp(log_iteration(0)); }

    /// Returns the seconds within which the iteration ends with `probability`: 0.1 is optimistic, 0.9
    /// cautious. The result is positive and finite, and rises with the probability. The goodput at this
    /// quantile is the model's goodput times median() over the quantile. Throws std::invalid_argument if
    /// `probability` is not in (0, 1).
    [[nodiscard]] double quantile(double probability) const {
        require_fraction("forecast", "probability", probability);
        return end_of(std::abs(2 * probability - 1), probability > 0.5);
    }

    /// Returns the central interval with probability `coverage`, whose ends are the quantiles on both sides
    /// of the median. Throws std::invalid_argument if `coverage` is not in (0, 1).
    [[nodiscard]] Interval interval(double coverage = 0.9) const {
        require_fraction("forecast", "coverage", coverage);
        return {end_of(coverage, false), end_of(coverage, true)};
    }

    /// Returns the variance of ln of the iteration's time that more measurements could remove, which is all
    /// except the scatter. It is computed from half the distance between the quantiles one deviation above
    /// and below the median.
    [[nodiscard]] double reducible_variance() const {
        const double half = (log_iteration(sync_deviation_) - log_iteration(-sync_deviation_)) / 2;
        if (launch_deviation_ > 0)
            return half * half + (by_compute(1, true, 0) + by_compute(1, false, 0)) / 2;
        return half * half + compute_variance(0);
    }

private:
    /// Returns the upper end of the central interval with this coverage if `above`, else the lower end.
    [[nodiscard]] double end_of(double coverage, bool above) const {
        const double size = detail::normal_quantile(coverage);
        const double scatter = detail::student_quantile(coverage, freedom_) * scatter_;
        const double center = log_iteration(0), change = (above ? size : -size) * sync_deviation_;
        const double by_sync = log_iteration(change) - center;
        const double from_compute = above ? most_by_compute(size) : by_compute(size, false, change);
        const double away = std::sqrt(by_sync * by_sync + from_compute + scatter * scatter);
        return detail::bounded_exp(above ? center + away : center - away);
    }

    /// Returns the largest u^2 share(S e^(u deviation))^2 var ln C over all u up to `size`. As a function
    /// of u, this expression first rises and then falls, because a longer S reduces the share of C. Without
    /// the maximum, a more cautious quantile could lie below a less cautious one.
    [[nodiscard]] double most_by_compute(double size) const {
        const auto at = [this](double u) { return by_compute(u, true, u * sync_deviation_); };
        const double here = at(size);
        if (at(0.99 * size) <= here) return here;
        double low = 0, high = size;
        for (int third = 0; third < 60; ++third) {
            const double left = low + (high - low) / 3, right = high - (high - low) / 3;
            (at(left) < at(right) ? low : high) = at(left) < at(right) ? left : right;
        }
        return std::max(here, at((low + high) / 2));
    }

    /// Returns (u share)^2 var ln C. If there is a least computing time, u deviations of ln C are the
    /// distance of the larger of both terms, each u of its deviations away.
    [[nodiscard]] double by_compute(double u, bool above, double log_sync_change) const {
        if (!(launch_deviation_ > 0)) return u * u * compute_variance(log_sync_change);
        const double signed_u = above ? u : -u;
        const double launch = log_launch_ratio_ + signed_u * launch_deviation_;
        const double line = log_line_ratio_ + signed_u * std::sqrt(compute_variance_);
        const double moved = std::max(launch, std::min(line, launch + log_beyond_launch_));
        return moved * moved * squared_share(log_sync_change);
    }

    /// Returns the synchronising time multiplied by e^log_sync_change, limited to a finite number.
    [[nodiscard]] double changed(double log_sync_change) const {
        return std::min(sync_ * detail::bounded_exp(log_sync_change), 1e290);
    }
    [[nodiscard]] double log_iteration(double log_sync_change) const {
        const OverlappedStep step = overlapped_step(compute_, changed(log_sync_change), gamma_);
        return std::log(accumulation_ * compute_ + step.seconds);
    }

    /// Variance of ln of the iteration's time due to computing, at the given change of the synchronising
    /// time.
    [[nodiscard]] double compute_variance(double log_sync_change) const {
        return squared_share(log_sync_change) * compute_variance_;
    }

    /// (d ln T / d ln C)^2 at one synchronising time.
    [[nodiscard]] double squared_share(double log_sync_change) const {
        const OverlappedStep step = overlapped_step(compute_, changed(log_sync_change), gamma_);
        const double iteration = accumulation_ * compute_ + step.seconds;
        const double share = (accumulation_ + step.per_compute) * compute_ / iteration;
        return share * share;
    }

    double compute_ = 0, sync_ = 0, gamma_ = 1, accumulation_ = 0;
    double sync_deviation_ = 0;    ///< standard deviation of ln of sync_
    double compute_variance_ = 0;  ///< variance of ln of compute_, or of the line alone
    double launch_deviation_ =
        0;                       ///< standard deviation of ln of the least computing time; 0 if there is none
    double log_line_ratio_ = 0;  ///< ln of the line over compute_
    double log_launch_ratio_ = 0;   ///< ln of the least computing time over compute_
    double log_beyond_launch_ = 0;  ///< ln of the batch over the largest measured one that waits for the host
    double scatter_ = 0, freedom_ = 1;
};

inline Forecast::Forecast(const RefinedFit& fit, Shape shape, BatchPlan plan)
    : gamma_(fit.model.gamma),
      accumulation_(plan.accumulation_steps),
      scatter_(fit.step_deviation),
      freedom_(fit.degrees_of_freedom) {
    detail::require_configuration("forecast", shape, plan);
    const RefinedThroughput& model = fit.model;
    const std::size_t coordinates = fit.coordinates.size();
    if (coordinates != fit.expected_coordinates() || fit.covariance.size() != coordinates * coordinates ||
        fit.shape_variances.size() != model.shapes.size())
        bad_input("forecast", "fit", "of no measurement of the job", "fitted, or predicted from other types");
    validate(model, "forecast");
    compute_ = model.compute_seconds(plan.atomic_batch) * model.compute_factor(shape);
    sync_ = model.sync_seconds(shape);

    const auto count = static_cast<Eigen::Index>(coordinates);
    const Eigen::Map<const Eigen::MatrixXd> covariance(fit.covariance.data(), count, count);
    const auto variance = [&](const auto& for_each_slope) {
        Eigen::VectorXd slopes = Eigen::VectorXd::Zero(count);
        for_each_slope([&](std::size_t at, double slope) { slopes[static_cast<Eigen::Index>(at)] += slope; });
        return std::max(slopes.dot(covariance * slopes), 0.0);
    };
    const double log_batch = std::log(plan.atomic_batch);
    compute_variance_ = unmeasured_covariance(fit, log_batch, log_batch) + variance([&](const auto& visit) {
                            for_each_line_slope(fit, shape, plan.atomic_batch, visit);
                        });
    if (model.launch_seconds > 0) {
        log_line_ratio_ =
            std::log(model.line_seconds(plan.atomic_batch) / model.compute_seconds(plan.atomic_batch));
        log_launch_ratio_ = std::log(model.launch_seconds / model.compute_seconds(plan.atomic_batch));
        const double from_launches =
            variance([&](const auto& visit) { for_each_launch_slope(fit, shape, visit); });
        launch_deviation_ = std::sqrt(std::max(from_launches, 1e-12));
        log_beyond_launch_ = std::max(log_batch - std::log(fit.launch_batch), 0.0);
        if (waits_for_host(fit, plan.atomic_batch)) {
            scatter_ = fit.launch_deviation;
            freedom_ = fit.launch_freedom;
        }
    }
    if (shape.gpus < 2) return;
    const double from_laws = variance([&](const auto& visit) { for_each_sync_slope(shape, visit); });
    const auto [from_compute_factor, from_sync_factor] = fit.factor_variances(shape);
    compute_variance_ += from_compute_factor;
    if (launch_deviation_ > 0)
        launch_deviation_ = std::sqrt(launch_deviation_ * launch_deviation_ + from_compute_factor);
    sync_deviation_ = std::sqrt(from_laws + from_sync_factor);
}

}  // namespace goodput::inline v0_1

#endif
