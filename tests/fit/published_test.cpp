// The released fit of Pollux and Sia, rebuilt: its published example, bounds and stop, and what it holds.

#include "peers/sia/published_fit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "fit/published_fits.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

using Samples = std::vector<ThroughputSample>;

ThroughputSample sample(Shape shape, int batch, double step, double sync) {
    return {shape, {batch, 0}, step, sync};
}

// The objective exactly as published.
double literal_objective(const PolluxThroughput& m, const Samples& samples) {
    double compute_squares = 0, step_squares = 0;
    for (const ThroughputSample& s : samples) {
        const double further = std::max(s.shape.gpus - 2.0, 1e-8);
        const double compute = m.alpha_c + m.beta_c * s.plan.atomic_batch;
        const double sync = s.shape.nodes > 1  ? m.alpha_n + m.beta_n * further
                            : s.shape.gpus > 1 ? m.alpha_r + m.beta_r * further
                                               : 1e-8 + 1e-8 * further;
        const double step = std::log(std::pow(compute, m.gamma) + std::pow(sync, m.gamma)) / m.gamma;
        compute_squares += std::pow(std::log(compute) - std::log(s.step_seconds - s.sync_seconds), 2);
        step_squares += std::pow(step - std::log(s.step_seconds), 2);
    }
    const double count = static_cast<double>(samples.size());
    return std::sqrt(compute_squares / count) + std::sqrt(step_squares / count) +
           1e-3 * std::pow(m.gamma - 1, 2) +
           1e-2 * (std::pow(m.beta_n / m.alpha_n, 2) + std::pow(m.beta_r / m.alpha_r, 2));
}

const std::vector<Shape> alone{{1, 1}}, node{{1, 1}, {1, 2}, {1, 4}, {1, 8}},
    network{{1, 1}, {1, 2}, {1, 4}, {2, 8}, {3, 12}, {4, 16}};

// Draws a job that roughly follows the published model.
PolluxThroughput random_model(support::Random& random) {
    const auto seconds = [&](double low, double high) {
        return low * std::exp(random.unit() * std::log(high / low));
    };
    PolluxThroughput m;
    m.alpha_c = seconds(0.005, 0.5);
    m.beta_c = seconds(1e-4, 1e-2);
    m.alpha_r = seconds(0.002, 0.2);
    m.beta_r = m.alpha_r * seconds(0.005, 0.3);
    m.alpha_n = m.alpha_r * seconds(1.5, 20);
    m.beta_n = m.alpha_n * seconds(0.005, 0.3);
    m.gamma = seconds(1.05, 8);
    return m;
}

Samples random_samples(support::Random& random, const PolluxThroughput& m, const std::vector<Shape>& shapes,
                       int count, double noise) {
    Samples samples;
    for (int i = 0; i < count; ++i) {
        const Shape shape =
            shapes[static_cast<std::size_t>(random.integer(0, static_cast<int>(shapes.size()) - 1))];
        const int batch = random.integer(8, 200);
        const double compute = m.compute_seconds(batch) * (1 + noise * random.between(-1, 1));
        const double step = m.iteration_seconds(shape, {batch, 0}) * (1 + noise * random.between(-1, 1));
        samples.push_back(sample(shape, batch, std::max(step, compute), std::max(step - compute, 0.0)));
    }
    return samples;
}

}  // namespace

TEST_CASE("the published example") {
    const Samples samples{sample({1, 2}, 64, 0.0299214, 0.00072979),
                          sample({1, 2}, 113, 0.0325503, 0.00067658), sample({1, 4}, 264, 0.0487, 0.0021),
                          sample({1, 8}, 433, 0.0652, 0.0043)};
    PublishedFitter fitter;
    const PolluxThroughput m = fitter.fit(samples);
    // As many digits as are published.
    CHECK(m.alpha_c == doctest::Approx(0.02284).epsilon(5e-4));
    CHECK(m.beta_c == doctest::Approx(8.802e-5).epsilon(5e-4));
    CHECK(m.alpha_n == doctest::Approx(0.00610).epsilon(2e-3));
    CHECK(m.beta_n == doctest::Approx(0.00233).epsilon(3e-3));
    CHECK(m.alpha_r == doctest::Approx(0.00554).epsilon(2e-3));
    CHECK(m.beta_r == doctest::Approx(0.00212).epsilon(3e-3));
    CHECK(m.gamma == doctest::Approx(1.711).epsilon(1e-3));
    CHECK(fitter.end().objective == doctest::Approx(0.043489).epsilon(1e-4));
}

