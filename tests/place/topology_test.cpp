// Placements on a tree of racks and zones, against brute force over the nodes that may be exchanged.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "goodput/place/topology_placer.hpp"
#include "support/place_random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;
using support::place::Random;

// Racks of `rack` nodes and zones of `zone` racks; node indices do not reveal which nodes are in one rack.
struct Site {
    Cluster cluster{{"a100"}, {}};
    Topology topology;
    Site(Random& random, std::size_t nodes, std::size_t rack, std::size_t zone, double of_rack,
         double of_zone) {
        TopologyLevel racks{"rack", of_rack, {}}, zones{"zone", of_zone, {}};
        std::vector<std::size_t> slot(nodes);
        for (std::size_t h = 0; h < nodes; ++h) slot[h] = h;
        for (std::size_t h = nodes; h > 1; --h) std::swap(slot[h - 1], slot[random.engine() % h]);
        for (std::size_t h = 0; h < nodes; ++h) {
            cluster.nodes.push_back({"node" + std::to_string(h), 0, 8});
            racks.domain_of.push_back(slot[h] / rack);
            zones.domain_of.push_back(slot[h] / rack / zone);
        }
        topology.levels = {racks, zones};
    }
};

void churn(Random& random, std::vector<PlacementRequest>& requests, int percent, int most_nodes) {
    for (PlacementRequest& request : requests) {
        if (!request.part.empty() && !request.current.empty() && !random.chance(percent)) continue;
        request.part = {};
        if (random.chance(20)) continue;
        const int nodes = 1 + random.below(most_nodes);
        request.part = {0, 8, {nodes, nodes * 8 - (nodes > 1 && random.chance(20) ? 3 : 0)}};
        if (random.chance(30)) request.part.shape = {1, 1 + random.below(4)};
        request.move_cost = random.below(50);
    }
}

bool may_roam(const PlacementRequest& request, const PlacementResult& result, std::size_t job) {
    const PoolShare& a = request.part;
    return !result.placements[job].empty() && result.placements[job] != request.current &&
           a.occupied_gpus() == a.shape.nodes * a.gpus_per_node &&
           std::find(result.moved.begin(), result.moved.end(), job) == result.moved.end();
}

// Returns the least spread cost over all ways to give `inner`'s roaming jobs their own nodes and free ones.
double least_spread(const Site& site, const std::vector<PlacementRequest>& requests,
                    const PlacementResult& inner) {
    std::vector<int> free = free_gpus(site.cluster, inner.placements);
    std::vector<std::size_t> roaming;
    double fixed = 0;
    for (std::size_t j = 0; j < requests.size(); ++j) {
        if (may_roam(requests[j], inner, j)) {
            roaming.push_back(j);
            for (const NodeShare& share : inner.placements[j]) free[share.node] = 8;
        } else {
            fixed += spread_cost(site.topology, inner.placements[j]);
        }
    }
    double best = std::numeric_limits<double>::infinity();
    const auto descend = [&](auto&& self, std::size_t next, std::size_t from, Placement chosen,
                             double cost) -> void {
        if (cost >= best) return;
        if (next == roaming.size()) {
            best = cost;
            return;
        }
        if (chosen.size() == inner.placements[roaming[next]].size())
            return self(self, next + 1, 0, {}, cost + spread_cost(site.topology, chosen));
        for (std::size_t h = from; h < free.size(); ++h) {
            if (free[h] != 8) continue;
            free[h] = 0;
            chosen.push_back({h, 8});
            self(self, next, h + 1, chosen, cost);
            chosen.pop_back();
            free[h] = 8;
        }
    };
    descend(descend, 0, 0, {}, 0);
    return fixed + best;
}

// Checks that the answer is the inner placer's, except for the nodes of jobs that restart on whole nodes.
void check_same_but_nodes(const std::vector<PlacementRequest>& requests, const PlacementResult& inner,
                          const PlacementResult& result, const Cluster& cluster) {
    REQUIRE(result.moved == inner.moved);
    REQUIRE(result.move_cost == inner.move_cost);
    REQUIRE(result.unplaced.size() == inner.unplaced.size());
    for (std::size_t j = 0; j < requests.size(); ++j) {
        if (!may_roam(requests[j], inner, j)) {
            REQUIRE(result.placements[j] == inner.placements[j]);
            continue;
        }
        REQUIRE(pool_share_of(result.placements[j], cluster) == requests[j].part);
        for (std::size_t i = 1; i < result.placements[j].size(); ++i)
            REQUIRE(result.placements[j][i - 1].node < result.placements[j][i].node);
    }
    // Throws if a node is overfilled. If whole nodes were shared, free GPUs would appear.
    REQUIRE(free_space(cluster, result.placements) == free_space(cluster, inner.placements));
}

