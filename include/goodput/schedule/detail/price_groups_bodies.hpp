#ifndef GOODPUT_SCHEDULE_DETAIL_PRICE_GROUPS_BODIES_HPP
#define GOODPUT_SCHEDULE_DETAIL_PRICE_GROUPS_BODIES_HPP

// The bodies behind detail/price_groups.hpp.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/bodies.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/schedule/detail/price_groups.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

GOODPUT_BODY bool PriceGroups::find(const Snapshot& snapshot) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    find_pools(snapshot.cluster, pools_);
    const auto unlike = [&](const Pool& pool) {
        return std::any_of(pool.nodes.begin(), pool.nodes.end(), [&](std::size_t n) {
            return nodes[n].dollars_per_hour != nodes[pool.nodes.front()].dollars_per_hour;
        });
    };
    if (std::none_of(pools_.begin(), pools_.end(), unlike)) return false;
    first_.resize(nodes.size());
    for (const Pool& pool : pools_)
        for (const std::size_t n : pool.nodes)
            first_[n] = *std::find_if(pool.nodes.begin(), pool.nodes.end(), [&](std::size_t other) {
                return nodes[other].dollars_per_hour == nodes[n].dollars_per_hour;
            });
    for (const Job& job : snapshot.jobs)
        for (const NodeShare& share : job.placement) join(nodes, job.placement.front().node, share.node);
    for (const Pool& pool : pools_)
        if (unlike(pool) && is_needed_whole(pool, snapshot.jobs))
            for (const std::size_t n : pool.nodes) join(nodes, pool.nodes.front(), n);
    separated_ = snapshot;
    for (const Pool& pool : pools_)
        if (unlike(pool)) number(pool, nodes);
    return true;
}

GOODPUT_BODY void PriceGroups::forget(const Cluster& cluster, const Placement& placement,
                                      Configuration& configuration) {
    std::vector<PoolShare> parts(configuration.parts().begin(), configuration.parts().end());
    for (PoolShare& part : parts)
        for (const NodeShare& share : placement)
            if (PoolId of = cluster.nodes[share.node]; part.group < 0) {
                of.group = part.group;
                if (of == part) part.group = cluster.nodes[share.node].group;
            }
    configuration = Configuration(std::move(parts), configuration.host());
}

GOODPUT_BODY void PriceGroups::number(const Pool& pool, const std::vector<Node>& nodes) {
    by_price_ = pool.nodes;
    std::stable_sort(by_price_.begin(), by_price_.end(), [&](std::size_t a, std::size_t b) {
        return nodes[a].dollars_per_hour < nodes[b].dollars_per_hour;
    });
    known_.clear();
    for (const std::size_t n : by_price_) {
        const auto at = std::find(known_.begin(), known_.end(), first_of(n));
        separated_.cluster.nodes[n].group =
            static_cast<int>(at - known_.begin()) - static_cast<int>(nodes.size());
        if (at == known_.end()) known_.push_back(first_of(n));
    }
}

GOODPUT_BODY bool PriceGroups::is_needed_whole(const Pool& pool, std::span<const Job> jobs) {
    std::ptrdiff_t largest = 0;
    for (const std::size_t n : pool.nodes)
        largest = std::max(largest, std::count_if(pool.nodes.begin(), pool.nodes.end(),
                                                  [&](std::size_t m) { return first_of(m) == first_of(n); }));
    return std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) {
        const std::ptrdiff_t fewest = job.adaptivity == Adaptivity::none ? job.max_gpus : job.min_gpus,
                             needed = (fewest + pool.gpus_per_node - 1) / pool.gpus_per_node;
        return job.types[pool.gpu_type].max_atomic_batch > 0 && needed > largest &&
               needed <= static_cast<std::ptrdiff_t>(pool.nodes.size());
    });
}

GOODPUT_BODY void PriceGroups::join(const std::vector<Node>& nodes, std::size_t a, std::size_t b) {
    if (!is_node_of(nodes[a], nodes[b])) return;
    a = first_of(a);
    b = first_of(b);
    first_[std::max(a, b)] = std::min(a, b);
}

}  // namespace goodput::detail

#endif
