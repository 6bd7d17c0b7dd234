#ifndef GOODPUT_ALLOT_DETAIL_ROUNDED_AMOUNTS_HPP
#define GOODPUT_ALLOT_DETAIL_ROUNDED_AMOUNTS_HPP

// Makes allotments of what the simplex method of a PriceTree (price_tree.hpp) found. Amounts are rounded,
// and exchanges (exchange.hpp) make them fit and improve them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/dual_simplex.hpp"
#include "goodput/allot/detail/exchange.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

/// Makes allotments. Keeps its memory.
class RoundedAmounts {
public:
    /// Starts on a new problem.
    void reset() {
        work_ = 0;
        exchange_.reset();
    }
    /// Returns how many numbers the exchanges have read since reset().
    [[nodiscard]] std::size_t work() const { return work_; }
    /// Returns the allotment that the last round() or settle() made.
    [[nodiscard]] Incumbent& allotment() { return allotment_; }

    /// Rounds amounts. Exchanges may use only a part of the time. Returns whether the allotment fits.
    bool round(const CompactProblem& problem, std::span<const double> amounts, const DualSimplex& simplex,
               Clock& clock) {
        constexpr double whole = 1e-6;
        allotment_.clear(problem);
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            std::uint32_t copy = problem.first_copy[group];
            const std::uint32_t end = problem.first_copy[group + 1];
            sorted_.clear();
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
                const double rounded = std::floor(amounts[k] + whole);
                for (double n = rounded; n > 0 && copy < end; --n) allotment_.set(problem, copy++, k);
                sorted_.push_back({rounded - amounts[k], k});
            }
            std::sort(sorted_.begin(), sorted_.end());
            for (std::size_t i = 0; copy < end; ++i)
                allotment_.set(problem, copy++, sorted_[i % sorted_.size()].second);
        }
        return allotment_.feasible(problem) || repair(problem, simplex, clock);
    }

    /// Makes the only allotment that the limits of the simplex method leave. Returns its value, or
    /// -infinity if it does not fit.
    double settle(const CompactProblem& problem, const DualSimplex& simplex) {
        constexpr double nothing = -std::numeric_limits<double>::infinity();
        allotment_.clear(problem);
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            std::uint32_t copy = problem.first_copy[group];
            const std::uint32_t end = problem.first_copy[group + 1];
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                for (double n = simplex.least(k); n > 0 && copy < end; --n)
                    allotment_.set(problem, copy++, k);
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                if (simplex.most(k) > 0)
                    while (copy < end) allotment_.set(problem, copy++, k);
            if (copy < end) return nothing;
        }
        return allotment_.feasible(problem) ? allotment_.value : nothing;
    }

private:
    bool repair(const CompactProblem& problem, const DualSimplex& simplex, Clock& clock) {
        constexpr std::size_t first_work = std::size_t{1} << 15;
        if (work_ > first_work * 8 + simplex.work() / 4) return false;
        const auto prices = simplex.prices().first(problem.resources());
        const bool fits = exchange_.repair(problem, prices, allotment_, first_work, clock);
        if (fits) exchange_.improve(problem, allotment_, clock);
        work_ += exchange_.work() + problem.count;
        return fits && allotment_.feasible(problem);
    }

    Incumbent allotment_;
    Exchange exchange_;
    std::vector<std::pair<double, std::uint32_t>> sorted_;
    std::size_t work_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
