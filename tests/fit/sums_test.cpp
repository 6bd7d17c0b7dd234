// The fits minimise what their headers say: the sum of squares of the Pollux model with its prior on
// gamma, and that of the refined model with its derivatives. Samples of one shape count as fewer than they
// are.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/fit/job_fit.hpp"
#include "peers/pollux/throughput_fit.hpp"
#include "support/random.hpp"
#include "support/refined_jobs.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

const std::vector<int> sums_batches{16, 32, 64, 128};

/// Makes steps with errors of a quarter, so that the prior on gamma matters.
std::vector<ThroughputSample> scattered_samples(support::Random& random) {
    PolluxThroughput truth{0.02, 0.002, 0.2, 0.01, 0.15, 0.01, std::exp(random.between(0.2, 1.5))};
    std::vector<ThroughputSample> samples;
    for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 8}, Shape{4, 16}})
        for (const int batch : sums_batches) {
            const double compute = truth.compute_seconds(batch) * std::exp(0.25 * support::normal(random));
            const double step = std::max(
                truth.iteration_seconds(shape, {batch, 0}) * std::exp(0.25 * support::normal(random)),
                compute);
            samples.push_back({shape, {batch, 0}, step, step - compute});
        }
    return samples;
}

/// Returns omega^2, the squared scatter of the samples about the line of least relative squares.
double squared_scatter(const std::vector<ThroughputSample>& samples) {
    double w = 0, x = 0, xx = 0, y = 0, xy = 0;
    for (const ThroughputSample& sample : samples) {
        const double batch = sample.plan.atomic_batch, seconds = sample.step_seconds - sample.sync_seconds;
        const double weight = 1 / (seconds * seconds);
        w += weight, x += weight * batch, xx += weight * batch * batch, y += weight * seconds;
        xy += weight * batch * seconds;
    }
    const double determinant = w * xx - x * x;
    const double constant = (xx * y - x * xy) / determinant, slope = (w * xy - x * y) / determinant;
    if (!(constant > 0 && slope > 0)) return -1;  // the line touches its bounds, which this test leaves out
    double squares = 0;
    for (const ThroughputSample& sample : samples) {
        const double error = std::log((constant + slope * sample.plan.atomic_batch) /
                                      (sample.step_seconds - sample.sync_seconds));
        squares += error * error;
    }
    return squares / (static_cast<double>(samples.size()) - 2);
}

/// The sum given in the header throughput_fit.hpp.
double documented_sum(const PolluxThroughput& model, const std::vector<ThroughputSample>& samples,
                      double omega_squared) {
    double sum = omega_squared * (model.gamma - 1) * (model.gamma - 1);
    for (const ThroughputSample& sample : samples) {
        const double compute = std::log(model.compute_seconds(sample.plan.atomic_batch) /
                                        (sample.step_seconds - sample.sync_seconds));
        const double step =
            std::log(model.iteration_seconds(sample.shape, sample.plan) / sample.step_seconds);
        sum += compute * compute / 2 + step * step;
    }
    return sum;
}

}  // namespace

TEST_CASE("Where a fit puts gamma between its bounds, the sum of squares with its prior is level") {
    support::Random random(71);
    int inside = 0, level = 0;
    for (int round = 0; round < 200; ++round) {
        const std::vector<ThroughputSample> samples = scattered_samples(random);
        const double omega_squared = squared_scatter(samples);
        if (omega_squared < 0) continue;
        const PolluxThroughput model = fit_throughput(samples, {.robust = false}).model;
        if (model.gamma < 1.05 || model.gamma > 9.5) continue;
        PolluxThroughput less = model, more = model;
        less.gamma -= 1e-5;
        more.gamma += 1e-5;
        const double slope =
            (documented_sum(more, samples, omega_squared) - documented_sum(less, samples, omega_squared)) /
            2e-5;
        ++inside;
        // A prior of twice the weight would change the slope by the prior's own, ten times the limit.
        level += std::abs(slope) <= 0.1 * 2 * omega_squared * (model.gamma - 1) ? 1 : 0;
    }
    CHECK(inside > 50);
    CHECK(level >= inside - inside / 20);
}

