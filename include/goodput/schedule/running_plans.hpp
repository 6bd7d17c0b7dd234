#ifndef GOODPUT_SCHEDULE_RUNNING_PLANS_HPP
#define GOODPUT_SCHEDULE_RUNNING_PLANS_HPP

// Which batch plan every job runs with, from round to round: the one that it was told, or where it was told
// none for the GPUs that it has, the one that it was measured with. A measurement may be older than what was
// told.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Remembers batch plans by job name. A value: a copy is what was known when it was made.
class RunningPlans {
public:
    /// A measurement of a job on a GPU type.
    void note(std::string_view job, std::size_t gpu_type, const ThroughputSample& sample) {
        Running& known = plans_[std::string(job)];
        if (!known.planned || known.gpu_type != gpu_type || known.shape != sample.shape)
            known = {gpu_type, sample.shape, sample.plan};
    }
    /// What a plan tells the jobs that it gives GPUs of one pool. Everybody else is forgotten.
    void note(const Snapshot& snapshot, const Plan& plan) {
        std::map<std::string, Running> kept;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Option& option = plan.decisions[j].option;
            if (option.plan.atomic_batch > 0 && option.configuration.is_single())
                kept.emplace(snapshot.jobs[j].name,
                             of_job(snapshot.jobs[j], option.configuration.first(), option.plan));
        }
        plans_ = std::move(kept);
    }
    /// Fills in Job::running_plan of the jobs that hold what their plan is of.
    void fill(Snapshot& snapshot) const {
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

private:
    struct Running {
        std::size_t gpu_type = 0;
        Shape shape{};  // in replicas, as of samples
        BatchPlan plan{};
        bool planned = false;
    };
    /// What a job holds may be wrong still: nobody has checked the snapshot.
    static bool on_known_nodes(const Job& job, const Cluster& cluster) {
        return std::all_of(job.placement.begin(), job.placement.end(),
                           [&](const NodeShare& share) { return share.node < cluster.nodes.size(); });
    }
    static Running of_job(const Job& job, const PoolShare& part, BatchPlan plan) {
        const int replicas = part.shape.gpus / job.types[part.gpu_type].gpus_per_replica;
        return {part.gpu_type, {std::min(part.shape.nodes, replicas), replicas}, plan, true};
    }

    std::map<std::string, Running> plans_;
};

}  // namespace goodput

#endif
