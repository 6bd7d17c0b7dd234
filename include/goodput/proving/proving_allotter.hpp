#ifndef GOODPUT_PROVING_PROVING_ALLOTTER_HPP
#define GOODPUT_PROVING_PROVING_ALLOTTER_HPP

// An Allotter (allot/allot.hpp) with a second relaxation: prices on jobs instead of on capacities. Its
// bound takes into account that options are whole (detail/job_prices.hpp). So it proves what prices on
// capacities cannot: gap 0 on pools whose size is no multiple of the options' sizes, and assignments of
// about a hundred jobs that barely fit.
//
// Both begin with the search of the core, that is, of the choices that the prices on capacities leave
// undecided (allot/detail/search.hpp). After 2^15 states of it, a ProvingAllotter lets two searches take
// turns: a depth-first search by prices on jobs, and the search of the core with tables of what later jobs
// can still be worth. For this, some resources must be used in whole units only (the capacity is at most
// 2^20 times the unit), and no option may use two of them. At the first prices they must make up at least
// half of the worth of all capacities. And at most four resources may have a price, unless every option
// uses only one resource. Otherwise the search goes on as that of an Allotter.

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"

namespace goodput::inline v0_1 {

namespace detail {
struct ProvingSolver;
const AllotResult& solve(HiddenState<ProvingSolver>& solver, const AllotmentProblem& problem,
                         const AllotOptions& options);
RelaxedAllotment relax(HiddenState<ProvingSolver>& solver, const AllotmentProblem& problem,
                       const AllotOptions& options);
}  // namespace detail

/// Does the work of an Allotter, with the same guarantees. If the search of the core proves its answer
/// within 2^11 states, both usually give the same one.
class ProvingAllotter {
public:
    /// Returns the best allotment and its certificate. The reference is valid until the next call.
    const AllotResult& operator()(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        return detail::solve(solver_, problem, options);
    }

    /// Returns the optimum of the linear relaxation, as Allotter::relax does.
    RelaxedAllotment relax(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        return detail::relax(solver_, problem, options);
    }

private:
    detail::HiddenState<detail::ProvingSolver> solver_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/proving/detail/proving_allotter.hpp"
#endif

#endif
