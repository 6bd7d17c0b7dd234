#ifndef GOODPUT_MODEL_DETAIL_PLAN_RANGE_HPP
#define GOODPUT_MODEL_DETAIL_PLAN_RANGE_HPP

// The batch plans that respect a job's limits on a given number of replicas. The "load" is the number of
// examples per replica: microbatches times atomic batch.

#include <algorithm>
#include <cstdint>

#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1::detail {

constexpr int divide_up(int dividend, int divisor) {
    return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

struct PlanRange {
    int least_load, most_load;  // 0, 0 if no plan is legal
    int least_atomic, most_atomic;
    int fewest_microbatches;
    // Whether the plan {initial_batch, 0} is legal too. All other legal plans accumulate in that case.
    bool initial_without_accumulation;

    PlanRange(int replicas, const BatchLimits& limits)
        : least_load(0),
          most_load(0),
          least_atomic(std::max(limits.min_atomic_batch, 1)),
          most_atomic(limits.max_atomic_batch),
          fewest_microbatches(1),
          initial_without_accumulation(false) {
        if (replicas < 1 || most_atomic < least_atomic) return;
        const int least = divide_up(std::max(limits.initial_batch, 1), replicas);
        const int most = limits.max_batch / replicas;
        if (most < least) return;
        least_load = least;
        most_load = most;
        if (least_load > most_atomic) fewest_microbatches = divide_up(least_load, most_atomic);
        if (limits.single_gpu_accumulates && replicas == 1 && fewest_microbatches == 1) {
            initial_without_accumulation =
                limits.initial_batch >= least_atomic && limits.initial_batch <= most_load;
            fewest_microbatches = 2;
        }
    }

    // Whether this number of microbatches fits the largest load.
    [[nodiscard]] bool allows(int microbatches) const {
        return std::int64_t{microbatches} * least_atomic <= most_load;
    }
    [[nodiscard]] int least_atomic_at(int microbatches) const {
        return std::max(least_atomic, microbatches == 1 ? least_load : divide_up(least_load, microbatches));
    }
    [[nodiscard]] int most_atomic_at(int microbatches) const {
        return std::min(most_atomic, microbatches == 1 ? most_load : most_load / microbatches);
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
