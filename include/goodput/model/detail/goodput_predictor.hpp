#ifndef GOODPUT_MODEL_DETAIL_GOODPUT_PREDICTOR_HPP
#define GOODPUT_MODEL_DETAIL_GOODPUT_PREDICTOR_HPP

// The function bodies of goodput_predictor.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/pipeline.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1 {

GOODPUT_BODY void GoodputPredictor::operator()(const Job& job, const JobModel& model,
                                               std::span<Option> options,
                                               const std::optional<GradientStatistics>& gradient) {
    if (gradient) validate(*gradient, [&] { return "job '" + job.name + "'"; });
    gradient_ = measured_gradient(gradient);
    for (std::size_t first = 0; first < options.size();) {
        std::size_t last = first;
        while (last < options.size() &&
               options[last].configuration.first().gpu_type == options[first].configuration.first().gpu_type)
            ++last;
        predict_type(job, model, options.subspan(first, last - first));
        first = last;
    }
}

GOODPUT_BODY void GoodputPredictor::keep_running_plan(const Job& job, const JobModel& model, Option& option) {
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
            [&](const auto& throughput) { return detail::goodput_of(throughput, efficiency, shape, plan); },
            own->throughput);
    };
    const double best = goodput(option.plan), present = goodput(running);
    if (!(present > 0) || best > least_plan_gain * present) return;
    option.plan = running;
    option.goodput *= std::min(present / best, 1.0);
}

GOODPUT_BODY std::size_t GoodputPredictor::furthest_measured(const Job& job, const JobModel& model) {
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
        const int replicas = model.types[type].most_replicas, most = model.types[furthest].most_replicas;
        if (replicas > most || (replicas == most && replicas > 0 && comes_first(type, furthest)))
            furthest = type;
    }
    return furthest;
}

GOODPUT_BODY double GoodputPredictor::single_rate(const Job& job, const JobModel& model, std::size_t type,
                                                  int usable) {
    if (job.types[type].reference_rate > 0) return job.types[type].reference_rate;
    const TypeModel* own = model_of(model, type);
    if (!own || !is_valid(*own)) return 0;
    const int largest = job.types[type].max_atomic_batch;
    const double batch = largest > 0 ? largest : usable;
    return batch / own->compute_seconds(batch);
}

GOODPUT_BODY void GoodputPredictor::predict_type(const Job& job, const JobModel& model,
                                                 std::span<Option> options) {
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
    // Ignore rates whose ratio is not a positive finite number.
    const double ratio = quotient > 0 && std::isfinite(quotient) ? quotient : 1;
    predict_with(job, *other, options, ratio, Knowledge::projected);
    if (own)
        for (std::size_t i = 0; i < options.size(); ++i)
            if (replicas_of(job, options[i]) == 1)
                predict_with(job, *own, options.subspan(i, 1), 1, Knowledge::measured);
}

GOODPUT_BODY void GoodputPredictor::predict_refined(const Job& job, const TypeModel& own,
                                                    std::span<Option> options) {
    predict_with(job, own, options, 1, Knowledge::projected);
    for (Option& option : options)
        if (replicas_of(job, option) <= own.most_replicas) option.knowledge = Knowledge::measured;
}

GOODPUT_BODY void GoodputPredictor::predict_with(const Job& job, const TypeModel& model,
                                                 std::span<Option> options, double ratio,
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
                    plans_[i] = pipeline_plan(job, pipeline, efficiency, shapes_[i], limits, model.last_plan);
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

GOODPUT_BODY void GoodputPredictor::write(std::span<Option> options, double ratio,
                                          Knowledge knowledge) const {
    for (std::size_t i = 0; i < options.size(); ++i) {
        const double goodput = plans_[i].goodput * ratio;
        const bool some = goodput > 0 && std::isfinite(goodput);
        options[i].plan = some ? plans_[i].plan : BatchPlan{};
        options[i].goodput = some ? goodput : 0;
        options[i].knowledge = knowledge;
    }
}

GOODPUT_BODY int GoodputPredictor::fixed_total(const Job& job, Shape shape, const BatchLimits& limits) {
    if (job.adaptivity != Adaptivity::batch) return job.target_batch;
    const detail::PlanRange range(shape.gpus, limits);
    const int microbatches = range.initial_without_accumulation ? 1 : range.fewest_microbatches;
    const long long least = 1LL * shape.gpus * microbatches * range.least_atomic_at(microbatches);
    return least > job.largest_batch() ? job.initial_batch
                                       : std::max(job.initial_batch, static_cast<int>(least));
}

GOODPUT_BODY void GoodputPredictor::predict_unknown(const Job& job, std::span<Option> options) {
    // Any model can tell whether a plan exists, and which one, because its times are not used.
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

}  // namespace goodput::inline v0_1

#endif
