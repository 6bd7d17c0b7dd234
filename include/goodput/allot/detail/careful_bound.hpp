#ifndef GOODPUT_ALLOT_DETAIL_CAREFUL_BOUND_HPP
#define GOODPUT_ALLOT_DETAIL_CAREFUL_BOUND_HPP

// Computes the bound that prices give if they are so large that the usual sum would lose the values to
// rounding. Jobs that must run can drive prices to any height. A group is a number of equal jobs, its
// copies.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"

namespace goodput::inline v0_1::detail {

class CarefulBound {
public:
    /// Makes room for problems with this many resources.
    void reserve(std::size_t resources) {
        left_.reserve(resources);
        lost_.reserve(resources);
    }

    /// Returns a bound: no allotment is worth more. `choice`: each group's best option at the prices, up to
    /// rounding. Computes with the units left of each capacity instead of the prices paid, and adds
    /// everything that rounding may hide.
    double operator()(const CompactProblem& problem, std::span<const double> prices,
                      std::span<const std::uint32_t> choice) {
        left_.assign(problem.capacity.begin(), problem.capacity.end());
        lost_.assign(problem.resources(), 0);
        double value = 0, hidden = 0;
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            const double copies = problem.copies(group);
            value += copies * problem.value[choice[group]];
            hidden += copies * hidden_by_others(problem, prices, group, choice[group]);
            for (const ResourceUse& use : problem.uses_of(choice[group])) take(use, copies);
        }
        double bound = value + hidden;
        for (std::size_t r = 0; r < problem.resources(); ++r) {
            const double unused = prices[r] * left_[r];
            bound += unused + 4 * epsilon * std::abs(unused) + prices[r] * lost_[r];
        }
        return bound;
    }

private:
    static constexpr double epsilon = std::numeric_limits<double>::epsilon();

    /// Returns by how much another option may really be better than the chosen one.
    static double hidden_by_others(const CompactProblem& problem, std::span<const double> prices,
                                   std::size_t group, std::uint32_t chosen) {
        const double best = problem.reduced_value(chosen, prices);
        double hidden = 0;
        for (std::uint32_t k = problem.first[group]; k < problem.end_hull[group]; ++k) {
            if (k == chosen) continue;
            const double reduced = problem.reduced_value(k, prices);
            const double unsure = rounding_of(problem, k, reduced) + rounding_of(problem, chosen, best);
            if (reduced > best - unsure) hidden = std::max(hidden, unsure);
        }
        return hidden;
    }
    static double rounding_of(const CompactProblem& problem, std::uint32_t option, double reduced) {
        const auto uses = static_cast<double>(problem.uses_of(option).size());
        return (2 + uses) * epsilon * (2 * std::abs(problem.value[option]) + std::abs(reduced));
    }

    /// Subtracts `copies` copies of a use from what is left, and notes what rounding loses.
    void take(const ResourceUse& use, double copies) {
        const double units = copies * use.units, before = left_[use.resource], after = before - units;
        const double taken = before - after;
        const double rounded = (before - (after + taken)) + (taken - units);
        lost_[use.resource] += std::abs(rounded) + std::abs(std::fma(copies, use.units, -units));
        left_[use.resource] = after;
    }

    std::vector<double> left_, lost_;  // by resource
};

}  // namespace goodput::inline v0_1::detail

#endif
