#ifndef GOODPUT_MOVES_DETAIL_DETOUR_SEARCH_HPP
#define GOODPUT_MOVES_DETAIL_DETOUR_SEARCH_HPP

// Finds the cheapest way out of a cycle of moves through free GPUs (move_order.hpp, step 3).
//
// This is Dijkstra's algorithm. A state says on which node each participating job is. These are the jobs of
// the moves given to find(). move_order.hpp also passes jobs that need not move, on the nodes that the
// others leave or go to. A step takes one job to a node with room for it, and costs the job's restart. The
// goal is that the wishes (defragment.hpp) fit; the planned targets no longer matter. Apart from the nodes
// that the moves leave or go to, nodes with equal room are equivalent, so at most as many of them are tried
// as there are jobs. The search is for few jobs only (most_moves), and stops at most_states states.

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "goodput/place/detail/packing.hpp"

namespace goodput::inline v0_1::detail {

/// A move of `gpus` GPUs that is not done yet.
struct PendingMove {
    std::size_t job = 0;
    std::size_t from = 0;
    std::size_t to = 0;
    int gpus = 0;
    double cost = 0;
    bool stopped = false;  ///< whether the job holds nothing now
};

class DetourSearch {
public:
    struct Step {
        std::size_t move = 0;  ///< index of the pending move whose job moves
        std::size_t node = 0;
    };

    static constexpr std::size_t most_moves = 12;
    static constexpr std::size_t most_states = 5'000;

    /// Returns the cheapest steps of these jobs after which `fits(counts)` holds, where counts are the
    /// numbers of nodes by free GPUs. Returns nothing if there are no such steps, or if the limits ended
    /// the search. `room` holds the present free GPUs by node, at most `node_size`. No job may be stopped.
    template <class Fits>
    std::vector<Step> find(std::span<const int> room, std::span<const PendingMove> pending, int node_size,
                           Fits&& fits) {
        if (pending.size() > most_moves) return {};
        gather(room, pending);
        std::vector<int> now;
        for (const std::size_t node : nodes_) now.push_back(room[node]);
        FreeCounts elsewhere(static_cast<std::size_t>(node_size) + 1, 0), counts;
        for (const int free : room) ++elsewhere[static_cast<std::size_t>(free)];
        for (const int free : now) --elsewhere[static_cast<std::size_t>(free)];
        State start;
        for (const PendingMove& m : pending) start.push_back(index_of(m.from));
        std::map<State, Reached> reached{{start, {}}};
        std::set<std::pair<double, State>> open{{0, start}};
        while (!open.empty() && reached.size() < most_states) {
            const auto [cost, state] = *open.begin();
            open.erase(open.begin());
            std::vector<int> left = now;
            for (std::size_t p = 0; p < pending.size(); ++p) {
                left[start[p]] += pending[p].gpus;
                left[state[p]] -= pending[p].gpus;
            }
            counts = elsewhere;
            for (const int free : left) ++counts[static_cast<std::size_t>(free)];
            if (fits(counts)) return path(reached, state);
            for (std::size_t p = 0; p < pending.size(); ++p)
                for (std::size_t n = 0; n < nodes_.size(); ++n) {
                    if (n == state[p] || left[n] < pending[p].gpus) continue;
                    State next = state;
                    next[p] = n;
                    const double there = cost + pending[p].cost;
                    const auto [known, fresh] = reached.insert({next, {there, p, state[p]}});
                    if (!fresh && known->second.cost <= there) continue;
                    if (!fresh) open.erase({known->second.cost, next});
                    known->second = {there, p, state[p]};
                    open.insert({there, std::move(next)});
                }
        }
        return {};
    }

private:
    using State = std::vector<std::size_t>;  // by pending move: index into nodes_
    struct Reached {
        double cost = 0;
        // Index of the move whose job moved last, and the node that the job left; most_moves if no job has
        // moved.
        std::size_t move = most_moves;
        std::size_t from = 0;
    };

    void gather(std::span<const int> room, std::span<const PendingMove> pending) {
        nodes_.clear();
        int smallest = pending.front().gpus;
        for (const PendingMove& m : pending) {
            nodes_.push_back(m.from);
            nodes_.push_back(m.to);
            smallest = std::min(smallest, m.gpus);
        }
        std::sort(nodes_.begin(), nodes_.end());
        nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
        const std::vector<std::size_t> ends = nodes_;
        std::map<int, std::size_t> alike;
        for (std::size_t node = 0; node < room.size(); ++node)
            if (room[node] >= smallest && !std::binary_search(ends.begin(), ends.end(), node) &&
                alike[room[node]]++ < pending.size())
                nodes_.push_back(node);
        std::sort(nodes_.begin(), nodes_.end());
    }

    [[nodiscard]] std::size_t index_of(std::size_t node) const {
        return static_cast<std::size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) -
                                        nodes_.begin());
    }

    [[nodiscard]] std::vector<Step> path(const std::map<State, Reached>& reached, State state) const {
        std::vector<Step> steps;
        for (Reached last = reached.at(state); last.move < most_moves; last = reached.at(state)) {
            steps.push_back({last.move, nodes_[state[last.move]]});
            state[last.move] = last.from;
        }
        std::reverse(steps.begin(), steps.end());
        return steps;
    }

    std::vector<std::size_t> nodes_;  // nodes that are tried, ascending
};

}  // namespace goodput::inline v0_1::detail

#endif
