#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_INCUMBENT_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_INCUMBENT_HPP

// Keeps the best plan so far, and lays chains out as plans. A chain is a class of replicas (GPU type and
// tensor-parallel degree) for each stage. Each stage gets replicas of the chain's class, zone by zone. If
// these are too few, other classes that are as fast and have the memory join: a stage of mixed replicas.
// The search leaves out whatever cannot beat the best plan by more than the gap. The least bound of all
// that was left out is part of the answer's bound.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/search_box.hpp"
#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/plan_score.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the orders of zones to try: all orders of a few zones, rotations in both directions of many.
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
    explicit ChainAssembly(const PlanTask& task) : task_(task), orders_(zone_orders(task.cluster)) {}

    /// Calls visit(plan) for several ways to give each stage `replicas` replicas. Calls nothing if there
    /// are too few GPUs. Stops when `visit` returns false.
    template <class Visit>
    void for_each_plan(const StageTables& tables, const Chain& chain, int replicas, Visit visit) {
        plan_.microbatch = tables.microbatch();
        plan_.global_batch = task_.question.global_batch;
        for (const auto& order : orders_)
            for (const bool together : {true, false}) {
                if (assemble(tables, chain, replicas, order, together) && !visit(plan_)) return;
                if (orders_.size() == 1) break;
            }
    }

