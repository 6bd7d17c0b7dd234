// Statistics of gradients: unbiased estimates of squared norm, variance and noise scale, however they are
// metered.

#include "goodput/fit/noise_scale.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "goodput/agent/gradient_meter.hpp"
#include "goodput/model/efficiency.hpp"
#include "support/noisy_quadratic.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::metered;
using support::Noise;
using support::NoisyQuadratic;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double relative_error(double estimate, double truth) { return std::abs(estimate / truth - 1); }

/// Equal up to the rounding of gradients and sums in single precision.
void check_equal(const GradientNorms& a, const GradientNorms& b) {
    CHECK(a.mean_of_squares == doctest::Approx(b.mean_of_squares).epsilon(1e-6));
    CHECK(std::abs(a.square_of_mean - b.square_of_mean) <= 1e-6 * b.mean_of_squares);
    CHECK(a.count == b.count);
    CHECK(a.scale == doctest::Approx(b.scale));
    CHECK(a.differenced == b.differenced);
}

/// Computes the norms by their definition, from all gradients together.
template <class P = AdamPreconditioner<double>>
GradientNorms norms_by_definition(const std::vector<std::vector<double>>& gradients, double scale,
                                  const P& metric = {}) {
    const auto n = static_cast<double>(gradients.size());
    GradientNorms norms{.count = static_cast<int>(gradients.size()), .scale = scale};
    for (std::size_t i = 0; i < gradients.front().size(); ++i) {
        const double over = metric.ready() ? metric.inverse(i) : 1;
        double sum = 0;
        for (const auto& g : gradients) {
            norms.mean_of_squares += g[i] * over * g[i] * over / n;
            sum += g[i] * over;
        }
        norms.square_of_mean += sum / n * sum / n;
    }
    return norms;
}

std::vector<double> random_vector(std::size_t size, support::Random& random, double low = -1,
                                  double high = 1) {
    std::vector<double> v(size);
    for (double& x : v) x = random.between(low, high);
    return v;
}

}  // namespace

TEST_CASE("After 1,000 steps squared norm, variance and noise scale are within 5 % of the truth") {
    for (const int replicas : {1, 8})
        for (const bool adam : {false, true})
            for (const std::uint64_t seed : {1u, 2u, 3u}) {
                CAPTURE(replicas);
                CAPTURE(adam);
                CHECK(support::noise_scale_errors(replicas, adam, seed).largest() < 0.05);
            }
}

TEST_CASE("The estimates of a single step are unbiased") {
    // Over many steps the mean lies within four standard errors of the truth, both for several gradients per
    // step and for pairs of gradients from batches of different sizes.
    const NoisyQuadratic problem(40, 2, 6, 21);
    Noise noise(22);
    struct Moments {
        double sum = 0, squares = 0;
        void check(double truth, int n) const {
            const double mean = sum / n, error = std::sqrt((squares / n - mean * mean) / n);
            CHECK(std::abs(mean - truth) < 4 * error);
            CHECK(error < 0.03 * truth);
        }
    };
    const int steps = 20000;
    for (const int kind : {2, 5, -1}) {
        CAPTURE(kind);
        Moments norm, variance;
        for (int t = 0; t < steps; ++t) {
            GradientNorms norms;
            if (kind > 0) {
                norms = problem.step(kind, 0.5 * kind, noise);
            } else {
                GradientMeter meter({problem.size()});
                CHECK_FALSE(metered(meter, {problem.sample(0.5, noise)}, 0.5).has_value());
                norms = metered(meter, {problem.sample(3, noise)}, 3).value();
            }
            const double others = norms.count - 1;
            const double sqr = (norms.count * norms.square_of_mean - norms.mean_of_squares) / others;
            const double var = (norms.mean_of_squares - norms.square_of_mean) * norms.scale / others;
            norm.sum += sqr, norm.squares += sqr * sqr;
            variance.sum += var, variance.squares += var * var;
        }
        norm.check(2, steps);
        variance.check(6, steps);
    }
}

