#ifndef GOODPUT_MODEL_GOODPUT_PREDICTOR_HPP
#define GOODPUT_MODEL_GOODPUT_PREDICTOR_HPP

// What a job's models (job_model.hpp) say of an allotment: goodput with the best batch plan.
//
// On a GPU type where the job has been measured on several replicas, its own model answers. Where it has only
// run on one replica, or not at all, the curve of the type measured furthest (of equals the slowest) is
// scaled by the ratio of one-replica speeds (Sia, section 3.2 and the released project_throughputs):
//
//     goodput_T(K) = goodput_S(K) * rate_T / rate_S
//
// As long as no type has been measured on several replicas, one's own one-replica model with free
// synchronisation answers; with nothing measured at all every replica counts 1, whatever the type.
//
// That rule is for models of the published form, each fitted to its own type alone. Refined models are fitted
// for all types of a job together (fit/job_fit.hpp), and answer for themselves on every type, measured or
// not.
//
// A model from which nothing can be predicted (model/job_model.hpp) has no options: their goodput is 0,
// never negative, infinite or not a number. Whoever would rather know calls validate() first.

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

namespace goodput {

/// Fills in plan, goodput and knowledge of a job's options. Keeps its buffers: use one for many jobs.
class GoodputPredictor {
public:
    /// A Scheduler asks only once a round for all jobs that for_each_input() cannot tell apart. Not so with a
    /// class that derives from this one, unless it names itself here.
    using DeclaresInputsOf = GoodputPredictor;

    /// Calls `input(number)`, and for a list `input(span)`, for all that is read of a job and its model,
    /// besides allotments and gradient statistics: where these are the same, the predictions are.
    template <class Input>
    static void for_each_input(const Job& job, const JobModel& model, Input& input);

    /// `options`: those of one job, their allotments set, options of one GPU type side by side. An option
    /// that no batch plan fits gets goodput 0. Allotments must hold whole replicas of the job's GPU type.
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        (*this)(job, model, options, job.gradient);
    }
    /// The same with other gradient statistics than the job's present ones: what it will be like later.
    /// Both zero are none. Refuses statistics that are negative or not finite (std::invalid_argument).
    void operator()(const Job& job, const JobModel& model, std::span<Option> options,
                    const std::optional<GradientStatistics>& gradient);

    /// Lets a job keep the batch plan that it runs with (Job::running_plan) on an option that it holds,
    /// filled in with the best plan for its present statistics, unless that is worth more than
    /// least_plan_gain times as much or the running one is not within the job's limits. Of jobs that tune
    /// their batch, on GPU types where they have been measured.
    static void keep_running_plan(const Job& job, const JobModel& model, Option& option);

private:
    static const TypeModel* model_of(const JobModel& model, std::size_t type) {
        return type < model.types.size() && model.types[type].most_replicas > 0 ? &model.types[type]
                                                                                : nullptr;
    }

    /// The GPU type measured on most replicas. Of equals the slowest, or what computes longest, in whichever
    /// order the types are listed.
    static std::size_t furthest_measured(const Job& job, const JobModel& model);

    /// Examples/s of one replica at its largest batch: as declared, else as modelled, else 0. A type that the
    /// job can no longer use, because its last node is gone, has no largest batch any more: `usable` then.
    static double single_rate(const Job& job, const JobModel& model, std::size_t type, int usable);

    void predict_type(const Job& job, const JobModel& model, std::span<Option> options);

    /// One's own model; what lies beyond the replicas measured is a projection.
    void predict_refined(const Job& job, const TypeModel& own, std::span<Option> options);

    static int replicas_of(const Job& job, const Option& option) {
        return option.configuration.gpus() /
               job.types[option.configuration.first().gpu_type].gpus_per_replica;
    }
    /// The shape that synchronises: replicas over at most as many nodes.
    static Shape replica_shape(const Job& job, const Option& option) {
        const int replicas = replicas_of(job, option);
        return {std::min(option.configuration.first().shape.nodes, replicas), replicas};
    }

    void predict_with(const Job& job, const TypeModel& model, std::span<Option> options, double ratio,
                      Knowledge knowledge);

    /// What plans_ holds, times `ratio`; no plan where that is no goodput.
    void write(std::span<Option> options, double ratio, Knowledge knowledge) const;

    /// The total batch size of a job whose batch is not tuned; an adaptive job may still have to grow to the
    /// least that its microbatches allow.
    static int fixed_total(const Job& job, Shape shape, const BatchLimits& limits);

    /// The plan with that total. Where there is none for a job that tunes its batch, because the share of a
    /// replica does not go into microbatches within the limits, what tuning finds; a pipeline then has no
    /// plan.
    template <class Throughput, class Efficiency>
    static BestPlan kept_batch_plan(const Job& job, const Throughput& throughput,
                                    const Efficiency& efficiency, Shape shape, const BatchLimits& limits) {
        const BestPlan best =
            fixed_batch_plan(throughput, efficiency, shape, limits, fixed_total(job, shape, limits));
        // One that tunes its batch never has less than its initial one.
        if (job.adaptivity != Adaptivity::batch ||
            (best.goodput > 0 && best.plan.total(shape.gpus) >= limits.initial_batch))
            return best;
        if constexpr (detail::has_fast_search<Throughput, Efficiency>)
            return best_batch_plan(throughput, efficiency, shape, limits);
        return {};
    }

    /// A pipeline's batch is not tuned: as many microbatches a replica as it runs now, where this GPU type
    /// takes them, or as its total batch size asks for.
    template <class Stage>
    static BestPlan pipeline_plan(const Job& job, const PipelineThroughput<Stage>& pipeline,
                                  const NoiseScaleEfficiency& efficiency, Shape shape,
                                  const BatchLimits& limits, BatchPlan running) {
        if (job.adaptivity != Adaptivity::batch || running.atomic_batch < limits.min_atomic_batch ||
            running.atomic_batch > limits.max_atomic_batch)
            return kept_batch_plan(job, pipeline, efficiency, shape, limits);
        // As a real number: a plan that was measured on a few replicas may be any number of times too large.
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

// These name all members, so that one that is added is not forgotten.
template <class Input>
void for_each_number(const PolluxThroughput& model, Input& input) {
    const auto& [alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma] = model;
    for (const double number : {alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma}) input(number);
}

template <class Input>
void for_each_number(const RefinedThroughput& model, Input& input) {
    const auto& [alpha_c, beta_c, batches, alone, straggling, node_seconds, node_gpus, network_seconds,
                 network_gpus, network_nodes, network_ring, gamma, shapes] = model;
    for (const double number : {alpha_c, beta_c, alone, straggling, node_seconds, node_gpus, network_seconds,
                                network_gpus, network_nodes, network_ring, gamma})
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

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/model/detail/goodput_predictor.hpp"
#endif

#endif
