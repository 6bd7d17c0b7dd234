#ifndef GOODPUT_PARALLEL_DETAIL_STAGE_BOUNDS_HPP
#define GOODPUT_PARALLEL_DETAIL_STAGE_BOUNDS_HPP

// How long the largest stage of a plan takes at least: in less time, the stages that there are GPUs for could
// not compute all layers together.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::detail {

/// Seconds that a micro-batch takes at least: every layer is computed once, somewhere.
[[nodiscard]] inline double through(const StageTables& tables) {
    double sum = 0;
    for (std::size_t l = 0; l < tables.layers(); ++l) {
        double fastest = never;
        for (const StageClass& k : tables.classes())
            fastest = std::min(fastest, k.compute[l + 1] - k.compute[l]);
        sum += fastest;
    }
    return sum * (1 - 1e-9);
}

/// The most of the model's work that a stage of class k can do in some seconds for a micro-batch.
/// `reduce`, `reduce_cap`: its gradients may take so long.
[[nodiscard]] inline double most_work(const StageTables& tables, std::size_t k, std::size_t in_flight,
                                      double seconds, const ReduceTables* reduce = nullptr,
                                      double reduce_cap = never) {
    double most = 0;
    std::size_t end = 0;
    for (std::size_t begin = 0; end < tables.layers(); ++begin) {
        end = std::max(end, begin);
        while (end < tables.room(k, in_flight, begin) && tables.compute(k, begin, end + 1) <= seconds &&
               (reduce == nullptr || reduce->at_least[tables.span(k, begin, end + 1)] <= reduce_cap))
            ++end;
        most = std::max(most, tables.work()[end] - tables.work()[begin]);
        if (begin + 1 == tables.layers()) break;
    }
    return most;
}

/// The largest stage takes at least so long: with shorter ones the GPUs would not have room for all
/// layers, if every GPU had as many as it can compute in that time. Sets the
/// division's first prices.
[[nodiscard]] inline double least_largest(BatchDivision& division) {
    const StageTables& tables = division.common->tables;
    const auto enough = [&](double seconds) {
        std::vector<double> rate(division.gpus.size(), 0);
        for (std::size_t k = 0; k < tables.size(); ++k) {
            const StageClass& its = tables.classes()[k];
            rate[its.gpu_type] =
                std::max(rate[its.gpu_type], most_work(tables, k, 1, seconds) / its.tensor_parallel);
        }
        double sum = 0;
        for (std::size_t t = 0; t < rate.size(); ++t) sum += rate[t] * division.gpus[t];
        if (sum * (1 + 1e-9) < 1) return false;
        // First prices: by how much a GPU of each type can compute in that time.
        division.price.assign(rate.size() + 1, 0);
        for (std::size_t t = 0; t < rate.size(); ++t)
            division.price[t] = 0.3 * through(tables) * rate[t] / sum;
        return true;
    };
    double low = 0, high = 0;
    for (std::size_t k = 0; k < tables.size(); ++k)
        high = std::max(high, tables.compute(k, 0, tables.layers()));
    if (!enough(high)) return never;
    for (int i = 0; i < 40 && high - low > 1e-6 * high; ++i)
        (enough((low + high) / 2) ? high : low) = (low + high) / 2;
    return low * (1 - 1e-9);
}

/// Bounds on the largest stage of a box.
class StageBounds {
public:
    /// `mixed`: replicas of other classes may help in a stage.
    StageBounds(const PlanGoal& goal, bool mixed) : goal_(goal), mixed_(mixed) {}

    /// The largest stage of any plan in the box takes at least so long, where it has more than one stage: the
    /// stages behind a stage keep micro-batches under way, so that early stages have room for fewer layers,
    /// and every stage sends something.
    [[nodiscard]] double least_largest(const BatchDivision& division, const SearchBox& box) const {
        double low = box.low, high = box.high;
        const StageTables& tables = division.common->tables;
        const std::size_t classes = tables.size(), stages = division.most_stages;
        std::vector<double> most(stages * classes);
        const auto enough = [&](double seconds) {
            for (std::size_t e = 1; e <= stages; ++e)
                for (std::size_t k = 0; k < classes; ++k) {
                    const double sending = e == 1 ? last_weight * tables.messages().least_backward(k)
                                                  : tables.messages().least_forward_from(0, k);
                    most[(e - 1) * classes + k] =
                        most_work(tables, k, division.in_flight(e), seconds - sending, division.reduce.get(),
                                  box.reduce_high);
                }
            const std::vector<double> rate = rates(division, seconds, most, box.gpus.size());
            // The work that all stages can do, less a charge for their GPUs, plus the charge for all GPUs.
            double all = 0;
            for (std::size_t t = 0; t < rate.size(); ++t) all += rate[t] * box.gpus[t];
            const auto charge = [&](std::size_t k) {
                return cheapest(tables, k, [&](const StageClass& its) {
                    return rate[its.gpu_type] * its.tensor_parallel;
                });
            };
            for (const double part : {0.0, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 1.0}) {
                double work = part * all;
                for (std::size_t e = 0; e < stages; ++e) {
                    double best = 0;
                    for (std::size_t k = 0; k < classes; ++k)
                        if (most[e * classes + k] > 0)
                            best = std::max(best, most[e * classes + k] - part * charge(k));
                    work += best;
                }
                if (work * (1 + 1e-9) < 1) return false;
            }
            return !goal_.spends() || affords(division, box, most);
        };
        const auto possible = [&](double seconds) {
            return covers(division, box, seconds) && enough(seconds);
        };
        if (!possible(high)) return never;
        if (possible(low)) return low;
        for (int i = 0; i < 12; ++i) (possible((low + high) / 2) ? high : low) = (low + high) / 2;
        return low;
    }

private:
    /// The least charge of a replica in a stage whose slowest ones are of class k.
    template <class Charge>
    static double cheapest(const StageTables& tables, std::size_t k, Charge charge) {
        double least = never;
        for (const std::size_t joining : tables.as_fast(k))
            least = std::min(least, charge(tables.classes()[joining]));
        return least;
    }

