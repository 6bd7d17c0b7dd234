#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_SEARCH_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_SEARCH_HPP

// Branch and bound over boxes. A box is a micro-batch, a number of replicas, a number of stages, a range of
// the largest stage's seconds and a range of spending. Its bound comes from the chain relaxation at the best
// prices of GPU types; the box of least bound is next. Its chains whose bound does not exceed the best plan
// are looked at one by one; where they are too many the box is cut in two. A chain that GPUs suffice for, and
// that no plan was found for that is as fast, stays open: its bound is part of the answer's.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/chain_completion.hpp"
#include "goodput/parallel/detail/gpu_room.hpp"
#include "goodput/parallel/detail/known_chains.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/plan_incumbent.hpp"
#include "goodput/parallel/detail/search_box.hpp"
#include "goodput/parallel/detail/stage_bounds.hpp"
#include "goodput/parallel/detail/zone_packing.hpp"

namespace goodput::detail {

/// Searches plans for one question.
template <class Stop>
class PlanSearch {
public:
    PlanSearch(const LayeredModel& model, const ParallelCluster& cluster, const PlanQuestion& question,
               const ParallelConstants& constants, Stop& stop)
        : model_(model),
          cluster_(cluster),
          question_(question),
          constants_(constants),
          stop_(stop),
          goal_(cluster, question),
          stage_bounds_(goal_, question.mixed_stages),
          incumbent_(model, cluster, question, constants, goal_),
          completion_(model, cluster, goal_, constants),
          zones_(model, cluster, question.mixed_stages, constants) {}

    void run(PlanAnswer& answer) {
        make_divisions();
        double last = 0;
        for (BatchDivision& division : divisions_) {
            if (division.replicas < 1.4 * last && division.replicas > last) continue;
            if (stop_()) break;
            last = division.replicas;
            prepare(division);
            dive(division);
        }
        const bool finished = search(never_ending);
        double bound = bound_so_far();
        if (finished && !incumbent_.good_enough(open_few_) && incumbent_.good_enough(open_)) {
            // What stays open is all of chains with few plans: once more, with all their plans.
            closing_ = true;
            open_few_ = never;
            divisions_.clear();
            common_.clear();
            make_divisions();
            search(searched_ + closing_limit_);
            bound = std::max(bound, bound_so_far());
        }
        answer.searched = searched_;
        if (incumbent_.value() == never && bound == never) {
            answer.status = PlanStatus::none;
            return;
        }
        // Sums are rounded in another order than a plan's score.
        bound = std::min(bound - 1e-9 * std::abs(bound), incumbent_.value());
        answer.bound = goal_.told(bound);
        answer.status = PlanStatus::unknown;
        if (incumbent_.value() == never) return;
        answer.status = incumbent_.good_enough(bound + 2e-9 * std::abs(bound)) ? PlanStatus::optimal
                                                                               : PlanStatus::feasible;
        answer.plan = incumbent_.plan();
        answer.score = score_plan(model_, cluster_, incumbent_.plan(), constants_);
        answer.objective = goal_.told(incumbent_.value());
    }

private:
    /// Refines boxes until none can hold a better plan; false where it was told to stop, or looked at more
    /// than `most` partial chains.
    bool search(std::size_t most) {
        while (!queue_.empty() && !incumbent_.good_enough(queue_.top().bound)) {
            if (stopped_ || searched_ > most || stop_()) return false;
            SearchBox box = queue_.top();
            queue_.pop();
            refine(std::move(box));
        }
        return !stopped_;
    }
    [[nodiscard]] double bound_so_far() const {
        const double bound = std::min({incumbent_.value(), open_, open_few_, incumbent_.left_out()});
        return queue_.empty() ? bound : std::min(bound, queue_.top().bound);
    }

    /// Whether chains of so many stages have few plans.
    [[nodiscard]] bool few_plans(const BatchDivision& division, std::size_t stages) const {
        double kinds = 0;
        for (const auto& zone : cluster_.gpus)
            kinds += std::any_of(zone.begin(), zone.end(), [](int gpus) { return gpus > 0; }) ? 1 : 0;
        if (question_.mixed_stages) kinds *= static_cast<double>(division.common->tables.size());
        return std::log2(kinds) * division.replicas * static_cast<double>(stages) <= 24;
    }

