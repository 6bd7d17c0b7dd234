#ifndef GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP

// Finds the best parallelism plan of a large model, with a bound on all other plans.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/bytes.hpp"
#include "goodput/parallel/detail/plan_search.hpp"
#include "goodput/parallel/plan_question.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// If no stage of an even plan has enough memory: the stage that comes nearest to having it.
struct TightestStage {
    double bytes = 0, most = 0;
    double ratio = std::numeric_limits<double>::infinity();  // of bytes needed and bytes available
    std::size_t stage = 0, stages = 0, gpu_type = 0;
    LayerProfileKey key{};
};

/// Among plans with even stages on the replicas with the best memory, and as many replicas as the GPUs
/// allow, finds the plan whose worst stage is best. Returns this stage.
inline TightestStage tightest_stage(const LayeredModel& model, const ParallelCluster& cluster,
                                    const std::vector<std::pair<std::size_t, LayerProfileKey>>& usable,
                                    int global_batch, const ParallelConstants& constants) {
    double gpus = 0;
    for (std::size_t t = 0; t < cluster.types.size(); ++t) gpus += cluster.gpus_of(t);
    TightestStage best;
    for (std::size_t stages = 1; stages <= model.layers; ++stages)
        for (const auto& wanted : usable) {
            const double replicas = std::max(std::floor(gpus / static_cast<double>(stages)), 1.0),
                         microbatches = std::ceil(global_batch / (wanted.second.microbatch * replicas));
            TightestStage worst;
            worst.ratio = 0;
            for (std::size_t s = 0; s < stages; ++s) {
                TightestStage here;
                for (const auto& [type, key] : usable) {
                    if (key.microbatch != wanted.second.microbatch) continue;
                    const double bytes =
                        stage_bytes(model, s * model.layers / stages, (s + 1) * model.layers / stages, key,
                                    most_in_flight(stages - s, microbatches, constants), constants);
                    const double most = cluster.types[type].memory_gib * bytes_per_gib;
                    if (bytes / most < here.ratio)
                        here = {bytes, most, bytes / most, s + 1, stages, type, key};
                }
                if (here.ratio > worst.ratio) worst = here;
            }
            if (worst.ratio < best.ratio) best = worst;
        }
    return best;
}

/// Returns why nothing can be planned, whatever the limits; empty if something may be possible.
inline std::vector<std::string> why_impossible(const LayeredModel& model, const ParallelCluster& cluster,
                                               int global_batch, const ParallelConstants& constants) {
    std::vector<std::string> why;
    std::vector<std::pair<std::size_t, LayerProfileKey>> usable;
    for (std::size_t t = 0; t < cluster.types.size(); ++t) {
        const GpuType& type = cluster.types[t];
        int most = 0;
        for (const auto& zone : cluster.gpus) most = std::max(most, zone[t]);
        if (t >= model.times.size() || model.times[t].empty()) {
            why.push_back("nothing was measured of " + model.name + " on " + type.name);
            continue;
        }
        const std::size_t before = usable.size();
        for (const auto& [key, times] : model.times[t])
            if (key.tensor_parallel <= std::min(most, type.gpus_per_node) &&
                model.sizes_of(key.tensor_parallel) != nullptr)
                usable.emplace_back(t, key);
        if (usable.size() == before)
            why.push_back(most == 0 ? "there are no " + type.name
                                    : "no tensor_parallel that was measured on " + type.name +
                                          " fits into a node, or into " + text_of(most) + " GPUs of a zone");
    }
    if (cluster.types.empty()) why.push_back("there are no GPUs");
    if (usable.empty()) return why;
    const auto gib = [](double bytes) { return rounded_text_of(bytes / bytes_per_gib) + " GiB"; };
    const TightestStage tight = tightest_stage(model, cluster, usable, global_batch, constants);
    why.clear();
    if (tight.ratio > 1)
        why.push_back("stage " + text_of(tight.stage) + " of " + text_of(tight.stages) + " needs " +
                      gib(tight.bytes) + " at micro-batch " + text_of(tight.key.microbatch) +
                      " and tensor_parallel " + text_of(tight.key.tensor_parallel) + "; " +
                      cluster.types[tight.gpu_type].name + " has " + gib(tight.most) +
                      ", and no other even plan comes nearer");
    return why;
}

