#ifndef GOODPUT_PLACE_DETAIL_ADMISSION_HPP
#define GOODPUT_PLACE_DETAIL_ADMISSION_HPP

// Chooses the jobs to be placed in one pool if there is no room for all of them (least_moves.hpp, step 2).
//
// A set of jobs that fits still fits if one of its jobs is replaced by a smaller one. So if at most k jobs
// can be placed, the k smallest can. Bisection finds k. A set A of jobs can be extended to k jobs if and
// only if A fits together with the smallest of the other jobs, k in all. The jobs are tried in the order of
// their priority: running ones first, then by index. A job is accepted if it fits together with the jobs
// accepted so far and the smallest undecided ones, k in all. Takes O(jobs * sizes) if each size divides the
// next larger one.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "goodput/place/detail/pool_state.hpp"

namespace goodput::inline v0_1::detail {

/// Chooses the accepted jobs. It keeps its buffers from call to call.
class Admission {
public:
    /// Sets `accepted` of all items, so that the accepted ones can be packed if all of them may be moved.
    /// Returns false if the search for a packing was given up, because then more of them might fit.
    bool choose(PoolState& s);

private:
    std::vector<std::size_t> order_;
    std::vector<char> filler_;
};

inline bool Admission::choose(PoolState& s) {
    for (const std::size_t node : s.pool->nodes) s.free[node] = s.base[node];
    s.count_free();
    bool unknown = false;
    const auto fits = [&] {
        if (s.packer.chain()) return s.packer.levels_hold(s.free_counts, s.blocks);
        const Packing packing = s.packer.find(s.free_counts, s.blocks);
        s.spend(s.packer.steps() + s.items.size());
        unknown |= packing == Packing::gave_up;
        return packing == Packing::found;
    };
    const auto count_smallest = [&](std::size_t number) {
        s.blocks.whole_nodes = 0;
        s.blocks.count.assign(s.packer.sizes().size(), 0);
        for (std::size_t i = 0; i < number; ++i) s.count(s.items[s.items.size() - 1 - i], 1);
    };
    std::size_t most = s.items.size();
    count_smallest(most);
    if (fits()) return true;
    std::size_t least = 0;  // number of items that fit
    while (least + 1 < most) {
        const std::size_t middle = least + (most - least) / 2;
        count_smallest(middle);
        (fits() ? least : most) = middle;
    }
    const bool most_proven = !unknown;

    // From here on, `blocks` contains the accepted items and the smallest undecided ones, `least` in all.
    order_.resize(s.items.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
        if (s.items[a].running != s.items[b].running) return s.items[a].running;
        return s.items[a].job < s.items[b].job;
    });
    for (PoolItem& item : s.items) item.accepted = false;
    filler_.assign(s.items.size(), 0);
    count_smallest(least);
    for (std::size_t i = s.items.size() - least; i < s.items.size(); ++i) filler_[i] = 1;
    std::size_t largest_filler = s.items.size() - least;  // no filler comes before this index
    for (const std::size_t i : order_) {
        if (filler_[i]) {
            filler_[i] = 0;
            s.items[i].accepted = true;
            continue;
        }
        while (largest_filler < s.items.size() && !filler_[largest_filler]) ++largest_filler;
        // Once the search budget is used up, only the smallest undecided items are known to fit.
        if (largest_filler == s.items.size() || (!s.packer.chain() && s.work_left == 0)) continue;
        s.count(s.items[i], 1);
        s.count(s.items[largest_filler], -1);
        if (fits()) {
            filler_[largest_filler] = 0;
            s.items[i].accepted = true;
        } else {
            s.count(s.items[i], -1);
            s.count(s.items[largest_filler], 1);
        }
    }
    return most_proven;
}

}  // namespace goodput::inline v0_1::detail

#endif
