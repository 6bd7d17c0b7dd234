#ifndef GOODPUT_MODEL_GOODPUT_PREDICTOR_HPP
#define GOODPUT_MODEL_GOODPUT_PREDICTOR_HPP

// Predicts the goodput of an allotment, with its best batch plan, from a job's models (job_model.hpp).
//
// On a GPU type where the job has been measured on several replicas, the type's own model is used. If the
// job has run there on one replica only, or not at all, another curve is scaled by the ratio of one-replica
// speeds (Sia, section 3.2 and the released project_throughputs). It is the curve of the type S that was
// measured on the most replicas; among equals, the slowest:
//
//     goodput_T(K) = goodput_S(K) * rate_T / rate_S
//
// As long as no type has been measured on several replicas, the type's own one-replica model is used, with
// free synchronisation. If nothing has been measured, every replica counts 1 on every type.
//
// This rule is for models of the published form, each fitted to one type alone. Refined models are fitted to
// all types of a job together (fit/job_fit.hpp), so a type's own refined model is used, measured or not.
//
// An invalid model (model/job_model.hpp) leads to a goodput of 0, never to one that is negative, infinite or
// NaN. To learn that a model is invalid, call validate() first.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/pipeline.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1 {

/// Fills in the plan, goodput and knowledge of a job's options. It looks at a configuration's first part
/// only: makers of several parts predict them themselves (PredictingMaker). It keeps its buffers, so use one
/// predictor for many jobs.
class GoodputPredictor {
public:
    /// A Scheduler asks once per round for all jobs that for_each_input() cannot tell apart. A derived
    /// class is asked for each job, unless it names itself here.
    using DeclaresInputsOf = GoodputPredictor;

    /// Calls `input(number)`, or `input(span)` for a list, for everything that the predictor reads of a job
    /// and its model, except allotments and gradient statistics. Equal inputs lead to equal predictions.
    template <class Input>
    static void for_each_input(const Job& job, const JobModel& model, Input& input);

    /// Fills in `options` of one job. Their allotments must be set and must hold whole replicas of the
    /// job's GPU type, and options of one GPU type must be adjacent. An option that no batch plan fits gets
    /// goodput 0.
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        (*this)(job, model, options, job.gradient);
    }
    /// The same with gradient statistics that replace the job's present ones, for example those expected
    /// later. Statistics that are both zero count as not measured. Throws std::invalid_argument if they are
    /// negative or not finite.
    void operator()(const Job& job, const JobModel& model, std::span<Option> options,
                    const std::optional<GradientStatistics>& gradient);

    /// Lets a job keep its present batch plan (Job::running_plan) on an option that it holds. The option
    /// must already have the best plan for the present statistics. The running plan replaces that plan,
    /// unless the best plan is worth more than least_plan_gain times as much, or the running plan violates
    /// the job's limits. This applies to jobs that tune their batch, on GPU types where they have been
    /// measured.
    static void keep_running_plan(const Job& job, const JobModel& model, Option& option);

