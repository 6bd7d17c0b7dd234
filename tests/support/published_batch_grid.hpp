#ifndef GOODPUT_TESTS_SUPPORT_PUBLISHED_BATCH_GRID_HPP
#define GOODPUT_TESTS_SUPPORT_PUBLISHED_BATCH_GRID_HPP

// The batch search of the published systems (AdaptDL, and with it Pollux and Sia), to compare with: fifty
// total batch sizes in geometric steps from the least to the largest, each spread over replicas and
// accumulation steps by rounding up, evaluated at the batch that is really used. The first largest wins.
//
// It is not bound by the limits: rounding up can exceed max_batch, and where fewer examples than the initial
// batch fit, the steps run downwards. `legal` says whether the winner respects the limits.

#include <algorithm>
#include <cmath>

#include "goodput/model/batch_plan.hpp"

namespace support {

struct GridPlan {
    goodput::BatchPlan plan;
    double goodput = 0;
    bool legal = false;
};

inline bool respects(const goodput::BatchLimits& limits, int replicas, goodput::BatchPlan plan) {
    const auto total = plan.total(replicas);
    if (plan.atomic_batch < std::max(limits.min_atomic_batch, 1) ||
        plan.atomic_batch > limits.max_atomic_batch)
        return false;
    if (plan.accumulation_steps < 0 || total < limits.initial_batch || total > limits.max_batch) return false;
    return !(limits.single_gpu_accumulates && replicas == 1 && total > limits.initial_batch &&
             plan.accumulation_steps == 0);
}

/// `only_legal`: plans outside the limits are passed over, so that the best legal grid point is found.
template <goodput::ThroughputModel Throughput, goodput::EfficiencyModel Efficiency>
GridPlan published_batch_grid(const Throughput& throughput, const Efficiency& efficiency,
                              goodput::Shape shape, const goodput::BatchLimits& limits, bool only_legal) {
    const double replicas = shape.gpus;
    const double first = std::max<double>(limits.initial_batch, limits.min_atomic_batch * replicas);
    const double last = limits.max_batch;
    const auto round_up = [](double x) { return std::ceil(x - 1e-8); };
    GridPlan best;
    for (int i = 0; i < 50; ++i) {
        const double total = i == 0    ? first
                             : i == 49 ? last
                                       : std::exp(std::log(first) + i / 49.0 * std::log(last / first));
        const double load = total / replicas;
        double steps = std::max(round_up(load / limits.max_atomic_batch) - 1, 0.0);
        if (shape.gpus == 1 && limits.single_gpu_accumulates && load > limits.initial_batch + 1e-8)
            steps = std::max(steps, 1.0);
        const goodput::BatchPlan plan{static_cast<int>(round_up(load / (steps + 1))),
                                      static_cast<int>(steps)};
        if (plan.atomic_batch < limits.min_atomic_batch || plan.atomic_batch > limits.max_atomic_batch)
            continue;
        const bool legal = respects(limits, shape.gpus, plan);
        if (only_legal && !legal) continue;
        const double used = static_cast<double>(plan.total(shape.gpus));
        const double goodput = used / throughput.iteration_seconds(shape, plan) * efficiency.efficiency(used);
        if (std::isfinite(goodput) && goodput > best.goodput) best = {plan, goodput, legal};
    }
    return best;
}

}  // namespace support

#endif