TEST_CASE("Statistics refer to the initial batch size, whatever the batch sizes of the steps") {
    const NoisyQuadratic problem(200, 1, 5, 12);
    Noise noise(13);
    NoiseScaleEstimator mixed;
    for (const int replicas : {2, 4, 16}) {
        for (const double scale : {0.5, 1.0, 8.0}) {
            NoiseScaleEstimator estimator;
            for (int i = 0; i < 300; ++i) {
                const GradientNorms step = problem.step(replicas, scale, noise);
                estimator.observe(step);
                mixed.observe(step);
            }
            CHECK(relative_error(estimator.statistics().squared_norm, 1) < 0.25);
            CHECK(relative_error(estimator.statistics().variance, 5) < 0.05);
        }
    }
    CHECK(relative_error(mixed.statistics().squared_norm, 1) < 0.05);
    CHECK(relative_error(mixed.statistics().variance, 5) < 0.05);
}

TEST_CASE("A single replica whose batch size changes from step to step learns the same statistics") {
    const NoisyQuadratic problem(500, 1, 2, 31);
    Noise noise(32);
    GradientMeter meter({problem.size()});
    NoiseScaleEstimator estimator;
    for (int t = 0; t < 3000; ++t) {
        const double scale = t % 3 == 0 ? 4 : 0.5;
        if (const auto norms = metered(meter, {problem.sample(scale, noise)}, scale))
            CHECK(estimator.observe(*norms));
    }
    CHECK(estimator.differenced());
    CHECK(relative_error(estimator.statistics().squared_norm, 1) < 0.05);
    CHECK(relative_error(estimator.statistics().variance, 2) < 0.05);
}

TEST_CASE("While training moves the parameters the averages follow the truth") {
    // SGD on the quadratic itself: gradients shrink with the distance, the noise stays.
    const std::size_t n = 400;
    support::Random random(41);
    Noise noise(42);
    const std::vector<double> curvature = random_vector(n, random, 0.5, 2);
    std::vector<double> distance = random_vector(n, random, -1, 1);
    std::vector<std::vector<double>> gradients(4, std::vector<double>(n));
    GradientMeter meter({n});
    NoiseScaleEstimator estimator;
    double norm = 0, weight = 0;
    for (int t = 0; t < 1500; ++t) {
        double truth = 0;
        std::vector<double> mean(n);
        for (std::vector<double>& g : gradients)
            for (std::size_t i = 0; i < n; ++i) {
                g[i] = curvature[i] * distance[i] + 0.2 * noise();
                mean[i] += g[i] / 4;
            }
        for (std::size_t i = 0; i < n; ++i) {
            truth += std::pow(curvature[i] * distance[i], 2);
            distance[i] -= 5e-4 * mean[i];
        }
        norm = 0.999 * norm + 0.001 * truth;
        weight = 0.999 * weight + 0.001;
        estimator.observe(metered(meter, gradients, 1).value());
    }
    CHECK(relative_error(estimator.statistics().squared_norm, norm / weight) < 0.02);
    // Four microbatches make up a batch of scale 1: each has 4 times the variance of the initial batch.
    CHECK(relative_error(estimator.statistics().variance, n * 0.04 / 4) < 0.02);
}

namespace {}  // namespace

TEST_CASE("A metric weighs gradients as it says") {
    const double correction = AdamPreconditioner<double>{.step = 5}.correction();
    const std::vector<double> moments{4 / correction, 1 / correction};  // P is 2 and 1
    GradientMeter meter({2});
    const GradientNorms norms =
        metered(meter, {{2, 3}, {4, 3}}, 1, AdamPreconditioner<double>{moments, 5}).value();
    CHECK(norms.mean_of_squares == doctest::Approx(((1 + 9) + (4 + 9)) / 2.0));
    CHECK(norms.square_of_mean == doctest::Approx(2.25 + 9));
}

