#ifndef GOODPUT_ALLOT_CONFLICT_HPP
#define GOODPUT_ALLOT_CONFLICT_HPP

// Which jobs that must run are in each other's way. Where they do not fit together, a conflict is a set of
// them that does not fit even if no other job runs; it is irreducible if it fits as soon as any one of them
// is left out. There are many such sets, and small ones say most.
//
// 1. A single job none of whose options fits the empty cluster.
// 2. Two jobs, by trying the pairs, as long as that is cheap.
// 3. Otherwise jobs in order of their largest share of a capacity, and again of the sum of their shares, as
//    many as it takes until the solver finds that they do not fit (bisection). One job after the other is
//    left out, the least demanding first, for good if the rest still does not fit (deletion filter; Chinneck
//    and Dravnieks 1991, who call the outcome an irreducible infeasible subset). The smaller of the two
//    counts.
//
// Then resources are left out in the same manner: what is named is needed for the conflict.
//
// Whether a set fits is an allotment problem itself: each option of its jobs is worth 1, and they fit if all
// of them can be served. Some n of these decide a set of n jobs. It is NP-hard to decide each of them, and to
// find the smallest conflict among all: what is returned is irreducible, and the smallest where `smallest`
// says so.

#include <cstddef>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput {

/// Jobs that must run and do not fit together.
struct Conflict {
    std::vector<std::size_t> jobs{};       ///< ascending; empty where no conflict was found
    std::vector<std::size_t> resources{};  ///< ascending: those without which there would be no conflict
    bool proven = true;                    ///< the jobs do not fit together; of an empty set: all jobs do
    bool minimal = true;   ///< they fit if any one is left out, and if any one of the resources is
    bool smallest = true;  ///< and no conflict has fewer jobs

    /// One line for a log.
    [[nodiscard]] std::string report() const;
};

/// A small irreducible conflict between the jobs that must run; an empty one if they fit together. Options:
/// `deadline` and `most_states` are for the whole of it, `memory_states` for each set tried; what could not
/// be decided in them shows in `proven` and `minimal`. Without a deadline it ends after some seconds, too.
/// Bad numbers in the problem get std::invalid_argument.
[[nodiscard]] Conflict conflict_of(const AllotmentProblem& problem, const AllotOptions& options = {});

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/conflict.hpp"
#endif

#endif
