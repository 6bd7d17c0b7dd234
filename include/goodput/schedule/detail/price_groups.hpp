#ifndef GOODPUT_SCHEDULE_DETAIL_PRICE_GROUPS_HPP
#define GOODPUT_SCHEDULE_DETAIL_PRICE_GROUPS_HPP

// Prepares a round in which dollars are limited: nodes of one pool with different prices become pools of
// their own. An option then costs what its nodes cost, and not a mean that no node has. Nodes that one job
// holds stay in one pool, so that the job can continue unchanged. A pool is not split if a job needs more
// nodes than the pool has at any one price.
//
// The allotment takes longer with each group. If there are too many groups for the number of jobs, similar
// prices of a pool are replaced by the highest of them, so that a budget still holds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// A snapshot with nodes grouped by price. It keeps its buffers.
class PriceGroups {
public:
    /// Whether nodes of one pool have different prices. If so, snapshot() has them in groups.
    bool find(const Snapshot& snapshot);
    /// The snapshot of the last find() that returned true.
    [[nodiscard]] const Snapshot& snapshot() const { return separated_; }

    /// Replaces the pools of a configuration, which are groups by price, by those of the given cluster.
    static void forget(const Cluster& cluster, const Placement& placement, Configuration& configuration);

private:
    // If groups times jobs exceed most_work, similar prices are joined until there are at most about
    // most_groups groups.
    static constexpr std::size_t most_work = 200'000, most_groups = 64;

    /// Sets by_price_ to the nodes of a pool, the cheapest first.
    void sort_by_price(const Pool& pool, const std::vector<Node>& nodes);
    /// Counts the groups of by_price_ if each group contains prices up to `factor` times its lowest.
    [[nodiscard]] std::size_t count_groups(const std::vector<Node>& nodes, double factor) const;
    /// Groups a pool's nodes by price, with the smallest factor that makes at most `most` groups. Sets the
    /// prices of nodes in the copy.
    void join_near_prices(const Pool& pool, const std::vector<Node>& nodes, std::size_t most);
    /// Numbers the groups, the cheapest first. Numbers are negative, unlike those of groups that callers
    /// set.
    void number(const Pool& pool, const std::vector<Node>& nodes);
    /// Whether a job that would fit the whole pool needs more nodes than any one group has.
    bool is_needed_whole(const Pool& pool, std::span<const Job> jobs);
    /// Returns the node that represents the group of a node.
    std::size_t first_of(std::size_t node) {
        while (first_[node] != node) node = first_[node] = first_[first_[node]];
        return node;
    }
    void join(const std::vector<Node>& nodes, std::size_t a, std::size_t b);

    std::vector<Pool> pools_;
    std::vector<std::size_t> by_price_, known_;  // nodes of one pool
    std::vector<std::size_t> first_;             // by node
    Snapshot separated_;
};

inline bool PriceGroups::find(const Snapshot& snapshot) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    find_pools(snapshot.cluster, pools_);
    const auto unlike = [&](const Pool& pool) {
        return std::any_of(pool.nodes.begin(), pool.nodes.end(), [&](std::size_t n) {
            return nodes[n].dollars_per_hour != nodes[pool.nodes.front()].dollars_per_hour;
        });
    };
    if (std::none_of(pools_.begin(), pools_.end(), unlike)) return false;
    separated_ = snapshot;
    first_.resize(nodes.size());
    std::size_t prices = 0, unlike_pools = 0;
    for (const Pool& pool : pools_) {
        if (!unlike(pool)) continue;
        sort_by_price(pool, nodes);
        prices += count_groups(nodes, 1);
        ++unlike_pools;
    }
    const std::size_t most = prices * snapshot.jobs.size() <= most_work
                                 ? prices
                                 : std::max<std::size_t>(most_groups / unlike_pools, 2);
    for (const Pool& pool : pools_) join_near_prices(pool, nodes, most);
    for (const Job& job : snapshot.jobs)
        for (const NodeShare& share : job.placement) join(nodes, job.placement.front().node, share.node);
    for (const Pool& pool : pools_)
        if (unlike(pool) && is_needed_whole(pool, snapshot.jobs))
            for (const std::size_t n : pool.nodes) join(nodes, pool.nodes.front(), n);
    for (const Pool& pool : pools_)
        if (unlike(pool)) number(pool, separated_.cluster.nodes);
    return true;
}

