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
// A model from which nothing can be predicted (model/valid_model.hpp) has no options: their goodput is 0,
// never negative, infinite or not a number. Whoever would rather know calls validate() first.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/pipeline.hpp"
#include "goodput/model/pollux.hpp"
#include "goodput/model/valid_model.hpp"

namespace goodput {

/// Fills in plan, goodput and knowledge of a job's options. Keeps its buffers: use one for many jobs.
class GoodputPredictor {
public:
    /// A Scheduler asks only once for all jobs that for_each_input() cannot tell apart. Not so with a class
    /// that derives from this one, unless it names itself here.
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
                    const std::optional<GradientStatistics>& gradient) {
        if (gradient) validate(*gradient, [&] { return "job '" + job.name + "'"; });
        gradient_ = measured_gradient(gradient);
        for (std::size_t first = 0; first < options.size();) {
            std::size_t last = first;
            while (last < options.size() && options[last].configuration.first().gpu_type ==
                                                options[first].configuration.first().gpu_type)
                ++last;
            predict_type(job, model, options.subspan(first, last - first));
            first = last;
        }
    }

    /// Lets a job keep the batch plan that it runs with (Job::running_plan) on an option that it holds,
    /// filled in with the best plan for its present statistics, unless that is worth more than
    /// least_plan_gain times as much or the running one is not within the job's limits. Of jobs that tune
    /// their batch, on GPU types where they have been measured.
    static void keep_running_plan(const Job& job, const JobModel& model, Option& option) {
        const std::size_t type = option.configuration.first().gpu_type;
        const TypeModel* const own = model_of(model, type);
        const BatchPlan running = job.running_plan;
        if (!own || !is_valid(*own) || !job.gradient || job.adaptivity != Adaptivity::batch ||
            job.types[type].gpus_per_replica > 1 || option.plan.atomic_batch == 0 || running == option.plan)
            return;
        const Shape shape = replica_shape(job, option);
        const BatchLimits limits = batch_limits(job, type);
        const std::int64_t total = running.total(shape.gpus);
        if (running.atomic_batch < std::max(limits.min_atomic_batch, 1) ||
            running.atomic_batch > limits.max_atomic_batch || total < limits.initial_batch ||
            total > limits.max_batch)
            return;
        if (limits.single_gpu_accumulates && shape.gpus == 1 && total > limits.initial_batch &&
            running.accumulation_steps == 0)
            return;
        const NoiseScaleEfficiency efficiency{static_cast<double>(job.initial_batch), *job.gradient};
        const auto goodput = [&](BatchPlan plan) {
            return std::visit(
                [&](const auto& throughput) {
                    return detail::goodput_of(throughput, efficiency, shape, plan);
                },
                own->throughput);
        };
        const double best = goodput(option.plan), present = goodput(running);
        if (!(present > 0) || best > least_plan_gain * present) return;
        option.plan = running;
        option.goodput *= std::min(present / best, 1.0);
    }

private:
    static const TypeModel* model_of(const JobModel& model, std::size_t type) {
        return type < model.types.size() && model.types[type].most_replicas > 0 ? &model.types[type]
                                                                                : nullptr;
    }

    /// The GPU type measured on most replicas. Of equals the slowest, or what computes longest, in whichever
    /// order the types are listed.
    static std::size_t furthest_measured(const Job& job, const JobModel& model) {
        const auto seconds = [&](std::size_t type) {
            const int most = std::min(model.types[type].most_replicas, 1 << 19);
            return model.types[type].iteration_seconds({1, most}, {1, 0}) +
                   model.types[type].iteration_seconds({2, 2 * most}, {1, 0});
        };
        const auto comes_first = [&](std::size_t type, std::size_t other) {
            const double rate = single_rate(job, model, type, 1), others = single_rate(job, model, other, 1);
            return rate < others || (rate == others && seconds(type) > seconds(other));
        };
        std::size_t furthest = 0;
        for (std::size_t type = 1; type < model.types.size(); ++type) {
            const int its = model.types[type].most_replicas, most = model.types[furthest].most_replicas;
            if (its > most || (its == most && its > 0 && comes_first(type, furthest))) furthest = type;
        }
        return furthest;
    }

    /// Examples/s of one replica at its largest batch: as declared, else as modelled, else 0. A type that the
    /// job can no longer use, because its last node is gone, has no largest batch any more: `usable` then.
    static double single_rate(const Job& job, const JobModel& model, std::size_t type, int usable) {
        if (job.types[type].reference_rate > 0) return job.types[type].reference_rate;
        const TypeModel* own = model_of(model, type);
        if (!own || !is_valid(*own)) return 0;
        const int largest = job.types[type].max_atomic_batch;
        const double batch = largest > 0 ? largest : usable;
        return batch / own->compute_seconds(batch);
    }

