#ifndef GOODPUT_CORE_SAMPLE_HPP
#define GOODPUT_CORE_SAMPLE_HPP

// What a running job reports: how long a step took, and how noisy its gradient is; and the interval in which
// something lies that was estimated from that.

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"

namespace goodput {

/// From `low` to `high`.
struct Interval {
    double low = 0;   ///< in the unit of what it is an interval of
    double high = 0;  ///< at least `low`
};

/// One measurement of a job on one GPU type. `shape.gpus` counts replicas (equal to GPUs for data
/// parallelism).
struct ThroughputSample {
    Shape shape{};            ///< nodes and replicas
    BatchPlan plan{};         ///< what it was measured with
    double step_seconds = 0;  ///< an iteration's last step, synchronisation included
    double sync_seconds = 0;  ///< the part of it spent in synchronisation; the rest is computing
    HostShare host{};  ///< what went with each GPU; looked at where Job::host says what that makes of it
    bool sync_known = true;  ///< false: nobody measured the part, and sync_seconds is 0
    /// true: step_seconds is of the whole iteration, its accumulation steps included
    bool whole_iteration = false;

    /// How many microbatches step_seconds is the time of.
    [[nodiscard]] int microbatches() const { return whole_iteration ? plan.accumulation_steps + 1 : 1; }
    /// Seconds of computing a microbatch, where they are known: a single replica does nothing else.
    [[nodiscard]] std::optional<double> compute_seconds() const {
        if (sync_known || shape.gpus < 2) return (step_seconds - sync_seconds) / microbatches();
        return std::nullopt;
    }
    /// What of the plan step_seconds is the time of: the last step alone, or all of them.
    [[nodiscard]] BatchPlan timed_plan() const { return {plan.atomic_batch, microbatches() - 1}; }
};

/// Squared norm of the true gradient and trace of its covariance at the initial batch size (Pollux, OSDI'21).
struct GradientStatistics {
    double squared_norm = 0;  ///< in any unit, the same as the variance's
    double variance = 0;      ///< at least 0; only the ratio of the two matters
};

/// What is known by a report of statistics: nothing where both are zero, as trainings report that have not
/// measured any yet (no gradient is zero without any noise).
[[nodiscard]] inline std::optional<GradientStatistics> measured_gradient(
    const std::optional<GradientStatistics>& reported) {
    return reported && reported->squared_norm == 0 && reported->variance == 0 ? std::nullopt : reported;
}

namespace detail {

/// Refuses what is no shape of replicas, or no batch plan (std::invalid_argument).
inline void require_configuration(std::string_view subject, Shape shape, BatchPlan plan) {
    require_between(subject, "nodes", shape.nodes, 1, 1 << 20);
    require_between(subject, "gpus", shape.gpus, shape.nodes, 1 << 20);
    require_between(subject, "atomic_batch", plan.atomic_batch, 1, 1 << 30);
    require_between(subject, "accumulation_steps", plan.accumulation_steps, 0, 1 << 20);
}

}  // namespace detail

/// The shortest time that a step may take: far below what training takes, and near enough that what is fitted
/// to such times does not vanish, on any shape and batch.
inline constexpr double least_step_seconds = 1e-12;
/// The longest, at which nothing overflows yet.
inline constexpr double most_step_seconds = 1e12;

/// Refuses a measurement that cannot be one: no GPU, no example, times that are not positive and finite or
/// outside [least_step_seconds, most_step_seconds], or more synchronisation than step, or any of it unknown
/// (std::invalid_argument).
template <MessageSubject Subject>
void validate(const ThroughputSample& sample, const Subject& subject) {
    require_between(subject, "sample.shape.nodes", sample.shape.nodes, 1, 1 << 20);
    require_between(subject, "sample.shape.gpus", sample.shape.gpus, sample.shape.nodes, 1 << 20);
    require_between(subject, "sample.plan.atomic_batch", sample.plan.atomic_batch, 1, 1 << 30);
    require_between(subject, "sample.plan.accumulation_steps", sample.plan.accumulation_steps, 0, 1 << 20);
    require_between(subject, "sample.step_seconds", sample.step_seconds, least_step_seconds,
                    most_step_seconds);
    require_at_least(subject, "sample.sync_seconds", sample.sync_seconds, 0);
    require_at_least(subject, "sample.host.cores_per_gpu", sample.host.cores_per_gpu, 0);
    require_at_least(subject, "sample.host.memory_gib_per_gpu", sample.host.memory_gib_per_gpu, 0);
    if (!sample.sync_known && sample.sync_seconds != 0)
        bad_input(detail::text_of_subject(subject), "sample.sync_seconds", sample.sync_seconds,
                  "0 where it is unknown");
    if (!(sample.sync_seconds < sample.step_seconds))
        bad_input(detail::text_of_subject(subject), "sample.sync_seconds", sample.sync_seconds,
                  "below the time of the step, " + text_of(sample.step_seconds));
}

/// Refuses statistics that are negative or not finite (std::invalid_argument).
template <MessageSubject Subject>
void validate(const GradientStatistics& gradient, const Subject& subject) {
    require_at_least(subject, "gradient.squared_norm", gradient.squared_norm, 0);
    require_at_least(subject, "gradient.variance", gradient.variance, 0);
}

/// A measurement of a job.
struct NewSample {
    std::size_t gpu_type = 0;   ///< index into Cluster::gpu_types
    ThroughputSample sample{};  ///< what was measured
};

/// What was heard of a job since the last round.
struct JobNews {
    std::vector<NewSample> samples{};  ///< its measurements
    /// The largest total batch that its owner wants. What the job does counts for more: a batch that it was
    /// seen to use is one that it may be given.
    std::optional<int> wanted_batch{};
    bool brings_model = false;  ///< its model in the snapshot is its own and stays as it is
};

}  // namespace goodput

#endif
