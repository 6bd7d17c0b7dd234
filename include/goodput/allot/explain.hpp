#ifndef GOODPUT_ALLOT_EXPLAIN_HPP
#define GOODPUT_ALLOT_EXPLAIN_HPP

// Why every job got what it got, and what a unit of every resource is worth.
//
// At the prices pi let the reduced value of option k be v_k - pi . a_k, and 0 for getting nothing. What
// a job wants is its option of largest value among those that fit the cluster (the cheapest of these where
// several are worth as much). If it got something of less value, then either
//
//   - the prices speak against it: what it got has the larger reduced value. The resource in the way is the
//     one that contributes most to the price of what is wanted beyond what was got; the wanted option would
//     have to be worth  pi . a_wanted + (largest reduced value of the job's other options, or of nothing);
//   - or they do not: at the prices the job would as soon have what it wants, but options are whole, and what
//     the others hold leaves too little. No worth would be the answer, only room: `no_room` names the
//     resource that is short of most, as a share of its capacity.
//
// What a unit of a resource is worth is seen in the linear relaxation with one unit more, and with one fewer,
// of the options that fit now. The price lies between the two, since the relaxation is concave.

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput {

/// No resource is in the way.
inline constexpr std::size_t no_resource = std::numeric_limits<std::size_t>::max();

/// Why a job has what it has.
enum class JobReason {
    got_wanted,  ///< nothing that fits the cluster is worth more to the job
    priced_out,  ///< what it got is better than what it wanted, at these prices
    no_room,     ///< the prices are not against it, but options are whole and too little is left
    within_gap,  ///< it would fit beside the others: the allotment is only proven to its gap, or not at all
    too_large,   ///< every option exceeds a capacity alone
    nothing_offered  ///< the job has no option
};

/// What a job wanted and why it did not get it.
struct JobExplanation {
    std::size_t job = 0;                       ///< index of the job
    JobReason reason = JobReason::got_wanted;  ///< why it has what it has
    std::size_t got = no_option;               ///< index of its option, or no_option
    /// Option of largest value that fits the cluster (no_option: getting nothing is best); too_large: the
    /// option of largest value.
    std::size_t wanted = no_option;
    /// The one in the way: see the reasons above; too_large: the capacity that `wanted` exceeds most.
    std::size_t resource = no_resource;
    /// Units of `resource` that lack for `wanted` beside what the others hold, or at all if it is too large.
    double short_of = 0;
    double pays = 0;          ///< price of what it got
    double wanted_value = 0;  ///< what `wanted` is worth
    double wanted_price = 0;  ///< and what it costs
    /// From which worth on no other option of the job is better than `wanted` at these prices. Not more than
    /// wanted_value (up to rounding) where a price is not the reason, unless a third option is better.
    double worth_needed = 0;
    /// A job that got nothing, priced out: the option nearest to being given, of largest value for its price
    /// among those that fit the cluster. It would rather have that than nothing from a worth of its price on.
    std::size_t nearest = no_option;
    double nearest_value = 0;           ///< what `nearest` is worth
    double nearest_price = 0;           ///< and what it costs
    std::size_t options_too_large = 0;  ///< how many of its options exceed a capacity alone

    /// One line for a log.
    [[nodiscard]] std::string report() const;
};

/// What a unit of a resource is worth.
struct ResourceExplanation {
    std::size_t resource = 0;  ///< index of the resource
    double price = 0;          ///< of a unit, as in the result
    double worth_of_more = 0;  ///< what the relaxation gains by one unit more
    /// What it loses by one fewer, or a unit's part of the rest where there is less than one; infinity: the
    /// jobs that must run need all that there is, or there is none.
    double loss_of_fewer = 0;
    double capacity = 0;  ///< units at present
    double idle = 0;      ///< units that no job got
    bool in_time = true;  ///< otherwise the two are not known, and given as 0 and infinity

    /// One line for a log.
    [[nodiscard]] std::string report() const;
};

/// Explanations by job and by resource.
struct Explanation {
    std::vector<JobExplanation> jobs{};            ///< by job
    std::vector<ResourceExplanation> resources{};  ///< by resource
};

/// Why `job` has what a choice gives it, at these prices. Linear in the problem's choices and the job's
/// options. A job that is none of the problem's, and a choice and prices of another problem, get
/// std::invalid_argument.
[[nodiscard]] JobExplanation explain(const AllotmentProblem& problem, std::span<const double> prices,
                                     std::span<const std::size_t> choice, std::size_t job);

/// All jobs and all resources. Solves the relaxation twice for each resource, as long as the deadline allows
/// (none if left out). Allocates. A result of another problem and one that is infeasible (see conflict.hpp)
/// get std::invalid_argument.
[[nodiscard]] Explanation explain(const AllotmentProblem& problem, const AllotResult& result,
                                  std::optional<std::chrono::nanoseconds> deadline = {});

namespace detail {
/// Index of the largest measure(r) above 0 over all resources; the first of equals.
template <class Measure>
std::size_t largest_resource(std::size_t resources, Measure measure) {
    std::size_t found = no_resource;
    double largest = 0;
    for (std::size_t r = 0; r < resources; ++r) {
        const double m = measure(r);
        if (m <= largest) continue;
        largest = m;
        found = r;
    }
    return found;
}

/// A job that has `got`, with what all jobs together take of each resource.
JobExplanation explain(const AllotmentProblem& problem, std::span<const double> prices, std::size_t job,
                       std::size_t got, std::span<const double> taken);
}  // namespace detail

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/explain.hpp"
#endif

#endif
