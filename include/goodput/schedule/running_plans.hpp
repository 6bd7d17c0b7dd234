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

#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

namespace detail {
struct SavedFields;
}

/// Remembers batch plans by job name. A value: a copy is what was known when it was made.
class RunningPlans {
public:
    /// A measurement of a job on a GPU type.
    void note(std::string_view job, std::size_t gpu_type, const ThroughputSample& sample);
    /// What a plan tells the jobs that it gives GPUs of one pool. Everybody else is forgotten.
    void note(const Snapshot& snapshot, const Plan& plan);
    /// Fills in Job::running_plan of the jobs that hold what their plan is of.
    void fill(Snapshot& snapshot) const;

private:
    friend struct detail::SavedFields;
    template <class Self, class Visit>
    static void fields(Self& self, Visit& visit) {
        visit(self.plans_);
    }

    struct Running {
        std::size_t gpu_type = 0;
        Shape shape{};  // in replicas, as of samples
        BatchPlan plan{};
        bool planned = false;

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.gpu_type, self.shape, self.plan, self.planned);
        }
        void check_saved() const { detail::require_configuration("saved memory", shape, plan); }
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

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/running_plans.hpp"
#endif

#endif
