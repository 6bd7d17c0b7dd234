#ifndef GOODPUT_TESTS_SUPPORT_REFINED_JOBS_HPP
#define GOODPUT_TESTS_SUPPORT_REFINED_JOBS_HPP

// Jobs drawn from the distribution that RefinedPopulation expects, and measurements of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/core/sample.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "support/random.hpp"

namespace support {

/// Draws an approximately normal number as the sum of twelve uniform ones.
inline double normal(Random& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.unit();
    return sum;
}

/// Makes a model from coordinates (fit/detail/refined_terms.hpp) relative to computing for `seconds` at batch
/// 40, with random factors per batch and, with `own_factors`, per shape of up to 4 nodes of 8 GPUs.
inline goodput::RefinedThroughput refined_from(
    const std::array<double, goodput::refined_parameters>& coordinates, double seconds,
    const std::vector<int>& batches, bool own_factors, Random& random) {
    using namespace goodput;
    const RefinedPrior prior;
    goodput::detail::RefinedProblem problem;
    for (const int batch : batches) problem.residuals.terms.breaks.push_back(batch);
    RefinedPrior means;
    means.mean = coordinates;
    problem.set_prior(means, 40, seconds);
    FitParameters x = problem.residuals.mean;
    for (std::size_t i = 0; i < batches.size(); ++i)
        x[refined_parameters + i] = prior.break_deviation * normal(random);
    RefinedThroughput model;
    problem.residuals.terms.write(x, model);
    model.gamma = std::min(model.gamma, 10.0);
    if (own_factors)
        for (int nodes = 1; nodes <= 4; ++nodes)
            for (int gpus = std::max(nodes, 2); gpus <= 8 * nodes; ++gpus)
                model.shapes.push_back({{nodes, gpus},
                                        std::exp(prior.compute_deviation * normal(random)),
                                        std::exp(prior.sync_deviation * normal(random))});
    return model;
}

/// Draws one job's models on two GPU types.
inline std::array<goodput::RefinedThroughput, 2> random_types(Random& random, const std::vector<int>& batches,
                                                              bool own_factors = false) {
    const goodput::RefinedPopulation population;
    std::array<double, goodput::refined_parameters> job{};
    for (std::size_t i = 0; i < job.size(); ++i)
        job[i] = population.mean[i] + population.jobs[i] * normal(random);
    std::array<goodput::RefinedThroughput, 2> models;
    for (goodput::RefinedThroughput& model : models) {
        std::array<double, goodput::refined_parameters> type = job;
        for (std::size_t i = 0; i < job.size(); ++i) type[i] += population.types[i] * normal(random);
        const double seconds = std::exp(random.between(std::log(0.01), std::log(3.0)));
        model = refined_from(type, seconds, batches, own_factors, random);
    }
    return models;
}

inline goodput::RefinedThroughput random_refined(Random& random, const std::vector<int>& batches,
                                                 bool own_factors = false) {
    return random_types(random, batches, own_factors).front();
}

/// Returns the exact measurement of one step.
inline goodput::ThroughputSample sample_of(const goodput::RefinedThroughput& model, goodput::Shape shape,
                                           int batch) {
    const double compute = model.compute_seconds(batch) * model.compute_factor(shape);
    // If a step hides all synchronisation, rounding must not leave a negative synchronisation time.
    const double step = std::max(model.iteration_seconds(shape, {batch, 0}), compute);
    return {shape, {batch, 0}, step, step - compute};
}

/// The same with random errors of that standard deviation in both times.
inline goodput::ThroughputSample sample_of(const goodput::RefinedThroughput& model, goodput::Shape shape,
                                           int batch, double deviation, Random& random) {
    goodput::ThroughputSample sample = sample_of(model, shape, batch);
    const double compute = (sample.step_seconds - sample.sync_seconds) * std::exp(deviation * normal(random));
    sample.step_seconds = std::max(sample.step_seconds * std::exp(deviation * normal(random)), compute);
    sample.sync_seconds = sample.step_seconds - compute;
    return sample;
}

}  // namespace support

#endif