TEST_CASE(
    "The derivatives of the refined residuals are those of the residuals, at any weights, of steps and of "
    "iterations") {
    support::Random random(72);
    for (int round = 0; round < 100; ++round) {
        const RefinedThroughput truth = support::random_refined(random, sums_batches);
        std::vector<ThroughputSample> samples;
        for (const Shape shape : {Shape{1, 1}, Shape{1, 4}, Shape{2, 4}, Shape{2, 16}, Shape{3, 12}})
            for (const int batch : sums_batches) {
                samples.push_back(support::sample_of(truth, shape, batch, 0.1, random));
                if (!random.chance(0.3)) continue;
                samples.back().plan.accumulation_steps = random.integer(0, 9);
                samples.back().whole_iteration = true;
                samples.back().step_seconds *= samples.back().microbatches();
                samples.back().sync_known = random.chance(0.5);
                if (!samples.back().sync_known) samples.back().sync_seconds = 0;
            }
        detail::RefinedProblem problem;
        problem.read(samples);
        problem.set_prior(RefinedPopulation().prior(), 40, samples.front().step_seconds);
        auto& residuals = problem.residuals;
        residuals.scatter = random.between(0.02, 0.2);
        for (detail::RefinedRow& row : residuals.rows) row.weight = random.between(0.1, 1);
        Eigen::VectorXd y(residuals.parameters()), here(residuals.count()), less = here, more = here;
        for (double& value : y) value = 0.5 * support::normal(random);
        Eigen::MatrixXd slopes(residuals.count(), residuals.parameters());
        residuals(y.data(), here.data(), slopes.data());
        CAPTURE(round);
        REQUIRE(here.squaredNorm() ==
                doctest::Approx(residuals.squares(residuals.from_units(y.data()))).epsilon(1e-10));
        // The sum that the headers give, computed with the model itself.
        const FitParameters x = residuals.from_units(y.data());
        RefinedThroughput model;
        problem.residuals.terms.write(x, model);
        double sum = y.squaredNorm();
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const ThroughputSample& sample = samples[i];
            const double compute =
                model.compute_seconds(sample.plan.atomic_batch) * model.compute_factor(sample.shape);
            const double weight = residuals.rows[i].weight / (residuals.scatter * residuals.scatter);
            const double step =
                std::log(model.iteration_seconds(sample.shape, sample.timed_plan()) / sample.step_seconds);
            sum += weight * step * step;
            if (sample.shape.gpus == 1 || !sample.compute_seconds()) continue;
            const double apart = std::log(compute / *sample.compute_seconds());
            sum += weight * apart * apart / 2;
        }
        REQUIRE(here.squaredNorm() == doctest::Approx(sum).epsilon(1e-9));
        for (Eigen::Index i = 0; i < y.size(); ++i) {
            CAPTURE(i);
            Eigen::VectorXd at = y;
            at[i] = y[i] - 1e-5;
            residuals(at.data(), less.data(), nullptr);
            at[i] = y[i] + 1e-5;
            residuals(at.data(), more.data(), nullptr);
            // This row holds a second derivative, which has no residual.
            slopes(residuals.parameters(), i) = 0;
            REQUIRE((slopes.col(i) - (more - less) / 2e-5).norm() <= 1e-6 * (1 + slopes.col(i).norm()));
        }
    }
}

TEST_CASE("A shape measured again and again tells little of the others, several shapes tell more") {
    support::Random random(73);
    double again = 0, others = 0;  // variances over that of one measurement each, summed
    for (int round = 0; round < 40; ++round) {
        const RefinedThroughput truth = support::random_refined(random, sums_batches, true);
        const auto straggling_variance = [&](const std::vector<Shape>& shapes, int repeats) {
            std::vector<ThroughputSample> samples;
            for (const Shape shape : shapes)
                for (int repeat = 0; repeat < repeats; ++repeat)
                    for (const int batch : sums_batches)
                        samples.push_back(support::sample_of(truth, shape, batch, 0.03, random));
            const RefinedFit fit = fit_refined(samples, {.robust = false});
            const auto count = static_cast<std::size_t>(fit.coordinates.size());
            const std::size_t at = straggling_exponent;
            return fit.covariance[at * count + at];
        };
        const double once = straggling_variance({{1, 2}, {1, 8}}, 1);
        again += straggling_variance({{1, 2}, {1, 8}}, 16) / once;
        others +=
            straggling_variance({{1, 2}, {1, 3}, {1, 4}, {1, 6}, {1, 8}, {2, 8}, {2, 16}, {4, 32}}, 1) / once;
    }
    CHECK(again / 40 > 0.8);
    CHECK(others < again);
}
