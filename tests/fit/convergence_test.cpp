// Fits of the noise scale to measured trainings: exact, scattered and useless ones, and honest intervals.

#include "goodput/fit/convergence_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using Trainings = std::vector<MeasuredTraining>;

namespace {

/// Makes trainings that follow the formula, each multiplied by e^(deviation z) with a normal z.
Trainings trainings_of(double phi, const std::vector<double>& batches, double per_example = 3,
                       double deviation = 0, support::Random* random = nullptr) {
    Trainings trainings;
    for (const double batch : batches) {
        const double z = random ? std::sqrt(-2 * std::log(1 - random->unit())) *
                                      std::cos(2 * std::numbers::pi * random->unit())
                                : 0;
        trainings.push_back({batch, per_example * (phi + batch) * std::exp(deviation * z)});
    }
    return trainings;
}

const std::vector<double> usual_batches{64, 256, 1024, 4096, 16384};

bool holds(const Interval& range, double value) { return range.low <= value && value <= range.high; }

double width(const ConvergenceEstimate& estimate) {
    return std::log(estimate.range.high / estimate.range.low);
}

void check_sound(const ConvergenceEstimate& estimate) {
    CHECK(estimate.range.low > 0);
    CHECK(estimate.range.low <= estimate.median);
    CHECK(estimate.median <= estimate.range.high);
    CHECK(std::isfinite(estimate.range.high));
}

void check_same(const ConvergenceEstimate& a, const ConvergenceEstimate& b) {
    CHECK(a.median == b.median);
    CHECK(a.range.low == b.range.low);
    CHECK(a.range.high == b.range.high);
}

void check_equal(const ConvergenceEstimate& a, const ConvergenceEstimate& b, double factor, double within) {
    CHECK(a.median * factor == doctest::Approx(b.median).epsilon(within));
    CHECK(a.range.low * factor == doctest::Approx(b.range.low).epsilon(within));
    CHECK(a.range.high * factor == doctest::Approx(b.range.high).epsilon(within));
}

}  // namespace

TEST_CASE("trainings that follow the formula give its noise scale back, and further trainings") {
    for (const double phi : {100.0, 1000.0, 10000.0}) {
        CAPTURE(phi);
        const ConvergenceFit fit(trainings_of(phi, usual_batches));
        CHECK(fit.noise_scale().median == doctest::Approx(phi).epsilon(0.02));
        CHECK(holds(fit.noise_scale().range, phi));
        CHECK(!fit.low_from_prior());
        CHECK(!fit.high_from_prior());
        for (const double batch : {32.0, 500.0, 40000.0}) {
            CHECK(fit.examples(batch).median == doctest::Approx(3 * (phi + batch)).epsilon(0.02));
            CHECK(holds(fit.examples(batch).range, 3 * (phi + batch)));
        }
    }
    // Many trainings leave next to no doubt, two trainings leave much.
    Trainings many = trainings_of(1000, usual_batches);
    for (int i = 0; i < 6; ++i)
        many.insert(many.end(), many.begin(), many.begin() + (std::ptrdiff_t{5} << i));
    const ConvergenceFit sure(many), unsure(trainings_of(1000, {512, 2048}));
    CHECK(sure.noise_scale().median == doctest::Approx(1000).epsilon(1e-3));
    CHECK(width(sure.noise_scale()) < 0.01);
    CHECK(width(unsure.noise_scale()) > 0.5);
    CHECK(unsure.noise_scale().median == doctest::Approx(1000).epsilon(0.1));
    CHECK(width(unsure.noise_scale(0.5)) < width(unsure.noise_scale()));
}

TEST_CASE("units and the order of trainings do not matter") {
    support::Random random(1);
    for (int round = 0; round < 10; ++round) {
        Trainings trainings =
            trainings_of(random.between(10, 5000), usual_batches, 2, random.between(0, 0.3), &random);
        for (MeasuredTraining& training : trainings) {
            training.runs = random.integer(1, 9);
            training.deviation = training.examples * random.between(0, 0.2);
        }
        const ConvergenceFit fit(trainings);
        Trainings other = trainings;
        std::rotate(other.begin(), other.begin() + 2, other.end());
        std::swap(other[0], other[1]);
        check_same(fit.noise_scale(), ConvergenceFit(other).noise_scale());
        check_same(fit.examples(100), ConvergenceFit(other).examples(100));
        for (const double factor : {1e-9, 7.0, 1e9}) {
            Trainings epochs = trainings, tokens = trainings;
            for (MeasuredTraining& training : epochs) {
                training.examples *= factor;
                training.deviation *= factor;
            }
            const ConvergenceFit of_epochs(epochs);
            check_equal(fit.noise_scale(), of_epochs.noise_scale(), 1, 1e-4);
            check_equal(fit.examples(3000), of_epochs.examples(3000), factor, 1e-4);
            for (MeasuredTraining& training : tokens) training.batch *= factor;
            const ConvergenceFit of_tokens(tokens);
            check_equal(fit.noise_scale(), of_tokens.noise_scale(), factor, 1e-4);
            check_equal(fit.examples(3000), of_tokens.examples(3000 * factor), 1, 1e-4);
        }
    }
}

