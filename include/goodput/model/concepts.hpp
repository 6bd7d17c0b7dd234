#ifndef GOODPUT_MODEL_CONCEPTS_HPP
#define GOODPUT_MODEL_CONCEPTS_HPP

// What a model has to answer. Any type with the function satisfies the concept; nothing is inherited.

#include <concepts>

#include "goodput/core/configuration.hpp"

namespace goodput {

/// How long does one iteration take: `seconds = model.iteration_seconds(shape, plan)`, where shape.gpus
/// counts replicas. Satisfied by PolluxThroughput, RefinedThroughput, PipelineThroughput and
/// TabulatedThroughput.
template <class Model>
concept ThroughputModel = requires(const Model& model, Shape shape, BatchPlan plan) {
    { model.iteration_seconds(shape, plan) } -> std::convertible_to<double>;
};

/// A model whose best batch plan is proven without trying all (batch_plan.hpp), because an iteration of s
/// accumulation steps takes
///
///     s C + (C^gamma + sync_seconds(shape)^gamma)^(1/gamma),    C = compute_seconds(b) compute_factor(shape)
///
/// with C straight in the atomic batch b but at the batches that `batches[i].batch` names. compute_factor()
/// and batches may be left out. It names itself as BrokenLine, which a class that derives from it does not.
/// Satisfied by PolluxThroughput and RefinedThroughput.
template <class Model>
concept BrokenLineModel = ThroughputModel<Model> && std::same_as<typename Model::BrokenLine, Model> &&
    requires(const Model& model, Shape shape, double atomic_batch) {
    { model.compute_seconds(atomic_batch) } -> std::convertible_to<double>;
    { model.sync_seconds(shape) } -> std::convertible_to<double>;
    { model.gamma } -> std::convertible_to<double>;
};

/// How much progress an example makes at a total batch size, relative to the initial batch size (1 there,
/// falling): `factor = model.efficiency(total_batch)`. Satisfied by NoiseScaleEfficiency and FullEfficiency.
template <class Model>
concept EfficiencyModel = requires(const Model& model, double total_batch) {
    { model.efficiency(total_batch) } -> std::convertible_to<double>;
};

/// Does not compile for what is not quite a ThroughputModel, and says in one line what is wrong.
template <class Model>
consteval bool throughput_model_fits() {
    static_assert(ThroughputModel<Model>,
                  "ThroughputModel: iteration_seconds is missing, or is not: double iteration_seconds(Shape, "
                  "BatchPlan) const");
    return true;
}

/// Does not compile for what is not quite an EfficiencyModel, and says in one line what is wrong.
template <class Model>
consteval bool efficiency_model_fits() {
    static_assert(
        EfficiencyModel<Model>,
        "EfficiencyModel: efficiency is missing, or is not: double efficiency(double total_batch) const");
    return true;
}

}  // namespace goodput

#endif
