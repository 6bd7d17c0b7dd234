#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_COMPLETION_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_COMPLETION_HPP

// All plans of a chain, where they are few: every replica of every stage is tried on every class that may
// join and in every zone. That closes chains whose bound no laid out plan reaches, as replicas of other zones
// or types are in the way. Replicas are set column by column (replica j of all stages), so that what they
// send and reduce is known early and cuts off the rest.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"

namespace goodput::detail {

/// Completes chains to plans.
class ChainCompletion {
public:
    ChainCompletion(const LayeredModel& model, const PlanGoal& goal, const ParallelConstants& constants)
        : model_(model), goal_(goal), constants_(constants) {}

    /// Calls visit(plan) for all plans of a chain on a cluster whose value may be less than `best()`, which
    /// may fall meanwhile; false where that took more than `most` steps, so that some were left out.
    template <class Best, class Visit>
    bool run(const ParallelCluster& cluster, const StageTables& tables, const Chain& chain, int replicas,
             int global_batch, std::size_t most, Best best, Visit visit) {
        cluster_ = &cluster;
        begin(tables, chain, replicas, global_batch);
        // Far too many are not begun: most of them would be left out, and the time is better spent elsewhere.
        double ways = 1;
        for (const Stage& stage : stages_) {
            if (stage.kinds.empty()) return true;
            ways *= std::pow(static_cast<double>(stage.kinds.size()), replicas_);
        }
        if (ways > 1e3 * static_cast<double>(most)) return false;
        steps_left_ = most;
        return set(0, 0, best, visit);
    }

private:
    struct Kind {
        ReplicaGroup group{};
        double spending = 0;
    };
    struct Stage {
        std::size_t begin = 0, end = 0;
        double compute = 0, update = 0, gradient_bytes = 0;
        std::vector<Kind> kinds{};
        double least_spending = 0;  // of a replica
        // Of the columns so far:
        double forward = 0, backward = 0, reduce = 0;
        std::vector<std::size_t> chosen{};
    };

    void begin(const StageTables& tables, const Chain& chain, int replicas, int global_batch) {
        replicas_ = replicas;
        microbatch_ = tables.microbatch();
        global_batch_ = global_batch;
        const int at_once = microbatch_ * replicas;
        repeats_ = (global_batch + at_once - 1) / at_once - 1;
        left_ = cluster_->gpus;
        spending_ = traffic_ = all_to_come_ = 0;
        stages_.assign(chain.ends.size(), {});
        std::size_t first = 0;
        for (std::size_t s = 0; s < stages_.size(); ++s) {
            Stage& stage = stages_[s];
            stage.begin = first;
            stage.end = first = chain.ends[s];
            stage.compute = tables.compute(chain.classes[s], stage.begin, stage.end);
            stage.update = tables.classes()[chain.classes[s]].update[stage.begin];
            for (std::size_t l = stage.begin; l < stage.end; ++l)
                stage.gradient_bytes += model_.sizes.at(1)[l].parameters * model_.bytes_per_float;
            stage.least_spending = never;
            tables.for_each_joining(chain.classes[s], stage.begin, stage.end, [&](std::size_t k) {
                if (tables.room(k, stages_.size() - s, stage.begin) < stage.end) return;
                const StageClass& its = tables.classes()[k];
                for (std::size_t zone = 0; zone < cluster_->zones.size(); ++zone) {
                    if (left_[zone][its.gpu_type] < its.tensor_parallel) continue;
                    const double spending = its.tensor_parallel * goal_.weights()[its.gpu_type];
                    stage.kinds.push_back({{its.gpu_type, its.tensor_parallel, zone, 1}, spending});
                    stage.least_spending = std::min(stage.least_spending, spending);
                }
            });
            all_to_come_ += stage.least_spending * replicas;
        }
    }

    template <class Best, class Visit>
    bool set(int column, std::size_t s, Best& best, Visit& visit) {
        if (column == replicas_) {
            visit(plan());
            return true;
        }
        Stage& stage = stages_[s];
        const std::size_t next_stage = s + 1 == stages_.size() ? 0 : s + 1;
        const int next_column = next_stage == 0 ? column + 1 : column;
        const double spending = spending_, traffic = traffic_, to_come = all_to_come_, reduce = stage.reduce,
                     backward = stage.backward, forward = s > 0 ? stages_[s - 1].forward : 0;
        for (std::size_t k = 0; k < stage.kinds.size(); ++k) {
            const ReplicaGroup& group = stage.kinds[k].group;
            int& left = left_[group.zone][group.gpu_type];
            if (left < group.tensor_parallel) continue;
            if (steps_left_ == 0) return false;
            --steps_left_;
            add(s, k);
            bool all = true;
            if (least_value() < best()) {
                left -= group.tensor_parallel;
                stage.chosen.push_back(k);
                all = set(next_column, next_stage, best, visit);
                stage.chosen.pop_back();
                left += group.tensor_parallel;
            }
            spending_ = spending;
            traffic_ = traffic;
            all_to_come_ = to_come;
            stage.reduce = reduce;
            stage.backward = backward;
            if (s > 0) stages_[s - 1].forward = forward;
            if (!all) return false;
        }
        return true;
    }

