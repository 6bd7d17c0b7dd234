#ifndef GOODPUT_ALLOT_HEURISTIC_HPP
#define GOODPUT_ALLOT_HEURISTIC_HPP

// Primal heuristics: a first allotment from the prices and the linear relaxation. What the search
// (search.hpp) does with it is strong, so the default is quick.

#include <algorithm>
#include <concepts>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/detail/clock.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/incumbent.hpp"
#include "goodput/allot/relaxation.hpp"

namespace goodput {

/// A primal heuristic fills an incumbent from the relaxation and returns false if a job that must run got
/// nothing. One that may take long is called with a detail::Clock& as well, if it can be, and is quick where
/// that is late.
template <class H>
concept PrimalHeuristic = (requires(H heuristic, const detail::CompactProblem& problem,
                                    const detail::Relaxation& relaxation, detail::Incumbent& incumbent) {
                              { heuristic(problem, relaxation, incumbent) } -> std::same_as<bool>;
                          }) ||
                          (requires(H heuristic, const detail::CompactProblem& problem,
                                    const detail::Relaxation& relaxation, detail::Incumbent& incumbent,
                                    detail::Clock& clock) {
                              { heuristic(problem, relaxation, incumbent, clock) } -> std::same_as<bool>;
                          });

namespace detail {

/// Numbers to be read in a look at all options of a group.
inline std::size_t work_of_group(const CompactProblem& problem, std::size_t group) {
    const std::uint32_t first = problem.first[group], end = problem.first[group + 1];
    return std::size_t{2} * (end - first + problem.first_use[end] - problem.first_use[first]);
}

/// Lets copies rise to options of larger value that fit, until none can or a pass limit, or it is late.
inline void improve(const CompactProblem& problem, Incumbent& incumbent, Clock& clock) {
    constexpr int most_passes = 16;
    for (int pass = 0; pass < most_passes; ++pass) {
        bool better = false;
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            std::uint32_t in_vain = none;  // equal copies need not be tried in vain again
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

}  // namespace detail

/// Gives the jobs that are surest of their best option (largest distance to the second best) theirs first,
/// lets the undecided ones take the best that still fits, and then lets any job rise where room is left.
class SurestFirst {
public:
    /// Fills `incumbent`; false if a job that must run got nothing. Late, jobs come in the order given, those
    /// that must run first.
    bool operator()(const detail::CompactProblem& problem, const detail::Relaxation& relaxation,
                    detail::Incumbent& incumbent, detail::Clock& clock) {
        const std::span<const double> prices = relaxation.prices();
        sureness_.assign(problem.groups(), 0);
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            if (clock.late(detail::work_of_group(problem, group))) break;
            rate(problem, prices, group);
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
            std::uint32_t option = detail::none;
            for (std::uint32_t copy = problem.first_copy[group]; copy < problem.first_copy[group + 1];
                 ++copy) {
                // Capacity only shrinks, so what was best for one copy is best for the next if it still fits.
                if (option == detail::none || !incumbent.fits(problem, option))
                    option = best_fitting(problem, prices, incumbent, group);
                if (option == detail::none) return false;
                incumbent.set(problem, copy, option);
            }
        }
        detail::improve(problem, incumbent, clock);
        return true;
    }

private:
    void rate(const detail::CompactProblem& problem, std::span<const double> prices, std::size_t group) {
        double best = -std::numeric_limits<double>::infinity(), second = best;
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
            const double reduced = problem.reduced_value(k, prices);
            second = std::max(second, std::min(best, reduced));
            best = std::max(best, reduced);
        }
        sureness_[group] = best - second;  // infinite where there is no choice
    }

    static std::uint32_t best_fitting(const detail::CompactProblem& problem, std::span<const double> prices,
                                      const detail::Incumbent& incumbent, std::size_t group) {
        std::uint32_t chosen = detail::none;
        double best = 0;
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
            const double reduced = problem.reduced_value(k, prices);
            if ((chosen != detail::none && reduced <= best) || !incumbent.fits(problem, k)) continue;
            chosen = k;
            best = reduced;
        }
        return chosen;
    }

