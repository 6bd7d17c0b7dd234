#ifndef GOODPUT_MEMORY_MEMORY_HPP
#define GOODPUT_MEMORY_MEMORY_HPP

// Does a batch fit in a GPU's memory? Parameters, gradients and optimiser state take a fixed part,
// activations a part for each example that is in the GPU at once:
//
//     bytes(b) = fixed + per_example b             b = atomic batch
//
// Accumulation steps follow each other and take no more; neither does a larger number of replicas. The
// largest batch is (capacity (1 - margin) - fixed) / per_example, rounded down.
//
// What it cannot do: memory that is not linear in the batch (an allocator that rounds up, a library that
// chooses its workspace by the batch), for which the margin is meant, and optimiser state that is divided
// among replicas.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/placement.hpp"

namespace goodput {

/// Memory that a replica takes on each of its GPUs. From measurements: memory/memory_fit.hpp.
struct MemoryModel {
    double fixed_bytes = 0;        ///< whatever the batch: parameters, gradients, optimiser state
    double bytes_per_example = 0;  ///< activations of one example
    /// Nothing is known of larger atomic batches, and they count as not fitting. Without such an end a model
    /// with bytes_per_example = 0 would allow any batch.
    int most_atomic_batch = std::numeric_limits<int>::max();

    /// Bytes that a GPU needs for `atomic_batch` examples at once.
    [[nodiscard]] double bytes(double atomic_batch) const {
        return fixed_bytes + bytes_per_example * atomic_batch;
    }
};

/// Memory of one GPU.
struct GpuMemory {
    double capacity_bytes = 0;  ///< all of it, above 0
    /// Share of it that stays free, for fragmentation and what the model does not see, in [0, 1).
    double margin = 0.05;

    /// What the margin leaves, in bytes.
    [[nodiscard]] double usable_bytes() const { return capacity_bytes * (1 - margin); }
};

/// Refuses negative or infinite bytes and an end below 1 (std::invalid_argument).
inline void validate(const MemoryModel& model) {
    require_at_least("memory model", "fixed bytes", model.fixed_bytes, 0);
    require_at_least("memory model", "bytes per example", model.bytes_per_example, 0);
    require_between("memory model", "most atomic batch", model.most_atomic_batch, 1,
                    std::numeric_limits<int>::max());
}

/// Refuses a capacity that is not positive and a margin outside [0, 1) (std::invalid_argument).
inline void validate(const GpuMemory& gpu) {
    require_positive("GPU memory", "capacity", gpu.capacity_bytes);
    if (!(gpu.margin >= 0 && gpu.margin < 1))
        bad_input("GPU memory", "margin", gpu.margin, "at least 0 and below 1");
}

/// The largest atomic batch that fits; 0 where not even one example does, never more than 2^30 or the model's
/// end. Refuses what validate() refuses (std::invalid_argument).
[[nodiscard]] inline int largest_atomic_batch(const MemoryModel& model, const GpuMemory& gpu) {
    validate(model);
    validate(gpu);
    const double usable = gpu.usable_bytes();
    const int most = std::min(model.most_atomic_batch, 1 << 30);
    if (model.bytes(1) > usable) return 0;
    if (model.bytes(most) <= usable) return most;
    // The sum decides, never a quotient: next to large fixed bytes that may be off by any number of batches.
    int fits = 1, too_large = most;
    while (too_large - fits > 1) {
        const int middle = fits + (too_large - fits) / 2;
        (model.bytes(middle) <= usable ? fits : too_large) = middle;
    }
    return fits;
}

/// Does a batch plan fit? Outcome::runs, or Outcome::impossible with a sentence that says what it would take,
/// what there is and what the largest batch is. Refuses a plan that is none (an atomic batch below 1,
/// negative accumulation steps) and what validate() refuses (std::invalid_argument).
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

}  // namespace goodput

#endif
