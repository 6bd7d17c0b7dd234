#ifndef GOODPUT_MODEL_PIPELINE_HPP
#define GOODPUT_MODEL_PIPELINE_HPP

// Iteration time of a job that is pipeline parallel within a replica and data parallel between replicas (Sia,
// SOSP'23, hybrid parallel jobs):
//
//     forward(b)  = compute_seconds(b) of the stage's model  one microbatch of b examples on one stage
//     iteration   = 3 (P - 1 + m) forward(b) + sync(n, K)    P stages, m microbatches, K replicas on n nodes
//
// The pipeline fills in P - 1 steps and then finishes one microbatch per step. Backward takes twice as long
// as forward, hence the factor 3. Replicas synchronise once per iteration, without overlap. All stages are
// assumed to take equally long, and the transfers between them count as part of forward.

#include <concepts>
#include <utility>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1 {

/// The model of one pipeline stage. PolluxThroughput and RefinedThroughput satisfy it, and so can a user's
/// own model.
template <class Model>
concept StageModel = requires(const Model& model, Shape shape, double atomic_batch) {
    { model.compute_seconds(atomic_batch) } -> std::convertible_to<double>;
    { model.sync_seconds(shape) } -> std::convertible_to<double>;
};

/// Checks that a type is a StageModel. If it is not, compilation fails with one line that says what is
/// wrong.
template <class Model>
consteval bool stage_model_fits() {
    static_assert(
        requires(const Model& model, double batch) {
            { model.compute_seconds(batch) } -> std::convertible_to<double>;
        },
        "StageModel: compute_seconds is missing, or is not: double compute_seconds(double "
        "atomic_batch) const");
    static_assert(
        requires(const Model& model, Shape shape) {
            { model.sync_seconds(shape) } -> std::convertible_to<double>;
        },
        "StageModel: sync_seconds is missing, or is not: double sync_seconds(Shape) const");
    return true;
}

/// A ThroughputModel with pipeline stages within a replica and data parallelism between replicas.
template <class Stage = PolluxThroughput>
class PipelineThroughput {
    static_assert(stage_model_fits<Stage>());

public:
    /// `stage.compute_seconds` is the forward time of a microbatch on one stage. It is multiplied by
    /// `stage.compute_factor` of the shape if the model has that function. `stage.sync_seconds` is the
    /// synchronisation of the replicas. The stage's gamma is not used. Throws std::invalid_argument if
    /// `stages` is below 1.
    PipelineThroughput(Stage stage, int stages) : stage_(std::move(stage)), stages_(stages) {
        require_between("pipeline", "stages", stages, 1, 1 << 20);
    }

    /// GPUs of one replica.
    [[nodiscard]] int stages() const { return stages_; }

    /// Returns the seconds of one iteration. `shape.gpus` counts replicas, not GPUs. The plan's atomic
    /// batch is the microbatch, and each replica processes accumulation_steps + 1 of them.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const double steps = stages_ - 1.0 + plan.accumulation_steps + 1.0;
        return 3 * steps * forward_seconds(shape, plan.atomic_batch) + stage_.sync_seconds(shape);
    }

private:
    [[nodiscard]] double forward_seconds(Shape shape, double atomic_batch) const {
        const double seconds = stage_.compute_seconds(atomic_batch);
        if constexpr (requires { stage_.compute_factor(shape); })
            return seconds * stage_.compute_factor(shape);
        else
            return seconds;
    }

    Stage stage_;
    int stages_;
};

}  // namespace goodput::inline v0_1

#endif
