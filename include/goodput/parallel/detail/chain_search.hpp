#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_SEARCH_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_SEARCH_HPP

// The chains of a box one by one, depth first: those whose bound does not exceed the best plan. A chain that
// GPUs suffice for, and that no plan was found for that is as fast, stays open: its bound is part of the
// answer's.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "goodput/parallel/detail/batch_divisions.hpp"
#include "goodput/parallel/detail/box_prices.hpp"
#include "goodput/parallel/detail/chain_columns.hpp"
#include "goodput/parallel/detail/chain_completion.hpp"
#include "goodput/parallel/detail/gpu_room.hpp"
#include "goodput/parallel/detail/known_chains.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/plan_incumbent.hpp"
#include "goodput/parallel/detail/search_box.hpp"
#include "goodput/parallel/detail/zone_packing.hpp"

namespace goodput::detail {

/// Looks at the chains of boxes.
template <class Stop>
class ChainSearch {
public:
    /// All of these have to outlive it.
    ChainSearch(const LayeredModel& model, const PlanQuestion& question, const ParallelConstants& constants,
                const PlanGoal& goal, BoxPrices& prices, PlanIncumbent& incumbent, Stop& stop)
        : question_(question),
          goal_(goal),
          prices_(prices),
          incumbent_(incumbent),
          stop_(stop),
          completion_(model, goal, constants),
          zones_(model, question.mixed_stages, constants),
          columns_(model, constants) {}

    /// Partial chains looked at so far.
    [[nodiscard]] std::size_t searched() const { return searched_; }
    /// Whether it was told to stop on the way.
    [[nodiscard]] bool stopped() const { return stopped_; }
    /// The least bound of the chains that stay open, but for those with few plans.
    [[nodiscard]] double open() const { return open_; }
    /// The least bound of the chains with few plans that stay open.
    [[nodiscard]] double open_few() const { return open_few_; }
    /// From now on all plans are tried of the chains with few of them; none of these is open any more.
    void try_all_of_few() {
        closing_ = true;
        open_few_ = never;
    }

    /// Looks at the chains of a box; false where that took more than `most` partial chains.
    bool search(BatchDivision& division, const SearchBox& box, std::size_t stages, std::size_t most) {
        prices_.solve(division, box.price, box.high, box.reduce_high, stages);
        stages_ = stages;
        most_searched_ = most;
        gave_up_ = false;
        chain_.ends.clear();
        chain_.classes.clear();
        shared_.clear();
        room_.begin(division, box);
        extend(division, box,
               PartialChain{0,
                            box.low,
                            0,
                            -refund(box.gpus, box.price),
                            0,
                            box.reduce_low,
                            division.common->tables.least_update(),
                            0,
                            0,
                            false,
                            division.cut() == nullptr,
                            {}});
        known_.clear();
        return !gave_up_;
    }

private:
    /// Whether chains of so many stages have few plans.
    [[nodiscard]] bool few_plans(const BatchDivision& division, std::size_t stages) const {
        auto kinds = static_cast<double>(division.region().cluster.zones_with_gpus().size());
        if (question_.mixed_stages) kinds *= static_cast<double>(division.common->tables.size());
        return std::log2(kinds) * division.replicas * static_cast<double>(stages) <= 24;
    }

