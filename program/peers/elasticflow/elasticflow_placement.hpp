#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_PLACEMENT_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_PLACEMENT_HPP

// Places the jobs of ElasticFlow's public simulator anew in every round, one after the other, on nodes of
// equal size.
//
// Used nodes are filed by the largest of some sizes that divides their free GPUs, and full nodes by the
// size of the job that came last. A job takes the least used node that is filed under its size or, if there
// is none, under a larger size. Otherwise it takes the first free nodes. A job's GPUs have ranks: nodes in
// order, and on a node the jobs in the order in which they came.

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/placement.hpp"

namespace goodput::peers {

/// A job that gets GPUs.
struct ElasticflowRun {
    std::size_t job = 0;
    int gpus = 0;
};

/// The nodes of a round.
class ElasticflowPlacement {
public:
    /// A cluster of `nodes` nodes with `gpus_per_node` GPUs each.
    ElasticflowPlacement(std::size_t nodes, int gpus_per_node)
        : gpus_per_node_(gpus_per_node), nodes_(nodes) {}

    /// Places these jobs in this order on empty nodes. Returns whether that succeeds. If not, place the
    /// jobs with most GPUs first, which works for powers of two.
    bool place(std::span<const ElasticflowRun> runs) {
        groups_.clear();
        filed_.clear();
        used_nodes_ = 0;
        return std::all_of(runs.begin(), runs.end(), [&](const ElasticflowRun& run) { return place(run); });
    }

    /// Calls visit(job, placement, first rank) for all placed jobs.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Group& group : groups_) {
            int taken = 0;
            for (const ElasticflowRun& run : group.runs) {
                Placement placement;
                for (int left = run.gpus, at = taken; left > 0;) {
                    const int free = gpus_per_node_ - at % gpus_per_node_, part = std::min(left, free);
                    placement.push_back(
                        {group.first_node + static_cast<std::size_t>(at / gpus_per_node_), part});
                    left -= part;
                    at += part;
                }
                visit(run.job, placement, static_cast<int>(group.first_node) * gpus_per_node_ + taken);
                taken += run.gpus;
            }
        }
    }

private:
    struct Group {
        std::size_t first_node = 0, nodes = 0;
        int used = 0;
        std::vector<ElasticflowRun> runs{};
    };
    static constexpr std::array sizes{1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 88, 128, 256};

    [[nodiscard]] int free(const Group& group) const {
        return static_cast<int>(group.nodes) * gpus_per_node_ - group.used;
    }
    bool place(const ElasticflowRun& run) {
        if (join(run, run.gpus)) return true;
        for (auto size = sizes.rbegin(); size != sizes.rend() && *size > run.gpus; ++size)
            if (join(run, *size)) return true;
        const auto nodes = static_cast<std::size_t>((run.gpus + gpus_per_node_ - 1) / gpus_per_node_);
        if (used_nodes_ + nodes > nodes_) return false;
        groups_.push_back({used_nodes_, nodes, 0, {}});
        used_nodes_ += nodes;
        enter(run, groups_.size() - 1);
        return true;
    }
    /// Places a job on the least used nodes that are filed under that size, if it fits.
    bool join(const ElasticflowRun& run, int size) {
        std::vector<std::size_t>& list = filed_[size];
        if (list.empty()) return false;
        const std::size_t group = list.front();
        list.erase(list.begin());
        if (free(groups_[group]) < run.gpus) {
            list.push_back(group);
            return false;
        }
        enter(run, group);
        return true;
    }
    void enter(const ElasticflowRun& run, std::size_t index) {
        Group& group = groups_[index];
        group.used += run.gpus;
        group.runs.push_back(run);
        int size = run.gpus;
        if (const int rest = free(group); rest > 0)
            size =
                *std::find_if(sizes.rbegin(), sizes.rend(), [&](int divisor) { return rest % divisor == 0; });
        std::vector<std::size_t>& list = filed_[size];
        list.push_back(index);
        const auto less_used = [&](std::size_t a, std::size_t b) {
            return groups_[a].used < groups_[b].used;
        };
        std::stable_sort(list.begin(), list.end(), less_used);
        std::stable_sort(filed_[run.gpus].begin(), filed_[run.gpus].end(), less_used);
    }

    int gpus_per_node_;
    std::size_t nodes_;
    std::size_t used_nodes_ = 0;
    std::vector<Group> groups_;
    std::map<int, std::vector<std::size_t>> filed_;  // groups by size
};

/// The ranks that jobs have had. A job with exactly the ranks that a job had before starts faster.
class ElasticflowRanks {
public:
    /// Whether a job had these ranks before. From now on, one had them.
    bool had(int first, int gpus) { return !ranks_.insert({first, gpus}).second; }
    /// Returns how many sets of that many GPUs jobs have had.
    [[nodiscard]] double count(int gpus) const {
        return static_cast<double>(std::count_if(ranks_.begin(), ranks_.end(),
                                                 [&](const auto& ranks) { return ranks.second == gpus; }));
    }
    void forget() { ranks_.clear(); }

private:
    std::set<std::pair<int, int>> ranks_;
};

}  // namespace goodput::peers

#endif
