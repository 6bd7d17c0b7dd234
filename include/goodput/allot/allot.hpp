#ifndef GOODPUT_ALLOT_ALLOT_HPP
#define GOODPUT_ALLOT_ALLOT_HPP

// Solves the allotment problem (problem.hpp). detail/solver.hpp explains the method.

#include <utility>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"

namespace goodput::inline v0_1 {

namespace detail {
struct Solver;
const AllotResult& solve(HiddenState<Solver>& solver, const AllotmentProblem& problem,
                         const AllotOptions& options, const AnyBranching& branching);
RelaxedAllotment relax(HiddenState<Solver>& solver, const AllotmentProblem& problem,
                       const AllotOptions& options);
}  // namespace detail

/// The solver and the buffers that it reuses. Keep one and call it every round: a call allocates only if it
/// needs more memory than any call before. A copy of an Allotter starts without these buffers. `Rule` sets
/// the order in which the search decides jobs (detail/branching.hpp).
template <class Rule = FineGrainedFirst>
class Allotter {
    static_assert(branching_fits<Rule>());

public:
    Allotter() = default;
    /// Makes a solver with the caller's own rule.
    explicit Allotter(Rule branching) : branching_(std::move(branching)) {}

    /// Returns the best allotment and its certificate. The reference is valid until the next call. Throws
    /// std::invalid_argument for bad numbers in the problem. A hard problem gets the best allotment found,
    /// with its status, its bound and the reason why the search stopped.
    const AllotResult& operator()(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        if constexpr (BranchingRule<Rule>)
            return detail::solve(solver_, problem, options, detail::AnyBranching(branching_));
    }

    /// Returns the optimum of the linear relaxation, exact up to rounding. It may contain a fraction of an
    /// option that alone exceeds a capacity. An option that needs more than 2^30 times a capacity (any use
    /// of a resource without capacity is such a need) does not count: the bound ignores it, and no job
    /// wants it at the prices returned.
    RelaxedAllotment relax(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        return detail::relax(solver_, problem, options);
    }

private:
    Rule branching_{};
    detail::HiddenState<detail::Solver> solver_;
};

/// Solves one problem from scratch. To solve one per round, keep an Allotter.
inline AllotResult allot(const AllotmentProblem& problem, const AllotOptions& options = {}) {
    Allotter<> allotter;
    return allotter(problem, options);
}

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/allot.hpp"
#endif

#endif
