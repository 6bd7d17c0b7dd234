#ifndef GOODPUT_PLACE_DETAIL_POOL_STATE_HPP
#define GOODPUT_PLACE_DETAIL_POOL_STATE_HPP

// The state that the steps of a placement share: the jobs of one pool, which of them stay, and what is
// free.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/place/detail/packing.hpp"
#include "goodput/place/request.hpp"

namespace goodput::inline v0_1::detail {

/// One job to be placed: an unpinned job with an allotment in the pool.
struct PoolItem {
    std::size_t job = 0;
    int nodes = 1;
    int size = 0;  ///< GPUs on each of its nodes; the node's size for whole nodes
    /// Cost of moving it: milliseconds, scaled so that the number of moves breaks ties.
    std::int64_t weight = 0;
    bool running = false;
    bool held = false;     ///< whether it holds its allotment
    bool accepted = true;  ///< whether it gets nodes
    bool evicted = false;  ///< whether it must leave the nodes that it holds
    bool whole = false;    ///< whether it takes whole nodes

    /// Whether it needs nodes, because it never held them or must leave them.
    [[nodiscard]] bool loose() const { return accepted && (!held || evicted); }
    [[nodiscard]] std::int64_t occupied() const { return std::int64_t{nodes} * size; }
};

/// GPUs of a node that the loose items must leave free.
struct SetAside {
    std::size_t node = 0;
    int gpus = 0;  ///< 0 if nothing is set aside
};

/// One pool while its jobs are placed. "By node" means by index into Cluster::nodes.
struct PoolState {
    const Cluster* cluster = nullptr;
    std::span<const PlacementRequest> requests;
    const Pool* pool = nullptr;
    /// Sorted by size, largest first; then running jobs before others; then by index.
    std::vector<PoolItem> items;
    std::vector<int> base;   ///< by node: GPUs that are free if only the pinned jobs stay
    std::vector<int> free;   ///< by node: GPUs that the staying jobs leave free, after set_free()
    FreeCounts free_counts;  ///< counts of `free`, after count_free()
    Blocks blocks;           ///< blocks of the loose items, after count_blocks()
    Packer packer;
    std::size_t search_work = 0;  ///< limit on the numbers of items and nodes looked at
    std::size_t work_left = 0;
    std::size_t cover_states = 0;
    HomeChoice homes = nullptr;

    /// Sorts the items and prepares the packer. `items` and `base` must be filled in before.
    void start(std::size_t search_steps);

    /// Computes the free GPUs under the assumption that every accepted item that stays is in place.
    void set_free();
    void count_free();
    void count_blocks();

    /// Tries to place the loose items next to those that stay.
    Packing pack();

    /// Call this after a successful pack(). Packs again, so that as many nodes as possible stay wholly free
    /// or, if none does, as large a block as possible. This is exact if each size divides the next larger
    /// one; otherwise the searches are limited. The GPUs that stay free are subtracted from `free` until
    /// the caller adds them again.
    SetAside set_aside();

    /// Call this after a successful pack(). Packs again without nodes that leave before the loose items
    /// have ended. It avoids as many of these nodes as possible, the earliest to leave first. Their free
    /// GPUs are subtracted from `free` until give_back_leaving().
    void avoid_leaving();
    void give_back_leaving() {
        for (const NodeShare& share : avoided_) free[share.node] += share.gpus;
        avoided_.clear();
    }
    [[nodiscard]] double leaves_seconds(std::size_t node) const {
        return cluster->nodes[node].leaves_seconds;
    }
    [[nodiscard]] double needs_seconds(const PoolItem& item) const {
        return requests[item.job].needs_seconds;
    }

    void spend(std::size_t work) { work_left -= std::min(work_left, work); }

    /// Adds the blocks of an item to `blocks`, or removes them if `sign` is -1.
    void count(const PoolItem& item, int sign) {
        if (item.whole)
            blocks.whole_nodes += sign * item.nodes;
        else
            blocks.count[level_of(item.size)] += sign;
    }

    [[nodiscard]] const Placement& current(const PoolItem& item) const { return requests[item.job].current; }

    [[nodiscard]] bool contains(std::size_t node) const { return is_node_of(cluster->nodes[node], *pool); }

private:
    [[nodiscard]] std::size_t level_of(int size) const {
        const auto sizes = packer.sizes();
        return static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), size) - sizes.begin());
    }
    Packing find_with(const FreeCounts& counts) {
        const Packing packing = packer.find(counts, blocks);
        spend(packer.steps() + static_cast<std::size_t>(pool->gpus_per_node));
        return packing;
    }
    bool pack_without(double leaves_by);
    std::vector<NodeShare> avoided_;  // free GPUs on avoided nodes
    std::vector<double> departures_;  // departures of nodes with free GPUs
    std::vector<int> sizes_;
    FreeCounts reduced_;
};

