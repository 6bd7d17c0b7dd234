// Efficiency if the squared norm depends on the batch size: its limits, and what measurements at several
// batch sizes tell about it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/statistics/gradient_by_batch.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

static_assert(EfficiencyModel<BatchDependentEfficiency>);

TEST_CASE("Efficiency that depends on the batch is 1 at the initial batch and falls; its limits are known") {
    support::Random random(2);
    for (int round = 0; round < 1000; ++round) {
        const BatchDependentEfficiency model{64, random.between(0, 3), random.between(0, 3)};
        CHECK(model.efficiency(64) == doctest::Approx(1));
        double last = 1;
        for (double total = 64; total < 1e6; total *= 1.7) {
            CHECK(model.efficiency(total) <= last + 1e-12);
            last = model.efficiency(total);
            // With the model's own statistics at a batch size, the usual formula gives the same.
            const double ratio = model.squared_norm_over_variance(total);
            CHECK(last == doctest::Approx(NoiseScaleEfficiency{64, {ratio, 1}}.efficiency(total)));
        }
    }
    CHECK(BatchDependentEfficiency{64, 0, 0}.efficiency(6400) == 1);
    // Fluctuation alone never costs more than its own share.
    CHECK(BatchDependentEfficiency{64, 0, 1}.efficiency(64e9) == doctest::Approx(0.5));
}

TEST_CASE("Statistics from two batch sizes give back the signal and the fluctuation that made them") {
    support::Random random(91);
    for (int round = 0; round < 200; ++round) {
        const double initial = random.integer(1, 200), signal = random.between(0, 2),
                     fluctuation = random.between(0, 2);
        const BatchDependentEfficiency truth{initial, signal, fluctuation};
        std::vector<GradientAtBatch> measured;
        for (const double scale : {1.0, 4.0, 30.0}) {
            const double variance = random.between(0.1, 1e6);
            const double ratio = truth.squared_norm_over_variance(scale * initial);
            measured.push_back({scale * initial, {ratio * variance, variance}});
        }
        for (const std::size_t sizes : {2u, 3u}) {
            const auto found = efficiency_from_batches(std::span(measured).first(sizes), initial);
            CHECK(found.signal == doctest::Approx(signal));
            CHECK(found.fluctuation == doctest::Approx(fluctuation));
            CHECK(found.efficiency(initial) == doctest::Approx(1));
            CHECK(found.efficiency(9 * initial) == doctest::Approx(truth.efficiency(9 * initial)));
        }
        // With one batch size only, the plain formula applies.
        const NoiseScaleEfficiency plain{initial, measured[1].gradient};
        const auto one = efficiency_from_batches(std::span(measured).subspan(1, 1), initial);
        CHECK(one.efficiency(50 * initial) == doctest::Approx(plain.efficiency(50 * initial)));
    }
}

TEST_CASE("Neither part of the squared norm is negative, and under this condition the fit is the best") {
    support::Random random(92);
    for (int round = 0; round < 300; ++round) {
        std::vector<GradientAtBatch> measured;
        const int count = random.integer(1, 5);
        for (int i = 0; i < count; ++i)
            measured.push_back({std::exp2(random.integer(0, 6)), {random.between(0, 1), 1}});
        const auto found = efficiency_from_batches(measured, 1);
        CHECK(found.signal >= 0);
        CHECK(found.fluctuation >= 0);
        const auto squares = [&](double signal, double fluctuation) {
            double sum = 0;
            for (const GradientAtBatch& at : measured)
                sum += std::pow(signal + fluctuation / at.total_batch - at.gradient.squared_norm, 2);
            return sum;
        };
        const double least = squares(found.signal, found.fluctuation);
        for (int i = 0; i < 100; ++i)
            CHECK(squares(random.between(0, 1), random.between(0, 2)) >= least * (1 - 1e-9) - 1e-12);
    }
    const std::vector<GradientAtBatch> good{{8, {1, 1}}}, no_variance{{8, {1, 0}}}, no_batch{{0, {1, 1}}};
    CHECK_THROWS_AS((void)efficiency_from_batches({}, 8), std::invalid_argument);
    CHECK_THROWS_AS((void)efficiency_from_batches(good, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)efficiency_from_batches(no_variance, 8), std::invalid_argument);
    CHECK_THROWS_AS((void)efficiency_from_batches(no_batch, 8), std::invalid_argument);
}