private:
    static const TypeModel* model_of(const JobModel& model, std::size_t type) {
        return type < model.types.size() && model.types[type].most_replicas > 0 ? &model.types[type]
                                                                                : nullptr;
    }

    /// Returns the GPU type measured on the most replicas. Among equals it returns the slowest, then the
    /// one that computes longest, in whatever order the types are listed.
    static std::size_t furthest_measured(const Job& job, const JobModel& model);

    /// Returns the examples per second of one replica at its largest batch: the declared rate, else the
    /// modelled one, else 0. A type whose last node is gone has no largest batch any more, so `usable`
    /// replaces it.
    static double single_rate(const Job& job, const JobModel& model, std::size_t type, int usable);

    void predict_type(const Job& job, const JobModel& model, std::span<Option> options);

    /// Predicts from the type's own model. Options with more replicas than were measured are projections.
    void predict_refined(const Job& job, const TypeModel& own, std::span<Option> options);

    static int replicas_of(const Job& job, const Option& option) {
        return option.configuration.gpus() /
               job.types[option.configuration.first().gpu_type].gpus_per_replica;
    }
    /// Returns the shape that synchronises: the replicas, on at most as many nodes.
    static Shape replica_shape(const Job& job, const Option& option) {
        const int replicas = replicas_of(job, option);
        return {std::min(option.configuration.first().shape.nodes, replicas), replicas};
    }

    void predict_with(const Job& job, const TypeModel& model, std::span<Option> options, double ratio,
                      Knowledge knowledge);

    /// Writes plans_ to the options, with goodput times `ratio`. An option without a usable goodput gets no
    /// plan.
    void write(std::span<Option> options, double ratio, Knowledge knowledge) const;

    /// Returns the total batch size of a job whose batch is not tuned. An adaptive job may have to grow to
    /// the smallest total that its microbatches allow.
    static int fixed_total(const Job& job, Shape shape, const BatchLimits& limits);

    /// Returns the plan with that total. If a job that tunes its batch has no such plan, because a
    /// replica's share cannot be divided into microbatches within the limits, returns the tuned plan. A
    /// pipeline has no plan in that case.
    template <class Throughput, class Efficiency>
    static BestPlan kept_batch_plan(const Job& job, const Throughput& throughput,
                                    const Efficiency& efficiency, Shape shape, const BatchLimits& limits) {
        const BestPlan best =
            fixed_batch_plan(throughput, efficiency, shape, limits, fixed_total(job, shape, limits));
        // A job that tunes its batch never goes below its initial batch size.
        if (job.adaptivity != Adaptivity::batch ||
            (best.goodput > 0 && best.plan.total(shape.gpus) >= limits.initial_batch))
            return best;
        if constexpr (detail::has_fast_search<Throughput, Efficiency>)
            return best_batch_plan(throughput, efficiency, shape, limits);
        return {};
    }

    /// A pipeline's batch is not tuned. Each replica keeps its present number of microbatches if this GPU
    /// type accepts their size. Otherwise the total batch size decides.
    template <class Stage>
    static BestPlan pipeline_plan(const Job& job, const PipelineThroughput<Stage>& pipeline,
                                  const NoiseScaleEfficiency& efficiency, Shape shape,
                                  const BatchLimits& limits, BatchPlan running) {
        if (job.adaptivity != Adaptivity::batch || running.atomic_batch < limits.min_atomic_batch ||
            running.atomic_batch > limits.max_atomic_batch)
            return kept_batch_plan(job, pipeline, efficiency, shape, limits);
        // Computed as a real number, because a plan that was measured on a few replicas may be much too
        // large here and would overflow.
        const double examples = 1.0 * shape.gpus * running.atomic_batch * (running.accumulation_steps + 1.0);
        const double seconds = pipeline.iteration_seconds(shape, running);
        if (examples > job.largest_batch() || !(seconds > 0)) return {};
        return {running, examples / seconds * efficiency.efficiency(examples)};
    }

    void predict_unknown(const Job& job, std::span<Option> options);

    std::optional<GradientStatistics> gradient_;
    std::vector<Shape> shapes_;
    std::vector<BestPlan> plans_;
};

namespace detail {

// These name all members, so the compiler reports a member that is added and forgotten here.
template <class Input>
void for_each_number(const PolluxThroughput& model, Input& input) {
    const auto& [alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma] = model;
    for (const double number : {alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma}) input(number);
}

template <class Input>
void for_each_number(const RefinedThroughput& model, Input& input) {
    const auto& [alpha_c, beta_c, batches, launch_seconds, alone, straggling, node_seconds, node_gpus,
                 network_seconds, network_gpus, network_nodes, network_ring, gamma, shapes] = model;
    for (const double number : {alpha_c, beta_c, launch_seconds, alone, straggling, node_seconds, node_gpus,
                                network_seconds, network_gpus, network_nodes, network_ring, gamma})
        input(number);
    input(std::span<const BatchFactor>(batches));
    input(std::span<const ShapeFactor>(shapes));
}

}  // namespace detail

template <class Input>
void GoodputPredictor::for_each_input(const Job& job, const JobModel& model, Input& input) {
    input(static_cast<int>(job.adaptivity));
    input(job.initial_batch);
    input(job.largest_batch());
    input(job.target_batch);
    input(job.single_gpu_accumulates);
    input(job.types.size());
    for (const TypeLimits& type : job.types) {
        input(type.min_atomic_batch);
        input(type.max_atomic_batch);
        input(type.gpus_per_replica);
        input(type.reference_rate);
    }
    input(model.types.size());
    for (const TypeModel& type : model.types) {
        input(type.most_replicas);
        input(type.fitted);
        input(type.last_plan.atomic_batch);
        input(type.last_plan.accumulation_steps);
        input(type.throughput.index());
        std::visit([&](const auto& throughput) { detail::for_each_number(throughput, input); },
                   type.throughput);
    }
}

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/model/detail/goodput_predictor.hpp"
#endif

#endif
