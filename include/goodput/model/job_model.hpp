#ifndef GOODPUT_MODEL_JOB_MODEL_HPP
#define GOODPUT_MODEL_JOB_MODEL_HPP

// A job's speed on every GPU type, as far as it is known. goodput_predictor.hpp derives the goodput of
// options from it.
//
// Limits: which models may be used for predictions? A model is a handful of numbers that anyone can write
// by hand, read from a file or take from a broken fit. A model that passes the checks here predicts a
// positive, finite time for every shape of up to 2^20 replicas and every batch plan of up to 2^30 examples
// and 2^20 accumulation steps. Its throughput is then finite as well, and the searches for batch plans,
// which trust it, end.
//
// The limits lie far beyond any machine. They keep the largest product of a law finite, and its inverse
// too: a time of 1e30 s with two exponents of 16 on 2^20 replicas and three factors of 1e12. The check
// costs a few comparisons per number of the model.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1 {

/// A job's speed on one GPU type.
struct TypeModel {
    std::variant<PolluxThroughput, RefinedThroughput>
        throughput{};  ///< the published form or the refined one
    /// Largest number of replicas measured. With 0, a published model says nothing, and a refined one gives
    /// what is expected from other types if it is `fitted`.
    int most_replicas = 0;
    bool fitted = false;    ///< refined form: whether there is a model, possibly from other types only
    BatchPlan last_plan{};  ///< plan of the newest measurement, which a pipeline job keeps

    /// Whether the model has the refined form.
    [[nodiscard]] bool refined() const { return std::holds_alternative<RefinedThroughput>(throughput); }
    /// Seconds that a step spends computing on `atomic_batch` examples.
    [[nodiscard]] double compute_seconds(double atomic_batch) const {
        return std::visit([&](const auto& model) { return model.compute_seconds(atomic_batch); }, throughput);
    }
    /// Seconds of an iteration; `shape.gpus` counts replicas.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        return std::visit([&](const auto& model) { return model.iteration_seconds(shape, plan); },
                          throughput);
    }
};

/// A job's speed by GPU type. Empty if nothing is known about the job.
struct JobModel {
    std::vector<TypeModel> types{};  ///< as many as Cluster::gpu_types, or none
};

/// Returns the batch limits of a job on a GPU type. They do not depend on gradient statistics. The
/// predictor keeps the initial total batch size of a job without statistics, because the value of a larger
/// batch is unknown.
[[nodiscard]] inline BatchLimits batch_limits(const Job& job, std::size_t gpu_type) {
    const TypeLimits& type = job.types[gpu_type];
    return {job.initial_batch, job.largest_batch(), type.min_atomic_batch, type.max_atomic_batch,
            job.single_gpu_accumulates};
}

/// The largest valid parameter that is a time, in seconds.
inline constexpr double most_model_seconds = 1e30;
/// The shortest valid computing time of one example before factors, in seconds.
inline constexpr double least_compute_seconds = 1e-30;
/// Valid factors lie in [1 / most_model_factor, most_model_factor].
inline constexpr double most_model_factor = 1e12;
/// Valid exponents lie in [-most_model_exponent, most_model_exponent].
inline constexpr double most_model_exponent = 16;
/// The largest valid gamma. Beyond it only the longer part counts.
inline constexpr double most_model_gamma = 1e6;

/// A model that can be checked against the limits. For a TypeModel, the form that it holds is checked. A
/// TypeModel that says nothing (neither measured nor fitted) passes.
template <class Model>
concept LimitedModel = std::same_as<Model, PolluxThroughput> || std::same_as<Model, RefinedThroughput> ||
    std::same_as<Model, TypeModel>;

/// Whether a model may be used for predictions: its parameters are finite, its times at least 0, and
/// computing takes some time. For RefinedThroughput, batches and shapes must also ascend.
template <LimitedModel Model>
[[nodiscard]] bool is_valid(const Model& model);

/// Throws std::invalid_argument if is_valid() rejects a model. The message names `subject`, the parameter
/// and its value. `subject` is a text, or a function that returns one.
template <LimitedModel Model, MessageSubject Subject>
void validate(const Model& model, const Subject& subject);
/// The same for all GPU types of a job, which `subject` names. `gpu_types` holds the names of the types for
/// the message; if it is empty, the message shows their indices. The number of types is not checked.
template <MessageSubject Subject>
void validate(const JobModel& model, const Subject& subject, std::span<const std::string> gpu_types = {});

