#ifndef GOODPUT_PARALLEL_PARALLEL_PLAN_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLAN_HPP

// A parallelism plan: the layers cut into stages, every stage on the same number of replicas, each replica a
// tensor-parallel group of GPUs of one type in one zone. Replica j of a stage hands its output to replica j
// of the next one.

#include <compare>
#include <cstddef>
#include <vector>

namespace goodput {

/// Replicas of a stage that are alike.
struct ReplicaGroup {
    std::size_t gpu_type = 0;  ///< index into ParallelCluster::types
    int tensor_parallel = 1;   ///< GPUs of one replica
    std::size_t zone = 0;      ///< index into ParallelCluster::zones
    int count = 0;             ///< replicas, at least 1

    /// By type, degree, zone and count.
    friend constexpr auto operator<=>(const ReplicaGroup&, const ReplicaGroup&) = default;
};

/// Layers first_layer to last_layer, and who computes them.
struct PlanStage {
    std::size_t first_layer = 0;           ///< counted from 0
    std::size_t last_layer = 0;            ///< included
    std::vector<ReplicaGroup> replicas{};  ///< in the order of replicas

    /// Replicas of all groups.
    [[nodiscard]] int replica_count() const {
        int count = 0;
        for (const ReplicaGroup& group : replicas) count += group.count;
        return count;
    }
    friend bool operator==(const PlanStage&, const PlanStage&) = default;
};

/// How a large model is trained: stages in the order of layers; no stages: not at all.
struct ParallelPlan {
    int microbatch = 1;               ///< samples that a replica computes at once
    int global_batch = 1;             ///< samples an iteration
    std::vector<PlanStage> stages{};  ///< in the order of layers

    /// GPUs of a type in a zone.
    [[nodiscard]] int gpus(std::size_t zone, std::size_t gpu_type) const {
        int sum = 0;
        for (const PlanStage& stage : stages)
            for (const ReplicaGroup& group : stage.replicas)
                if (group.zone == zone && group.gpu_type == gpu_type)
                    sum += group.count * group.tensor_parallel;
        return sum;
    }
    /// Micro-batches that each replica of the first stage computes an iteration.
    [[nodiscard]] int microbatches() const {
        const long long at_once = static_cast<long long>(microbatch) * stages.front().replica_count();
        return static_cast<int>((global_batch + at_once - 1) / at_once);
    }
    friend bool operator==(const ParallelPlan&, const ParallelPlan&) = default;
};

}  // namespace goodput

#endif
