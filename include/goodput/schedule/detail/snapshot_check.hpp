#ifndef GOODPUT_SCHEDULE_DETAIL_SNAPSHOT_CHECK_HPP
#define GOODPUT_SCHEDULE_DETAIL_SNAPSHOT_CHECK_HPP

// The border of a plan: what is wrong with a snapshot is named here, before anything is decided.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

/// Refuses snapshots (std::invalid_argument naming job or node, field and value). Keeps its buffers.
class SnapshotCheck {
public:
    void operator()(const Snapshot& snapshot) {
        validate(snapshot.cluster, names_);
        if (!std::isfinite(snapshot.time_seconds))
            bad_input("snapshot", "time_seconds", snapshot.time_seconds, "finite");
        check_models(snapshot);
        names_.clear();
        held_.assign(snapshot.cluster.nodes.size(), 0);
        for (const Job& job : snapshot.jobs) {
            validate(job, snapshot.cluster);
            names_.push_back(&job.name);
            check_placement(job, snapshot.cluster);
        }
        require_own_names("job", names_);
    }

private:
    static void check_models(const Snapshot& snapshot) {
        const std::vector<Job>& jobs = snapshot.jobs;
        if (snapshot.models.empty()) return;
        if (snapshot.models.size() != jobs.size())
            bad_input("snapshot", "number of models", snapshot.models.size(),
                      "0 or the number of jobs, " + text_of(jobs.size()));
        const std::size_t types = snapshot.cluster.gpu_types.size();
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (snapshot.models[j].types.size() > types)
                bad_input("job '" + jobs[j].name + "'", "GPU types in its model",
                          snapshot.models[j].types.size(), "at most the cluster's " + text_of(types));
    }

    void check_placement(const Job& job, const Cluster& cluster) {
        for (const NodeShare& share : job.placement) {
            const Node& node = cluster.nodes[share.node];
            int& held = held_[share.node];
            if (share.gpus > node.gpus - held)
                bad_input("job '" + job.name + "'", "placement on node '" + node.name + "'", share.gpus,
                          "at most the " + text_of(node.gpus - held) + " GPUs that jobs before it leave");
            held += share.gpus;
        }
    }

    std::vector<const std::string*> names_;
    std::vector<int> held_;  // GPUs, by node
};

}  // namespace goodput::detail

#endif
