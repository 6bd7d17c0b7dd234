#ifndef GOODPUT_CORE_SAMPLE_HPP
#define GOODPUT_CORE_SAMPLE_HPP

// Reports of a running job: how long a step took, and how noisy the gradient is. Also the interval around a
// value that was estimated from such reports.

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// An interval from `low` to `high`.
struct Interval {
    double low = 0;   ///< in the unit of the estimated value
    double high = 0;  ///< at least `low`
};

/// One measurement of a job on one GPU type. `shape.gpus` counts replicas, which are GPUs for data
/// parallelism.
struct ThroughputSample {
    Shape shape{};            ///< nodes and replicas
    BatchPlan plan{};         ///< batch plan during the measurement
    double step_seconds = 0;  ///< seconds of the last step of an iteration, synchronisation included
    double sync_seconds = 0;  ///< part of step_seconds spent in synchronisation; the rest is computing
    HostShare host{};  ///< cores and memory per GPU; used only if Job::host says how speed depends on them
    bool sync_known = true;  ///< false: this part was not measured, and sync_seconds is 0
    /// Whether step_seconds covers the whole iteration with its accumulation steps.
    bool whole_iteration = false;

    /// Number of microbatches that step_seconds covers.
    [[nodiscard]] int microbatches() const { return whole_iteration ? plan.accumulation_steps + 1 : 1; }
    /// Seconds of computing per microbatch, if known. A single replica does nothing but compute.
    [[nodiscard]] std::optional<double> compute_seconds() const {
        if (sync_known || shape.gpus < 2) return (step_seconds - sync_seconds) / microbatches();
        return std::nullopt;
    }
    /// The plan of the steps that step_seconds covers: the last step alone, or all steps.
    [[nodiscard]] BatchPlan timed_plan() const { return {plan.atomic_batch, microbatches() - 1}; }
};

/// Squared norm of the true gradient, and trace of its covariance at the initial batch size (Pollux,
/// OSDI'21).
struct GradientStatistics {
    double squared_norm = 0;  ///< in any unit, the same for both
    double variance = 0;      ///< at least 0; only the ratio of both matters

    /// Adds the statistics of another group of parameters, which the optimizer scales by itself.
    GradientStatistics& operator+=(const GradientStatistics& group) {
        squared_norm += group.squared_norm;
        variance += group.variance;
        return *this;
    }
};

/// Returns the reported statistics, or nothing if both are zero. A training run reports zeros before it has
/// measured anything; no real gradient is zero without any noise.
[[nodiscard]] inline std::optional<GradientStatistics> measured_gradient(
    const std::optional<GradientStatistics>& reported) {
    return reported && reported->squared_norm == 0 && reported->variance == 0 ? std::nullopt : reported;
}

namespace detail {

/// Throws std::invalid_argument if `shape` is not a shape of replicas, or `plan` is not a batch plan.
inline void require_configuration(std::string_view subject, Shape shape, BatchPlan plan) {
    require_between(subject, "nodes", shape.nodes, 1, 1 << 20);
    require_between(subject, "gpus", shape.gpus, shape.nodes, 1 << 20);
    require_between(subject, "atomic_batch", plan.atomic_batch, 1, 1 << 30);
    require_between(subject, "accumulation_steps", plan.accumulation_steps, 0, 1 << 20);
}

}  // namespace detail

/// The shortest valid step time. It is far below any real step, but large enough that parameters fitted to
/// it do not underflow to 0 for any shape and batch.
inline constexpr double least_step_seconds = 1e-12;
/// The longest valid step time. Computations with this time do not overflow yet.
inline constexpr double most_step_seconds = 1e12;

/// Throws std::invalid_argument if a measurement is impossible: it has no GPU or no example, the time of
/// the step is not in [least_step_seconds, most_step_seconds], the synchronisation is not shorter than the
/// step, or it is not 0 although unknown.
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

/// Throws std::invalid_argument if statistics are negative or not finite.
template <MessageSubject Subject>
void validate(const GradientStatistics& gradient, const Subject& subject) {
    require_at_least(subject, "gradient.squared_norm", gradient.squared_norm, 0);
    require_at_least(subject, "gradient.variance", gradient.variance, 0);
}

/// One measurement with its GPU type.
struct NewSample {
    std::size_t gpu_type = 0;   ///< index into Cluster::gpu_types
    ThroughputSample sample{};  ///< the measurement
};

/// News about a job since the last round.
struct JobNews {
    std::vector<NewSample> samples{};  ///< new measurements
    /// The largest total batch size that the owner wants. Observed behaviour takes precedence: a batch size
    /// that the job was seen to use may be chosen again.
    std::optional<int> wanted_batch{};
    bool brings_model = false;  ///< whether the snapshot holds the job's own model, which must stay
};

}  // namespace goodput::inline v0_1

#endif
