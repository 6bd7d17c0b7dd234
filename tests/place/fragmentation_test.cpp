// The free space that a placement leaves, against brute force; pools of several node sizes in one GPU type;
// gangs whose size is no power of two; drained nodes.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "support/place_random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;
using support::place::add_nodes;
using support::place::Random;

PoolShare random_part(Random& random, std::size_t type, int node, const std::vector<int>& sizes) {
    if (random.chance(15)) {
        const int nodes = 2 + random.below(2);
        return {type, node, {nodes, nodes * node - random.below(random.chance(50) ? 1 : node)}};
    }
    return {type, node, {1, std::min(node, sizes[random.engine() % sizes.size()])}};
}

// One round of a scheduler: some jobs end or change size, new ones arrive.
void churn(Random& random, const Cluster& cluster, std::vector<PlacementRequest>& requests,
           const std::vector<int>& sizes, int percent) {
    for (PlacementRequest& request : requests) {
        if (!request.part.empty() && !request.current.empty() && !random.chance(percent)) continue;
        const Node& node = cluster.nodes[random.engine() % cluster.nodes.size()];
        request.part = random_part(random, node.gpu_type, node.gpus, sizes);
        if (random.chance(30)) request = {};
        request.move_cost = random.below(100);
    }
}

// Returns the most wholly free nodes and, for that many, the largest free block, over all ways to place the
// jobs that are not where they were.
std::pair<int, int> most_in_large_pieces(const Cluster& cluster,
                                         const std::vector<PlacementRequest>& requests,
                                         const PlacementResult& result) {
    std::vector<int> free;
    for (const Node& node : cluster.nodes) free.push_back(node.gpus);
    std::vector<std::size_t> loose;
    for (std::size_t j = 0; j < requests.size(); ++j) {
        if (result.placements[j].empty()) continue;
        const bool stays = result.placements[j] == requests[j].current;
        if (!stays) loose.push_back(j);
        if (stays)
            for (const NodeShare& share : requests[j].current)
                free[share.node] = requests[j].current.size() > 1 ? 0 : free[share.node] - share.gpus;
    }
    std::pair<int, int> best{-1, -1};
    const auto descend = [&](auto&& self, std::size_t next, std::size_t from, int nodes) -> void {
        if (next == loose.size()) {
            std::pair<int, int> here{0, 0};
            for (std::size_t h = 0; h < free.size(); ++h) {
                here.first += free[h] == cluster.nodes[h].gpus;
                here.second = std::max(here.second, free[h]);
            }
            best = std::max(best, here);
            return;
        }
        const Shape shape = requests[loose[next]].part.shape;
        for (std::size_t h = from; h < free.size(); ++h) {
            const int takes = shape.nodes > 1 ? cluster.nodes[h].gpus : shape.gpus;
            if (free[h] < takes) continue;
            free[h] -= takes;
            if (nodes + 1 < shape.nodes)
                self(self, next, h + 1, nodes + 1);
            else
                self(self, next + 1, 0, 0);
            free[h] += takes;
        }
    };
    descend(descend, 0, 0, 0);
    return best;
}

void against_brute_force(std::uint64_t seed, int node_size, const std::vector<int>& sizes) {
    Random random{std::mt19937_64(seed)};
    LeastMovesPlacer placer;
    int rounds = 0, full = 0, moved = 0;
    for (int trial = 0; trial < 400; ++trial) {
        Cluster cluster{{"a100"}, {}};
        add_nodes(cluster, 0, node_size, 3 + random.below(3));
        std::vector<PlacementRequest> requests(static_cast<std::size_t>(4 + random.below(5)));
        // A pinned job of an odd size makes the nodes differ.
        requests[0] = {.part = {0, node_size, {1, 3}}, .current = {{1, 3}}, .pinned = true};
        for (int round = 0; round < 6; ++round) {
            CAPTURE(trial);
            CAPTURE(round);
            const PlacementRequest pinned = requests[0];
            churn(random, cluster, requests, sizes, 30);
            requests[0] = pinned;
            const PlacementResult result = placer.place(cluster, requests);
            REQUIRE(result.proven());
            const FreeSpace space = free_space(cluster, result.placements);
            REQUIRE(space.whole_nodes == result.whole_free_nodes);
            REQUIRE(space.largest_block == result.largest_free_block);
            const auto [whole, largest] = most_in_large_pieces(cluster, requests, result);
            REQUIRE(static_cast<int>(result.whole_free_nodes) == whole);
            REQUIRE(result.largest_free_block == largest);
            rounds += 1;
            full += whole == 0 && largest > 0 ? 1 : 0;
            moved += result.moved.empty() ? 0 : 1;
            for (std::size_t j = 0; j < requests.size(); ++j) requests[j].current = result.placements[j];
        }
    }
    MESSAGE(rounds << " rounds, " << full << " without a whole free node, " << moved << " with moves");
    CHECK(full > 100);
}

