#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_EDF_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_EDF_HPP

// Plans one job by the rule of the published earliest-deadline-first policies: from now on, the job gets as
// many GPUs as it can use, or all that are left.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "peers/elasticflow/elasticflow_job.hpp"
#include "peers/elasticflow/elasticflow_steps.hpp"

namespace goodput::peers {

/// Returns the plan of a job with that many iterations left, from the first step of `free` on, in a cluster
/// with that many GPUs.
///
/// Published, and kept: when the job is done, the GPUs of that step are free again from the next slot on,
/// even if another job has some of them from then on. So free GPUs may be lost for a plan.
[[nodiscard]] inline ElasticflowPlan edf_plan(const ElasticflowSpeeds& speeds, double left,
                                              const GpuSteps& free, int gpus_of_cluster, double slot) {
    const auto& steps = free.steps();
    const double start = steps.front().seconds;
    const int most = speeds.size_within(std::min(speeds.most_gpus_other, gpus_of_cluster));
    ElasticflowPlan plan{.free = free};
    const auto done_at = [&](double begin, int gpus) { return std::ceil(begin + left / speeds.rate(gpus)); };
    const auto ends_at = [&](double end) {
        plan.end = plan.planned_end = end;
        plan.free.merge();
        plan.gpus.merge();
        return plan;
    };
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
        const double begin = steps[i].seconds, next = steps[i + 1].seconds;
        // Not the value in `free`: what the previous job left there may be overwritten.
        const int here = plan.free.at(begin);
        const int gpus = here >= most ? most : speeds.size_within(here);
        plan.gpus[begin] = gpus;
        if (gpus == 0) continue;
        plan.free[begin] -= gpus;
        const double end = done_at(begin, gpus);
        if (next >= end) {
            if (!free.has(end)) plan.free[whole_slots(start, end, slot)] = here;
            return ends_at(end);
        }
        left -= (next - begin) * speeds.rate(gpus);
    }
    const double last = steps.back().seconds;
    plan.gpus[last] = most;
    const double end = done_at(last, most);
    plan.free[last] = gpus_of_cluster - most;
    plan.free[whole_slots(start, end, slot)] = gpus_of_cluster;
    return ends_at(end);
}

}  // namespace goodput::peers

#endif
