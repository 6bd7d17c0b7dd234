#ifndef GOODPUT_MODEL_POLLUX_HPP
#define GOODPUT_MODEL_POLLUX_HPP

// Pollux's model of the iteration time of a data-parallel job on one GPU type (OSDI'21, section 3.2; the
// released code of Pollux and Sia agree on the form):
//
//     compute(b)      = alpha_c + beta_c b                            b = atomic batch
//     sync(n, K)      = 0                                             K = 1
//                     = alpha_r + beta_r max(K - 2, 0)                K >= 2 replicas on one node
//                     = alpha_n + beta_n max(K - 2, 0)                n >= 2 nodes
//     step(b, n, K)   = (compute^gamma + sync^gamma)^(1/gamma)        gamma in [1, 10]: 1 no overlap, 10
//     nearly full iteration       = s compute + step                              s = accumulation steps
//
// All times in seconds. The model is linear in the batch and knows nothing of how GPUs are spread over nodes.

#include <algorithm>
#include <cmath>

#include "goodput/core/batch.hpp"
#include "goodput/core/shape.hpp"

namespace goodput {

struct PolluxThroughput {
    double alpha_c = 0;  ///< s, computing: constant part
    double beta_c = 0;   ///< s per example
    double alpha_n = 0;  ///< s, synchronising two replicas on two nodes
    double beta_n = 0;   ///< s per further replica, over several nodes
    double alpha_r = 0;  ///< s, synchronising two replicas on one node
    double beta_r = 0;   ///< s per further replica, on one node
    double gamma = 1;    ///< overlap of computing and synchronising

    [[nodiscard]] double compute_seconds(double atomic_batch) const {
        return alpha_c + beta_c * atomic_batch;
    }

    /// `shape.gpus` counts replicas.
    [[nodiscard]] double sync_seconds(Shape shape) const {
        if (shape.gpus < 2) return 0;
        const double further = std::max(shape.gpus - 2, 0);
        return shape.nodes > 1 ? alpha_n + beta_n * further : alpha_r + beta_r * further;
    }

    /// The last step of an iteration, in which computing and synchronising overlap.
    [[nodiscard]] double step_seconds(double compute, double sync) const {
        const double longer = std::max(compute, sync), shorter = std::min(compute, sync);
        if (shorter <= 0) return longer;
        // Scaled by the longer part, because the powers of small times underflow at gamma = 10.
        return longer * std::pow(1 + std::pow(shorter / longer, gamma), 1 / gamma);
    }

    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const double compute = compute_seconds(plan.atomic_batch);
        return plan.accumulation_steps * compute + step_seconds(compute, sync_seconds(shape));
    }
};

}  // namespace goodput

#endif
