#ifndef GOODPUT_PARALLEL_PLAN_SCORE_HPP
#define GOODPUT_PARALLEL_PLAN_SCORE_HPP

// How long an iteration of a plan takes, what it costs and what its GPUs hold (Sailor, section 4.3: stages
// one forward, one backward, with stragglers, communication and a data-parallel reduction at the end):
//
//     iteration = (micro-batches - 1) * straggler + sum of stages (computing + sending) + update + reduction
//
// straggler = the largest of a stage's computing + sending. The terms are those of plan_terms.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/plan_terms.hpp"

namespace goodput {

/// One stage's part.
struct StageScore {
    double compute_seconds = 0;  ///< forward and backward of a micro-batch, slowest replica
    double send_seconds = 0;     ///< of a micro-batch's activations and gradients
    double update_seconds = 0;   ///< the optimiser's step, slowest replica
    double reduce_seconds = 0;   ///< of its gradients, among its replicas
    double memory_bytes = 0;     ///< of its fullest GPU
    bool fits = true;            ///< all its GPUs hold that
};

/// What a plan comes to.
struct PlanScore {
    double iteration_seconds = std::numeric_limits<double>::infinity();  ///< infinite where it cannot be told
    double compute_usd = 0;                                              ///< an iteration's GPU time
    double traffic_usd = 0;              ///< an iteration's bytes between zones
    bool fits = false;                   ///< the memory of every GPU suffices
    std::vector<StageScore> stages{};    ///< in the order of the plan
    std::optional<std::string> fault{};  ///< why nobody should run it, in one sentence

    /// Iterations a second.
    [[nodiscard]] double throughput() const { return 1 / iteration_seconds; }
    /// Dollars an iteration.
    [[nodiscard]] double usd() const { return compute_usd + traffic_usd; }
};

/// Why a plan is none for this model and cluster, whatever its score, in one sentence; nothing if all is
/// well: layers once and in order, replicas of equal number in all stages, tensor-parallel groups within a
/// node and profiled, no more GPUs than there are. Indices out of range and counts below 1 are bad input
/// (std::invalid_argument).
[[nodiscard]] std::optional<std::string> fault_of(const LayeredModel& model, const ParallelCluster& cluster,
                                                  const ParallelPlan& plan);

/// Time, cost and memory of a plan. Stages with unequal numbers of replicas are scored as the published code
/// does (replica j hands on to replica j modulo the next stage's number), though they are a fault.
[[nodiscard]] PlanScore score_plan(const LayeredModel& model, const ParallelCluster& cluster,
                                   const ParallelPlan& plan, const ParallelConstants& constants = {});

namespace detail {

inline LinkEnd link_end(const ParallelCluster& cluster, const ReplicaGroup& group) {
    return {group.zone, group.gpu_type,
            std::min(group.tensor_parallel, cluster.types[group.gpu_type].gpus_per_node)};
}

/// Replicas one by one.
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
                return name + ": nobody knows how large layers are at tensor_parallel " +
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

/// Replicas of the stages of a plan, one by one.
using StageReplicas = std::vector<const ReplicaGroup*>;

/// Computing, update and memory of a stage: of its slowest and fullest replicas.
inline void score_replicas(const LayeredModel& model, const ParallelCluster& cluster,
                           const ParallelPlan& plan, std::size_t s, const ParallelConstants& constants,
                           StageScore& score) {
    const PlanStage& stage = plan.stages[s];
    const std::size_t in_flight =
        most_in_flight(plan.stages.size() - s, static_cast<double>(plan.microbatches()), constants);
    for (const ReplicaGroup& group : stage.replicas) {
        const auto* times = model.times_of(group.gpu_type, {plan.microbatch, group.tensor_parallel});
        const auto* sizes = model.sizes_of(group.tensor_parallel);
        double seconds = constants.stage_seconds, parameters = 0, activations = 0;
        for (std::size_t l = stage.first_layer; l <= stage.last_layer; ++l) {
            if (times != nullptr) seconds += layer_seconds((*times)[l], constants);
            if (sizes != nullptr) {
                parameters += (*sizes)[l].parameters;
                activations += (*sizes)[l].activation_floats;
            }
        }
        if (times == nullptr || sizes == nullptr) seconds = std::numeric_limits<double>::infinity();
        score.compute_seconds = std::max(score.compute_seconds, seconds);
        if (times != nullptr)
            score.update_seconds = std::max(score.update_seconds, (*times)[stage.first_layer].update_seconds);
        const double bytes = stage_bytes(parameters, activations, group.tensor_parallel, plan.microbatch,
                                         in_flight, model, constants);
        score.memory_bytes = std::max(score.memory_bytes, bytes);
        score.fits = score.fits && bytes <= cluster.types[group.gpu_type].memory_gib * bytes_per_gib;
    }
}

/// Seconds of the slowest message of so many bytes from a replica of one stage to its own in another.
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
/// Dollars of all these messages, of so many bytes each.
inline double send_usd(const ParallelCluster& cluster, const StageReplicas& from, const StageReplicas& to,
                       double bytes) {
    double usd = 0;
    for (std::size_t j = 0; j < from.size(); ++j)
        usd += cluster.usd_per_gigabyte[from[j]->zone][to[j % to.size()]->zone] * bytes / 1e9;
    return usd;
}

/// Seconds of the gradients of a stage, so many bytes in all: of its slowest neighbours. Each reduces as
/// large a part as the narrowest replica of the stage has.
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
/// Dollars of them: all the way round the ring.
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
        StageScore& mine = score.stages[s];
        for (const ReplicaGroup& group : stage.replicas)
            usd_per_hour += group.count * group.tensor_parallel * cluster.types[group.gpu_type].usd_per_hour;
        detail::score_replicas(model, cluster, plan, s, constants, mine);
        if (s + 1 < count) {
            const double bytes = output_bytes(stage.last_layer);
            mine.send_seconds = forward_weight(s, count) *
                                detail::slowest_send(cluster, replicas[s], replicas[s + 1], bytes, constants);
            score.traffic_usd +=
                microbatches * detail::send_usd(cluster, replicas[s], replicas[s + 1], bytes);
        }
        if (s > 0) {
            // The published code takes the time of gradients from the stage's own first layer, their dollars
            // from the layer in front of it.
            mine.send_seconds +=
                backward_weight(s, count) * detail::slowest_send(cluster, replicas[s], replicas[s - 1],
                                                                 output_bytes(stage.first_layer), constants);
            score.traffic_usd += microbatches * detail::send_usd(cluster, replicas[s], replicas[s - 1],
                                                                 output_bytes(plan.stages[s - 1].last_layer));
        }
        double gradients = 0;
        for (std::size_t l = stage.first_layer; l <= stage.last_layer; ++l)
            gradients += model.sizes.at(1)[l].parameters * model.bytes_per_float;
        mine.reduce_seconds = detail::slowest_reduce(cluster, replicas[s], gradients, constants);
        score.traffic_usd += detail::reduce_usd(cluster, replicas[s], gradients);
        straggler = std::max(straggler, mine.compute_seconds + mine.send_seconds);
        all += mine.compute_seconds + mine.send_seconds;
        update = std::max(update, mine.update_seconds);
        reduce = std::max(reduce, mine.reduce_seconds);
        score.fits = score.fits && mine.fits;
    }
    score.iteration_seconds = all + update + reduce;
    if (microbatches > 1) score.iteration_seconds += (microbatches - 1) * straggler;  // not 0 times infinity
    score.compute_usd = usd_per_hour / 3600 * score.iteration_seconds;
    return score;
}

}  // namespace goodput

#endif
