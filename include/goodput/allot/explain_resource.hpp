#ifndef GOODPUT_ALLOT_EXPLAIN_RESOURCE_HPP
#define GOODPUT_ALLOT_EXPLAIN_RESOURCE_HPP

// What a resource is worth, and for how many units.
//
// The linear relaxation's optimum LP(c), as a function of the capacity c of one resource, is
// concave and piecewise linear; its slope is the price, which is a non-increasing step function of c. At the
// present capacity C the line L(c) = D(pi) + pi_r (c - C) lies on or above LP everywhere, and the price holds
// as long as they touch. The end is found by Newton's method on the pieces: the line through LP(c) with the
// price at c as slope is intersected with L, and the intersection is the next c. Each step is one solution of
// the relaxation, and the product of the remaining distance in value and in slope falls at least by a factor
// of four; a few steps in practice. The end is exact, because it is an intersection of two of LP's lines.
//
// Where C is itself a point at which the price changes, any price between the left and the right slope is a
// multiplier, and the solver reports one of them. The same search gives the two slopes: where it comes down
// to C, the last piece that it saw begins there. They are what one more unit is worth and what one fewer
// loses, in the relaxation, of the options that fit now. The range is that of the price reported: its closure
// holds C, ends there if the price is one of the two slopes, and is C alone if it lies between them. After a
// deadline that cut the search for prices off it is C alone, too.
//
// Which options fit changes with the capacity. One that is too large now and would be wanted at these prices
// ends the range where it begins to fit; one that is wanted ends it where it no longer fits. There the price
// may change (`RangeEnd::options`); elsewhere it does (`RangeEnd::price`). Where the caller's time is up
// nothing is said but the price (`RangeEnd::deadline`).

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput {

/// What ends the range over which a price holds.
enum class RangeEnd {
    unlimited,  ///< none: the price stays 0 (up to rounding) however far capacity grows
    price,      ///< beyond it, the price is another
    options,    ///< beyond it, other options fit the cluster: the price may be another
    capacity,   ///< beyond it there is nothing: capacity 0, or too little for the jobs that must run
    deadline    ///< not known, because time was up; the slopes are then given as 0 and infinity
};

/// What a unit of a resource is worth, and for how many units.
struct ResourceExplanation {
    std::size_t resource = 0;  ///< index of the resource
    /// Of a unit, as in the result: from worth_of_more to loss_of_fewer, unless the search for prices was cut
    /// off or stopped by rounding.
    double price = 0;
    double worth_of_more = 0;  ///< slope of the relaxation above the present capacity, per unit
    double loss_of_fewer = 0;  ///< slope below it; infinity: the jobs that must run need all that there is
    double capacity = 0;       ///< units at present
    double idle = 0;           ///< units that no job got
    double least = 0;  ///< range of capacities over which the price holds, the others staying as they are
    double most = 0;   ///< infinity where nothing ends it
    RangeEnd least_end = RangeEnd::price;  ///< what ends the range below
    RangeEnd most_end = RangeEnd::price;   ///< and above

    /// One line for a log.
    [[nodiscard]] std::string report() const;
};

/// What `resource` is worth, and over which capacities. Solves the relaxation some ten times, as long as the
/// deadline allows (none if left out). std::invalid_argument as with explain_job.
[[nodiscard]] ResourceExplanation explain_resource(const AllotmentProblem& problem, const AllotResult& result,
                                                   std::size_t resource,
                                                   std::optional<std::chrono::nanoseconds> deadline = {});

/// The same with a solver that is kept. If `result` is a reference into that solver, the answer is the same,
/// but the result is overwritten.
[[nodiscard]] ResourceExplanation explain_resource(const AllotmentProblem& problem, const AllotResult& result,
                                                   std::size_t resource, Allotter<>& solver,
                                                   std::optional<std::chrono::nanoseconds> deadline = {});

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/explain_resource.hpp"
#endif

#endif
