#ifndef GOODPUT_TESTS_SUPPORT_ALLOT_ORACLE_HPP
#define GOODPUT_TESTS_SUPPORT_ALLOT_ORACLE_HPP

// Computes the value of an allotment, and whether it is allowed, independently of the library.

#include <cmath>
#include <limits>
#include <vector>

#include "goodput/allot/problem.hpp"

namespace support {

/// Returns the value of a choice, or NaN if the choice breaks a constraint.
inline double value_of(const goodput::AllotmentProblem& problem, const std::vector<std::size_t>& choice) {
    constexpr double broken = std::numeric_limits<double>::quiet_NaN();
    if (choice.size() != problem.jobs()) return broken;
    std::vector<double> left = problem.capacity;
    double value = 0;
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        if (choice[job] == goodput::no_option) {
            if (problem.must(job)) return broken;
            continue;
        }
        if (choice[job] >= problem.options_of(job)) return broken;
        value += problem.value(job, choice[job]);
        for (const goodput::ResourceUse& use : problem.uses(job, choice[job]))
            left[use.resource] -= use.units;
    }
    for (std::size_t r = 0; r < left.size(); ++r)
        if (left[r] < -1e-9 * problem.capacity[r]) return broken;
    return value;
}

}  // namespace support

#endif
