#ifndef GOODPUT_PLACE_DETAIL_LAYOUT_HPP
#define GOODPUT_PLACE_DETAIL_LAYOUT_HPP

// Turns a packing into nodes. A packing only says, for each block (GPUs of one job on one node), how many
// GPUs must be free on the node that it goes to. Jobs that take whole nodes come first. They keep the nodes
// on which they run, unless another job holds more of the node (a HomeChoice may decide otherwise). A block
// goes to a node on which its job runs, if that node has the number of free GPUs that the packing says.

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "goodput/place/detail/pool_state.hpp"

namespace goodput::inline v0_1::detail {

/// Lays out a packing. It keeps its buffers from call to call.
class Layout {
public:
    using Placements = std::vector<Placement>;

    /// Gives every accepted item its nodes. Items that stay keep theirs, and the others get nodes as found
    /// by the last s.pack(), which must have succeeded. Updates s.free.
    void lay_out(PoolState& s, Placements& placements);

    /// Call this after lay_out(). If some items have nodes that leave too early, the items that need theirs
    /// longest get the nodes that stay longest. The contents of two nodes are exchanged only if the same
    /// number of GPUs was free on both.
    void exchange_for_stay(PoolState& s, Placements& placements);

    /// Call this after lay_out() if the search for a packing was given up. Accepts and places the items
    /// that still fit.
    void fill_up(PoolState& s, Placements& placements);

private:
    void whole_nodes(PoolState& s, Placements& placements);
    void block(PoolState& s, const PoolItem& item, std::size_t host, Placements& placements);

