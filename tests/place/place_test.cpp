// Placement: against brute force on thousands of small clusters, and by its invariants on larger ones.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "goodput/place/home_flow.hpp"
#include "goodput/place/least_moves.hpp"
#include "place/place_brute_force.hpp"
#include "place/place_rounds.hpp"
#include "support/place_random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;
using support::place::add_nodes;
using support::place::BruteForce;
using support::place::check_valid;
using support::place::cost_ms;
using support::place::odd_round;
using support::place::Random;
using support::place::random_round;
using support::place::Round;
using support::place::small_cluster;

void check_against_brute_force(const PlacementResult& result, const BruteForce& brute) {
    REQUIRE(result.move_cost_bound <= static_cast<double>(brute.best.cost) / 1000 + 1e-9);
    REQUIRE(result.proven());
    REQUIRE(result.move_cost == doctest::Approx(static_cast<double>(brute.best.cost) / 1000));
    REQUIRE(brute.score_of(result) == brute.best);
}

TEST_CASE("powers of two: nothing better than the placement exists, and it says so") {
    Random random{std::mt19937_64(1)};
    LeastMovesPlacer placer;
    int with_moves = 0, with_unplaced = 0;
    for (int trial = 0; trial < support::trials(20000); ++trial) {
        CAPTURE(trial);
        Cluster cluster = small_cluster(random);
        const int jobs = 2 + random.below(5), changed = random.below(40);
        const Round round = random_round(random, cluster, jobs, true, changed, 8, 20);
        const BruteForce brute(round);
        const PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        check_against_brute_force(result, brute);
        if (result.moved.empty()) REQUIRE(static_cast<int>(result.whole_free_nodes) >= brute.whole_free);
        with_moves += result.moved.empty() ? 0 : 1;
        with_unplaced += result.unplaced.empty() ? 0 : 1;
    }
    // Not all cases are easy.
    CHECK(with_moves > support::trials(300));
    CHECK(with_unplaced > support::trials(300));
}

TEST_CASE("any sizes: the same, by search") {
    Random random{std::mt19937_64(2)};
    LeastMovesPlacer placer;
    int with_moves = 0;
    for (int trial = 0; trial < support::trials(20000); ++trial) {
        CAPTURE(trial);
        Cluster cluster{{"a100"}, {}};
        const int node_size = 3 + random.below(6);
        add_nodes(cluster, 0, node_size, 1 + random.below(4));
        const int jobs = 1 + random.below(6), changed = random.below(50);
        const Round round = random_round(random, cluster, jobs, false, changed, 10);
        const BruteForce brute(round);
        const PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        check_against_brute_force(result, brute);
        with_moves += result.moved.empty() ? 0 : 1;
    }
    CHECK(with_moves > support::trials(100));
}

TEST_CASE("odd nodes, drained ones, spot and pinned jobs: the same") {
    Random random{std::mt19937_64(22)};
    LeastMovesPlacer placer;
    int with_moves = 0, with_unplaced = 0;
    for (int trial = 0; trial < support::trials(20000); ++trial) {
        CAPTURE(trial);
        const Round round = odd_round(random, 5, 6);
        const PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        check_against_brute_force(result, BruteForce(round));
        with_moves += result.moved.empty() ? 0 : 1;
        with_unplaced += result.unplaced.empty() ? 0 : 1;
    }
    CHECK(with_moves > support::trials(150));
    CHECK(with_unplaced > support::trials(300));
}

TEST_CASE("hardly any step to search with: still valid, and the bound stays below the best") {
    Random random{std::mt19937_64(3)};
    LeastMovesPlacer placer({.search_steps = 2, .search_work = 20, .cover_states = 4});
    int unproven = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        CAPTURE(trial);
        const Round round = odd_round(random, 4, 7);
        const PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        const BruteForce brute(round, {}, &result);
        REQUIRE(result.move_cost_bound <= static_cast<double>(brute.least_cost_of_given) / 1000 + 1e-9);
        REQUIRE(result.unplaced.size() >= brute.best.unplaced);
        if (result.fewest_unplaced_proven) REQUIRE(result.unplaced.size() == brute.best.unplaced);
        unproven += result.proven() ? 0 : 1;
    }
    CHECK(unproven > 0);
}

