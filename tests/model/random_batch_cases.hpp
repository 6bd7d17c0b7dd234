#ifndef GOODPUT_TESTS_MODEL_RANDOM_BATCH_CASES_HPP
#define GOODPUT_TESTS_MODEL_RANDOM_BATCH_CASES_HPP

// Random models of either form with random limits, for the search for the best batch plan.

#include <algorithm>
#include <cmath>

#include "goodput/core/configuration.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/throughput.hpp"
#include "support/random.hpp"

namespace support {

/// Returns whether a plan is legal.
inline bool respects(const goodput::BatchLimits& limits, int replicas, goodput::BatchPlan plan) {
    const auto total = plan.total(replicas);
    if (plan.atomic_batch < std::max(limits.min_atomic_batch, 1) ||
        plan.atomic_batch > limits.max_atomic_batch)
        return false;
    if (plan.accumulation_steps < 0 || total < limits.initial_batch || total > limits.max_batch) return false;
    return !(limits.single_gpu_accumulates && replicas == 1 && total > limits.initial_batch &&
             plan.accumulation_steps == 0);
}

inline double log_between(Random& random, double low, double high) {
    return low * std::exp(random.unit() * std::log(high / low));
}

/// Zero, the bound at which fits stop, or anything from microseconds to seconds.
inline double some_seconds(Random& random, double most) {
    if (random.chance(0.1)) return 0;
    return random.chance(0.15) ? 1e-8 : log_between(random, most * 1e-5, most);
}

template <class Throughput>
struct BatchCase {
    Throughput model;
    goodput::NoiseScaleEfficiency efficiency;
    goodput::Shape shape;
    goodput::BatchLimits limits;
};

/// The largest sizes of a case.
struct BatchSizes {
    int batch, atomic, gpus;
};

inline double some_gamma(Random& random) {
    if (random.chance(0.2)) return 1;
    return random.chance(0.2) ? 10 : random.between(1, 10);
}

inline void randomise(goodput::PolluxThroughput& model, Random& random, const BatchSizes&) {
    model = {some_seconds(random, 1),   some_seconds(random, 0.1), some_seconds(random, 1),
             some_seconds(random, 0.1), some_seconds(random, 0.1), some_seconds(random, 0.1),
             some_gamma(random)};
}

/// Up to a dozen measured batches: fractional, beyond the limits or side by side. Factors from one half to
/// two make time fall with the batch, or start below zero, on many pieces.
inline void randomise(goodput::RefinedThroughput& model, Random& random, const BatchSizes& largest) {
    model = {};
    model.alpha_c = some_seconds(random, 1);
    model.beta_c = some_seconds(random, 0.1);
    const double spread = random.chance(0.3) ? 1.1 : 2;
    const bool integers = random.chance(0.7);
    for (int left = random.integer(0, 12); left > 0; --left) {
        const double batch = log_between(random, 1, 1.5 * largest.atomic);
        model.batches.push_back(
            {integers ? std::floor(batch) : batch, log_between(random, 1 / spread, spread)});
    }
    std::sort(model.batches.begin(), model.batches.end(),
              [](const goodput::BatchFactor& a, const goodput::BatchFactor& b) { return a.batch < b.batch; });
    const auto same = [](const goodput::BatchFactor& a, const goodput::BatchFactor& b) {
        return a.batch == b.batch;
    };
    model.batches.erase(std::unique(model.batches.begin(), model.batches.end(), same), model.batches.end());
    if (random.chance(0.5))  // the line's time at some batch, or none
        model.launch_seconds =
            random.between(0.3, 1.2) * model.line_seconds(log_between(random, 1, 1.5 * largest.atomic));
    model.alone = random.between(0.7, 1.3);
    model.straggling = random.between(-0.1, 0.3);
    model.node_seconds = some_seconds(random, 0.5);
    model.node_gpus = random.between(-1, 2);
    model.network_seconds = some_seconds(random, 1);
    model.network_gpus = random.between(-1, 2);
    model.network_nodes = random.between(-1, 2);
    model.network_ring = random.between(0.5, 2);
    model.gamma = some_gamma(random);
    if (random.chance(0.3)) model.shapes = {{{1, 1}, 1.2, 1}, {{1, 2}, 0.8, 2}, {{2, 4}, 1.1, 0}};
}

template <class Throughput>
BatchCase<Throughput> random_case(Random& random, const BatchSizes& largest) {
    BatchCase<Throughput> c;
    randomise(c.model, random, largest);
    c.limits.initial_batch = static_cast<int>(log_between(random, 1, largest.batch));
    c.limits.max_batch = random.integer(c.limits.initial_batch, largest.batch);
    c.limits.min_atomic_batch = static_cast<int>(log_between(random, 1, largest.atomic));
    c.limits.max_atomic_batch = random.integer(c.limits.min_atomic_batch, largest.atomic);
    c.limits.single_gpu_accumulates = random.chance(0.5);
    c.efficiency.initial_batch = c.limits.initial_batch;
    if (!random.chance(0.1)) c.efficiency.gradient.variance = log_between(random, 1e-3, 1e5);
    if (!random.chance(0.1)) c.efficiency.gradient.squared_norm = log_between(random, 1e-3, 1e3);
    const int gpus = random.chance(0.15) ? 1 : random.integer(1, largest.gpus);
    c.shape = {random.integer(1, std::min(gpus, 4)), gpus};
    return c;
}

}  // namespace support

#endif
