#ifndef GOODPUT_TASKS_LEARNING_CURVE_HPP
#define GOODPUT_TASKS_LEARNING_CURVE_HPP

// Forecasts how much training is left until a metric, such as the accuracy, reaches its target, from the
// curve so far.
//
// Let f(e) be the metric at position e, and T the total training. Whatever T is, the curve passes through
// the target at T:
//
//     f(e) = target - b (g(T) - g(e)),   b >= 0,   g one of several rising functions
//
// For every T on a grid and every function g, only b is fitted. The residuals give the likelihood of T. The
// functions g are power laws, exponentials and logarithms of the position relative to the present one
// (Domhan, Springenberg and Hutter, IJCAI'15, use such families for accuracies; Optimus, EuroSys'18, uses
// one of them for losses). Later points get more weight, and correlated residuals count as fewer points.
// The prior of the total is p(T) ~ 1 / T^2 for T above the amount trained so far, so half of all jobs take
// more than twice as long as they have taken. Totals of earlier jobs of the kind replace this prior as they
// become known.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/detail/normal_distribution.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/line.hpp"

namespace goodput::inline v0_1 {

/// The value of a metric after some training.
struct CurvePoint {
    double position = 0;  ///< examples, epochs or another unit, which is also the unit of answers; above 0
    double metric = 0;    ///< from -1e100 to 1e100
};

/// The target of the metric.
struct CurveTarget {
    double metric = 0;             ///< value at which training ends
    bool higher_is_better = true;  ///< false: a loss or an error rate
};

/// Further knowledge, and the coverage of the interval.
struct CurveForecastOptions {
    double coverage = 0.8;                 ///< probability of the interval, above 0 and below 1
    double longest = 100;                  ///< largest total, in multiples of the amount passed; above 1
    std::vector<double> earlier_totals{};  ///< totals of finished jobs of the kind, above 0
    /// A curve counts as at most this many independent points (1 or more). The number is small because no
    /// family of curves describes training after a change of the learning rate.
    double most_points = 4;
    /// Standard deviation of the logarithm of the total around each earlier total.
    double earlier_spread = 0.2;
};

/// The remaining training, in the unit of CurvePoint::position.
struct CurveForecast {
    double remaining = 0;  ///< median
    Interval interval{};   ///< interval with probability CurveForecastOptions::coverage
};

/// Forecasts the training left until the target. `points` are the points so far in the order of their
/// positions, and `passed` is the amount of training so far, at least the last position. Returns 0, with an
/// interval from 0, if the target has been reached. Without points only the prior counts. Throws
/// std::invalid_argument for positions that do not rise, NaN, infinity, and metrics beyond 1e100.
[[nodiscard]] CurveForecast forecast_curve(std::span<const CurvePoint> points, const CurveTarget& target,
                                           double passed, const CurveForecastOptions& options = {});

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// One of the functions g: a rising function of the position relative to the present one, from the family
/// `kind`.
struct CurveFamily {
    enum class Kind { power, exponential, logarithm } kind = Kind::power;
    double shift = 0;  ///< for power and logarithm: added to the position
    double rate = 1;   ///< for power: exponent; for exponential: time constant

