// The minimiser behind the fits finds minima, says when it has not found one, and leaves starts that are not
// numbers alone.

#include "goodput/fit/least_squares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace least_squares_tests {

/// Rosenbrock's valley with its minimum of 0 at (1, 1); not a number beyond x = 5.
struct CurvedValley {
    [[nodiscard]] static int parameters() { return 2; }
    [[nodiscard]] static int count() { return 2; }
    void operator()(const double* x, double* residuals, double* jacobian) const {
        residuals[0] = 10 * (x[1] - x[0] * x[0]);
        residuals[1] = x[0] > 5 ? std::numeric_limits<double>::quiet_NaN() : 1 - x[0];
        if (!jacobian) return;
        jacobian[0] = -20 * x[0];
        jacobian[1] = -1;
        jacobian[2] = 10;
        jacobian[3] = 0;
    }
};

/// Residuals whose derivatives promise a decrease that never happens.
struct FalsePromise {
    [[nodiscard]] static int parameters() { return 1; }
    [[nodiscard]] static int count() { return 1; }
    void operator()(const double* x, double* residuals, double* jacobian) const {
        residuals[0] = 10 + std::abs(x[0]);
        if (jacobian) jacobian[0] = 1;
    }
};

/// Records where it was linearised.
struct Recorded {
    std::vector<std::array<double, 2>>& linearised;
    [[nodiscard]] static int parameters() { return 2; }
    [[nodiscard]] static int count() { return 2; }
    void operator()(const double* x, double* residuals, double* jacobian) const {
        CurvedValley{}(x, residuals, jacobian);
        if (jacobian) linearised.push_back({x[0], x[1]});
    }
};

}  // namespace least_squares_tests

TEST_CASE("No point is linearised twice, in rough minimisations and in those that end with a proof") {
    using namespace least_squares_tests;
    support::Random random(6);
    MinimiserBuffers buffers;
    for (int round = 0; round < 50; ++round) {
        std::vector<std::array<double, 2>> points;
        const Recorded recorded{points};
        const std::array<double, 2> start{random.between(-4, 4), random.between(-20, 20)};
        std::array<double, 2> x = start;
        const LeastSquaresOptions options{.max_iterations = 100, .rough = round % 2 == 0};
        minimise_with_tiny_solver(recorded, x, options, buffers);
        CHECK(points.size() > 2);
        std::sort(points.begin(), points.end());
        CHECK(std::adjacent_find(points.begin(), points.end()) == points.end());
        // Another minimisation has other residuals, so it starts anew.
        const std::size_t before = points.size();
        x = start;
        minimise_with_tiny_solver(recorded, x, options, buffers);
        CHECK(points.size() == 2 * before);
    }
}

TEST_CASE(
    "A minimisation finds the end of a curved valley from every side, and leaves alone what is no number") {
    using namespace least_squares_tests;
    support::Random random(5);
    MinimiserBuffers buffers;
    const CurvedValley valley;
    std::array<double, 2> x{};
    for (int round = 0; round < 200; ++round) {
        x = {random.between(-4, 4), random.between(-20, 20)};
        const Minimisation result = minimise_with_tiny_solver(
            valley, x, {.max_iterations = 500, .relative_tolerance = 1e-12, .absolute_tolerance = 1e-20},
            buffers);
        CAPTURE(round);
        CHECK(result.status == FitStatus::converged);
        CHECK(std::max(std::abs(x[0] - 1), std::abs(x[1] - 1)) < 1e-5);
    }
    x = {6, 1};
    CHECK(minimise_with_tiny_solver(valley, x, {}, buffers).status == FitStatus::prior_kept);
    CHECK(x[0] == 6);
}

TEST_CASE("A minimisation that stops where steps promise much and no step helps has not converged") {
    using namespace least_squares_tests;
    MinimiserBuffers buffers;
    const FalsePromise promise;
    std::array<double, 1> x{};
    const Minimisation result = minimise_with_tiny_solver(promise, x, {}, buffers);
    CHECK(result.status == FitStatus::iteration_limit);
    CHECK(x[0] == 0);
    CHECK(minimise_with_tiny_solver(promise, x, {.max_iterations = 0}, buffers).status ==
          FitStatus::iteration_limit);
}
