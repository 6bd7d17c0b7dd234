#ifndef GOODPUT_PLACE_DETAIL_EVICTIONS_HPP
#define GOODPUT_PLACE_DETAIL_EVICTIONS_HPP

// Chooses the jobs that must leave their nodes, at the least cost, so that there are enough free blocks of
// every size (least_moves.hpp, step 3). A block of size s is s free GPUs on one node.
//
// This is solved as an allotment problem. If all jobs left all nodes, there would be more blocks of each
// size than are needed. The surplus is the capacity, and a job that stays on a node takes some of it. The
// options of a node are the sets of its jobs that may stay; the value of a set is the cost of moving its
// jobs, which is saved. Among equally large jobs the cheapest leave first, so a set is described by a count
// for each size: a node of 8 GPUs has at most 15 sets.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "goodput/allot/allot.hpp"

namespace goodput::inline v0_1::detail {

/// A job on part of a node that may be moved.
struct Stayer {
    std::size_t node = 0;
    int size = 0;
    std::int64_t weight = 0;
    std::size_t item = 0;
};

/// Chooses evictions. It keeps its buffers from call to call.
class EvictionChooser {
public:
    /// Chooses evictions that gain at least need[r] blocks of rows[r] GPUs for every r. Returns a lower
    /// bound on the weight of any such evictions. `free` contains the free GPUs by node. Sorts `stayers`.
    /// The search looks at no more than `most_states` states.
    std::int64_t choose(std::vector<Stayer>& stayers, std::span<const int> free, std::span<const int> rows,
                        std::span<const int> need, std::size_t most_states) {
        std::sort(stayers.begin(), stayers.end(), [](const Stayer& a, const Stayer& b) {
            return std::tie(a.node, a.size, a.weight, a.item) < std::tie(b.node, b.size, b.weight, b.item);
        });
        problem_.clear();
        problem_.capacity.assign(rows.size(), 0);
        nodes_.clear();
        kinds_.clear();
        counts_.clear();
        evicted_.clear();
        complete_ = true;
        std::int64_t all = 0;
        for (std::size_t first = 0, last = 0; first < stayers.size(); first = last) {
            while (last < stayers.size() && stayers[last].node == stayers[first].node) ++last;
            const auto here = std::span<const Stayer>(stayers).subspan(first, last - first);
            all += list(here, first, free[here.front().node], rows, need);
        }
        for (std::size_t r = 0; r < rows.size(); ++r) problem_.capacity[r] -= std::max(need[r], 0);
        if (std::ranges::any_of(problem_.capacity, [](double left) { return left < 0; })) return 0;
        const AllotResult& best = allotter_(problem_, {.gap = 0, .most_states = most_states});
        std::int64_t cost = 0;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            const Node& node = nodes_[n];
            for (std::size_t k = 0; k < node.kinds; ++k) {
                const Kind& kind = kinds_[node.first_kind + k];
                const std::size_t leaving = best.choice[n] == no_option
                                                ? kind.count
                                                : counts_[node.first_count + best.choice[n] * node.kinds + k];
                for (std::size_t i = kind.first; i < kind.first + leaving; ++i) {
                    evicted_.push_back(stayers[i].item);
                    cost += stayers[i].weight;
                }
            }
        }
        if (!complete_) return 0;
        if (best.status == AllotStatus::optimal) return cost;
        return std::clamp<std::int64_t>(all - static_cast<std::int64_t>(std::ceil(best.bound)), 0, cost);
    }

    /// The items that the last choose() evicts.
    [[nodiscard]] std::span<const std::size_t> evicted() const { return evicted_; }

private:
    // The most sets of a node's jobs to consider. If a node has more, all jobs of one size leave, or none.
    static constexpr std::size_t most_sets = 4096;

    struct Kind {  // the stayers of one size on a node
        std::size_t first = 0, count = 0, leaving = 0;
        int size = 0;
    };
    struct Node {  // its options are `kinds` counts each: how many of each kind leave
        std::size_t first_kind = 0, kinds = 0, first_count = 0;
    };