    std::vector<std::vector<std::size_t>> nodes_by_free_;
    std::vector<std::size_t> slot_;  // by node: position in nodes_by_free_
    std::vector<HomeClaim> claims_;
    std::vector<int> need_of_;  // by item: whole nodes that it still needs
    std::vector<int> free_;     // by node: free GPUs before the items that need nodes got them
};

inline void Layout::lay_out(PoolState& s, Placements& placements) {
    for (const PoolItem& item : s.items)
        if (item.accepted && !item.loose()) placements[item.job] = s.current(item);
    free_ = s.free;
    whole_nodes(s, placements);
    if (nodes_by_free_.size() < s.free_counts.size()) nodes_by_free_.resize(s.free_counts.size());
    for (auto& nodes : nodes_by_free_) nodes.clear();
    slot_.resize(s.free.size());
    for (std::size_t i = s.pool->nodes.size(); i-- > 0;) {
        auto& nodes = nodes_by_free_[static_cast<std::size_t>(s.free[s.pool->nodes[i]])];
        slot_[s.pool->nodes[i]] = nodes.size();
        nodes.push_back(s.pool->nodes[i]);
    }
    std::size_t next = 0;
    for (const PoolItem& item : s.items)
        if (item.loose() && !item.whole)
            block(s, item, static_cast<std::size_t>(s.packer.hosts()[next++]), placements);
}

// Places a block on a node with `host` free GPUs, if possible on one on which the job runs already.
inline void Layout::block(PoolState& s, const PoolItem& item, std::size_t host, Placements& placements) {
    auto& from = nodes_by_free_[host];
    std::size_t node = from.back();
    for (const NodeShare& share : s.current(item))
        if (s.contains(share.node) && s.free[share.node] == static_cast<int>(host)) {
            node = share.node;
            break;
        }
    slot_[from.back()] = slot_[node];
    from[slot_[node]] = from.back();
    from.pop_back();
    s.free[node] -= item.size;
    auto& to = nodes_by_free_[static_cast<std::size_t>(s.free[node])];
    slot_[node] = to.size();
    to.push_back(node);
    placements[item.job] = {{node, item.size}};
}

inline void Layout::whole_nodes(PoolState& s, Placements& placements) {
    claims_.clear();
    need_of_.assign(s.items.size(), 0);
    for (std::size_t i = 0; i < s.items.size(); ++i) {
        const PoolItem& item = s.items[i];
        if (!item.loose() || !item.whole) continue;
        need_of_[i] = item.nodes;
        for (const NodeShare& share : s.current(item))
            if (s.contains(share.node) && s.free[share.node] == s.pool->gpus_per_node)
                claims_.push_back({i, share.node, share.gpus});
    }
    if (s.homes != nullptr && !claims_.empty()) s.homes(claims_, need_of_);
    std::ranges::sort(claims_, {},
                      [](const HomeClaim& claim) { return std::tuple(-claim.held, claim.node, claim.job); });
    const auto give = [&](std::size_t i, std::size_t node) {
        placements[s.items[i].job].push_back({node, 0});
        s.free[node] = 0;
        --need_of_[i];
    };
    for (const HomeClaim& claim : claims_)
        if (need_of_[claim.job] > 0 && s.free[claim.node] == s.pool->gpus_per_node)
            give(claim.job, claim.node);
    auto node = s.pool->nodes.begin();
    for (std::size_t i = 0; i < s.items.size(); ++i) {
        const PoolItem& item = s.items[i];
        if (!item.loose() || !item.whole) continue;
        for (; need_of_[i] > 0; ++node)
            if (s.free[*node] == s.pool->gpus_per_node) give(i, *node);
        fill_whole_nodes(s.requests[item.job].part, placements[item.job]);
    }
}

inline void Layout::exchange_for_stay(PoolState& s, Placements& placements) {
    const auto is_brief = [&](std::size_t node, double needed) { return s.leaves_seconds(node) < needed; };
    bool any = false;
    for (const PoolItem& item : s.items)
        if (item.loose())
            for (const NodeShare& share : placements[item.job])
                any |= is_brief(share.node, s.needs_seconds(item));
    if (!any) return;
    // By node: longest time for which any item placed there needs the node.
    std::vector<double> needed(s.free.size(), 0);
    for (const PoolItem& item : s.items)
        if (item.loose())
            for (const NodeShare& share : placements[item.job])
                needed[share.node] = std::max(needed[share.node], s.needs_seconds(item));
    // Sort nodes by the GPUs that were free, then by how long they stay.
    std::vector<std::size_t> nodes = s.pool->nodes, contents = nodes, at(s.free.size());
    std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
        return free_[a] != free_[b] ? free_[a] < free_[b] : s.leaves_seconds(a) > s.leaves_seconds(b);
    });
    std::stable_sort(contents.begin(), contents.end(),
                     [&](std::size_t a, std::size_t b) { return needed[a] > needed[b]; });
    std::vector<std::size_t> next(s.free_counts.size(), 0), content(s.free.size());
    for (std::size_t i = nodes.size(); i-- > 0;) next[static_cast<std::size_t>(free_[nodes[i]])] = i;
    for (const std::size_t node : nodes) at[node] = content[node] = node;
    for (const std::size_t moved : contents) {
        const std::size_t node = at[moved];
        if (!is_brief(node, needed[moved])) continue;
        std::size_t& best = next[static_cast<std::size_t>(free_[node])];
        while (best < nodes.size() && free_[nodes[best]] == free_[node] &&
               needed[content[nodes[best]]] >= needed[moved])
            ++best;
        if (best == nodes.size() || free_[nodes[best]] != free_[node] ||
            s.leaves_seconds(nodes[best]) <= s.leaves_seconds(node))
            continue;
        const std::size_t other = nodes[best];
        std::swap(content[node], content[other]);
        std::swap(s.free[node], s.free[other]);
        at[content[node]] = node;
        at[content[other]] = other;
    }
    for (const PoolItem& item : s.items) {
        if (!item.loose()) continue;
        for (NodeShare& share : placements[item.job]) share.node = at[share.node];
        if (item.whole) fill_whole_nodes(s.requests[item.job].part, placements[item.job]);
    }
}

inline void Layout::fill_up(PoolState& s, Placements& placements) {
    for (PoolItem& item : s.items) {
        if (item.accepted) continue;
        if (item.whole) {
            auto& whole = nodes_by_free_[static_cast<std::size_t>(item.size)];
            if (whole.size() < static_cast<std::size_t>(item.nodes)) continue;
            Placement& placement = placements[item.job];
            for (int n = 0; n < item.nodes; ++n) {
                placement.push_back({whole.back(), 0});
                s.free[whole.back()] = 0;
                whole.pop_back();
            }
            fill_whole_nodes(s.requests[item.job].part, placement);
        } else {
            std::size_t host = static_cast<std::size_t>(item.size);
            while (host < s.free_counts.size() && nodes_by_free_[host].empty()) ++host;
            if (host == s.free_counts.size()) continue;
            block(s, item, host, placements);
        }
        item.accepted = true;
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