inline PlanAnswer answer_of(const PlanTask& task) { return PlanSearch(task).run(); }

/// Returns why a question has no plan: what is impossible, or how far the limits are from what is possible.
/// If told to stop, returns what is known by then.
inline std::vector<std::string> why_none(const PlanTask& task) {
    const PlanQuestion& question = task.question;
    std::vector<std::string> why =
        why_impossible(task.model, task.cluster, question.global_batch, task.constants);
    if (!why.empty()) return why;
    PlanQuestion free = question;
    free.gap = std::max(question.gap, 0.01);
    free.most_usd.reset();
    free.least_throughput.reset();
    const auto best = [&](PlanObjective objective) {
        free.objective = objective;
        return answer_of({task.model, task.cluster, free, task.constants, task.stop});
    };
    const bool limited = question.most_usd || question.least_throughput;
    const PlanAnswer fastest = limited ? best(PlanObjective::throughput) : PlanAnswer();
    if (fastest.status == PlanStatus::none)
        return {
            "no way to cut the layers into stages fits the memory of the GPUs that there are and the links "
            "between them"};
    if (question.least_throughput && fastest.bound < *question.least_throughput)
        return {(fastest.plan.stages.empty()
                     ? "no plan reaches more than "
                     : "the fastest plan found reaches " + rounded_text_of(fastest.score.throughput()) +
                           " iterations/s, and none more than ") +
                rounded_text_of(fastest.bound) + "; least_throughput is " +
                rounded_text_of(*question.least_throughput)};
    if (question.most_usd) {
        const PlanAnswer cheapest = best(PlanObjective::cost);
        if (!cheapest.plan.stages.empty())
            why.push_back("the cheapest plan found costs " + rounded_text_of(cheapest.objective) +
                          " dollars an iteration; most_usd is " + rounded_text_of(*question.most_usd));
    }
    if (question.least_throughput && !fastest.plan.stages.empty())
        why.push_back("the fastest plan found reaches " + rounded_text_of(fastest.score.throughput()) +
                      " iterations/s and costs " + rounded_text_of(fastest.score.usd()) +
                      " dollars an iteration; least_throughput is " +
                      rounded_text_of(*question.least_throughput));
    if (why.empty())
        why.push_back(
            "no plan keeps the limits; the search was cut short before it was known how far they are from "
            "what "
            "is possible");
    return why;
}

}  // namespace detail

/// Finds the best plan for a question. It searches all divisions into stages, replicas of any profiled GPU
/// type and tensor-parallel degree in any zone (equally many for each stage), and all profiled
/// micro-batches. `stop()` is called from time to time. Once it returns true, the search returns the best
/// plan so far and what is proven by then. Throws std::invalid_argument for bad models, clusters and
/// questions.
template <std::predicate Stop>
[[nodiscard]] PlanAnswer find_plan(const LayeredModel& model, const ParallelCluster& cluster,
                                   const PlanQuestion& question, Stop stop,
                                   const ParallelConstants& constants = {}) {
    model.validate();
    cluster.validate();
    question.validate(cluster);
    const auto task = [&](const PlanQuestion& asked) {
        return detail::PlanTask{model, cluster, asked, constants, [&] { return static_cast<bool>(stop()); }};
    };
    PlanQuestion first = question;
    if (question.mixed_stages) {  // plans without mixed stages are far fewer, and usually include the best
                                  // one
        first.mixed_stages = false;
        first.known.push_back(detail::answer_of(task(first)).plan);
        first.mixed_stages = true;
    }
    PlanAnswer answer = detail::answer_of(task(first));
    if (answer.status == PlanStatus::none) answer.why = detail::why_none(task(question));
    return answer;
}

}  // namespace goodput::inline v0_1

#endif
