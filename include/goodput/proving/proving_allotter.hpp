#ifndef GOODPUT_PROVING_PROVING_ALLOTTER_HPP
#define GOODPUT_PROVING_PROVING_ALLOTTER_HPP

// An Allotter (allot/allot.hpp) with a second relaxation: prices on jobs instead of on capacities, which know
// that options are whole (detail/job_prices.hpp). It proves what prices on capacities leave open: gap 0 on
// pools whose size the options do not divide, and assignments of some hundred jobs that hardly fit.

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"

namespace goodput {

namespace detail {
struct ProvingSolver;
const AllotResult& solve(Kept<ProvingSolver>& solver, const AllotmentProblem& problem,
                         const AllotOptions& options);
RelaxedAllotment relax(Kept<ProvingSolver>& solver, const AllotmentProblem& problem,
                       const AllotOptions& options);
}  // namespace detail

/// What an Allotter does, with the same promises. Problems that the search of the core proves within 2^15
/// states get the same answer from both.
class ProvingAllotter {
public:
    /// The best allotment and its certificate; the reference is valid until the next call.
    const AllotResult& operator()(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        return detail::solve(solver_, problem, options);
    }

    /// The linear relaxation's optimum, as that of an Allotter.
    RelaxedAllotment relax(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        return detail::relax(solver_, problem, options);
    }

private:
    detail::Kept<detail::ProvingSolver> solver_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/proving/detail/proving_allotter.hpp"
#endif

#endif
