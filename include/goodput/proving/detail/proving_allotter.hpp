#ifndef GOODPUT_PROVING_DETAIL_PROVING_ALLOTTER_HPP
#define GOODPUT_PROVING_DETAIL_PROVING_ALLOTTER_HPP

// The bodies of ProvingAllotter (proving_allotter.hpp): the solver of an Allotter, with searches that take
// turns (search_turns.hpp).

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/solver.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/proving/detail/search_turns.hpp"
#include "goodput/proving/proving_allotter.hpp"

namespace goodput::inline v0_1::detail {

/// The state that a ProvingAllotter keeps.
struct ProvingSolver {
    SolverBy<SearchTurns> in_turns;
};

GOODPUT_BODY const AllotResult& solve(HiddenState<ProvingSolver>& solver, const AllotmentProblem& problem,
                                      const AllotOptions& options) {
    const FineGrainedFirst rule;
    return solver.get().in_turns.solve(problem, options, AnyBranching(rule));
}
GOODPUT_BODY RelaxedAllotment relax(HiddenState<ProvingSolver>& solver, const AllotmentProblem& problem,
                                    const AllotOptions& options) {
    return solver.get().in_turns.relax(problem, options);
}

}  // namespace goodput::inline v0_1::detail

#endif