    // -- what there is to look at

    void make_divisions() {
        std::vector<int> microbatches;
        for (const auto& type : model_.times)
            for (const auto& [key, times] : type) microbatches.push_back(key.microbatch);
        std::sort(microbatches.begin(), microbatches.end());
        microbatches.erase(std::unique(microbatches.begin(), microbatches.end()), microbatches.end());
        for (const int microbatch : microbatches) {
            StageTables tables(model_, cluster_, microbatch, question_.mixed_stages, constants_);
            if (tables.size() == 0) continue;
            auto common = std::make_unique<MicrobatchTables>(std::move(tables));
            measure(*common);
            long long most = 0;
            std::vector<int> least(cluster_.types.size(), 0);
            for (const StageClass& k : common->tables.classes()) {
                int& mine = least[k.gpu_type];
                mine = mine == 0 ? k.tensor_parallel : std::min(mine, k.tensor_parallel);
            }
            for (std::size_t t = 0; t < least.size(); ++t)
                if (least[t] > 0) most += cluster_.gpus_of(t) / least[t];
            long long before = -1;
            bool slower = false;
            for (int replicas = 1; replicas <= most; ++replicas) {
                const long long at_once = static_cast<long long>(microbatch) * replicas;
                const long long count = (question_.global_batch + at_once - 1) / at_once;
                // More replicas that compute as many micro-batches each only cost more.
                if (count == before && slower) continue;
                slower = slower || reduces_slower_from(replicas, most);
                before = count;
                add_division(*common, replicas, static_cast<double>(count - 1), most, least);
            }
            common_.push_back(std::move(common));
        }
    }

    void add_division(MicrobatchTables& common, int replicas, double repeats, long long most,
                      const std::vector<int>& least) {
        BatchDivision division;
        const StageTables& tables = common.tables;
        division.common = &common;
        division.replicas = replicas;
        division.repeats = repeats;
        for (std::size_t t = 0; t < cluster_.types.size(); ++t)
            // A stage of one class takes a whole number of GPUs for each replica.
            division.gpus.push_back(question_.mixed_stages
                                        ? static_cast<double>(cluster_.gpus_of(t)) / replicas
                                        : cluster_.gpus_of(t) / replicas);
        division.most_stages = static_cast<std::size_t>(
            std::min<long long>(most / replicas, static_cast<long long>(tables.layers())));
        SearchBox box;
        box.division = divisions_.size();
        double least_weight = never, all_weight = 0;
        for (std::size_t t = 0; t < least.size(); ++t) {
            if (least[t] > 0) least_weight = std::min(least_weight, least[t] * goal_.weights()[t]);
            all_weight += cluster_.gpus_of(t) * goal_.weights()[t];
        }
        box.spend_low = division.spend_low = replicas * least_weight;
        box.spend_high = all_weight;

        division.low = least_largest(division);
        if (division.low == never) return;
        box.low = division.low;
        box.price = division.price;
        box.gpus = division.gpus;
        box.bound =
            goal_.least(repeats * division.low + through(tables), 0, box.spend_low, box.spend_high, 0);
        if (box.bound == never) return;
        divisions_.push_back(std::move(division));
        queue_.push(std::move(box));
    }

    /// Whether a reduction among that many replicas or more takes longer, the more there are: where every
    /// link is at least as fast for larger messages, at all sizes that the largest stage may have.
    [[nodiscard]] bool reduces_slower_from(int replicas, long long most) const {
        double bytes = 0;
        for (const LayerSize& size : model_.sizes.at(1)) bytes += size.parameters * model_.bytes_per_float;
        if (bytes <= 0) return true;
        const auto size_of = [](double message) { return std::log2(message) - std::log2(1e6); };
        const double high = size_of(std::min(bytes, constants_.reduce_bucket_bytes) / replicas);
        const double low =
            size_of(std::min(bytes / static_cast<double>(model_.layers) / 8, constants_.reduce_bucket_bytes) /
                    static_cast<double>(most));
        const auto there = [&](const LinkEnd& end) {
            return end.gpus == 1 && cluster_.gpus[end.zone][end.gpu_type] > 0;
        };
        for (const auto& [ends, curve] : cluster_.links)
            if (there(ends.first) && there(ends.second) &&
                (2 * curve.square * low + curve.linear < 0 || 2 * curve.square * high + curve.linear < 0))
                return false;
        return true;
    }

