#ifndef GOODPUT_MOVES_DETAIL_MOVE_ORDER_HPP
#define GOODPUT_MOVES_DETAIL_MOVE_ORDER_HPP

// Finds an order of moves in which each target is free before its move (../defragment.hpp, step 2).
//
// 1. If a node has room for all moves that are still to come there, these moves hinder no other: do them at
//    once.
// 2. The other moves compete for room. Take the nodes as a graph with an edge per move. Nodes that moves
//    connect in a circle are a strongly connected component. If there is an order at all, there is one that
//    does component after component, beginning with the last one in topological order. When a component has
//    its turn, the jobs that leave it for other components have already gone, and the jobs that come from
//    other components have not come yet. Within a component the order is searched depth-first, with a
//    limited number of steps. Whether an order exists is NP-hard in general, but few moves are left here.
// 3. If no order is found, a cycle is broken. If there are few jobs, they go the cheapest way through free
//    GPUs, even to other nodes than planned if that costs less (detour_search.hpp). Otherwise a job stops
//    until its target is free.

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/moves/defragment_plan.hpp"
#include "goodput/moves/detail/detour_search.hpp"

namespace goodput::inline v0_1::detail {

struct MoveOrderLimits {
    std::size_t search_steps = 20'000;  ///< per search for an order, in moves tried
    bool step_aside = true;
    int node_size = 0;  ///< GPUs per node of the pool
};

class MoveOrder {
public:
    /// Appends the moves, all in one pool, to `steps` in a feasible order. `room` holds the free GPUs by
    /// node with all jobs still in place, and 0 outside the pool. `others` are jobs that need not move but
    /// may (from == to). `fits(counts)` says whether the wishes (../defragment.hpp) fit, given the number
    /// of nodes by free GPUs.
    template <class Fits>
    void order(std::vector<int> room, std::vector<PendingMove> pending, std::vector<PendingMove> others,
               MoveOrderLimits limits, Fits&& fits, std::vector<DefragmentMove>& steps) {
        room_ = std::move(room);
        pending_ = std::move(pending);
        others_ = std::move(others);
        steps_ = &steps;
        incoming_.assign(room_.size(), 0);
        while (true) {
            std::erase_if(pending_, [](const PendingMove& m) { return m.from == m.to && !m.stopped; });
            std::fill(incoming_.begin(), incoming_.end(), 0);
            for (const PendingMove& m : pending_) incoming_[m.to] += m.gpus;
            go_where_safe();
            if (pending_.empty()) return;
            steps_left_ = limits.search_steps;
            const std::size_t next = next_component();
            if (next > search_depth_limit ? go_anyhow(next) : search(next)) continue;
            if (!limits.step_aside || !detour(limits.node_size, fits)) stop();
        }
    }

private:
    static constexpr std::size_t search_depth_limit = 64;

    [[nodiscard]] bool fits(const PendingMove& m) const { return room_[m.to] >= m.gpus; }

    // Does move p, and removes it from the pending moves, whose order stays.
    void go(std::size_t p) {
        record(pending_[p], pending_[p].to, pending_[p].stopped ? MoveKind::starts : MoveKind::moves);
        incoming_[pending_[p].to] -= pending_[p].gpus;
        pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(p));
    }

    void record(const PendingMove& m, std::size_t to, MoveKind kind) {
        DefragmentMove step{m.job, kind, {m.from, m.gpus}, {to, m.gpus}, m.cost, 0};
        if (kind == MoveKind::starts) step.from = {};
        if (kind == MoveKind::stops) step.to = {}, step.cost = 0;
        if (kind != MoveKind::stops) room_[to] -= m.gpus;
        if (kind != MoveKind::starts) step.source_free = room_[m.from] += m.gpus;
        steps_->push_back(step);
    }

    void go_where_safe() {
        for (bool progress = true; progress;) {
            progress = false;
            std::size_t kept = 0;
            for (std::size_t p = 0; p < pending_.size(); ++p) {
                const PendingMove m = pending_[p];
                if (room_[m.to] < incoming_[m.to]) {
                    pending_[kept++] = m;
                    continue;
                }
                record(m, m.to, m.stopped ? MoveKind::starts : MoveKind::moves);
                incoming_[m.to] -= m.gpus;
                progress = true;
            }
            pending_.resize(kept);
        }
    }

