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
// With gamma = 1 nothing overlaps. With gamma = 10 the longer part hides nearly all of the shorter one.
//
// All times are in seconds. The model is linear in the batch and ignores how many GPUs each node holds.
//
// The refined model adds effects that measurements show and Pollux's model leaves out. As in Pollux's
// model, an iteration of s accumulation steps takes
//
//     T = s C + (C^gamma + S^gamma)^(1/gamma)       C computing, S synchronising, gamma >= 1 their overlap
//
// On n nodes with K replicas, k = K / n of them per node, and an atomic batch of b examples
//
//     C = max(launch, c(b)) f(K),      f(1) = alone, f(K) = K^straggling
//     S = node_seconds (K / 2)^node_gpus                                      K >= 2 replicas on one node
//     S = network_seconds k^network_gpus (n / 2)^network_nodes R              n >= 2 nodes, R = network_ring
//                                                                             if n >= 3, else 1
//     S = 0                                                                   K = 1
//
// 1. c is not a straight line. A library chooses different kernels for different batch sizes, and a larger
//    batch may even be computed faster. c(b) is line(b) times a factor, which is known at the measured
//    batches. Between two measured batches c is straight, and beyond them the last factor is kept.
// 2. The replicas of a node share its network card, so k and the number of nodes have separate exponents.
//    The cost of a ring grows with every node, and the cost of a tree hardly grows. Two nodes are a special
//    case, because they exchange everything over a single pair of links.
// 3. All replicas wait for the slowest of them. A single replica has no hooks that collect gradients, and
//    its other work differs as well.
// 4. Each measured shape has factors of its own on C and S, because shapes deviate from these laws.
// 5. A small batch keeps the GPU waiting for the host, which launches kernels one by one. Computing then
//    takes launch_seconds, whatever the batch.
//
// For one shape this is Pollux's model with a broken line for the computing time. All times are in seconds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1 {

/// The time of a step in which computing and synchronising overlap, with its derivatives. The step is
/// homogeneous in the two times, so seconds = per_compute * compute + per_sync * sync. The step is also
/// convex, so the same two factors give a lower bound on the step at other times.
struct OverlappedStep {
    double seconds = 0;      ///< seconds of the step
    double per_compute = 0;  ///< d seconds / d compute, in [0, 1]
    double per_sync = 0;     ///< d seconds / d sync, in [0, 1]
};

/// Returns the time and derivatives of the last step of an iteration, in which computing and synchronising
/// overlap. `gamma`: how much they overlap, at least 1 (Pollux, OSDI'21, section 3.2).
[[nodiscard]] inline OverlappedStep overlapped_step(double compute, double sync, double gamma) {
    // Scaled by the longer part, because the powers of short times underflow at gamma = 10.
    const bool computes_longer = compute >= sync;
    const double longer = computes_longer ? compute : sync, shorter = computes_longer ? sync : compute;
    const double ratio = shorter / (longer + std::numeric_limits<double>::min());  // 0 if both are 0
    const double power = std::pow(ratio, gamma - 1);
    const double per_longer = std::pow(1 + ratio * power, 1 / gamma - 1), per_shorter = per_longer * power;
    const double seconds = std::max(longer, per_longer * longer + per_shorter * shorter);
    return computes_longer ? OverlappedStep{seconds, per_longer, per_shorter}
                           : OverlappedStep{seconds, per_shorter, per_longer};
}

/// Pollux's model with seven parameters, for one job on one GPU type. A ThroughputModel.
struct PolluxThroughput {
    /// See BrokenLineModel.
    using BrokenLine = PolluxThroughput;

    double alpha_c = 0;  ///< s, computing: constant part
    double beta_c = 0;   ///< s per example, computing
    double alpha_n = 0;  ///< s, synchronising two replicas on two nodes
    double beta_n = 0;   ///< s per additional replica, on several nodes
    double alpha_r = 0;  ///< s, synchronising two replicas on one node
    double beta_r = 0;   ///< s per additional replica, on one node
    double gamma = 1;    ///< overlap of computing and synchronising, at least 1

