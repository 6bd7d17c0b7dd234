#ifndef GOODPUT_CORE_SAMPLE_HPP
#define GOODPUT_CORE_SAMPLE_HPP

// What a running job reports: how long a step took, and how noisy its gradient is.

#include <string_view>

#include "goodput/core/batch.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/shape.hpp"

namespace goodput {

/// One measurement of a job on one GPU type. `shape.gpus` counts replicas (equal to GPUs for data
/// parallelism).
struct ThroughputSample {
    Shape shape{};            ///< nodes and replicas
    BatchPlan plan{};         ///< what it was measured with
    double step_seconds = 0;  ///< an iteration's last step, synchronisation included
    double sync_seconds = 0;  ///< the part of it spent in synchronisation; the rest is computing
};

/// Squared norm of the true gradient and trace of its covariance at the initial batch size (Pollux, OSDI'21).
struct GradientStatistics {
    double squared_norm = 0;  ///< in any unit, the same as the variance's
    double variance = 0;      ///< at least 0; only the ratio of the two matters
};

/// Refuses a measurement that cannot be one: no GPU, no example, times that are not positive and finite, or
/// more synchronisation than step (std::invalid_argument).
inline void validate(const ThroughputSample& sample, std::string_view subject) {
    require_between(subject, "samples.nodes", sample.shape.nodes, 1, 1 << 20);
    require_between(subject, "samples.gpus", sample.shape.gpus, sample.shape.nodes, 1 << 20);
    require_between(subject, "samples.local_batch", sample.plan.atomic_batch, 1, 1 << 30);
    require_between(subject, "samples.accumulation", sample.plan.accumulation_steps, 0, 1 << 20);
    require_positive(subject, "samples.step_s", sample.step_seconds);
    require_at_least(subject, "samples.sync_s", sample.sync_seconds, 0);
    if (!(sample.sync_seconds < sample.step_seconds))
        bad_input(subject, "samples.sync_s", sample.sync_seconds,
                  "below samples.step_s = " + text_of(sample.step_seconds));
}

/// Refuses statistics that are negative or not finite (std::invalid_argument).
inline void validate(const GradientStatistics& gradient, std::string_view subject) {
    require_at_least(subject, "gradient.sqr", gradient.squared_norm, 0);
    require_at_least(subject, "gradient.var", gradient.variance, 0);
}

}  // namespace goodput

#endif