    /// What a replica adds: to be sent to and from the stage before, and to be reduced with its neighbour.
    void add(std::size_t s, std::size_t k) {
        Stage& stage = stages_[s];
        const ReplicaGroup& mine = stage.kinds[k].group;
        spending_ += stage.kinds[k].spending;
        all_to_come_ -= stage.least_spending;
        if (s > 0) {
            Stage& before = stages_[s - 1];
            const ReplicaGroup& other = before.kinds[before.chosen.back()].group;
            before.forward = std::max(before.forward, send(other, mine, before.end - 1));
            stage.backward = std::max(stage.backward, send(mine, other, stage.begin));
        }
        if (!stage.chosen.empty()) {
            const ReplicaGroup& other = stage.kinds[stage.chosen.back()].group;
            const BandwidthCurve* link =
                cluster_->link({other.zone, other.gpu_type, 1}, {mine.zone, mine.gpu_type, 1});
            const int shards =
                std::min({other.tensor_parallel, mine.tensor_parallel, constants_.most_shards});
            stage.reduce =
                std::max(stage.reduce, link == nullptr ? never
                                                       : reduce_seconds(stage.gradient_bytes / shards,
                                                                        replicas_, *link, constants_));
        }
    }

    double send(const ReplicaGroup& from, const ReplicaGroup& to, std::size_t layer) {
        const double bytes = (*model_.sizes_of(from.tensor_parallel))[layer].output_floats *
                             model_.bytes_per_float * microbatch_;
        traffic_ += cluster_->usd_per_gigabyte[from.zone][to.zone] * bytes / 1e9 * (repeats_ + 1);
        return message_seconds(bytes, cluster_->link(link_end(*cluster_, from), link_end(*cluster_, to)),
                               constants_);
    }

    /// No plan with the replicas so far is worth less.
    [[nodiscard]] double least_value() const {
        double straggler = 0, sum = 0, reduce = 0, update = 0;
        const std::size_t count = stages_.size();
        for (std::size_t s = 0; s < count; ++s) {
            const Stage& stage = stages_[s];
            const double sending = s == 0           ? (count > 3 ? 2 : 1) * stage.forward
                                   : s + 1 == count ? 2 * stage.backward
                                                    : stage.forward + stage.backward;
            straggler = std::max(straggler, stage.compute + sending);
            sum += stage.compute + sending;
            reduce = std::max(reduce, stage.reduce);
            update = std::max(update, stage.update);
        }
        if (sum == never || reduce == never) return never;
        // Sums are rounded in another order than a plan's score.
        const double value =
            goal_.value((repeats_ * straggler + sum + update + reduce) * (1 - 1e-12),
                        (spending_ + std::max(all_to_come_, 0.0)) * (1 - 1e-12), traffic_ * (1 - 1e-12));
        return value;
    }

    [[nodiscard]] ParallelPlan plan() const {
        ParallelPlan plan{microbatch_, global_batch_, {}};
        for (const Stage& stage : stages_) {
            PlanStage& added = plan.stages.emplace_back();
            added.first_layer = stage.begin;
            added.last_layer = stage.end - 1;
            for (std::size_t j = 0; j < stage.chosen.size(); ++j) {
                if (j > 0 && stage.chosen[j] == stage.chosen[j - 1])
                    ++added.replicas.back().count;
                else
                    added.replicas.push_back(stage.kinds[stage.chosen[j]].group);
            }
        }
        return plan;
    }

    const LayeredModel& model_;
    const ParallelCluster* cluster_ = nullptr;
    const PlanGoal& goal_;
    const ParallelConstants& constants_;
    std::vector<Stage> stages_{};
    std::vector<std::vector<int>> left_{};
    int replicas_ = 0, microbatch_ = 1, global_batch_ = 1;
    double repeats_ = 0, spending_ = 0, traffic_ = 0, all_to_come_ = 0;
    std::size_t steps_left_ = 0;
};

}  // namespace goodput::detail

#endif