TEST_CASE("an unchanged round moves nothing, at any size and whatever the sizes of jobs") {
    Random random{std::mt19937_64(4)};
    LeastMovesPlacer placer;
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        Cluster cluster{{"a100", "rtx"}, {}};
        add_nodes(cluster, 0, 8, 20);
        add_nodes(cluster, 1, 4, 20);
        Round round = random_round(random, cluster, 60, trial % 2 == 0, 30, 10);
        PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        for (std::size_t j = 0; j < round.requests.size(); ++j)
            round.requests[j].current = result.placements[j];
        // Removes waiting jobs and pinned jobs: two pinned ones may share a node against the rules.
        std::erase_if(round.requests,
                      [](const PlacementRequest& r) { return r.current.empty() || r.pinned; });
        result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        CHECK(result.moved.empty());
        CHECK(result.unplaced.empty());
        for (std::size_t j = 0; j < round.requests.size(); ++j)
            CHECK(result.placements[j] == round.requests[j].current);
    }
}

// Makes 50 nodes and allotments that together need no more GPUs than exist.
Round feasible_round(Random& random, int changed_percent) {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 50);
    const int jobs = 60 + random.below(140), started = random.below(40);
    Round round = random_round(random, cluster, jobs, true, changed_percent, 0, started);
    int left = 400;
    for (PlacementRequest& request : round.requests) {
        if (request.part.occupied_gpus() > left) request.part = {};
        left -= request.part.occupied_gpus();
    }
    return round;
}

TEST_CASE("powers of two: whatever fits by capacity is placed; moves are as cheap as can be") {
    Random random{std::mt19937_64(5)};
    LeastMovesPlacer placer;
    int proven = 0, moves = 0;
    double cost = 0, bound = 0;
    const int trials = support::trials(3000);
    for (int trial = 0; trial < trials; ++trial) {
        CAPTURE(trial);
        const Round round = feasible_round(random, random.below(60));
        const PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        REQUIRE(result.unplaced.empty());
        proven += result.proven() ? 1 : 0;
        moves += result.moved.empty() ? 0 : 1;
        cost += result.move_cost;
        bound += result.move_cost_bound;
    }
    MESSAGE(proven << " of " << trials << " proven, " << moves << " with moves, cost over bound "
                   << cost / bound);
    CHECK(moves > trials / 4);
    CHECK(proven > trials * 95 / 100);
    CHECK(cost <= bound * 1.005);
}

TEST_CASE("any sizes and pinned jobs on many nodes, also more than fits: valid, with an honest bound") {
    Random random{std::mt19937_64(9)};
    LeastMovesPlacer placer;
    int proven = 0, unplaced = 0, moves = 0;
    constexpr int trials = 400;
    for (int trial = 0; trial < trials; ++trial) {
        CAPTURE(trial);
        Cluster cluster{{"a100", "rtx"}, {}};
        add_nodes(cluster, 0, 8, 20);
        add_nodes(cluster, 1, trial % 2 == 0 ? 7 : 8, 20);
        const int jobs = 40 + random.below(60), changed = random.below(30);
        const Round round = random_round(random, cluster, jobs, trial % 4 == 0, changed, 5);
        const PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        // A placer without history gives the same answer.
        const PlacementResult fresh = LeastMovesPlacer{}.place(round.cluster, round.requests);
        CHECK(fresh.placements == result.placements);
        proven += result.proven() ? 1 : 0;
        unplaced += result.unplaced.empty() ? 0 : 1;
        moves += result.moved.empty() ? 0 : 1;
    }
    MESSAGE(proven << " of " << trials << " proven, " << unplaced << " with unplaced jobs, " << moves
                   << " with moves");
    CHECK(unplaced > trials / 4);
}

TEST_CASE("other names and orders of nodes and jobs give no worse a placement") {
    Random random{std::mt19937_64(6)};
    LeastMovesPlacer placer;
    for (int trial = 0; trial < 500; ++trial) {
        CAPTURE(trial);
        const Round round = feasible_round(random, 20);
        const PlacementResult result = placer.place(round.cluster, round.requests);
        std::vector<std::size_t> to(round.cluster.nodes.size());
        std::iota(to.begin(), to.end(), std::size_t{0});
        for (std::size_t h = to.size(); h > 1; --h) std::swap(to[h - 1], to[random.engine() % h]);
        Round other = round;
        for (std::size_t h = 0; h < to.size(); ++h) other.cluster.nodes[to[h]] = round.cluster.nodes[h];
        for (PlacementRequest& request : other.requests) {
            for (NodeShare& share : request.current) share.node = to[share.node];
            std::sort(request.current.begin(), request.current.end());
        }
        std::reverse(other.requests.begin(), other.requests.end());
        const PlacementResult again = placer.place(other.cluster, other.requests);
        CHECK(again.unplaced.size() == result.unplaced.size());
        if (!result.proven() || !again.proven()) continue;
        CHECK(again.move_cost == doctest::Approx(result.move_cost));
        CHECK(again.moved.size() == result.moved.size());
        if (result.moved.empty()) CHECK(again.whole_free_nodes == result.whole_free_nodes);
    }
}