    // -- bounds

    void prepare(BatchDivision& division) {
        if (division.reduce) return;
        const StageTables& tables = division.common->tables;
        division.reduce = std::make_unique<ReduceTables>(cluster_, tables, division.replicas, constants_);
        const std::size_t layers = tables.layers();
        division.least_reduce.assign((division.most_stages + 1) * (layers + 1), never);
        std::vector<double> least(layers * (layers + 1), never);
        for (std::size_t begin = 0; begin < layers; ++begin)
            for (std::size_t end = begin + 1; end <= layers; ++end)
                for (std::size_t k = 0; k < tables.size(); ++k) {
                    double& mine = least[begin * (layers + 1) + end];
                    mine = std::min(mine, division.reduce->at_least[tables.span(k, begin, end)]);
                }
        division.least_reduce[layers] = 0;
        for (std::size_t left = 1; left <= division.most_stages; ++left)
            for (std::size_t begin = 0; begin + left <= layers; ++begin) {
                double& mine = division.least_reduce[left * (layers + 1) + begin];
                for (std::size_t end = begin + 1; end <= layers; ++end)
                    mine = std::min(mine, std::max(least[begin * (layers + 1) + end],
                                                   division.least_reduce[(left - 1) * (layers + 1) + end]));
            }
        division.spending.charge(tables, division.replicas, [&](const StageClass& its) {
            return its.tensor_parallel * goal_.weights()[its.gpu_type];
        });
    }
    /// What holds for all pairs with the same tables.
    static void measure(MicrobatchTables& common) {
        const StageTables& tables = common.tables;
        StageCharges nothing;
        nothing.charge(tables, 1, [](const StageClass&) { return 0.0; });
        common.relaxation.solve(nothing, never, nullptr, never, tables.layers());
        common.least_sum.assign(1, never);
        for (std::size_t p = 1; p <= tables.layers(); ++p)
            common.least_sum.push_back(common.relaxation.total(p));
        common.least_forward.assign(tables.size(), never);
        common.least_backward.assign(tables.size(), never);
        for (std::size_t l = 1; l < tables.layers(); ++l)
            for (std::size_t k = 0; k < tables.size(); ++k) {
                common.least_forward[k] = std::min(common.least_forward[k], tables.least_forward(l, k));
                common.least_backward[k] = std::min(common.least_backward[k], tables.least_backward(l, k));
                for (std::size_t next = 0; next < tables.size(); ++next)
                    for (const double seconds : {tables.forward(l, k, next), tables.backward(l, k, next)})
                        if (seconds < never) common.most_send = std::max(common.most_send, 4 * seconds);
            }
    }
    [[nodiscard]] static double least_reduce(const BatchDivision& division, std::size_t left,
                                             std::size_t layer) {
        return division.least_reduce[left * (division.common->tables.layers() + 1) + layer];
    }

    void solve(BatchDivision& division, const std::vector<double>& price, double cap, double reduce_cap,
               std::size_t stages) {
        const double slope = price.back() * division.replicas;
        stage_price_.charge(division.common->tables, division.replicas, [&](const StageClass& its) {
            return its.tensor_parallel * (price[its.gpu_type] + slope * goal_.weights()[its.gpu_type]);
        });
        division.common->relaxation.solve(stage_price_, cap, division.reduce.get(), reduce_cap, stages);
    }
    /// Seconds + slope * spending of any plan in the box with that many stages, at the prices last solved
    /// for.
    [[nodiscard]] double sum_of(const BatchDivision& division, const SearchBox& box, std::size_t stages,
                                const std::vector<double>& price) const {
        const double total = division.common->relaxation.total(stages);
        if (total == never) return never;
        return division.repeats * box.low + total - refund(box.gpus, price) +
               std::max(box.reduce_low, least_reduce(division, stages, 0)) +
               division.common->tables.least_update();
    }

