#ifndef GOODPUT_ALLOT_CONFLICT_HPP
#define GOODPUT_ALLOT_CONFLICT_HPP

// Finds jobs that all must run, but do not fit together. A conflict is a set of such jobs that does not fit
// even if no other job runs. It is irreducible if the rest fits as soon as any one of its jobs is left out.
// There are many conflicts, and small ones say most. The search tries in this order:
//
// 1. A single job none of whose options fits the empty cluster.
// 2. Two jobs, by trying the pairs, as long as that is cheap.
// 3. Otherwise, the jobs sorted by their largest share of a capacity, the largest first. Bisection finds
//    how many jobs from the head of this list the solver needs to prove that they do not fit. Then one job
//    after the other is left out, the least demanding first, and stays out if the rest still does not fit
//    (deletion filter; Chinneck and Dravnieks 1991, who call the outcome an irreducible infeasible subset).
//    The same is done with the jobs in order of the sum of their shares, and the smaller of the two
//    outcomes counts.
//
// Then resources are left out in the same manner, so that the conflict needs every resource that is named.
//
// Whether a set fits is an allotment problem itself: each option of its jobs is worth 1, and the set fits
// if all its jobs can be served. A set of n jobs takes about n such problems. Each of them is NP-hard, and
// to find the smallest conflict of all is NP-hard as well. So the answer is irreducible, and it is the
// smallest only if `smallest` says so.

#include <cstddef>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput::inline v0_1 {

/// Jobs that must run and do not fit together.
struct Conflict {
    std::vector<std::size_t> jobs{};       ///< indices of the jobs, ascending; empty if no conflict was found
    std::vector<std::size_t> resources{};  ///< indices of the resources that the conflict needs, ascending
    bool proven = true;    ///< proven: the jobs do not fit together; if `jobs` is empty, all jobs do
    bool minimal = true;   ///< the jobs fit if any one of them, or any one of the resources, is left out
    bool smallest = true;  ///< no conflict has fewer jobs

    /// Returns one line for a log.
    [[nodiscard]] std::string report() const;
};

/// Returns a small irreducible conflict between the jobs that must run, or an empty one if they fit
/// together. `deadline` and `most_states` hold for the whole call, `memory_states` for each set that is
/// tried. `proven` and `minimal` tell what could not be decided within these limits. Without a deadline the
/// call ends after some seconds all the same. Throws std::invalid_argument for bad numbers in the problem.
[[nodiscard]] Conflict conflict_of(const AllotmentProblem& problem, const AllotOptions& options = {});

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/conflict.hpp"
#endif

#endif
