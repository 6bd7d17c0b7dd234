#ifndef GOODPUT_CORE_BATCH_HPP
#define GOODPUT_CORE_BATCH_HPP

// How many examples a GPU handles at once, and how often before the GPUs synchronise.

#include <compare>
#include <cstdint>

namespace goodput {

/// One training iteration: every replica handles `atomic_batch` examples, 1 + `accumulation_steps` times, and
/// synchronises in the last of these steps. {0, 0} is no plan.
struct BatchPlan {
    int atomic_batch = 0;        ///< examples per GPU and step (also called local batch)
    int accumulation_steps = 0;  ///< further steps before the one that synchronises

    /// Examples of one iteration on `replicas` replicas (total batch size).
    [[nodiscard]] constexpr std::int64_t total(int replicas) const {
        return std::int64_t{replicas} * atomic_batch * (accumulation_steps + std::int64_t{1});
    }

    /// By atomic batch, then accumulation steps.
    friend constexpr auto operator<=>(const BatchPlan&, const BatchPlan&) = default;
};

/// What a batch plan has to respect on one GPU type.
struct BatchLimits {
    int initial_batch = 0;     ///< total batch size that the training script was written for: the least
    int max_batch = 0;         ///< largest total batch size
    int min_atomic_batch = 1;  ///< least examples per GPU and step
    int max_atomic_batch = 0;  ///< most examples per GPU and step (memory)
    /// Above the initial batch size a single GPU must accumulate, because gradient statistics need two
    /// samples an iteration (Pollux, section 2.3 of the released code). Not needed with the differenced
    /// estimator.
    bool single_gpu_accumulates = false;
};

}  // namespace goodput

#endif