TEST_CASE("what trainings leave open comes from the prior, and the fit says so") {
    const ConvergenceFit one(Trainings{{100, 5}}), equal(Trainings{{100, 5}, {100, 5.2}, {100, 4.9}});
    for (const ConvergenceFit* fit : {&one, &equal}) {
        CHECK(fit->low_from_prior());
        CHECK(fit->high_from_prior());
        const ConvergenceEstimate prior = fit->noise_scale();
        CHECK(prior.median == doctest::Approx(100 * std::exp(1.0)).epsilon(1e-3));
        CHECK(std::log(prior.range.high / prior.median) == doctest::Approx(2 * 1.645).epsilon(0.01));
        CHECK(std::log(prior.median / prior.range.low) == doctest::Approx(2 * 1.645).epsilon(0.01));
        CHECK(fit->examples(100).median == doctest::Approx(5).epsilon(0.03));
        CHECK(width(fit->examples(10000)) > 4 * width(fit->examples(100)));
    }
    // A plateau, where larger batches cost nothing; and falling examples, which no noise scale explains.
    const ConvergenceFit plateau(Trainings{{256, 1e6}, {1024, 1e6}, {4096, 1e6}});
    const ConvergenceFit falling(Trainings{{256, 1e6}, {1024, 0.9e6}, {4096, 0.7e6}});
    for (const ConvergenceFit* fit : {&plateau, &falling}) {
        check_sound(fit->noise_scale());
        CHECK(fit->high_from_prior());
        CHECK(!fit->low_from_prior());
        CHECK(fit->noise_scale().median > 4 * 4096);
        CHECK(width(fit->noise_scale()) > 2);
        check_sound(fit->examples(1 << 20));
    }
    CHECK(holds(plateau.examples(1024).range, 1e6));
    // Examples grow in proportion to the batch: no step is saved, so the noise scale is small.
    const ConvergenceFit useless(trainings_of(1, {1024, 4096}));
    CHECK(useless.low_from_prior());
    CHECK(!useless.high_from_prior());
    CHECK(useless.noise_scale().median < 100);
    CHECK(useless.examples(8192).median == doctest::Approx(3 * 8192).epsilon(0.1));
    // Two batches of flux1 (MLPerf) bound the noise scale on both sides.
    const ConvergenceFit flux(Trainings{{512, 7.34003e6}, {4096, 1.54665e7}});
    CHECK(!flux.low_from_prior());
    CHECK(!flux.high_from_prior());
}

TEST_CASE("without trainings the noise scale is the prior's, in the unit of the batch size") {
    const ConvergenceEstimate usual = usual_noise_scale(100);
    CHECK(std::abs(usual.median / (100 * std::exp(1.0)) - 1) < 1e-6);
    CHECK(std::abs(std::log(usual.range.high / usual.median) - 2 * 1.6448536) < 1e-5);
    CHECK(std::abs(std::log(usual.median / usual.range.low) - 2 * 1.6448536) < 1e-5);
    CHECK(usual_noise_scale(100 * 4096.0, 0.5).median == doctest::Approx(4096 * usual.median));
    // A single training says nothing about the noise scale and leaves it at the prior.
    const std::vector<MeasuredTraining> one{{.batch = 100, .examples = 7}};
    CHECK(ConvergenceFit(one).noise_scale().median == doctest::Approx(usual.median).epsilon(1e-3));
    for (const double bad : {0.0, -1.0, 1e19, std::nan("")})
        CHECK_THROWS_AS((void)usual_noise_scale(bad), std::invalid_argument);
    for (const double bad : {0.0, 1.0, std::nan("")})
        CHECK_THROWS_AS((void)usual_noise_scale(100, bad), std::invalid_argument);
}

TEST_CASE("uncertain trainings weigh less, and more runs of them more") {
    // Only the large batch shows that large batches cost something.
    const auto with = [](int runs, double deviation) {
        return ConvergenceFit(Trainings{{64, 1000}, {128, 1000}, {256, 1000}, {8192, 9000, runs, deviation}});
    };
    const double certain = with(1, 0).noise_scale().median, uncertain = with(1, 9000).noise_scale().median,
                 often = with(900, 9000).noise_scale().median;
    CHECK(certain == doctest::Approx(1024).epsilon(0.2));
    CHECK(uncertain > 1.2 * certain);
    CHECK(often < 0.9 * uncertain);
    CHECK(width(with(1, 9000).noise_scale()) > 1.5 * width(with(900, 9000).noise_scale()));
    CHECK(with(1, 1e300).noise_scale().median > certain);
}