    // Brings the moves that come first to the front: moves of running jobs within one component that no
    // other move leaves. Returns their number.
    std::size_t next_component() {
        std::vector<std::size_t> nodes;
        for (const PendingMove& m : pending_)
            if (!m.stopped) nodes.insert(nodes.end(), {m.from, m.to});
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        const auto vertex = [&](std::size_t node) {
            return static_cast<std::size_t>(std::lower_bound(nodes.begin(), nodes.end(), node) -
                                            nodes.begin());
        };
        boost::adjacency_list<> graph(nodes.size());
        for (const PendingMove& m : pending_)
            if (!m.stopped) boost::add_edge(vertex(m.from), vertex(m.to), graph);
        std::vector<std::size_t> component(nodes.size());  // numbered from the last in topological order
        boost::strong_components(
            graph, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, graph)));
        std::size_t first = nodes.size();
        const auto within = [&](const PendingMove& m) {
            return !m.stopped && component[vertex(m.from)] == component[vertex(m.to)];
        };
        for (const PendingMove& m : pending_)
            if (within(m)) first = std::min(first, component[vertex(m.from)]);
        const auto rest = std::stable_partition(pending_.begin(), pending_.end(), [&](const PendingMove& m) {
            return within(m) && component[vertex(m.from)] == first;
        });
        return static_cast<std::size_t>(rest - pending_.begin());
    }

    bool go_anyhow(std::size_t count) {
        for (std::size_t p = 0; p < count; ++p)
            if (fits(pending_[p])) {
                go(p);
                return true;
            }
        return false;
    }

    // Does the first `count` pending moves in some order. On failure nothing changes.
    bool search(std::size_t count) {
        done_.assign(count, 0);
        path_.clear();
        if (count == 0 || !descend()) return false;
        for (const std::size_t p : path_) {
            const PendingMove& m = pending_[p];
            room_[m.to] += m.gpus;  // the search has moved it
            room_[m.from] -= m.gpus;
        }
        for (const std::size_t p : path_) record(pending_[p], pending_[p].to, MoveKind::moves);
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
        return true;
    }

    bool descend() {
        if (path_.size() == done_.size()) return true;
        for (std::size_t p = 0; p < done_.size(); ++p) {
            const PendingMove& m = pending_[p];
            if (steps_left_ == 0) return false;
            --steps_left_;
            if (done_[p] || !fits(m)) continue;
            done_[p] = 1;
            path_.push_back(p);
            room_[m.to] -= m.gpus;
            room_[m.from] += m.gpus;
            if (descend()) return true;
            room_[m.from] -= m.gpus;
            room_[m.to] += m.gpus;
            path_.pop_back();
            done_[p] = 0;
        }
        return false;
    }

    // Makes room for the wishes in the cheapest way through free GPUs, whatever was planned.
    template <class Fits>
    bool detour(int node_size, Fits& fits) {
        if (std::any_of(pending_.begin(), pending_.end(), [](const PendingMove& m) { return m.stopped; }))
            return false;
        const std::size_t own = pending_.size();
        for (const PendingMove& other : others_)
            if (std::any_of(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(own),
                            [&](const PendingMove& m) { return m.from == other.from || m.to == other.from; }))
                pending_.push_back(other);
        const std::vector<DetourSearch::Step> steps = detours_.find(room_, pending_, node_size, fits);
        if (steps.empty()) {
            pending_.resize(own);
            return false;
        }
        for (std::size_t i = 0; i < steps.size(); ++i) {
            PendingMove& m = pending_[steps[i].move];
            const bool again = std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, steps.end(),
                                           [&](const auto& later) { return later.move == steps[i].move; });
            record(m, steps[i].node, again ? MoveKind::steps_aside : MoveKind::moves);
            m.from = steps[i].node;
        }
        pending_.clear();
        return true;
    }

    // Stops the cheapest job whose GPUs would let another one move, or else the cheapest of all.
    void stop() {
        std::size_t chosen = pending_.size();
        bool helps = false;
        for (std::size_t p = 0; p < pending_.size(); ++p) {
            const PendingMove& m = pending_[p];
            if (m.stopped) continue;
            const bool unlocks = std::ranges::any_of(pending_, [&](const PendingMove& other) {
                return &other != &m && other.to == m.from && room_[m.from] + m.gpus >= other.gpus;
            });
            if (chosen == pending_.size() || unlocks > helps ||
                (unlocks == helps && m.cost < pending_[chosen].cost)) {
                chosen = p;
                helps = unlocks;
            }
        }
        record(pending_[chosen], 0, MoveKind::stops);
        pending_[chosen].stopped = true;
    }

    std::vector<int> room_, incoming_;  // by node
    std::vector<PendingMove> pending_;
    std::vector<PendingMove> others_;  // may step aside: from == to
    std::vector<std::size_t> path_;
    std::vector<char> done_;
    std::size_t steps_left_ = 0;
    DetourSearch detours_;
    std::vector<DefragmentMove>* steps_ = nullptr;
};

}  // namespace goodput::inline v0_1::detail

#endif
