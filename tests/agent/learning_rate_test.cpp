#include "goodput/agent/learning_rate.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "goodput/agent/progress.hpp"
#include "goodput/model/concepts.hpp"
#include "goodput/model/efficiency.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

struct MyRule {
    [[nodiscard]] static double factor(const LearningRateState& state) { return std::cbrt(state.scale); }
};
struct NoRule {
    [[nodiscard]] static double efficiency(double) { return 1; }
};

GradientStatistics random_statistics(support::Random& random) {
    return {std::exp(random.between(-20, 20)), std::exp(random.between(-20, 20))};
}

}  // namespace

static_assert(LearningRateRule<LinearScaling> && LearningRateRule<SquareRootScaling>);
static_assert(LearningRateRule<AdaScale> && LearningRateRule<AdamScale> && LearningRateRule<LegwScaling>);
static_assert(LearningRateRule<MyRule> && !LearningRateRule<NoRule>);

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
    CHECK(gain({0, 3}, 8) == 8);  // nothing but noise
    CHECK(gain({3, 0}, 8) == 1);  // none at all
    CHECK(gain({0, 0}, 8) == 8);  // no statistics
    CHECK(NoiseScaleEfficiency{8, {0, 3}}.noise_scale() == std::numeric_limits<double>::infinity());
}

TEST_CASE("Efficiency that depends on the batch is 1 at the initial batch and falls; its limits are known") {
    support::Random random(2);
    for (int round = 0; round < 1000; ++round) {
        const BatchDependentEfficiency model{64, random.between(0, 3), random.between(0, 3)};
        CHECK(model.efficiency(64) == doctest::Approx(1));
        double last = 1;
        for (double total = 64; total < 1e6; total *= 1.7) {
            CHECK(model.efficiency(total) <= last + 1e-12);
            last = model.efficiency(total);
            // With its own statistics at a batch size it is the usual formula.
            const double ratio = model.squared_norm_over_variance(total);
            CHECK(last == doctest::Approx(NoiseScaleEfficiency{64, {ratio, 1}}.efficiency(total)));
        }
    }
    CHECK(BatchDependentEfficiency{64, 0, 0}.efficiency(6400) == 1);
    // Fluctuation alone never costs more than its own share.
    CHECK(BatchDependentEfficiency{64, 0, 1}.efficiency(64e9) == doctest::Approx(0.5));
}

TEST_CASE("Every rule leaves the base learning rate alone at the initial batch size") {
    support::Random random(3);
    for (int round = 0; round < 500; ++round) {
        const LearningRateState state{1, random_statistics(random), random.between(0, 1e6)};
        CHECK(LinearScaling{}.factor(state) == 1);
        CHECK(SquareRootScaling{}.factor(state) == 1);
        CHECK(AdaScale{}.factor(state) == doctest::Approx(1));
        CHECK(AdamScale{}.factor(state) == doctest::Approx(1));
        CHECK(LegwScaling{0, 5e4, 128}.factor(state) == 1);
    }
}

TEST_CASE("AdaScale goes from linear where noise dominates to 1 where it does not; AdamScale is its root") {
    support::Random random(4);
    for (int round = 0; round < 2000; ++round) {
        const double scale = random.between(1, 100);
        const LearningRateState state{scale, random_statistics(random), 0};
        const double factor = AdaScale{}.factor(state);
        CHECK(factor >= 1 - 1e-12);
        CHECK(factor <= LinearScaling{}.factor(state) * (1 + 1e-12));
        CHECK(AdamScale{}.factor(state) == doctest::Approx(std::sqrt(factor)));
        CHECK(AdamScale{}.factor(state) <= SquareRootScaling{}.factor(state) * (1 + 1e-12));
    }
    CHECK(AdaScale{}.factor({16, {1e-9, 1}, 0}) == doctest::Approx(16));
    CHECK(AdaScale{}.factor({16, {1, 1e-9}, 0}) == doctest::Approx(1));
    CHECK(AdaScale{}.factor({3, {1, 2}, 0}) == doctest::Approx(3 / (2.0 / 3 + 1)));
    CHECK(AdaScale{}.factor({16, {}, 0}) == 1);  // nothing known: no risk
}

