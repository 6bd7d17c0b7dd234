#ifndef GOODPUT_TASKS_FORECAST_HPP
#define GOODPUT_TASKS_FORECAST_HPP

// How long may an iteration take on a shape with a batch plan, as far as a fitted model knows?
//
// ln C and ln S are taken as normal around what the model predicts, C the computing and S the synchronising
// time. Their variances are g^T V g, V the covariance of the fitted parameters and g the derivatives by them,
// plus what the parameters do not cover: the factors of the shape (those of a measured shape have a variance
// of their own, others the prior's) and, away from the measured batches, the factor of the computing time,
// taken for a random walk in ln b tied to the measured ones. A measurement scatters about the model by s.
//
// An iteration depends on C nearly linearly, but not on S: a synchronising time that is hidden behind
// computing has no slope, and still it may come out when it is twice as long as thought. So quantiles follow
// the curve in S, and only the rest is linearised, there. With z the quantile of the normal distribution, q
// that of Student's t distribution at the degrees of freedom that s rests on, and S' = S e^(z deviation)
//
//     ln T_p = ln T + sign sqrt( (ln T(S') - ln T)^2 + z^2 share(S')^2 var ln C + q^2 s^2 )
//
// share is d ln T / d ln C: nearly one where little is left of S. Above the median, z share counts with its
// largest value at any z up to this one, so that quantiles rise with the probability.
//
// What it cannot know: errors that all shapes share.

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

namespace goodput {

/// The distribution of an iteration's time.
class Forecast {
public:
    /// `shape.gpus` counts replicas. Refuses what is no shape or plan, and a fit that does not come from a
    /// fitter: without coordinates and covariance, or with a model that is_valid() does not accept
    /// (std::invalid_argument).
    Forecast(const RefinedFit& fit, Shape shape, BatchPlan plan);

    /// Seconds that the iteration takes as likely more as less: the model's own prediction.
    [[nodiscard]] double median() const { return detail::bounded_exp(log_iteration(0)); }

    /// Seconds within which the iteration ends with `probability`, in (0, 1) (others get
    /// std::invalid_argument): 0.1 is optimistic, 0.9 careful. Goodput at this quantile is that of the model
    /// times median() over it. Positive and finite, and rises with the probability.
    [[nodiscard]] double quantile(double probability) const {
        if (!(probability > 0 && probability < 1))
            bad_input("forecast", "probability", probability, "between 0 and 1");
        return end_of(std::abs(2 * probability - 1), probability > 0.5);
    }

    /// The central interval that holds with probability `coverage`, in (0, 1) (others get
    /// std::invalid_argument): quantile() on either side of the median.
    [[nodiscard]] Interval interval(double coverage = 0.9) const {
        if (!(coverage > 0 && coverage < 1)) bad_input("forecast", "coverage", coverage, "between 0 and 1");
        return {end_of(coverage, false), end_of(coverage, true)};
    }

    /// Variance of ln of the iteration's time that further measurements could do away with: all but the
    /// scatter. By half the distance of the quantiles one deviation away.
    [[nodiscard]] double reducible_variance() const {
        const double half = (log_iteration(sync_deviation_) - log_iteration(-sync_deviation_)) / 2;
        return half * half + compute_variance(0);
    }

private:
    /// The end, above or below the median, of the central interval.
    [[nodiscard]] double end_of(double coverage, bool above) const {
        const double size = detail::normal_quantile(coverage);
        const double scatter = detail::student_quantile(coverage, freedom_) * scatter_;
        const double center = log_iteration(0), change = (above ? size : -size) * sync_deviation_;
        const double by_sync = log_iteration(change) - center;
        const double by_compute = above ? most_by_compute(size) : size * size * compute_variance(change);
        const double away = std::sqrt(by_sync * by_sync + by_compute + scatter * scatter);
        return detail::bounded_exp(above ? center + away : center - away);
    }

    /// The largest u^2 share(S e^(u deviation))^2 var ln C of all u up to `size`. It rises and then falls, as
    /// a longer and longer S leaves less of C; but an iteration never takes less than C does, and a careful
    /// quantile must not lie below one that is less so.
    [[nodiscard]] double most_by_compute(double size) const {
        const auto at = [this](double u) { return u * u * compute_variance(u * sync_deviation_); };
        const double here = at(size);
        if (at(0.99 * size) <= here) return here;
        double low = 0, high = size;
        for (int third = 0; third < 60; ++third) {
            const double left = low + (high - low) / 3, right = high - (high - low) / 3;
            (at(left) < at(right) ? low : high) = at(left) < at(right) ? left : right;
        }
        return std::max(here, at((low + high) / 2));
    }

    /// The synchronising time, kept a number.
    [[nodiscard]] double changed(double log_sync_change) const {
        return std::min(sync_ * detail::bounded_exp(log_sync_change), 1e290);
    }
    [[nodiscard]] double log_iteration(double log_sync_change) const {
        const double step =
            PolluxThroughput{.gamma = gamma_}.step_seconds(compute_, changed(log_sync_change));
        return std::log(accumulation_ * compute_ + step);
    }

    /// Of ln of the iteration, by that of computing, at one synchronising time.
    [[nodiscard]] double compute_variance(double log_sync_change) const {
        const OverlappedStep step =
            PolluxThroughput{.gamma = gamma_}.overlapped_step(compute_, changed(log_sync_change));
        const double iteration = accumulation_ * compute_ + step.seconds;
        const double share = (accumulation_ + step.per_compute) * compute_ / iteration;
        return share * share * compute_variance_;
    }

    double compute_ = 0, sync_ = 0, gamma_ = 1, accumulation_ = 0;
    double sync_deviation_ = 0;    ///< of ln of sync_
    double compute_variance_ = 0;  ///< of ln of compute_
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
    if (coordinates != refined_parameters + model.batches.size() ||
        fit.covariance.size() != coordinates * coordinates ||
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
                            for_each_compute_slope(fit, shape, plan.atomic_batch, visit);
                        });
    if (shape.gpus < 2) return;
    const double of_sync = variance([&](const auto& visit) { for_each_sync_slope(shape, visit); });
    const auto [of_factor, of_sync_factor] = fit.factor_variances(shape);
    compute_variance_ += of_factor;
    sync_deviation_ = std::sqrt(of_sync + of_sync_factor);
}

}  // namespace goodput

#endif