TEST_CASE("a single sample: next to the kink at alpha_c = c/2, beta_c = c/(2b)") {
    support::Random random(1);
    PublishedFitter fitter;
    int near = 0;
    constexpr int cases = 500;
    for (int i = 0; i < cases; ++i) {
        CAPTURE(i);
        const int batch = random.integer(4, 1000);
        const double compute = std::exp(random.between(std::log(0.005), std::log(5.0)));
        const double sync = compute * random.between(0, 0.01);
        const PolluxThroughput m = fitter.fit(Samples{sample({1, 1}, batch, compute + sync, sync)});
        CHECK(m.alpha_c == doctest::Approx(compute / 2).epsilon(1e-12));
        CHECK(m.alpha_r == 1e-8);
        CHECK(m.beta_r == 1e-8);
        CHECK(m.alpha_n == doctest::Approx(1.1e-8));
        CHECK(m.beta_n == doctest::Approx(1.1e-8));
        // All points between an exact computing time and an exact step time are equally good.
        const double error = m.beta_c * 2 * batch / compute - 1;
        near += error > -0.02 && error < 2 * sync / compute + 0.02 ? 1 : 0;
    }
    // In one case of fifty the line search ends far away (scipy's, too).
    CHECK(near > cases * 95 / 100);
}

TEST_CASE("what the samples cannot tell is held") {
    support::Random random(2);
    PublishedFitter fitter;
    for (int i = 0; i < 300; ++i) {
        CAPTURE(i);
        const PolluxThroughput truth = random_model(random);
        const int count = random.integer(1, 12);
        const auto held = [](double value) { return value == 1e-8; };

        Samples samples = random_samples(random, truth, alone, count, 0.03);
        CHECK((held(fitter.fit(samples).alpha_r) && held(fitter.fit(samples).beta_r)));

        samples = random_samples(random, truth, {{1, 1}, {1, 2}, {2, 2}}, count, 0.03);
        PolluxThroughput m = fitter.fit(samples);
        CHECK(held(m.beta_r));
        if (std::any_of(samples.begin(), samples.end(), [](const auto& s) { return s.shape.nodes > 1; }))
            CHECK(held(m.beta_n));

        samples = random_samples(random, truth, {{2, 4}, {3, 8}}, count, 0.03);
        m = fitter.fit(samples);
        CHECK((held(m.alpha_r) && held(m.beta_r)));

        samples = random_samples(random, truth, node, count, 0.03);
        m = fitter.fit(samples);
        CHECK(m.alpha_n == 1.1 * m.alpha_r);
        CHECK(m.beta_n == 1.1 * m.beta_r);

        samples = random_samples(random, truth, network, count, 0.03);
        double mean = 0;
        for (ThroughputSample& s : samples) {
            s.plan.atomic_batch = 32;
            mean += (s.step_seconds - s.sync_seconds) / count;
        }
        CHECK(fitter.fit(samples).alpha_c == doctest::Approx(mean / 2).epsilon(1e-12));
    }
}

TEST_CASE("within bounds, better than the start, and as good as it says") {
    support::Random random(3);
    PublishedFitter fitter;
    const PolluxThroughput start{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001};
    for (int i = 0; i < 1000; ++i) {
        CAPTURE(i);
        const auto& shapes = i % 3 == 0 ? alone : i % 3 == 1 ? node : network;
        const Samples samples =
            random_samples(random, random_model(random), shapes, random.integer(1, 25), 0.1);
        const PolluxThroughput m = fitter.fit(samples);
        for (const double time : {m.alpha_c, m.beta_c, m.alpha_n, m.beta_n, m.alpha_r, m.beta_r}) {
            CHECK(time >= 1e-8);
            CHECK(std::isfinite(time));
        }
        CHECK(m.gamma >= 1);
        CHECK(m.gamma <= 10);
        const double objective = literal_objective(m, samples);
        CHECK(fitter.end().objective == doctest::Approx(objective).epsilon(1e-9));
        // The held parameters of each block that was never measured may add 0.01.
        CHECK(objective < literal_objective(start, samples) + 0.02);
    }
}

TEST_CASE("the stop is not the minimum, but near it") {
    support::Random random(4);
    PublishedFitter fitter;
    std::vector<double> excess;
    for (int i = 0; i < 60; ++i) {
        const Samples samples =
            random_samples(random, random_model(random), network, random.integer(12, 25), 0.05);
        PolluxThroughput m = fitter.fit(samples);
        // Descends from there, one parameter after another, until steps of 0.01 % find nothing.
        const std::array<double*, 7> all{&m.alpha_c, &m.beta_c, &m.alpha_n, &m.beta_n,
                                         &m.alpha_r, &m.beta_r, &m.gamma};
        double least = fitter.end().objective;
        for (double step = 0.1; step > 1e-4;) {
            bool found = false;
            for (double* parameter : all)
                for (const double factor : {1 + step, 1 / (1 + step)}) {
                    const double before = *parameter;
                    const bool overlap = parameter == &m.gamma;
                    *parameter = std::clamp(before * factor, overlap ? 1 : 1e-8, overlap ? 10 : 1e3);
                    const double value = literal_objective(m, samples);
                    found = found || value < least;
                    if (value < least)
                        least = value;
                    else
                        *parameter = before;
                }
            if (!found) step /= 2;
        }
        excess.push_back(fitter.end().objective - least);
    }
    std::sort(excess.begin(), excess.end());
    // On published measurements scipy stops 0.008 above its result with a tolerance of 1e-13 (median), and
    // 0.14 above in one case of ten. Roots and narrow valleys make iterations short.
    CHECK(excess[excess.size() / 2] < 0.03);
    CHECK(excess[excess.size() * 9 / 10] < 0.3);
}

