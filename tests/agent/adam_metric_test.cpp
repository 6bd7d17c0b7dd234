// Tests Adam's metric where second moments know little: token embeddings with rare rows, layers that were
// frozen, single steps with extreme gradients.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "goodput/agent/gradient_meter.hpp"
#include "goodput/agent/training_agent.hpp"
#include "support/noisy_quadratic.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// Gradients of a dense layer and of a token embedding, of which a microbatch touches some rows. The size
/// of a row's gradient does not depend on how rare the row is, and its sign is random.
class Embedding {
public:
    static constexpr std::size_t rows = 400, width = 8, dense = 2000;

    /// `rarest`: the probability that a microbatch touches the last row; the first row's is 1, and the others
    /// follow Zipf's law in between.
    Embedding(double rarest, std::uint64_t seed) : random_(seed), noise_(seed + 1) {
        const double power = -std::log(rarest) / std::log(static_cast<double>(rows));
        for (std::size_t row = 0; row < rows; ++row)
            touched_.push_back(std::pow(static_cast<double>(row + 1), -power));
    }

    [[nodiscard]] static std::size_t size() { return dense + rows * width; }
    /// Squared norm of the true gradient and variance of the mean gradient of a step of two microbatches, if
    /// each entry is divided by the root of its own mean square.
    [[nodiscard]] static GradientStatistics ideal() {
        constexpr double signal = 1 / (1 + dense_variance / 2);
        return {dense * signal, dense * (1 - signal) + static_cast<double>(rows * width)};
    }
    std::vector<double> sample() {
        std::vector<double> gradient(size());
        for (std::size_t i = 0; i < dense; ++i) gradient[i] = 1 + std::sqrt(dense_variance) * noise_();
        for (std::size_t row = 0; row < rows; ++row)
            if (random_.chance(touched_[row]))
                for (std::size_t i = 0; i < width; ++i) gradient[dense + row * width + i] = 30 * noise_();
        return gradient;
    }

private:
    static constexpr double dense_variance = 10;
    support::Random random_;
    support::Noise noise_;
    std::vector<double> touched_{};
};

struct Measured {
    GradientStatistics agent{}, plain{};
    double largest = 0;  ///< largest squared norm of a step's mean gradient that the plain metric saw
};

/// Trains under Adam, with an agent and with a meter in the metric without floor and bound.
Measured measure(Embedding& world, double beta2, int steps) {
    const std::size_t size = Embedding::size(), dense = Embedding::dense;
    TrainingSettings settings{.parameters = size, .optimizer = Optimizer::adam, .adam_beta2 = beta2};
    settings.initial_batch = settings.max_batch = settings.max_atomic_batch = 32;
    settings.measure_every = 1;
    settings.smoothing = 0.999;
    TrainingAgent agent(settings);
    agent.hold({.gpus = 2});
    GradientMeter meter({size});
    NoiseScaleEstimator plain(0.999);
    std::vector<double> moments(size), mean(size);
    Measured measured;
    for (int t = 0; t < steps; ++t) {
        const std::vector<std::vector<double>> gradients{world.sample(), world.sample()};
        agent.begin_step(t, {.adam_updates = t});
        for (const std::vector<double>& one : gradients) {
            const std::span<const double> all(one), second(moments);
            agent.add_gradient(all.first(dense), second.first(dense));
            agent.add_gradient(all.subspan(dense), second.subspan(dense));
        }
        CHECK(agent.end_step(t + 0.5));
        const AdamPreconditioner<double> metric{moments, t, beta2, 1e-8};
        if (metric.ready()) {
            const GradientNorms norms = support::metered(meter, gradients, 1, metric).value();
            plain.observe(norms);
            measured.largest = std::max(measured.largest, norms.square_of_mean);
        }
        for (std::size_t i = 0; i < size; ++i) {
            mean[i] = (gradients[0][i] + gradients[1][i]) / 2;
            moments[i] = beta2 * moments[i] + (1 - beta2) * mean[i] * mean[i];
        }
    }
    measured.agent = agent.statistics();
    measured.plain = plain.statistics();
    return measured;
}

}  // namespace

TEST_CASE("Rare rows of a token embedding spoil neither the squared norm nor the noise scale under Adam") {
    for (const double beta2 : {0.95, 0.999})
        for (const double rarest : {0.02, 0.001}) {
            CAPTURE(beta2);
            CAPTURE(rarest);
            Embedding world(rarest, 41);
            const GradientStatistics truth = Embedding::ideal();
            const Measured measured = measure(world, beta2, 600);
            // The scale is what it would be if each second moment were known exactly.
            const double scale = measured.agent.variance / measured.agent.squared_norm;
            CHECK(std::abs(scale / (truth.variance / truth.squared_norm) - 1) < 0.3);
            CHECK(std::abs(measured.agent.squared_norm / truth.squared_norm - 1) < 0.15);
            // Without floor and bound, rows that no step has touched are divided by epsilon alone.
            CHECK(measured.largest > 1e13);
            CHECK(!(measured.plain.variance / measured.plain.squared_norm < 1e6));
        }
}

