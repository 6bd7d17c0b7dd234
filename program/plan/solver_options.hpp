#ifndef GOODPUT_PROGRAM_PLAN_SOLVER_OPTIONS_HPP
#define GOODPUT_PROGRAM_PLAN_SOLVER_OPTIONS_HPP

// Reads from lines of `allot` and `plan` how far to prove an allotment, and how long that may take.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "goodput/allot/result.hpp"
#include "json/json_fields.hpp"

namespace cli {

/// Reads "gap", "deadline_ms", "most_states" and "memory_states" of a line. A line with a deadline and
/// without "most_states" has no limit of states: the caller has already said how long the search may take.
inline goodput::AllotOptions read_solver_options(const Field& line) {
    goodput::AllotOptions options;
    line["gap"].into(options.gap, 0);
    if (const Field deadline = line["deadline_ms"]; deadline.given()) {
        constexpr double longest_ms = 1e12;  // thirty years, which does not overflow nanoseconds
        const double milliseconds = std::min(deadline.number_at_least(0), longest_ms);
        options.deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(milliseconds * 1e6));
    }
    for (auto [name, limit] :
         {std::pair("most_states", &options.most_states), std::pair("memory_states", &options.memory_states)})
        if (const Field given = line[name]; given.given())
            *limit = static_cast<std::size_t>(given.integer(0, std::numeric_limits<std::int64_t>::max()));
    if (options.deadline && !line["most_states"].given())
        options.most_states = std::numeric_limits<std::size_t>::max();
    return options;
}

}  // namespace cli

#endif