    // Adds the options of one node, if evictions on it gain anything. Returns the weight of all its
    // stayers.
    std::int64_t list(std::span<const Stayer> here, std::size_t first, int free, std::span<const int> rows,
                      std::span<const int> need) {
        const std::size_t first_kind = kinds_.size();
        std::size_t sets = 1;
        for (std::size_t i = 0; i < here.size(); ++i) {
            if (i == 0 || here[i].size != here[i - 1].size) kinds_.push_back({first + i, 0, 0, here[i].size});
            ++kinds_.back().count;
        }
        const std::span<Kind> kinds = std::span(kinds_).subspan(first_kind);
        for (const Kind& kind : kinds) sets = std::min(sets * (kind.count + 1), most_sets + 1);
        const bool all = sets <= most_sets;
        gain(kinds, free, rows, need, true, most_gain_);
        if (std::ranges::all_of(most_gain_, [](int blocks) { return blocks == 0; })) {
            kinds_.resize(first_kind);
            return 0;
        }
        if (!all) complete_ = false;
        std::int64_t weight = 0;
        for (const Stayer& stayer : here) weight += stayer.weight;
        for (std::size_t r = 0; r < rows.size(); ++r) problem_.capacity[r] += most_gain_[r];
        nodes_.push_back({first_kind, kinds.size(), counts_.size()});
        problem_.add_job();
        do {
            gain(kinds, free, rows, need, false, gain_);
            std::int64_t leaving = 0;
            for (const Kind& kind : kinds)
                for (std::size_t i = 0; i < kind.leaving; ++i) leaving += here[kind.first - first + i].weight;
            uses_.clear();
            for (std::size_t r = 0; r < rows.size(); ++r)
                if (most_gain_[r] > gain_[r])
                    uses_.push_back(
                        {static_cast<std::uint32_t>(r), static_cast<double>(most_gain_[r] - gain_[r])});
            problem_.add_option(static_cast<double>(weight - leaving), uses_);
            for (const Kind& kind : kinds) counts_.push_back(kind.leaving);
        } while (advance(kinds, all));
        return weight;
    }

    // Steps to the next combination of counts, as an odometer does. If `all` is false, steps only through
    // combinations in which the smallest sizes have left completely, one size more at a time.
    static bool advance(std::span<Kind> kinds, bool all) {
        for (Kind& kind : kinds) {
            if (kind.leaving < kind.count) {
                kind.leaving = all ? kind.leaving + 1 : kind.count;
                return true;
            }
            if (all) kind.leaving = 0;
        }
        return false;
    }

    // Computes how many more blocks there are once the leaving jobs (with `all`: all jobs) are gone and
    // placed elsewhere, but at most the need.
    static void gain(std::span<const Kind> kinds, int free, std::span<const int> rows,
                     std::span<const int> need, bool all, std::vector<int>& gain) {
        gain.clear();
        int gpus = 0;
        const auto leaving = [&](const Kind& kind) {
            return static_cast<int>(all ? kind.count : kind.leaving);
        };
        for (const Kind& kind : kinds) gpus += leaving(kind) * kind.size;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            int blocks = (free + gpus) / rows[r] - free / rows[r];
            for (const Kind& kind : kinds) blocks -= leaving(kind) * (kind.size / rows[r]);
            gain.push_back(std::min(blocks, std::max(need[r], 0)));
        }
    }

    Allotter<> allotter_;
    AllotmentProblem problem_;  // its jobs are nodes
    std::vector<Node> nodes_;   // by job of the problem
    std::vector<Kind> kinds_;
    std::vector<std::size_t> counts_, evicted_;
    std::vector<int> most_gain_, gain_;
    std::vector<ResourceUse> uses_;
    bool complete_ = true;
};

}  // namespace goodput::inline v0_1::detail

#endif
