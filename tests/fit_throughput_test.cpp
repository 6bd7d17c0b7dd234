#include "goodput/fit/throughput_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/fit/prediction_interval.hpp"
#include "support/profiles.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A job like any: computing takes 10 ms to 3 s, synchronising from a hundredth of that to three times as long; every
/// parameter may be zero, gamma at either end.
PolluxThroughput random_model(support::Random& random) {
    PolluxThroughput model;
    const double compute = std::exp(random.between(std::log(0.01), std::log(3.0)));
    const double constant = random.chance(0.15) ? 0 : random.unit();
    model.alpha_c = compute * constant;
    model.beta_c = random.chance(0.1) && constant > 0 ? 0 : compute * (1 - constant) / 64;
    const auto sync = [&](double& alpha, double& beta) {
        alpha = random.chance(0.15) ? 0 : compute * std::exp(random.between(std::log(0.01), std::log(3.0)));
        beta = random.chance(0.15) ? 0 : compute * std::exp(random.between(std::log(0.001), std::log(0.3)));
    };
    sync(model.alpha_n, model.beta_n);
    sync(model.alpha_r, model.beta_r);
    model.gamma = random.chance(0.2) ? 1 : random.chance(0.1) ? 10 : std::exp(random.between(0, std::log(10.0)));
    return model;
}

ThroughputSample sample_of(const PolluxThroughput& model, Shape shape, int batch, double compute_factor = 1,
                           double step_factor = 1) {
    const double compute = model.compute_seconds(batch);
    const double step = model.iteration_seconds(shape, {batch, 0});
    // A measured step is never shorter than the computing in it.
    const double measured = std::max(step * step_factor, compute * compute_factor);
    return {shape, {batch, 0}, measured, measured - compute * compute_factor};
}

const std::vector<Shape> measured_shapes{{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 8}, {2, 4}, {2, 8}, {3, 12}, {4, 16}};
const std::vector<Shape> unseen_shapes{{1, 5}, {1, 6}, {1, 7}, {2, 6}, {2, 7}, {3, 9}, {4, 14}};
const std::vector<int> measured_batches{16, 24, 40, 64, 128};
const std::vector<int> unseen_batches{16, 32, 100, 128};

double worst_error(const PolluxThroughput& found, const PolluxThroughput& truth) {
    double worst = 0;
    for (const Shape shape : unseen_shapes)
        for (const int batch : unseen_batches)
            worst = std::max(worst, std::abs(found.iteration_seconds(shape, {batch, 1}) /
                                                 truth.iteration_seconds(shape, {batch, 1}) -
                                             1));
    return worst;
}

/// Normally distributed, by the sum of twelve uniform numbers.
double noise(support::Random& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.unit();
    return sum;
}

/// Samples as a job gathers them: a few shapes, random batches.
std::vector<ThroughputSample> history(const std::vector<ThroughputSample>& all, std::size_t count,
                                      support::Random& random) {
    std::set<Shape> shapes{{1, 1}};
    const std::size_t sorts = static_cast<std::size_t>(random.integer(2, 6));
    for (std::size_t i = 0; i < sorts; ++i)
        shapes.insert(all[static_cast<std::size_t>(random.integer(0, static_cast<int>(all.size()) - 1))].shape);
    std::vector<ThroughputSample> pool, chosen;
    for (const ThroughputSample& sample : all)
        if (shapes.contains(sample.shape)) pool.push_back(sample);
    while (chosen.size() < count)
        chosen.push_back(pool[static_cast<std::size_t>(random.integer(0, static_cast<int>(pool.size()) - 1))]);
    return chosen;
}

/// What a fit minimises, without the prior.
double squares(const ThroughputFit& fit) {
    return fit.compute_rmsle * fit.compute_rmsle / 2 + fit.step_rmsle * fit.step_rmsle;
}

}  // namespace

TEST_CASE("Exact samples give back the model: predictions to 1e-6, zeros and both ends of gamma included") {
    support::Random random(1);
    ThroughputFitter fitter;
    for (int round = 0; round < 500; ++round) {
        const PolluxThroughput truth = random_model(random);
        std::vector<ThroughputSample> samples;
        for (const Shape shape : measured_shapes)
            for (const int batch : measured_batches) samples.push_back(sample_of(truth, shape, batch));
        const ThroughputFit fit = fitter.fit(samples);
        CAPTURE(round);
        CAPTURE(fit.report());
        CAPTURE(truth.gamma);
        CHECK(fit.status == FitStatus::converged);
        CHECK(worst_error(fit.model, truth) < 1e-6);
        CHECK(fit.step_rmsle < 1e-6);
        CHECK(std::count(fit.identified.begin(), fit.identified.end(), true) == 7);
    }
}

TEST_CASE("With 2 % noise on every measurement predictions for unseen shapes are within 3 %") {
    support::Random random(2);
    ThroughputFitter fitter;
    int beyond = 0, all = 0;
    for (int round = 0; round < 500; ++round) {
        const PolluxThroughput truth = random_model(random);
        std::vector<ThroughputSample> samples;
        for (int repeat = 0; repeat < 4; ++repeat)
            for (const Shape shape : measured_shapes)
                for (const int batch : measured_batches)
                    samples.push_back(sample_of(truth, shape, batch, std::exp(0.02 * noise(random)),
                                                std::exp(0.02 * noise(random))));
        const double worst = worst_error(fitter.fit(samples).model, truth);
        ++all;
        beyond += worst > 0.03 ? 1 : 0;
        if (worst > 0.03) MESSAGE(worst << " gamma " << truth.gamma);
    }
    CHECK(beyond == 0);
}