namespace detail {

/// Calls require(field, value, least, most) for every limit of a model.
template <class Require>
void for_each_limit(const PolluxThroughput& model, const Require& require) {
    require("alpha_c", model.alpha_c, 0, most_model_seconds);
    require("beta_c", model.beta_c, 0, most_model_seconds);
    require("alpha_n", model.alpha_n, 0, most_model_seconds);
    require("beta_n", model.beta_n, 0, most_model_seconds);
    require("alpha_r", model.alpha_r, 0, most_model_seconds);
    require("beta_r", model.beta_r, 0, most_model_seconds);
    require("gamma", model.gamma, 1, most_model_gamma);
    require("alpha_c + beta_c", model.alpha_c + model.beta_c, least_compute_seconds, 2 * most_model_seconds);
}

template <class Require>
void for_each_limit(const RefinedThroughput& model, const Require& require) {
    constexpr double factor = most_model_factor, exponent = most_model_exponent;
    require("alpha_c", model.alpha_c, 0, most_model_seconds);
    require("beta_c", model.beta_c, 0, most_model_seconds);
    require("launch_seconds", model.launch_seconds, 0, most_model_seconds);
    require("alone", model.alone, 1 / factor, factor);
    require("straggling", model.straggling, -exponent, exponent);
    require("node_seconds", model.node_seconds, 0, most_model_seconds);
    require("node_gpus", model.node_gpus, -exponent, exponent);
    require("network_seconds", model.network_seconds, 0, most_model_seconds);
    require("network_gpus", model.network_gpus, -exponent, exponent);
    require("network_nodes", model.network_nodes, -exponent, exponent);
    require("network_ring", model.network_ring, 1 / factor, factor);
    require("gamma", model.gamma, 1, most_model_gamma);
    require("alpha_c + beta_c", model.alpha_c + model.beta_c, least_compute_seconds, 2 * most_model_seconds);
    double before = 0;
    for (const BatchFactor& at : model.batches) {
        require("batches.batch", at.batch, std::max(before * (1 + 0x1p-52), 0x1p-20), 0x1p31);
        require("batches.factor", at.factor, 1 / factor, factor);
        before = at.batch;
    }
    Shape last{};
    for (const ShapeFactor& at : model.shapes) {
        require("shapes.nodes", at.shape.nodes, std::max(last.nodes, 1), 1 << 20);
        require("shapes.gpus", at.shape.gpus,
                at.shape.nodes == last.nodes ? std::max(last.gpus + 1, at.shape.nodes) : at.shape.nodes,
                1 << 20);
        require("shapes.compute", at.compute, 1 / factor, factor);
        require("shapes.sync", at.sync, 1 / factor, factor);
        last = at.shape;
    }
}

template <class Require>
void for_each_limit(const TypeModel& model, const Require& require) {
    require("most_replicas", model.most_replicas, 0, 1 << 20);
    require("last_plan.atomic_batch", model.last_plan.atomic_batch, 0, 1 << 30);
    require("last_plan.accumulation_steps", model.last_plan.accumulation_steps, 0, 1 << 20);
    if (model.most_replicas > 0 || (model.refined() && model.fitted))
        std::visit([&](const auto& throughput) { for_each_limit(throughput, require); }, model.throughput);
}

}  // namespace detail

template <LimitedModel Model>
bool is_valid(const Model& model) {
    bool valid = true;
    detail::for_each_limit(model, [&valid](std::string_view, double value, double least, double most) {
        valid = valid && value >= least && value <= most;  // false for NaN
    });
    return valid;
}

template <LimitedModel Model, MessageSubject Subject>
void validate(const Model& model, const Subject& subject) {
    detail::for_each_limit(model, [&](std::string_view field, double value, double least, double most) {
        if (value >= least && value <= most) return;
        bad_input(detail::text_of_subject(subject), "model." + std::string(field), value,
                  "between " + text_of(least) + " and " + text_of(most));
    });
}

template <MessageSubject Subject>
void validate(const JobModel& model, const Subject& subject, std::span<const std::string> gpu_types) {
    for (std::size_t t = 0; t < model.types.size(); ++t) {
        validate(model.types[t], [&] {
            const std::string on = t < gpu_types.size() ? gpu_types[t] : "GPU type " + text_of(t);
            return detail::text_of_subject(subject) + " on " + on;
        });
    }
}

}  // namespace goodput::inline v0_1

#endif
