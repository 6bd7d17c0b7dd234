#ifndef GOODPUT_PARALLEL_DETAIL_BOX_PRICES_HPP
#define GOODPUT_PARALLEL_DETAIL_BOX_PRICES_HPP

// Finds prices of GPUs at which the chain relaxation (chain_relaxation.hpp) gives a strong bound for a box
// (a set of plans, search_box.hpp). Tries the chains found on the way as plans.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/parallel/detail/batch_divisions.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/plan_incumbent.hpp"
#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::inline v0_1::detail {

/// Solves chain relaxations at given prices.
class BoxPrices {
public:
    /// The caller keeps both arguments alive. Chains that fit the GPUs are offered to the incumbent.
    BoxPrices(const PlanTask& task, PlanIncumbent& incumbent) : task_(task), incumbent_(incumbent) {}

    /// What each class is charged at the prices last solved for.
    [[nodiscard]] const std::vector<double>& charges() const { return stage_price_; }

    /// Caps the seconds of the largest stage and of gradient reduction in the relaxation of a division.
    void limit(BatchDivision& division, double cap, double reduce_cap) const {
        division.common->relaxation.limit(cap, division.reduce.get(), reduce_cap, division.cut(),
                                          division.most_in_flight);
    }
    /// Solves the relaxation of a division within the caps. `price` holds one price per GPU type, then the
    /// slope. `counted` is the GPU type that is counted instead of priced, up to `most` GPUs per replica.
    void solve(BatchDivision& division, const std::vector<double>& price, std::size_t stages,
               std::size_t counted = static_cast<std::size_t>(-1), std::size_t most = 0) {
        const double slope = price.back() * division.replicas;
        stage_price_ =
            stage_charges(division.common->tables, division.replicas, [&](const StageClass& stage_class) {
                return stage_class.tensor_parallel *
                       (price[stage_class.gpu_type] + slope * task_.goal.weights()[stage_class.gpu_type]);
            });
        division.common->relaxation.solve(stage_price_, stages, counted, most);
    }

    /// Counts the GPUs of the type with the highest price instead of pricing them, if there are few of
    /// them, and raises the box's bounds accordingly. Returns that type, or the number of types if no type
    /// is counted.
    std::size_t count(BatchDivision& division, SearchBox& box) {
        const std::size_t last = incumbent_.last_open(box.by_stages);
        std::size_t counted = box.gpus.size();
        double dearest = 0;
        for (std::size_t t = 0; t < box.gpus.size() && !task_.question.mixed_stages; ++t)
            if (box.price[t] > dearest && box.gpus[t] < most_counted) {
                dearest = box.price[t];
                counted = t;
            }
        std::size_t most = 0;
        if (counted < box.gpus.size()) {
            box.price[counted] = 0;
            most = static_cast<std::size_t>(box.gpus[counted]);
        }
        solve(division, box.price, last, counted, most);
        for (std::size_t p = 1; p <= last; ++p)
            raise(division, box, p, sum_of(division, box, p, box.price), box.price.back());
        return counted;
    }

    /// Raises the box's least spending, for each number of stages, to that of the cheapest stages that are
    /// short enough for the box.
    void raise_spending(BatchDivision& division, SearchBox& box) const {
        GpuNeeds& needs = division.common->needs;
        needs.solve_spending(division.common->tables, division.common->relaxation, division.spending,
                             box.by_stages.size() - 1);
        double least = never;
        box.least_spending.resize(box.by_stages.size(), box.spend_low);
        for (std::size_t p = 1; p < box.by_stages.size(); ++p) {
            if (incumbent_.good_enough(box.by_stages[p])) continue;
            double& least_spending = box.least_spending[p];
            least_spending =
                std::max(least_spending, division.replicas * needs.least_spending(p, 0) * (1 - 1e-9));
            if (least_spending > box.spend_high) box.by_stages[p] = never;
            least = std::min(least, least_spending);
        }
        box.spend_low = std::max(box.spend_low, least);
    }

