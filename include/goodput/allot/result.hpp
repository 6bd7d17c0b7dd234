#ifndef GOODPUT_ALLOT_RESULT_HPP
#define GOODPUT_ALLOT_RESULT_HPP

// The options of the allotment solver, and its answer with the certificate. The objective is the sum of the
// chosen values. The bound is a number that the objective of no allotment exceeds.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// The settings of the allotment solver.
struct AllotOptions {
    /// Relative gap: the result counts as proven if bound - objective <= gap * |bound|.
    double gap = 1e-4;
    /// Absolute gap in the unit of the values: the result also counts as proven if bound - objective <=
    /// absolute_gap.
    double absolute_gap = 0;
    /// Time after which the solver returns the best allotment so far. Without a deadline it searches until
    /// the result is proven or one of the limits below is reached. Some work is done even if the deadline
    /// has passed: reading the problem, one look at all options at some prices, and a first allotment. The
    /// time for this grows linearly with the size of the problem, and is 30 to 70 ns per option in all. The
    /// solver stops all other work within some tens of microseconds of the deadline (a sort may take a few
    /// per cent of the time so far), but may still have to make the first allotment then.
    std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
    /// False: the answer depends on the problem alone. True: the search for prices starts from the prices
    /// of the last problem solved, if that had the same number of resources. This saves some time, and the
    /// answer may differ within the gap.
    bool warm_start = false;
    /// Largest number of states that the search examines (AllotResult::nodes). A state is a partial
    /// allotment. This limits the work in such a way that the answer is the same on every machine. The
    /// default takes a second or two. States of R >= 8 resources take longer, so the limit is then
    /// most_states / (R / 4), with R / 4 rounded down. The tree (detail/price_tree.hpp) and a
    /// ProvingAllotter (goodput/proving.hpp) count their work as the number of states that would take as
    /// long. They finish their present node, or their present pass over the jobs, so AllotResult::nodes may
    /// exceed this limit by that much.
    std::size_t most_states = std::size_t{1} << 23;
    /// Largest number of states that the search keeps at once. Up to half of them may be states that wait
    /// to be searched. With R resources (at least 4 in this formula) the states take less than
    /// memory_states * (8 R + 64) bytes, and half as much again for a moment while the memory grows. That
    /// is 400 MB by default for up to 4 resources. A ProvingAllotter keeps at most 40 bytes for each of
    /// memory_states. The rest of the solver takes about 100 bytes per option and 16 per use of the
    /// problem, 4 bytes per job and price pass (at most 256 MB), and 8 R bytes for every option of every
    /// job that the prices leave undecided.
    std::size_t memory_states = std::size_t{1} << 22;

    /// Returns by how much an objective may lie below `bound` and still count as proven.
    [[nodiscard]] double enough(double bound) const { return std::max(gap * std::abs(bound), absolute_gap); }
    /// Refuses gaps that are negative or not a number (std::invalid_argument).
    void validate() const {
        require_at_least("allot", "gap", gap, 0);
        require_at_least("allot", "absolute_gap", absolute_gap, 0);
    }
};

/// What is proven about an allotment.
enum class AllotStatus {
    optimal,     ///< proven to the gap asked for
    feasible,    ///< keeps all constraints; `bound` limits how far it is from the best
    infeasible,  ///< proven: the jobs that must run do not fit together; `choice` is empty
    unknown      ///< the search was cut off (see `stopped`) before it found an allotment; only the
                 ///< bound is proven, `choice` is empty and the objective is 0
};

/// Returns the status as a word.
[[nodiscard]] constexpr std::string_view name_of(AllotStatus status) {
    constexpr std::string_view names[] = {"optimal", "feasible", "infeasible", "unknown"};
    return names[static_cast<int>(status)];
}

/// Returns whether a result of this status has an allotment that keeps all constraints.
[[nodiscard]] constexpr bool found_allotment(AllotStatus status) {
    return status == AllotStatus::optimal || status == AllotStatus::feasible;
}

/// The reason why a search ended.
enum class StopReason {
    proven,    ///< the gap is proven
    deadline,  ///< AllotOptions::deadline has passed
    memory,    ///< the search keeps as many states as AllotOptions::memory_states allows
    states     ///< the search has looked at as many states as AllotOptions::most_states allows
};

/// The best allotment found, with its certificate.
struct AllotResult {
    std::vector<std::size_t> choice{};  ///< index of each job's option, or no_option
    double objective = 0;               ///< sum of the chosen values
    double bound = 0;  ///< no allotment is worth more (up to rounding, 1e-12 of the sum of all values)
    AllotStatus status = AllotStatus::optimal;  ///< what is proven about the allotment
    StopReason stopped = StopReason::proven;    ///< why the search ended
    /// Price of a unit of each resource: a multiplier of the linear relaxation. The price lies between two
    /// numbers: what the relaxation gains from one more unit, and what it loses with one unit fewer (see
    /// explain.hpp). The allotment's own gain can differ, because its options are whole. If a deadline cut
    /// off the search for prices, these are the best prices met so far, which need not lie in this range.
    /// Even a resource with idle units that no job could use may then have a price above 0. Such prices
    /// still prove a bound (D(pi) in detail/prices.hpp), if a weaker one. With whole options, k more units
    /// add at most k * price + (optimum of the relaxation - objective), unless an option begins to fit.
    std::vector<double> prices{};
    std::size_t passes = 0;  ///< number of evaluations of all options in the search for prices
    /// States that the search looked at, or work that took as long; 0 if no search was needed.
    std::size_t nodes = 0;

    /// Returns how much a better allotment could exceed the objective at most.
    [[nodiscard]] double gap() const { return bound - objective; }

    /// Returns one line for a log.
    [[nodiscard]] std::string report() const {
        static constexpr const char* stops[] = {"proven", "deadline reached", "memory limit reached",
                                                "state limit reached"};
        return std::string(name_of(status)) + " (" + stops[static_cast<int>(stopped)] + "): objective " +
               rounded_text_of(objective) + ", bound " + rounded_text_of(bound) + ", " + text_of(passes) +
               " price passes, " + text_of(nodes) + " search states";
    }
};

/// One option's share of a job in the linear relaxation.
struct OptionFraction {
    std::size_t option = 0;  ///< index into the job's options
    double fraction = 0;     ///< share of the job that takes the option, above 0 and at most 1
};

/// The exact optimum of the linear relaxation, which may split a job between several options. The shares of
/// all jobs together are called a mixture.
struct RelaxedAllotment {
    std::vector<std::vector<OptionFraction>> choice{};  ///< fractions of each job, which sum to at most 1
    double objective = 0;                               ///< value of the mixture
    double bound = 0;                                   ///< no mixture is worth more
    /// optimal: the bound equals the objective up to rounding. feasible: the search was cut off (see
    /// `stopped`). infeasible: the jobs that must run do not fit even in parts. unknown: the search was cut
    /// off before it found a mixture in which these jobs fit.
    AllotStatus status = AllotStatus::optimal;
    /// `deadline`, or `states`. `states` means that the search for prices reached its own limit of work
    /// (only a problem with about a hundred resources or more gets there), or that the numbers differ too
    /// much in size for the precision of a double.
    StopReason stopped = StopReason::proven;
    std::vector<double> prices{};  ///< price of a unit of each resource, see AllotResult::prices
    std::size_t passes = 0;        ///< number of evaluations of all options in the search for prices
};

}  // namespace goodput::inline v0_1

#endif
