#ifndef GOODPUT_SCHEDULE_DETAIL_OPEN_NODES_BODIES_HPP
#define GOODPUT_SCHEDULE_DETAIL_OPEN_NODES_BODIES_HPP

// The bodies behind detail/open_nodes.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/core/bodies.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/resource_use.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"

namespace goodput::detail {

GOODPUT_BODY void add_use(std::vector<ResourceUse>& uses, std::size_t first, std::size_t pool, double gpus) {
    for (std::size_t u = first; u < uses.size(); ++u)
        if (uses[u].resource == pool) {
            uses[u].units += gpus;
            return;
        }
    uses.push_back({static_cast<std::uint32_t>(pool), gpus});
}

GOODPUT_BODY void append_occupied(const Configuration& configuration, std::span<const Pool> pools,
                                  std::vector<ResourceUse>& uses) {
    const std::size_t first = uses.size();
    for (const PoolShare& part : configuration.parts())
        add_use(uses, first, find_pool(pools, part), part.occupied_gpus());
}

GOODPUT_BODY void OpenNodes::find(const Cluster& cluster, std::span<const Job> jobs) {
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

GOODPUT_BODY void OpenNodes::find_kept(const Cluster& cluster, std::span<const Job> jobs) {
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

GOODPUT_BODY bool OpenNodes::is_spread(const Placement& placement, const NodeShare& share) const {
    return std::ranges::any_of(placement, [&](const NodeShare& other) {
        return other.node != share.node && pool_of_[other.node] == pool_of_[share.node];
    });
}

GOODPUT_BODY bool OpenNodes::add_kept(const Cluster& cluster, const Job& job, bool pinned, bool shares,
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