    /// Raises the box's bound by better prices; tries chains on the way.
    void price_box(BatchDivision& division, SearchBox& box) {
        double best_bound = -never;
        std::vector<double> price = box.price;
        double step = 1;
        for (int pass = 0; pass < 6; ++pass) {
            std::size_t last = box.by_stages.size() - 1;
            while (last > 0 && incumbent_.good_enough(box.by_stages[last])) --last;
            if (last == 0) break;
            solve(division, price, box.high, box.reduce_high, last);
            double sum = never, bound = never;
            std::size_t stages = 0;
            for (std::size_t p = 1; p < box.by_stages.size(); ++p) {
                if (incumbent_.good_enough(box.by_stages[p])) {
                    bound = std::min(bound, box.by_stages[p]);
                    continue;
                }
                const double its = sum_of(division, box, p, price);
                box.by_stages[p] = std::max(
                    box.by_stages[p], goal_.least(its, price.back(), box.spend_low, box.spend_high,
                                                  division.repeats * box.low + rest_of(division, box, p)));
                bound = std::min(bound, box.by_stages[p]);
                if (its < sum) {
                    sum = its;
                    stages = p;
                }
            }
            if (bound > best_bound) {
                best_bound = bound;
                box.price = price;
            } else
                step /= 2;
            if (sum == never || incumbent_.good_enough(bound)) break;
            const Chain chain = division.common->relaxation.best(stages);
            incumbent_.try_fitting(division, chain);
            // What the chain takes of each type, against what there is.
            std::vector<double> excess(price.size(), 0);
            double spending = 0;
            for (const std::size_t k : chain.classes) {
                const StageClass& its = division.common->tables.classes()[k];
                excess[its.gpu_type] += its.tensor_parallel;
                spending += division.replicas * its.tensor_parallel * goal_.weights()[its.gpu_type];
            }
            const double seconds = sum - price.back() * std::clamp(spending, box.spend_low, box.spend_high);
            double norm = 0;
            bool tight = true;
            for (std::size_t t = 0; t < division.gpus.size(); ++t) {
                excess[t] -= box.gpus[t];
                if (price[t] <= 0 && excess[t] <= 0) excess[t] = 0;
                if (std::abs(excess[t]) > 1e-9) tight = false;
                norm += excess[t] * excess[t];
            }
            bool moved = false;
            if (!tight) {
                const double target = incumbent_.seconds() < never
                                          ? std::max(incumbent_.seconds() - seconds, 0.01 * seconds)
                                          : 0.1 * seconds;
                for (std::size_t t = 0; t < division.gpus.size(); ++t)
                    price[t] = std::max(0.0, price[t] + step * target * excess[t] / norm);
                moved = true;
            }
            if (goal_.spends()) {
                const double middle = std::sqrt(std::max(box.spend_low, 1e-300) * box.spend_high);
                double wanted = price.back();
                if (goal_.objective() == PlanObjective::throughput) {
                    // The budget is a capacity like any other.
                    const double over = spending - box.spend_high;
                    if (over != 0)
                        wanted = std::max(0.0, price.back() + step * 0.1 * seconds * over /
                                                                  std::max(spending * spending, 1e-300));
                } else
                    // The chain's own seconds: those at the middle grow with the slope itself.
                    wanted = goal_.slope(std::max(seconds, 1e-12), middle);
                if (std::abs(wanted - price.back()) > 1e-3 * std::max(wanted, price.back())) {
                    price.back() = wanted;
                    moved = true;
                }
            }
            if (!moved) break;
        }
        box.bound = std::max(box.bound, best_bound);
    }

