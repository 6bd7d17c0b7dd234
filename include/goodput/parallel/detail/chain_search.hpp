#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_SEARCH_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_SEARCH_HPP

// Searches the chains of a box (a set of plans, search_box.hpp) depth first, as long as their bound is
// below the best plan. A chain is a class of replicas (GPU type and tensor-parallel degree) for each stage.
// A chain stays open if there are enough GPUs for it but no plan as fast as its bound was found. The bound
// of the answer includes the bounds of all open chains.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/batch_divisions.hpp"
#include "goodput/parallel/detail/box_prices.hpp"
#include "goodput/parallel/detail/chain_columns.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/plan_incumbent.hpp"
#include "goodput/parallel/detail/search_box.hpp"
#include "goodput/parallel/detail/seen_chains.hpp"
#include "goodput/parallel/detail/zone_packing.hpp"

namespace goodput::inline v0_1::detail {

/// The GPUs that a growing chain leaves to a replica.
class GpuRoom {
public:
    /// Starts with all GPUs that the box may have. If `mixed`, only the slowest class of a stage is known,
    /// so GPUs are counted by type and in total.
    void begin(BatchDivision& division, const SearchBox& box, bool mixed) {
        gpus_.assign(box.gpus.begin(), box.gpus.end());
        left_.clear();
        const std::size_t types = division.gpus.size();
        for (std::size_t t = 0; mixed && division.tests.size() <= types; ++t) {
            GpuTest test;
            test.weight.assign(types, t == types ? 1 : 0);
            if (t < types) test.weight[t] = 1;
            test.need =
                stage_charges(division.common->tables, division.replicas, [&](const StageClass& stage_class) {
                    return stage_class.tensor_parallel * test.weight[stage_class.gpu_type];
                });
            test.least = *std::min_element(test.need.begin(), test.need.end());
            division.tests.push_back(std::move(test));
        }
        for (const GpuTest& test : division.tests)
            left_.push_back(refund(box.gpus, test.weight) * (1 + 1e-12));
    }
    /// Takes the GPUs of a stage of class k. Returns false and takes nothing if the rest does not suffice
    /// for the `behind` stages after it, which begin with `layer`.
    bool take(const BatchDivision& division, std::size_t k, std::size_t behind, std::size_t layer) {
        for (std::size_t i = 0; i < left_.size(); ++i)
            if (division.tests[i].need[k] + static_cast<double>(behind) * division.tests[i].least > left_[i])
                return false;
        for (std::size_t i = 0; i < left_.size(); ++i) left_[i] -= division.tests[i].need[k];
        const StageClass& stage_class = division.common->tables.classes()[k];
        int& gpus = gpus_[stage_class.gpu_type];
        gpus -= stage_class.tensor_parallel;
        if (!left_.empty() || (gpus >= 0 && division.common->needs.suffice(behind, layer, gpus_)))
            return true;
        gpus += stage_class.tensor_parallel;
        return false;
    }
    /// Gives back what take() took.
    void give(const BatchDivision& division, std::size_t k) {
        for (std::size_t i = 0; i < left_.size(); ++i) left_[i] += division.tests[i].need[k];
        const StageClass& stage_class = division.common->tables.classes()[k];
        gpus_[stage_class.gpu_type] += stage_class.tensor_parallel;
    }
    /// GPUs left of each type, if stages are of one class each.
    [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }

private:
    std::vector<double> left_{};  // by test
    std::vector<int> gpus_{};
};

/// Searches the chains of boxes.
class ChainSearch {
public:
    /// The caller keeps all arguments alive.
    ChainSearch(const PlanTask& task, BoxPrices& prices, PlanIncumbent& incumbent)
        : task_(task), prices_(prices), incumbent_(incumbent), zones_(task), columns_(task) {}

    /// Partial chains looked at so far.
    [[nodiscard]] std::size_t searched() const { return searched_; }
    /// Whether the search was told to stop.
    [[nodiscard]] bool stopped() const { return stopped_; }
    /// The least bound of all open chains.
    [[nodiscard]] double open() const { return open_; }

