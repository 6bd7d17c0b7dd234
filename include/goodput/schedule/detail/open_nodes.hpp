#ifndef GOODPUT_SCHEDULE_DETAIL_OPEN_NODES_HPP
#define GOODPUT_SCHEDULE_DETAIL_OPEN_NODES_HPP

// Finds the open nodes of a cluster, that is, those that are not drained (step 2 of a round).
//
// A drained node accepts no new job, and its GPUs that no job holds are not available: a pool offers only
// the GPUs of its open nodes. But a job that keeps what it holds stays where it is (place/request.hpp).
// Therefore a job that keeps what it holds takes from each pool
//
//     the GPUs of the open nodes among those that the job holds
//
// which is 0 for a job on drained nodes alone. Every other configuration, even a smaller one, takes all its
// GPUs from open nodes. If a job that stays on drained nodes has open nodes, too, it takes each of these as
// a whole, so that other jobs pack into the remaining open nodes as if there were no drained ones.
// free_beside_kept() returns what pinned jobs (jobs that keep what they hold) leave of each open node.
// Additional rows of the problem express what fits there (node_blocks.hpp).
//
// A job over several nodes of one pool takes these nodes as a whole, and this library never plans anything
// else. But another system may have placed such a job on a node that another job uses, too. Then the job
// can only keep exactly what it holds: it takes its GPUs and no more, and if it is given the same number of
// GPUs on the same number of nodes, it gets its own. Its GPUs are not moved, because a placer would have to
// give it whole nodes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::inline v0_1::detail {

/// Adds units of a pool to the uses from index `first` on.
void add_use(std::vector<ResourceUse>& uses, std::size_t first, std::size_t pool, double gpus);

/// Appends the GPUs of each pool that a configuration occupies.
void append_occupied(const Configuration& configuration, std::span<const Pool> pools,
                     std::vector<ResourceUse>& uses);

/// The open nodes of a cluster, and what pinned jobs take of them. It keeps its buffers from call to call.
class OpenNodes {
public:
    /// Computes all answers for these jobs. Jobs must be valid, and hold no more of a node than it has.
    /// Takes O(nodes + nodes held) time.
    void find(const Cluster& cluster, std::span<const Job> jobs);

    /// Pins these jobs, as if they were jobs that keep what they hold. Updates uses_to_keep() and
    /// free_beside_kept() for the cluster and jobs of the last find().
    void keep(std::span<const std::size_t> which, const Cluster& cluster, std::span<const Job> jobs) {
        for (const std::size_t job : which) keeps_[job] = 1;
        find_kept(cluster, jobs);
    }
    /// Whether the job with that index keeps what it holds this round.
    [[nodiscard]] bool keeps(std::size_t job) const { return keeps_[job] != 0; }

    /// The pools in the order of pools_of(cluster), without drained nodes. A pool may be empty.
    [[nodiscard]] std::span<const Pool> pools() const { return pools_; }
    /// The same pools, restricted to those that the job may use.
    [[nodiscard]] std::span<const Pool> pools_for(const Job& job) const {
        return job.spot_allowed || on_demand_pools_.empty() ? pools() : on_demand_pools_;
    }
    /// The same pools, with drained nodes that a job holds.
    [[nodiscard]] std::span<const Pool> used_pools() const { return used_pools_; }

    /// For each pool, the GPUs of open nodes that the job with that index takes if it keeps what it holds.
    [[nodiscard]] std::span<const ResourceUse> uses_to_keep(std::size_t job) const {
        return std::span(kept_uses_)
            .subspan(kept_[job].first_use, kept_[job + 1].first_use - kept_[job].first_use);
    }
    /// GPUs of a node that pinned jobs leave to other jobs; 0 if the node is drained.
    [[nodiscard]] int free_beside_kept(std::size_t node, const Cluster& cluster) const {
        const Node& described = cluster.nodes[node];
        return described.drained ? 0 : described.gpus - holders_[node].taken;
    }
    /// Whether the job shares a node with another job although it runs over several nodes of one pool and
    /// should have them to itself. Such a job keeps exactly what it holds, or gives it up.
    [[nodiscard]] bool shares_nodes(std::size_t job) const { return kept_[job].shares; }
    /// Whether any job shares nodes in this way.
    [[nodiscard]] bool any_shares_nodes() const { return any_shares_; }
    /// Returns the first of the jobs that share a node in this way, or no_index if there is none.
    [[nodiscard]] std::size_t first_sharing(std::size_t node) const { return holders_[node].first_sharing; }
    /// Whether a placement also has other nodes of the share's pool. A job takes all GPUs of such nodes,
    /// unless it shares them.
    [[nodiscard]] bool is_spread(const Placement& placement, const NodeShare& share) const;
    /// Whether the job holds something on a drained node that it may keep.
    [[nodiscard]] bool may_stay_on_drained(std::size_t job) const { return kept_[job].on_drained; }

private:
    struct Holders {
        int jobs = 0;
        bool pinned_wide = false;  ///< whether a pinned job over several nodes holds it
        int taken = 0;             ///< GPUs of pinned jobs so far
        std::size_t first_sharing = no_index;
    };
    struct Holding {
        std::size_t first_use = 0;
        bool on_drained = false;
        bool shares = false;
    };

