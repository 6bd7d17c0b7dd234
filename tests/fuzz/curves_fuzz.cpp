// Fuzzes learning curves. Points are refused with a reason or continued. Medians lie within their
// intervals, and it makes no difference whether more or less is better.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/tasks/learning_curve.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    const CurveTarget target{.metric = head.number(-10, 10), .higher_is_better = head.flag()};
    CurveForecastOptions options{.coverage = head.number(0.1, 0.99), .longest = head.scale(2, 1e4)};
    for (std::size_t earlier = head.index(4); earlier > 0; --earlier)
        options.earlier_totals.push_back(head.scale(1, 1e4));
    std::vector<CurvePoint> points;
    double position = 0;
    while (!bytes.empty() && points.size() < 60) {
        fuzz::Bytes record = bytes.record();
        for (int i = 0; i < 4; ++i) {
            position += record.scale(1e-2, 1e2);
            points.push_back({position, record.number(-10, 10)});
        }
    }
    const double passed = position > 0 ? position : 1;
    CurveForecast forecast;
    if (!fuzz::accepted([&] { forecast = forecast_curve(points, target, passed, options); })) return 0;
    check(forecast.remaining >= 0 && std::isfinite(forecast.remaining), "what is left", forecast.remaining);
    check(forecast.interval.low <= forecast.remaining && forecast.remaining <= forecast.interval.high,
          "the interval", forecast.interval.low, forecast.interval.high);
    for (CurvePoint& point : points) point.metric = -point.metric;
    const CurveForecast turned =
        forecast_curve(points, {-target.metric, !target.higher_is_better}, passed, options);
    check(std::abs(turned.remaining - forecast.remaining) <= 1e-6 * forecast.remaining,
          "whether more or less is better", turned.remaining, forecast.remaining);
    return 0;
}
