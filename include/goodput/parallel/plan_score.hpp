#ifndef GOODPUT_PARALLEL_PLAN_SCORE_HPP
#define GOODPUT_PARALLEL_PLAN_SCORE_HPP

// How long an iteration of a plan takes, what it costs and what its GPUs hold (Sailor, section 4.3: stages
// one forward, one backward, with stragglers, communication and a data-parallel reduction at the end):
//
//     iteration = (micro-batches - 1) * straggler + sum of stages (computing + sending) + update + reduction
//
// straggler = the largest of a stage's computing + sending. The defaults of ParallelConstants are the
// published simulator's, to the letter; what it leaves out can be said there.

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

namespace goodput {

/// What holds for all models and clusters in the formulas of time and memory.
struct ParallelConstants {
    double compute_factor = 1;  ///< computing takes that many times what the layers took by themselves
    double layer_overhead_seconds = 0;    ///< what timing a layer by itself added to its time, forward and
                                          ///< backward together; taken off each layer, down to 0
    double stage_seconds = 0;             ///< added to each stage's computing of a micro-batch
    double send_factor = 1;               ///< between stages: the link's seconds take that many times as long
    double message_seconds = 0;           ///< added to each message between stages
    double message_seconds_per_byte = 0;  ///< added to it for each of its bytes, whatever the link
    double reduce_factor = 1;             ///< of gradients among replicas
    double reduce_bucket_bytes = 5e8;     ///< gradients are reduced in pieces of that size
    int most_shards = 4;       ///< gradients are reduced in that many shards at most (a slip of the published
                               ///< code, which has no sizes of wider tensor-parallel groups there)
    double fixed_bytes = 2e9;  ///< on every GPU, tensor_parallel 1
    double fixed_bytes_parallel = 3e9;     ///< on every GPU, tensor_parallel above 1
    double activation_factor = 1;          ///< activations take that many times their profiled size
    double parameter_factor = 1;           ///< parameters and what goes with them, the same
    bool whole_pipeline_in_flight = true;  ///< activations are kept of one micro-batch for each stage from
                                           ///< here to the last, even where an iteration has fewer (a slip of
                                           ///< the published code)
};

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

/// Seconds that a layer takes for one micro-batch within a plan, forward and backward.
[[nodiscard]] inline double layer_seconds(const LayerTime& time, const ParallelConstants& constants = {}) {
    return std::max(constants.compute_factor * (time.forward_seconds + time.backward_seconds) -
                        constants.layer_overhead_seconds,
                    0.0);
}

/// Bytes that stages exchange about the output of a layer, activations or their gradient: those that one GPU
/// would hand on, whatever the tensor-parallel degree of either stage (so the published code).
[[nodiscard]] inline double message_bytes(const LayeredModel& model, std::size_t layer, int microbatch) {
    return model.sizes.at(1)[layer].output_floats * model.bytes_per_float * microbatch;
}

/// How many times the seconds of activations count that stage `stage` of `stages`, from 0, hands on. So the
/// published code; the second time stands for what is received.
[[nodiscard]] constexpr double forward_weight(std::size_t stage, std::size_t stages) {
    return stage == 0 && stages > 3 ? 2 : 1;
}
/// The same for gradients that it hands back.
[[nodiscard]] constexpr double backward_weight(std::size_t stage, std::size_t stages) {
    return stage + 1 == stages ? 2 : 1;
}

/// Seconds of a message of `bytes` from one stage to another over `link`; infinity without a link.
[[nodiscard]] inline double message_seconds(double bytes, const BandwidthCurve* link,
                                            const ParallelConstants& constants = {}) {
    if (link == nullptr) return std::numeric_limits<double>::infinity();
    return constants.send_factor * link->seconds(bytes) + constants.message_seconds +
           constants.message_seconds_per_byte * bytes;
}

/// Seconds of a ring all-reduce of `bytes` among `replicas`, each of whose messages goes over `link`.
[[nodiscard]] inline double reduce_seconds(double bytes, int replicas, const BandwidthCurve& link,
                                           const ParallelConstants& constants = {}) {
    if (replicas <= 1 || !(bytes > 0)) return 0;
    const auto ring = [&](double part) { return 2 * (replicas - 1) * link.seconds(part / replicas); };
    const double full = std::floor(bytes / constants.reduce_bucket_bytes);
    const double rest = bytes - full * constants.reduce_bucket_bytes;
    return constants.reduce_factor *
           ((full > 0 ? full * ring(constants.reduce_bucket_bytes) : 0) + ring(rest));
}

/// Micro-batches whose activations a stage keeps at once, with so many stages from this one to the last, if
/// a replica computes `microbatches` of them in all.
[[nodiscard]] constexpr std::size_t most_in_flight(std::size_t stages_left, double microbatches,
                                                   const ParallelConstants& constants = {}) {
    return constants.whole_pipeline_in_flight || microbatches >= static_cast<double>(stages_left)
               ? stages_left
               : static_cast<std::size_t>(microbatches);
}

/// Bytes on one GPU of a stage with so many parameters and floats of activations a sample there, while
/// `in_flight` micro-batches are under way.
[[nodiscard]] inline double stage_bytes(double parameters, double activation_floats, int tensor_parallel,
                                        int microbatch, std::size_t in_flight, const LayeredModel& model,
                                        const ParallelConstants& constants = {}) {
    return constants.parameter_factor * parameters * model.bytes_per_parameter +
           constants.activation_factor * activation_floats * microbatch * model.bytes_per_float *
               static_cast<double>(in_flight) +
           (tensor_parallel > 1 ? constants.fixed_bytes_parallel : constants.fixed_bytes);
}

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

inline PlanScore score_plan(const LayeredModel& model, const ParallelCluster& cluster,
                            const ParallelPlan& plan, const ParallelConstants& constants) {
    PlanScore score;
    score.fault = fault_of(model, cluster, plan);
    score.stages.resize(plan.stages.size());
    score.fits = true;
    const std::size_t count = plan.stages.size();
    const auto microbatches = static_cast<double>(plan.microbatches());
    std::vector<std::vector<const ReplicaGroup*>> replicas;
    for (const PlanStage& stage : plan.stages) replicas.push_back(detail::each_replica(stage));

    double straggler = 0, all = 0, update = 0, reduce = 0, usd_per_hour = 0, traffic_usd = 0;
    for (std::size_t s = 0; s < count; ++s) {
        const PlanStage& stage = plan.stages[s];
        StageScore& mine = score.stages[s];
        const std::size_t in_flight = most_in_flight(count - s, microbatches, constants);
        int shards = constants.most_shards;
        double whole_parameters = 0;
        for (std::size_t l = stage.first_layer; l <= stage.last_layer; ++l)
            whole_parameters += model.sizes.at(1)[l].parameters;
        for (const ReplicaGroup& group : stage.replicas) {
            const GpuType& type = cluster.types[group.gpu_type];
            usd_per_hour += group.count * group.tensor_parallel * type.usd_per_hour;
            shards = std::min(shards, group.tensor_parallel);
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
            mine.compute_seconds = std::max(mine.compute_seconds, seconds);
            if (times != nullptr)
                mine.update_seconds =
                    std::max(mine.update_seconds, (*times)[stage.first_layer].update_seconds);
            const double bytes = stage_bytes(parameters, activations, group.tensor_parallel, plan.microbatch,
                                             in_flight, model, constants);
            mine.memory_bytes = std::max(mine.memory_bytes, bytes);
            mine.fits = mine.fits && bytes <= type.memory_gib * 1073741824.0;
        }
        // Activations to the next stage, gradients to the one before. The published code takes the gradients'
        // time from the stage's own first layer, their dollars from the layer in front of it.
        const auto slowest_send = [&](const std::vector<const ReplicaGroup*>& others, std::size_t layer,
                                      std::size_t paid_layer) {
            const double bytes = message_bytes(model, layer, plan.microbatch),
                         paid = message_bytes(model, paid_layer, plan.microbatch) * microbatches;
            double slowest = 0;
            const ReplicaGroup *last_from = nullptr, *last_to = nullptr;
            for (std::size_t j = 0; j < replicas[s].size(); ++j) {
                const ReplicaGroup &from = *replicas[s][j], &to = *others[j % others.size()];
                traffic_usd += cluster.usd_per_gigabyte[from.zone][to.zone] * paid / 1e9;
                if (&from == last_from && &to == last_to) continue;
                last_from = &from;
                last_to = &to;
                const BandwidthCurve* link =
                    cluster.link(detail::link_end(cluster, from), detail::link_end(cluster, to));
                slowest = std::max(slowest, message_seconds(bytes, link, constants));
            }
            return slowest;
        };
        if (s + 1 < count)
            mine.send_seconds =
                forward_weight(s, count) * slowest_send(replicas[s + 1], stage.last_layer, stage.last_layer);
        if (s > 0)
            mine.send_seconds += backward_weight(s, count) * slowest_send(replicas[s - 1], stage.first_layer,
                                                                          plan.stages[s - 1].last_layer);

        const auto dp = replicas[s].size();
        const double bytes = whole_parameters * model.bytes_per_float;
        for (std::size_t j = 0; dp > 1 && j < dp; ++j) {
            const ReplicaGroup &a = *replicas[s][j], &b = *replicas[s][(j + 1) % dp];
            traffic_usd += cluster.usd_per_gigabyte[a.zone][b.zone] * 2 * (static_cast<double>(dp) - 1) /
                           static_cast<double>(dp) * bytes / 1e9;
            if (j + 1 == dp || (j > 0 && &a == &b && replicas[s][j - 1] == &a)) continue;
            const BandwidthCurve* link = cluster.link({a.zone, a.gpu_type, 1}, {b.zone, b.gpu_type, 1});
            mine.reduce_seconds = std::max(
                mine.reduce_seconds,
                link == nullptr ? std::numeric_limits<double>::infinity()
                                : reduce_seconds(bytes / shards, static_cast<int>(dp), *link, constants));
        }
        straggler = std::max(straggler, mine.compute_seconds + mine.send_seconds);
        all += mine.compute_seconds + mine.send_seconds;
        update = std::max(update, mine.update_seconds);
        reduce = std::max(reduce, mine.reduce_seconds);
        score.fits = score.fits && mine.fits;
    }
    score.iteration_seconds = (microbatches - 1) * straggler + all + update + reduce;
    if (microbatches == 1) score.iteration_seconds = all + update + reduce;  // not 0 times infinity
    score.compute_usd = usd_per_hour / 3600 * score.iteration_seconds;
    score.traffic_usd = traffic_usd;
    return score;
}

}  // namespace goodput

#endif