TEST_CASE("a fit depends on its samples alone, and on no accumulation steps") {
    support::Random random(5);
    PublishedFitter fitter;
    const auto bits = [](const PolluxThroughput& m) {
        std::array<std::uint64_t, 7> result{};
        const std::array<double, 7> values{m.alpha_c, m.beta_c, m.alpha_n, m.beta_n,
                                           m.alpha_r, m.beta_r, m.gamma};
        for (std::size_t i = 0; i < 7; ++i) result[i] = std::bit_cast<std::uint64_t>(values[i]);
        return result;
    };
    for (int i = 0; i < 100; ++i) {
        Samples samples = random_samples(random, random_model(random), network, random.integer(1, 25), 0.05);
        const auto fresh = bits(PublishedFitter().fit(samples));
        for (ThroughputSample& s : samples) s.plan.accumulation_steps = random.integer(0, 5);
        CHECK(bits(fitter.fit(samples)) == fresh);
    }
}

TEST_CASE("times of any size are fitted, and what is no measurement is refused") {
    PublishedFitter fitter;
    for (const double size : {1e-6, 1e-3, 1e3, 1e6}) {
        CAPTURE(size);
        const Samples samples{sample({1, 1}, 8, size, 0), sample({1, 2}, 16, 2 * size, 0.5 * size),
                              sample({2, 8}, 1, 3 * size, 2.9 * size), sample({2, 4}, 32, 3 * size, 0)};
        const PolluxThroughput m = fitter.fit(samples);
        CHECK(std::isfinite(fitter.end().objective));
        CHECK(std::isfinite(m.iteration_seconds({2, 8}, {8, 0})));
    }
    CHECK_THROWS_AS((void)fitter.fit(Samples{}), std::invalid_argument);
    CHECK_THROWS_AS((void)fitter.fit(Samples{sample({1, 1}, 8, 0, 0)}), std::invalid_argument);
    CHECK_THROWS_AS((void)fitter.fit(Samples{sample({1, 1}, 8, 1, 1)}), std::invalid_argument);
    CHECK_THROWS_AS((void)fitter.fit(Samples{sample({2, 1}, 8, 1, 0)}), std::invalid_argument);
    CHECK_THROWS_AS((void)fitter.fit(Samples{sample({1, 1}, 0, 1, 0)}), std::invalid_argument);
}

TEST_CASE("bounded quasi-Newton: a curved valley of seven variables") {
    using Vector = QuasiNewtonVector;
    constexpr double infinite = std::numeric_limits<double>::infinity();
    Vector lower{-infinite, -infinite, -3, -3, -3, -3, -3}, upper{3, infinite, infinite, 3, 3, 3, 3}, start{};
    start.fill(-1.2);
    const auto valley = [](const Vector& x, Vector& gradient) {
        double value = 0;
        gradient.fill(0);
        for (std::size_t i = 0; i + 1 < x.size(); ++i) {
            const double across = x[i + 1] - x[i] * x[i], along = 1 - x[i];
            value += 100 * across * across + along * along;
            gradient[i] -= 400 * across * x[i] + 2 * along;
            gradient[i + 1] += 200 * across;
        }
        return value;
    };
    const auto found = minimise_within(lower, upper, start, valley, {.decrease = 1e-14, .gradient = 1e-8});
    // There is a local minimum near (-1, 1, 1, ...) with the value 3.98.
    CHECK((found.value < 1e-8 || found.value == doctest::Approx(3.98).epsilon(0.01)));
    CHECK(found.iterations < 200);
    // The bound at 0.5 holds the first variable; from there the valley leads the others down.
    upper[0] = 0.5;
    start.fill(0);
    const auto held = minimise_within(lower, upper, start, valley, {.decrease = 1e-14, .gradient = 1e-8});
    CHECK(held.point[0] == 0.5);
    Vector gradient{};
    (void)valley(held.point, gradient);
    CHECK(gradient[0] < 0);
    for (std::size_t i = 1; i < 7; ++i) CHECK(std::abs(gradient[i]) < 1e-3);
}

TEST_SUITE("data") {
    TEST_CASE("all measurements of an application on a GPU type: the published errors of the step time") {
        PublishedFitter fitter;
        for (const support::PublishedFit& published : support::published_fits) {
            CAPTURE(published.application);
            CAPTURE(published.type);
            const Samples samples = support::measured_samples(published.application, published.type);
            const PolluxThroughput m = fitter.fit(samples);
            double squares = 0;
            for (const ThroughputSample& s : samples)
                squares += std::pow(
                    std::log(m.iteration_seconds(s.shape, {s.plan.atomic_batch, 0}) / s.step_seconds), 2);
            const double error = std::sqrt(squares / static_cast<double>(samples.size()));
            CHECK(error == doctest::Approx(published.step_rmsle).epsilon(1e-3));
        }
    }
}
