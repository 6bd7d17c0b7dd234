#include "goodput/fit/noise_scale.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include "goodput/model/efficiency.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A quadratic loss seen through noisy gradients: at a point of curvature h_i and distance x_i the gradient
/// is h_i x_i plus Gaussian noise of variance `noise_i` at the initial batch size, and noise_i / S at S times
/// that.
struct NoisyQuadratic {
    std::vector<double> gradient, noise;

    NoisyQuadratic(std::size_t dimensions, double squared_norm, double variance, support::Random& random) {
        double squares = 0, noises = 0;
        for (std::size_t i = 0; i < dimensions; ++i) {
            const double curvature = std::exp(random.between(-2, 2)), distance = random.between(-1, 1);
            gradient.push_back(curvature * distance);
            noise.push_back(std::exp(random.between(-1, 1)));
            squares += gradient.back() * gradient.back();
            noises += noise.back();
        }
        for (double& g : gradient) g *= std::sqrt(squared_norm / squares);
        for (double& n : noise) n *= variance / noises;
    }

    /// Two independent standard normal numbers (Box and Muller).
    static std::pair<double, double> normal(support::Random& random) {
        const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
        const double angle = 2 * std::acos(-1.0) * random.unit();
        return {radius * std::cos(angle), radius * std::sin(angle)};
    }

    [[nodiscard]] std::vector<double> sample(double scale, support::Random& random) const {
        std::vector<double> g = gradient;
        for (std::size_t i = 0; i < g.size(); i += 2) {
            const auto [first, second] = normal(random);
            g[i] += first * std::sqrt(noise[i] / scale);
            if (i + 1 < g.size()) g[i + 1] += second * std::sqrt(noise[i + 1] / scale);
        }
        return g;
    }

    [[nodiscard]] GradientNorms step(int replicas, double scale, support::Random& random) const {
        GradientNorms norms{.count = replicas, .scale = scale};
        std::vector<double> mean(gradient.size());
        for (int q = 0; q < replicas; ++q) {
            const std::vector<double> g = sample(scale / replicas, random);
            for (std::size_t i = 0; i < g.size(); ++i) {
                mean[i] += g[i] / replicas;
                norms.mean_of_squares += g[i] * g[i] / replicas;
            }
        }
        for (const double m : mean) norms.square_of_mean += m * m;
        return norms;
    }
};

double relative_error(double estimate, double truth) { return std::abs(estimate / truth - 1); }

}  // namespace

TEST_CASE("After 1,000 steps on 8 replicas gradient statistics and noise scale are within 5 % of the truth") {
    support::Random random(11);
    for (const double noise_scale : {0.5, 2.0, 4.0}) {
        const double squared_norm = 3, variance = squared_norm * noise_scale;
        const NoisyQuadratic problem(300, squared_norm, variance, random);
        NoiseScaleEstimator estimator;
        for (int i = 0; i < 1000; ++i) CHECK(estimator.observe(problem.step(8, 1, random)));
        const GradientStatistics found = estimator.statistics();
        CHECK(relative_error(found.squared_norm, squared_norm) < 0.05);
        CHECK(relative_error(found.variance, variance) < 0.05);
        CHECK(relative_error(found.variance / found.squared_norm, noise_scale) < 0.05);
    }
}

TEST_CASE("Statistics refer to the initial batch size, whatever the batch size of the steps") {
    support::Random random(12);
    const NoisyQuadratic problem(300, 1, 5, random);
    for (const int replicas : {2, 4, 16}) {
        for (const double scale : {0.5, 1.0, 8.0}) {
            NoiseScaleEstimator estimator;
            for (int i = 0; i < 1500; ++i) estimator.observe(problem.step(replicas, scale, random));
            CHECK(relative_error(estimator.statistics().squared_norm, 1) < 0.1);
            CHECK(relative_error(estimator.statistics().variance, 5) < 0.05);
        }
    }
}