    /// Raises the box's bound with better prices, and tries chains on the way.
    void raise(BatchDivision& division, SearchBox& box) {
        double best_bound = -never;
        // If GPU costs decide the size of a plan, it hardly ever runs out of GPUs.
        if (task_.goal.pays()) {
            std::fill(box.price.begin(), box.price.end(), 0);
            box.price.back() = slope_at(box, division.repeats * box.low);
        }
        std::vector<double> price = box.price;
        double step = 1;
        // A wide box is cut whatever its bound, so it gets fewer passes.
        const int passes = task_.goal.pays() && box.high > 1.2 * box.low ? 2 : 3;
        for (int pass = 0; pass < passes; ++pass) {
            const std::size_t last = incumbent_.last_open(box.by_stages);
            if (last == 0) break;
            solve(division, price, last);
            double sum = never, bound = never;
            std::size_t stages = 0;
            for (std::size_t p = 1; p < box.by_stages.size(); ++p) {
                if (incumbent_.good_enough(box.by_stages[p])) {
                    bound = std::min(bound, box.by_stages[p]);
                    continue;
                }
                const double stage_sum = sum_of(division, box, p, price);
                raise(division, box, p, stage_sum, price.back());
                bound = std::min(bound, box.by_stages[p]);
                if (stage_sum < sum) {
                    sum = stage_sum;
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
            if (!move(division, box, chain, sum, step, price)) break;
        }
        box.bound = std::max(box.bound, best_bound);
    }

    /// Tries the cheapest chain of a division at its first prices as plans: one whose stages are nearly as
    /// short as they can be, or else any.
    void try_cheapest(BatchDivision& division) {
        for (const double cap : {1.35 * division.low, never}) {
            limit(division, cap, never);
            solve(division, division.price, division.most_stages);
            std::size_t stages = 0;
            double least = never;
            for (std::size_t p = 1; p <= division.most_stages; ++p) {
                const double sum = division.common->relaxation.total(p) + least_reduce(division, p, 0);
                if (sum >= least) continue;
                least = sum;
                stages = p;
            }
            if (stages > 0) incumbent_.try_fitting(division, division.common->relaxation.best(stages));
            if (incumbent_.value() < never) return;
        }
    }

private:
    static constexpr double most_counted = 64;

    /// Moves prices to where the cheapest chain takes more of the GPUs that are left, and fewer of those that
    /// are short. `sum` is that of `chain` at these prices. Returns false if they stay as they are.
    bool move(const BatchDivision& division, const SearchBox& box, const Chain& chain, double sum,
              double step, std::vector<double>& price) const {
        std::vector<double> excess(price.size(), 0);  // GPUs that the chain takes beyond the box's
        double spending = 0;
        for (const std::size_t k : chain.classes) {
            const StageClass& stage_class = division.common->tables.classes()[k];
            excess[stage_class.gpu_type] += stage_class.tensor_parallel;
            spending +=
                division.replicas * stage_class.tensor_parallel * task_.goal.weights()[stage_class.gpu_type];
        }
        const double seconds = sum - price.back() * std::clamp(spending, box.spend_low, box.spend_high);
        double norm = 0;
        bool moved = false;
        for (std::size_t t = 0; t < division.gpus.size(); ++t) {
            excess[t] -= box.gpus[t];
            if (price[t] <= 0 && excess[t] <= 0) excess[t] = 0;
            moved = moved || std::abs(excess[t]) > 1e-9;
            norm += excess[t] * excess[t];
        }
        if (moved) {
            const double target = incumbent_.seconds() < never
                                      ? std::max(incumbent_.seconds() - seconds, 0.01 * seconds)
                                      : 0.1 * seconds;
            for (std::size_t t = 0; t < division.gpus.size(); ++t)
                price[t] = std::max(0.0, price[t] + step * target * excess[t] / norm);
        }
        if (!task_.goal.spends()) return moved;
        double wanted = price.back();
        if (task_.goal.objective() == PlanObjective::throughput) {
            // The budget is a capacity like any other.
            const double over = spending - box.spend_high;
            if (over != 0)
                wanted = std::max(
                    0.0, wanted + step * 0.1 * seconds * over / std::max(spending * spending, 1e-300));
        } else
            // Take the chain's own seconds: seconds at the middle of the box grow with the slope itself.
            wanted = slope_at(box, seconds);
        if (std::abs(wanted - price.back()) > 0.03 * std::max(wanted, price.back())) {
            price.back() = wanted;
            moved = true;
        }
        return moved;
    }
    /// Raises the bound of plans with that many stages to what their least sum at a slope gives.
    void raise(const BatchDivision& division, SearchBox& box, std::size_t stages, double sum,
               double slope) const {
        const double spending = box.least_spending_of(stages);
        box.by_stages[stages] =
            std::max(box.by_stages[stages],
                     task_.goal.least(sum, slope, spending, box.spend_high,
                                      division.repeats * box.low + rest_of(division, box, stages),
                                      division.traffic_usd(spending)));
    }
    /// Returns the slope that suits plans with these seconds and the box's spending.
    [[nodiscard]] double slope_at(const SearchBox& box, double seconds) const {
        return task_.goal.slope(std::max(seconds, 1e-12),
                                std::sqrt(std::max(box.spend_low, 1e-300) * box.spend_high));
    }

    /// Returns a lower bound on seconds + slope * spending over all plans in the box with that many stages,
    /// at the prices last solved for.
    [[nodiscard]] double sum_of(const BatchDivision& division, const SearchBox& box, std::size_t stages,
                                const std::vector<double>& price) const {
        const double total = division.common->relaxation.total(stages);
        if (total == never) return never;
        return division.repeats * box.low + total - refund(box.gpus, price) +
               std::max(box.reduce_low, least_reduce(division, stages, 0)) +
               division.common->tables.least_update();
    }

    const PlanTask& task_;
    PlanIncumbent& incumbent_;
    std::vector<double> stage_price_{};
};

}  // namespace goodput::inline v0_1::detail

#endif
