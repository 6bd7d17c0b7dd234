#ifndef GOODPUT_AVAILABILITY_INTERRUPTION_FIT_HPP
#define GOODPUT_AVAILABILITY_INTERRUPTION_FIT_HPP

// Estimates how often nodes of one kind are interrupted, and for how long, from observations.
//
// Live periods t, the times between interruptions, have a Weibull distribution of shape k, with the
// cumulative hazard theta t^k. Periods that have not ended yet are included with their length so far. Given
// k, a gamma distribution is conjugate to theta. From a prior gamma(a, b), n interruptions and the sum T of
// all t^k follows the posterior gamma(a + n, b + T). The evidence for k and b is
//
//     k^n prod t^(k-1)  b^a / Gamma(a)  Gamma(a + n) / (b + T)^(a + n)
//
// (Soland, IEEE Transactions on Reliability R-18, 1969, with k on a grid). b is on a grid as well, because
// with a single b the fit could not follow data whose rate is far above that of the prior. The fit uses k =
// 1, which means that interruptions strike at random, until the data clearly favours another k.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "goodput/availability/live_periods.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/statistics/distributions.hpp"

namespace goodput::inline v0_1 {

/// Observations of nodes of one kind, in seconds and in any order.
struct ObservedPeriods {
    std::vector<double> live_seconds{};     ///< lengths of periods that an interruption ended; above 0
    std::vector<double> running_seconds{};  ///< periods that continue, or ended otherwise; at least 0
    std::vector<double> off_seconds{};      ///< from an interruption until work could begin again; at least
                                            ///< 0
};

/// The prior. Rates and times are medians; spreads are standard deviations of logarithms.
struct InterruptionPrior {
    double per_hour = 1.0 / 720;  ///< interruptions of a node per hour: one a month; above 0
    double off_seconds = 600;     ///< time off; above 0
    double spread = 1.5;  ///< standard deviation of both logarithms, at least 0: within a factor of 4.5 with
                          ///< probability 2/3
    double shape_spread = 0.5;  ///< standard deviation of the logarithm of the shape, whose median is 1;
                                ///< above 0
};

/// The interruptions of a node, and how certain they are.
struct InterruptionFit {
    Interruptions interruptions{};  ///< shape 1 unless the data clearly favours another one
    Interval per_hour{};            ///< interval with probability InterruptionFitOptions::coverage
    Interval shape{};               ///< same, for a Weibull distribution, whether or not it is used
    Interval off_seconds{};         ///< same, for the mean time off, as if times off were exponential
    double weibull_evidence = 0;    ///< ln of the ratio by which free shapes explain the observations
                                    ///< better than shape 1
};

/// The probability of intervals, and the evidence that is needed to use a shape other than 1.
struct InterruptionFitOptions {
    double coverage = 0.9;      ///< probability that an interval contains the value; above 0, below 1
    double clear_evidence = 3;  ///< ln of the Bayes factor from which the Weibull is used; at least 0
};

namespace detail {

/// The posterior of theta: a mixture of gamma distributions over shapes and priors, theta ~ gamma(count,
/// e^log_total), in units of `unit` seconds.
struct PeriodPosterior {
    struct Cell {
        double log_shape = 0, log_gamma = 0, log_total = 0, weight = 0;
    };
    std::vector<Cell> cells{};
    double count = 0;
    double unit = 1;          ///< seconds
    double log_evidence = 0;  ///< ln of the evidence for all these shapes together

