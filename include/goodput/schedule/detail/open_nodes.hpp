#ifndef GOODPUT_SCHEDULE_DETAIL_OPEN_NODES_HPP
#define GOODPUT_SCHEDULE_DETAIL_OPEN_NODES_HPP

// First station of a round: what is open.
//
// Nobody new comes to a drained node, and what its jobs do not hold is lost: a pool offers the GPUs of its
// open nodes only. But a job that keeps what it holds keeps it where it is (place/request.hpp), so that
// keeping takes of each pool
//
//     the GPUs of the open nodes among those that the job holds
//
// which is 0 for a job on drained nodes alone, and every other configuration, smaller ones too, takes open
// GPUs in full. Jobs that stay on drained nodes lie on open ones wholly or not at all, so that others pack
// into the open nodes as if there were no drained ones. What those who keep what they hold leave of each open
// node is free_beside_kept(): what fits there is a matter of rows of its own (node_blocks.hpp).
//
// A job over several nodes of one pool takes these nodes wholly, and the plans of this library give it no
// others. Where other systems have let it share one of them with another job, it keeps exactly what it holds:
// it takes its GPUs and no more, and if it is given as many GPUs on as many nodes, these are its own. Nothing
// of it is moved, because a placer would have to give it whole nodes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::detail {

/// Adds units of a pool to the uses from index `first` on.
void add_use(std::vector<ResourceUse>& uses, std::size_t first, std::size_t pool, double gpus);

/// Appends what a configuration takes of the pools: the GPUs that it occupies.
void append_occupied(const Configuration& configuration, std::span<const Pool> pools,
                     std::vector<ResourceUse>& uses);

/// The open nodes of a cluster, and what keeping takes of them. Keeps its buffers from call to call.
class OpenNodes {
public:
    /// Answers for these jobs, valid and on nodes that are not overfilled. O(nodes + nodes held).
    void find(const Cluster& cluster, std::span<const Job> jobs);

    /// These jobs keep what they hold, as if they said so themselves: finds anew what keeping takes, for the
    /// cluster and jobs of the last find().
    void keep(std::span<const std::size_t> which, const Cluster& cluster, std::span<const Job> jobs) {
        for (const std::size_t job : which) keeps_[job] = 1;
        find_kept(cluster, jobs);
    }
    /// The job of that index keeps what it holds this round.
    [[nodiscard]] bool keeps(std::size_t job) const { return keeps_[job] != 0; }

    /// In the order of pools_of(cluster), without drained nodes; some may be without nodes.
    [[nodiscard]] std::span<const Pool> pools() const { return pools_; }
    /// The same pools as far as the job may use them.
    [[nodiscard]] std::span<const Pool> pools_for(const Job& job) const {
        return job.spot_allowed || on_demand_pools_.empty() ? pools() : on_demand_pools_;
    }
    /// The same pools with those drained nodes that a job holds.
    [[nodiscard]] std::span<const Pool> used_pools() const { return used_pools_; }

    /// Of each pool, the GPUs of open nodes that the job of that index takes if it keeps what it holds.
    [[nodiscard]] std::span<const ResourceUse> uses_to_keep(std::size_t job) const {
        return std::span(kept_uses_)
            .subspan(kept_[job].first_use, kept_[job + 1].first_use - kept_[job].first_use);
    }
    /// GPUs of a node that are open to jobs beside those that keep what they hold.
    [[nodiscard]] int free_beside_kept(std::size_t node, const Cluster& cluster) const {
        const Node& of = cluster.nodes[node];
        return of.drained ? 0 : of.gpus - holders_[node].taken;
    }
    /// It shares nodes with others that it would have to itself if it were placed now: it keeps exactly what
    /// it holds, or gives that up.
    [[nodiscard]] bool shares_nodes(std::size_t job) const { return kept_[job].shares; }
    /// Whether any job does so.
    [[nodiscard]] bool any_shares_nodes() const { return any_shares_; }
    /// Of the jobs that share a node in this way, the first; no_index: there is none.
    [[nodiscard]] std::size_t first_sharing(std::size_t node) const { return holders_[node].first_sharing; }
    /// Whether a placement has other nodes of the same pool: of those it takes all GPUs, unless the job
    /// shares them.
    [[nodiscard]] bool is_spread(const Placement& placement, const NodeShare& share) const;
    /// It holds something on a drained node that it may keep.
    [[nodiscard]] bool may_stay_on_drained(std::size_t job) const { return kept_[job].on_drained; }

private:
    struct Holders {
        int jobs = 0;
        bool pinned_wide = false;  ///< one that keeps what it holds, over several nodes
        int taken = 0;             ///< GPUs of those that keep what they hold, so far
        std::size_t first_sharing = no_index;
    };
    struct Kept {
        std::size_t first_use = 0;
        bool on_drained = false;
        bool shares = false;
    };

    void find_kept(const Cluster& cluster, std::span<const Job> jobs);

    /// Whether the job may stay on drained nodes.
    bool add_kept(const Cluster& cluster, const Job& job, bool pinned, bool shares, std::size_t first);
    std::vector<Pool> pools_, used_pools_;
    std::vector<Pool> on_demand_pools_;   // spot pools without nodes; empty where no pool is spot
    std::vector<std::size_t> pool_of_;    // by node
    std::vector<Holders> holders_;        // by node
    std::vector<Kept> kept_;              // by job, and one more
    std::vector<ResourceUse> kept_uses_;  // of one job after the other
    std::vector<char> keeps_;             // by job
    bool any_shares_ = false;
};

inline void add_use(std::vector<ResourceUse>& uses, std::size_t first, std::size_t pool, double gpus) {
    for (std::size_t u = first; u < uses.size(); ++u)
        if (uses[u].resource == pool) {
            uses[u].units += gpus;
            return;
        }
    uses.push_back({static_cast<std::uint32_t>(pool), gpus});
}

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
        // Two that are pinned to one node take it once.
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

}  // namespace goodput::detail

#endif