    /// First plans: cheapest chains at prices that follow what the last one took, for a few caps on the
    /// largest stage.
    void dive(BatchDivision& division) {
        std::vector<double> price = division.price;
        for (const double factor : {1.1, 1.35, 2.0})
            for (int pass = 0; pass < 4; ++pass) {
                solve(division, price, division.low * factor, never, division.most_stages);
                std::size_t stages = 0;
                double least = never;
                for (std::size_t p = 1; p <= division.most_stages; ++p) {
                    const double sum = division.common->relaxation.total(p) + least_reduce(division, p, 0);
                    if (sum >= least) continue;
                    least = sum;
                    stages = p;
                }
                if (stages == 0) break;
                const Chain chain = division.common->relaxation.best(stages);
                incumbent_.try_fitting(division, chain);
                std::vector<double> taken(division.gpus.size(), 0);
                for (const std::size_t k : chain.classes)
                    taken[division.common->tables.classes()[k].gpu_type] +=
                        division.common->tables.classes()[k].tensor_parallel;
                for (std::size_t t = 0; t < taken.size(); ++t)
                    if (division.gpus[t] > 0) price[t] *= std::clamp(taken[t] / division.gpus[t], 0.6, 1.7);
            }
    }

    // -- cutting boxes

    void refine(SearchBox box) {
        BatchDivision& division = divisions_[box.division];
        prepare(division);
        if (box.by_stages.empty()) return split_stages(division, box);
        double rest = never, without = never, reduce = never;
        for (std::size_t p = 1; p < box.by_stages.size(); ++p) {
            if (incumbent_.leave_out(box.by_stages[p])) continue;
            rest = std::min(rest, rest_of(division, box, p));
            without =
                std::min(without, division.common->least_sum[p] + division.common->tables.least_update());
            reduce = std::min(reduce, least_reduce(division, p, 0));
        }
        if (rest == never) return;
        const double most = goal_.most_time(incumbent_.value(), box.spend_low);
        box.high = std::min(box.high, (most - rest) / std::max(division.repeats, 1e-300) * (1 + 1e-9));
        box.reduce_low = std::max(box.reduce_low, reduce);
        box.reduce_high =
            std::min(box.reduce_high, (most - without - division.repeats * box.low) * (1 + 1e-9));
        if (box.low > box.high || box.reduce_low > box.reduce_high) return;
        const bool single = box.by_stages.size() == 2;
        if (!box.limited && !single) {
            box.limited = true;
            box.low = stage_bounds_.least_largest(division, box);
            if (box.low == never) return;
            raise(division, box);
            return put_back(std::move(box));
        }
        if (!box.priced && !single) {
            if (!division.price.empty()) box.price = division.price;
            price_box(division, box);
            box.priced = true;
            division.price = box.price;
            return put_back(std::move(box));
        }
        const double width = division.repeats * (box.high - box.low);
        const double ratio =
            goal_.spends() && box.spend_low > 0 ? std::log(box.spend_high / box.spend_low) : 0;
        // A limit on dollars ties time and spending together, which no slope does.
        const double spread = goal_.has_budget() ? ratio : ratio * ratio / 8;
        const double seconds = std::max(division.repeats * box.low + rest, 1e-300);
        const double relative = width / seconds;
        const double reducing = (box.reduce_high - box.reduce_low) / seconds;
        const double widest = std::max({relative, spread, reducing});
        const bool tiny = widest < 2e-3;
        if (single || widest < narrow_) {
            for (std::size_t p = 1; p < box.by_stages.size(); ++p)
                if (!incumbent_.leave_out(box.by_stages[p]) && !stopped_ &&
                    search_chains(division, box, p, tiny || single ? never_ending : searched_ + chain_limit_))
                    box.by_stages[p] = never;
            if (tiny || single || stopped_) {
                if (stopped_) put_back(std::move(box));
                return;
            }
        }
        SearchBox lower = box;
        lower.priced = box.priced = false;
        if (reducing == widest) {
            lower.reduce_high = box.reduce_low = (box.reduce_low + box.reduce_high) / 2;
            lower.limited = false;
            raise(division, box);
        } else if (relative == widest) {
            const double middle = (box.low + box.high) / 2;
            lower.high = box.low = middle;
            raise(division, box);
        } else {
            lower.spend_high = box.spend_low = std::sqrt(box.spend_low * box.spend_high);
            lower.limited = false;
            for (std::size_t t = 0; t < lower.gpus.size(); ++t)
                if (const double cost = goal_.weights()[t] * division.replicas; cost > 0) {
                    const double most = lower.spend_high / cost * (1 + 1e-9);
                    lower.gpus[t] = std::min(lower.gpus[t], question_.mixed_stages ? most : std::floor(most));
                }
            raise(division, box);
        }
        put_back(std::move(lower));
        put_back(std::move(box));
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
    /// Without prices.
    [[nodiscard]] double plain_bound(const BatchDivision& division, const SearchBox& box,
                                     std::size_t stages) const {
        const double seconds = division.repeats * box.low + rest_of(division, box, stages);
        return goal_.least(seconds, 0,
                           std::max(box.spend_low, static_cast<double>(stages) * division.spend_low),
                           box.spend_high, seconds);
    }

    /// Seconds of a plan with that many stages at least, without the repeats of the largest.
    [[nodiscard]] static double rest_of(const BatchDivision& division, const SearchBox& box,
                                        std::size_t stages) {
        return division.common->least_sum[stages] +
               std::max(box.reduce_low, least_reduce(division, stages, 0)) +
               division.common->tables.least_update();
    }

    /// One stage, and more.
    void split_stages(const BatchDivision& division, SearchBox box) {
        double most = 0;
        for (std::size_t k = 0; k < division.common->tables.size(); ++k)
            most = std::max(most, division.common->tables.compute(k, 0, division.common->tables.layers()));
        box.high = most + division.common->most_send;
        box.reduce_high = division.reduce->most;
        for (const bool single : {true, false}) {
            SearchBox part = box;
            part.by_stages.assign(single ? 2 : division.most_stages + 1, never);
            for (std::size_t p = single ? 1 : 2; p < part.by_stages.size(); ++p)
                if (division.common->least_sum[p] < never)
                    part.by_stages[p] = std::max(box.bound, plain_bound(division, box, p));
            put_back(std::move(part));
        }
    }

    // -- chains one by one

    /// Looks at the chains of a box; false where that took more than `most` partial chains.
    bool search_chains(BatchDivision& division, const SearchBox& box, std::size_t stages, std::size_t most) {
        solve(division, box.price, box.high, box.reduce_high, stages);
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
                            {}});
        known_.clear();
        return !gave_up_;
    }

