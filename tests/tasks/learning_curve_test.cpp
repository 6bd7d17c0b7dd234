// Forecasts the rest of a training run from its curve: synthetic curves of each family, intervals, and laws.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/tasks/learning_curve.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// Returns a point of a rising curve from one of three families; curves reach 1 at `total`.
double curve_at(int family, double x, double total) {
    const double rate = 4 / total;
    switch (family) {
        case 0:
            return (1 - std::exp(-rate * x)) / (1 - std::exp(-rate * total));
        case 1:
            return (1 - 1 / (1 + rate * x)) / (1 - 1 / (1 + rate * total));
        default:
            return std::log1p(rate * x) / std::log1p(rate * total);
    }
}

std::vector<CurvePoint> points_of(int family, double total, double part, int count, double noise,
                                  support::Random& random) {
    std::vector<CurvePoint> points;
    for (int i = 1; i <= count; ++i) {
        const double x = total * part * i / count;
        const double normal =
            std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * std::acos(-1.0) * random.unit());
        points.push_back({x, curve_at(family, x, total) + noise * normal});
    }
    return points;
}

}  // namespace

TEST_CASE("curves of known families are continued to where they reach their target") {
    support::Random random(1);
    for (int family = 0; family < 3; ++family)
        for (const double part : {0.25, 0.5, 0.75}) {
            const std::vector<CurvePoint> points = points_of(family, 200, part, 40, 0, random);
            const CurveForecast forecast = forecast_curve(points, {1}, 200 * part, {.most_points = 40});
            INFO("family ", family, " at ", part, ": ", forecast.remaining);
            const double factor = forecast.remaining / (200 * (1 - part));
            CHECK(factor < 1.8);
            CHECK(factor > 1 / 1.8);
            CHECK(forecast.interval.low <= forecast.remaining);
            CHECK(forecast.interval.high >= forecast.remaining);
        }
}

TEST_CASE("intervals hold at least as often as they say where totals are as believed") {
    support::Random random(5);
    for (const double part_low : {0.05, 0.3}) {
        int within = 0;
        double off = 0, off_blind = 0;
        constexpr int cases = 300;
        for (int i = 0; i < cases; ++i) {
            // The passed part of the total is uniform: this is the belief that totals have density 1 / T^2.
            const double part = std::max(random.unit(), part_low), total = 100;
            const std::vector<CurvePoint> points =
                points_of(random.integer(0, 2), total, part, 30, 0.03, random);
            const CurveForecast forecast = forecast_curve(points, {1}, total * part);
            const double left = total * (1 - part);
            within += forecast.interval.low <= left && left <= forecast.interval.high ? 1 : 0;
            off += std::abs(std::log((forecast.remaining + 1) / (left + 1)));
            const double blind = forecast_curve({}, {1}, total * part).remaining;
            off_blind += std::abs(std::log((blind + 1) / (left + 1)));
        }
        CAPTURE(part_low);
        CHECK(within / double{cases} >= 0.74);
        // The curve tells more than time alone.
        CHECK(off < 0.9 * off_blind);
    }
}

TEST_CASE("with little to see the belief counts: as long again, or what earlier jobs took") {
    CHECK(forecast_curve({}, {1}, 50).remaining == doctest::Approx(50).epsilon(0.05));
    CHECK(forecast_curve(std::vector<CurvePoint>{{50, 0.1}}, {1}, 50).remaining ==
          doctest::Approx(50).epsilon(0.05));
    const CurveForecastOptions known{.earlier_totals = {190, 200, 210, 200, 205}};
    const CurveForecast forecast = forecast_curve({}, {1}, 50, known);
    CHECK(forecast.remaining == doctest::Approx(150).epsilon(0.1));
    CHECK(forecast.interval.high < 400);
    // The same for any small spread among earlier jobs of the kind.
    for (const double spread : {1e-2, 1e-3, 1e-9})
        for (double total = 150; total < 250; total += 1.7)
            CHECK(
                forecast_curve({}, {1}, 50, {.earlier_totals = {10, total, total}, .earlier_spread = spread})
                    .remaining == doctest::Approx(total - 50).epsilon(0.05));
    // All earlier jobs had ended by this time.
    CHECK(forecast_curve({}, {1}, 5000, known).remaining == doctest::Approx(5000).epsilon(0.05));
}

TEST_CASE("a target that is reached is reached, and one far beyond takes longer") {
    support::Random random(9);
    const std::vector<CurvePoint> points = points_of(0, 100, 0.5, 30, 0.01, random);
    double best = 0;
    for (const CurvePoint& point : points) best = std::max(best, point.metric);
    CHECK(forecast_curve(points, {best}, 50).remaining == 0);
    const double near = forecast_curve(points, {best + 0.001}, 50).remaining;
    const double far = forecast_curve(points, {1.05 * best + 0.05}, 50).remaining;
    CHECK(near < far);
    CHECK(far < 1000);
    // As far as a constant curve shows, it never gets there.
    std::vector<CurvePoint> still;
    for (int i = 1; i <= 20; ++i) still.push_back({double(i), 0.3});
    CHECK(forecast_curve(still, {0.9}, 20).remaining > 0.8 * forecast_curve({}, {0.9}, 20).remaining);
}

TEST_CASE("units of training and of the metric do not matter, nor whether less is better") {
    support::Random random(4);
    const std::vector<CurvePoint> points = points_of(1, 100, 0.4, 25, 0.02, random);
    const CurveForecast forecast = forecast_curve(points, {1}, 40);
    std::vector<CurvePoint> scaled = points, loss = points;
    for (CurvePoint& point : scaled) {
        point.position *= 512;
        point.metric = 30 * point.metric + 7;
    }
    const CurveForecast same = forecast_curve(scaled, {37}, 40 * 512);
    CHECK(same.remaining == doctest::Approx(512 * forecast.remaining));
    CHECK(same.interval.high == doctest::Approx(512 * forecast.interval.high));
    for (CurvePoint& point : loss) point.metric = 3 - point.metric;
    CHECK(forecast_curve(loss, {2, false}, 40).remaining == doctest::Approx(forecast.remaining));
}

TEST_CASE("bad curves are refused") {
    const double bad = std::nan("");
    const auto of = [](std::vector<CurvePoint> points) { return points; };
    CHECK_THROWS_AS((void)forecast_curve(of({{1, 0.5}, {1, 0.6}}), {1}, 2), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve(of({{1, 0.5}, {3, 0.6}}), {1}, 2), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve(of({{1, bad}}), {1}, 2), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve(of({{bad, 1}}), {1}, 2), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve({}, {bad}, 2), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve({}, {1}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve({}, {1}, std::numeric_limits<double>::infinity()),
                    std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve({}, {1}, 2, {.coverage = 1}), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve({}, {1}, 2, {.longest = 1}), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve({}, {1}, 2, {.earlier_totals = {0}}), std::invalid_argument);
    CHECK_THROWS_AS((void)forecast_curve({}, {1}, 2, {.most_points = 0.5}), std::invalid_argument);
}
