#ifndef GOODPUT_ALLOT_EXPLAIN_HPP
#define GOODPUT_ALLOT_EXPLAIN_HPP

// Why every job got what it got, and what every resource is worth, in one call.

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/explain_job.hpp"
#include "goodput/allot/explain_resource.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput {

/// Explanations by job and by resource.
struct Explanation {
    std::vector<JobExplanation> jobs{};            ///< by job
    std::vector<ResourceExplanation> resources{};  ///< by resource
};

/// All jobs and all resources. Takes some ten solutions of the linear relaxation for each resource, which may
/// be minutes with tens of resources; for those that a deadline leaves no time for, only the price is said
/// (RangeEnd::deadline). Allocates. A result of another problem and one that is infeasible (see conflict.hpp)
/// get std::invalid_argument.
[[nodiscard]] inline Explanation explain(const AllotmentProblem& problem, const AllotResult& result,
                                         std::optional<std::chrono::nanoseconds> deadline = {}) {
    detail::require_result_of(problem, result);
    Allotter<> solver;
    detail::CapacityRange range(problem, solver, deadline);
    const std::vector<double> taken = detail::units_taken(problem, result.choice);
    Explanation answer;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        answer.jobs.push_back(detail::explain_job(problem, result, job, taken));
    for (std::size_t r = 0; r < taken.size(); ++r)
        answer.resources.push_back(range.explain(result.prices, r, taken[r]));
    return answer;
}

}  // namespace goodput

#endif
