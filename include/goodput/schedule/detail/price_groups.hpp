#ifndef GOODPUT_SCHEDULE_DETAIL_PRICE_GROUPS_HPP
#define GOODPUT_SCHEDULE_DETAIL_PRICE_GROUPS_HPP

// Before a round in which dollars are limited: nodes of one pool that cost unlike become pools of their own.
// An option then costs what its nodes cost, and not a mean that no node has. Nodes over which one job runs
// stay together, so that it can go on as it is.
//
// The allotment takes longer with each group. Where there are too many for the number of jobs, near prices of
// a pool count as one, the dearest of them, so that a budget still holds.

#include <cstddef>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

/// A snapshot with groups by price. Keeps its buffers.
class PriceGroups {
public:
    /// Whether nodes of one pool cost unlike. If so, snapshot() has them in groups.
    bool find(const Snapshot& snapshot);
    /// The snapshot of the last find() that was true.
    [[nodiscard]] const Snapshot& snapshot() const { return separated_; }

    /// Names the pools of a configuration as the cluster does.
    static void forget(const Cluster& cluster, const Placement& placement, Configuration& configuration);

private:
    // Groups times jobs from which on near prices count as one, and then the groups in all.
    static constexpr std::size_t most_work = 200'000, most_groups = 64;

    /// Makes by_price_ the nodes of a pool, the cheapest first.
    void sort_by_price(const Pool& pool, const std::vector<Node>& nodes);
    /// The groups of by_price_ if prices up to `factor` times the least of a group belong to it.
    [[nodiscard]] std::size_t count_groups(const std::vector<Node>& nodes, double factor) const;
    /// Groups a pool's nodes by price, with the smallest factor that makes at most `most` groups. Sets what
    /// nodes cost in the copy.
    void join_near_prices(const Pool& pool, const std::vector<Node>& nodes, std::size_t most);
    /// Below 0, unlike the groups that callers have, and the cheapest first.
    void number(const Pool& pool, const std::vector<Node>& nodes);
    /// A job that fits the pool needs more nodes than any group of it has.
    bool is_needed_whole(const Pool& pool, std::span<const Job> jobs);
    /// The node by which the group of a node is known.
    std::size_t first_of(std::size_t node) {
        while (first_[node] != node) node = first_[node] = first_[first_[node]];
        return node;
    }
    void join(const std::vector<Node>& nodes, std::size_t a, std::size_t b);

    std::vector<Pool> pools_;
    std::vector<std::size_t> by_price_, known_;  // of one pool
    std::vector<std::size_t> first_;             // by node
    Snapshot separated_;
};

}  // namespace goodput::detail

#ifndef GOODPUT_COMPILED
#include "goodput/schedule/detail/price_groups_bodies.hpp"
#endif

#endif
