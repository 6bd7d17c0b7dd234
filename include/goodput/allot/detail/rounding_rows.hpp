#ifndef GOODPUT_ALLOT_DETAIL_ROUNDING_ROWS_HPP
#define GOODPUT_ALLOT_DETAIL_ROUNDING_ROWS_HPP

// Makes rows by mixed-integer rounding. Let x_k be the number of jobs that take option k, and s_r what is
// left of the capacity of row r (its slack). Multiply each row, as an equation with its slack, by any
// number lambda_r. Multiply the equations that give the number of equal jobs of each group by any numbers,
// too. The sum of all these is again an equation, in which we call the coefficients alpha_k and the right
// side beta:
//
//     sum_k alpha_k x_k + sum_r lambda_r s_r = beta
//
// With f = beta - floor(beta) and F(a) = floor(a) + max(0, a - floor(a) - f) / (1 - f), every allotment
// satisfies
//
//     sum_k F(alpha_k) x_k + sum_r min(0, lambda_r) / (1 - f) s_r  <=  floor(beta)
//
// (Nemhauser and Wolsey, Mathematical Programming 46, 1990). If a slack is a whole number, its coefficient
// is F(lambda_r) instead. The multipliers are those of a row of the simplex method in which an option's
// amount x_k is not whole, because then the simplex method's solution violates the new row (Gomory 1960).
// The slacks are then replaced by capacity less uses. The least coefficient of each group is subtracted
// from all its coefficients, which changes nothing, because the amounts of a group have a fixed sum. So all
// coefficients are at least 0 again. The capacity is raised by the largest error that floating-point
// rounding may hide.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/dual_simplex.hpp"

namespace goodput::inline v0_1::detail {

/// Makes rows by rounding. Keeps its memory.
class RoundingRows {
public:
    /// Notes for which resources the number of units left is always whole.
    void begin(const CompactProblem& problem) {
        whole_.assign(problem.resources(), 1);
        for (std::size_t r = 0; r < whole_.size(); ++r)
            if (problem.capacity[r] != std::floor(problem.capacity[r]) || problem.capacity[r] > 1e9)
                whole_[r] = 0;
        for (const ResourceUse& use : problem.uses)
            if (use.units != std::floor(use.units)) whole_[use.resource] = 0;
    }

    /// Looks for a row that these amounts violate, with the multipliers of row `row` of the simplex method.
    /// Returns whether row() now holds one.
    bool find(const CompactProblem& problem, const FurtherRows& further, const DualSimplex& simplex,
              std::size_t row, std::span<const double> amounts) {
        whole_.resize(problem.resources());
        for (std::size_t i = 0; i < further.size(); ++i) whole_.push_back(further[i].whole ? 1 : 0);
        if (!simplex.row_of_split(row, whole_, multipliers_)) return false;
        add_up(problem, further);
        const std::span<const std::uint32_t> keys = simplex.keys();
        double beta = 0;
        for (std::size_t r = 0; r < problem.resources(); ++r) beta += multipliers_[r] * problem.capacity[r];
        for (std::size_t i = 0; i < further.size(); ++i)
            beta += multipliers_[problem.resources() + i] * further[i].capacity;
        for (std::size_t g = 0; g < problem.groups(); ++g) {
            const double of_key = sum_[keys[g]];
            beta -= of_key * problem.copies(g);
            for (std::uint32_t k = problem.first[g]; k < problem.first[g + 1]; ++k) sum_[k] -= of_key;
        }
        const double part = beta - std::floor(beta);
        if (part < 0.02 || part > 0.98) return false;
        const auto rounded = [&](double number) {
            const double floor = std::floor(number);
            return floor + std::max(0.0, number - floor - part) / (1 - part);
        };
        terms_.clear();
        row_.capacity = std::floor(beta);
        double hidden = 0;  // by how much a capacity may be exceeded
        for (std::uint32_t k = 0; k < problem.count; ++k) sum_[k] = rounded(sum_[k]);
        for (std::size_t r = 0; r < multipliers_.size(); ++r) {
            double& its = multipliers_[r];
            const double before = std::abs(its);
            its = whole_[r] != 0 ? rounded(its) : std::min(its, 0.0) / (1 - part);
            if (r < problem.resources())
                hidden += (before + std::abs(its)) / (1 - part) * 2 * problem.tolerance[r];
            row_.capacity -= its * (r < problem.resources() ? problem.capacity[r]
                                                            : further[r - problem.resources()].capacity);
        }
        for (std::uint32_t k = 0; k < problem.count; ++k)
            for (const ResourceUse& use : problem.uses_of(k))
                sum_[k] -= multipliers_[use.resource] * use.units;
        for (std::size_t i = 0; i < further.size(); ++i)
            for (const auto& term : further[i].terms)
                sum_[term.option] -= multipliers_[problem.resources() + i] * term.units;
        row_.capacity += hidden;
        return finish(problem, amounts);
    }
    [[nodiscard]] bool whole(std::size_t resource) const { return whole_[resource] != 0; }
    /// Returns the row, which is valid until the next find().
    [[nodiscard]] const FurtherRow& row() const { return row_; }

private:
    /// Fills sum_ by option: the value of its uses at the multipliers.
    void add_up(const CompactProblem& problem, const FurtherRows& further) {
        sum_.assign(problem.count, 0);
        for (std::uint32_t k = 0; k < problem.count; ++k)
            for (const ResourceUse& use : problem.uses_of(k))
                sum_[k] += multipliers_[use.resource] * use.units;
        for (std::size_t i = 0; i < further.size(); ++i)
            for (const auto& term : further[i].terms)
                sum_[term.option] += multipliers_[problem.resources() + i] * term.units;
    }

    /// Makes coefficients of at least 0 from sum_. Returns whether the amounts violate the row by enough,
    /// and whether its numbers are neither too large nor too small to be trusted.
    bool finish(const CompactProblem& problem, std::span<const double> amounts) {
        double largest = 0, taken = 0, length = 0, size = std::abs(row_.capacity);
        for (std::size_t g = 0; g < problem.groups(); ++g) {
            double least = std::numeric_limits<double>::infinity();
            for (std::uint32_t k = problem.first[g]; k < problem.first[g + 1]; ++k)
                least = std::min(least, sum_[k]);
            size += std::abs(least) * problem.copies(g);
            row_.capacity -= least * problem.copies(g);
            for (std::uint32_t k = problem.first[g]; k < problem.first[g + 1]; ++k) {
                const double units = sum_[k] - least;
                // Leaving the term out makes the row weaker, so it still holds.
                if (units < least_units) continue;
                terms_.push_back({k, units});
                taken += units * amounts[k];
                length += units * units;
                largest = std::max(largest, units);
            }
        }
        row_.capacity += 1e-9 * (size + largest);
        row_.whole = false;
        row_.terms = terms_;
        // How much the amounts violate the row, relative to the length of its coefficients.
        const double depth = (taken - row_.capacity) / std::sqrt(length);
        return row_.capacity > 0 && largest < 1e6 && largest > 1e-3 && size < 1e6 * largest &&
               depth > least_depth;
    }

    static constexpr double least_depth = 1e-5, least_units = 1e-7;
    std::vector<std::uint8_t> whole_;        // by row
    std::vector<double> multipliers_, sum_;  // by row; by option
    FurtherRow row_;
    std::vector<FurtherRow::Term> terms_;  // terms of row_
};

}  // namespace goodput::inline v0_1::detail

#endif
