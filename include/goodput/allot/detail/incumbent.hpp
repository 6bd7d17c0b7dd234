#ifndef GOODPUT_ALLOT_DETAIL_INCUMBENT_HPP
#define GOODPUT_ALLOT_DETAIL_INCUMBENT_HPP

// An allotment, such as the best one so far (the incumbent): an option for every job, the sum of their
// values, and what they leave of each capacity. Equal jobs are copies of one group (compact.hpp).

#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"

namespace goodput::inline v0_1::detail {

struct Incumbent {
    /// Option of each copy in the compact problem; `none` if not decided yet.
    std::vector<std::uint32_t> choice;
    std::vector<double> left;
    double value = -std::numeric_limits<double>::infinity();

    void clear(const CompactProblem& problem) {
        choice.assign(problem.job.size(), none);
        left.assign(problem.capacity.begin(), problem.capacity.end());
        value = 0;
    }
    /// Returns whether `option` fits once `instead` (`none`: nothing) is given back.
    [[nodiscard]] bool fits(const CompactProblem& problem, std::uint32_t option,
                            std::uint32_t instead = none) const {
        return problem.each_change(instead, option, [&](std::size_t r, double units) {
            return units <= 0 || units <= left[r] + problem.tolerance[r];
        });
    }
    [[nodiscard]] bool feasible(const CompactProblem& problem) const { return problem.allows(left); }
    void set(const CompactProblem& problem, std::size_t copy, std::uint32_t option) {
        if (choice[copy] != none) {
            value -= problem.value[choice[copy]];
            for (const ResourceUse& use : problem.uses_of(choice[copy])) left[use.resource] += use.units;
        }
        choice[copy] = option;
        if (option == none) return;
        value += problem.value[option];
        for (const ResourceUse& use : problem.uses_of(option)) left[use.resource] -= use.units;
    }
    /// Adds the values up again in order, because the sum must not depend on the way the allotment was
    /// found.
    void recount(const CompactProblem& problem) {
        value = 0;
        for (const std::uint32_t option : choice)
            if (option != none) value += problem.value[option];
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
