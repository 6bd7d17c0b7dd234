#ifndef GOODPUT_PARALLEL_PLAN_SCORE_HPP
#define GOODPUT_PARALLEL_PLAN_SCORE_HPP

// Computes how long an iteration of a plan takes, what it costs and what its GPUs hold. Stages alternate
// one forward and one backward pass, with stragglers, communication and a data-parallel reduction at the
// end (Sailor, section 4.3):
//
//     iteration = (micro-batches - 1) * straggler + sum of stages (computing + sending) + update + reduction
//
// The straggler is the largest computing + sending of a stage. plan_terms.hpp defines the terms.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/bytes.hpp"
#include "goodput/core/error.hpp"
#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/plan_terms.hpp"

namespace goodput::inline v0_1 {

/// The score of one stage.
struct StageScore {
    double compute_seconds = 0;  ///< forward and backward pass of a micro-batch, slowest replica
    double send_seconds = 0;     ///< activations and gradients of a micro-batch
    double update_seconds = 0;   ///< step of the optimiser, slowest replica
    double reduce_seconds = 0;   ///< reduction of its gradients among its replicas
    double memory_bytes = 0;     ///< memory of its fullest GPU
    bool fits = true;            ///< whether all its GPUs hold that
};

/// The score of a plan.
struct PlanScore {
    double iteration_seconds = std::numeric_limits<double>::infinity();  ///< infinite if unknown
    double compute_usd = 0;                                              ///< GPU time per iteration
    double traffic_usd = 0;              ///< traffic between zones per iteration
    bool fits = false;                   ///< whether the memory of every GPU suffices
    std::vector<StageScore> stages{};    ///< in the order of the plan
    std::optional<std::string> fault{};  ///< why the plan is invalid, in one sentence

    /// Returns the iterations per second.
    [[nodiscard]] double throughput() const { return 1 / iteration_seconds; }
    /// Returns the dollars per iteration.
    [[nodiscard]] double usd() const { return compute_usd + traffic_usd; }
};

/// Returns in one sentence why a plan is invalid for this model and cluster, or nothing if it is valid. A
/// valid plan has each layer once and in order, equally many replicas in all stages, profiled
/// tensor-parallel groups that each fit in a node, and no more GPUs than there are. Throws
/// std::invalid_argument for indices out of range and counts below 1.
[[nodiscard]] std::optional<std::string> fault_of(const LayeredModel& model, const ParallelCluster& cluster,
                                                  const ParallelPlan& plan);

/// Returns the time, cost and memory of a plan. Stages with unequal numbers of replicas are a fault. They
/// are scored as in the published code: replica j sends to replica j modulo the next stage's number.
[[nodiscard]] PlanScore score_plan(const LayeredModel& model, const ParallelCluster& cluster,
                                   const ParallelPlan& plan, const ParallelConstants& constants = {});

namespace detail {

inline LinkEnd link_end(const ParallelCluster& cluster, const ReplicaGroup& group) {
    return {group.zone, group.gpu_type,
            std::min(group.tensor_parallel, cluster.types[group.gpu_type].gpus_per_node)};
}

/// Returns the replicas one by one.
inline std::vector<const ReplicaGroup*> each_replica(const PlanStage& stage) {
    std::vector<const ReplicaGroup*> all;
    for (const ReplicaGroup& group : stage.replicas)
        all.insert(all.end(), static_cast<std::size_t>(group.count), &group);
    return all;
}

inline void check_indices(const LayeredModel& model, const ParallelCluster& cluster,
                          const ParallelPlan& plan) {
    require_between("plan", "microbatch", plan.microbatch, 1, 1 << 20);
    require_between("plan", "global_batch", plan.global_batch, 1, 1 << 30);
    if (plan.stages.empty()) bad_input("plan", "stages", "empty", "at least one stage");
    long long gpus = 0;
    for (const PlanStage& stage : plan.stages) {
        if (stage.first_layer > stage.last_layer || stage.last_layer >= model.layers)
            bad_input("plan", "layers", text_of(stage.first_layer) + " to " + text_of(stage.last_layer),
                      "within the model's " + text_of(model.layers) + " layers");
        if (stage.replicas.empty()) bad_input("plan", "replicas", "empty", "at least one group");
        for (const ReplicaGroup& group : stage.replicas) {
            if (group.gpu_type >= cluster.types.size())
                bad_input("plan", "gpu_type", group.gpu_type, "an index into the cluster's types");
            if (group.zone >= cluster.zones.size())
                bad_input("plan", "zone", group.zone, "an index into the cluster's zones");
            require_between("plan", "tensor_parallel", group.tensor_parallel, 1, 1 << 10);
            require_between("plan", "count", group.count, 1, 1 << 20);
            gpus += static_cast<long long>(group.count) * group.tensor_parallel;
            require_between("plan", "GPUs", gpus, 1, 1 << 24);
        }
    }
}

}  // namespace detail

inline std::optional<std::string> fault_of(const LayeredModel& model, const ParallelCluster& cluster,
                                           const ParallelPlan& plan) {
    detail::check_indices(model, cluster, plan);
    const int replicas = plan.stages.front().replica_count();
    std::size_t next = 0;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        const PlanStage& stage = plan.stages[s];
        const std::string name = "stage " + text_of(s + 1);
        if (stage.first_layer != next) return name + " does not begin with layer " + text_of(next);
        next = stage.last_layer + 1;
        if (stage.replica_count() != replicas)
            return name + " has " + text_of(stage.replica_count()) + " replicas where stage 1 has " +
                   text_of(replicas) + ": nothing says which micro-batch goes where";
        for (const ReplicaGroup& group : stage.replicas) {
            const GpuType& type = cluster.types[group.gpu_type];
            if (group.tensor_parallel > type.gpus_per_node)
                return name + " has tensor-parallel groups of " + text_of(group.tensor_parallel) + " on " +
                       type.name + ", whose nodes have " + text_of(type.gpus_per_node) + " GPUs";
            if (model.times_of(group.gpu_type, {plan.microbatch, group.tensor_parallel}) == nullptr)
                return name + ": nothing was measured on " + type.name + " at micro-batch " +
                       text_of(plan.microbatch) + " and tensor_parallel " + text_of(group.tensor_parallel);
            if (model.sizes_of(group.tensor_parallel) == nullptr)
                return name + ": the size of its layers is not known at tensor_parallel " +
                       text_of(group.tensor_parallel);
        }
    }
    if (next != model.layers) return "the last stage ends before layer " + text_of(model.layers - 1);
    for (std::size_t z = 0; z < cluster.zones.size(); ++z)
        for (std::size_t t = 0; t < cluster.types.size(); ++t)
            if (plan.gpus(z, t) > cluster.gpus[z][t])
                return "it takes " + text_of(plan.gpus(z, t)) + " " + cluster.types[t].name + " in " +
                       cluster.zones[z] + ", which has " + text_of(cluster.gpus[z][t]);
    return std::nullopt;
}

