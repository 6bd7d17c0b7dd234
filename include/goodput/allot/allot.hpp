#ifndef GOODPUT_ALLOT_ALLOT_HPP
#define GOODPUT_ALLOT_ALLOT_HPP

// Solves the allotment problem (problem.hpp); detail/solver.hpp says how.

#include <utility>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"

namespace goodput {

namespace detail {
struct Solver;
const AllotResult& solve(Kept<Solver>& solver, const AllotmentProblem& problem, const AllotOptions& options,
                         const AnyBranching& branching);
RelaxedAllotment relax(Kept<Solver>& solver, const AllotmentProblem& problem, const AllotOptions& options);
}  // namespace detail

/// The solver with its memory: keep one and call it every round; its buffers carry over, and no call
/// allocates that needs no more room than one before it. A copy begins without memory. The caller's choice at
/// compile time: in which order jobs are decided.
template <class Rule = FineGrainedFirst>
class Allotter {
    static_assert(branching_fits<Rule>());

public:
    Allotter() = default;
    /// A solver with a rule of one's own.
    explicit Allotter(Rule branching) : branching_(std::move(branching)) {}

    /// The best allotment and its certificate; the reference is valid until the next call. Bad numbers in the
    /// problem get std::invalid_argument; a hard problem gets the best allotment found, with status, bound
    /// and why it stopped.
    const AllotResult& operator()(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        if constexpr (BranchingRule<Rule>)
            return detail::solve(solver_, problem, options, detail::AnyBranching(branching_));
    }

    /// The linear relaxation's optimum, exact to rounding. Options that exceed a capacity alone count in
    /// part; those that exceed it by more than 2^30 times itself do not (those that take anything of a
    /// capacity of 0, therefore): the bound is that of the others, the prices are such that nobody wants
    /// them.
    RelaxedAllotment relax(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        return detail::relax(solver_, problem, options);
    }

private:
    Rule branching_{};
    detail::Kept<detail::Solver> solver_;
};

/// Solves one problem from scratch; see Allotter for round after round.
inline AllotResult allot(const AllotmentProblem& problem, const AllotOptions& options = {}) {
    Allotter<> allotter;
    return allotter(problem, options);
}

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/allot.hpp"
#endif

#endif
