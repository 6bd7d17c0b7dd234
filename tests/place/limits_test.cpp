// If a search is cut short, its result is still valid, and what it says about itself is still true.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "support/place_random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

using LimitsRandom = support::place::Random;

/// Requires that every placement has its allotment's shape on nodes of its pool, that no node is overfilled,
/// and that the moves cost what the result says, which is at least the bound.
void require_consistent(const Cluster& cluster, const std::vector<PlacementRequest>& requests,
                        const PlacementResult& result) {
    (void)free_gpus(cluster, result.placements);  // throws if a node is overfilled
    double cost = 0;
    for (std::size_t job = 0; job < requests.size(); ++job)
        if (!result.placements[job].empty())
            REQUIRE(pool_share_of(result.placements[job], cluster) == requests[job].part);
    for (const std::size_t job : result.moved) cost += requests[job].move_cost;
    REQUIRE(result.move_cost == doctest::Approx(cost));
    REQUIRE(result.move_cost_bound <= result.move_cost + 1e-9);
}

/// Returns whether the job would fit into the free GPUs.
bool fits_into(const Cluster& cluster, const std::vector<int>& free, const PoolShare& part) {
    int nodes = 0;
    for (std::size_t node = 0; node < free.size(); ++node) {
        const bool whole = free[node] == cluster.nodes[node].gpus;
        nodes += (part.shape.nodes > 1 ? whole : free[node] >= part.shape.gpus) ? 1 : 0;
    }
    return nodes >= part.shape.nodes;
}

}  // namespace

TEST_CASE(
    "nodes with more sets of jobs than are looked at: room is made all the same, with a bound that holds") {
    LimitsRandom random{std::mt19937_64(52)};
    LeastMovesPlacer placer;
    for (int trial = 0; trial < 20; ++trial) {
        CAPTURE(trial);
        Cluster cluster{{"large"}, {}};
        support::place::add_nodes(cluster, 0, 128, 2);
        std::vector<PlacementRequest> requests;
        for (std::size_t node = 0; node < 2; ++node)  // 96 of 128 GPUs used on each: 13 * 11 * 9 * 5 sets
            for (const auto& [size, count] :
                 {std::pair(1, 12), std::pair(2, 10), std::pair(4, 8), std::pair(8, 4)})
                for (int n = 0; n < count; ++n)
                    requests.push_back({{0, 128, {1, size}}, {{node, size}}, 1.0 + random.below(100), false});
        requests.push_back({{0, 128, {1, 64}}, {}, 0, false});
        const PlacementResult result = placer.place(cluster, requests);
        require_consistent(cluster, requests, result);
        REQUIRE(result.unplaced.empty());
        REQUIRE(!result.moved.empty());
    }
}

TEST_CASE("a job that is left out does not fit into the free GPUs, however short the search is") {
    LimitsRandom random{std::mt19937_64(53)};
    LeastMovesPlacer hasty({.search_steps = 1, .search_work = 200, .cover_states = 4}), patient;
    std::size_t given_up = 0, left_out = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        CAPTURE(trial);
        Cluster cluster{{"a100"}, {}};
        const int node_size = 8 + random.below(8), nodes = 2 + random.below(6);
        support::place::add_nodes(cluster, 0, node_size, nodes);
        std::vector<int> free(cluster.nodes.size(), node_size);
        std::vector<PlacementRequest> requests;
        for (int job = 2 * nodes + random.below(2 * nodes); job >= 0; --job) {
            PlacementRequest request;
            const int size = 2 + random.below(node_size - 2);
            request.part = {0, node_size, {1, size}};
            request.move_cost = random.below(50);
            const auto node = static_cast<std::size_t>(random.below(nodes));
            if (random.chance(30)) {
                request.part.shape = {2, 2 * node_size - random.below(node_size)};
            } else if (random.chance(50) && free[node] >= size) {
                request.current = {{node, size}};
                free[node] -= size;
            }
            requests.push_back(request);
        }
        for (LeastMovesPlacer* placer : {&hasty, &patient}) {
            const PlacementResult result = placer->place(cluster, requests);
            require_consistent(cluster, requests, result);
            const std::vector<int> rest = free_gpus(cluster, result.placements);
            for (const UnplacedJob& unplaced : result.unplaced)
                REQUIRE(!fits_into(cluster, rest, requests[unplaced.job].part));
            given_up += result.fewest_unplaced_proven ? 0 : 1;
            left_out += result.unplaced.size();
        }
    }
    CHECK(given_up > 100);
    CHECK(left_out > 1000);
}

TEST_CASE("a report says what is proven and what is not") {
    PlacementResult result;
    result.placements = {{{0, 1}}, {}};
    CHECK(result.report() == "1 jobs placed, 0 not, 0 moved for 0 s (proven least)");
    result.moved = {0};
    result.move_cost = 5;
    result.move_cost_bound = 3;
    CHECK(result.report() == "1 jobs placed, 0 not, 1 moved for 5 s (at least 3 s)");
    result.fewest_unplaced_proven = false;
    CHECK(result.report() ==
          "1 jobs placed, 0 not, 1 moved for 5 s (at least 3 s; perhaps more jobs can be placed)");
}

TEST_CASE("a node of a GPU type that the cluster does not have is refused by name") {
    Cluster cluster{{"a100"}, {}};
    support::place::add_nodes(cluster, 1, 8, 1);
    CHECK_THROWS_AS((void)LeastMovesPlacer().place(cluster, {}), std::invalid_argument);
}
