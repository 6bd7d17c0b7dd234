#ifndef GOODPUT_PLACE_DETAIL_MOVE_SEARCH_HPP
#define GOODPUT_PLACE_DETAIL_MOVE_SEARCH_HPP

// Chooses the jobs that leave their nodes to make room, if not all can stay (least_moves.hpp, steps 3 and
// 4).
//
// First it takes the cheapest evictions that end every shortage of blocks (evictions.hpp). Their weight is
// a lower bound and, if each size divides the next larger one, they are the answer. If the other jobs still
// cannot be packed, more and more of the cheapest jobs leave until they can. Then jobs that need not leave
// after all stay. Finally, branch and bound decides which jobs leave, within the limit on work.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/place/detail/evictions.hpp"
#include "goodput/place/detail/pool_state.hpp"

namespace goodput::inline v0_1::detail {

/// Searches for evictions. It keeps its buffers from call to call.
class MoveSearch {
public:
    /// Sets `evicted` of the items so that s.pack() succeeds, and leaves s as after that s.pack(). Returns
    /// a lower bound on the weight of any evictions that make room. Two conditions must hold before: the
    /// accepted items fit if all of them may move, and s.pack() has failed with all of them staying.
    std::int64_t choose(PoolState& s);

private:
    std::int64_t evict_for_need(PoolState& s);
    std::int64_t search(PoolState& s, std::int64_t bound);
    void keep_again(PoolState& s);
    void branch(PoolState& s, std::size_t next, std::int64_t cost, bool failed);
    [[nodiscard]] static std::int64_t evicted_weight(const PoolState& s);