TEST_CASE("nine in ten intervals hold the truth, for the noise scale and for further trainings") {
    support::Random random(7);
    for (const double scatter : {0.03, 0.05, 0.1}) {
        for (const std::size_t count : {2U, 3U, 5U}) {
            int held = 0, predicted = 0;
            constexpr int rounds = 100;
            for (int round = 0; round < rounds; ++round) {
                const double phi = 1000 * std::exp(random.between(-1.5, 1.5));
                std::vector<double> batches{256, 4096};
                while (batches.size() < count) batches.push_back(std::exp(random.between(5, 9)));
                const ConvergenceFit fit(trainings_of(phi, batches, 3, scatter, &random));
                held += holds(fit.noise_scale().range, phi) ? 1 : 0;
                const double asked = std::exp(random.between(5, 9));
                const Trainings next = trainings_of(phi, {asked}, 3, scatter, &random);
                predicted += holds(fit.examples(asked).range, next.front().examples) ? 1 : 0;
            }
            CAPTURE(scatter);
            CAPTURE(count);
            CAPTURE(held);
            CAPTURE(predicted);
            // A known scatter is not what the prior expects: the smaller it is, the wider the intervals.
            CHECK(held >= rounds * (scatter > 0.05 ? 0.75 : 0.85));
            CHECK(predicted >= rounds * (scatter > 0.05 ? 0.75 : 0.85));
        }
    }
    // With the scatter of real workloads, some small and some large.
    int held = 0, predicted = 0;
    constexpr int rounds = 400;
    for (int round = 0; round < rounds; ++round) {
        const auto normal = [&] { return std::log(trainings_of(1, {1}, 0.5, 1, &random).front().examples); };
        const double scatter = 0.05 * std::exp(0.8 * normal()), phi = 512 * std::exp(1 + 2 * normal());
        const ConvergenceFit fit(trainings_of(phi, {128, 2048}, 3, scatter, &random));
        held += holds(fit.noise_scale().range, phi) ? 1 : 0;
        const Trainings next = trainings_of(phi, {8192}, 3, scatter, &random);
        predicted += holds(fit.examples(8192).range, next.front().examples) ? 1 : 0;
    }
    CAPTURE(held);
    CAPTURE(predicted);
    CHECK(held >= 0.85 * rounds);
    CHECK(held <= 0.95 * rounds);
    CHECK(predicted >= 0.85 * rounds);
    CHECK(predicted <= 0.95 * rounds);
}

TEST_CASE("whatever was measured, estimates are finite and in order, or the measurement is refused") {
    support::Random random(3);
    for (int round = 0; round < 100; ++round) {
        Trainings trainings;
        for (int i = random.integer(1, 6); i > 0; --i) {
            const bool extreme = random.chance(0.3);
            trainings.push_back(
                {extreme ? (random.chance(0.5) ? 1e-9 : 1e18) : std::exp(random.between(-5, 20)),
                 extreme ? (random.chance(0.5) ? 1e-18 : 1e18) : std::exp(random.between(-5, 20)),
                 random.chance(0.5) ? 1 : 1 << 30,
                 random.chance(0.5) ? 0 : std::exp(random.between(-700, 700))});
        }
        const ConvergenceFit fit(trainings);
        check_sound(fit.noise_scale());
        check_sound(fit.noise_scale(0.999));
        for (const double batch : {1e-9, 100.0, 1e18}) check_sound(fit.examples(batch));
    }
    constexpr double infinity = std::numeric_limits<double>::infinity(),
                     nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(ConvergenceFit(Trainings{}), std::invalid_argument);
    for (const double bad : {0.0, -1.0, infinity, nan, 1e19}) {
        CHECK_THROWS_AS(ConvergenceFit(Trainings{{1, 1}, {bad, 1}}), std::invalid_argument);
        CHECK_THROWS_AS(ConvergenceFit(Trainings{{1, 1}, {2, bad}}), std::invalid_argument);
        CHECK_THROWS_AS((void)ConvergenceFit(Trainings{{1, 1}}).examples(bad), std::invalid_argument);
        if (bad != 1e19)
            CHECK_THROWS_AS((void)ConvergenceFit(Trainings{{1, 1}}).noise_scale(bad), std::invalid_argument);
    }
    CHECK_THROWS_AS(ConvergenceFit(Trainings{{1, 1, 0}}), std::invalid_argument);
    for (const double bad : {-1.0, infinity, nan})
        CHECK_THROWS_AS(ConvergenceFit(Trainings{{1, 1, 1, bad}}), std::invalid_argument);
    CHECK_THROWS_WITH(ConvergenceFit(Trainings{{1, -1}}, "job"),
                      doctest::Contains("job: examples is -1, but must be"));
}
