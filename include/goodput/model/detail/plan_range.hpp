#ifndef GOODPUT_MODEL_DETAIL_PLAN_RANGE_HPP
#define GOODPUT_MODEL_DETAIL_PLAN_RANGE_HPP

// The batch plans that respect a job's limits: microbatches x atomic batch = examples of one replica, the "load".

#include <algorithm>

#include "goodput/core/batch.hpp"

namespace goodput::detail {

constexpr int divide_up(int dividend, int divisor) {
    return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

struct PlanRange {
    int least_load, most_load;
    int least_atomic, most_atomic;
    int fewest_microbatches, most_microbatches;  // none legal: 1, 0
    // {initial_batch, 0} is legal besides, and nothing else without accumulation.
    bool initial_without_accumulation;

    PlanRange() = default;
    PlanRange(int replicas, const BatchLimits& limits)
        : least_load(0),
          most_load(0),
          least_atomic(std::max(limits.min_atomic_batch, 1)),
          most_atomic(limits.max_atomic_batch),
          fewest_microbatches(1),
          most_microbatches(0),
          initial_without_accumulation(false) {
        if (replicas < 1) return;
        least_load = divide_up(std::max(limits.initial_batch, 1), replicas);
        most_load = limits.max_batch / replicas;
        if (most_atomic < least_atomic || most_load < least_load) return;
        if (least_load > most_atomic) fewest_microbatches = divide_up(least_load, most_atomic);
        most_microbatches = most_load / least_atomic;
        if (limits.single_gpu_accumulates && replicas == 1 && fewest_microbatches == 1) {
            initial_without_accumulation =
                limits.initial_batch >= least_atomic && limits.initial_batch <= most_load;
            fewest_microbatches = 2;
        }
    }

    [[nodiscard]] int least_atomic_at(int microbatches) const {
        return std::max(least_atomic, microbatches == 1 ? least_load : divide_up(least_load, microbatches));
    }
    [[nodiscard]] int most_atomic_at(int microbatches) const {
        return std::min(most_atomic, microbatches == 1 ? most_load : most_load / microbatches);
    }
};

}  // namespace goodput::detail

#endif