    std::vector<double> sureness_;
    std::vector<std::uint32_t> order_;
};

/// The default: repairs the rounded relaxation. While a capacity is exceeded, the step down that loses least
/// value for each unit of overload is taken; then jobs rise where room is left. Where repair fails, the
/// surest jobs come first.
class RoundedRelaxation {
public:
    /// Fills `incumbent`; false if a job that must run got nothing.
    bool operator()(const detail::CompactProblem& problem, const detail::Relaxation& relaxation,
                    detail::Incumbent& incumbent, detail::Clock& clock) {
        incumbent = relaxation.rounded();
        weight_.clear();
        for (std::size_t r = 0; r < problem.resources(); ++r)
            weight_.push_back(relaxation.prices()[r] + 1e-3 * problem.magnitude / (problem.capacity[r] + 1e-9));
        if (!repair(problem, incumbent, clock)) return surest_first_(problem, relaxation, incumbent, clock);
        detail::improve(problem, incumbent, clock);
        return true;
    }

private:
    double overload(const detail::CompactProblem& problem, std::size_t r, double left) const {
        return left < -problem.tolerance[r] ? -left * weight_[r] : 0;
    }
    std::vector<double> weight_;

    /// Lets copies step down until every capacity holds; false if none can, or it takes too long.
    bool repair(const detail::CompactProblem& problem, detail::Incumbent& incumbent,
                       detail::Clock& clock) {
        // Every step looks at all options.
        const std::size_t most_steps =
            std::min(64 + problem.jobs / 16, most_repair_work / (1 + problem.uses.size()));
        for (std::size_t step = 0; !incumbent.feasible(problem); ++step) {
            if (step == most_steps) return false;
            std::uint32_t best_copy = detail::none, best_option = detail::none;
            double best_rate = std::numeric_limits<double>::infinity();
            for (std::size_t group = 0; group < problem.groups(); ++group) {
                std::uint32_t tried = detail::none;  // equal copies are worth one look
                for (std::uint32_t copy = problem.first_copy[group]; copy < problem.first_copy[group + 1];
                     ++copy) {
                    const std::uint32_t now = incumbent.choice[copy];
                    if (now == tried || !uses_overloaded(problem, incumbent, now)) continue;
                    tried = now;
                    if (clock.late(4 * detail::work_of_group(problem, group))) return false;
                    for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
                        const double relief = relief_of(problem, incumbent, now, k);
                        const double loss = problem.value[now] - problem.value[k];
                        if (relief <= 0 || loss / relief >= best_rate) continue;
                        best_rate = loss / relief;
                        best_copy = copy;
                        best_option = k;
                    }
                }
            }
            if (best_copy == detail::none) return false;
            incumbent.set(problem, best_copy, best_option);
        }
        return true;
    }

    bool uses_overloaded(const detail::CompactProblem& problem, const detail::Incumbent& incumbent,
                                std::uint32_t option) const {
        for (const Use& use : problem.uses_of(option))
            if (overload(problem, use.resource, incumbent.left[use.resource]) > 0) return true;
        return false;
    }

    /// Units by which the overloads shrink when `now` is replaced by `option`.
    double relief_of(const detail::CompactProblem& problem, const detail::Incumbent& incumbent,
                            std::uint32_t now, std::uint32_t option) const {
        const std::span<const Use> back = problem.uses_of(now), taken = problem.uses_of(option);
        double relief = 0;
        for (std::size_t i = 0, j = 0; i < back.size() || j < taken.size();) {
            const bool gives =
                j == taken.size() || (i < back.size() && back[i].resource <= taken[j].resource);
            const std::size_t r = gives ? back[i].resource : taken[j].resource;
            double left = incumbent.left[r];
            relief += overload(problem, r, left);
            if (i < back.size() && back[i].resource == r) left += back[i++].units;
            if (j < taken.size() && taken[j].resource == r) left -= taken[j++].units;
            relief -= overload(problem, r, left);
        }
        return relief;
    }

    static constexpr std::size_t most_repair_work = std::size_t{1} << 28;
    SurestFirst surest_first_;
};

}  // namespace goodput

#endif