    /// Returns the probability that periods last at least `seconds` on average.
    [[nodiscard]] double mean_above(double seconds) const {
        double sum = 0;
        for (const Cell& cell : cells) {
            // theta = (Gamma(1 + 1/k) / mean)^k, in units of the observations.
            const double log_theta = std::exp(cell.log_shape) * (cell.log_gamma - std::log(seconds / unit));
            sum +=
                cell.weight * lower_gamma_part(count, std::exp(std::min(log_theta + cell.log_total, 700.0)));
        }
        return sum;
    }
    /// Returns the mean, in seconds, that is exceeded with this probability.
    [[nodiscard]] double mean_exceeded(double probability) const {
        double low = std::log(unit) - 60, high = std::log(unit) + 60;
        for (int pass = 0; pass < 64; ++pass) {
            const double middle = (low + high) / 2;
            (mean_above(std::exp(middle)) > probability ? low : high) = middle;
        }
        return std::exp((low + high) / 2);
    }
};

/// Returns the posterior from `ended` and `running` periods and the prior median `believed_seconds`. Uses
/// only shape 1 if `shape_spread` is 0, otherwise a grid of shapes.
inline PeriodPosterior period_posterior(std::span<const double> ended, std::span<const double> running,
                                        double believed_seconds, double spread, double shape_spread) {
    constexpr double worth = 2, median = 1.6783469900166605;  // shape of the gamma prior, and its median
    constexpr double least_log = -1.7, most_log = 4;          // shapes 0.18 to 55
    const int shapes = shape_spread > 0 ? 161 : 1, beliefs = spread > 0 ? 25 : 1;
    PeriodPosterior result;
    const double n = static_cast<double>(ended.size());
    result.count = worth + n;
    result.unit = believed_seconds;
    for (const double t : ended) result.unit = std::max(result.unit, t);
    for (const double t : running) result.unit = std::max(result.unit, t);
    // Only needed for free shapes: times off use shape 1 and may be 0, whose logarithm is not finite.
    double log_sum = 0;
    if (shapes > 1)
        for (const double t : ended) log_sum += std::log(t / result.unit);
    std::vector<double> logs;
    double priors = 0, most = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < shapes; ++i) {
        PeriodPosterior::Cell cell;
        if (shapes > 1) cell.log_shape = least_log + (most_log - least_log) * i / (shapes - 1);
        const double shape = std::exp(cell.log_shape), off = shapes > 1 ? cell.log_shape / shape_spread : 0;
        cell.log_gamma = log_gamma(1 + 1 / shape);
        double total = 0;
        for (const double t : ended) total += std::pow(t / result.unit, shape);
        for (const double t : running) total += std::pow(t / result.unit, shape);
        for (int j = 0; j < beliefs; ++j) {
            const double z = beliefs > 1 ? (j - 12) / 2.0 : 0;
            const double log_belief = std::log(median) + shape * (std::log(believed_seconds / result.unit) +
                                                                  spread * z - cell.log_gamma);
            const double high = std::max(log_belief, total > 0 ? std::log(total) : log_belief);
            cell.log_total = high + std::log(std::exp(log_belief - high) + total * std::exp(-high));
            const double log_prior = -(off * off + z * z) / 2;
            priors += std::exp(log_prior);
            logs.push_back(log_prior + n * cell.log_shape + (shape - 1) * log_sum + worth * log_belief -
                           result.count * cell.log_total);
            most = std::max(most, logs.back());
            result.cells.push_back(cell);
        }
    }
    double sum = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) sum += result.cells[i].weight = std::exp(logs[i] - most);
    for (PeriodPosterior::Cell& cell : result.cells) cell.weight /= sum;
    std::erase_if(result.cells, [](const PeriodPosterior::Cell& cell) { return cell.weight < 1e-12; });
    result.log_evidence = most + std::log(sum / priors);
    return result;
}

inline void validate(const ObservedPeriods& seen, const InterruptionPrior& prior,
                     const InterruptionFitOptions& options) {
    constexpr std::string_view subject = "interruptions";
    for (const auto& [field, times, least] : {std::tuple{"live_seconds", &seen.live_seconds, 1e-6},
                                              std::tuple{"running_seconds", &seen.running_seconds, 0.0},
                                              std::tuple{"off_seconds", &seen.off_seconds, 0.0}})
        for (const double t : *times) require_between(subject, field, t, least, longest_checkpoint_seconds);
    require_between(subject, "prior.per_hour", prior.per_hour, 1e-8, most_interruptions_per_hour);
    require_between(subject, "prior.off_seconds", prior.off_seconds, 1e-6, longest_checkpoint_seconds);
    require_between(subject, "prior.spread", prior.spread, 0, 10);
    require_between(subject, "prior.shape_spread", prior.shape_spread, 1e-3, 2);
    require_fraction(subject, "coverage", options.coverage);
    require_at_least(subject, "clear_evidence", options.clear_evidence, 0);
}

}  // namespace detail

/// Estimates the interruptions of a node from live periods and times off of similar nodes. If there are no
/// observations, the result is close to the prior. Throws std::invalid_argument for periods that ended
/// after less than a microsecond, for values that are NaN, infinite or too large, and for priors that are
/// not positive.
[[nodiscard]] inline InterruptionFit fit_interruptions(const ObservedPeriods& seen,
                                                       const InterruptionPrior& prior = {},
                                                       const InterruptionFitOptions& options = {}) {
    detail::validate(seen, prior, options);
    const double outside = (1 - options.coverage) / 2, believed = 3600 / prior.per_hour;
    const auto posterior = [&](double shape_spread) {
        return detail::period_posterior(seen.live_seconds, seen.running_seconds, believed, prior.spread,
                                        shape_spread);
    };
    const detail::PeriodPosterior at_random = posterior(0), weibull = posterior(prior.shape_spread);
    InterruptionFit fit;
    fit.weibull_evidence = weibull.log_evidence - at_random.log_evidence;
    double below = 0, log_shape = 0;
    for (const auto& cell : weibull.cells) {
        if (below <= outside) fit.shape.low = std::exp(cell.log_shape);
        if (below < 1 - outside) fit.shape.high = std::exp(cell.log_shape);
        below += cell.weight;
        log_shape += cell.weight * cell.log_shape;
    }
    const bool clear = fit.weibull_evidence > options.clear_evidence;
    const detail::PeriodPosterior& used = clear ? weibull : at_random;
    if (clear) fit.interruptions.shape = std::exp(log_shape);
    fit.interruptions.per_hour = 3600 / used.mean_exceeded(0.5);
    fit.per_hour = {3600 / used.mean_exceeded(outside), 3600 / used.mean_exceeded(1 - outside)};
    const detail::PeriodPosterior off =
        detail::period_posterior(seen.off_seconds, {}, prior.off_seconds, prior.spread, 0);
    fit.interruptions.off_seconds = off.mean_exceeded(0.5);
    fit.off_seconds = {off.mean_exceeded(1 - outside), off.mean_exceeded(outside)};
    return fit;
}

}  // namespace goodput::inline v0_1

#endif