    /// Searches the chains of a box. Returns false if that took more than `most` partial chains. The
    /// relaxation was last solved for this box, with GPUs of type `counted` counted.
    bool search(BatchDivision& division, const SearchBox& box, std::size_t stages, std::size_t counted,
                std::size_t most) {
        counted_ = counted;
        stages_ = stages;
        most_searched_ = most;
        gave_up_ = false;
        chain_.ends.clear();
        chain_.classes.clear();
        room_.begin(division, box, task_.question.mixed_stages);
        are_plans_ = !task_.question.mixed_stages && division.region().cluster.zones_with_gpus().size() == 1;
        seen_.begin(division.common->tables, division.repeats);
        extend(division, box,
               {.largest = box.low,
                .sum = -refund(box.gpus, box.price),
                .reduce = box.reduce_low,
                .update = division.common->tables.least_update(),
                .crossed = division.cut() == nullptr});
        return !gave_up_;
    }

private:
    void extend(BatchDivision& division, const SearchBox& box, const PartialChain& so_far) {
        const std::size_t stage = chain_.ends.size(), left = stages_ - stage;
        for (std::size_t k = 0; k < division.common->tables.size(); ++k)
            for (const bool crossing : {true, false})
                if (!gave_up_ && (!crossing || (!so_far.crossed && stage > 0)))
                    extend(division, box, so_far, left, k, crossing);
    }
    /// `crossing`: the messages in front of the stage cross the cut between zones.
    void extend(BatchDivision& division, const SearchBox& box, const PartialChain& so_far, std::size_t left,
                std::size_t k, bool crossing) {
        const StageTables& tables = division.common->tables;
        const std::size_t stage = stages_ - left;
        PartialChain next = so_far;
        next.k = k;
        next.crossed = so_far.crossed || crossing;
        double received = 0;
        if (stage > 0) {
            const ClassMessages& messages = crossing ? *division.cut() : tables.messages();
            const double forward = messages.forward(so_far.layer, so_far.k, k);
            const double backward = messages.backward(so_far.layer, so_far.k, k);
            const double sent = forward * forward_weight(stage - 1, stages_);
            received = backward * backward_weight(stage, stages_);
            next.sum += sent + received;
            next.seconds += sent + received;
            next.largest = std::max(next.largest, so_far.open + sent);
            if (next.largest > box.high || next.sum == never) return;
        }
        if (left == 1 && !next.crossed) return;
        const StageClass& stage_class = tables.classes()[k];
        std::size_t counted_left = 0;
        if (counted_ < room_.gpus().size()) {
            const int gpus =
                room_.gpus()[counted_] - (stage_class.gpu_type == counted_ ? stage_class.tensor_parallel : 0);
            if (gpus < 0) return;
            counted_left = static_cast<std::size_t>(gpus);
        }
        next.update = std::max(next.update, stage_class.update[so_far.layer]);
        const double before = next.sum, before_seconds = next.seconds;
        double least_spent = 0;
        const std::size_t from = left == 1 ? tables.layers() : so_far.layer + 1;
        const std::size_t most =
            std::min(tables.room(k, division.in_flight(left), so_far.layer), tables.layers() - (left - 1));
        for (std::size_t end = from; end <= most && !gave_up_; ++end) {
            const double seconds = tables.compute(k, so_far.layer, end);
            next.open = seconds + received;
            if (next.open > box.high) break;
            next.layer = end;
            next.sum = before + seconds + prices_.charges()[k];
            next.seconds = before_seconds + seconds;
            if (next.sum == never) continue;
            if (task_.goal.spends()) {
                next.spending = so_far.spending + division.replicas * division.spending[k];
                least_spent =
                    next.spending + division.replicas * division.common->needs.least_spending(left - 1, end);
                if (least_spent > box.spend_high * (1 + 1e-9)) continue;
            }
            next.reduce = std::max(so_far.reduce, division.reduce->of_stage(k, so_far.layer, end));
            if (next.reduce > box.reduce_high) continue;
            ++searched_;
            const double behind =
                left == 1 ? 0
                          : division.common->relaxation.behind(left - 1, end, k, counts_twice(stage, stages_),
                                                               next.crossed, counted_left);
            const double reduce = std::max(next.reduce, least_reduce(division, left - 1, end));
            const double largest = std::max(next.largest, next.open);
            const double spent = std::max(box.spend_low, least_spent * (1 - 1e-9));
            const double bound = task_.goal.least(
                division.repeats * largest + next.sum + behind + reduce + next.update, box.price.back(),
                spent, box.spend_high, division.repeats * largest, division.traffic_usd(spent));
            if (incumbent_.leave_out(bound) || !room_.take(division, k, left - 1, end)) continue;
            if ((searched_ & 255) == 0 && !stopped_)
                stopped_ = searched_ >= task_.question.most_searched || task_.stop();
            if (stopped_ || searched_ > most_searched_)
                gave_up_ = true;
            else if (left == 1 || !are_plans_ || !seen_.has_better(next, left - 1, room_.gpus())) {
                chain_.ends.push_back(end);
                chain_.classes.push_back(k);
                if (left > 1)
                    extend(division, box, next);
                else
                    close(division, box, next);
                chain_.ends.pop_back();
                chain_.classes.pop_back();
            }
            room_.give(division, k);
        }
    }

