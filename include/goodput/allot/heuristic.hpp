#ifndef GOODPUT_ALLOT_HEURISTIC_HPP
#define GOODPUT_ALLOT_HEURISTIC_HPP

// Primal heuristics: a first allotment from the prices and the linear relaxation. The relaxation splits few
// jobs, and what it gives to the others has no regret at the prices; a good allotment takes that and settles
// the split ones so that little capacity is left over.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/incumbent.hpp"
#include "goodput/allot/prices.hpp"

namespace goodput {

/// A primal heuristic fills an incumbent from the relaxation and returns false if a job that must run got
/// nothing.
template <class H>
concept PrimalHeuristic = requires(H heuristic, const detail::CompactProblem& problem,
                                   const detail::PriceSearch& relaxation, detail::Incumbent& incumbent) {
    { heuristic(problem, relaxation, incumbent) } -> std::same_as<bool>;
};

/// Gives the jobs that are surest of their best option (largest distance to the second best) theirs first,
/// lets the undecided ones take the best that still fits, and then lets any job rise where room is left.
class SurestFirst {
public:
    bool operator()(const detail::CompactProblem& problem, const detail::PriceSearch& relaxation,
                    detail::Incumbent& incumbent) {
        const std::span<const double> prices = relaxation.prices();
        reduced_.resize(problem.value.size());
        sureness_.assign(problem.jobs(), 0);
        for (std::size_t job = 0; job < problem.jobs(); ++job) rate(problem, prices, job);
        order_.resize(problem.jobs());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            return problem.must[a] != problem.must[b] ? problem.must[a] > problem.must[b]
                                                      : sureness_[a] > sureness_[b];
        });
        incumbent.clear(problem);
        bool complete = true;
        for (const std::size_t job : order_) {
            const std::uint32_t option = best_fitting(problem, incumbent, job);
            if (option != detail::none)
                incumbent.set(problem, job, option);
            else if (problem.must[job])
                complete = false;
        }
        if (complete) improve(problem, incumbent);
        return complete;
    }

    /// Lets jobs rise to options of larger value that fit, until none can or a pass limit.
    void improve(const detail::CompactProblem& problem, detail::Incumbent& incumbent) {
        for (int pass = 0; pass < most_passes; ++pass) {
            bool better = false;
            for (const std::size_t job : order_) better = improve_one(problem, incumbent, job) || better;
            if (!better) break;
        }
        incumbent.recount(problem);
    }

private:
    static constexpr int most_passes = 16;

    void rate(const detail::CompactProblem& problem, std::span<const double> prices, std::size_t job) {
        double second = -std::numeric_limits<double>::infinity();
        double best = problem.must[job] ? second : 0;
        for (std::uint32_t k = problem.first[job]; k < problem.first[job + 1]; ++k) {
            const double reduced = problem.reduced_value(k, prices);
            reduced_[k] = reduced;
            if (reduced > best) {
                second = best;
                best = reduced;
            } else {
                second = std::max(second, reduced);
            }
        }
        sureness_[job] = best - second;  // infinite where there is no choice
    }

    [[nodiscard]] std::uint32_t best_fitting(const detail::CompactProblem& problem,
                                             const detail::Incumbent& incumbent, std::size_t job) const {
        double best = problem.must[job] ? -std::numeric_limits<double>::infinity() : 0;
        std::uint32_t chosen = detail::none;
        for (std::uint32_t k = problem.first[job]; k < problem.first[job + 1]; ++k) {
            if (reduced_[k] <= best || !incumbent.fits(problem, k)) continue;
            best = reduced_[k];
            chosen = k;
        }
        return chosen;
    }

    static bool improve_one(const detail::CompactProblem& problem, detail::Incumbent& incumbent,
                            std::size_t job) {
        const std::uint32_t now = incumbent.choice[job];
        double best = now == detail::none ? 0 : problem.value[now];
        std::uint32_t chosen = detail::none;
        for (std::uint32_t k = problem.first[job]; k < problem.first[job + 1]; ++k) {
            if (problem.value[k] <= best || !incumbent.fits(problem, k, now)) continue;
            best = problem.value[k];
            chosen = k;
        }
        if (chosen == detail::none) return false;
        incumbent.set(problem, job, chosen);
        return true;
    }

    std::vector<double> reduced_, sureness_;
    std::vector<std::size_t> order_;
};

/// The default: rounds the relaxation's mixture of choices. Split jobs are settled largest first, each so
/// that what has been used stays closest to what the mixture would have used; overloads are then repaired at
/// the least loss of value, and jobs rise where room is left. Where repair fails, or does worse, the surest
/// jobs come first.
class RoundedRelaxation {
public:
    bool operator()(const detail::CompactProblem& problem, const detail::PriceSearch& relaxation,
                    detail::Incumbent& incumbent) {
        const bool complete = surest_first_(problem, relaxation, incumbent);
        round(problem, relaxation);
        if (!repair(problem)) return complete;
        surest_first_.improve(problem, rounded_);
        if (complete && rounded_.value <= incumbent.value) return true;
        std::swap(incumbent, rounded_);
        return true;
    }

private:
    struct Part {
        std::size_t job;
        std::uint32_t option;
        double weight;
    };