    /// The most work that a GPU of each type has part in, for `most` by stages left and class. A replica that
    /// is faster than the slowest ones of its stage does as much as these, and what is known of their
    /// sending and reducing does not hold of its own.
    [[nodiscard]] static std::vector<double> rates(const BatchDivision& division, double seconds,
                                                   const std::vector<double>& most, std::size_t types) {
        const StageTables& tables = division.common->tables;
        const std::size_t classes = tables.size();
        std::vector<double> rate(types, 0);
        for (std::size_t i = 0; i < most.size(); ++i)
            for (const std::size_t joining : tables.as_fast(i % classes)) {
                const StageClass& its = tables.classes()[joining];
                const double alone = joining == i % classes
                                         ? most[i]
                                         : most_work(tables, joining, division.in_flight(i / classes + 1),
                                                     seconds * (1 + 1e-9) + 1e-15);
                double& mine = rate[its.gpu_type];
                mine = std::max(mine, std::min(most[i], alone) / its.tensor_parallel);
            }
        return rate;
    }

    /// Whether stages of one class each, of at most that many seconds, can do all work: for each type, the
    /// most work that stages on its GPUs can do together.
    [[nodiscard]] bool covers(const BatchDivision& division, const SearchBox& box, double seconds) const {
        if (mixed_) return true;
        const StageTables& tables = division.common->tables;
        std::vector<std::vector<double>> work(box.gpus.size());
        for (std::size_t t = 0; t < work.size(); ++t)
            work[t].assign(static_cast<std::size_t>(box.gpus[t]) + 1, 0);
        for (std::size_t k = 0; k < tables.size(); ++k) {
            const StageClass& its = tables.classes()[k];
            const double sending = std::min(last_weight * tables.messages().least_backward(k),
                                            tables.messages().least_forward_from(0, k));
            const double most =
                most_work(tables, k, 1, seconds - sending, division.reduce.get(), box.reduce_high);
            std::vector<double>& with = work[its.gpu_type];
            const auto taken = static_cast<std::size_t>(its.tensor_parallel);
            for (std::size_t gpus = taken; gpus < with.size(); ++gpus)
                with[gpus] = std::max(with[gpus], with[gpus - taken] + most);
        }
        double sum = 0;
        for (const auto& with : work) sum += with.back();
        return sum * (1 + 1e-9) >= 1;
    }

    /// The same with a charge for what the GPUs cost, and the most that the box may spend.
    [[nodiscard]] bool affords(const BatchDivision& division, const SearchBox& box,
                               const std::vector<double>& most) const {
        const std::size_t classes = division.common->tables.size();
        const auto cost = [&](std::size_t k) {
            return cheapest(division.common->tables, k, [&](const StageClass& its) {
                return its.tensor_parallel * goal_.weights()[its.gpu_type];
            });
        };
        double rate = 0;
        for (std::size_t i = 0; i < most.size(); ++i) {
            if (!(cost(i % classes) > 0)) return true;
            rate = std::max(rate, most[i] / cost(i % classes));
        }
        for (const double part : {0.4, 0.7, 0.9, 1.0}) {
            double work = part * rate * box.spend_high / division.replicas;
            for (std::size_t e = 0; e < most.size() / classes; ++e) {
                double best = 0;
                for (std::size_t k = 0; k < classes; ++k)
                    best = std::max(best, most[e * classes + k] - part * rate * cost(k));
                work += best;
            }
            if (work * (1 + 1e-9) < 1) return false;
        }
        return true;
    }

    const PlanGoal& goal_;
    bool mixed_;
};

}  // namespace goodput::detail

#endif
