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

#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::detail {

/// Completes chains to plans.
class ChainCompletion {
public:
    ChainCompletion(const LayeredModel& model, const PlanGoal& goal, const ParallelConstants& constants)
        : model_(model), goal_(goal), constants_(constants) {}

    /// Calls visit(plan) for all plans of a chain in a division's region whose value may be less than
    /// `best()`, which may fall meanwhile; false where that took more than `most` steps, so that some were
    /// left out.
    template <class Best, class Visit>
    bool run(const BatchDivision& division, const Chain& chain, int global_batch, std::size_t most, Best best,
             Visit visit) {
        cluster_ = &division.region().cluster;
        begin(division, chain, global_batch);
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
        std::vector<int> shards{};  // that gradients may be reduced in
        std::vector<Kind> kinds{};
        double least_spending = 0;  // of a replica
        // Of the columns so far:
        double forward = 0, backward = 0, reduce = 0;
        int most_shards = 1;
        std::vector<std::size_t> chosen{};
    };

    void begin(const BatchDivision& division, const Chain& chain, int global_batch) {
        const StageTables& tables = division.common->tables;
        replicas_ = division.replicas;
        microbatch_ = tables.microbatch();
        global_batch_ = global_batch;
        repeats_ = division.repeats;
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
            stage.gradient_bytes = tables.distinct_bytes()[tables.bytes_number(stage.begin, stage.end)];
            stage.most_shards = constants_.most_shards;
            stage.least_spending = never;
            tables.for_each_joining(chain.classes[s], stage.begin, stage.end, [&](std::size_t k) {
                if (tables.room(k, division.in_flight(stages_.size() - s), stage.begin) < stage.end) return;
                const StageClass& its = tables.classes()[k];
                stage.shards.push_back(std::min(its.tensor_parallel, constants_.most_shards));
                for (std::size_t zone = 0; zone < cluster_->zones.size(); ++zone) {
                    if (left_[zone][its.gpu_type] < its.tensor_parallel) continue;
                    const double spending = its.tensor_parallel * goal_.weights()[its.gpu_type];
                    stage.kinds.push_back({{its.gpu_type, its.tensor_parallel, zone, 1}, spending});
                    stage.least_spending = std::min(stage.least_spending, spending);
                }
            });
            all_to_come_ += stage.least_spending * replicas_;
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
        const int most_shards = stage.most_shards;
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
            stage.most_shards = most_shards;
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
            before.forward = std::max(before.forward, send(other, mine, stage.begin - 1));
            stage.backward = std::max(stage.backward, send(mine, other, stage.begin));
            traffic_ += (cluster_->usd_per_gigabyte[other.zone][mine.zone] +
                         cluster_->usd_per_gigabyte[mine.zone][other.zone]) *
                        message_bytes(model_, stage.begin - 1, microbatch_) / 1e9 * (repeats_ + 1);
        }
        stage.most_shards = std::min(stage.most_shards, mine.tensor_parallel);
        if (!stage.chosen.empty()) {
            const ReplicaGroup& other = stage.kinds[stage.chosen.back()].group;
            const BandwidthCurve* link =
                cluster_->link({other.zone, other.gpu_type, 1}, {mine.zone, mine.gpu_type, 1});
            // The narrowest replica of the stage may be still to come.
            double least = never;
            for (const int shards : stage.shards)
                if (link != nullptr && shards <= stage.most_shards)
                    least = std::min(
                        least, reduce_seconds(stage.gradient_bytes / shards, replicas_, *link, constants_));
            stage.reduce = std::max(stage.reduce, least);
        }
    }

    [[nodiscard]] double send(const ReplicaGroup& from, const ReplicaGroup& to, std::size_t layer) const {
        return message_seconds(message_bytes(model_, layer, microbatch_),
                               cluster_->link(link_end(*cluster_, from), link_end(*cluster_, to)),
                               constants_);
    }

    /// No plan with the replicas so far is worth less.
    [[nodiscard]] double least_value() const {
        double straggler = 0, sum = 0, reduce = 0, update = 0;
        const std::size_t count = stages_.size();
        for (std::size_t s = 0; s < count; ++s) {
            const Stage& stage = stages_[s];
            const double sending =
                forward_weight(s, count) * stage.forward + backward_weight(s, count) * stage.backward;
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
