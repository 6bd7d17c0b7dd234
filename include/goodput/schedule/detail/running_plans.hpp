#ifndef GOODPUT_SCHEDULE_DETAIL_RUNNING_PLANS_HPP
#define GOODPUT_SCHEDULE_DETAIL_RUNNING_PLANS_HPP

// Implements RunningPlans of job_memory.hpp.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

GOODPUT_BODY void RunningPlans::note(std::string_view job, std::size_t gpu_type,
                                     const ThroughputSample& sample) {
    Running& known = plans_[std::string(job)];
    if (!known.planned || known.gpu_type != gpu_type || known.shape != sample.shape)
        known = {gpu_type, sample.shape, sample.plan};
}

GOODPUT_BODY void RunningPlans::note(const Snapshot& snapshot, const Plan& plan) {
    std::map<std::string, Running> kept;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Option& option = plan.decisions[j].option;
        if (option.plan.atomic_batch > 0 && option.configuration.is_single())
            kept.emplace(snapshot.jobs[j].name,
                         of_job(snapshot.jobs[j], option.configuration.first(), option.plan));
    }
    plans_ = std::move(kept);
}

GOODPUT_BODY void RunningPlans::fill(Snapshot& snapshot) const {
    for (Job& job : snapshot.jobs) {
        const auto found = plans_.find(job.name);
        if (found == plans_.end() || job.placement.empty() || !on_known_nodes(job, snapshot.cluster))
            continue;
        const PoolShare held = pool_share_of(job.placement, snapshot.cluster);
        if (held.empty() || held.gpu_type >= job.types.size()) continue;
        const Running now = of_job(job, held, found->second.plan);
        if (now.gpu_type == found->second.gpu_type && now.shape == found->second.shape)
            job.running_plan = now.plan;
    }
}

}  // namespace goodput::inline v0_1

#endif
