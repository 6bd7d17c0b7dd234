#ifndef GOODPUT_ALLOT_EXPLAIN_HPP
#define GOODPUT_ALLOT_EXPLAIN_HPP

// Explains why every job got its option, and what a unit of every resource is worth.
//
// Let pi be the prices of the resources' units. The reduced value of option k is its value less the price
// of its uses, v_k - pi . a_k. That of getting nothing is 0. A job wants its option of largest value among
// those that fit the cluster (if several have that value, the cheapest one). If the job got something of
// less value, then one of three things holds:
//
//   - The prices speak against the wanted option: what the job got has the larger reduced value. The
//     resource in the way is the one that contributes most to the difference between the price of the
//     wanted option and the price of what the job got. To be chosen, the wanted option would have to be
//     worth its price, pi . a_wanted, plus the largest reduced value of the job's other options, or of
//     nothing.
//   - The prices do not speak against it, but options are whole, and the other jobs leave too little room.
//     A higher value would not help. The resource in the way is the one that lacks most, as a share of its
//     capacity.
//   - The wanted option would fit. Then the allotment is proven only to its gap, or not at all: another
//     allotment may be better.
//
// The worth of a unit of a resource is measured in the linear relaxation of the options that fit now: with
// one unit more, and with one unit fewer. The price lies between the two, because the relaxation's optimum
// is a concave function of the capacity.

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput::inline v0_1 {

/// Index that means "no resource": none is in the way.
inline constexpr std::size_t no_resource = std::numeric_limits<std::size_t>::max();

/// The reason why a job got what it got.
enum class JobReason {
    got_wanted,  ///< no option that fits the cluster is worth more to the job
    priced_out,  ///< at these prices, what the job got is better than what it wanted
    no_room,     ///< the prices do not speak against the wanted option, but too little room is left for it
    within_gap,  ///< the wanted option would fit: the allotment is proven only to its gap, or not at all
    too_large,   ///< every option alone exceeds a capacity
    nothing_offered  ///< the job has no option
};

/// What a job wanted, and why it did not get it.
struct JobExplanation {
    std::size_t job = 0;                       ///< index of the job
    JobReason reason = JobReason::got_wanted;  ///< why it got what it got
    std::size_t got = no_option;               ///< index of the option that it got, or no_option
    /// Option of largest value that fits the cluster; no_option if getting nothing is best. If the reason
    /// is too_large: the option of largest value.
    std::size_t wanted = no_option;
    /// Resource in the way (see the first two cases above). If the reason is too_large: the one whose
    /// capacity `wanted` exceeds most.
    std::size_t resource = no_resource;
    /// Units of `resource` that `wanted` needs beyond those that other jobs leave. If the reason is
    /// too_large: units beyond the capacity.
    double short_of = 0;
    double pays = 0;          ///< price of the option that it got
    double wanted_value = 0;  ///< value of `wanted`
    double wanted_price = 0;  ///< price of `wanted`
    /// Value from which on `wanted` is at least as good as every other option of the job at these prices.
    /// If a price is not the reason, this is at most wanted_value (up to rounding), unless a third option
    /// is better.
    double worth_needed = 0;
    /// For a job that the prices leave without an option: the option that comes closest to being chosen.
    /// Among the options that fit the cluster, it has the largest value relative to its price. If that
    /// option were worth more than its price, the job would take it rather than nothing.
    std::size_t nearest = no_option;
    double nearest_value = 0;           ///< value of `nearest`
    double nearest_price = 0;           ///< price of `nearest`
    std::size_t options_too_large = 0;  ///< number of its options that alone exceed a capacity

    /// Returns one line for a log.
    [[nodiscard]] std::string report() const;
};

/// The worth of a unit of one resource.
struct ResourceExplanation {
    std::size_t resource = 0;  ///< index of the resource
    double price = 0;          ///< price of a unit, as in the result
    double worth_of_more = 0;  ///< what the relaxation gains from one more unit
    /// What the relaxation loses with one unit fewer. If the capacity is below one unit: the loss without
    /// any capacity, per unit. Infinity if the jobs that must run need the whole capacity, or if the
    /// capacity is 0.
    double loss_of_fewer = 0;
    double capacity = 0;  ///< units of capacity
    double idle = 0;      ///< units that no job got
    bool in_time = true;  ///< false: time ran out, worth_of_more is given as 0 and loss_of_fewer as infinity

    /// Returns one line for a log.
    [[nodiscard]] std::string report() const;
};

/// The explanations of all jobs and resources.
struct Explanation {
    std::vector<JobExplanation> jobs{};            ///< explanation of each job
    std::vector<ResourceExplanation> resources{};  ///< explanation of each resource
};

/// Explains why `job` has the option that `choice` gives it, at these prices. Takes time linear in the
/// number of jobs and in the job's options. Throws std::invalid_argument for a job that the problem does
/// not have, and for a choice or prices of another problem.
[[nodiscard]] JobExplanation explain(const AllotmentProblem& problem, std::span<const double> prices,
                                     std::span<const std::size_t> choice, std::size_t job);

/// Explains all jobs and all resources. Solves the relaxation twice for each resource, as long as the
/// deadline allows (by default there is none). Allocates memory. Throws std::invalid_argument for a result
/// of another problem and for an infeasible result (see conflict.hpp).
[[nodiscard]] Explanation explain(const AllotmentProblem& problem, const AllotResult& result,
                                  std::optional<std::chrono::nanoseconds> deadline = {});

namespace detail {
/// Returns the index of the resource with the largest measure(r) above 0, the first if several are equal;
/// no_resource if no measure is above 0.
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

/// Explains a job that got `got`. `taken`: units of each resource that all jobs together use.
JobExplanation explain(const AllotmentProblem& problem, std::span<const double> prices, std::size_t job,
                       std::size_t got, std::span<const double> taken);
}  // namespace detail

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/explain.hpp"
#endif

#endif
