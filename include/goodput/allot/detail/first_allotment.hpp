#ifndef GOODPUT_ALLOT_DETAIL_FIRST_ALLOTMENT_HPP
#define GOODPUT_ALLOT_DETAIL_FIRST_ALLOTMENT_HPP

// Makes a first allotment from the prices and the linear relaxation: it repairs the rounded relaxation.
// While a capacity is exceeded, it takes the step that loses the least value per unit of relieved overload,
// weighted by prices. It considers only the options of small regret (reduced cost), a few per job on
// average, because hardly any other option is ever chosen. If that fails, the caller's own repair is tried.
// If that fails as well, each job in turn gets the best option that still fits. The jobs that must run come
// first, then those with the clearest preference (the largest distance between their best and second-best
// options). At the end, jobs rise to better options where room is left. Equal jobs are copies of one group.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

class FirstAllotment {
public:
    /// Fills `incumbent`. Returns false if a job that must run got nothing. If time has run out, jobs come
    /// in the order given, those that must run first. If our own repair fails and there is time,
    /// repair_otherwise(incumbent) is called: it returns whether it could make an allotment of the rounded
    /// relaxation.
    template <class Repair>
    bool operator()(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                    Clock& clock, Repair repair_otherwise) {
        incumbent = relaxation.rounded();
        reserve(problem);
        if (!incumbent.feasible(problem) && !repair(problem, relaxation.prices(), incumbent, clock)) {
            incumbent = relaxation.rounded();
            if ((clock.late() || !repair_otherwise(incumbent)) &&
                !surest_first(problem, relaxation.prices(), incumbent, clock))
                return false;
        }
        improve(problem, incumbent, clock);
        return true;
    }

private:
    /// Reserves memory, so that a later problem of this size needs no more.
    void reserve(const CompactProblem& problem) {
        regret_.reserve(problem.count);
        sorted_.reserve(problem.count);
        candidates_.reserve(problem.count);
        first_candidate_.reserve(problem.groups() + 1);
    }

    /// Returns how many numbers are read to go through all options of a group.
    static std::size_t work_of_group(const CompactProblem& problem, std::size_t group) {
        const std::uint32_t first = problem.first[group], end = problem.first[group + 1];
        return std::size_t{2} * (end - first + problem.first_use[end] - problem.first_use[first]);
    }

    /// Sets the weight of a unit of overload: its price, plus a little so that it is never 0.
    void weigh(const CompactProblem& problem, std::span<const double> prices) {
        weight_.assign(prices.begin(), prices.end());
        const double everything = problem.magnitude > 0 ? problem.magnitude : 1;
        for (std::size_t r = 0; r < weight_.size(); ++r)
            weight_[r] += 1e-3 * everything / std::max(problem.capacity[r], 1e-9);
    }
    [[nodiscard]] double overload(const CompactProblem& problem, std::size_t r, double left) const {
        return left < -problem.tolerance[r] ? -left * weight_[r] : 0;
    }