TEST_CASE("evictions: no other choice of jobs makes room for less, and the bound is never above that") {
    Random random{std::mt19937_64(7)};
    detail::EvictionChooser chooser;
    int some = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        CAPTURE(trial);
        const int node_size = 4 + random.below(6), nodes = 1 + random.below(4);
        const int largest = random.chance(50) ? 1'000'000'000 : 5;
        std::vector<int> free(static_cast<std::size_t>(nodes), node_size), rows, need;
        std::vector<detail::Stayer> stayers;
        for (int tries = 0; tries < 16 && stayers.size() < 9; ++tries) {
            const std::size_t node = random.engine() % free.size();
            const int size = 1 + random.below(node_size - 1);
            if (size > free[node]) continue;
            free[node] -= size;
            stayers.push_back({node, size, std::int64_t{random.below(largest)} * 1000, stayers.size()});
        }
        for (int size = 1; size <= node_size; ++size)
            if (random.chance(40)) {
                rows.push_back(size);
                need.push_back(random.below(4));
            }
        const auto makes_room = [&](std::uint32_t leaving) {
            std::vector<int> gpus(free.size(), 0);
            for (std::size_t i = 0; i < stayers.size(); ++i)
                if (leaving >> stayers[i].item & 1) gpus[stayers[i].node] += stayers[i].size;
            for (std::size_t r = 0; r < rows.size(); ++r) {
                int gain = -need[r];
                for (std::size_t n = 0; n < free.size(); ++n)
                    gain += (free[n] + gpus[n]) / rows[r] - free[n] / rows[r];
                for (const detail::Stayer& stayer : stayers)
                    gain -= leaving >> stayer.item & 1 ? stayer.size / rows[r] : 0;
                if (gain < 0) return false;
            }
            return true;
        };
        const auto weight_of = [&](std::uint32_t leaving) {
            std::int64_t weight = 0;
            for (const detail::Stayer& stayer : stayers)
                weight += leaving >> stayer.item & 1 ? stayer.weight : 0;
            return weight;
        };
        std::int64_t best = std::numeric_limits<std::int64_t>::max();
        for (std::uint32_t leaving = 0; leaving < 1U << stayers.size(); ++leaving)
            if (makes_room(leaving)) best = std::min(best, weight_of(leaving));
        for (const std::size_t states : {std::size_t{0}, std::size_t{3}, std::size_t{100'000}}) {
            const std::int64_t bound = chooser.choose(stayers, free, rows, need, states);
            std::uint32_t leaving = 0;
            for (const std::size_t item : chooser.evicted()) leaving |= 1U << item;
            REQUIRE(makes_room(leaving) == (best != std::numeric_limits<std::int64_t>::max()));
            REQUIRE(bound <= best);
            if (states > 3 && makes_room(leaving)) {
                REQUIRE(weight_of(leaving) == best);
                REQUIRE(bound == best);
            }
            some += best > 0 && makes_room(leaving) ? 1 : 0;
        }
    }
    CHECK(some > 1000);
}

// Returns how many of the GPUs that jobs hold lie on nodes that the jobs are given again.
int kept_gpus(const std::vector<PlacementRequest>& requests, const PlacementResult& result) {
    int sum = 0;
    for (std::size_t j = 0; j < requests.size(); ++j)
        for (const NodeShare& held : requests[j].current)
            sum += std::ranges::any_of(result.placements[j],
                                       [&](const NodeShare& share) { return share.node == held.node; })
                       ? held.gpus
                       : 0;
    return sum;
}

TEST_CASE("nodes that several restarting jobs hold go to the same jobs as by brute force, or nearly") {
    Random random{std::mt19937_64(8)};
    LeastMovesPlacer by_flow({.homes = homes_by_flow}), greedy;
    int kept_by_flow = 0, kept_greedily = 0, contended = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        CAPTURE(trial);
        const std::size_t jobs = 1 + random.engine() % 4, nodes = 1 + random.engine() % 10;
        std::vector<int> need;
        for (std::size_t j = 0; j < jobs; ++j) need.push_back(random.below(4));
        // Makes the nodes that the jobs hold, and enough further nodes for all that they need.
        Round round;
        round.cluster.gpu_types = {"a100"};
        add_nodes(round.cluster, 0, 40, static_cast<int>(nodes) + 12);
        round.requests.resize(jobs);
        std::vector<std::vector<int>> held(jobs, std::vector<int>(nodes, 0));
        for (std::size_t j = 0; j < jobs; ++j) {
            if (need[j] > 0) round.requests[j].part = {0, 40, {need[j], need[j] * 40}};
            for (std::size_t h = 0; h < nodes; ++h)
                if (random.chance(40))
                    round.requests[j].current.push_back({h, held[j][h] = 1 + random.below(8)});
        }
        // Dynamic programme over the nodes: maps the nodes that each job still needs to the most held GPUs on
        // the nodes so far.
        std::map<std::vector<int>, int> most{{need, 0}};
        for (std::size_t h = 0; h < nodes; ++h) {
            std::map<std::vector<int>, int> next = most;
            for (const auto& [left, sum] : most)
                for (std::size_t j = 0; j < jobs; ++j) {
                    if (left[j] == 0 || held[j][h] == 0) continue;
                    std::vector<int> then = left;
                    --then[j];
                    int& known = next[then];
                    known = std::max(known, sum + held[j][h]);
                }
            most = std::move(next);
        }
        int best = 0;
        for (const auto& [left, sum] : most) best = std::max(best, sum);
        const PlacementResult result = by_flow.place(round.cluster, round.requests);
        check_valid(round, result);
        REQUIRE(result.unplaced.empty());
        REQUIRE(kept_gpus(round.requests, result) == best);
        const PlacementResult other = greedy.place(round.cluster, round.requests);
        check_valid(round, other);
        const int sum = kept_gpus(round.requests, other);
        REQUIRE(2 * sum >= best);
        kept_by_flow += best;
        kept_greedily += sum;
        contended += sum < best ? 1 : 0;
    }
    MESSAGE("whoever holds most keeps " << kept_greedily << " GPUs in place, the flow " << kept_by_flow
                                        << "; " << contended << " of 3,000 rounds are not the same");
    CHECK(contended > 100);
    CHECK(kept_greedily > kept_by_flow * 95 / 100);
}