    void predict_type(const Job& job, const JobModel& model, std::span<Option> options) {
        const std::size_t type = options.front().configuration.first().gpu_type;
        if (type < model.types.size() && model.types[type].refined() && model.types[type].fitted) {
            predict_refined(job, model.types[type], options);
            return;
        }
        const TypeModel* own = model_of(model, type);
        const std::size_t source = model.types.empty() ? type : furthest_measured(job, model);
        const TypeModel* other = model_of(model, source);
        if (!other) {
            predict_unknown(job, options);
            return;
        }
        const bool own_suffices = own && (own->most_replicas > 1 || other->most_replicas <= 1);
        if (own_suffices || source == type) {
            predict_with(job, *own, options, 1, Knowledge::measured);
            return;
        }
        const int usable = job.types[type].max_atomic_batch;
        const double rate = single_rate(job, model, type, usable),
                     source_rate = single_rate(job, model, source, usable);
        const double quotient = rate > 0 && source_rate > 0 ? rate / source_rate : 1;
        // Rates whose ratio is no number say nothing.
        const double ratio = quotient > 0 && std::isfinite(quotient) ? quotient : 1;
        predict_with(job, *other, options, ratio, Knowledge::projected);
        if (own)
            for (std::size_t i = 0; i < options.size(); ++i)
                if (replicas_of(job, options[i]) == 1)
                    predict_with(job, *own, options.subspan(i, 1), 1, Knowledge::measured);
    }

    /// One's own model; what lies beyond the replicas measured is a projection.
    void predict_refined(const Job& job, const TypeModel& own, std::span<Option> options) {
        predict_with(job, own, options, 1, Knowledge::projected);
        for (Option& option : options)
            if (replicas_of(job, option) <= own.most_replicas) option.knowledge = Knowledge::measured;
    }

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
                      Knowledge knowledge) {
        const std::size_t type = options.front().configuration.first().gpu_type;
        const BatchLimits limits = batch_limits(job, type);
        const NoiseScaleEfficiency efficiency{static_cast<double>(job.initial_batch),
                                              gradient_.value_or(GradientStatistics{})};
        shapes_.clear();
        for (const Option& option : options) shapes_.push_back(replica_shape(job, option));
        plans_.assign(options.size(), BestPlan{});
        if (!is_valid(model)) {
            write(options, 0, knowledge);
            return;
        }
        std::visit(
            [&](const auto& throughput) {
                if (job.types[type].gpus_per_replica > 1) {
                    const PipelineThroughput pipeline{throughput, job.types[type].gpus_per_replica};
                    for (std::size_t i = 0; i < options.size(); ++i)
                        plans_[i] =
                            pipeline_plan(job, pipeline, efficiency, shapes_[i], limits, model.last_plan);
                } else if (job.adaptivity == Adaptivity::batch && gradient_) {
                    best_batch_plans(throughput, efficiency, shapes_, limits, std::span<BestPlan>(plans_));
                } else {
                    for (std::size_t i = 0; i < options.size(); ++i)
                        plans_[i] = kept_batch_plan(job, throughput, efficiency, shapes_[i], limits);
                }
            },
            model.throughput);
        write(options, ratio, knowledge);
    }

    /// What plans_ holds, times `ratio`; no plan where that is no goodput.
    void write(std::span<Option> options, double ratio, Knowledge knowledge) const {
        for (std::size_t i = 0; i < options.size(); ++i) {
            const double goodput = plans_[i].goodput * ratio;
            const bool some = goodput > 0 && std::isfinite(goodput);
            options[i].plan = some ? plans_[i].plan : BatchPlan{};
            options[i].goodput = some ? goodput : 0;
            options[i].knowledge = knowledge;
        }
    }

    /// The total batch size of a job whose batch is not tuned; an adaptive job may still have to grow to the
    /// least that its microbatches allow.
    static int fixed_total(const Job& job, Shape shape, const BatchLimits& limits) {
        if (job.adaptivity != Adaptivity::batch) return job.target_batch;
        const detail::PlanRange range(shape.gpus, limits);
        const int microbatches = range.initial_without_accumulation ? 1 : range.fewest_microbatches;
        const long long least = 1LL * shape.gpus * microbatches * range.least_atomic_at(microbatches);
        return least > job.max_batch ? job.initial_batch
                                     : std::max(job.initial_batch, static_cast<int>(least));
    }

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
        if (examples > job.max_batch || !(seconds > 0)) return {};
        return {running, examples / seconds * efficiency.efficiency(examples)};
    }

    void predict_unknown(const Job& job, std::span<Option> options) {
        // Any model serves to ask whether a plan exists and which: its times are not used.
        const PolluxThroughput any{0, 1, 0, 0, 0, 0, 1};
        for (Option& option : options) {
            const BatchLimits limits = batch_limits(job, option.configuration.first().gpu_type);
            const Shape shape = replica_shape(job, option);
            const BestPlan plan = kept_batch_plan(job, any, FullEfficiency{}, shape, limits);
            option.plan = plan.plan;
            option.goodput = plan.goodput > 0 ? shape.gpus : 0;
            option.knowledge = Knowledge::unknown;
        }
    }

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
    input(job.max_batch);
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

#endif