namespace detail {

/// The replicas of a stage, one by one.
using StageReplicas = std::vector<const ReplicaGroup*>;

/// Computes the computing time, update time and memory of a stage, from its slowest and fullest replicas.
inline void score_replicas(const LayeredModel& model, const ParallelCluster& cluster,
                           const ParallelPlan& plan, std::size_t s, const ParallelConstants& constants,
                           StageScore& score) {
    const PlanStage& stage = plan.stages[s];
    const std::size_t in_flight =
        most_in_flight(plan.stages.size() - s, static_cast<double>(plan.microbatches()), constants);
    for (const ReplicaGroup& group : stage.replicas) {
        const LayerProfileKey key{plan.microbatch, group.tensor_parallel};
        const auto* times = model.times_of(group.gpu_type, key);
        double seconds = constants.stage_seconds;
        for (std::size_t l = stage.first_layer; times != nullptr && l <= stage.last_layer; ++l)
            seconds += layer_seconds((*times)[l], constants);
        if (times == nullptr || model.sizes_of(group.tensor_parallel) == nullptr)
            seconds = std::numeric_limits<double>::infinity();
        score.compute_seconds = std::max(score.compute_seconds, seconds);
        if (times != nullptr)
            score.update_seconds = std::max(score.update_seconds, (*times)[stage.first_layer].update_seconds);
        const double bytes =
            stage_bytes(model, stage.first_layer, stage.last_layer + 1, key, in_flight, constants);
        score.memory_bytes = std::max(score.memory_bytes, bytes);
        score.fits = score.fits && bytes <= cluster.types[group.gpu_type].memory_gib * bytes_per_gib;
    }
}

/// Returns the seconds of the slowest message of `bytes` from a replica of one stage to its counterpart in
/// another.
inline double slowest_send(const ParallelCluster& cluster, const StageReplicas& from, const StageReplicas& to,
                           double bytes, const ParallelConstants& constants) {
    double slowest = 0;
    const ReplicaGroup *last_from = nullptr, *last_to = nullptr;
    for (std::size_t j = 0; j < from.size(); ++j) {
        const ReplicaGroup *sender = from[j], *receiver = to[j % to.size()];
        if (sender == last_from && receiver == last_to) continue;
        last_from = sender;
        last_to = receiver;
        const BandwidthCurve* link = cluster.link(link_end(cluster, *sender), link_end(cluster, *receiver));
        slowest = std::max(slowest, message_seconds(bytes, link, constants));
    }
    return slowest;
}
/// Returns the dollars of all these messages, each of `bytes`.
inline double send_usd(const ParallelCluster& cluster, const StageReplicas& from, const StageReplicas& to,
                       double bytes) {
    double usd = 0;
    for (std::size_t j = 0; j < from.size(); ++j)
        usd += cluster.usd_per_gigabyte[from[j]->zone][to[j % to.size()]->zone] * bytes / 1e9;
    return usd;
}

/// Returns the seconds for reducing a stage's gradients, `bytes` in all, over its slowest neighbours. Each
/// replica reduces as large a part as the stage's narrowest replica has.
inline double slowest_reduce(const ParallelCluster& cluster, const StageReplicas& replicas, double bytes,
                             const ParallelConstants& constants) {
    int shards = constants.most_shards;
    for (const ReplicaGroup* replica : replicas) shards = std::min(shards, replica->tensor_parallel);
    double slowest = 0;
    for (std::size_t j = 0; j + 1 < replicas.size(); ++j) {
        const ReplicaGroup *a = replicas[j], *b = replicas[j + 1];
        if (j > 0 && a == b && replicas[j - 1] == a) continue;
        const BandwidthCurve* link = cluster.link({a->zone, a->gpu_type, 1}, {b->zone, b->gpu_type, 1});
        slowest = std::max(slowest, link == nullptr
                                        ? std::numeric_limits<double>::infinity()
                                        : reduce_seconds(bytes / shards, static_cast<int>(replicas.size()),
                                                         *link, constants));
    }
    return slowest;
}
/// Returns the dollars of that reduction, all the way round the ring.
inline double reduce_usd(const ParallelCluster& cluster, const StageReplicas& replicas, double bytes) {
    const auto count = static_cast<double>(replicas.size());
    double usd = 0;
    for (std::size_t j = 0; j < replicas.size(); ++j)
        usd += cluster.usd_per_gigabyte[replicas[j]->zone][replicas[(j + 1) % replicas.size()]->zone] * 2 *
               (count - 1) / count * bytes / 1e9;
    return usd;
}

}  // namespace detail