inline void PoolState::start(std::size_t search_steps) {
    std::sort(items.begin(), items.end(), [](const PoolItem& a, const PoolItem& b) {
        if (a.occupied() != b.occupied()) return a.occupied() > b.occupied();
        return a.running != b.running ? a.running : a.job < b.job;
    });
    sizes_.clear();
    for (const PoolItem& item : items)
        if (!item.whole && (sizes_.empty() || sizes_.back() != item.size)) sizes_.push_back(item.size);
    std::reverse(sizes_.begin(), sizes_.end());
    packer.prepare(sizes_, search_steps);
    work_left = search_work;
}

inline void PoolState::set_free() {
    for (const std::size_t node : pool->nodes) free[node] = base[node];
    for (const PoolItem& item : items) {
        if (!item.accepted || item.loose()) continue;
        for (const NodeShare& share : current(item))
            free[share.node] = item.whole ? 0 : free[share.node] - item.size;
    }
}

inline void PoolState::count_free() {
    free_counts.assign(static_cast<std::size_t>(pool->gpus_per_node) + 1, 0);
    for (const std::size_t node : pool->nodes) ++free_counts[static_cast<std::size_t>(free[node])];
}

inline void PoolState::count_blocks() {
    blocks.whole_nodes = 0;
    blocks.count.assign(packer.sizes().size(), 0);
    for (const PoolItem& item : items)
        if (item.loose()) count(item, 1);
}

inline Packing PoolState::pack() {
    set_free();
    count_free();
    count_blocks();
    const Packing packing = packer.find(free_counts, blocks);
    spend(packer.steps() + items.size() + pool->nodes.size());
    return packing;
}

inline void PoolState::avoid_leaving() {
    double longest = 0;
    for (const PoolItem& item : items)
        if (item.loose()) longest = std::max(longest, needs_seconds(item));
    departures_.clear();
    for (const std::size_t node : pool->nodes)
        if (free[node] > 0 && leaves_seconds(node) < longest) departures_.push_back(leaves_seconds(node));
    if (departures_.empty()) return;
    std::sort(departures_.begin(), departures_.end());
    departures_.erase(std::unique(departures_.begin(), departures_.end()), departures_.end());
    if (pack_without(departures_.back())) return;
    // Nodes with the first `spared` departures can be avoided; those with the first `needed` cannot.
    std::size_t spared = 0, needed = departures_.size();
    while (spared + 1 < needed) {
        const std::size_t middle = spared + (needed - spared) / 2;
        (pack_without(departures_[middle - 1]) ? spared : needed) = middle;
    }
    if (spared > 0 && pack_without(departures_[spared - 1])) return;
    avoided_.clear();
    pack();
}

// Packs without the free GPUs on nodes that leave at `leaves_by` or earlier.
inline bool PoolState::pack_without(double leaves_by) {
    avoided_.clear();
    set_free();
    for (const std::size_t node : pool->nodes)
        if (free[node] > 0 && leaves_seconds(node) <= leaves_by)
            avoided_.push_back({node, std::exchange(free[node], 0)});
    count_free();
    return find_with(free_counts) == Packing::found;
}

inline SetAside PoolState::set_aside() {
    if (packer.blocks() == 0) return {};
    reduced_ = free_counts;
    // Best fit uses the fewest wholly free nodes if each size divides the next. Otherwise try to keep one
    // more node free at a time.
    int whole = packer.whole_left();
    if (!packer.chain() && free_counts.back() > blocks.whole_nodes) {
        const auto keep = [&](int nodes) {
            reduced_.back() = free_counts.back() - nodes;
            return find_with(reduced_) == Packing::found;
        };
        while (work_left > search_work / 2 && keep(whole + 1)) ++whole;
        keep(whole);
    }
    if (whole > 0) return {};
    const int largest = packer.largest_left();
    for (int gpus = pool->gpus_per_node - 1; gpus > largest; --gpus)
        for (int f = gpus; f <= pool->gpus_per_node && work_left > search_work / 2; ++f) {
            const auto from = static_cast<std::size_t>(f), to = static_cast<std::size_t>(f - gpus);
            if (free_counts[from] == 0) continue;
            reduced_ = free_counts;
            --reduced_[from];
            ++reduced_[to];
            if (find_with(reduced_) != Packing::found) continue;
            const auto node = std::find_if(pool->nodes.rbegin(), pool->nodes.rend(),
                                           [&](std::size_t n) { return free[n] == f; });
            free[*node] -= gpus;
            return {*node, gpus};
        }
    packer.find(free_counts, blocks);
    return {};
}

}  // namespace goodput::inline v0_1::detail

#endif
