#ifndef GOODPUT_PLACE_DETAIL_MOVE_ORDER_HPP
#define GOODPUT_PLACE_DETAIL_MOVE_ORDER_HPP

// In which order can jobs move, if each needs its target free before it goes? (defragment.hpp, step 2.)
//
//  1. A move to a node with room for all that is still to come there hinders nobody: it goes at once.
//  2. The others compete for room. Nodes that moves lead from one to the other in a circle are a strongly
//     connected component, and if there is an order at all, there is one component after another, in
//     topological order from the last on: what leaves for those before has gone, what comes from those behind
//     has not come. Within one the order is searched depth-first, within a number of steps. Whether an order
//     exists is NP-hard in general; few moves are left here.
//  3. If none is found, a cycle is broken, by the first of these that works: a job goes for good to another
//     node than planned, if the rest can then still be packed; jobs go the cheapest way through free GPUs, if
//     they are few (detour_search.hpp), else one steps aside so that another can move; a job stops until its
//     target is free.

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/place/defragment_plan.hpp"
#include "goodput/place/detail/detour_search.hpp"

namespace goodput::detail {

struct MoveOrderLimits {
    std::size_t search_steps = 20'000;  ///< of one search for an order, in moves looked at
    std::size_t repackings = 64;        ///< for all other targets together
    bool step_aside = true;
    int node_size = 0;  ///< of the pool
};

class MoveOrder {
public:
    /// Appends the moves, all in one pool, in an order to `steps`. `room` is the free GPUs by node with all
    /// jobs still in place, and 0 outside the pool; `others` are jobs that need not move but may (from ==
    /// to). `repack(pending, p, node)` says whether pending move p may end on that node instead and if so
    /// changes the targets of the others to fit; `fits(counts)` whether the wishes fit if so many nodes have
    /// so much free.
    template <class Repack, class Fits>
    void order(std::vector<int> room, std::vector<PendingMove> pending, std::vector<PendingMove> others,
               MoveOrderLimits limits, Repack&& repack, Fits&& fits, std::vector<DefragmentMove>& steps) {
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
            if (elsewhere(limits, repack)) continue;
            if (!limits.step_aside || !(detour(limits.node_size, fits) || aside())) stop();
        }
    }

private:
    static constexpr std::size_t search_depth_limit = 64;

    [[nodiscard]] bool fits(const PendingMove& m) const { return room_[m.to] >= m.gpus; }

    // Does move p: takes it off the pending ones, which keep their order.
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

    // Brings those moves to the front that come before all others, of running jobs among nodes that no move
    // leaves; how many they are.
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
        std::vector<std::size_t> component(nodes.size());  // numbered from the last in topological order on
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

    // The first `count` of what is pending, in some order; on failure nothing has changed.
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

    // Pending moves of running jobs, the cheapest first.
    const std::vector<std::size_t>& cheapest_first() {
        order_.clear();
        for (std::size_t p = 0; p < pending_.size(); ++p)
            if (!pending_[p].stopped) order_.push_back(p);
        std::stable_sort(order_.begin(), order_.end(),
                         [&](std::size_t a, std::size_t b) { return pending_[a].cost < pending_[b].cost; });
        return order_;
    }

    // Another node than `except` with the least room of at least `gpus`, the lowest index first; room_.size()
    // if there is none.
    [[nodiscard]] std::size_t best_fit(int gpus, std::size_t except) const {
        std::size_t best = room_.size();
        for (std::size_t node = 0; node < room_.size(); ++node)
            if (node != except && room_[node] >= gpus && (best == room_.size() || room_[node] < room_[best]))
                best = node;
        return best;
    }

    template <class Repack>
    bool elsewhere(MoveOrderLimits& limits, Repack& repack) {
        for (const std::size_t p : cheapest_first()) {
            // One node for each amount of room: the others are like it.
            const std::size_t from = pending_[p].from;
            for (std::size_t node = best_fit(pending_[p].gpus, from); node < room_.size();
                 node = best_fit(room_[node] + 1, from)) {
                if (limits.repackings == 0) return false;
                --limits.repackings;
                if (!repack(std::span<PendingMove>(pending_), p, node)) continue;
                pending_[p].to = node;
                go(p);
                return true;
            }
        }
        return false;
    }

    // The pending move, if any, that could go if `gpus` more were free on `node`.
    [[nodiscard]] std::size_t unlocked(std::size_t except, std::size_t node, int gpus) const {
        for (std::size_t p = 0; p < pending_.size(); ++p)
            if (p != except && pending_[p].to == node && room_[node] + gpus >= pending_[p].gpus) return p;
        return pending_.size();
    }

    // What makes room for the wishes in the cheapest way through free GPUs, whatever was planned.
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

    // One job, so that another can move, which does.
    bool aside() {
        for (const std::size_t p : cheapest_first()) {
            PendingMove& m = pending_[p];
            const std::size_t next = unlocked(p, m.from, m.gpus);
            const std::size_t node = best_fit(m.gpus, m.from);
            if (next == pending_.size() || node == room_.size()) continue;
            record(m, node, MoveKind::steps_aside);
            m.from = node;
            go(next);
            return true;
        }
        return false;
    }

    void stop() {
        const std::vector<std::size_t>& order = cheapest_first();
        std::size_t chosen = order.front();
        for (const std::size_t p : order)
            if (unlocked(p, pending_[p].from, pending_[p].gpus) < pending_.size()) {
                chosen = p;
                break;
            }
        record(pending_[chosen], 0, MoveKind::stops);
        pending_[chosen].stopped = true;
    }

    std::vector<int> room_, incoming_;  // by node
    std::vector<PendingMove> pending_;
    std::vector<PendingMove> others_;  // that may step aside: from == to
    std::vector<std::size_t> order_, path_;
    std::vector<char> done_;
    std::size_t steps_left_ = 0;
    DetourSearch detours_;
    std::vector<DefragmentMove>* steps_ = nullptr;
};

}  // namespace goodput::detail

#endif
