#ifndef GOODPUT_ALLOT_DETAIL_EXPLAIN_HPP
#define GOODPUT_ALLOT_DETAIL_EXPLAIN_HPP

// The bodies behind explain.hpp.

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/explain_resource.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/explain.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"

namespace goodput {

GOODPUT_BODY Explanation explain(const AllotmentProblem& problem, const AllotResult& result,
                                 std::optional<std::chrono::nanoseconds> deadline) {
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
