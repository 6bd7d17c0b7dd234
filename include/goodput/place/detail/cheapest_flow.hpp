#ifndef GOODPUT_PLACE_DETAIL_CHEAPEST_FLOW_HPP
#define GOODPUT_PLACE_DETAIL_CHEAPEST_FLOW_HPP

// The greatest flow between two vertices that costs least, with whole capacities and costs of at least 0:
// successive shortest paths, with vertex potentials that keep the costs left in the arcs at 0 or above
// (Edmonds and Karp 1972). Dijkstra's method on lists of arcs; a path carries what its narrowest arc lets
// through.
//
// Sixty lines of our own, because the general library that has this takes every user 3 s to compile. The
// tests compare with that library's answer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace goodput::detail {

/// A network of arcs, and the flow in it.
class CheapestFlow {
public:
    /// A network without arcs; vertices are numbers below `vertices`.
    explicit CheapestFlow(std::size_t vertices) : first_(vertices, none) {}

    /// Adds an arc with a capacity and a cost a unit of at least 0; its number.
    std::size_t add_arc(std::size_t from, std::size_t to, int capacity, std::int64_t cost) {
        const std::size_t number = arcs_.size();
        arcs_.push_back({to, first_[from], capacity, cost});
        first_[from] = number;
        arcs_.push_back({from, first_[to], 0, -cost});  // the way back
        first_[to] = number + 1;
        return number;
    }

    /// Sends as much as there is room for; its cost.
    std::int64_t send(std::size_t source, std::size_t sink);

    /// What an arc carries.
    [[nodiscard]] int flow(std::size_t arc) const { return arcs_[arc + 1].left; }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    static constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();

    struct Arc {
        std::size_t to = 0, next = none;  ///< next arc of the same vertex
        int left = 0;                     ///< capacity that is not used
        std::int64_t cost = 0;
    };

    void find_shortest_paths(std::size_t source);

    std::vector<Arc> arcs_{};
    std::vector<std::size_t> first_{};  ///< arc of a vertex
    std::vector<std::int64_t> potential_{}, distance_{};
    std::vector<std::size_t> by_{};  ///< the arc by which a vertex is reached
};

inline void CheapestFlow::find_shortest_paths(std::size_t source) {
    std::priority_queue<std::pair<std::int64_t, std::size_t>> open;  // by the distance below zero
    distance_.assign(first_.size(), far);
    by_.assign(first_.size(), none);
    distance_[source] = 0;
    open.push({0, source});
    while (!open.empty()) {
        const auto [below, from] = open.top();
        const std::int64_t distance = -below;
        open.pop();
        if (distance > distance_[from]) continue;
        for (std::size_t a = first_[from]; a != none; a = arcs_[a].next) {
            const Arc& arc = arcs_[a];
            const std::int64_t through = distance + arc.cost + potential_[from] - potential_[arc.to];
            if (arc.left == 0 || through >= distance_[arc.to]) continue;
            distance_[arc.to] = through;
            by_[arc.to] = a;
            open.push({-through, arc.to});
        }
    }
}

inline std::int64_t CheapestFlow::send(std::size_t source, std::size_t sink) {
    potential_.assign(first_.size(), 0);
    std::int64_t cost = 0;
    while (true) {
        find_shortest_paths(source);
        if (distance_[sink] == far) return cost;
        // A vertex beyond the sink, or out of reach, rises by as much as the sink: no arc falls below 0.
        for (std::size_t v = 0; v < potential_.size(); ++v)
            potential_[v] += std::min(distance_[v], distance_[sink]);
        int room = std::numeric_limits<int>::max();
        for (std::size_t v = sink; v != source; v = arcs_[by_[v] ^ 1].to)
            room = std::min(room, arcs_[by_[v]].left);
        for (std::size_t v = sink; v != source; v = arcs_[by_[v] ^ 1].to) {
            arcs_[by_[v]].left -= room;
            arcs_[by_[v] ^ 1].left += room;
            cost += room * arcs_[by_[v]].cost;
        }
    }
}

}  // namespace goodput::detail

#endif
