#ifndef GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP

// The best parallelism plan of a large model, with a bound on all others.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/parallel/detail/plan_search.hpp"
#include "goodput/parallel/plan_question.hpp"

namespace goodput {

/// The best plan for a question, over stages of any layers, replicas of any profiled GPU type and
/// tensor-parallel degree in any zone (as many for every stage), and micro-batches that were profiled.
/// `stop()` is asked now and then; once it answers true, the best plan so far is returned with what is proven
/// by then. Refuses bad models, clusters and questions (std::invalid_argument).
template <std::predicate Stop>
[[nodiscard]] PlanAnswer find_plan(const LayeredModel& model, const ParallelCluster& cluster,
                                   const PlanQuestion& question, Stop stop,
                                   const ParallelConstants& constants = {}) {
    model.validate();
    cluster.validate();
    question.validate(cluster);
    PlanAnswer answer;
    detail::PlanSearch<Stop> search(model, cluster, question, constants, stop);
    search.run(answer);
    return answer;
}

}  // namespace goodput

#endif
