#ifndef GOODPUT_MEMORY_MEMORY_HPP
#define GOODPUT_MEMORY_MEMORY_HPP

// Predicts whether a batch fits in a GPU's memory. Parameters, gradients and optimiser state take a fixed
// amount, and activations take an amount per example that is on the GPU at once:
//
//     bytes(b) = fixed + per_example b             b = atomic batch
//
// Accumulation steps run one after the other and take no more memory. More replicas take no more memory per
// GPU either. The largest batch is (capacity (1 - margin) - fixed) / per_example, rounded down.
//
// The model does not cover memory that is not linear in the batch, for example that of an allocator that
// rounds up, or of a library that chooses its workspace by the batch. The margin is meant for such effects.
// The model does not cover optimiser state that is divided among replicas either.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::inline v0_1 {

/// The memory that a replica takes on each of its GPUs. memory/memory_fit.hpp fits it to measurements.
struct MemoryModel {
    double fixed_bytes = 0;        ///< independent of the batch: parameters, gradients, optimiser state
    double bytes_per_example = 0;  ///< activations per example
    /// Larger atomic batches are treated as not fitting, because nothing is known about them. Without this
    /// limit, a model with bytes_per_example = 0 would allow any batch.
    int most_atomic_batch = std::numeric_limits<int>::max();

    /// Returns the bytes that a GPU needs for `atomic_batch` examples at once.
    [[nodiscard]] double bytes(double atomic_batch) const {
        return fixed_bytes + bytes_per_example * atomic_batch;
    }
};

/// The memory of one GPU.
struct GpuMemory {
    double capacity_bytes = 0;  ///< total, above 0
    /// Fraction that stays free, for fragmentation and for effects that the model does not cover, in [0,
    /// 1).
    double margin = 0.05;

    /// Bytes that remain after the margin.
    [[nodiscard]] double usable_bytes() const { return capacity_bytes * (1 - margin); }
};

/// Throws std::invalid_argument if bytes are negative or infinite, or if most_atomic_batch is below 1.
inline void validate(const MemoryModel& model) {
    require_at_least("memory model", "fixed bytes", model.fixed_bytes, 0);
    require_at_least("memory model", "bytes per example", model.bytes_per_example, 0);
    require_between("memory model", "most atomic batch", model.most_atomic_batch, 1,
                    std::numeric_limits<int>::max());
}

/// Throws std::invalid_argument if the capacity is not positive, or the margin is outside [0, 1).
inline void validate(const GpuMemory& gpu) {
    require_positive("GPU memory", "capacity", gpu.capacity_bytes);
    if (!(gpu.margin >= 0 && gpu.margin < 1))
        bad_input("GPU memory", "margin", gpu.margin, "at least 0 and below 1");
}

/// Returns the largest atomic batch that fits, or 0 if not even one example fits. The result is at most
/// 2^30 and at most the model's most_atomic_batch. Throws std::invalid_argument if validate() rejects an
/// argument.
[[nodiscard]] inline int largest_atomic_batch(const MemoryModel& model, const GpuMemory& gpu) {
    validate(model);
    validate(gpu);
    const double usable = gpu.usable_bytes();
    const int most = std::min(model.most_atomic_batch, 1 << 30);
    if (model.bytes(1) > usable) return 0;
    if (model.bytes(most) <= usable) return most;
    // Bisect on the sum. A quotient could be wrong by many batches if the fixed bytes are large.
    int fits = 1, too_large = most;
    while (too_large - fits > 1) {
        const int middle = fits + (too_large - fits) / 2;
        (model.bytes(middle) <= usable ? fits : too_large) = middle;
    }
    return fits;
}

/// Tells whether a batch plan fits. Returns Outcome::runs, or Outcome::impossible with a sentence that
/// states the needed memory, the usable memory and the largest batch. Throws std::invalid_argument if the
/// plan is invalid (an atomic batch below 1, negative accumulation steps), or if validate() rejects an
/// argument.
[[nodiscard]] inline Verdict fits(const MemoryModel& model, const GpuMemory& gpu, BatchPlan plan) {
    require_between("batch plan", "atomic batch", plan.atomic_batch, 1, 1 << 30);
    require_between("batch plan", "accumulation steps", plan.accumulation_steps, 0, 1 << 20);
    const int largest = largest_atomic_batch(model, gpu);
    if (plan.atomic_batch <= largest) return {};
    const auto gigabytes = [](double bytes) { return rounded_text_of(bytes / 1e9) + " GB"; };
    const std::string batch = "an atomic batch of " + text_of(plan.atomic_batch);
    const double needed = model.bytes(plan.atomic_batch), usable = gpu.usable_bytes();
    std::string reason;
    if (needed <= usable) {
        reason = batch +
                 " is beyond the largest that has been measured, and the measurements do not say how" +
                 " memory grows";
    } else {
        reason = batch + " takes " + gigabytes(needed) + ", and " + gigabytes(usable) + " are usable (" +
                 gigabytes(gpu.capacity_bytes) + " less a margin of " + rounded_text_of(100 * gpu.margin) +
                 " %)";
    }
    reason += largest > 0 ? "; the largest that fits is " + text_of(largest) : "; not even one example fits";
    return {Outcome::impossible, std::move(reason)};
}

}  // namespace goodput::inline v0_1

#endif
