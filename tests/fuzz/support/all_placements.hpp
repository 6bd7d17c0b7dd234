#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_ALL_PLACEMENTS_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_ALL_PLACEMENTS_HPP

// A question to a placer, and the best answer if all placements can be tried.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"

namespace fuzz {

using namespace goodput;

struct Site {
    Cluster cluster{{"slow", "fast"}, {}};
    std::vector<PlacementRequest> requests;
    std::vector<PoolShare> wishes;
    Topology topology;
};

inline bool stays_pinned(const PlacementRequest& request) {
    return request.pinned && !request.current.empty();
}

inline std::int64_t milliseconds(const PlacementRequest& request) {
    return std::llround(request.move_cost * 1000);
}

inline bool meet(const Placement& a, const Placement& b) {
    for (const NodeShare& x : a)
        for (const NodeShare& y : b)
            if (x.node == y.node) return true;
    return false;
}

/// Which jobs hold their allotment, as request.hpp defines it.
inline std::vector<char> holders(const Site& site) {
    const std::vector<PlacementRequest>& requests = site.requests;
    std::vector<char> matches, holds;
    for (const PlacementRequest& request : requests)
        matches.push_back(!request.current.empty() &&
                          pool_share_of(request.current, site.cluster) == request.part);
    holds = matches;
    for (std::size_t j = 0; j < requests.size(); ++j)
        for (std::size_t k = 0; k < requests.size() && !requests[j].pinned; ++k) {
            if (k == j || !matches[j] || !matches[k] || !meet(requests[j].current, requests[k].current))
                continue;
            const bool wide = requests[j].current.size() > 1, other_wide = requests[k].current.size() > 1;
            if (wide || (other_wide && requests[k].pinned)) holds[j] = 0;
        }
    return holds;
}

/// Tries all placements of the jobs that are not pinned.
class AllPlacements {
public:
    static constexpr double most_assignments = 2e4;

    explicit AllPlacements(const Site& site) : site_(site), holds_(holders(site)) {
        for (const Node& node : site.cluster.nodes) free_.push_back(node.gpus);
        for (std::size_t h = 0; h < free_.size(); ++h)
            if (site.cluster.nodes[h].drained) free_[h] = 0;
        for (std::size_t j = 0; j < site.requests.size(); ++j) {
            const PlacementRequest& request = site.requests[j];
            // A job that holds its allotment on a drained node stays, so it does not matter that the node has
            // GPUs.
            if (stays_pinned(request))
                for (const NodeShare& share : request.current)
                    free_[share.node] =
                        request.current.size() > 1 ? 0 : std::max(free_[share.node] - share.gpus, 0);
            else if (!request.part.empty())
                jobs_.push_back(j);
        }
    }

    /// Whether there are few enough placements to try them all.
    bool few() const {
        double ways = 1;
        for (std::size_t i = 0; i < jobs_.size(); ++i) ways *= static_cast<double>(free_.size()) + 1;
        for (const Node& node : site_.cluster.nodes)
            if (node.drained) return false;
        for (const PlacementRequest& request : site_.requests)
            if (request.part.shape.nodes > 2) return false;
        return ways <= most_assignments;
    }

    /// Finds the fewest jobs left out, and the least cost of moves if exactly the jobs of `result` are left
    /// out.
    void run(const PlacementResult& result) {
        result_ = &result;
        descend(0, 0, 0, true);
    }
    std::size_t fewest_left_out = std::numeric_limits<std::size_t>::max();
    std::int64_t least_cost = std::numeric_limits<std::int64_t>::max();

private:
    void descend(std::size_t next, std::size_t left_out, std::int64_t cost, bool same_jobs) {
        if (next == jobs_.size()) {
            fewest_left_out = std::min(fewest_left_out, left_out);
            if (same_jobs) least_cost = std::min(least_cost, cost);
            return;
        }
        const std::size_t j = jobs_[next];
        const bool placed = !result_->placements[j].empty();
        descend(next + 1, left_out + 1, cost, same_jobs && !placed);
        for (std::size_t h = 0; h < free_.size(); ++h) take(next, h, left_out, cost, same_jobs && placed);
    }

    void take(std::size_t next, std::size_t h, std::size_t left_out, std::int64_t cost, bool same_jobs) {
        const PlacementRequest& request = site_.requests[jobs_[next]];
        const PoolShare& a = request.part;
        const auto fits = [&](std::size_t node, int gpus) {
            return site_.cluster.nodes[node].gpu_type == a.gpu_type &&
                   site_.cluster.nodes[node].gpus == a.gpus_per_node && free_[node] >= gpus;
        };
        const auto go_on = [&](bool at_home) {
            const bool moves = holds_[jobs_[next]] && !at_home;
            descend(next + 1, left_out, cost + (moves ? milliseconds(request) : 0), same_jobs);
        };
        const Placement& home = request.current;
        if (a.shape.nodes == 1) {
            if (!fits(h, a.shape.gpus)) return;
            free_[h] -= a.shape.gpus;
            go_on(home.size() == 1 && home[0].node == h);
            free_[h] += a.shape.gpus;
            return;
        }
        for (std::size_t other = h + 1; other < free_.size(); ++other) {
            if (!fits(h, a.gpus_per_node) || !fits(other, a.gpus_per_node)) continue;
            free_[h] -= a.gpus_per_node, free_[other] -= a.gpus_per_node;
            go_on(home.size() == 2 && home[0].node == h && home[1].node == other);
            free_[h] += a.gpus_per_node, free_[other] += a.gpus_per_node;
        }
    }

    const Site& site_;
    std::vector<char> holds_;
    std::vector<int> free_;
    std::vector<std::size_t> jobs_;
    const PlacementResult* result_ = nullptr;
};

}  // namespace fuzz

#endif
