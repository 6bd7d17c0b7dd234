#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_SEARCH_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_SEARCH_HPP

// Finds the best plan by branch and bound over boxes. A box holds the plans of one micro-batch and number
// of replicas, some numbers of stages, a range of the largest stage's seconds, and a range of spending. Its
// bound comes from the chain relaxation at the best prices of GPU types. The box with the least bound comes
// next. The search looks at each of its chains whose bound is below the best plan (chain_search.hpp). If
// these are too many, it cuts the box in two.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "goodput/parallel/detail/batch_divisions.hpp"
#include "goodput/parallel/detail/box_prices.hpp"
#include "goodput/parallel/detail/chain_search.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/plan_incumbent.hpp"
#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::inline v0_1::detail {

/// Searches for the best plan of one question, once.
class PlanSearch {
public:
    /// The caller keeps the task alive.
    explicit PlanSearch(const PlanTask& task)
        : task_(task),
          incumbent_(task),
          divisions_(task),
          prices_(task, incumbent_),
          chains_(task, prices_, incumbent_) {}

    PlanAnswer run() {
        PlanAnswer answer;
        for (SearchBox& box : divisions_.make()) queue_.push(std::move(box));
        incumbent_.begin();
        find_first();
        search();
        double bound = bound_so_far();
        answer.searched = chains_.searched();
        if (incumbent_.value() == never && bound == never) {
            answer.status = PlanStatus::none;
            return answer;
        }
        // Sums are rounded in a different order than in a plan's score.
        bound = std::min(bound - 1e-9 * std::abs(bound), incumbent_.value());
        answer.bound = task_.goal.told(bound);
        answer.status = PlanStatus::unknown;
        if (incumbent_.value() == never) return answer;
        answer.status = incumbent_.good_enough(bound + 2e-9 * std::abs(bound)) ? PlanStatus::optimal
                                                                               : PlanStatus::feasible;
        answer.plan = incumbent_.plan();
        answer.score = score_plan(task_.model, task_.cluster, incumbent_.plan(), task_.constants);
        answer.objective = task_.goal.told(incumbent_.value());
        return answer;
    }

private:
    /// Finds any plan, for a search that is soon told to stop. Boxes with many chains come late.
    void find_first() {
        double last = 0;
        for (BatchDivision& division : divisions_.all()) {
            if (incumbent_.value() < never || task_.goal.pays() || task_.stop()) return;
            if (division.replicas < 1.4 * last && division.replicas > last) continue;
            last = division.replicas;
            divisions_.prepare(division);
            prices_.try_cheapest(division);
        }
    }

    /// Refines boxes until none can hold a better plan, or until told to stop.
    void search() {
        while (!queue_.empty() && !incumbent_.good_enough(queue_.top().bound)) {
            if (chains_.stopped() || task_.stop()) return;
            SearchBox box = queue_.top();
            queue_.pop();
            refine(std::move(box));
        }
    }
    [[nodiscard]] double bound_so_far() const {
        if (!divisions_.all_made()) return task_.goal.least_of_any();
        const double bound = std::min({incumbent_.value(), chains_.open(), incumbent_.left_out()});
        return queue_.empty() ? bound : std::min(bound, queue_.top().bound);
    }

    /// Raises the bound of a box, searches its chains, or cuts it in two.
    void refine(SearchBox box) {
        if (std::optional<SearchBox> more = divisions_.split_off(box)) queue_.push(std::move(*more));
        BatchDivision& division = divisions_.all()[box.division];
        divisions_.prepare(division);
        if (box.by_stages.empty()) return split_stages(division, box);
        const double rest = narrow(division, box);
        if (rest == never) return;
        const bool single = box.by_stages.size() == 2;
        if (!box.priced && !single) {
            box.price = division.price;
            prices_.raise(division, box);
            box.priced = true;
            division.price = box.price;
            return put_back(std::move(box));
        }
        const BoxWidth width = width_of(division, box, rest);
        // Chains across zones are not plans yet, and take long to lay out.
        const double narrow_width = division.region().has_cut() ? 0.05 : 0.25;
        if (single || width.widest() < narrow_width) {  // search the chains before cutting the box
            const bool last = single || width.widest() < 2e-3;
            const std::size_t before = chains_.searched();
            search_chains(
                division, box,
                last
                    ? never_ending
                    : before + std::max(static_cast<std::size_t>(chain_limit * narrow_width / width.widest()),
                                        before / 32));
            if (chains_.stopped()) return put_back(std::move(box));
            if (last) return;
        }
        cut(division, std::move(box), width);
    }

