#ifndef GOODPUT_MODEL_POLLUX_HPP
#define GOODPUT_MODEL_POLLUX_HPP

// Pollux's model of the iteration time of a data-parallel job on one GPU type (OSDI'21, section 3.2; the
// released code of Pollux and Sia agree on the form):
//
//     compute(b)      = alpha_c + beta_c b                            b = atomic batch
//     sync(n, K)      = 0                                             K = 1
//                     = alpha_r + beta_r max(K - 2, 0)                K >= 2 replicas on one node
//                     = alpha_n + beta_n max(K - 2, 0)                n >= 2 nodes
//     step(b, n, K)   = (compute^gamma + sync^gamma)^(1/gamma)        gamma in [1, 10]
//     iteration       = s compute + step                              s = accumulation steps
//
// With gamma = 1 nothing overlaps, and with 10 nearly all of the shorter part is hidden behind the longer.
//
// All times in seconds. The model is linear in the batch and knows nothing of how GPUs are spread over nodes.

#include <algorithm>
#include <cmath>
#include <limits>

#include "goodput/core/configuration.hpp"

namespace goodput {

/// seconds = per_compute * compute + per_sync * sync, because the step is homogeneous in the two; it is also
/// convex, so the same two factors at other times give a lower bound on the step there.
struct OverlappedStep {
    double seconds = 0;      ///< of the step
    double per_compute = 0;  ///< d seconds / d compute, in [0, 1]
    double per_sync = 0;     ///< d seconds / d sync, in [0, 1]
};

/// Seven parameters of a job on one GPU type; a ThroughputModel.
struct PolluxThroughput {
    /// See BrokenLineModel.
    using BrokenLine = PolluxThroughput;

    double alpha_c = 0;  ///< s, computing: constant part
    double beta_c = 0;   ///< s per example
    double alpha_n = 0;  ///< s, synchronising two replicas on two nodes
    double beta_n = 0;   ///< s per further replica, over several nodes
    double alpha_r = 0;  ///< s, synchronising two replicas on one node
    double beta_r = 0;   ///< s per further replica, on one node
    double gamma = 1;    ///< overlap of computing and synchronising

    /// Seconds that a step computes on `atomic_batch` examples.
    [[nodiscard]] double compute_seconds(double atomic_batch) const {
        return alpha_c + beta_c * atomic_batch;
    }

    /// `shape.gpus` counts replicas.
    [[nodiscard]] double sync_seconds(Shape shape) const {
        if (shape.gpus < 2) return 0;
        const double further = std::max(shape.gpus - 2, 0);
        return shape.nodes > 1 ? alpha_n + beta_n * further : alpha_r + beta_r * further;
    }

    /// The last step of an iteration, in which computing and synchronising overlap, with its derivatives.
    [[nodiscard]] OverlappedStep overlapped_step(double compute, double sync) const {
        // Scaled by the longer part, because the powers of small times underflow at gamma = 10.
        const bool computes_longer = compute >= sync;
        const double longer = computes_longer ? compute : sync, shorter = computes_longer ? sync : compute;
        const double ratio = shorter / (longer + std::numeric_limits<double>::min());  // 0 where both are 0
        const double power = std::pow(ratio, gamma - 1);
        const double of_longer = std::pow(1 + ratio * power, 1 / gamma - 1), of_shorter = of_longer * power;
        const double seconds = std::max(longer, of_longer * longer + of_shorter * shorter);
        return computes_longer ? OverlappedStep{seconds, of_longer, of_shorter}
                               : OverlappedStep{seconds, of_shorter, of_longer};
    }

    /// Seconds of the last step of an iteration, from those of its two parts.
    [[nodiscard]] double step_seconds(double compute, double sync) const {
        return overlapped_step(compute, sync).seconds;
    }

    /// Seconds of an iteration; `shape.gpus` counts replicas.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const double compute = compute_seconds(plan.atomic_batch);
        return plan.accumulation_steps * compute + step_seconds(compute, sync_seconds(shape));
    }
};

}  // namespace goodput

#endif