TEST_CASE("LEGW warms up in proportion to progress, S times as long, to the square root of S") {
    const LegwScaling rule{2, 50000, 125};  // 800 iterations at the initial batch size
    for (const double scale : {1.0, 4.0, 16.0}) {
        const double length = 800 * scale, full = std::sqrt(scale);
        CHECK(rule.warmup_iterations(scale) == doctest::Approx(length));
        CHECK(rule.factor({scale, {}, 0}) == 0);
        CHECK(rule.factor({scale, {}, length / 4}) == doctest::Approx(full / 4));
        CHECK(rule.factor({scale, {}, length * 0.999999}) == doctest::Approx(full));
        CHECK(rule.factor({scale, {}, length}) == full);
        CHECK(rule.factor({scale, {}, 100 * length}) == full);
    }
}

TEST_CASE("Each parameter group gets the factor of its own statistics") {
    const std::vector<GradientStatistics> groups{{1, 2}, {0.1, 5}, {}};
    std::vector<double> factors(3);
    learning_rate_factors(AdaScale{}, 8, 0, groups, std::span<double>(factors));
    for (std::size_t g = 0; g < 3; ++g) CHECK(factors[g] == AdaScale{}.factor({8, groups[g], 0}));
    learning_rate_factors(MyRule{}, 8, 0, groups, std::span<double>(factors));
    CHECK(factors[1] == doctest::Approx(2));
    CHECK_THROWS_AS(learning_rate_factors(AdaScale{}, 8, 0, groups, std::span<double>(factors).first(2)),
                    std::invalid_argument);
}

TEST_CASE("Learning-rate rules refuse what cannot be") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double scale : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
        CHECK_THROWS_AS((void)LinearScaling{}.factor({scale, {}, 0}), std::invalid_argument);
        CHECK_THROWS_AS((void)AdaScale{}.factor({scale, {}, 0}), std::invalid_argument);
        CHECK_THROWS_AS((void)LegwScaling({1, 10, 1}).factor({scale, {}, 0}), std::invalid_argument);
    }
    CHECK_THROWS_AS((void)AdamScale{}.factor({2, {-1, 1}, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)AdamScale{}.factor({2, {1, nan}, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwScaling({-1, 10, 1}).factor({2, {}, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwScaling({1, 0, 1}).factor({2, {}, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwScaling({1, 10, 0}).factor({2, {}, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)LegwScaling({1, 10, 1}).factor({2, {}, nan}), std::invalid_argument);
}

TEST_CASE("Progress is the number of steps at the initial batch size that would have done the same") {
    Progress plain{32};
    for (int i = 0; i < 100; ++i) CHECK(plain.advance({1, 7}, 1) == doctest::Approx(1));
    CHECK(plain.iterations == doctest::Approx(100));
    CHECK(plain.examples() == doctest::Approx(3200));

    // Useful examples are examples times efficiency, whatever the sequence of batch sizes.
    support::Random random(5);
    for (int round = 0; round < 200; ++round) {
        const double initial = random.integer(1, 500);
        Progress progress{initial};
        double useful = 0;
        for (int t = 0; t < 30; ++t) {
            const GradientStatistics gradient = random_statistics(random);
            const double scale = random.between(1, 40), steps = random.integer(0, 1000);
            progress.advance(gradient, scale, steps);
            useful +=
                steps * scale * initial * NoiseScaleEfficiency{initial, gradient}.efficiency(scale * initial);
        }
        CHECK(progress.examples() == doctest::Approx(useful));
    }
}

TEST_CASE("Without statistics a larger step counts as one") {
    Progress progress{16};
    CHECK(progress.advance({}, 8) == 1);
    CHECK(progress.advance({}, 0.5) == 0.5);
    CHECK(progress.advance({0, 1}, 8) == 8);  // nothing but noise is a statistic
    CHECK_THROWS_AS(progress.advance({}, 0), std::invalid_argument);
    CHECK_THROWS_AS(progress.advance({}, 1, -1), std::invalid_argument);
    CHECK_THROWS_AS(progress.advance({-1, 1}, 1), std::invalid_argument);
    CHECK(progress.iterations == 9.5);
}
