#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_ASSEMBLY_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_ASSEMBLY_HPP

// From a chain to plans: every stage gets its replicas of the chain's class, zone by zone. Where there are
// not enough, other classes that are as fast and have the memory fill up: a stage of mixed replicas.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"
#include "goodput/parallel/parallel_plan.hpp"

namespace goodput::detail {

/// Orders of zones to try: all of few, rotations both ways of many.
inline std::vector<std::vector<std::size_t>> zone_orders(const ParallelCluster& cluster) {
    std::vector<std::size_t> order = cluster.zones_with_gpus();
    std::vector<std::vector<std::size_t>> orders;
    if (order.size() <= 5) {
        do {
            orders.push_back(order);
        } while (std::next_permutation(order.begin(), order.end()));
        return orders;
    }
    for (const bool reversed : {false, true}) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            orders.push_back(order);
            std::rotate(order.begin(), order.begin() + 1, order.end());
        }
        if (!reversed) std::reverse(order.begin(), order.end());
    }
    return orders;
}

/// Lays chains out on zones.
class ChainAssembly {
public:
    ChainAssembly(const ParallelCluster& cluster, const ParallelConstants& constants)
        : cluster_(&cluster), constants_(constants), orders_(zone_orders(cluster)) {}

    /// Calls visit(plan) for ways to give each stage `replicas` replicas; none where there are not enough
    /// GPUs.
    template <class Visit>
    void for_each_plan(const StageTables& tables, const Chain& chain, int replicas, int global_batch,
                       bool mixed, Visit visit) {
        const long long at_once = static_cast<long long>(tables.microbatch()) * replicas;
        microbatches_ = static_cast<double>((global_batch + at_once - 1) / at_once);
        for (const auto& order : orders_)
            for (const bool together : {true, false}) {
                if (assemble(tables, chain, replicas, order, together, mixed)) {
                    plan_.microbatch = tables.microbatch();
                    plan_.global_batch = global_batch;
                    if (!visit(plan_)) return;
                }
                if (orders_.size() == 1) break;
            }
    }

private:
    bool assemble(const StageTables& tables, const Chain& chain, int replicas,
                  const std::vector<std::size_t>& order, bool together, bool mixed) {
        left_ = cluster_->gpus;
        plan_.stages.clear();
        std::size_t begin = 0;
        for (std::size_t s = 0; s < chain.ends.size(); ++s) {
            PlanStage stage{begin, chain.ends[s] - 1, {}};
            const std::size_t in_flight = most_in_flight(chain.ends.size() - s, microbatches_, constants_);
            int wanted = take(tables.classes()[chain.classes[s]], replicas, order, together, stage);
            if (wanted > 0 && mixed) {
                const double most = tables.compute(chain.classes[s], begin, chain.ends[s]) * (1 + 1e-9);
                for (std::size_t k = 0; wanted > 0 && k < tables.size(); ++k)
                    if (k != chain.classes[s] && tables.room(k, in_flight, begin) >= chain.ends[s] &&
                        tables.compute(k, begin, chain.ends[s]) <= most)
                        wanted = take(tables.classes()[k], wanted, order, false, stage);
            }
            if (wanted > 0) return false;
            plan_.stages.push_back(std::move(stage));
            begin = chain.ends[s];
        }
        return true;
    }

    /// Gives the stage up to `wanted` replicas; answers how many are missing.
    int take(const StageClass& its, int wanted, const std::vector<std::size_t>& order, bool together,
             PlanStage& stage) {
        const auto room = [&](std::size_t zone) { return left_[zone][its.gpu_type] / its.tensor_parallel; };
        const auto grab = [&](std::size_t zone, int count) {
            if (count <= 0) return;
            stage.replicas.push_back({its.gpu_type, its.tensor_parallel, zone, count});
            left_[zone][its.gpu_type] -= count * its.tensor_parallel;
            wanted -= count;
        };
        if (together)
            for (const std::size_t zone : order)
                if (wanted > 0 && room(zone) >= wanted) grab(zone, wanted);
        for (const std::size_t zone : order) grab(zone, std::min(wanted, room(zone)));
        return wanted;
    }

    const ParallelCluster* cluster_;
    const ParallelConstants& constants_;
    std::vector<std::vector<std::size_t>> orders_;
    double microbatches_ = 1;
    std::vector<std::vector<int>> left_{};
    ParallelPlan plan_{};
};

}  // namespace goodput::detail

#endif