TEST_CASE("rounds without shared nodes are the same with a flow for home nodes") {
    Random random{std::mt19937_64(18)};
    LeastMovesPlacer by_flow({.homes = homes_by_flow}), greedy;
    for (int trial = 0; trial < 100; ++trial) {
        CAPTURE(trial);
        Cluster cluster{{"a100"}, {}};
        add_nodes(cluster, 0, 8, 20);
        Round round = random_round(random, cluster, 40, trial % 2 == 0, 30, 5, 35, 50);
        for (PlacementRequest& request : round.requests) request.current.clear(), request.pinned = false;
        for (int again = 0; again < 4; ++again) {
            const PlacementResult result = by_flow.place(round.cluster, round.requests);
            REQUIRE(greedy.place(round.cluster, round.requests).placements == result.placements);
            for (std::size_t j = 0; j < round.requests.size(); ++j) {
                PlacementRequest& request = round.requests[j];
                request.current = result.placements[j];
                if (random.chance(30)) request.part = support::place::random_part(random, cluster, true, 60);
            }
        }
    }
}

TEST_CASE("restarting jobs keep nodes that they hold") {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 4);
    // Job 0 grows from node 2 to two nodes, job 1 shrinks from nodes 0 and 3 to one of them.
    std::vector<PlacementRequest> requests(2);
    requests[0] = {.part = {0, 8, {2, 16}}, .current = {{2, 4}}};
    requests[1] = {.part = {0, 8, {1, 8}}, .current = {{0, 8}, {3, 8}}};
    const PlacementResult result = LeastMovesPlacer{}.place(cluster, requests);
    CHECK(std::ranges::count(result.placements[0], NodeShare{2, 8}) == 1);
    CHECK((result.placements[1] == Placement{{0, 8}} || result.placements[1] == Placement{{3, 8}}));
    CHECK(result.moved.empty());
}

