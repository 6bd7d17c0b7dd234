#ifndef GOODPUT_PARALLEL_PARALLEL_PLAN_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLAN_HPP

// A parallelism plan: the layers divided into stages, and every stage on the same number of replicas. Each
// replica is a tensor-parallel group of GPUs of one type in one zone. Replica j of a stage passes its
// output to replica j of the next stage.

#include <compare>
#include <cstddef>
#include <vector>

namespace goodput::inline v0_1 {

/// Equal replicas of a stage.
struct ReplicaGroup {
    std::size_t gpu_type = 0;  ///< index into ParallelCluster::types
    int tensor_parallel = 1;   ///< GPUs of one replica
    std::size_t zone = 0;      ///< index into ParallelCluster::zones
    int count = 0;             ///< number of replicas, at least 1

    /// Orders by type, degree, zone and count.
    friend constexpr auto operator<=>(const ReplicaGroup&, const ReplicaGroup&) = default;
};

/// Layers first_layer to last_layer, and the replicas that compute them.
struct PlanStage {
    std::size_t first_layer = 0;           ///< counted from 0
    std::size_t last_layer = 0;            ///< included
    std::vector<ReplicaGroup> replicas{};  ///< groups, in the order of replicas

    /// Returns the number of replicas in all groups.
    [[nodiscard]] int replica_count() const {
        int count = 0;
        for (const ReplicaGroup& group : replicas) count += group.count;
        return count;
    }
    friend bool operator==(const PlanStage&, const PlanStage&) = default;
};

/// Returns the micro-batches that each of `replicas` replicas computes per iteration.
[[nodiscard]] constexpr long long microbatches_of(long long global_batch, long long microbatch,
                                                  long long replicas) {
    return (global_batch + microbatch * replicas - 1) / (microbatch * replicas);
}

/// How a large model is trained. A plan without stages means that it is not trained.
struct ParallelPlan {
    int microbatch = 1;               ///< samples that a replica computes at once
    int global_batch = 1;             ///< samples per iteration
    std::vector<PlanStage> stages{};  ///< in the order of layers

    /// Returns the number of GPUs of a type in a zone.
    [[nodiscard]] int gpus(std::size_t zone, std::size_t gpu_type) const {
        int sum = 0;
        for (const PlanStage& stage : stages)
            for (const ReplicaGroup& group : stage.replicas)
                if (group.zone == zone && group.gpu_type == gpu_type)
                    sum += group.count * group.tensor_parallel;
        return sum;
    }
    /// Returns the micro-batches that each replica of the first stage computes per iteration.
    [[nodiscard]] int microbatches() const {
        return static_cast<int>(microbatches_of(global_batch, microbatch, stages.front().replica_count()));
    }
    friend bool operator==(const ParallelPlan&, const ParallelPlan&) = default;
};

}  // namespace goodput::inline v0_1

#endif