private:
    bool assemble(const StageTables& tables, const Chain& chain, int replicas,
                  const std::vector<std::size_t>& order, bool together) {
        const auto microbatches =
            static_cast<double>(microbatches_of(task_.question.global_batch, tables.microbatch(), replicas));
        left_ = task_.cluster.gpus;
        plan_.stages.clear();
        std::size_t begin = 0;
        for (std::size_t s = 0; s < chain.ends.size(); ++s) {
            PlanStage stage{begin, chain.ends[s] - 1, {}};
            const std::size_t in_flight =
                most_in_flight(chain.ends.size() - s, microbatches, task_.constants);
            int wanted = take(tables.classes()[chain.classes[s]], replicas, order, together, stage);
            if (wanted > 0 && task_.question.mixed_stages) {
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

    /// Gives the stage up to `wanted` replicas. Returns how many are missing.
    int take(const StageClass& stage_class, int wanted, const std::vector<std::size_t>& order, bool together,
             PlanStage& stage) {
        const auto room = [&](std::size_t zone) {
            return left_[zone][stage_class.gpu_type] / stage_class.tensor_parallel;
        };
        const auto grab = [&](std::size_t zone, int count) {
            if (count <= 0) return;
            stage.replicas.push_back({stage_class.gpu_type, stage_class.tensor_parallel, zone, count});
            left_[zone][stage_class.gpu_type] -= count * stage_class.tensor_parallel;
            wanted -= count;
        };
        if (together)
            for (const std::size_t zone : order)
                if (wanted > 0 && room(zone) >= wanted) grab(zone, wanted);
        for (const std::size_t zone : order) grab(zone, std::min(wanted, room(zone)));
        return wanted;
    }

    const PlanTask& task_;
    std::vector<std::vector<std::size_t>> orders_;
    std::vector<std::vector<int>> left_{};
    ParallelPlan plan_{};
};

/// Keeps the best plan, and the bounds of all that was left out.
class PlanIncumbent {
public:
    /// The caller keeps the task alive.
    explicit PlanIncumbent(const PlanTask& task) : task_(task), assembly_(task) {}

    /// The best plan's value for the goal, its seconds, and the plan itself. Both numbers are `never` if
    /// there is no plan yet.
    [[nodiscard]] double value() const { return best_; }
    [[nodiscard]] double seconds() const { return best_seconds_; }
    [[nodiscard]] const ParallelPlan& plan() const { return best_plan_; }
    /// The least bound of all that was left out within the gap.
    [[nodiscard]] double left_out() const { return left_out_; }

    /// Whether plans with that bound cannot be better by more than the gap.
    [[nodiscard]] bool good_enough(double bound) const {
        return bound >= best_ - task_.question.gap * std::abs(best_) || (best_ == never && bound == never);
    }

    /// Whether plans with that bound can be left out. If so, their bound counts, because the answer is only
    /// proven to within the gap.
    bool leave_out(double bound) {
        if (!good_enough(bound)) return false;
        left_out_ = std::min(left_out_, bound);
        return true;
    }

    /// Returns the last number of stages whose bound is not good enough; 0 if there is none.
    [[nodiscard]] std::size_t last_open(const std::vector<double>& by_stages) const {
        std::size_t last = by_stages.size() - 1;
        while (last > 0 && good_enough(by_stages[last])) --last;
        return last;
    }

    /// Keeps the best of the plans that the question starts with.
    void begin() {
        for (const ParallelPlan& plan : task_.question.known)
            if (is_asked_for(plan)) consider(plan);
    }

    /// Tries a chain with as many replicas as the GPUs allow.
    void try_fitting(const BatchDivision& division, const Chain& chain) {
        std::vector<int> need(task_.cluster.types.size(), 0);
        for (const std::size_t k : chain.classes) {
            const StageClass& stage_class = division.common->tables.classes()[k];
            need[stage_class.gpu_type] += stage_class.tensor_parallel;
        }
        int replicas = task_.question.global_batch;
        for (std::size_t t = 0; t < need.size(); ++t)
            if (need[t] > 0) replicas = std::min(replicas, task_.cluster.gpus_of(t) / need[t]);
        if (replicas == 0) return;
        if (replicas < division.replicas) {
            // Takes no more replicas than that number of micro-batches per replica needs.
            const int batch = task_.question.global_batch, microbatch = division.common->tables.microbatch();
            replicas = static_cast<int>(
                microbatches_of(batch, microbatch, microbatches_of(batch, microbatch, replicas)));
        }
        try_chain(division.common->tables, std::min(replicas, division.replicas), chain, 6);
    }

    /// Tries a chain as plans, and keeps the best. Returns the best value of any of them. Gives up after
    /// `most` plans that are far from the best one.
    double try_chain(const StageTables& tables, int replicas, const Chain& chain, int most) {
        double least = never;
        if (chain.ends.empty()) return least;
        assembly_.for_each_plan(tables, chain, replicas, [&](const ParallelPlan& plan) {
            least = std::min(least, consider(plan));
            return --most > 0 || least < best_ + 0.02 * std::abs(best_);
        });
        return least;
    }
    /// Keeps a plan if it is the best so far. Returns its value.
    double consider(const ParallelPlan& plan) {
        const PlanScore score = score_plan(task_.model, task_.cluster, plan, task_.constants);
        if (!score.fits || score.fault || !std::isfinite(score.iteration_seconds)) return never;
        double spending = 0;
        for (const PlanStage& stage : plan.stages)
            for (const ReplicaGroup& group : stage.replicas)
                spending += group.count * group.tensor_parallel * task_.goal.weights()[group.gpu_type];
        const double value = task_.goal.value(score.iteration_seconds, spending, score.traffic_usd);
        if (value < best_) {
            best_ = value;
            best_seconds_ = score.iteration_seconds;
            best_plan_ = plan;
        }
        return value;
    }

private:
    /// Whether one of PlanQuestion::known answers the question.
    [[nodiscard]] bool is_asked_for(const ParallelPlan& plan) const {
        if (plan.global_batch != task_.question.global_batch || plan.microbatch < 1 || plan.stages.empty())
            return false;
        for (const PlanStage& stage : plan.stages) {
            if (stage.last_layer >= task_.model.layers || stage.first_layer > stage.last_layer) return false;
            for (const ReplicaGroup& group : stage.replicas) {
                if (group.gpu_type >= task_.cluster.types.size() ||
                    group.zone >= task_.cluster.zones.size() || group.tensor_parallel < 1 || group.count < 1)
                    return false;
                const ReplicaGroup& first = stage.replicas.front();
                if (!task_.question.mixed_stages &&
                    (group.gpu_type != first.gpu_type || group.tensor_parallel != first.tensor_parallel))
                    return false;
            }
        }
        return true;
    }

    const PlanTask& task_;
    ChainAssembly assembly_;
    double best_ = never, best_seconds_ = never, left_out_ = never;
    ParallelPlan best_plan_{};
};

}  // namespace goodput::inline v0_1::detail

#endif
