#ifndef GOODPUT_ALLOT_RESULT_HPP
#define GOODPUT_ALLOT_RESULT_HPP

// What the allotment solver is asked for, and its answer with the certificate.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// What the allotment solver is asked for.
struct AllotOptions {
    /// Proven when bound - objective <= gap * max(1, |bound|).
    double gap = 1e-4;
    /// Time after which the best allotment so far is returned; none: search until proven or out of memory.
    std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
    /// Start from the prices of the last problem solved, if that had as many resources.
    bool warm_start = true;
    /// Most states of the search kept at once (each some tens of bytes): bounds the memory.
    std::size_t memory_states = std::size_t{1} << 22;
};

/// What is proven of an allotment.
enum class AllotStatus {
    optimal,    ///< proven to the gap asked for
    feasible,   ///< respects all constraints; see bound for how far from the best it can be at most
    infeasible  ///< the jobs that must run do not fit together (proven, unless stopped says otherwise);
                ///< choice holds nothing
};

/// Why a search ended: the gap is proven, the deadline has passed, or the states that may be kept are used
/// up.
enum class StopReason { proven, deadline, memory };

/// The best allotment found, with its certificate.
struct AllotResult {
    std::vector<std::size_t> choice{};  ///< by job: index of its option, or no_option
    double objective = 0;               ///< sum of the chosen values
    double bound = 0;  ///< no allotment is worth more (up to rounding, 1e-12 relative to all values)
    AllotStatus status = AllotStatus::optimal;  ///< what is proven of it
    StopReason stopped = StopReason::proven;    ///< why the search ended
    /// By resource: what a unit is worth. A multiplier of the linear relaxation, which is a number between
    /// the worth of one more unit and the loss of one fewer, both of the relaxation (the two slopes of its
    /// optimum over the capacity, see explain_resource.hpp); not of the allotment, whose options are whole.
    std::vector<double> prices{};
    std::size_t passes = 0;  ///< evaluations of all options that the prices took
    std::size_t nodes = 0;   ///< states of the search, 0 where none was needed

    /// By how much a better allotment could be worth more, at most.
    [[nodiscard]] double gap() const { return bound - objective; }

    /// One line for a log.
    [[nodiscard]] std::string report() const {
        static constexpr const char* statuses[] = {"optimal", "feasible", "infeasible"};
        static constexpr const char* stops[] = {"proven", "deadline reached", "memory limit reached"};
        return std::string(statuses[static_cast<int>(status)]) + " (" + stops[static_cast<int>(stopped)] +
               "): objective " + rounded_text_of(objective) + ", bound " + rounded_text_of(bound) + ", " +
               text_of(passes) + " price passes, " + text_of(nodes) + " search states";
    }
};

}  // namespace goodput

#endif