namespace {

/// Adds a gradient, multiplied by `factor`, to a meter in pieces that end at `ends`.
template <class Real, class Add>
void in_pieces(std::span<const double> gradient, std::span<const double> moments,
               std::span<const std::size_t> ends, double factor, const AdamPreconditioner<double>& adam,
               const Add& add) {
    std::vector<Real> scaled;
    for (const double g : gradient) scaled.push_back(static_cast<Real>(g * factor));
    for (std::size_t from = 0; const std::size_t end : ends) {
        AdamPreconditioner<double> part = adam;
        part.second_moments = moments.subspan(from, end - from);
        add(std::span<const Real>(scaled).subspan(from, end - from), part);
        from = end;
    }
}

template <class Vector>
Vector part_of(const Vector& whole, std::size_t from, std::size_t end) {
    return Vector(whole.begin() + static_cast<std::ptrdiff_t>(from),
                  whole.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace

TEST_CASE("In pieces, by group, from several replicas, with a given mean or by definition: the same norms") {
    support::Random random(51);
    for (int round = 0; round < 300; ++round) {
        // Some sizes exceed what the meter looks at in one go.
        const auto size = static_cast<std::size_t>(random.integer(1, random.chance(0.2) ? 2000 : 40));
        const int count = random.integer(2, 9);
        const double scale = random.between(0.1, 20);
        const std::vector<double> moments = random_vector(size, random, 0, 2);
        const AdamPreconditioner<double> adam{moments, random.integer(0, 20), 0.9, 1e-3};
        std::vector<std::vector<double>> gradients;
        std::vector<double> mean(size);
        for (int q = 0; q < count; ++q) {
            gradients.push_back(random_vector(size, random));
            for (std::size_t i = 0; i < size; ++i) mean[i] += gradients.back()[i] / count;
        }
        const auto cuts = [&] {
            std::vector<std::size_t> ends;
            for (std::size_t end = 0; end < size;)
                ends.push_back(end +=
                               static_cast<std::size_t>(random.integer(1, static_cast<int>(size - end))));
            return ends;
        };
        const std::vector<std::size_t> groups = cuts();
        std::vector<std::size_t> sizes = groups;
        for (std::size_t g = groups.size(); g-- > 1;) sizes[g] -= groups[g - 1];

        const bool mean_given = random.chance(0.5), single_precision = random.chance(0.5);
        GradientMeter one(sizes, mean_given), other(sizes, mean_given);
        const MeteredStep step{
            .scale_of_one = scale / count, .gradient_scale = 1024, .preconditioned = adam.ready()};
        one.begin(step);
        other.begin(step);
        for (std::size_t q = 0; q < gradients.size(); ++q) {
            GradientMeter& meter = q % 3 == 1 ? other : one;
            const auto add = [&](auto piece, const auto& metric) { meter.add(piece, metric); };
            if (single_precision)
                in_pieces<float>(gradients[q], moments, cuts(), 1024, adam, add);
            else
                in_pieces<double>(gradients[q], moments, cuts(), 1024, adam, add);
        }
        if (mean_given)
            in_pieces<double>(mean, moments, cuts(), 16, adam,
                              [&](auto piece, const auto& metric) { one.add_mean(piece, metric, 16); });
        CHECK(one.running_sum().size() == (mean_given ? 0 : size));
        for (std::size_t i = 0; i < one.running_sum().size(); ++i)
            one.running_sum()[i] += other.running_sum()[i];
        for (std::size_t i = 0; i < one.totals().size(); ++i) one.totals()[i] += other.totals()[i];
        CHECK(one.count() == count);
        std::vector<GradientNorms> found(groups.size());
        REQUIRE(one.end(found) == StepNorms::known);
        for (std::size_t g = 0, from = 0; g < groups.size(); from = groups[g++]) {
            std::vector<std::vector<double>> of_group;
            for (const auto& gradient : gradients) of_group.push_back(part_of(gradient, from, groups[g]));
            const std::vector<double> its_moments = part_of(moments, from, groups[g]);
            AdamPreconditioner<double> metric = adam;
            metric.second_moments = its_moments;
            check_equal(found[g], norms_by_definition(of_group, scale, metric));
        }
    }
}

TEST_CASE("Successive single gradients are paired, in the metric from before the earlier of them") {
    support::Random random(71);
    const std::size_t n = 1200;
    for (const bool mean_given : {false, true}) {
        GradientMeter meter({n}, mean_given);
        std::vector<double> before, moments_before;
        double scale_before = 0;
        for (int t = 0; t < 30; ++t) {
            const std::vector<double> g = random_vector(n, random),
                                      moments = random_vector(n, random, 0.1, 2);
            const double scale = 1 + t / 10;
            const AdamPreconditioner<double> adam{moments, t, 0.99, 1e-8};
            meter.begin({.scale_of_one = scale,
                         .single = true,
                         .gradient_scale = 1024,
                         .preconditioned = adam.ready()});
            in_pieces<float>(g, moments, std::vector<std::size_t>{700, 701, n}, 1024, adam,
                             [&](auto piece, const auto& metric) { meter.add(piece, metric); });
            GradientNorms norms;
            CHECK(meter.end(std::span(&norms, 1)) == (t > 0 ? StepNorms::known : StepNorms::waiting));
            if (t > 0) {
                const AdamPreconditioner<double> metric{moments_before, t - 1, 0.99, 1e-8};
                GradientNorms expected = norms_by_definition({before, g}, 0, metric);
                expected.scale = 4 / (1 / scale_before + 1 / scale);
                expected.differenced = true;
                check_equal(norms, expected);
                // Adam's metric counts from its fifth update on. A new batch size starts its moments
                // anew.
                CHECK(norms.restart == (t == 6 || t == 11 || t == 21));
            }
            before = g;
            moments_before = moments;
            scale_before = scale;
        }
    }
}

TEST_CASE("The square of the mean has to be given for every group") {
    const std::vector<double> gradient(10, 1.0);
    GradientMeter meter({4, 6}, true);
    std::vector<GradientNorms> norms(2);
    const auto begin = [&] {
        meter.begin({});
        for (int q = 0; q < 2; ++q) meter.add(std::span<const double>(gradient));
    };
    for (const std::size_t only : {0u, 1u}) {
        begin();
        meter.set_square_of_mean(only, 4);
        CHECK_THROWS_AS(meter.end(norms), std::invalid_argument);
    }
    begin();
    meter.set_square_of_mean(1, 6);
    meter.set_square_of_mean(0, 4);
    CHECK(meter.end(norms) == StepNorms::known);
    CHECK(norms[0].square_of_mean == 4);
    CHECK(norms[1].square_of_mean == 6);
    begin();
    CHECK_THROWS_AS(meter.end(norms), std::invalid_argument);
    begin();
    meter.add_mean(std::span<const double>(gradient));
    CHECK(meter.end(norms) == StepNorms::known);
    CHECK(norms[1].square_of_mean == doctest::Approx(6));
}

TEST_CASE("Norms in another metric start the averages afresh") {
    const std::vector<double> moments(3, 4.0);
    const std::vector<std::vector<double>> gradients{{1, 2, 3}, {1, 1, 1}};
    GradientMeter meter({3});
    const auto restarts = [&](double scale, int step) {
        return metered(meter, gradients, scale, AdamPreconditioner<double>{moments, step}).value().restart;
    };
    CHECK_FALSE(restarts(1, 3));
    CHECK_FALSE(restarts(1, 4));
    CHECK(restarts(1, 5));
    CHECK_FALSE(restarts(1, 6));
    CHECK(restarts(2, 7));        // the scale changes under Adam
    CHECK(restarts(2, 0));        // moments start anew
    CHECK_FALSE(restarts(4, 1));  // restarts matter only with a metric
    GradientMeter sgd({3});
    CHECK_FALSE(metered(sgd, gradients, 1).value().restart);
    CHECK_FALSE(metered(sgd, gradients, 2).value().restart);

    // A skipped step does not lose the restart.
    CHECK(restarts(4, 5));
    CHECK_FALSE(
        metered(meter, {{infinity, 0, 0}, {1, 1, 1}}, 8, AdamPreconditioner<double>{moments, 6}).has_value());
    CHECK(restarts(8, 7));

    NoiseScaleEstimator estimator, fresh;
    estimator.observe({5, 3, 8, 1});
    const GradientNorms other{.mean_of_squares = 50, .square_of_mean = 20, .count = 8, .restart = true};
    CHECK(estimator.observe(other));
    CHECK(fresh.observe(other));
    CHECK(estimator.statistics().squared_norm == fresh.statistics().squared_norm);
    CHECK(estimator.statistics().variance == fresh.statistics().variance);
}

TEST_CASE("The statistics of parameter groups add up to those of the whole") {
    const NoisyQuadratic problem(90, 2, 3, 81);
    Noise noise(82);
    GroupedNoiseScale groups(3);
    NoiseScaleEstimator whole;
    GradientMeter all({90}), by_group({7, 33, 50});
    for (int t = 0; t < 500; ++t) {
        std::vector<GradientNorms> norms(3);
        std::vector<std::vector<double>> gradients;
        for (int q = 0; q < 4; ++q) gradients.push_back(problem.sample(0.25, noise));
        by_group.begin({.scale_of_one = 0.25});
        for (const std::vector<double>& gradient : gradients) by_group.add(std::span<const double>(gradient));
        CHECK(by_group.end(norms) == StepNorms::known);
        CHECK(groups.observe(norms));
        whole.observe(metered(all, gradients, 1).value());
    }
    const GradientStatistics sum = groups.statistics();
    CHECK(sum.squared_norm == doctest::Approx(whole.statistics().squared_norm));
    CHECK(sum.variance == doctest::Approx(whole.statistics().variance));
    CHECK(sum.squared_norm ==
          doctest::Approx(groups.statistics(0).squared_norm + groups.statistics(1).squared_norm +
                          groups.statistics(2).squared_norm));

    // If one group is not finite, the step counts for none.
    std::vector<GradientNorms> broken(3, GradientNorms{5, 3, 8, 1});
    broken[2].mean_of_squares = infinity;
    CHECK_FALSE(groups.observe(broken));
    CHECK(groups.statistics().squared_norm == sum.squared_norm);
    CHECK(groups.statistics().variance == sum.variance);

    CHECK(groups.size() == 3);

    // If one group is not finite at a restart of the optimiser's scale, nothing before the restart counts.
    broken[0].restart = true;
    CHECK_FALSE(groups.observe(broken));
    CHECK(groups.statistics(0).variance == 0);
    CHECK(groups.statistics(1).variance > 0);

    // Each group is kept from negative values separately.
    GroupedNoiseScale two(2);
    CHECK(two.statistics().variance == 0);
    two.observe(std::vector<GradientNorms>{{10, 1, 2, 1}, {4, 4, 2, 1}});
    CHECK(two.statistics().squared_norm == doctest::Approx(0 + 4));
    CHECK(two.statistics().variance == doctest::Approx(9 + 1e-6));

    CHECK_THROWS_AS(GroupedNoiseScale(0), std::invalid_argument);
    CHECK_THROWS_AS(two.observe(broken), std::invalid_argument);
}

TEST_CASE("The averages weigh a step N steps ago by theta^N, corrected for the start") {
    NoiseScaleEstimator estimator(0.9);
    double squared_norm = 0, weight = 0;
    support::Random random(14);
    for (int i = 0; i < 50; ++i) {
        const double mean_of_squares = random.between(2, 3), square_of_mean = random.between(1, 2);
        const double scale = random.between(0.5, 3), theta = std::pow(0.9, scale);
        estimator.observe({mean_of_squares, square_of_mean, 4, scale});
        squared_norm = theta * squared_norm + (1 - theta) * (4 * square_of_mean - mean_of_squares) / 3;
        weight = theta * weight + (1 - theta);
        CHECK(estimator.statistics().squared_norm == doctest::Approx(squared_norm / weight));
    }
}

TEST_CASE("Several gradients after a differenced phase start afresh") {
    NoiseScaleEstimator estimator, fresh;
    GradientMeter meter({2});
    for (int i = 0; i < 10; ++i)
        if (const auto norms = metered(meter, {{1.0 * i, 2.0}}, 1)) estimator.observe(*norms);
    CHECK(estimator.differenced());
    const GradientNorms step = metered(meter, {{1, 2}, {2, 1}}, 2).value();
    CHECK(estimator.observe(step));
    CHECK(fresh.observe(step));
    CHECK_FALSE(estimator.differenced());
    CHECK(estimator.statistics().squared_norm == fresh.statistics().squared_norm);
    CHECK(estimator.statistics().variance == fresh.statistics().variance);
    // The gradient from before that step is forgotten; the same holds after a restart of the job.
    const std::vector<std::vector<double>> single{{1, 2}};
    CHECK_FALSE(metered(meter, single, 1).has_value());
    CHECK(metered(meter, single, 1).has_value());
    meter.forget();
    CHECK_FALSE(metered(meter, single, 1).has_value());
}

TEST_CASE("Steps that are not finite are skipped") {
    NoiseScaleEstimator estimator;
    CHECK(estimator.observe({5, 3, 8, 1}));
    const GradientStatistics before = estimator.statistics();
    CHECK_FALSE(estimator.observe({infinity, 3, 8, 1}));
    CHECK_FALSE(estimator.observe({5, std::nan(""), 8, 1}));
    CHECK_FALSE(estimator.observe({5, 1e308, 8, 1}));
    CHECK_FALSE(estimator.observe(differenced_norms(1, infinity, 1, 1, 1)));
    CHECK_FALSE(estimator.differenced());
    CHECK(estimator.statistics().squared_norm == before.squared_norm);
    CHECK(estimator.statistics().variance == before.variance);

    GradientMeter meter({2});
    const std::vector<std::vector<double>> good{{1, 2}}, bad{{1, std::nan("")}}, huge{{1e200, 1}};
    for (const auto& broken : {bad, huge}) {
        CHECK_FALSE(metered(meter, good, 1).has_value());
        CHECK_FALSE(metered(meter, broken, 1).has_value());
        // No gradient is paired with a skipped one.
        CHECK_FALSE(metered(meter, good, 1).has_value());
        CHECK(metered(meter, good, 1).value().square_of_mean == doctest::Approx(5));
        meter.forget();
    }
}

TEST_CASE("Statistics are never negative, and none at all before the first step") {
    NoiseScaleEstimator estimator;
    CHECK(estimator.empty());
    CHECK(NoiseScaleEfficiency{128, estimator.statistics()}.efficiency(1024) == 1);
    // All noise: the estimate of the squared norm would be negative.
    estimator.observe({10, 1, 2, 1});
    CHECK(estimator.statistics().squared_norm == 0);
    CHECK(estimator.statistics().variance == doctest::Approx(9));
    estimator.reset();
    // No noise: the estimate of the variance would be zero, and is kept above it.
    estimator.observe({4, 4, 2, 1});
    CHECK(estimator.statistics().squared_norm == doctest::Approx(4));
    CHECK(estimator.statistics().variance == 1e-6);
}

TEST_CASE("What cannot be a step is refused") {
    NoiseScaleEstimator estimator;
    CHECK_THROWS_AS(estimator.observe({5, 3, 1, 1}), std::invalid_argument);
    CHECK_THROWS_AS(estimator.observe({5, 3, 2, 0}), std::invalid_argument);
    CHECK_THROWS_AS(estimator.observe({5, 3, 2, std::nan("")}), std::invalid_argument);
    CHECK_THROWS_AS(estimator.observe({-5, 3, 2, 1}), std::invalid_argument);
    CHECK_THROWS_AS(estimator.observe(differenced_norms(5, 3, -1, 1, 1)), std::invalid_argument);
    CHECK_THROWS_AS(estimator.observe(differenced_norms(5, 3, 1, 0, 0)), std::invalid_argument);
    CHECK_THROWS_AS(NoiseScaleEstimator(1), std::invalid_argument);
    CHECK(estimator.empty());

    const std::vector<double> two{1, 2}, three{1, 2, 3};
    const std::span<const double> a(two), b(three);
    CHECK_THROWS_AS(GradientMeter({}), std::invalid_argument);
    CHECK_THROWS_AS(GradientMeter({3, 0}), std::invalid_argument);
    GradientMeter meter({2});
    GradientNorms norms;
    const auto end = [&] { return meter.end(std::span(&norms, 1)); };
    CHECK_THROWS_AS(meter.add(a), std::invalid_argument);
    CHECK_THROWS_AS(end(), std::invalid_argument);
    CHECK_THROWS_AS(meter.begin({.scale_of_one = 0}), std::invalid_argument);
    CHECK_THROWS_AS(meter.begin({.gradient_scale = 0}), std::invalid_argument);
    meter.begin({.single = true});
    CHECK_THROWS_AS(end(), std::invalid_argument);
    CHECK_THROWS_AS(meter.add(b), std::invalid_argument);
    CHECK_THROWS_AS(meter.add_mean(a), std::invalid_argument);
    CHECK_THROWS_AS(meter.set_square_of_mean(0, 1), std::invalid_argument);
    meter.add(a.first(1));
    CHECK_THROWS_AS(end(), std::invalid_argument);
    meter.add(a.last(1));
    CHECK_THROWS_AS(meter.add(a), std::invalid_argument);
    CHECK(end() == StepNorms::waiting);
    using Adam = AdamPreconditioner<double>;
    meter.begin({});
    CHECK_THROWS_AS(meter.add(a, Adam{two, 9}), std::invalid_argument);
    meter.begin({.preconditioned = true});
    CHECK_THROWS_AS(meter.add(a), std::invalid_argument);
    for (const Adam& wrong :
         {Adam{two, 3}, Adam{three, 9}, Adam{two, -1}, Adam{two, 9, 1}, Adam{two, 9, 0.9, 0}})
        CHECK_THROWS_AS(meter.add(a, wrong), std::invalid_argument);
}

TEST_CASE("A step that stands for several weighs as much as several steps with the same norms") {
    support::Random random(95);
    NoiseScaleEstimator few(0.99), all(0.99);
    for (int t = 0; t < 50; ++t) {
        GradientNorms norms{random.between(1, 2), random.between(0, 1), random.integer(2, 5),
                            random.between(0.5, 4)};
        const int steps = random.integer(1, 8);
        for (int i = 0; i < steps; ++i) all.observe(norms);
        norms.steps = steps;
        few.observe(norms);
        CHECK(few.statistics().squared_norm == doctest::Approx(all.statistics().squared_norm));
        CHECK(few.statistics().variance == doctest::Approx(all.statistics().variance));
        CHECK(few.state().weight == doctest::Approx(all.state().weight));
    }
    GradientNorms norms{2, 1, 2, 1};
    norms.steps = 0;
    CHECK_THROWS_AS(few.observe(norms), std::invalid_argument);
}
