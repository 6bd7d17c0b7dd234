// Tests the gain of larger batches, and the rules for learning rate and warm-up.

#include "goodput/agent/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr auto ada_scale = LearningRateScaling::ada_scale, by_optimizer = LearningRateScaling::by_optimizer;
constexpr auto square_root = LearningRateScaling::square_root, linear = LearningRateScaling::linear;

double factor(LearningRateScaling scaling, double scale, const GradientStatistics& gradient,
              Optimizer optimizer = Optimizer::sgd) {
    return learning_rate_factor(scaling, optimizer, scale, gradient);
}

GradientStatistics random_statistics(support::Random& random) {
    return {std::exp(random.between(-20, 20)), std::exp(random.between(-20, 20))};
}

}  // namespace

TEST_CASE("The gain lies between 1 and S, rises with S, and is S times the efficiency") {
    support::Random random(1);
    for (int round = 0; round < 2000; ++round) {
        const GradientStatistics gradient = random_statistics(random);
        const double initial = random.integer(1, 1000);
        const NoiseScaleEfficiency model{initial, gradient};
        double last = 0;
        for (const double scale : {0.25, 1.0, 1.5, 8.0, 1000.0}) {
            const double g = gain(gradient, scale);
            CHECK(g == doctest::Approx(scale * model.efficiency(scale * initial)));
            CHECK(g >= std::min(scale, 1.0) * (1 - 1e-12));
            CHECK(g <= std::max(scale, 1.0) * (1 + 1e-12));
            CHECK(g >= last * (1 - 1e-12));
            last = g;
        }
        CHECK(gain(gradient, 1) == doctest::Approx(1));
        // At the noise scale the formula's two parts are equal.
        CHECK(model.noise_scale() == doctest::Approx(initial * gradient.variance / gradient.squared_norm));
        CHECK(model.efficiency(model.noise_scale()) ==
              doctest::Approx((1 + initial / model.noise_scale()) / 2));
    }
    CHECK(gain({0, 3}, 8) == 8);  // only noise
    CHECK(gain({3, 0}, 8) == 1);  // no noise
    CHECK(gain({0, 0}, 8) == 8);  // no statistics
    CHECK(NoiseScaleEfficiency{8, {0, 3}}.noise_scale() == std::numeric_limits<double>::infinity());
}

TEST_CASE("Every rule leaves the base learning rate alone at the initial batch size") {
    support::Random random(3);
    for (int round = 0; round < 500; ++round)
        for (const auto scaling : {by_optimizer, ada_scale, square_root, linear})
            for (const auto optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam})
                CHECK(factor(scaling, 1, random_statistics(random), optimizer) == doctest::Approx(1));
}

TEST_CASE("AdaScale goes from linear where noise dominates to 1 where it does not; AdamScale is its root") {
    support::Random random(4);
    for (int round = 0; round < 2000; ++round) {
        const double scale = random.between(1, 100);
        const GradientStatistics gradient = random_statistics(random);
        const double of_ada = factor(ada_scale, scale, gradient);
        CHECK(of_ada >= 1 - 1e-12);
        CHECK(of_ada <= factor(linear, scale, gradient) * (1 + 1e-12));
        CHECK(of_ada == factor(ada_scale, scale, gradient, Optimizer::adam));
        CHECK(of_ada == factor(by_optimizer, scale, gradient));
        const double of_adam = factor(by_optimizer, scale, gradient, Optimizer::adam);
        CHECK(of_adam == doctest::Approx(std::sqrt(of_ada)));
        CHECK(of_adam <= factor(square_root, scale, gradient) * (1 + 1e-12));
    }
    CHECK(factor(ada_scale, 16, {1e-9, 1}) == doctest::Approx(16));
    CHECK(factor(ada_scale, 16, {1, 1e-9}) == doctest::Approx(1));
    CHECK(factor(ada_scale, 3, {1, 2}) == doctest::Approx(3 / (2.0 / 3 + 1)));
    CHECK(factor(ada_scale, 16, {}) == 1);  // nothing known: take no risk
    CHECK(factor(square_root, 16, {}) == 4);
}

TEST_CASE("Learning-rate rules refuse impossible input") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double scale : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
        CHECK_THROWS_AS((void)factor(linear, scale, {}), std::invalid_argument);
        CHECK_THROWS_AS((void)factor(ada_scale, scale, {}), std::invalid_argument);
    }
    CHECK_THROWS_AS((void)factor(by_optimizer, 2, {-1, 1}, Optimizer::adam), std::invalid_argument);
    CHECK_THROWS_AS((void)factor(by_optimizer, 2, {1, nan}, Optimizer::adam), std::invalid_argument);
}

TEST_CASE("LEGW warms up in proportion to progress, S times as long, to the square root of S") {
    const LegwWarmup rule{2, 50000, 125};  // 800 iterations at the initial batch size
    for (const double scale : {1.0, 4.0, 16.0}) {
        const double length = 800 * scale, full = std::sqrt(scale);
        CHECK(rule.iterations(scale) == doctest::Approx(length));
        CHECK(rule.factor(scale, 0) == 0);
        CHECK(rule.factor(scale, length / 4) == doctest::Approx(full / 4));
        CHECK(rule.factor(scale, length * 0.999999) == doctest::Approx(full));
        CHECK(rule.factor(scale, length) == full);
        CHECK(rule.factor(scale, 100 * length) == full);
    }
    CHECK(LegwWarmup{0, 5e4, 128}.factor(1, 0) == 1);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double scale : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()})
        CHECK_THROWS_AS((void)LegwWarmup({1, 10, 1}).factor(scale, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwWarmup({-1, 10, 1}).factor(2, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwWarmup({1, 0, 1}).factor(2, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwWarmup({1, 10, 0}).factor(2, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwWarmup({1, 10, 1}).factor(2, nan), std::invalid_argument);
}