    void round(const detail::CompactProblem& problem, const detail::PriceSearch& relaxation) {
        const std::span<const double> prices = relaxation.prices();
        parts_.clear();
        relaxation.for_each_fraction(problem, [&](std::size_t job, std::uint32_t option, double weight) {
            parts_.push_back({job, option, weight});
        });
        std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
            return a.job != b.job ? a.job < b.job : a.option < b.option;
        });
        rounded_.clear(problem);
        split_.clear();
        for (std::size_t i = 0; i < parts_.size();) {
            std::size_t end = i;
            double weight = 0, worth = 0;
            bool several = false;
            for (; end < parts_.size() && parts_[end].job == parts_[i].job; ++end) {
                weight += parts_[end].weight;
                several = several || parts_[end].option != parts_[i].option;
                double paid = 0;
                for (const Use& use : problem.uses_of(parts_[end].option))
                    paid += prices[use.resource] * use.units;
                worth = std::max(worth, paid);
            }
            if (!several && weight > 1 - 1e-9)
                rounded_.set(problem, parts_[i].job, parts_[i].option);
            else
                split_.push_back({i, end, worth});
            i = end;
        }
        std::stable_sort(split_.begin(), split_.end(),
                         [](const Split& a, const Split& b) { return a.worth > b.worth; });
        ahead_.assign(problem.resources(), 0);
        for (const Split& split : split_) settle(problem, prices, split);
    }

    struct Split {
        std::size_t first, last;
        double worth;
    };

    /// ahead_: units used by the settled jobs beyond the mixture's.
    void settle(const detail::CompactProblem& problem, std::span<const double> prices, const Split& split) {
        double weight = 0;
        for (std::size_t i = split.first; i < split.last; ++i) {
            weight += parts_[i].weight;
            for (const Use& use : problem.uses_of(parts_[i].option))
                ahead_[use.resource] -= parts_[i].weight * use.units;
        }
        const std::size_t job = parts_[split.first].job;
        std::uint32_t chosen = detail::none;
        double least = std::numeric_limits<double>::infinity();
        const auto consider = [&](std::uint32_t option) {
            double distance = 0;
            if (option != detail::none)
                for (const Use& use : problem.uses_of(option)) ahead_[use.resource] += use.units;
            for (std::size_t r = 0; r < ahead_.size(); ++r) distance += prices[r] * std::abs(ahead_[r]);
            if (option != detail::none)
                for (const Use& use : problem.uses_of(option)) ahead_[use.resource] -= use.units;
            if (distance >= least) return;
            least = distance;
            chosen = option;
        };
        for (std::size_t i = split.first; i < split.last; ++i) consider(parts_[i].option);
        if (weight < 1 - 1e-9 && !problem.must[job]) consider(detail::none);
        if (chosen == detail::none) return;
        rounded_.set(problem, job, chosen);
        for (const Use& use : problem.uses_of(chosen)) ahead_[use.resource] += use.units;
    }

    [[nodiscard]] double overload(const detail::CompactProblem& problem, std::size_t r, double left) const {
        return left < -detail::capacity_tolerance(problem.capacity[r]) ? -left : 0;
    }

    /// Lets jobs step down, cheapest value per unit of overload first, until every capacity holds; false if
    /// none can.
    bool repair(const detail::CompactProblem& problem) {
        for (std::size_t job = 0; job < problem.jobs(); ++job)
            if (problem.must[job] && rounded_.choice[job] == detail::none) return false;
        for (std::size_t step = 0; step <= 2 * problem.jobs(); ++step) {
            double total = 0;
            for (std::size_t r = 0; r < rounded_.left.size(); ++r)
                total += overload(problem, r, rounded_.left[r]);
            if (total == 0) return true;
            std::size_t best_job = problem.jobs();
            std::uint32_t best_option = detail::none;
            double best_rate = std::numeric_limits<double>::infinity();
            const auto consider = [&](std::size_t job, std::uint32_t option) {
                const std::uint32_t now = rounded_.choice[job];
                const double relief = relief_of(problem, now, option);
                if (relief <= 0) return;
                const double loss = problem.value[now] - (option == detail::none ? 0 : problem.value[option]);
                if (loss / relief >= best_rate) return;
                best_rate = loss / relief;
                best_job = job;
                best_option = option;
            };
            for (std::size_t job = 0; job < problem.jobs(); ++job) {
                const std::uint32_t now = rounded_.choice[job];
                if (now == detail::none || !uses_overloaded(problem, now)) continue;
                if (!problem.must[job]) consider(job, detail::none);
                for (std::uint32_t k = problem.first[job]; k < problem.first[job + 1]; ++k)
                    if (k != now) consider(job, k);
            }
            if (best_job == problem.jobs()) return false;
            rounded_.set(problem, best_job, best_option);
        }
        return false;
    }

    [[nodiscard]] bool uses_overloaded(const detail::CompactProblem& problem, std::uint32_t option) const {
        for (const Use& use : problem.uses_of(option))
            if (overload(problem, use.resource, rounded_.left[use.resource]) > 0) return true;
        return false;
    }

    /// Units by which the overloads shrink when `now` is replaced by `option`.
    double relief_of(const detail::CompactProblem& problem, std::uint32_t now, std::uint32_t option) {
        double relief = 0;
        const auto change = [&](std::uint32_t of, double sign) {
            if (of == detail::none) return;
            for (const Use& use : problem.uses_of(of)) {
                double& left = rounded_.left[use.resource];
                relief += overload(problem, use.resource, left);
                left += sign * use.units;
                relief -= overload(problem, use.resource, left);
            }
        };
        undo_ = rounded_.left;
        change(now, 1);
        change(option, -1);
        std::swap(rounded_.left, undo_);
        return relief;
    }

    SurestFirst surest_first_;
    detail::Incumbent rounded_;
    std::vector<Part> parts_;
    std::vector<Split> split_;
    std::vector<double> ahead_, undo_;
};

}  // namespace goodput

#endif