inline void PriceGroups::sort_by_price(const Pool& pool, const std::vector<Node>& nodes) {
    by_price_ = pool.nodes;
    std::ranges::stable_sort(by_price_, {}, [&](std::size_t n) { return nodes[n].dollars_per_hour; });
}

inline std::size_t PriceGroups::count_groups(const std::vector<Node>& nodes, double factor) const {
    std::size_t count = 0;
    double dearest = -1;
    for (const std::size_t n : by_price_)
        if (nodes[n].dollars_per_hour > dearest) {
            dearest = nodes[n].dollars_per_hour * factor;
            ++count;
        }
    return count;
}

inline void PriceGroups::join_near_prices(const Pool& pool, const std::vector<Node>& nodes,
                                          std::size_t most) {
    const auto price = [&](std::size_t n) { return nodes[n].dollars_per_hour; };
    sort_by_price(pool, nodes);
    double factor = 1;
    if (count_groups(nodes, factor) > most) {
        double exponent = 0;  // exponent of 2
        for (double step = 512; step > 1e-6; step /= 2)
            if (count_groups(nodes, std::exp2(exponent + step)) > most) exponent += step;
        factor = std::exp2(exponent + 2e-6);
    }
    for (std::size_t begin = 0, end = 0; begin < by_price_.size(); begin = end) {
        const double dearest = price(by_price_[begin]) * factor;
        while (end < by_price_.size() && price(by_price_[end]) <= dearest) ++end;
        const auto group = std::span<const std::size_t>(by_price_).subspan(begin, end - begin);
        const std::size_t first = *std::ranges::min_element(group);
        for (const std::size_t n : group) {
            first_[n] = first;
            separated_.cluster.nodes[n].dollars_per_hour = price(group.back());
        }
    }
}

inline void PriceGroups::forget(const Cluster& cluster, const Placement& placement,
                                Configuration& configuration) {
    std::vector<PoolShare> parts(configuration.parts().begin(), configuration.parts().end());
    for (PoolShare& part : parts)
        for (const NodeShare& share : placement)
            if (PoolId pool = cluster.nodes[share.node]; part.group < 0) {
                pool.group = part.group;
                if (pool == part) part.group = cluster.nodes[share.node].group;
            }
    configuration = Configuration(std::move(parts), configuration.host());
}

inline void PriceGroups::number(const Pool& pool, const std::vector<Node>& nodes) {
    sort_by_price(pool, nodes);
    known_.clear();
    for (const std::size_t n : by_price_) {
        const auto at = std::find(known_.begin(), known_.end(), first_of(n));
        separated_.cluster.nodes[n].group =
            static_cast<int>(at - known_.begin()) - static_cast<int>(nodes.size());
        if (at == known_.end()) known_.push_back(first_of(n));
    }
}

inline bool PriceGroups::is_needed_whole(const Pool& pool, std::span<const Job> jobs) {
    std::ptrdiff_t largest = 0;
    std::map<std::size_t, std::ptrdiff_t> nodes_of;
    for (const std::size_t n : pool.nodes) largest = std::max(largest, ++nodes_of[first_of(n)]);
    return std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) {
        const std::ptrdiff_t needed = (job.fewest_gpus() + pool.gpus_per_node - 1) / pool.gpus_per_node;
        return job.types[pool.gpu_type].max_atomic_batch > 0 && needed > largest &&
               needed <= static_cast<std::ptrdiff_t>(pool.nodes.size());
    });
}

inline void PriceGroups::join(const std::vector<Node>& nodes, std::size_t a, std::size_t b) {
    if (!is_node_of(nodes[a], nodes[b])) return;
    a = first_of(a);
    b = first_of(b);
    first_[std::max(a, b)] = std::min(a, b);
}

}  // namespace goodput::inline v0_1::detail

#endif
