#ifndef GOODPUT_MODEL_JOB_MODEL_HPP
#define GOODPUT_MODEL_JOB_MODEL_HPP

// What is known of one job's speed on every GPU type. goodput_predictor.hpp says what follows for its
// options.

#include <cstddef>
#include <variant>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/pollux.hpp"
#include "goodput/model/refined.hpp"

namespace goodput {

/// A job's speed on one GPU type.
struct TypeModel {
    std::variant<PolluxThroughput, RefinedThroughput>
        throughput{};  ///< the published form or the refined one
    /// Largest number of replicas measured; with 0 a published model says nothing, a refined one what other
    /// types let expect, if it has been `fitted`.
    int most_replicas = 0;
    bool fitted = false;    ///< refined: there is a model, if only from other types
    BatchPlan last_plan{};  ///< of the newest measurement: a pipeline job keeps it

    /// Which of the two forms it has.
    [[nodiscard]] bool refined() const { return std::holds_alternative<RefinedThroughput>(throughput); }
    /// Seconds that a step computes on `atomic_batch` examples.
    [[nodiscard]] double compute_seconds(double atomic_batch) const {
        return std::visit([&](const auto& model) { return model.compute_seconds(atomic_batch); }, throughput);
    }
    /// Seconds of an iteration; `shape.gpus` counts replicas.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        return std::visit([&](const auto& model) { return model.iteration_seconds(shape, plan); },
                          throughput);
    }
};

/// A job's speed, by GPU type; empty for a job of which nothing is known.
struct JobModel {
    std::vector<TypeModel> types{};  ///< as many as Cluster::gpu_types, or none
};

/// The batch limits of a job on a GPU type. Without gradient statistics nobody knows what a larger batch is
/// worth, so the total batch size stays at the initial one.
[[nodiscard]] inline BatchLimits batch_limits(const Job& job, std::size_t gpu_type) {
    const TypeLimits& type = job.types[gpu_type];
    return {job.initial_batch, job.largest_batch(), type.min_atomic_batch, type.max_atomic_batch,
            job.single_gpu_accumulates};
}

}  // namespace goodput

#endif
