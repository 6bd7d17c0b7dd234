#ifndef GOODPUT_ALLOT_EXPLAIN_HPP
#define GOODPUT_ALLOT_EXPLAIN_HPP

// Why every job got what it got, and what every resource is worth, in one call.

#include <chrono>
#include <optional>
#include <vector>

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
[[nodiscard]] Explanation explain(const AllotmentProblem& problem, const AllotResult& result,
                                  std::optional<std::chrono::nanoseconds> deadline = {});

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/explain.hpp"
#endif

#endif