inline PlanScore score_plan(const LayeredModel& model, const ParallelCluster& cluster,
                            const ParallelPlan& plan, const ParallelConstants& constants) {
    PlanScore score;
    score.fault = fault_of(model, cluster, plan);
    score.stages.resize(plan.stages.size());
    score.fits = true;
    const std::size_t count = plan.stages.size();
    const auto microbatches = static_cast<double>(plan.microbatches());
    std::vector<detail::StageReplicas> replicas;
    for (const PlanStage& stage : plan.stages) replicas.push_back(detail::each_replica(stage));
    const auto output_bytes = [&](std::size_t layer) { return message_bytes(model, layer, plan.microbatch); };

    double straggler = 0, all = 0, update = 0, reduce = 0, usd_per_hour = 0;
    for (std::size_t s = 0; s < count; ++s) {
        const PlanStage& stage = plan.stages[s];
        StageScore& stage_score = score.stages[s];
        for (const ReplicaGroup& group : stage.replicas)
            usd_per_hour += group.count * group.tensor_parallel * cluster.types[group.gpu_type].usd_per_hour;
        detail::score_replicas(model, cluster, plan, s, constants, stage_score);
        if (s + 1 < count) {
            const double bytes = output_bytes(stage.last_layer);
            stage_score.send_seconds =
                forward_weight(s, count) *
                detail::slowest_send(cluster, replicas[s], replicas[s + 1], bytes, constants);
            score.traffic_usd +=
                microbatches * detail::send_usd(cluster, replicas[s], replicas[s + 1], bytes);
        }
        if (s > 0) {
            // The published code uses the stage's own first layer for the time of gradients, but the
            // preceding layer for their dollars.
            stage_score.send_seconds +=
                backward_weight(s, count) * detail::slowest_send(cluster, replicas[s], replicas[s - 1],
                                                                 output_bytes(stage.first_layer), constants);
            score.traffic_usd += microbatches * detail::send_usd(cluster, replicas[s], replicas[s - 1],
                                                                 output_bytes(plan.stages[s - 1].last_layer));
        }
        double gradients = 0;
        for (std::size_t l = stage.first_layer; l <= stage.last_layer; ++l)
            gradients += model.sizes.at(1)[l].parameters * model.bytes_per_float;
        stage_score.reduce_seconds = detail::slowest_reduce(cluster, replicas[s], gradients, constants);
        score.traffic_usd += detail::reduce_usd(cluster, replicas[s], gradients);
        straggler = std::max(straggler, stage_score.compute_seconds + stage_score.send_seconds);
        all += stage_score.compute_seconds + stage_score.send_seconds;
        update = std::max(update, stage_score.update_seconds);
        reduce = std::max(reduce, stage_score.reduce_seconds);
        score.fits = score.fits && stage_score.fits;
    }
    score.iteration_seconds = all + update + reduce;
    if (microbatches > 1)
        score.iteration_seconds += (microbatches - 1) * straggler;  // avoids 0 times
                                                                    // infinity
    score.compute_usd = usd_per_hour / 3600 * score.iteration_seconds;
    return score;
}

}  // namespace goodput::inline v0_1

#endif
