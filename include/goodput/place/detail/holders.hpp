#ifndef GOODPUT_PLACE_DETAIL_HOLDERS_HPP
#define GOODPUT_PLACE_DETAIL_HOLDERS_HPP

// Finds the jobs that hold their allotment, and those of them that cannot be moved (request.hpp defines
// both).

#include <cstddef>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/place/request.hpp"

namespace goodput::inline v0_1::detail {

/// Finds these two sets of jobs. It keeps its buffers from call to call.
class Holders {
public:
    /// Finds both sets for these requests. Their nodes and GPU types must exist. Takes O(nodes held).
    void find(const Cluster& cluster, std::span<const PlacementRequest> requests);

    [[nodiscard]] bool holds(std::size_t job) const { return state_[job] != State::restarts; }

    /// Whether the job must stay where it is: it is pinned and runs, or it holds its allotment on a drained
    /// node.
    [[nodiscard]] bool fixed(std::size_t job) const { return state_[job] == State::fixed; }

private:
    enum class State : char { restarts, holds, fixed };
    std::vector<State> state_;  // by job
    std::vector<int> holders_;  // by node: number of jobs whose current placement is their allotment
    // By node: number of such jobs over several nodes. A pinned one counts as very many, so that no other
    // job can hold the node.
    std::vector<int> wide_holders_;
};

inline void Holders::find(const Cluster& cluster, std::span<const PlacementRequest> requests) {
    constexpr int pinned_wide = 1 << 20;
    state_.assign(requests.size(), State::restarts);
    holders_.assign(cluster.nodes.size(), 0);
    wide_holders_.assign(cluster.nodes.size(), 0);
    for (std::size_t job = 0; job < requests.size(); ++job) {
        const PlacementRequest& request = requests[job];
        if (request.current.empty() || request.part.empty()) continue;
        if (pool_share_of(request.current, cluster) != request.part) continue;
        state_[job] = request.pinned ? State::fixed : State::holds;
        for (const NodeShare& share : request.current) {
            ++holders_[share.node];
            if (request.current.size() > 1 && !(request.pinned && request.shares_nodes))
                wide_holders_[share.node] += request.pinned ? pinned_wide : 1;
        }
    }
    for (std::size_t job = 0; job < requests.size(); ++job) {
        if (state_[job] != State::holds) continue;
        const Placement& current = requests[job].current;
        bool alone = true, drained = false;
        for (const NodeShare& share : current) {
            alone &= current.size() > 1 ? holders_[share.node] == 1 : wide_holders_[share.node] < pinned_wide;
            drained |= cluster.nodes[share.node].drained;
        }
        if (!alone || requests[job].leaves)
            state_[job] = State::restarts;
        else if (drained)
            state_[job] = State::fixed;
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
