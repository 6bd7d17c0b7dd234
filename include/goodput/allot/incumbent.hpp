#ifndef GOODPUT_ALLOT_INCUMBENT_HPP
#define GOODPUT_ALLOT_INCUMBENT_HPP

// The best allotment so far: a choice of options, its value and what it leaves of each capacity.

#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"

namespace goodput {

namespace detail {

/// A choice of options with its value and what it leaves of each capacity.
struct Incumbent {
    std::vector<std::uint32_t> choice;  ///< by job: option of the compact problem, or none
    std::vector<double> left;
    double value = -std::numeric_limits<double>::infinity();

    void clear(const CompactProblem& problem) {
        choice.assign(problem.jobs(), none);
        left = problem.capacity;
        value = 0;
    }
    /// Whether `option` fits when `instead` (or nothing) is given back.
    [[nodiscard]] bool fits(const CompactProblem& problem, std::uint32_t option,
                            std::uint32_t instead = none) const {
        for (const Use& use : problem.uses_of(option)) {
            double room = left[use.resource] + capacity_tolerance(problem.capacity[use.resource]);
            if (instead != none)
                for (const Use& back : problem.uses_of(instead))
                    if (back.resource == use.resource) room += back.units;
            if (use.units > room) return false;
        }
        return true;
    }
    void set(const CompactProblem& problem, std::size_t job, std::uint32_t option) {
        if (choice[job] != none) {
            value -= problem.value[choice[job]];
            for (const Use& use : problem.uses_of(choice[job])) left[use.resource] += use.units;
        }
        choice[job] = option;
        if (option == none) return;
        value += problem.value[option];
        for (const Use& use : problem.uses_of(option)) left[use.resource] -= use.units;
    }
    /// Adds the values up anew, in job order: the sum must not depend on the way that led here.
    void recount(const CompactProblem& problem) {
        value = 0;
        for (const std::uint32_t option : choice)
            if (option != none) value += problem.value[option];
    }
};

}  // namespace detail

}  // namespace goodput

#endif
