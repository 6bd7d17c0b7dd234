#ifndef GOODPUT_ALLOT_DETAIL_ALLOT_HPP
#define GOODPUT_ALLOT_DETAIL_ALLOT_HPP

// The bodies of Allotter (allot/allot.hpp): the solver (solver.hpp) with CoreAndTree as its search.

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/core_and_tree.hpp"
#include "goodput/allot/detail/solver.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"

namespace goodput::inline v0_1::detail {

/// The state that an Allotter keeps.
struct Solver {
    SolverBy<CoreAndTree> by_core;
};

GOODPUT_BODY const AllotResult& solve(HiddenState<Solver>& solver, const AllotmentProblem& problem,
                                      const AllotOptions& options, const AnyBranching& branching) {
    return solver.get().by_core.solve(problem, options, branching);
}
GOODPUT_BODY RelaxedAllotment relax(HiddenState<Solver>& solver, const AllotmentProblem& problem,
                                    const AllotOptions& options) {
    return solver.get().by_core.relax(problem, options);
}

}  // namespace goodput::inline v0_1::detail

#endif