    void extend(BatchDivision& division, const SearchBox& box, const PartialChain& so_far) {
        const StageTables& tables = division.common->tables;
        const std::size_t stage = chain_.ends.size(), left = stages_ - stage;
        for (std::size_t k = 0; k < tables.size(); ++k)
            for (const bool shared : {false, true})
                for (const bool crossing : {true, false})
                    if (!gave_up_ && (!shared || tables.as_fast(k).size() > 1) &&
                        (!crossing || (!so_far.crossed && stage > 0)))
                        extend(division, box, so_far, left, k, shared, crossing);
    }
    /// `crossing`: the messages in front of the stage cross the cut between zones.
    void extend(BatchDivision& division, const SearchBox& box, const PartialChain& so_far, std::size_t left,
                std::size_t k, bool shared, bool crossing) {
        const StageTables& tables = division.common->tables;
        const std::size_t stage = stages_ - left;
        const std::vector<double>& price = shared ? prices_.charges().shared : prices_.charges().own;
        const std::vector<double>& reducing = shared ? division.reduce->shared() : division.reduce->own;
        const std::vector<double>& spending = shared ? division.spending.shared : division.spending.own;
        PartialChain next = so_far;
        next.k = k;
        next.shared = shared;
        next.crossed = so_far.crossed || crossing;
        double received = 0;
        if (stage > 0) {
            // Where fewer than half are of other classes on both sides, two of the classes meet.
            const bool meet = !shared && !so_far.shared;
            const CutMessages* const cut = division.cut();
            const double forward = crossing ? cut->forward(so_far.layer, so_far.k, k)
                                   : meet   ? tables.own_forward(so_far.layer, so_far.k, k)
                                            : tables.forward(so_far.layer, so_far.k, k);
            const double backward = crossing ? cut->backward(so_far.layer, so_far.k, k)
                                    : meet   ? tables.own_backward(so_far.layer, so_far.k, k)
                                             : tables.backward(so_far.layer, so_far.k, k);
            const double sent = forward * forward_weight(stage - 1, stages_);
            received = backward * backward_weight(stage, stages_);
            next.sum += sent + received;
            next.seconds += sent + received;
            next.largest = std::max(next.largest, so_far.open + sent);
            if (next.largest > box.high || next.sum == never) return;
        }
        if (left == 1 && !next.crossed) return;
        next.update = std::max(next.update, tables.classes()[k].update[so_far.layer]);
        const double before = next.sum, before_seconds = next.seconds;
        const std::size_t from = left == 1 ? tables.layers() : so_far.layer + 1;
        const std::size_t in_flight = division.in_flight(left);
        const std::size_t most =
            std::min(tables.room(k, in_flight, so_far.layer), tables.layers() - (left - 1));
        for (std::size_t end = from; end <= most && !gave_up_; ++end) {
            const double seconds = tables.compute(k, so_far.layer, end);
            next.open = seconds + received;
            if (next.open > box.high) break;
            const std::size_t span = tables.span(k, so_far.layer, end);
            next.layer = end;
            const std::size_t at = prices_.charges().at(k, so_far.layer, end);
            next.sum = before + seconds + price[at];
            next.seconds = before_seconds + seconds;
            if (next.sum == never) continue;
            if (goal_.spends()) {
                next.spending = so_far.spending + division.replicas * spending[at];
                if (next.spending > box.spend_high * (1 + 1e-12)) continue;
            }
            next.reduce = std::max(so_far.reduce, reducing[span]);
            if (next.reduce > box.reduce_high) continue;
            ++searched_;
            const double behind = left == 1
                                      ? 0
                                      : division.common->relaxation.behind(
                                            left - 1, end, k, counts_twice(stage, stages_), next.crossed);
            const double reduce = std::max(next.reduce, least_reduce(division, left - 1, end));
            const double largest = std::max(next.largest, next.open);
            const double spent = std::max(box.spend_low, next.spending);
            const double bound = goal_.least(
                division.repeats * largest + next.sum + behind + reduce + next.update, box.price.back(),
                spent, box.spend_high, division.repeats * largest, division.traffic_usd(spent));
            if (incumbent_.leave_out(bound) || !room_.take(division, at, shared, left - 1)) continue;
            if ((searched_ & 255) == 0 && !stopped_)
                stopped_ = searched_ >= question_.most_searched || stop_();
            if (stopped_ || searched_ > most_searched_)
                gave_up_ = true;
            else if (left == 1 || (closing_ && few_plans(division, stages_)) ||
                     !known_.was_here(place_of(tables, so_far, next, stage, in_flight), next)) {
                chain_.ends.push_back(end);
                chain_.classes.push_back(k);
                shared_.push_back(shared);
                if (left > 1)
                    extend(division, box, next);
                else if (may_suffice(division, chain_, shared_))
                    close(division, box, next);
                chain_.ends.pop_back();
                chain_.classes.pop_back();
                shared_.pop_back();
            }
            room_.give(division, at, shared);
        }
    }

