#ifndef GOODPUT_PLACE_DETAIL_ADMISSION_HPP
#define GOODPUT_PLACE_DETAIL_ADMISSION_HPP

// Who is placed, if not everybody can be? (least_moves.hpp, step 2.)
//
// Exchanging a job for a smaller one keeps a set packable. So the most jobs that can be placed are the k
// smallest for some k, found by bisection, and a set A can be extended to k jobs if and only if it can be
// with the smallest of the others. The jobs are asked in the order of their priority: those that run, then
// the lower index. A job is accepted if it, those accepted so far and the smallest undecided ones, k in all,
// can be packed. O(jobs * sizes) where sizes form a divisor chain.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "goodput/place/detail/pool_state.hpp"

namespace goodput::detail {

/// Keeps its buffers from call to call.
class Admission {
public:
    /// Sets `accepted` of all items, so that the accepted ones can be packed if none of them has to stay.
    /// False if more of them might be placed: the search for a packing was given up.
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
    std::size_t least = 0;  // this many fit
    while (least + 1 < most) {
        const std::size_t middle = least + (most - least) / 2;
        count_smallest(middle);
        (fits() ? least : most) = middle;
    }
    const bool most_proven = !unknown;

    // The blocks from here on: the accepted ones and the smallest undecided ones, `least` in all.
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
    std::size_t largest_filler = s.items.size() - least;  // none before it
    for (const std::size_t i : order_) {
        if (filler_[i]) {
            filler_[i] = 0;
            s.items[i].accepted = true;
            continue;
        }
        while (largest_filler < s.items.size() && !filler_[largest_filler]) ++largest_filler;
        // Without search left, the smallest undecided ones are known to fit.
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

}  // namespace goodput::detail

#endif