TEST_CASE(
    "powers of two: most whole nodes stay free, then the largest block, for the jobs that stay where they "
    "are") {
    against_brute_force(1, 8, {1, 2, 4, 8});
    against_brute_force(2, 4, {1, 2, 4});
}

TEST_CASE("any sizes: the same, by search") {
    against_brute_force(3, 8, {1, 2, 3, 5, 6});
    against_brute_force(4, 7, {2, 3, 4});
}

TEST_CASE("free space: what counts and what does not") {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 5);
    cluster.nodes[4].drained = true;
    // A job over two nodes has both alone. A drained node has no free GPUs.
    const std::vector<Placement> jobs{{{0, 8}, {1, 2}}, {{2, 3}}, {}};
    CHECK(free_gpus(cluster, jobs) == std::vector<int>{0, 0, 5, 8, 0});
    const FreeSpace space = free_space(cluster, jobs);
    CHECK(space == FreeSpace{13, 8, 1, 8});
    CHECK(space.fragmentation() == doctest::Approx(5.0 / 13));
    CHECK(FreeSpace{}.fragmentation() == 0);
    CHECK(space.report() == "13 GPUs free, 8 on one node, 1 whole nodes");
    CHECK_THROWS_AS((void)free_gpus(cluster, std::vector<Placement>{{{5, 1}}}), std::invalid_argument);
    CHECK_THROWS_AS((void)free_gpus(cluster, std::vector<Placement>{{{0, 5}}, {{0, 4}}}),
                    std::invalid_argument);
}

TEST_CASE("node sizes of one GPU type are pools of their own: together they are placed as each alone") {
    Random random{std::mt19937_64(5)};
    LeastMovesPlacer placer;
    int moves = 0;
    for (int trial = 0; trial < 300; ++trial) {
        Cluster cluster{{"a100"}, {}};
        for (int n = 0; n < 12; ++n) add_nodes(cluster, 0, 4 + 2 * random.below(3), 1);
        std::vector<PlacementRequest> requests(20);
        for (int round = 0; round < 4; ++round) {
            CAPTURE(trial);
            CAPTURE(round);
            churn(random, cluster, requests, {1, 2, 3, 4, 6}, 30);
            const PlacementResult together = placer.place(cluster, requests);
            double cost = 0;
            std::size_t unplaced = 0, whole = 0;
            for (const Pool& pool : pools_of(cluster)) {
                std::vector<PlacementRequest> own = requests;
                for (PlacementRequest& request : own)
                    if (request.part.gpus_per_node != pool.gpus_per_node) request.part = {};
                const PlacementResult alone = placer.place(cluster, own);
                for (std::size_t j = 0; j < own.size(); ++j)
                    if (!own[j].part.empty()) CHECK(alone.placements[j] == together.placements[j]);
                cost += alone.move_cost;
                unplaced += alone.unplaced.size();
                for (const std::size_t node : pool.nodes)
                    whole += free_gpus(cluster, alone.placements)[node] == pool.gpus_per_node;
            }
            CHECK(together.move_cost == doctest::Approx(cost));
            CHECK(together.unplaced.size() == unplaced);
            CHECK(together.whole_free_nodes == whole);
            moves += together.moved.empty() ? 0 : 1;
            for (std::size_t j = 0; j < requests.size(); ++j) requests[j].current = together.placements[j];
        }
    }
    CHECK(moves > 20);
}

TEST_CASE(
    "gangs of 3, 6, 12 and 24 on nodes of 12: all that fits by capacity is placed, least moves proven") {
    Random random{std::mt19937_64(6)};
    LeastMovesPlacer placer;
    int moves = 0;
    for (int trial = 0; trial < 300; ++trial) {
        Cluster cluster{{"a100"}, {}};
        add_nodes(cluster, 0, 12, 20);
        std::vector<PlacementRequest> requests(60);
        for (int round = 0; round < 4; ++round) {
            CAPTURE(trial);
            CAPTURE(round);
            churn(random, cluster, requests, {3, 3, 6, 12}, 30);
            int left = 240;
            for (PlacementRequest& request : requests) {
                if (request.part.occupied_gpus() > left) request.part = {};
                left -= request.part.occupied_gpus();
            }
            const PlacementResult result = placer.place(cluster, requests);
            REQUIRE(result.unplaced.empty());
            REQUIRE(result.proven());
            for (std::size_t j = 0; j < requests.size(); ++j)
                REQUIRE(shape_of(result.placements[j]) == requests[j].part.shape);
            REQUIRE(free_space(cluster, result.placements).gpus == left);
            moves += result.moved.empty() ? 0 : 1;
            for (std::size_t j = 0; j < requests.size(); ++j) requests[j].current = result.placements[j];
        }
    }
    CHECK(moves > 100);
}