    /// Finds plans of a whole chain; its own bound needs no prices, and knows where its stages can lie.
    void close(BatchDivision& division, const SearchBox& box, const PartialChain& whole) {
        const double spent = std::max(box.spend_low, whole.spending), traffic = division.traffic_usd(spent);
        const auto bound_of = [&](double seconds) {
            return goal_.least(seconds, 0, spent, box.spend_high, seconds, traffic);
        };
        double seconds = division.repeats * std::max(whole.largest, whole.open) + whole.seconds +
                         whole.reduce + whole.update;
        if (incumbent_.leave_out(bound_of(seconds))) return;
        const double enough = goal_.most_time(incumbent_.value(), whole.spending, traffic) - whole.update;
        seconds = std::max(seconds, whole.update + zones_.least_seconds(division, chain_, enough));
        const double bound = bound_of(seconds);
        if (incumbent_.leave_out(bound)) return;
        const double value = incumbent_.try_chain(division.common->tables, division.replicas, chain_,
                                                  std::numeric_limits<int>::max());
        const auto reaches = [](double value, double bound) {
            return value <= bound + 1e-9 * std::abs(bound);
        };
        if (reaches(value, bound)) return;
        double least = bound;
        if (!question_.mixed_stages) {
            // What is kept holds in other boxes too: it is of the chain's own spending.
            const double own_traffic = division.traffic_usd(whole.spending);
            const auto own_bound_of = [&](double its) {
                const double all = its + whole.update;
                return goal_.least(all, 0, whole.spending, whole.spending, all, own_traffic);
            };
            const auto [known, is_new] =
                laid_out_.try_emplace({box.division, chain_.ends, chain_.classes}, 0);
            if (is_new)
                known->second = columns_.least_seconds(
                    division, chain_, question_.global_batch,
                    [&](double its) { return incumbent_.leave_out(own_bound_of(its)); },
                    [&](const ParallelPlan& plan, double its) {
                        return reaches(incumbent_.consider(plan), own_bound_of(its));
                    },
                    stop_);
            least = std::max(bound, own_bound_of(known->second));
        }
        if (least < never && !incumbent_.leave_out(least)) leave_open(division, least);
    }

    /// No plan found for the chain is as good as its bound: all are tried, or the bound counts.
    void leave_open(const BatchDivision& division, double bound) {
        const bool few = few_plans(division, stages_);
        if (closing_ && few &&
            completion_.run(
                division, chain_, question_.global_batch, 20000, [&] { return incumbent_.value(); },
                [&](const ParallelPlan& plan) { incumbent_.consider(plan); }))
            return;
        double& open = few && !closing_ ? open_few_ : open_;
        open = std::min(open, bound);
    }

    const PlanQuestion& question_;
    const PlanGoal& goal_;
    BoxPrices& prices_;
    PlanIncumbent& incumbent_;
    Stop& stop_;
    ChainCompletion completion_;
    ZonePacking zones_;
    ChainColumns columns_;
    /// Seconds that chains take at least, by number of the division, ends and classes.
    std::map<std::tuple<std::size_t, std::vector<std::size_t>, std::vector<std::size_t>>, double> laid_out_{};
    double open_ = never, open_few_ = never;
    std::size_t searched_ = 0, most_searched_ = 0;
    bool stopped_ = false, closing_ = false, gave_up_ = false;
    std::size_t stages_ = 0;  // of the chains looked at
    Chain chain_{};
    std::vector<bool> shared_{};
    GpuRoom room_{};
    KnownChains known_{};
};

}  // namespace goodput::detail

#endif