    /// Tries a complete chain as plans. Its own bound needs no prices, and takes into account where its
    /// stages can lie.
    void close(BatchDivision& division, const SearchBox& box, const PartialChain& whole) {
        const double spent = std::max(box.spend_low, whole.spending), traffic = division.traffic_usd(spent);
        const auto bound_of = [&](double seconds) {
            return task_.goal.least(seconds, 0, spent, box.spend_high, seconds, traffic);
        };
        double seconds = division.repeats * std::max(whole.largest, whole.open) + whole.seconds +
                         whole.reduce + whole.update;
        if (incumbent_.leave_out(bound_of(seconds))) return;
        std::optional<ZonedChain> zoned;
        if (division.region().has_cut()) {
            zoned.emplace(task_, division, chain_);
            const double enough =
                task_.goal.most_time(incumbent_.value(), whole.spending, traffic) - whole.update;
            seconds = std::max(seconds, whole.update + zones_.least_seconds(division, *zoned, enough, 5000));
        }
        const double bound = bound_of(seconds);
        if (incumbent_.leave_out(bound)) return;
        const double value = incumbent_.try_chain(division.common->tables, division.replicas, chain_,
                                                  std::numeric_limits<int>::max());
        if (reaches(value, bound)) return;
        const double least = zoned ? std::max(bound, lay_out(box.division, division, whole, *zoned)) : bound;
        if (least < never && !incumbent_.leave_out(least)) open_ = std::min(open_, least);
    }
    /// Lays a complete chain out over zones, once. Returns a lower bound on its plans that were not found.
    /// What is kept holds in other boxes too, so it uses the chain's own spending.
    double lay_out(std::size_t number, const BatchDivision& division, const PartialChain& whole,
                   const ZonedChain& zoned) {
        const double traffic = division.traffic_usd(whole.spending);
        const auto bound_of = [&](double chain_seconds) {
            const double seconds = chain_seconds + whole.update;
            return task_.goal.least(seconds, 0, whole.spending, whole.spending, seconds, traffic);
        };
        const auto [known, is_new] = laid_out_.try_emplace({number, chain_.ends, chain_.classes}, 0);
        double& least = known->second;
        if (!is_new) return bound_of(least);
        least = columns_.least_seconds(
            division, zoned, [&](double seconds) { return incumbent_.leave_out(bound_of(seconds)); },
            [&](const ParallelPlan& plan, double seconds) {
                return reaches(incumbent_.consider(plan), bound_of(seconds));
            });
        if (deep_ < most_deep && least < never && !incumbent_.leave_out(bound_of(least))) {
            ++deep_;
            const double enough =
                task_.goal.most_time(incumbent_.value(), whole.spending, traffic) - whole.update;
            least = std::max(least, zones_.least_seconds(division, zoned, enough, 500000));
        }
        return bound_of(least);
    }
    static bool reaches(double found, double proven) { return found <= proven + 1e-9 * std::abs(proven); }

    static constexpr int most_deep = 8;  // chains whose zones get the long search

    const PlanTask& task_;
    BoxPrices& prices_;
    PlanIncumbent& incumbent_;
    ZonePacking zones_;
    ChainColumns columns_;
    /// Lower bounds on the seconds of chains, by number of the division, ends and classes.
    std::map<std::tuple<std::size_t, std::vector<std::size_t>, std::vector<std::size_t>>, double> laid_out_{};
    double open_ = never;
    int deep_ = 0;
    std::size_t searched_ = 0, most_searched_ = 0;
    bool stopped_ = false, gave_up_ = false;
    std::size_t stages_ = 0;  // number of stages of the chains being searched
    Chain chain_{};
    GpuRoom room_{};
    SeenChains seen_{};
    std::size_t counted_ = 0;  // GPU type, or the number of types if none is counted
    bool are_plans_ = false;   // chains are plans: one class per stage, one zone
};

}  // namespace goodput::inline v0_1::detail

#endif