    /// Narrows the ranges of a box to where better plans may be. Returns a lower bound on the seconds of
    /// these plans without the repeats of the largest stage, or `never` if there are none.
    double narrow(BatchDivision& division, SearchBox& box) {
        double rest = never, without = never, reduce = never;
        for (std::size_t p = 1; p < box.by_stages.size(); ++p) {
            if (incumbent_.leave_out(box.by_stages[p])) continue;
            rest = std::min(rest, rest_of(division, box, p));
            without =
                std::min(without, division.common->least_sum[p] + division.common->tables.least_update());
            reduce = std::min(reduce, least_reduce(division, p, 0));
        }
        if (rest == never) return never;
        const double traffic = division.traffic_usd(box.spend_low);
        const double most = task_.goal.most_time(incumbent_.value(), box.spend_low, traffic);
        box.high = std::min(box.high, (most - rest) / std::max(division.repeats, 1e-300) * (1 + 1e-9));
        box.reduce_low = std::max(box.reduce_low, reduce);
        box.reduce_high =
            std::min(box.reduce_high, (most - without - division.repeats * box.low) * (1 + 1e-9));
        if (box.low > box.high || box.reduce_low > box.reduce_high) return never;
        prices_.limit(division, box.high, box.reduce_high);
        if (!task_.question.mixed_stages && !leave_what_has_room(division, box)) return never;
        if (!task_.goal.spends()) return rest;
        const double spent =
            task_.goal.most_spending(incumbent_.value(), division.repeats * box.low + rest, traffic);
        if (spent < box.spend_high) lower_spending(division, box, spent);
        if (box.spend_low > box.spend_high) return never;
        prices_.raise_spending(division, box);
        raise(division, box);
        return rest;
    }

    /// The ranges of a box, as parts of the seconds of its fastest plan.
    struct BoxWidth {
        double largest = 0, reduce = 0, spending = 0;
        [[nodiscard]] double widest() const { return std::max({largest, reduce, spending}); }
    };
    [[nodiscard]] BoxWidth width_of(const BatchDivision& division, const SearchBox& box, double rest) const {
        const double seconds = std::max(division.repeats * box.low + rest, 1e-300);
        const double ratio =
            task_.goal.spends() && box.spend_low > 0 ? std::log(box.spend_high / box.spend_low) : 0;
        return {division.repeats * (box.high - box.low) / seconds,
                (box.reduce_high - box.reduce_low) / seconds,
                // A limit on dollars couples time and spending, which no slope can express.
                task_.goal.has_budget() ? ratio : ratio * ratio / 8};
    }

    /// Searches the chains of a box until `limit` partial chains were looked at in all. Numbers of stages
    /// that are done lose their bound.
    void search_chains(BatchDivision& division, SearchBox& box, std::size_t limit) {
        SearchBox counted = box;
        const std::size_t type = prices_.count(division, counted);
        box.by_stages = counted.by_stages;
        for (std::size_t p = 1; p < box.by_stages.size(); ++p)
            if (!incumbent_.leave_out(box.by_stages[p]) && !chains_.stopped() &&
                chains_.search(division, counted, p, type, limit))
                box.by_stages[p] = never;
    }

    /// Cuts the widest range of a box in two.
    void cut(const BatchDivision& division, SearchBox box, const BoxWidth& width) {
        SearchBox lower = box;
        lower.priced = box.priced = false;
        if (width.reduce == width.widest()) {
            lower.reduce_high = box.reduce_low = (box.reduce_low + box.reduce_high) / 2;
        } else if (width.largest == width.widest()) {
            // Cut at the same ratio on both sides, except for a range that starts near zero.
            const double middle = box.high > 2 * box.low
                                      ? std::max(std::sqrt(box.low * box.high), box.high / 16)
                                      : (box.low + box.high) / 2;
            lower.high = box.low = middle;
        } else {
            box.spend_low = std::sqrt(box.spend_low * box.spend_high);
            lower_spending(division, lower, box.spend_low);
        }
        raise(division, box);
        put_back(std::move(lower));
        put_back(std::move(box));
    }