    void find_kept(const Cluster& cluster, std::span<const Job> jobs);

    /// Adds the GPUs of open nodes that the job takes if it keeps what it holds. Returns whether it may
    /// stay on drained nodes.
    bool add_kept(const Cluster& cluster, const Job& job, bool pinned, bool shares, std::size_t first);
    std::vector<Pool> pools_, used_pools_;
    std::vector<Pool> on_demand_pools_;   // spot pools have no nodes here; empty if no pool is spot
    std::vector<std::size_t> pool_of_;    // by node
    std::vector<Holders> holders_;        // by node
    std::vector<Holding> kept_;           // by job, with one more entry for the end
    std::vector<ResourceUse> kept_uses_;  // job by job
    std::vector<char> keeps_;             // by job
    bool any_shares_ = false;
};

inline void append_occupied(const Configuration& configuration, std::span<const Pool> pools,
                            std::vector<ResourceUse>& uses) {
    const std::size_t first = uses.size();
    for (const PoolShare& part : configuration.parts())
        add_use(uses, first, find_pool(pools, part), part.occupied_gpus());
}

inline void OpenNodes::find(const Cluster& cluster, std::span<const Job> jobs) {
    keeps_.clear();
    for (const Job& job : jobs) keeps_.push_back(job.keeps_what_it_holds());
    find_pools(cluster, pools_);
    used_pools_ = pools_;
    pool_of_.resize(cluster.nodes.size());
    for (std::size_t pool = 0; pool < pools_.size(); ++pool)
        for (const std::size_t node : pools_[pool].nodes) pool_of_[node] = pool;
    find_kept(cluster, jobs);
    for (Pool& pool : pools_)
        std::erase_if(pool.nodes, [&](std::size_t node) { return cluster.nodes[node].drained; });
    for (Pool& pool : used_pools_)
        std::erase_if(pool.nodes, [&](std::size_t node) {
            return cluster.nodes[node].drained && holders_[node].jobs == 0;
        });
    on_demand_pools_.clear();
    if (std::none_of(pools_.begin(), pools_.end(), [](const Pool& pool) { return pool.spot; })) return;
    for (const Pool& pool : pools_)
        on_demand_pools_.push_back(pool.spot ? Pool{pool.gpu_type, pool.gpus_per_node, {}, true, pool.group}
                                             : pool);
}

inline void OpenNodes::find_kept(const Cluster& cluster, std::span<const Job> jobs) {
    holders_.assign(cluster.nodes.size(), {});
    for (const Job& job : jobs)
        for (const NodeShare& share : job.placement) ++holders_[share.node].jobs;
    kept_.clear();
    kept_uses_.clear();
    any_shares_ = false;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const Placement& placement = jobs[j].placement;
        const bool shares = std::ranges::any_of(placement, [&](const NodeShare& share) {
            return holders_[share.node].jobs > 1 && is_spread(placement, share);
        });
        kept_.push_back({0, false, shares});
        any_shares_ |= shares;
        for (const NodeShare& share : placement) {
            Holders& holders = holders_[share.node];
            holders.pinned_wide |= keeps(j) && !shares && is_spread(placement, share);
            if (shares && holders.first_sharing == no_index) holders.first_sharing = j;
        }
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        kept_[j].first_use = kept_uses_.size();
        kept_[j].on_drained = add_kept(cluster, jobs[j], keeps(j), kept_[j].shares, kept_[j].first_use);
    }
    kept_.push_back({kept_uses_.size(), false, false});
}

inline bool OpenNodes::is_spread(const Placement& placement, const NodeShare& share) const {
    return std::ranges::any_of(placement, [&](const NodeShare& other) {
        return other.node != share.node && pool_of_[other.node] == pool_of_[share.node];
    });
}

inline bool OpenNodes::add_kept(const Cluster& cluster, const Job& job, bool pinned, bool shares,
                                std::size_t first) {
    bool stays = true, on_drained = false;
    for (const NodeShare& share : job.placement) {
        const Node& node = cluster.nodes[share.node];
        Holders& holders = holders_[share.node];
        const bool wide = !shares && is_spread(job.placement, share);
        on_drained |= node.drained;
        stays &= wide ? holders.jobs == 1 : !holders.pinned_wide;
        // Two jobs that are pinned to one node take its GPUs only once.
        const int gpus =
            node.drained ? 0 : std::min(wide ? node.gpus : share.gpus, node.gpus - holders.taken);
        if (pinned) holders.taken += gpus;
        add_use(kept_uses_, first, pool_of_[share.node], gpus);
    }
    if (pinned || shares || (on_drained && stays)) return on_drained;
    kept_uses_.resize(first);
    append_occupied(configuration_of(job.placement, cluster), pools_, kept_uses_);
    return false;
}

}  // namespace goodput::inline v0_1::detail

#endif
