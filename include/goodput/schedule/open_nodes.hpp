#ifndef GOODPUT_SCHEDULE_OPEN_NODES_HPP
#define GOODPUT_SCHEDULE_OPEN_NODES_HPP

// What may be allotted where nodes are drained.
//
// Nobody new comes to a drained node, and what its jobs do not hold is lost: a pool offers the GPUs of its
// open nodes only. But a job that keeps what it holds keeps it where it is (place/request.hpp), so that
// keeping takes of the pool
//
//     u_j = the GPUs of the open nodes among those that it holds
//
// which is 0 for a job on drained nodes alone, and every other allotment, smaller ones too, takes open GPUs
// in full. Jobs that stay on drained nodes lie on open ones wholly or not at all, so that the shapes of
// options.hpp pack into the open nodes as if there were no drained ones: whatever fits can be placed.
//
// Where a job over several nodes does not have its nodes to itself, the placer may have to lay it out anew:
// then keeping takes all that it occupies, like any other allotment.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"

namespace goodput {

/// The open nodes of a cluster, and what keeping takes of them. Keeps its buffers from call to call.
class OpenNodes {
public:
    /// Answers for these jobs, valid and on nodes that are not overfilled. O(nodes + nodes held).
    void find(const Cluster& cluster, std::span<const Job> jobs) {
        keeps_.clear();
        for (const Job& job : jobs) keeps_.push_back(job.keeps_what_it_holds());
        find_pools(cluster, pools_);
        used_pools_ = pools_;
        find_kept(cluster, jobs);
        for (Pool& pool : pools_)
            std::erase_if(pool.nodes, [&](std::size_t node) { return cluster.nodes[node].drained; });
        for (Pool& pool : used_pools_)
            std::erase_if(pool.nodes, [&](std::size_t node) {
                return cluster.nodes[node].drained && holders_[node].jobs == 0;
            });
    }

    /// The job of that index keeps what it holds, as if it said so itself; find_kept() has to follow.
    void keep(std::size_t job) { keeps_[job] = 1; }
    /// Finds anew what keeping takes, after keep() and for the cluster and jobs of the last find().
    void find_kept(const Cluster& cluster, std::span<const Job> jobs) {
        hold(cluster, jobs);
        kept_.clear();
        for (std::size_t j = 0; j < jobs.size(); ++j) kept_.push_back(kept(cluster, jobs[j], keeps(j)));
    }
    /// The job of that index keeps what it holds this round.
    [[nodiscard]] bool keeps(std::size_t job) const { return keeps_[job] != 0; }

    /// In the order of pools_of(cluster), without drained nodes; some may be without nodes.
    [[nodiscard]] std::span<const Pool> pools() const { return pools_; }
    /// The same with drained nodes that a job holds: the GPUs that can be in use this round.
    [[nodiscard]] std::span<const Pool> used_pools() const { return used_pools_; }

    /// GPUs of open nodes that the job of that index takes if it keeps what it holds.
    [[nodiscard]] int gpus_to_keep(std::size_t job) const { return kept_[job].gpus; }
    /// It holds something on a drained node that it may keep.
    [[nodiscard]] bool may_stay_on_drained(std::size_t job) const { return kept_[job].on_drained; }

private:
    struct Holders {
        int jobs = 0;
        bool pinned_wide = false;  ///< one that keeps what it holds, over several nodes
        int taken = 0;             ///< GPUs of those that keep what they hold, so far
    };
    struct Kept {
        int gpus = 0;
        bool on_drained = false;
    };

    void hold(const Cluster& cluster, std::span<const Job> jobs) {
        holders_.assign(cluster.nodes.size(), {});
        for (std::size_t j = 0; j < jobs.size(); ++j)
            for (const NodeShare& share : jobs[j].placement) {
                Holders& holders = holders_[share.node];
                ++holders.jobs;
                holders.pinned_wide |= keeps(j) && jobs[j].placement.size() > 1;
            }
    }

    Kept kept(const Cluster& cluster, const Job& job, bool pinned) {
        const bool wide = job.placement.size() > 1;
        Kept kept;
        bool stays = true;
        for (const NodeShare& share : job.placement) {
            const Node& node = cluster.nodes[share.node];
            Holders& holders = holders_[share.node];
            kept.on_drained |= node.drained;
            stays &= wide ? holders.jobs == 1 : !holders.pinned_wide;
            if (node.drained) continue;
            // Two that are pinned to one node take it once.
            const int gpus = std::min(wide ? node.gpus : share.gpus, node.gpus - holders.taken);
            if (pinned) holders.taken += gpus;
            kept.gpus += gpus;
        }
        if (pinned || (kept.on_drained && stays)) return kept;
        return {allotment_of(job.placement, cluster).occupied_gpus(), false};
    }

    std::vector<Pool> pools_, used_pools_;
    std::vector<Holders> holders_;  // by node
    std::vector<Kept> kept_;        // by job
    std::vector<char> keeps_;       // by job
};

}  // namespace goodput

#endif