    /// Keeps the numbers of stages for which the GPUs may suffice. Returns false if there are none.
    bool leave_what_has_room(BatchDivision& division, SearchBox& box) const {
        const std::size_t last = incumbent_.last_open(box.by_stages);
        const std::vector<int> gpus(box.gpus.begin(), box.gpus.end());
        division.common->needs.solve(division.common->tables, division.common->relaxation, gpus, last);
        bool any = false;
        for (std::size_t p = 1; p <= last; ++p)
            if (division.common->needs.suffice(p, 0, gpus))
                any = any || box.by_stages[p] < never;
            else
                box.by_stages[p] = never;
        return any || last + 1 < box.by_stages.size();
    }

    /// Lowers the spending of a box, and with it the GPUs.
    void lower_spending(const BatchDivision& division, SearchBox& box, double most_spent) const {
        box.spend_high = most_spent;
        for (std::size_t t = 0; t < box.gpus.size(); ++t)
            if (const double cost = task_.goal.weights()[t] * division.replicas; cost > 0) {
                const double most = std::max(most_spent / cost * (1 + 1e-9), 0.0);
                box.gpus[t] = std::min(box.gpus[t], task_.question.mixed_stages ? most : std::floor(most));
            }
    }

    void put_back(SearchBox box) {
        box.bound = std::max(box.bound, *std::min_element(box.by_stages.begin(), box.by_stages.end()));
        if (box.bound < never) queue_.push(std::move(box));
    }
    void raise(const BatchDivision& division, SearchBox& box) const {
        for (std::size_t p = 1; p < box.by_stages.size(); ++p)
            if (box.by_stages[p] < never)
                box.by_stages[p] = std::max(box.by_stages[p], plain_bound(division, box, p));
    }
    /// A bound without prices.
    [[nodiscard]] double plain_bound(const BatchDivision& division, const SearchBox& box,
                                     std::size_t stages) const {
        const double seconds = division.repeats * box.low + rest_of(division, box, stages);
        const double spending =
            std::max(box.least_spending_of(stages), static_cast<double>(stages) * division.spend_low);
        return task_.goal.least(seconds, 0, spending, box.spend_high, seconds,
                                division.traffic_usd(spending));
    }

    /// Splits a box into plans of one stage and plans of more stages.
    void split_stages(const BatchDivision& division, SearchBox box) {
        double most = 0;
        for (std::size_t k = 0; k < division.common->tables.size(); ++k)
            most = std::max(most, division.common->tables.compute(k, 0, division.common->tables.layers()));
        box.high = most + division.common->tables.messages().most();
        if (const ClassMessages* const cut = division.cut()) box.high += cut->most();
        box.reduce_high = division.reduce->most();
        for (const bool single : {true, false}) {
            if (single && division.cut() != nullptr) continue;  // one stage sends nothing
            SearchBox part = box;
            part.by_stages.assign(single ? 2 : division.most_stages + 1, never);
            for (std::size_t p = single ? 1 : 2; p < part.by_stages.size(); ++p)
                if (division.common->least_sum[p] < never)
                    part.by_stages[p] = std::max(box.bound, plain_bound(division, box, p));
            put_back(std::move(part));
        }
    }

    static constexpr std::size_t never_ending = std::numeric_limits<std::size_t>::max();
    static constexpr double chain_limit =
        4000;  // partial chains of the widest boxes; narrower and later boxes get more

    const PlanTask& task_;
    PlanIncumbent incumbent_;
    BatchDivisions divisions_;
    BoxPrices prices_;
    ChainSearch chains_;
    std::priority_queue<SearchBox> queue_{};
};

}  // namespace goodput::inline v0_1::detail

#endif