TEST_CASE("7 + 6 + 7 of 8 GPUs in use and a job of 4 to start: the cheapest jobs make room") {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 3);
    std::vector<PlacementRequest> requests;
    const auto add = [&](std::size_t node, int gpus, double cost) {
        requests.push_back({.part = {0, 8, {1, gpus}}, .current = {{node, gpus}}, .move_cost = cost});
    };
    add(0, 4, 900), add(0, 2, 60), add(0, 1, 60);
    add(1, 4, 900), add(1, 2, 45);
    add(2, 4, 900), add(2, 2, 30), add(2, 1, 20);
    requests.push_back({.part = {0, 8, {1, 4}}});
    const PlacementResult result = LeastMovesPlacer{}.place(cluster, requests);
    CHECK(result.unplaced.empty());
    CHECK(result.moved == std::vector<std::size_t>{6, 7});
    CHECK(result.move_cost == doctest::Approx(50));
    CHECK(result.proven());
}

TEST_CASE("jobs that cannot be placed say why") {
    Cluster cluster{{"a100", "rtx"}, {}};
    add_nodes(cluster, 0, 8, 2);
    std::vector<PlacementRequest> requests(5);
    requests[0] = {.part = {0, 8, {1, 3}}, .current = {{0, 3}}, .pinned = true};
    requests[1] = {.part = {0, 8, {1, 3}}, .current = {{1, 3}}, .pinned = true};
    requests[2] = {.part = {0, 8, {1, 6}}};
    requests[3] = {.part = {1, 4, {1, 2}}};
    requests[4] = {.part = {0, 8, {3, 24}}};
    const PlacementResult result = LeastMovesPlacer{}.place(cluster, requests);
    REQUIRE(result.unplaced.size() == 3);
    CHECK(result.unplaced[0].why.outcome == Outcome::waits);
    CHECK(result.unplaced[0].why.reason ==
          "needs 6 GPUs on one of the 2 a100 nodes of 8 GPUs; the largest free block is 5");
    CHECK(result.unplaced[1].why.outcome == Outcome::impossible);
    CHECK(result.unplaced[1].why.reason == "no healthy rtx node of 4 GPUs exists");
    CHECK(result.unplaced[2].why.outcome == Outcome::impossible);
    CHECK(result.proven());
    CHECK(result.report() == "2 jobs placed, 3 not, 0 moved for 0 s (proven least)");
}

TEST_CASE("input that makes no sense is refused") {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 2);
    LeastMovesPlacer placer;
    const auto refused = [&](std::vector<PlacementRequest> requests) {
        CHECK_THROWS_AS(placer.place(cluster, requests), std::invalid_argument);
    };
    const PoolShare two{0, 8, {1, 2}};
    refused({{.part = {0, 8, {1, 9}}}});
    refused({{.part = {0, 8, {0, 2}}}});
    refused({{.part = {0, 8, {3, 2}}}});
    refused({{.part = {0, 8, {1, -1}}}});
    refused({{.part = {0, 0, {1, 1}}}});
    refused({{.part = {1, 8, {1, 2}}}});
    refused({{.part = two, .current = {{2, 2}}}});
    refused({{.part = two, .current = {{0, 9}}}});
    refused({{.part = two, .current = {{0, 0}}}});
    refused({{.part = two, .current = {{1, 1}, {0, 1}}}});
    refused({{.part = two, .current = {{0, 5}}}, {.part = two, .current = {{0, 4}}}});
    refused({{.part = two, .move_cost = -1}});
    refused({{.part = two, .move_cost = std::numeric_limits<double>::quiet_NaN()}});
    refused({{.part = two, .move_cost = std::numeric_limits<double>::infinity()}});
    refused({{.part = two, .current = {{0, 4}}, .pinned = true}});
    // A pinned job that runs nowhere yet is treated like any other.
    CHECK(
        placer.place(cluster, std::vector<PlacementRequest>{{.part = two, .pinned = true}}).unplaced.empty());
}

// A placer written by a user.
struct NoPlacer {
    PlacementResult place(const Cluster&, std::span<const PlacementRequest>) { return {}; }
};
static_assert(Placer<NoPlacer>);

}  // namespace
