#ifndef GOODPUT_ALLOT_DETAIL_RELAXATION_HPP
#define GOODPUT_ALLOT_DETAIL_RELAXATION_HPP

// The optimum of the linear relaxation as the rest of the solver uses it: its prices, its bound, its
// mixture of choices, and this mixture rounded to whole options. The mixture splits few jobs (at most one
// per resource, apart from ties). At the prices, every choice in the mixture is a best one for its job (it
// has no regret). The rounded choices may exceed capacities by a little. Equal jobs are copies of one
// group.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/prices.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/detail/resource_uses.hpp"

namespace goodput::inline v0_1::detail {

class Relaxation {
public:
    /// Solves the relaxation of `problem` and rounds it, see PriceSearch::run. The rounding is coarse if
    /// time has run out.
    void solve(const CompactProblem& problem, bool warm, Clock& clock) {
        search_.run(problem, warm, clock);
        search_.mixture(problem, mixture_);
        round(problem, clock);
    }

    [[nodiscard]] std::span<const double> prices() const { return search_.prices(); }
    [[nodiscard]] double bound() const { return search_.bound(); }
    [[nodiscard]] std::size_t passes() const { return search_.passes(); }
    [[nodiscard]] bool complete() const { return search_.complete(); }
    [[nodiscard]] bool feasible() const { return search_.relaxation_feasible(); }
    /// Returns for each option how many copies of its group take it. Few of these are not whole numbers.
    [[nodiscard]] std::span<const double> mixture() const { return mixture_; }
    /// Returns the rounded mixture: every copy has an option, and capacities may be exceeded.
    [[nodiscard]] const Incumbent& rounded() const { return rounded_; }

private:
    static constexpr double whole = 1e-9;

    struct Remainder {
        std::uint32_t group, first_copy, end_copy;
        double worth;
    };

    void round(const CompactProblem& problem, Clock& clock) {
        rounded_.clear(problem);
        remainders_.clear();
        remainders_.reserve(problem.groups());
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            std::uint32_t copy = problem.first_copy[group];
            const std::uint32_t end = problem.first_copy[group + 1];
            double worth = 0;
            for (std::uint32_t k = problem.first[group]; k < problem.end_hull[group]; ++k) {
                if (mixture_[k] == 0) continue;
                for (double n = std::floor(mixture_[k] + whole); n > 0 && copy < end; --n)
                    rounded_.set(problem, copy++, k);
                worth = std::max(worth, price_of(problem.uses_of(k), prices()));
            }
            if (copy < end) remainders_.push_back({static_cast<std::uint32_t>(group), copy, end, worth});
        }
        std::sort(remainders_.begin(), remainders_.end(), [](const Remainder& a, const Remainder& b) {
            return a.worth != b.worth ? a.worth > b.worth : a.group < b.group;
        });
        ahead_.assign(problem.resources(), 0);
        for (const Remainder& remainder : remainders_) settle(problem, remainder, clock);
    }

    static double part(double copies) { return std::max(0.0, copies - std::floor(copies + whole)); }

    /// Chooses options for the copies that the mixture splits, such that the units used stay closest to the
    /// mixture's, weighted by prices. ahead_: units used in excess of the mixture's. If time has run out,
    /// all these copies get the option with the largest part.
    void settle(const CompactProblem& problem, const Remainder& remainder, Clock& clock) {
        const std::uint32_t first = problem.first[remainder.group], end = problem.end_hull[remainder.group];
        if (clock.late(std::size_t{remainder.end_copy - remainder.first_copy} * (end - first) *
                       problem.resources())) {
            const auto largest = std::max_element(mixture_.begin() + first, mixture_.begin() + end,
                                                  [](double a, double b) { return part(a) < part(b); });
            for (std::uint32_t copy = remainder.first_copy; copy < remainder.end_copy; ++copy)
                rounded_.set(problem, copy, static_cast<std::uint32_t>(largest - mixture_.begin()));
            return;
        }
        for (std::uint32_t k = first; k < end; ++k)
            for (const ResourceUse& use : problem.uses_of(k))
                ahead_[use.resource] -= part(mixture_[k]) * use.units;
        for (std::uint32_t copy = remainder.first_copy; copy < remainder.end_copy; ++copy) {
            std::uint32_t chosen = first;
            double least = std::numeric_limits<double>::infinity();
            for (std::uint32_t k = first; k < end; ++k) {
                if (part(mixture_[k]) <= whole) continue;
                double distance = 0;
                for (const ResourceUse& use : problem.uses_of(k)) ahead_[use.resource] += use.units;
                for (std::size_t r = 0; r < ahead_.size(); ++r) distance += prices()[r] * std::abs(ahead_[r]);
                for (const ResourceUse& use : problem.uses_of(k)) ahead_[use.resource] -= use.units;
                if (distance < least) {
                    least = distance;
                    chosen = k;
                }
            }
            rounded_.set(problem, copy, chosen);
            for (const ResourceUse& use : problem.uses_of(chosen)) ahead_[use.resource] += use.units;
        }
    }

    PriceSearch search_;
    std::vector<double> mixture_;
    Incumbent rounded_;
    std::vector<Remainder> remainders_;
    std::vector<double> ahead_;
};

}  // namespace goodput::inline v0_1::detail

#endif