    /// Seconds that a step spends computing on `atomic_batch` examples.
    [[nodiscard]] double compute_seconds(double atomic_batch) const {
        return alpha_c + beta_c * atomic_batch;
    }

    /// Seconds that a step spends synchronising. `shape.gpus` counts replicas.
    [[nodiscard]] double sync_seconds(Shape shape) const {
        if (shape.gpus < 2) return 0;
        const double further = std::max(shape.gpus - 2, 0);
        return shape.nodes > 1 ? alpha_n + beta_n * further : alpha_r + beta_r * further;
    }

    /// Seconds of the last step of an iteration, from its computing and synchronising times.
    [[nodiscard]] double step_seconds(double compute, double sync) const {
        return overlapped_step(compute, sync, gamma).seconds;
    }

    /// Seconds of an iteration; `shape.gpus` counts replicas.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const double compute = compute_seconds(plan.atomic_batch);
        return plan.accumulation_steps * compute + step_seconds(compute, sync_seconds(shape));
    }
};

/// The ratio of the computing time at a batch to the straight line.
struct BatchFactor {
    double batch = 0;   ///< atomic batch, examples
    double factor = 1;  ///< factor on the straight line, above 0
};

/// The ratios of the computing and synchronising times on a shape to the laws.
struct ShapeFactor {
    Shape shape{};       ///< nodes and replicas
    double compute = 1;  ///< factor on the computing time, above 0
    double sync = 1;     ///< factor on the synchronising time, above 0
};

/// The refined model, for one job on one GPU type. A ThroughputModel.
struct RefinedThroughput {
    /// See BrokenLineModel.
    using BrokenLine = RefinedThroughput;

    double alpha_c = 0;                  ///< s, computing on several replicas: constant part
    double beta_c = 0;                   ///< s per example, computing
    std::vector<BatchFactor> batches{};  ///< factors on the straight line, ascending by batch
    double launch_seconds = 0;           ///< s, the least computing time; 0 if only the line counts
    double alone = 1;                    ///< factor on the computing time of a single replica
    double straggling = 0;               ///< exponent of the number of replicas in the computing time
    double node_seconds = 0;             ///< s, synchronising two replicas on one node
    double node_gpus = 0;                ///< exponent of half the number of replicas, on one node
    double network_seconds = 0;          ///< s, synchronising two replicas on two nodes
    double network_gpus = 0;             ///< exponent of the replicas per node
    double network_nodes = 0;            ///< exponent of half the number of nodes
    double network_ring = 1;             ///< factor for three or more nodes
    double gamma = 1;                    ///< overlap of computing and synchronising, at least 1
    std::vector<ShapeFactor> shapes{};   ///< factors of measured shapes, ascending by shape

    /// Seconds that one of several replicas computes on `atomic_batch` examples, without the factor of its
    /// shape.
    [[nodiscard]] double compute_seconds(double atomic_batch) const {
        return std::max(launch_seconds, line_seconds(atomic_batch));
    }

    /// The same if the host launched kernels in no time.
    [[nodiscard]] double line_seconds(double atomic_batch) const {
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

    /// Returns the factor on the computing time on `shape`. `shape.gpus` counts replicas.
    [[nodiscard]] double compute_factor(Shape shape) const {
        const double law = shape.gpus < 2 ? alone : std::exp(straggling * std::log(shape.gpus));
        const ShapeFactor* own = factor_of(shape);
        return own ? law * own->compute : law;
    }

    /// Seconds that replicas synchronise on `shape`, including the factor of the shape.
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
               overlapped_step(compute, sync_seconds(shape), gamma).seconds;
    }

    /// Returns the factors of a measured shape, or null for any other shape.
    [[nodiscard]] const ShapeFactor* factor_of(Shape shape) const {
        const auto found =
            std::lower_bound(shapes.begin(), shapes.end(), shape,
                             [](const ShapeFactor& at, const Shape& wanted) { return at.shape < wanted; });
        return found != shapes.end() && found->shape == shape ? &*found : nullptr;
    }
};

}  // namespace goodput::inline v0_1

#endif
