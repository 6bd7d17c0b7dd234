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

#include "goodput/core/batch.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/model/detail/overlap.hpp"

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
        detail::OverlappedSteps<1> one;
        one.compute[0] = compute;
        one.sync[0] = sync;
        one.evaluate(gamma, 1);
        return {one.seconds[0], one.per_compute[0], one.per_sync[0]};
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