    EvictionChooser evictions_;
    std::vector<Stayer> stayers_;
    std::vector<int> rows_;  // sizes that are short
    std::vector<int> need_;  // missing blocks of each of these sizes
    std::vector<std::size_t> by_weight_, best_evicted_, kept_;
    std::int64_t best_weight_ = 0, bound_ = 0;
    bool search_complete_ = true;
};

inline std::int64_t MoveSearch::choose(PoolState& s) {
    rows_.clear();
    need_.clear();
    const auto add_row = [&](int size) {
        const std::int64_t shortage = size == s.pool->gpus_per_node
                                          ? std::int64_t{s.blocks.whole_nodes} - s.free_counts.back()
                                          : s.packer.shortage(s.free_counts, s.blocks, size);
        if (shortage <= 0) return;
        need_.push_back(static_cast<int>(shortage));
        rows_.push_back(size);
    };
    add_row(s.pool->gpus_per_node);
    for (std::size_t i = s.packer.sizes().size(); i-- > 0;) add_row(s.packer.sizes()[i]);
    const std::int64_t bound = rows_.empty() ? 0 : evict_for_need(s);
    return s.pack() == Packing::found ? bound : search(s, bound);
}

// Marks the cheapest evictions that gain need_. s.free must contain the GPUs that are free if every item
// stays.
inline std::int64_t MoveSearch::evict_for_need(PoolState& s) {
    stayers_.clear();
    for (std::size_t i = 0; i < s.items.size(); ++i) {
        const PoolItem& item = s.items[i];
        if (item.accepted && item.held && !item.whole)
            stayers_.push_back({s.current(item).front().node, item.size, item.weight, i});
    }
    const std::int64_t bound = evictions_.choose(stayers_, s.free, rows_, need_, s.cover_states);
    for (const std::size_t i : evictions_.evicted()) s.items[i].evicted = true;
    return bound;
}

inline std::int64_t MoveSearch::evicted_weight(const PoolState& s) {
    std::int64_t weight = 0;
    for (const PoolItem& item : s.items) weight += item.evicted ? item.weight : 0;
    return weight;
}

// Continues with step 4 of least_moves.hpp from the evictions of step 3. Returns a lower bound on the
// weight.
inline std::int64_t MoveSearch::search(PoolState& s, std::int64_t bound) {
    by_weight_.clear();
    for (std::size_t i = 0; i < s.items.size(); ++i)
        if (s.items[i].accepted && s.items[i].held && !s.items[i].whole) by_weight_.push_back(i);
    const auto heavier = [&](std::size_t a, std::size_t b) {
        return s.items[a].weight != s.items[b].weight ? s.items[a].weight > s.items[b].weight : a < b;
    };
    std::sort(by_weight_.begin(), by_weight_.end(), heavier);
    // Find a first solution by letting more and more of the light items leave. It exists, because admission
    // has found a packing for the case that all of them leave.
    std::size_t lightest = by_weight_.size();
    for (std::size_t batch = 1; lightest > 0; batch *= 2) {
        for (std::size_t i = 0; i < batch && lightest > 0; ++i)
            s.items[by_weight_[--lightest]].evicted = true;
        if (s.pack() == Packing::found) break;
    }
    keep_again(s);
    best_weight_ = evicted_weight(s);
    best_evicted_.clear();
    for (const std::size_t i : by_weight_)
        if (s.items[i].evicted) best_evicted_.push_back(i);

    if (best_weight_ > bound) {
        search_complete_ = true;
        for (const std::size_t i : by_weight_) s.items[i].evicted = false;
        bound_ = bound;
        branch(s, 0, 0, false);
        if (search_complete_) bound = best_weight_;
    }
    for (const std::size_t i : by_weight_) s.items[i].evicted = false;
    for (const std::size_t i : best_evicted_) s.items[i].evicted = true;
    s.pack();
    return std::min(bound, best_weight_);
}

// Lets evicted jobs stay again if the others still fit. It tries this with runs of consecutive jobs, the
// heaviest first, and halves a run until it succeeds.
inline void MoveSearch::keep_again(PoolState& s) {
    std::size_t evicted = 0;
    for (const std::size_t i : by_weight_) evicted += s.items[i].evicted ? 1U : 0U;
    for (std::size_t run = std::max<std::size_t>(evicted / 2, 1); evicted > 0; run /= 2) {
        for (std::size_t at = 0; at < by_weight_.size();) {
            kept_.clear();
            for (; at < by_weight_.size() && kept_.size() < run; ++at)
                if (s.items[by_weight_[at]].evicted) kept_.push_back(by_weight_[at]);
            if (kept_.empty() || s.work_left < s.search_work / 8) break;
            for (const std::size_t i : kept_) s.items[i].evicted = false;
            if (s.pack() == Packing::found) continue;
            for (const std::size_t i : kept_) s.items[i].evicted = true;
        }
        if (run == 1) break;
    }
}

// Branch and bound over the jobs that leave, the heaviest decided first. `failed` means that packing has
// failed with all items from `next` on staying.
inline void MoveSearch::branch(PoolState& s, std::size_t next, std::int64_t cost, bool failed) {
    if (cost >= best_weight_ || best_weight_ <= bound_) return;
    if (s.work_left == 0) {
        search_complete_ = false;
        return;
    }
    if (!failed) {
        const Packing packing = s.pack();
        if (packing == Packing::found) {
            best_weight_ = cost;
            best_evicted_.clear();
            for (const std::size_t i : by_weight_)
                if (s.items[i].evicted) best_evicted_.push_back(i);
            return;
        }
        if (packing == Packing::gave_up) search_complete_ = false;
    }
    if (next == by_weight_.size()) return;
    for (std::size_t i = next; i < by_weight_.size(); ++i) s.items[by_weight_[i]].evicted = true;
    s.set_free();
    s.count_free();
    s.count_blocks();
    s.spend(s.items.size() + s.pool->nodes.size());
    const bool hopeless = !s.packer.levels_hold(s.free_counts, s.blocks);
    for (std::size_t i = next; i < by_weight_.size(); ++i) s.items[by_weight_[i]].evicted = false;
    if (hopeless) return;
    PoolItem& item = s.items[by_weight_[next]];
    branch(s, next + 1, cost, true);
    item.evicted = true;
    branch(s, next + 1, cost + item.weight, false);
    item.evicted = false;
}

}  // namespace goodput::inline v0_1::detail

#endif
