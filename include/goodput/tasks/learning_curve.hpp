#ifndef GOODPUT_TASKS_LEARNING_CURVE_HPP
#define GOODPUT_TASKS_LEARNING_CURVE_HPP

// How much training is left until a metric reaches its target, from its curve so far.
//
// Whatever the total T, the curve has to go through the target there:
//
//     f(e) = target - b (g(T) - g(e)),   b >= 0,   g one of a few rising functions
//
// so for every T on a grid and every g only b is fitted, and what the residuals say of T is its likelihood.
// g are power laws, exponentials and logarithms of the position relative to now (Domhan, Springenberg and
// Hutter, IJCAI'15, use such families for accuracies; Optimus, EuroSys'18, one of them for losses). Later
// points count more, and residuals that follow each other count as fewer points. The prior of the total is
// p(T) ~ 1 / T^2 for T above what has passed: half of all jobs take more than twice as long. Totals of
// earlier jobs of the kind replace that prior as they come in.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/line.hpp"

namespace goodput {

/// A metric after some training.
struct CurvePoint {
    double position = 0;  ///< examples, epochs, ...: in the unit in which answers are; above 0
    double metric = 0;    ///< from -1e100 to 1e100
};

/// Where the metric is to get.
struct CurveTarget {
    double metric = 0;             ///< at which training ends
    bool higher_is_better = true;  ///< false: a loss or an error rate
};

/// What else is known, and how sure the interval is.
struct CurveForecastOptions {
    double coverage = 0.8;                 ///< above 0, below 1
    double longest = 100;                  ///< times as much as until now; above 1
    std::vector<double> earlier_totals{};  ///< of jobs of the kind that have ended, above 0
    /// As how many independent points a curve counts at most: training leaves every family of curves when its
    /// learning rate is changed. At least 1.
    double most_points = 4;
    double earlier_spread = 0.2;  ///< standard deviation of the logarithm of a total about each of them
};

/// What is left, in the unit of CurvePoint::position.
struct CurveForecast {
    double remaining = 0;  ///< median
    Interval interval{};   ///< of CurveForecastOptions::coverage
};

/// What is left until the target, from the points so far in the order of their positions, and how much of it
/// has passed (at least the last position). Where the target has been reached: 0, and an interval from 0.
/// Without points only the belief counts. Positions that do not rise, NaN, infinity and metrics beyond 1e100
/// are refused (std::invalid_argument).
[[nodiscard]] CurveForecast forecast_curve(std::span<const CurvePoint> points, const CurveTarget& target,
                                           double passed, const CurveForecastOptions& options = {});

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// A rising function of the position relative to now: of the family `kind`, with its parameters.
struct CurveFamily {
    enum class Kind { power, exponential, logarithm } kind = Kind::power;
    double shift = 0;  ///< power, logarithm: added to the position
    double rate = 1;   ///< power: exponent; exponential: time constant

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

/// Refuses what forecast_curve() does.
inline void validate_curve(std::span<const CurvePoint> points, const CurveTarget& target, double passed,
                           const CurveForecastOptions& options) {
    constexpr std::string_view of = "learning curve";
    require_positive(of, "passed", passed);
    // Squares of larger ones would not be finite.
    const auto sensible = [](double metric) { return std::abs(metric) <= 1e100; };
    if (!sensible(target.metric)) bad_input(of, "target", target.metric, "from -1e100 to 1e100");
    double last = 0;
    for (const CurvePoint& point : points) {
        if (!(point.position > last && point.position <= passed * (1 + 1e-9)))
            bad_input(of, "position", point.position, "rising, up to what has passed");
        if (!sensible(point.metric)) bad_input(of, "metric", point.metric, "from -1e100 to 1e100");
        last = point.position;
    }
    if (!(options.coverage > 0 && options.coverage < 1))
        bad_input(of, "coverage", options.coverage, "above 0 and below 1");
    if (!(options.longest > 1 && options.longest <= 1e6))
        bad_input(of, "longest", options.longest, "above 1, at most 1e6");
    require_positive(of, "earlier_spread", options.earlier_spread);
    require_at_least(of, "most_points", options.most_points, 1);
    for (const double total : options.earlier_totals) require_positive(of, "earlier_totals", total);
}

/// How many of the residuals are worth counting: those that follow each other repeat themselves.
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

/// What at least two points, with metrics relative to the target and rising, and positions in parts of what
/// has passed, say of each total in the same unit: its likelihood, summed over families, but for a factor.
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
    // Exact curves say as much as those that are off by a hundredth of the way to go.
    const double floor = 1e-4 * sums.front().squares({}) + std::numeric_limits<double>::min();
    std::vector<double> likelihoods(totals.size(), 0.0);
    for (std::size_t c = 0; c < totals.size(); ++c)
        for (const std::vector<double>& of_family : squares)
            likelihoods[c] += std::pow((least + floor) / (of_family[c] + floor), counted / 2);
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

    // Totals on a logarithmic grid, in parts of what has passed; and what was believed of them.
    constexpr std::size_t cells = 160;
    const double step = std::log(options.longest) / cells;
    const double earlier = static_cast<double>(options.earlier_totals.size());
    const double spread = std::max(options.earlier_spread, step);  // else a total falls between two cells
    std::vector<double> totals, unlearned, posterior;
    for (std::size_t c = 0; c < cells; ++c) {
        const double log_ratio = (static_cast<double>(c) + 0.5) * step;
        totals.push_back(std::exp(log_ratio));
        unlearned.push_back(std::exp(-log_ratio));  // density of the logarithm
        posterior.push_back(unlearned[c] / (1 + earlier));
        for (const double total : options.earlier_totals) {
            const double off = (log_ratio - std::log(total / passed)) / spread;
            posterior[c] += std::exp(-off * off / 2) / spread / 2.5066282746310002 / (1 + earlier);
        }
    }
    if (seen.size() >= 2) {
        const std::vector<double> likelihoods = detail::likelihoods_of(seen, totals, options.most_points);
        for (std::size_t c = 0; c < cells; ++c) posterior[c] *= likelihoods[c];
    }
    double sum = std::accumulate(posterior.begin(), posterior.end(), 0.0);
    if (!(sum > 0)) {  // earlier totals that have all been passed
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

}  // namespace goodput

#endif
