#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_REASONS_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_REASONS_HPP

// Why there is no plan, in sentences: no profile, no memory, no links, limits that exclude each other.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "goodput/parallel/plan_question.hpp"

namespace goodput::detail {

/// A stage of even plans that is nearest to having the memory it needs, where none has.
struct TightestStage {
    double bytes = 0, most = 0;
    double ratio = std::numeric_limits<double>::infinity();  // of both
    std::size_t stage = 0, stages = 0, gpu_type = 0;
    LayerProfileKey key{};
};

/// Of plans of even stages, each on replicas that are best for its memory: the worst stage of the plan whose
/// worst stage is best, with as many replicas as there are GPUs for.
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
                    double parameters = 0, activations = 0;
                    for (std::size_t l = s * model.layers / stages; l < (s + 1) * model.layers / stages;
                         ++l) {
                        parameters += (*model.sizes_of(key.tensor_parallel))[l].parameters;
                        activations += (*model.sizes_of(key.tensor_parallel))[l].activation_floats;
                    }
                    const double bytes =
                        stage_bytes(parameters, activations, key.tensor_parallel, key.microbatch,
                                    most_in_flight(stages - s, microbatches, constants), model, constants);
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

/// Why nothing can be planned whatever the limits; empty where that is not so.
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

}  // namespace goodput::detail

#endif
