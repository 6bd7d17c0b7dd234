// Least-squares lines: no other line of the same kind is nearer to the points.

#include "goodput/fit/detail/line.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace fit_line {

struct Point {
    double weight, x, y;
};

double squares(const std::vector<Point>& points, const Line& line) {
    double sum = 0;
    for (const Point& p : points) sum += p.weight * std::pow(p.y - line.at(p.x), 2);
    return sum;
}

}  // namespace fit_line

TEST_CASE("No line of any slope, through a point, or with neither part negative, is nearer to the points") {
    support::Random random(5);
    int bounded = 0;
    for (int round = 0; round < 3000; ++round) {
        // Far from zero, sums of squares would cancel.
        const double far = random.chance(0.3) ? 1e6 : random.between(0, 2);
        std::vector<fit_line::Point> points(static_cast<std::size_t>(random.integer(1, 6)));
        LineSums sums;
        for (fit_line::Point& p : points) {
            p = {random.chance(0.1) ? 0 : random.between(0.1, 3), far + random.integer(0, 4),
                 random.between(0, 3)};
            sums.add(p.weight, p.x, p.y);
        }
        const double at = random.between(0, 4), value = random.between(0, 3);
        const Line free = sums.free_line(), line = sums.line(), through = sums.through(at, value);
        CHECK(through.at(at) == doctest::Approx(value));
        CHECK(line.intercept >= 0);
        CHECK(line.slope >= 0);
        bounded += line.intercept != free.intercept;
        const auto no_nearer = [&](const Line& best, const Line& other) {
            return fit_line::squares(points, best) <=
                   fit_line::squares(points, other) * (1 + 1e-9) + 1e-9 * sums.weight;
        };
        for (int other = 0; other < 20; ++other) {
            const double size = std::pow(10, random.between(-6, 0)), off = size * random.between(-1, 1),
                         turn = size * random.between(-1, 1);
            CHECK(sums.squares({value, turn}) ==
                  doctest::Approx(fit_line::squares(points, {value, turn})).epsilon(1e-9).scale(1e-9));
            const double slope = free.slope + turn;
            CHECK(no_nearer(free, {free.at(sums.x) + off - slope * sums.x, slope}));
            CHECK(no_nearer(through, {value - (through.slope + turn) * at, through.slope + turn}));
            CHECK(no_nearer(line, {std::max(line.intercept + off, 0.0), std::max(line.slope + turn, 0.0)}));
        }
    }
    CHECK(bounded > 500);
    CHECK(LineSums().line().at(1) == 0);
}