TEST_CASE("small clusters: no more moves, never dearer than before, nearly always the cheapest there is") {
    Random random{std::mt19937_64(1)};
    LeastMovesPlacer inner;
    int rounds = 0, best = 0, inner_best = 0, proven = 0;
    double cost = 0, least = 0, before = 0;
    for (int trial = 0; trial < 500; ++trial) {
        CAPTURE(trial);
        const std::size_t nodes = 7 + random.engine() % 3, rack = 2 + random.engine() % 2;
        const Site site(random, nodes, rack, 2, 1, 1 + static_cast<double>(trial % 4));
        TopologyPlacer placer(site.topology);
        std::vector<PlacementRequest> requests(7);
        for (int round = 0; round < 4; ++round) {
            CAPTURE(round);
            churn(random, requests, 40, 4);
            const PlacementResult plain = inner.place(site.cluster, requests);
            const PlacementResult result = placer.place(site.cluster, requests);
            check_same_but_nodes(requests, plain, result, site.cluster);
            const double brute = least_spread(site, requests, plain);
            const double of_inner = spread_cost(site.topology, plain.placements);
            REQUIRE(placer.spread().cost == spread_cost(site.topology, result.placements));
            REQUIRE(placer.spread().bound <= brute + 1e-9);
            REQUIRE(placer.spread().cost >= brute - 1e-9);
            REQUIRE(placer.spread().cost <= of_inner + 1e-9);
            ++rounds;
            best += placer.spread().cost <= brute + 1e-9 ? 1 : 0;
            inner_best += of_inner <= brute + 1e-9 ? 1 : 0;
            proven += placer.spread().proven() ? 1 : 0;
            cost += placer.spread().cost, least += brute, before += of_inner;
            for (std::size_t j = 0; j < requests.size(); ++j) requests[j].current = result.placements[j];
        }
    }
    MESSAGE(rounds << " rounds: " << best << " at the least spread, " << proven << " proven, " << inner_best
                   << " without a topology; cost over least " << cost / least << ", without a topology "
                   << before / least);
    CHECK(best > rounds * 98 / 100);
    CHECK(inner_best < rounds * 80 / 100);
}

TEST_CASE("large clusters: valid, at a fraction of the spread, and an unchanged round changes nothing") {
    Random random{std::mt19937_64(2)};
    LeastMovesPlacer inner;
    double cost = 0, bound = 0, before = 0;
    for (int trial = 0; trial < 10; ++trial) {
        CAPTURE(trial);
        const Site site(random, 480, 16, 6, 1, 5);
        TopologyPlacer placer(site.topology);
        std::vector<PlacementRequest> requests(190);
        for (int round = 0; round < 6; ++round) {
            CAPTURE(round);
            churn(random, requests, 20, 9);
            const PlacementResult plain = inner.place(site.cluster, requests);
            const PlacementResult result = placer.place(site.cluster, requests);
            check_same_but_nodes(requests, plain, result, site.cluster);
            cost += placer.spread().cost;
            bound += placer.spread().bound;
            before += spread_cost(site.topology, plain.placements);
            for (std::size_t j = 0; j < requests.size(); ++j) requests[j].current = result.placements[j];
        }
        std::erase_if(requests, [](const PlacementRequest& request) { return request.current.empty(); });
        const PlacementResult again = placer.place(site.cluster, requests);
        for (std::size_t j = 0; j < requests.size(); ++j) CHECK(again.placements[j] == requests[j].current);
    }
    MESSAGE("spread cost over bound " << cost / bound << ", without a topology " << before / bound);
    CHECK(cost < before / 2);
}

TEST_CASE("a gang goes into one rack if one has room, and into the fullest that has") {
    Cluster cluster{{"a100"}, {}};
    for (int n = 0; n < 9; ++n) cluster.nodes.push_back({"node" + std::to_string(n), 0, 8});
    // Racks of 4, 3 and 2 nodes. The first two racks are in one zone.
    const Topology topology{
        {{"rack", 1, {0, 1, 2, 0, 1, 2, 0, 1, 0}}, {"zone", 10, {0, 0, 1, 0, 0, 1, 0, 0, 0}}}};
    TopologyPlacer placer(topology);
    const auto gang = [](int nodes) { return PlacementRequest{.part = {0, 8, {nodes, nodes * 8}}}; };
    PlacementResult result = placer.place(cluster, std::vector<PlacementRequest>{gang(2), gang(3)});
    CHECK(result.placements[0] == Placement{{2, 8}, {5, 8}});
    CHECK(result.placements[1] == Placement{{1, 8}, {4, 8}, {7, 8}});
    CHECK(placer.spread().cost == 0);
    CHECK(placer.spread().proven());
    // 6 nodes need two racks. Two racks of one zone cost less than racks of two zones.
    result = placer.place(cluster, std::vector<PlacementRequest>{gang(6)});
    CHECK(placer.spread().cost == 1);
    CHECK(placer.spread().proven());
    // 8 nodes need all three racks.
    result = placer.place(cluster, std::vector<PlacementRequest>{gang(8)});
    CHECK(placer.spread().cost == 12);
    CHECK(placer.spread().proven());
    // The job that already runs over two zones does not move.
    std::vector<PlacementRequest> requests{gang(2), gang(2)};
    requests[0].current = {{1, 8}, {2, 8}};
    result = placer.place(cluster, requests);
    CHECK(result.placements[0] == requests[0].current);
    CHECK(spread_cost(topology, result.placements[1]) == 0);
}

TEST_CASE("without levels it is the inner placer; a topology that makes no sense is refused") {
    Cluster cluster{{"a100"}, {}};
    for (int n = 0; n < 3; ++n) cluster.nodes.push_back({"node" + std::to_string(n), 0, 8});
    const std::vector<PlacementRequest> requests{{.part = {0, 8, {2, 16}}}};
    TopologyPlacer placer;
    CHECK(placer.place(cluster, requests).placements ==
          LeastMovesPlacer{}.place(cluster, requests).placements);
    const auto refused = [&](Topology topology) {
        placer.set_topology(topology);
        CHECK_THROWS_AS(placer.place(cluster, requests), std::invalid_argument);
    };
    refused({{{"rack", 1, {0, 0}}}});
    refused({{{"rack", -1, {0, 0, 1}}}});
    refused({{{"rack", std::nan(""), {0, 0, 1}}}});
    refused({{{"rack", 1, {0, 0, 1}}, {"zone", 1, {0, 1, 1}}}});
    refused({{{"rack", 1, {0, 0, 1}}, {"zone", 1, {0}}}});
    placer.set_topology({{{"rack", 1, {0, 1, 0}}}});
    CHECK(placer.place(cluster, requests).placements[0] == Placement{{0, 8}, {2, 8}});
}

}  // namespace
