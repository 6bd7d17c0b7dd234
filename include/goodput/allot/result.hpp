#ifndef GOODPUT_ALLOT_RESULT_HPP
#define GOODPUT_ALLOT_RESULT_HPP

// What the allotment solver is asked for, and its answer with the certificate.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// What the allotment solver is asked for.
struct AllotOptions {
    /// Proven when bound - objective <= gap * |bound|, whatever the unit of the values.
    double gap = 1e-4;
    /// Proven, too, when bound - objective <= this, in the unit of the values.
    double absolute_gap = 0;
    /// Time after which the best allotment so far is returned; none: search until proven or one of the limits
    /// below is reached. What is done in any case is linear in the problem: reading it, one look at all
    /// options at some prices, and a first allotment, in all 30 to 70 ns an option. What else is under way is
    /// given up within some tens of microseconds (sorting: a few per cent of the time so far), after which
    /// the first allotment may still have to be made.
    std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
    /// False: the answer depends on the problem alone. True: the search for prices starts from those of the
    /// last problem solved, if that had as many resources. That takes somewhat less time, and the answer may
    /// be another one within the gap.
    bool warm_start = false;
    /// Most states of the search (AllotResult::nodes): bounds its work, with the same answer on every
    /// machine. With R >= 8 resources, whose states take longer, it is most_states / (R / 4). The default
    /// takes a second or two. The tree (detail/price_tree.hpp) and a ProvingAllotter (goodput/proving.hpp)
    /// count their work as states that take as long. They finish the node, or the pass over the jobs, that
    /// they are in, so AllotResult::nodes may end above this by that much.
    std::size_t most_states = std::size_t{1} << 23;
    /// Most states of the search kept at once, half of them those that wait to be searched. With R resources
    /// (counted as 4 if they are fewer) their memory stays below memory_states * (8 R + 64) bytes, and half
    /// of that more for a moment while it grows: by default 400 MB for up to 4 resources; a ProvingAllotter
    /// keeps at most 40 bytes for each of memory_states. Besides: some 100 bytes an option and 16 a use of
    /// the problem; 4 bytes a job and price pass, at most 256 MB; 8 R bytes for every option of every job
    /// that is left in the core.
    std::size_t memory_states = std::size_t{1} << 22;

    /// By how much an objective may lie below this bound and be good enough.
    [[nodiscard]] double enough(double bound) const { return std::max(gap * std::abs(bound), absolute_gap); }
    /// Refuses gaps below 0 and such as are no numbers (std::invalid_argument).
    void validate() const {
        require_at_least("allot", "gap", gap, 0);
        require_at_least("allot", "absolute_gap", absolute_gap, 0);
    }
};

/// What is proven of an allotment.
enum class AllotStatus {
    optimal,     ///< proven to the gap asked for
    feasible,    ///< respects all constraints; see bound for how far from the best it can be at most
    infeasible,  ///< the jobs that must run do not fit together, which is proven; choice holds nothing
    unknown      ///< no allotment was found before the search was cut off (see stopped), and nothing is
                 ///< proven but the bound; choice holds nothing, the objective is 0
};

/// Whether there is an allotment that keeps all constraints.
[[nodiscard]] constexpr bool found_allotment(AllotStatus status) {
    return status == AllotStatus::optimal || status == AllotStatus::feasible;
}

/// Why a search ended.
enum class StopReason {
    proven,    ///< the gap is proven
    deadline,  ///< AllotOptions::deadline has passed
    memory,    ///< as many states are kept as AllotOptions::memory_states allows
    states     ///< as many states have been looked at as AllotOptions::most_states allows
};

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
    /// Where a deadline cut the search for prices off they are the best met so far. These are no such
    /// numbers: even a resource of which units stay idle that nobody could use may have a price above 0.
    /// What holds of them is that they prove a bound (D(pi) in detail/prices.hpp), if a weaker one.
    std::vector<double> prices{};
    std::size_t passes = 0;  ///< evaluations of all options that the prices took
    std::size_t nodes = 0;   ///< states that the search looked at, or what took as long; 0: none was needed

    /// By how much a better allotment could be worth more, at most.
    [[nodiscard]] double gap() const { return bound - objective; }

    /// One line for a log.
    [[nodiscard]] std::string report() const {
        static constexpr const char* statuses[] = {"optimal", "feasible", "infeasible", "unknown"};
        static constexpr const char* stops[] = {"proven", "deadline reached", "memory limit reached",
                                                "state limit reached"};
        return std::string(statuses[static_cast<int>(status)]) + " (" + stops[static_cast<int>(stopped)] +
               "): objective " + rounded_text_of(objective) + ", bound " + rounded_text_of(bound) + ", " +
               text_of(passes) + " price passes, " + text_of(nodes) + " search states";
    }
};

/// One option's part of a job in the linear relaxation.
struct OptionFraction {
    std::size_t option = 0;  ///< index into the job's options
    double fraction = 0;     ///< share of the job that takes it, above 0 and at most 1
};

/// The exact optimum of the linear relaxation: jobs may be split.
struct RelaxedAllotment {
    std::vector<std::vector<OptionFraction>> choice{};  ///< by job; fractions of a job sum to at most 1
    double objective = 0;                               ///< value of the mixture
    double bound = 0;                                   ///< no mixture is worth more
    /// optimal: the bound is the objective but for rounding; feasible: cut off, see stopped; infeasible: jobs
    /// that must run do not fit even in parts; unknown: no mixture in which they do was found before it was
    /// cut off.
    AllotStatus status = AllotStatus::optimal;
    /// deadline; or states: as much work on the prices as is ever done (it takes some hundred resources), or
    /// as exact as numbers so far apart can be counted.
    StopReason stopped = StopReason::proven;
    std::vector<double> prices{};  ///< by resource, see AllotResult::prices
    std::size_t passes = 0;        ///< evaluations of all options that the prices took
};

}  // namespace goodput

#endif
