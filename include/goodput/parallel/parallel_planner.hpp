#ifndef GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP

// The best parallelism plan of a large model, with a bound on all others.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

#include "goodput/parallel/plan_question.hpp"

namespace goodput {

/// Finds the best plan. `stop()` is asked now and then; once it answers true, the best plan so far is
/// returned with what is proven by then. Refuses bad models, clusters and questions (std::invalid_argument).
template <std::predicate Stop>
[[nodiscard]] PlanAnswer find_plan(const LayeredModel& model, const ParallelCluster& cluster,
                                   const PlanQuestion& question, Stop stop,
                                   const ParallelConstants& constants = {}) {
    model.validate();
    cluster.validate();
    PlanAnswer answer;
    answer.bound = std::numeric_limits<double>::infinity();
    // First version: even stages on one type in one zone.
    for (std::size_t zone = 0; zone < cluster.zones.size(); ++zone)
        for (std::size_t type = 0; type < model.times.size(); ++type)
            for (const auto& [key, times] : model.times[type])
                for (std::size_t stages = 1; stages <= model.layers; ++stages)
                    for (int replicas = 1; replicas * static_cast<int>(stages) * key.tensor_parallel <=
                                           cluster.gpus[zone][type];
                         ++replicas) {
                        if (stop()) return answer;
                        ParallelPlan plan{key.microbatch, question.global_batch, {}};
                        for (std::size_t s = 0; s < stages; ++s)
                            plan.stages.push_back({s * model.layers / stages,
                                                   (s + 1) * model.layers / stages - 1,
                                                   {{type, key.tensor_parallel, zone, replicas}}});
                        const PlanScore score = score_plan(model, cluster, plan, constants);
                        ++answer.searched;
                        if (!score.fits || score.fault || score.throughput() <= answer.objective) continue;
                        answer.objective = score.throughput();
                        answer.plan = plan;
                        answer.score = score;
                        answer.status = PlanStatus::feasible;
                    }
    return answer;
}

}  // namespace goodput

#endif