TEST_CASE("a gang of 13 over two nodes of 8 fills one and has both alone") {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 3);
    const std::vector<PlacementRequest> requests{{.part = {0, 8, {2, 13}}}, {.part = {0, 8, {1, 3}}}};
    const PlacementResult result = LeastMovesPlacer{}.place(cluster, requests);
    CHECK(result.placements[0] == Placement{{0, 8}, {1, 5}});
    CHECK(result.placements[1] == Placement{{2, 3}});
    CHECK(result.largest_free_block == 5);
}

// Jobs on drained nodes stay. Everything else is placed as if the drained nodes did not exist, nor the other
// nodes of jobs that are partly on drained nodes.
TEST_CASE("drained nodes keep what runs on them and take nothing new") {
    Random random{std::mt19937_64(7)};
    LeastMovesPlacer placer;
    int kept = 0, moves = 0;
    for (int trial = 0; trial < 600; ++trial) {
        const bool chain = trial % 2 == 0;
        const std::vector<int> sizes = chain ? std::vector<int>{1, 2, 4, 8} : std::vector<int>{1, 2, 3, 5};
        Cluster cluster{{"a100"}, {}};
        add_nodes(cluster, 0, 8, 10);
        std::vector<PlacementRequest> requests(20);
        for (int round = 0; round < 4; ++round) {
            CAPTURE(trial);
            CAPTURE(round);
            churn(random, cluster, requests, sizes, 30);
            for (Node& node : cluster.nodes) node.drained = round > 0 && random.chance(20);
            const PlacementResult result = placer.place(cluster, requests);

            std::vector<char> gone(cluster.nodes.size(), 0);
            std::vector<PlacementRequest> others;
            for (std::size_t h = 0; h < gone.size(); ++h) gone[h] = cluster.nodes[h].drained;
            for (std::size_t j = 0; j < requests.size(); ++j) {
                const PlacementRequest& request = requests[j];
                const bool on_drained =
                    std::any_of(request.current.begin(), request.current.end(),
                                [&](const NodeShare& share) { return cluster.nodes[share.node].drained; });
                if (!on_drained || request.part.empty() ||
                    pool_share_of(request.current, cluster) != request.part) {
                    for (const NodeShare& share : result.placements[j])
                        REQUIRE(!cluster.nodes[share.node].drained);
                    others.push_back(request);
                    continue;
                }
                REQUIRE(result.placements[j] == request.current);
                for (const NodeShare& share : request.current)
                    if (request.current.size() > 1) gone[share.node] = 1;
                ++kept;
            }
            Cluster rest{{"a100"}, {}};
            std::vector<std::size_t> to(gone.size(), 0);
            for (std::size_t h = 0; h < gone.size(); ++h) {
                to[h] = rest.nodes.size();
                if (!gone[h]) rest.nodes.push_back(cluster.nodes[h]);
            }
            bool lost_home = false;  // and with it the precedence of a running job
            for (PlacementRequest& request : others) {
                lost_home |=
                    std::erase_if(request.current, [&](NodeShare s) { return gone[s.node] != 0; }) > 0;
                for (NodeShare& share : request.current) share.node = to[share.node];
            }
            const PlacementResult without = placer.place(rest, others);
            CHECK(without.unplaced.size() == result.unplaced.size());
            if (result.unplaced.empty() && without.proven() && !lost_home) {
                CHECK(result.move_cost == doctest::Approx(without.move_cost));
                CHECK(result.whole_free_nodes == without.whole_free_nodes);
                CHECK(result.largest_free_block == without.largest_free_block);
            }
            moves += result.moved.empty() ? 0 : 1;
            for (std::size_t j = 0; j < requests.size(); ++j) requests[j].current = result.placements[j];
        }
    }
    CHECK(kept > 300);
    CHECK(moves > 100);
}

TEST_CASE("a job that fits only on drained nodes is impossible, and the result says why") {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 2);
    cluster.nodes[1].drained = true;
    const std::vector<PlacementRequest> requests{{.part = {0, 8, {2, 16}}}, {.part = {0, 8, {1, 8}}}};
    const PlacementResult result = LeastMovesPlacer{}.place(cluster, requests);
    REQUIRE(result.unplaced.size() == 1);
    CHECK(result.unplaced[0].why.outcome == Outcome::impossible);
    CHECK(result.placements[1] == Placement{{0, 8}});
}

}  // namespace

TEST_CASE("more GPUs than an int can count are refused, not added up") {
    Cluster cluster{{"only"}, {}};
    for (int node = 0; node < 1024; ++node)
        cluster.nodes.push_back({"node-" + std::to_string(node), 0, 1 << 20});
    CHECK(free_space(cluster, std::vector<Placement>{}).gpus == 1 << 30);
    cluster.nodes.push_back({"one too many", 0, 1});
    CHECK_THROWS_AS((void)free_space(cluster, std::vector<Placement>{}), std::invalid_argument);
}
