#ifndef GOODPUT_PLACE_DETAIL_EVICTIONS_HPP
#define GOODPUT_PLACE_DETAIL_EVICTIONS_HPP

// Which jobs leave their nodes, at least cost, so that no size of block is short any more? (least_moves.hpp,
// step 3.) Lists for every node the sets worth evicting and hands them to the covering problem. Of equally
// large jobs the cheapest leave first, so that a set is a count for each size: a node of 8 GPUs has at most
// 15 of them, and few are not dominated by a cheaper one with the same gains.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "goodput/place/detail/cover.hpp"

namespace goodput::detail {

/// A job on part of a node that may be moved.
struct Stayer {
    std::size_t node = 0;
    int size = 0;
    std::int64_t weight = 0;
    std::size_t item = 0;
};

/// Keeps its buffers from call to call.
class EvictionChooser {
public:
    /// Chooses evictions that gain at least need[r] blocks of rows[r] GPUs for every r, and returns a lower
    /// bound of the weight of any evictions that do. `free` is by node; `stayers` is sorted here.
    std::int64_t choose(std::vector<Stayer>& stayers, std::span<const int> free, std::span<const int> rows,
                        const CoverVector& need, std::size_t work_limit) {
        std::sort(stayers.begin(), stayers.end(), [](const Stayer& a, const Stayer& b) {
            return std::tie(a.node, a.size, a.weight, a.item) < std::tie(b.node, b.size, b.weight, b.item);
        });
        options_.clear();
        members_.clear();
        member_start_.assign(1, 0);
        evicted_.clear();
        complete_ = true;
        for (std::size_t first = 0, last = 0; first < stayers.size(); first = last) {
            while (last < stayers.size() && stayers[last].node == stayers[first].node) ++last;
            const auto here = std::span<const Stayer>(stayers).subspan(first, last - first);
            list(here, free[here.front().node], rows, need);
        }
        const CoverResult cover = cover_.solve(options_, need, work_limit);
        for (const std::size_t option : cover_.chosen())
            for (std::size_t m = member_start_[option]; m < member_start_[option + 1]; ++m)
                evicted_.push_back(members_[m]);
        return complete_ && cover.covered ? cover.bound : 0;
    }

    /// Items that the last choose() evicts.
    [[nodiscard]] std::span<const std::size_t> evicted() const { return evicted_; }

private:
    static constexpr std::size_t most_sets = 4096;  // of a node; beyond, only whole sizes leave

    struct Kind {  // the stayers of one size
        std::size_t first = 0, count = 0, leaving = 0;
    };
    struct Set {
        std::int64_t cost = 0;
        CoverVector gain{};
        std::size_t first_count = 0;  // in counts_
    };

    // The options of one node.
    void list(std::span<const Stayer> here, int free, std::span<const int> rows, const CoverVector& need) {
        kinds_.clear();
        sets_.clear();
        counts_.clear();
        for (std::size_t i = 0; i < here.size(); ++i) {
            if (i == 0 || here[i].size != here[i - 1].size) kinds_.push_back({i, 0, 0});
            ++kinds_.back().count;
        }
        std::size_t sets = 1;
        for (const Kind& kind : kinds_) sets = std::min(sets * (kind.count + 1), most_sets + 1);
        const bool all = sets <= most_sets;
        if (!all) complete_ = false;
        while (advance(all)) add_set(here, free, rows, need);
        std::stable_sort(sets_.begin(), sets_.end(),
                         [](const Set& a, const Set& b) { return a.cost < b.cost; });
        const std::size_t first_option = options_.size();
        for (const Set& set : sets_) {
            const auto dominates = [&](const CoverOption& other) {
                for (std::size_t r = 0; r < rows.size(); ++r)
                    if (other.gain[r] < set.gain[r]) return false;
                return true;
            };
            if (std::any_of(options_.begin() + static_cast<std::ptrdiff_t>(first_option), options_.end(),
                            dominates))
                continue;
            options_.push_back({here.front().node, set.cost, set.gain});
            for (std::size_t k = 0; k < kinds_.size(); ++k)
                for (std::size_t i = 0; i < counts_[set.first_count + k]; ++i)
                    members_.push_back(here[kinds_[k].first + i].item);
            member_start_.push_back(members_.size());
        }
    }

    // The next combination of counts, like an odometer; not `all`: the smallest sizes in full, one more a
    // time.
    bool advance(bool all) {
        for (Kind& kind : kinds_) {
            if (!all && kind.leaving == 0) {
                kind.leaving = kind.count;
                return true;
            }
            if (all && kind.leaving < kind.count) {
                ++kind.leaving;
                return true;
            }
            if (all) kind.leaving = 0;
        }
        return false;
    }

    void add_set(std::span<const Stayer> here, int free, std::span<const int> rows, const CoverVector& need) {
        Set set;
        int gpus = 0;
        for (const Kind& kind : kinds_) {
            gpus += static_cast<int>(kind.leaving) * here[kind.first].size;
            for (std::size_t i = 0; i < kind.leaving; ++i) set.cost += here[kind.first + i].weight;
        }
        bool useful = false;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            int gain = (free + gpus) / rows[r] - free / rows[r];
            for (const Kind& kind : kinds_)
                gain -= static_cast<int>(kind.leaving) * (here[kind.first].size / rows[r]);
            set.gain[r] = std::min(gain, need[r]);
            useful |= set.gain[r] > 0;
        }
        if (!useful) return;
        set.first_count = counts_.size();
        for (const Kind& kind : kinds_) counts_.push_back(kind.leaving);
        sets_.push_back(set);
    }

    CoverSolver cover_;
    std::vector<CoverOption> options_;
    std::vector<std::size_t> members_, member_start_, evicted_;
    std::vector<Kind> kinds_;
    std::vector<Set> sets_;
    std::vector<std::size_t> counts_;
    bool complete_ = true;
};

}  // namespace goodput::detail

#endif
