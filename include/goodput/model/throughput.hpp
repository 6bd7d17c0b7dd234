#ifndef GOODPUT_MODEL_THROUGHPUT_HPP
#define GOODPUT_MODEL_THROUGHPUT_HPP

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
//
// The refined model has what Pollux's leaves out and measurements show. As there, an iteration of s
// accumulation steps takes
//
//     T = s C + (C^gamma + S^gamma)^(1/gamma)       C computing, S synchronising, gamma >= 1 their overlap
//
// On n nodes with K replicas, k = K / n of them a node, and an atomic batch of b examples
//
//     C = c(b) f(K),      f(1) = alone, f(K) = K^straggling
//     S = node_seconds (K / 2)^node_gpus                                      K >= 2 replicas on one node
//     S = network_seconds k^network_gpus (n / 2)^network_nodes R              n >= 2 nodes, R = network_ring
//                                                                             where n >= 3, else 1
//     S = 0                                                                   K = 1
//
// 1. c is no straight line: a library takes other kernels at other batch sizes, and a larger batch may even
//    be computed faster. c(b) = line(b) times a factor known at the measured batches, between them a straight
//    line, beyond them the factor at the end.
// 2. Replicas of a node share its network card, so k counts for itself, and the number of nodes for itself:
//    rings cost more for each node, trees hardly, and two nodes exchange everything over a single pair of
//    links, which is a case of its own.
// 3. The slowest of K replicas is waited for; a single one has no hooks that collect gradients, and other
//    duties.
// 4. Shapes that were measured differ from these laws by a factor of their own, of C and of S.
//
// For one shape this is Pollux's model with a broken line for its computing time. All times in seconds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

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

/// How much longer than the straight line computing takes at a batch.
struct BatchFactor {
    double batch = 0;   ///< atomic batch, examples
    double factor = 1;  ///< on the straight line, above 0
};

/// How much longer than the laws say computing and synchronising take on a shape.
struct ShapeFactor {
    Shape shape{};       ///< nodes and replicas
    double compute = 1;  ///< factor on the computing time, above 0
    double sync = 1;     ///< factor on the synchronising time, above 0
};

/// The parameters of a job on one GPU type; a ThroughputModel.
struct RefinedThroughput {
    /// See BrokenLineModel.
    using BrokenLine = RefinedThroughput;

    double alpha_c = 0;                  ///< s, computing on several replicas: constant part
    double beta_c = 0;                   ///< s per example
    std::vector<BatchFactor> batches{};  ///< ascending
    double alone = 1;                    ///< factor of computing on a single replica
    double straggling = 0;               ///< exponent of the replicas in computing
    double node_seconds = 0;             ///< s, synchronising two replicas on one node
    double node_gpus = 0;                ///< exponent of half the replicas, on one node
    double network_seconds = 0;          ///< s, synchronising two replicas on two nodes
    double network_gpus = 0;             ///< exponent of the replicas a node
    double network_nodes = 0;            ///< exponent of half the nodes
    double network_ring = 1;             ///< factor of three or more nodes
    double gamma = 1;                    ///< overlap of computing and synchronising
    std::vector<ShapeFactor> shapes{};   ///< ascending by shape

    /// Seconds that one of several replicas computes on `atomic_batch` examples, but for its shape's factor.
    [[nodiscard]] double compute_seconds(double atomic_batch) const {
        const auto line = [&](double batch) { return alpha_c + beta_c * batch; };
        if (batches.empty()) return line(atomic_batch);
        const auto above = std::upper_bound(batches.begin(), batches.end(), atomic_batch,
                                            [](double b, const BatchFactor& at) { return b < at.batch; });
        if (above == batches.begin()) return line(atomic_batch) * batches.front().factor;
        const BatchFactor& low = *(above - 1);
        if (above == batches.end()) return line(atomic_batch) * low.factor;
        const double from = line(low.batch) * low.factor, to = line(above->batch) * above->factor;
        return from + (to - from) * (atomic_batch - low.batch) / (above->batch - low.batch);
    }

    /// The factor of computing on `shape`, whose gpus count replicas.
    [[nodiscard]] double compute_factor(Shape shape) const {
        const double law = shape.gpus < 2 ? alone : std::exp(straggling * std::log(shape.gpus));
        const ShapeFactor* own = factor_of(shape);
        return own ? law * own->compute : law;
    }

    /// Seconds that replicas synchronise on `shape`, its own factor included.
    [[nodiscard]] double sync_seconds(Shape shape) const {
        if (shape.gpus < 2) return 0;
        const double log_replicas = std::log(shape.gpus);
        double law = 0;
        if (shape.nodes > 1) {
            const double log_nodes = std::log(shape.nodes);
            law = network_seconds * std::exp(network_gpus * (log_replicas - log_nodes) +
                                             network_nodes * (log_nodes - std::numbers::ln2));
            if (shape.nodes > 2) law *= network_ring;
        } else {
            law = node_seconds * std::exp(node_gpus * (log_replicas - std::numbers::ln2));
        }
        const ShapeFactor* own = factor_of(shape);
        return own ? law * own->sync : law;
    }

    /// Seconds of an iteration; `shape.gpus` counts replicas.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const double compute = compute_seconds(plan.atomic_batch) * compute_factor(shape);
        return plan.accumulation_steps * compute +
               PolluxThroughput{.gamma = gamma}.step_seconds(compute, sync_seconds(shape));
    }

    /// The factors of a shape that was measured, else null.
    [[nodiscard]] const ShapeFactor* factor_of(Shape shape) const {
        const auto found =
            std::lower_bound(shapes.begin(), shapes.end(), shape,
                             [](const ShapeFactor& at, const Shape& wanted) { return at.shape < wanted; });
        return found != shapes.end() && found->shape == shape ? &*found : nullptr;
    }
};

}  // namespace goodput

#endif
