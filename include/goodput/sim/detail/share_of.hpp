#ifndef GOODPUT_SIM_DETAIL_SHARE_OF_HPP
#define GOODPUT_SIM_DETAIL_SHARE_OF_HPP

#include <algorithm>

#include "goodput/core/batch.hpp"
#include "goodput/core/shape.hpp"

namespace goodput {

namespace detail {

/// Divides a total batch size among the replicas, with as few accumulation steps as memory allows.
inline BatchPlan share_of(int total, Shape shape, const BatchLimits& limits) {
    const auto divide_up = [](int a, int b) { return (a + b - 1) / b; };
    const int load = std::max(divide_up(total, shape.gpus), limits.min_atomic_batch);
    int steps = divide_up(load, limits.max_atomic_batch) - 1;
    if (limits.single_gpu_accumulates && shape.gpus == 1 && load > limits.initial_batch)
        steps = std::max(steps, 1);
    return {divide_up(load, steps + 1), steps};
}

}  // namespace detail

}  // namespace goodput

#endif