    [[nodiscard]] double operator()(double x) const {
        switch (kind) {
            case Kind::power:
                return -std::pow(x + shift, -rate);
            case Kind::exponential:
                return -std::exp(-x / rate);
            case Kind::logarithm:
                break;
        }
        return std::log(x + shift);
    }
};

inline constexpr std::array curve_families{
    CurveFamily{CurveFamily::Kind::power, 0.02, 0.3},    CurveFamily{CurveFamily::Kind::power, 0.02, 0.6},
    CurveFamily{CurveFamily::Kind::power, 0.02, 1.0},    CurveFamily{CurveFamily::Kind::power, 0.1, 0.3},
    CurveFamily{CurveFamily::Kind::power, 0.1, 1.0},     CurveFamily{CurveFamily::Kind::power, 0.1, 2.0},
    CurveFamily{CurveFamily::Kind::power, 0.5, 0.3},     CurveFamily{CurveFamily::Kind::power, 0.5, 1.0},
    CurveFamily{CurveFamily::Kind::power, 0.5, 2.0},     CurveFamily{CurveFamily::Kind::exponential, 0, 0.1},
    CurveFamily{CurveFamily::Kind::exponential, 0, 0.2}, CurveFamily{CurveFamily::Kind::exponential, 0, 0.5},
    CurveFamily{CurveFamily::Kind::exponential, 0, 1},   CurveFamily{CurveFamily::Kind::exponential, 0, 2},
    CurveFamily{CurveFamily::Kind::exponential, 0, 5},   CurveFamily{CurveFamily::Kind::logarithm, 0.02, 1},
    CurveFamily{CurveFamily::Kind::logarithm, 0.1, 1},   CurveFamily{CurveFamily::Kind::logarithm, 0.5, 1}};

/// Throws std::invalid_argument for input that forecast_curve() rejects.
inline void validate_curve(std::span<const CurvePoint> points, const CurveTarget& target, double passed,
                           const CurveForecastOptions& options) {
    constexpr std::string_view subject = "learning curve";
    require_positive(subject, "passed", passed);
    // Squares of larger metrics would not be finite.
    const auto sensible = [](double metric) { return std::abs(metric) <= 1e100; };
    if (!sensible(target.metric)) bad_input(subject, "target", target.metric, "from -1e100 to 1e100");
    double last = 0;
    for (const CurvePoint& point : points) {
        if (!(point.position > last && point.position <= passed * (1 + 1e-9)))
            bad_input(subject, "position", point.position, "rising, up to what has passed");
        if (!sensible(point.metric)) bad_input(subject, "metric", point.metric, "from -1e100 to 1e100");
        last = point.position;
    }
    require_fraction(subject, "coverage", options.coverage);
    if (!(options.longest > 1 && options.longest <= 1e6))
        bad_input(subject, "longest", options.longest, "above 1, at most 1e6");
    require_positive(subject, "earlier_spread", options.earlier_spread);
    require_at_least(subject, "most_points", options.most_points, 1);
    for (const double total : options.earlier_totals) require_positive(subject, "earlier_totals", total);
}

/// Returns the number of independent points with as much information as these residuals. It is below their
/// number, because successive residuals are correlated.
template <class Residual>
double independent_points(std::size_t points, Residual residual) {
    double before = 0, squares = 0, products = 0;
    for (std::size_t i = 0; i < points; ++i) {
        const double now = residual(i);
        squares += now * now;
        products += now * before;
        before = now;
    }
    const double correlation = squares > 0 ? std::clamp(products / squares, 0.0, 0.98) : 0;
    return std::max(static_cast<double>(points) * (1 - correlation) / (1 + correlation), 1.0);
}

/// Returns the likelihood of each total, summed over the families, except for a common factor. There must
/// be at least two points. Their metrics must be relative to the target and rising; positions and totals
/// must be fractions of the amount trained so far.
inline std::vector<double> likelihoods_of(std::span<const CurvePoint> points, std::span<const double> totals,
                                          double most_points) {
    std::vector<LineSums> sums(curve_families.size());
    for (std::size_t k = 0; k < sums.size(); ++k)
        for (const CurvePoint& point : points)
            sums[k].add(point.position, curve_families[k](point.position), point.metric);
    double least = std::numeric_limits<double>::infinity(), counted = 1;
    std::vector<std::vector<double>> squares(sums.size(), std::vector<double>(totals.size()));
    for (std::size_t k = 0; k < sums.size(); ++k)
        for (std::size_t c = 0; c < totals.size(); ++c) {
            const double at_total = curve_families[k](totals[c]);
            const double slope = std::max(sums[k].through(at_total, 0).slope, 0.0);
            squares[k][c] = sums[k].squares({-slope * at_total, slope});
            if (squares[k][c] >= least) continue;
            least = squares[k][c];
            counted = independent_points(points.size(), [&](std::size_t i) {
                return points[i].metric + slope * (at_total - curve_families[k](points[i].position));
            });
        }
    counted = std::min(counted, most_points);
    // If the points fit exactly, assume an error of a hundredth of the remaining way, so that no likelihood
    // is infinite.
    const double floor = 1e-4 * sums.front().squares({}) + std::numeric_limits<double>::min();
    std::vector<double> likelihoods(totals.size(), 0.0);
    for (std::size_t c = 0; c < totals.size(); ++c)
        for (const std::vector<double>& family : squares)
            likelihoods[c] += std::pow((least + floor) / (family[c] + floor), counted / 2);
    return likelihoods;
}

}  // namespace detail

inline CurveForecast forecast_curve(std::span<const CurvePoint> points, const CurveTarget& target,
                                    double passed, const CurveForecastOptions& options) {
    detail::validate_curve(points, target, passed, options);
    const double sign = target.higher_is_better ? 1 : -1;
    std::vector<CurvePoint> seen;
    for (const CurvePoint& point : points)
        seen.push_back({point.position / passed, sign * (point.metric - target.metric)});
    if (std::ranges::any_of(seen, [](const CurvePoint& point) { return point.metric >= 0; }))
        return {0, {0, passed * options.earlier_spread}};

    // Totals on a logarithmic grid as multiples of the amount passed, and their prior.
    constexpr std::size_t cells = 160;
    const double step = std::log(options.longest) / cells;
    const double earlier = static_cast<double>(options.earlier_totals.size());
    // With a smaller spread, an earlier total between two cells would have no effect.
    const double spread = std::max(options.earlier_spread, step);
    std::vector<double> totals, unlearned, posterior;
    for (std::size_t c = 0; c < cells; ++c) {
        const double log_ratio = (static_cast<double>(c) + 0.5) * step;
        totals.push_back(std::exp(log_ratio));
        unlearned.push_back(std::exp(-log_ratio));  // density of the logarithm
        posterior.push_back(unlearned[c] / (1 + earlier));
        for (const double total : options.earlier_totals) {
            const double off = (log_ratio - std::log(total / passed)) / spread;
            posterior[c] += detail::normal_density(off) / spread / (1 + earlier);
        }
    }
    if (seen.size() >= 2) {
        const std::vector<double> likelihoods = detail::likelihoods_of(seen, totals, options.most_points);
        for (std::size_t c = 0; c < cells; ++c) posterior[c] *= likelihoods[c];
    }
    double sum = std::accumulate(posterior.begin(), posterior.end(), 0.0);
    if (!(sum > 0)) {  // all earlier totals are below the amount passed
        posterior = unlearned;
        sum = std::accumulate(posterior.begin(), posterior.end(), 0.0);
    }
    const auto quantile = [&](double part) {
        double below = 0;
        for (std::size_t c = 0; c < cells; ++c) {
            const double here = posterior[c] / sum;
            if (below + here >= part)
                return passed * std::expm1(step * (static_cast<double>(c) + (part - below) / here));
            below += here;
        }
        return passed * (options.longest - 1);
    };
    const double outside = (1 - options.coverage) / 2;
    return {quantile(0.5), {quantile(outside), quantile(1 - outside)}};
}

}  // namespace goodput::inline v0_1

#endif
