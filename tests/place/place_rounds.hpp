#ifndef GOODPUT_TESTS_PLACE_PLACE_ROUNDS_HPP
#define GOODPUT_TESTS_PLACE_PLACE_ROUNDS_HPP

// Random rounds of placement, and the checks that every answer has to pass. For tests: includes doctest.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"
#include "support/place_random.hpp"

#include <doctest/doctest.h>

namespace support::place {

using namespace goodput;

/// The input of a placer.
struct Round {
    Cluster cluster;
    std::vector<PlacementRequest> requests;
};

/// Returns which jobs hold their allotment, as request.hpp defines it.
inline std::vector<bool> holders(const Round& round) {
    const std::size_t n = round.requests.size();
    std::vector<bool> matches(n), holds(n);
    for (std::size_t j = 0; j < n; ++j) {
        const PlacementRequest& r = round.requests[j];
        matches[j] = !r.current.empty() && pool_share_of(r.current, round.cluster) == r.part;
    }
    const auto meet = [&](std::size_t a, std::size_t b) {
        for (const NodeShare& x : round.requests[a].current)
            for (const NodeShare& y : round.requests[b].current)
                if (x.node == y.node) return true;
        return false;
    };
    for (std::size_t j = 0; j < n; ++j) {
        holds[j] = matches[j];
        if (round.requests[j].pinned) continue;
        for (std::size_t k = 0; k < n; ++k) {
            if (k == j || !matches[j] || !matches[k] || !meet(j, k)) continue;
            const bool wide = round.requests[j].current.size() > 1;
            const bool other_wide = round.requests[k].current.size() > 1;
            if (wide || (other_wide && round.requests[k].pinned)) holds[j] = false;
        }
    }
    return holds;
}

inline std::int64_t cost_ms(const PlacementRequest& request) {
    return std::llround(request.move_cost * 1000);
}

inline bool stays_pinned(const PlacementRequest& request) {
    return request.pinned && !request.current.empty();
}

/// Checks that every job has its shape or nothing, that no node is over-committed, that whole nodes are
/// exclusive and that pinned jobs stay.
inline void check_valid(const Round& round, const PlacementResult& result) {
    REQUIRE(result.placements.size() == round.requests.size());
    std::vector<int> used(round.cluster.nodes.size(), 0), holders_of(used), wide(used);
    std::vector<std::size_t> without;
    for (std::size_t j = 0; j < round.requests.size(); ++j) {
        const PlacementRequest& request = round.requests[j];
        const Placement& placement = result.placements[j];
        if (stays_pinned(request)) REQUIRE(placement == request.current);
        if (placement.empty()) {
            if (!request.part.empty()) without.push_back(j);
            continue;
        }
        REQUIRE(pool_share_of(placement, round.cluster) == request.part);
        REQUIRE(std::is_sorted(placement.begin(), placement.end()));
        for (std::size_t i = 0; i < placement.size(); ++i) {
            REQUIRE(placement[i].gpus >= 1);
            if (i > 0) REQUIRE(placement[i].node > placement[i - 1].node);
            used[placement[i].node] += placement[i].gpus;
            if (stays_pinned(request)) continue;
            ++holders_of[placement[i].node];
            if (placement.size() > 1) ++wide[placement[i].node];
        }
    }
    for (std::size_t h = 0; h < used.size(); ++h) {
        REQUIRE(used[h] <= round.cluster.nodes[h].gpus);
        if (wide[h] > 0) REQUIRE(holders_of[h] == 1);
    }
    for (std::size_t j = 0; j < round.requests.size(); ++j)
        if (stays_pinned(round.requests[j]) && round.requests[j].current.size() > 1)
            for (const NodeShare& share : round.requests[j].current) REQUIRE(holders_of[share.node] == 0);
    REQUIRE(without.size() == result.unplaced.size());
    for (std::size_t i = 0; i < without.size(); ++i) {
        REQUIRE(result.unplaced[i].job == without[i]);
        REQUIRE(result.unplaced[i].why.outcome != Outcome::runs);
        REQUIRE(!result.unplaced[i].why.reason.empty());
    }
    const std::vector<bool> holds = holders(round);
    std::vector<std::size_t> moved;
    double cost = 0;
    for (std::size_t j = 0; j < round.requests.size(); ++j)
        if (holds[j] && !result.placements[j].empty() && result.placements[j] != round.requests[j].current) {
            moved.push_back(j);
            cost += static_cast<double>(cost_ms(round.requests[j])) / 1000;
        }
    REQUIRE(result.moved == moved);
    REQUIRE(result.move_cost == doctest::Approx(cost));
    REQUIRE(result.move_cost_bound <= result.move_cost + 1e-9);
}

/// Returns the sizes that a job on one node may have.
inline std::vector<int> sizes_on(int node, bool chain) {
    std::vector<int> sizes;
    for (int s = 1; s <= node; ++s)
        if (!chain || (s & (s - 1)) == 0 || s == node) sizes.push_back(s);
    return sizes;
}

inline PoolShare random_part(Random& random, const Cluster& cluster, bool chain, int wide_percent) {
    const Node& node = random.of(cluster.nodes);
    PoolShare part{node.gpu_type, node.gpus, {1, 0}, node.spot};
    if (random.chance(wide_percent)) {
        part.shape.nodes = 2 + random.below(2);
        part.shape.gpus = part.shape.nodes * node.gpus;
        if (random.chance(30)) part.shape.gpus -= random.below(part.shape.gpus - part.shape.nodes + 1);
    } else {
        part.shape.gpus = random.of(sizes_on(node.gpus, chain));
    }
    return part;
}

/// Makes running jobs, more or less packed, some of which have a new allotment, and new jobs.
inline Round random_round(Random& random, Cluster cluster, int jobs, bool chain, int changed_percent,
                          int pinned_percent, int new_percent = 35, int wide_percent = 25) {
    Round round{std::move(cluster), {}};
    const std::size_t count = round.cluster.nodes.size();
    std::vector<int> free;
    for (const Node& node : round.cluster.nodes) free.push_back(node.gpus);
    for (int j = 0; j < jobs; ++j) {
        PlacementRequest request;
        request.part = random_part(random, round.cluster, chain, wide_percent);
        const int range = random.chance(50) ? 4 : 100;
        request.move_cost = random.chance(20) ? 0 : random.below(range) * 0.5;
        if (!random.chance(new_percent)) {
            const Shape shape = request.part.shape;
            const std::size_t start = random.engine() % count;
            int left = shape.gpus, nodes = shape.nodes;
            Placement current;
            for (std::size_t i = 0; i < count && nodes > 0; ++i) {
                const std::size_t h = (start + i) % count;
                const Node& node = round.cluster.nodes[h];
                if (!is_node_of(node, request.part)) continue;
                const int share = std::min(node.gpus, left - (nodes - 1));
                // Jobs over several nodes mostly have them alone, but not always.
                if (free[h] < share || (shape.nodes > 1 && free[h] < node.gpus && !random.chance(10)))
                    continue;
                current.push_back({h, share});
                left -= share;
                --nodes;
            }
            if (nodes == 0) {
                std::sort(current.begin(), current.end());
                for (const NodeShare& share : current) free[share.node] -= share.gpus;
                request.current = current;
                if (shape.nodes > 1 && shape.gpus % request.part.gpus_per_node == 0 && random.chance(90))
                    for (const NodeShare& share : current) free[share.node] = 0;
            }
        }
        request.pinned = random.chance(pinned_percent);
        if (!(request.pinned && !request.current.empty()) && random.chance(changed_percent)) {
            request.part = random_part(random, round.cluster, chain, wide_percent);
            if (random.chance(10)) request.part = {};
        }
        round.requests.push_back(request);
    }
    return round;
}

inline Cluster small_cluster(Random& random) {
    Cluster cluster{{"a100", "rtx"}, {}};
    const int nodes = 1 + random.below(4);
    const std::vector<int> sizes{2, 4, 8, 8};
    const int size = random.of(sizes);
    const bool mixed = random.chance(25);
    for (int n = 0; n < nodes; ++n) {
        const std::size_t type = mixed && random.chance(50) ? 1 : 0;
        add_nodes(cluster, type, mixed ? random.of(sizes) : size, 1);
    }
    return cluster;
}

/// Makes nodes of one or two sizes, odd ones too, some of them drained or spot, and jobs of any size.
inline Round odd_round(Random& random, int most_nodes, int most_jobs, int wide_percent = 25) {
    Cluster cluster{{"a100", "rtx"}, {}};
    const std::vector<int> sizes{1, 2, 3, 4, 5, 6, 7, 8};
    const int size = random.of(sizes), other_size = random.of(sizes), nodes = 1 + random.below(most_nodes);
    const bool mixed = random.chance(30), spot = random.chance(20), drained = random.chance(40);
    for (int n = 0; n < nodes; ++n) {
        add_nodes(cluster, 0, mixed && random.chance(50) ? other_size : size, 1);
        cluster.nodes.back().spot = spot && random.chance(50);
        cluster.nodes.back().drained = drained && random.chance(30);
    }
    const int changed = random.below(50), pinned = random.chance(50) ? 25 : 5;
    return random_round(random, std::move(cluster), 1 + random.below(most_jobs), random.chance(50), changed,
                        pinned, 35, wide_percent);
}

/// Makes racks and zones of different sizes, whose nodes come in any order. Most jobs have to stay within one
/// rack or zone.
inline Topology odd_topology(Random& random, Round& round) {
    Topology topology{{{"rack", 1.0 * random.below(3), {}}, {"zone", 2.0 * random.below(3), {}}}};
    const int racks = 1 + random.below(4);
    std::vector<std::size_t> zone_of;
    for (int r = 0; r < racks; ++r) zone_of.push_back(static_cast<std::size_t>(random.below(2)));
    for (std::size_t n = 0; n < round.cluster.nodes.size(); ++n) {
        const auto rack = static_cast<std::size_t>(std::min(random.below(racks), random.below(racks)));
        topology.levels[0].domain_of.push_back(rack);
        topology.levels[1].domain_of.push_back(zone_of[rack]);
    }
    const int percent = random.below(100);
    for (PlacementRequest& request : round.requests)
        if (random.chance(percent)) request.within = random.chance(70) ? "rack" : "zone";
    return topology;
}

}  // namespace support::place

#endif