    void extend(BatchDivision& division, const SearchBox& box, const PartialChain& so_far) {
        const StageTables& tables = division.common->tables;
        const std::size_t stage = chain_.ends.size(), left = stages_ - stage;
        for (std::size_t k = 0; k < tables.size(); ++k)
            for (const bool shared : {false, true})
                if (!gave_up_ && (!shared || tables.as_fast(k).size() > 1))
                    extend(division, box, so_far, left, k, shared);
    }
    void extend(BatchDivision& division, const SearchBox& box, const PartialChain& so_far, std::size_t left,
                std::size_t k, bool shared) {
        const StageTables& tables = division.common->tables;
        const std::size_t stage = stages_ - left;
        const std::vector<double>& price = shared ? stage_price_.shared : stage_price_.own;
        const std::vector<double>& reducing = shared ? division.reduce->shared() : division.reduce->own;
        const std::vector<double>& spending = shared ? division.spending.shared : division.spending.own;
        PartialChain next = so_far;
        next.k = k;
        next.shared = shared;
        double received = 0;
        if (stage > 0) {
            // Where fewer than half are of other classes on both sides, two of the classes meet.
            const bool meet = !shared && !so_far.shared;
            const double forward = meet ? tables.own_forward(so_far.layer, so_far.k, k)
                                        : tables.forward(so_far.layer, so_far.k, k);
            const double backward = meet ? tables.own_backward(so_far.layer, so_far.k, k)
                                         : tables.backward(so_far.layer, so_far.k, k);
            const double sent = forward * (stage == 1 && stages_ > 3 ? 2 : 1);
            received = backward * (left == 1 ? 2 : 1);
            next.sum += sent + received;
            next.seconds += sent + received;
            next.largest = std::max(next.largest, so_far.open + sent);
            if (next.largest > box.high || next.sum == never) return;
        }
        next.update = std::max(next.update, tables.classes()[k].update[so_far.layer]);
        const double before = next.sum, before_seconds = next.seconds;
        const std::size_t from = left == 1 ? tables.layers() : so_far.layer + 1;
        const std::size_t most = std::min(tables.room(k, left, so_far.layer), tables.layers() - (left - 1));
        for (std::size_t end = from; end <= most && !gave_up_; ++end) {
            const double seconds = tables.compute(k, so_far.layer, end);
            next.open = seconds + received;
            if (next.open > box.high) break;
            const std::size_t span = tables.span(k, so_far.layer, end);
            next.layer = end;
            const std::size_t at = stage_price_.at(k, so_far.layer, end);
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
            const double behind =
                left == 1 ? 0
                          : division.common->relaxation.behind(left - 1, end, k, stage == 0 && stages_ > 3);
            const double reduce = std::max(next.reduce, least_reduce(division, left - 1, end));
            const double largest = std::max(next.largest, next.open);
            const double bound = goal_.least(
                division.repeats * largest + next.sum + behind + reduce + next.update, box.price.back(),
                std::max(box.spend_low, next.spending), box.spend_high, division.repeats * largest);
            if (incumbent_.leave_out(bound) || !room_.take(division, at, shared, left - 1)) continue;
            if ((searched_ & 255) == 0 && !stopped_ && stop_()) stopped_ = true;
            if (stopped_ || searched_ > most_searched_)
                gave_up_ = true;
            else if (left == 1 || (closing_ && few_plans(division, stages_)) ||
                     !known_.was_here(place_of(tables, so_far, next, stage, left), next)) {
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
        const auto bound_of = [&](double seconds) {
            return goal_.least(seconds, 0, std::max(box.spend_low, whole.spending), box.spend_high, seconds);
        };
        double seconds = division.repeats * std::max(whole.largest, whole.open) + whole.seconds +
                         whole.reduce + whole.update;
        if (incumbent_.leave_out(bound_of(seconds))) return;
        const double enough = goal_.most_time(incumbent_.value(), whole.spending) - whole.update;
        seconds = std::max(
            seconds, whole.update + zones_.least_seconds(division.common->tables, chain_, division.replicas,
                                                         division.repeats, enough));
        const double bound = bound_of(seconds);
        if (incumbent_.leave_out(bound)) return;
        const double value = incumbent_.try_chain(division.common->tables, division.replicas, chain_,
                                                  std::numeric_limits<int>::max());
        if (!(value <= bound + 1e-9 * std::abs(bound))) leave_open(division, bound);
    }

    /// No plan found for the chain is as good as its bound: all are tried, or the bound counts.
    void leave_open(const BatchDivision& division, double bound) {
        const bool few = few_plans(division, stages_);
        if (closing_ && few &&
            completion_.run(
                division.common->tables, chain_, division.replicas, question_.global_batch, 20000,
                [&] { return incumbent_.value(); },
                [&](const ParallelPlan& plan) { incumbent_.consider(plan); }))
            return;
        double& open = few && !closing_ ? open_few_ : open_;
        open = std::min(open, bound);
    }

    const LayeredModel& model_;
    const ParallelCluster& cluster_;
    const PlanQuestion& question_;
    const ParallelConstants& constants_;
    Stop& stop_;
    PlanGoal goal_;
    StageBounds stage_bounds_;
    PlanIncumbent incumbent_;
    ChainCompletion completion_;
    ZonePacking zones_;
    std::vector<std::unique_ptr<MicrobatchTables>> common_{};
    std::vector<BatchDivision> divisions_{};
    std::priority_queue<SearchBox> queue_{};
    double open_ = never, open_few_ = never;  // least bounds of chains that stay open
    std::size_t searched_ = 0;
    bool stopped_ = false, closing_ = false;
    static constexpr std::size_t closing_limit_ = 200000;
    Chain chain_{};
    GpuRoom room_{};
    std::vector<bool> shared_{};
    KnownChains known_{};
    static constexpr std::size_t never_ending = std::numeric_limits<std::size_t>::max();
    std::size_t chain_limit_ = 4000, most_searched_ = 0;
    bool gave_up_ = false;
    std::size_t stages_ = 0;  // of the chains looked at
    double narrow_ = 0.05;
    StageCharges stage_price_{};
};

}  // namespace goodput::detail

#endif