TEST_CASE("The floor is a fifth of the mean second moment, and nothing before the metric is ready") {
    const std::vector<double> moments{4, 0, 1, 3};
    const AdamPreconditioner<double> metric{moments, 5, 0.5, 1e-3};
    const AdamPreconditioner<double> floored = metric.with_floor();
    CHECK(metric.least_moment == 0);
    CHECK(floored.least_moment == doctest::Approx(0.4));
    CHECK(floored.inverse(0) == metric.inverse(0));
    CHECK(floored.inverse(1) == doctest::Approx(1 / (std::sqrt(0.4 * metric.correction()) + 1e-3)));
    CHECK(metric.inverse(1) == doctest::Approx(1e3));
    CHECK(AdamPreconditioner<double>{moments, 4}.with_floor().least_moment == 0);
    CHECK(AdamPreconditioner<double>{{}, 9}.with_floor().least_moment == 0);

    // Moments that overflowed are ignored, and do no harm.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> broken{infinity, 1}, unknown{std::nan(""), 1};
    CHECK(AdamPreconditioner<double>{broken, 9}.with_floor().inverse(1) == 0);
    CHECK(AdamPreconditioner<double>{unknown, 9}.with_floor().inverse(1) > 0);
    for (const double least : {-1.0, std::nan("")}) {
        AdamPreconditioner<double> wrong{moments, 9};
        wrong.least_moment = least;
        CHECK_THROWS_AS(wrong.check(4), std::invalid_argument);
    }
}

TEST_CASE("However rare the gradients of a tensor's entries, their expected squared norm is five per entry") {
    support::Random random(43);
    for (int world = 0; world < 20; ++world) {
        const double beta2 = random.chance(0.5) ? 0.95 : 0.999;
        const std::size_t size = 4000;
        std::vector<double> moments(size), touched(size), gradient(size);
        for (double& part : touched) part = std::exp(random.between(-9, 0));
        const double loudness = std::exp(random.between(-10, 10));
        double squares = 0;
        int counted = 0;
        for (int t = 0; t < 300; ++t) {
            const AdamPreconditioner<double> metric =
                AdamPreconditioner<double>{moments, t, beta2, 1e-12}.with_floor();
            for (std::size_t i = 0; i < size; ++i)
                gradient[i] = random.chance(touched[i]) ? loudness * random.between(-1, 1) : 0;
            if (metric.ready() && t >= 100) {
                ++counted;
                for (std::size_t i = 0; i < size; ++i) {
                    const double part = gradient[i] * metric.inverse(i);
                    squares += part * part;
                }
            }
            for (std::size_t i = 0; i < size; ++i)
                moments[i] = beta2 * moments[i] + (1 - beta2) * gradient[i] * gradient[i];
        }
        const double per_entry = squares / counted / static_cast<double>(size);
        CHECK(per_entry < 5);
        CHECK(per_entry > 0.2);
    }
}

TEST_CASE("A step far above the usual counts as two per parameter, with the ratio of its norms") {
    const GradientNorms usual{3000, 1500, 2, 1};
    const GradientNorms same = bounded_norms(usual, 1000);
    CHECK(same.mean_of_squares == 3000);
    CHECK(same.square_of_mean == 1500);
    const GradientNorms bounded = bounded_norms({3e20, 1.5e20, 4, 2, false, true, 8}, 5000);
    CHECK(bounded.square_of_mean == 10000);
    CHECK(bounded.mean_of_squares == doctest::Approx(20000));
    CHECK(bounded.count == 4);
    CHECK(bounded.scale == 2);
    CHECK(bounded.restart);
    CHECK(bounded.steps == 8);
    // The norms of few parameters scatter.
    CHECK(bounded_norms({4000, 2000, 2}, 1).square_of_mean == 2000);
    CHECK(bounded_norms({4002, 2001, 2}, 1).square_of_mean == 2000);
    CHECK(std::isnan(bounded_norms({1, std::nan(""), 2}, 10).square_of_mean));

    // Norms that the caller computed are bounded as well, unless Adam's moments are not ready.
    for (const std::int64_t updates : {4, 5}) {
        TrainingSettings settings{.parameters = 1000, .optimizer = Optimizer::adam};
        settings.initial_batch = settings.max_batch = settings.max_atomic_batch = 32;
        TrainingAgent agent(settings);
        agent.hold({.gpus = 2});
        agent.begin_step(0, {.adam_updates = updates});
        const GradientNorms norms{4e10, 3e10, 2, 1};
        CHECK(agent.end_step(1, {}, std::span(&norms, 1)));
        CHECK(agent.statistics().squared_norm == doctest::Approx(updates == 4 ? 2e10 : 4000.0 / 3));
        CHECK(agent.statistics().variance == doctest::Approx(updates == 4 ? 1e10 : 2000.0 / 3));
    }
}

TEST_CASE("Under Adam the averages of the noise are shorter, unless the caller sets their length") {
    TrainingSettings settings{.parameters = 10};
    CHECK(settings.noise_smoothing() == 0.996);
    settings.optimizer = Optimizer::adam;
    CHECK(settings.noise_smoothing() == 0.994);
    settings.smoothing = 0.9;
    CHECK(settings.noise_smoothing() == 0.9);
}