TEST_CASE("A single replica learns the same from successive gradients, given as vectors or as norms") {
    support::Random random(13);
    const NoisyQuadratic problem(300, 2, 3, random);
    NoiseScaleEstimator by_vectors, by_norms;
    std::vector<double> previous = problem.sample(1, random);
    CHECK_FALSE(by_vectors.observe_single(previous, 1));
    CHECK(by_vectors.empty());
    for (int i = 0; i < 2000; ++i) {
        const std::vector<double> g = problem.sample(1, random);
        CHECK(by_vectors.observe_single(g, 1));
        double before = 0, now = 0, sum = 0;
        for (std::size_t k = 0; k < g.size(); ++k) {
            before += previous[k] * previous[k];
            now += g[k] * g[k];
            sum += (g[k] + previous[k]) * (g[k] + previous[k]);
        }
        CHECK(by_norms.observe_pair(before, now, sum, 1));
        previous = g;
    }
    CHECK(by_vectors.differenced());
    CHECK(relative_error(by_vectors.statistics().squared_norm, 2) < 0.05);
    CHECK(relative_error(by_vectors.statistics().variance, 3) < 0.05);
    CHECK(by_norms.statistics().squared_norm == doctest::Approx(by_vectors.statistics().squared_norm));
    CHECK(by_norms.statistics().variance == doctest::Approx(by_vectors.statistics().variance));
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

TEST_CASE("Several replicas after a differenced phase start afresh") {
    NoiseScaleEstimator estimator, fresh;
    for (int i = 0; i < 10; ++i) estimator.observe_single(std::vector<double>{1.0 * i, 2.0}, 1);
    CHECK(estimator.differenced());
    const GradientNorms step{5, 3, 8, 2};
    CHECK(estimator.observe(step));
    CHECK(fresh.observe(step));
    CHECK_FALSE(estimator.differenced());
    CHECK(estimator.statistics().squared_norm == fresh.statistics().squared_norm);
    CHECK(estimator.statistics().variance == fresh.statistics().variance);
    // The gradient of before is gone as well.
    CHECK_FALSE(estimator.observe_single(std::vector<double>{1.0, 2.0}, 1));
}

TEST_CASE("Steps whose norms are not finite are skipped") {
    NoiseScaleEstimator estimator;
    CHECK(estimator.observe({5, 3, 8, 1}));
    const GradientStatistics before = estimator.statistics();
    CHECK_FALSE(estimator.observe({infinity, 3, 8, 1}));
    CHECK_FALSE(estimator.observe({5, std::nan(""), 8, 1}));
    CHECK_FALSE(estimator.observe_pair(1, infinity, 1, 1));
    CHECK_FALSE(estimator.observe_single(std::vector<double>{1, std::nan("")}, 1));
    CHECK_FALSE(estimator.differenced());
    CHECK(estimator.statistics().squared_norm == before.squared_norm);
    CHECK(estimator.statistics().variance == before.variance);
}

TEST_CASE("Statistics are never negative, and none at all before the first step") {
    NoiseScaleEstimator estimator;
    CHECK(estimator.empty());
    CHECK(NoiseScaleEfficiency{128, estimator.statistics()}.efficiency(1024) == 1);
    // All noise: the estimate of the squared norm is negative.
    estimator.observe({10, 1, 2, 1});
    CHECK(estimator.statistics().squared_norm == 0);
    CHECK(estimator.statistics().variance == doctest::Approx(9));
    estimator.reset();
    // No noise: that of the variance is zero, and is kept off it.
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
    CHECK_THROWS_AS(estimator.observe_pair(5, 3, -1, 1), std::invalid_argument);
    CHECK_THROWS_AS(estimator.observe_single({}, 1), std::invalid_argument);
    estimator.observe_single(std::vector<double>{1, 2}, 1);
    CHECK_THROWS_AS(estimator.observe_single(std::vector<double>{1, 2, 3}, 1), std::invalid_argument);
    CHECK_THROWS_AS(NoiseScaleEstimator(1), std::invalid_argument);
    CHECK(estimator.empty());
}