    /// Fills regret_, and candidates_ with the options of least regret. Returns false if time has run out.
    bool rate(const CompactProblem& problem, std::span<const double> prices, Clock& clock) {
        const std::size_t wanted = 4 * problem.groups() + 2048;
        regret_.resize(problem.count);
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            if (clock.late(work_of_group(problem, group))) return false;
            const std::uint32_t first = problem.first[group], end = problem.first[group + 1];
            double best = -std::numeric_limits<double>::infinity();
            for (std::uint32_t k = first; k < end; ++k)
                best = std::max(best, regret_[k] = problem.reduced_value(k, prices));
            for (std::uint32_t k = first; k < end; ++k) regret_[k] = best - regret_[k];
        }
        double most = std::numeric_limits<double>::infinity();
        if (wanted < regret_.size()) {
            sorted_ = regret_;
            const auto at = sorted_.begin() + static_cast<std::ptrdiff_t>(wanted);
            std::nth_element(sorted_.begin(), at, sorted_.end());
            most = *at;
        }
        candidates_.clear();
        first_candidate_.assign(1, 0);
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                if (regret_[k] <= most) candidates_.push_back(k);
            first_candidate_.push_back(static_cast<std::uint32_t>(candidates_.size()));
        }
        return !clock.late(16 * regret_.size());
    }

    /// Moves copies to smaller options until every capacity holds. Returns false if no move helps, or if it
    /// takes too long.
    bool repair(const CompactProblem& problem, std::span<const double> prices, Incumbent& incumbent,
                Clock& clock) {
        weigh(problem, prices);
        if (!rate(problem, prices, clock)) return false;
        // Every step looks at all candidates, so their number limits the number of steps.
        const std::size_t most_steps =
            std::min(64 + problem.jobs / 16, most_repair_work / (1 + 4 * candidates_.size()));
        for (std::size_t step = 0; !incumbent.feasible(problem); ++step) {
            if (step == most_steps) return false;
            std::uint32_t best_copy = none, best_option = none;
            double best_rate = std::numeric_limits<double>::infinity();
            for (std::size_t group = 0; group < problem.groups(); ++group) {
                std::uint32_t tried = none;  // equal copies need only one look
                for (std::uint32_t copy = problem.first_copy[group]; copy < problem.first_copy[group + 1];
                     ++copy) {
                    const std::uint32_t now = incumbent.choice[copy];
                    if (now == tried || !uses_overloaded(problem, incumbent, now)) continue;
                    tried = now;
                    const std::uint32_t first = first_candidate_[group], end = first_candidate_[group + 1];
                    if (clock.late(std::size_t{16} * (end - first))) return false;
                    for (std::uint32_t i = first; i < end; ++i) {
                        const std::uint32_t k = candidates_[i];
                        const double loss = problem.value[now] - problem.value[k];
                        const double relief = relief_of(problem, incumbent, now, k);
                        if (relief <= 0 || loss / relief >= best_rate) continue;
                        best_rate = loss / relief;
                        best_copy = copy;
                        best_option = k;
                    }
                }
            }
            if (best_copy == none) return false;
            incumbent.set(problem, best_copy, best_option);
        }
        return true;
    }

    [[nodiscard]] static bool uses_overloaded(const CompactProblem& problem, const Incumbent& incumbent,
                                              std::uint32_t option) {
        for (const ResourceUse& use : problem.uses_of(option))
            if (incumbent.left[use.resource] < -problem.tolerance[use.resource]) return true;
        return false;
    }
    /// Returns by how much the weighted overload shrinks when `option` replaces `now`.
    [[nodiscard]] double relief_of(const CompactProblem& problem, const Incumbent& incumbent,
                                   std::uint32_t now, std::uint32_t option) const {
        double relief = 0;
        problem.each_change(now, option, [&](std::size_t r, double units) {
            const double left = incumbent.left[r];
            relief += overload(problem, r, left) - overload(problem, r, left - units);
            return true;
        });
        return relief;
    }

    /// Gives each job in turn the best option that still fits. Jobs that must run come first, then those
    /// with the clearest preference. Returns false if a job that must run got nothing.
    bool surest_first(const CompactProblem& problem, std::span<const double> prices, Incumbent& incumbent,
                      Clock& clock) {
        sureness_.assign(problem.groups(), 0);
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            if (clock.late(work_of_group(problem, group))) break;
            double best = -std::numeric_limits<double>::infinity(), second = best;
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
                const double reduced = problem.reduced_value(k, prices);
                second = std::max(second, std::min(best, reduced));
                best = std::max(best, reduced);
            }
            sureness_[group] = best - second;  // infinite if there is only one option
        }
        order_.resize(problem.groups());
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        if (clock.late())
            std::stable_partition(order_.begin(), order_.end(),
                                  [&](std::uint32_t group) { return problem.must[group] != 0; });
        else
            std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
                if (problem.must[a] != problem.must[b]) return problem.must[a] > problem.must[b];
                return sureness_[a] != sureness_[b] ? sureness_[a] > sureness_[b] : a < b;
            });
        incumbent.clear(problem);
        for (const std::uint32_t group : order_) {
            std::uint32_t option = none;
            for (std::uint32_t copy = problem.first_copy[group]; copy < problem.first_copy[group + 1];
                 ++copy) {
                // Room only shrinks, so the best option of one copy is the best of the next one if it still
                // fits.
                if (option == none || !incumbent.fits(problem, option))
                    option = best_fitting(problem, prices, incumbent, group);
                if (option == none) return false;
                incumbent.set(problem, copy, option);
            }
        }
        return true;
    }
    static std::uint32_t best_fitting(const CompactProblem& problem, std::span<const double> prices,
                                      const Incumbent& incumbent, std::size_t group) {
        std::uint32_t chosen = none;
        double best = 0;
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
            const double reduced = problem.reduced_value(k, prices);
            if ((chosen != none && reduced <= best) || !incumbent.fits(problem, k)) continue;
            chosen = k;
            best = reduced;
        }
        return chosen;
    }

    /// Moves copies to fitting options of larger value until there are none, the pass limit is reached, or
    /// time has run out.
    static void improve(const CompactProblem& problem, Incumbent& incumbent, Clock& clock) {
        constexpr int most_passes = 16;
        for (int pass = 0; pass < most_passes; ++pass) {
            bool better = false;
            for (std::size_t group = 0; group < problem.groups(); ++group) {
                std::uint32_t in_vain = none;  // option for which an equal copy found no better one
                for (std::uint32_t copy = problem.first_copy[group]; copy < problem.first_copy[group + 1];
                     ++copy) {
                    const std::uint32_t now = incumbent.choice[copy];
                    if (now == in_vain) continue;
                    if (clock.late(work_of_group(problem, group))) return incumbent.recount(problem);
                    std::uint32_t chosen = now;
                    for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                        if (problem.value[k] > problem.value[chosen] && incumbent.fits(problem, k, now))
                            chosen = k;
                    if (chosen == now) {
                        in_vain = now;
                        continue;
                    }
                    incumbent.set(problem, copy, chosen);
                    better = true;
                }
            }
            if (!better) break;
        }
        incumbent.recount(problem);
    }

    static constexpr std::size_t most_repair_work = std::size_t{1} << 28;
    std::vector<double> weight_, regret_, sorted_, sureness_;  // by resource; by option; by option; by group
    std::vector<std::uint32_t> candidates_, first_candidate_, order_;
};

}  // namespace goodput::inline v0_1::detail

#endif
