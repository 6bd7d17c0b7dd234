// Defragmentation plans against brute force over all placements and all orders of moves, the space that
// placements leave free, and drained nodes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "goodput/moves/defragment.hpp"
#include "goodput/moves/detail/detour_search.hpp"
#include "goodput/moves/detail/move_order.hpp"
#include "support/place_random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;
using support::place::add_nodes;
using support::place::Random;

struct Case {
    Cluster cluster;
    std::vector<PlacementRequest> requests;
    std::vector<PoolShare> wishes;
};

// Adds jobs on single nodes at random places; `sizes` lists the sizes that occur.
void add_jobs(Random& random, Case& c, const std::vector<int>& sizes, int jobs, int pinned_percent) {
    std::vector<int> free;
    for (const Node& node : c.cluster.nodes) free.push_back(node.gpus);
    for (int j = 0; j < jobs; ++j) {
        const std::size_t node = random.engine() % free.size();
        const int gpus = sizes[random.engine() % sizes.size()];
        if (gpus > free[node]) continue;
        free[node] -= gpus;
        // The plan has to ignore the allotment, and the order to leave.
        c.requests.push_back({.part = {0, c.cluster.nodes[node].gpus, {1, 1}},
                              .current = {{node, gpus}},
                              .move_cost = static_cast<double>(random.chance(50) ? 1 + random.below(3)
                                                                                 : 10 + random.below(90)),
                              .pinned = random.chance(pinned_percent),
                              .leaves = j % 3 == 0});
    }
}

std::vector<Placement> running(const std::vector<PlacementRequest>& requests) {
    std::vector<Placement> placements;
    for (const PlacementRequest& request : requests) placements.push_back(request.current);
    return placements;
}

bool wishes_fit(const Cluster& cluster, std::vector<int> free, const std::vector<PoolShare>& wishes,
                std::size_t next = 0) {
    if (next == wishes.size()) return true;
    const PoolShare& wish = wishes[next];
    std::vector<std::size_t> nodes;
    for (std::size_t h = 0; h < free.size(); ++h)
        if (cluster.nodes[h].gpu_type == wish.gpu_type && cluster.nodes[h].gpus == wish.gpus_per_node &&
            free[h] >= (wish.shape.nodes > 1 ? wish.gpus_per_node : wish.shape.gpus))
            nodes.push_back(h);
    if (nodes.size() < static_cast<std::size_t>(wish.shape.nodes)) return false;
    if (wish.shape.nodes > 1) {
        // Wholly free nodes are all alike.
        for (int n = 0; n < wish.shape.nodes; ++n) free[nodes[static_cast<std::size_t>(n)]] = 0;
        return wishes_fit(cluster, free, wishes, next + 1);
    }
    for (const std::size_t h : nodes) {
        free[h] -= wish.shape.gpus;
        if (wishes_fit(cluster, free, wishes, next + 1)) return true;
        free[h] += wish.shape.gpus;
    }
    return false;
}

bool may_go(const Case& c, std::size_t job, std::size_t node) {
    const Node& from = c.cluster.nodes[c.requests[job].current.front().node];
    const Node& to = c.cluster.nodes[node];
    return from.gpu_type == to.gpu_type && from.gpus == to.gpus && !to.drained;
}

bool stays(const Case& c, std::size_t job) {
    const Placement& current = c.requests[job].current;
    return c.requests[job].pinned || current.size() > 1 || c.cluster.nodes[current.front().node].drained;
}

constexpr double never = std::numeric_limits<double>::infinity();

// Returns the least cost of moving jobs so that the wishes fit, if all moved at once.
double least_at_once(const Case& c) {
    std::vector<int> free;
    for (const Node& node : c.cluster.nodes) free.push_back(node.drained ? 0 : node.gpus);
    for (std::size_t j = 0; j < c.requests.size(); ++j)
        if (stays(c, j))
            for (const NodeShare& share : c.requests[j].current)
                free[share.node] =
                    c.requests[j].current.size() > 1 ? 0 : std::max(free[share.node] - share.gpus, 0);
    double best = never;
    const auto descend = [&](auto&& self, std::size_t job, double cost) -> void {
        if (cost >= best) return;
        if (job == c.requests.size()) {
            if (wishes_fit(c.cluster, free, c.wishes)) best = cost;
            return;
        }
        if (stays(c, job)) return self(self, job + 1, cost);
        const NodeShare share = c.requests[job].current.front();
        for (std::size_t h = 0; h < free.size(); ++h) {
            if (!may_go(c, job, h) || free[h] < share.gpus) continue;
            free[h] -= share.gpus;
            self(self, job + 1, cost + (h == share.node ? 0 : c.requests[job].move_cost));
            free[h] += share.gpus;
        }
    };
    descend(descend, 0, 0);
    return best;
}

// Returns the least cost of moves one by one, each into free GPUs (Dijkstra over all states).
double least_in_order(const Case& c) {
    using State = std::vector<std::size_t>;  // node of each job
    State start;
    for (const PlacementRequest& request : c.requests) start.push_back(request.current.front().node);
    std::map<State, double> cost{{start, 0}};
    std::set<std::pair<double, State>> open{{0, start}};
    while (!open.empty()) {
        const auto [here, state] = *open.begin();
        open.erase(open.begin());
        if (here > cost[state]) continue;
        std::vector<int> free;
        for (const Node& node : c.cluster.nodes) free.push_back(node.gpus);
        for (std::size_t j = 0; j < state.size(); ++j) free[state[j]] -= c.requests[j].current.front().gpus;
        for (std::size_t h = 0; h < free.size(); ++h)
            if (c.cluster.nodes[h].drained) free[h] = 0;
        if (wishes_fit(c.cluster, free, c.wishes)) return here;
        for (std::size_t j = 0; j < state.size(); ++j)
            for (std::size_t h = 0; h < free.size(); ++h) {
                if (stays(c, j) || h == state[j] || !may_go(c, j, h)) continue;
                if (free[h] < c.requests[j].current.front().gpus) continue;
                State next = state;
                next[j] = h;
                const double there = here + c.requests[j].move_cost;
                const auto [it, fresh] = cost.insert({next, there});
                if (!fresh && it->second <= there) continue;
                it->second = there;
                open.insert({there, next});
            }
    }
    return never;
}

// Carries the plan out: every step must find room, and so must the wishes in the end.
void check_plan(const Case& c, const DefragmentPlan& plan) {
    std::vector<Placement> now = running(c.requests);
    std::vector<int> free = free_gpus(c.cluster, now);
    REQUIRE(plan.before == free_space(c.cluster, now));
    double cost = 0;
    std::size_t asides = 0, stops = 0;
    std::vector<int> restarts(c.requests.size(), 0);
    for (const DefragmentMove& move : plan.moves) {
        REQUIRE(!stays(c, move.job));
        const int gpus = c.requests[move.job].current.front().gpus;
        REQUIRE((move.kind == MoveKind::starts) == (move.from.gpus == 0));
        REQUIRE((move.kind == MoveKind::stops) == (move.to.gpus == 0));
        if (move.from.gpus > 0) {
            REQUIRE(now[move.job] == Placement{move.from});
            free[move.from.node] += gpus;
            REQUIRE(move.source_free == free[move.from.node]);
        } else {
            REQUIRE(now[move.job].empty());
        }
        now[move.job].clear();
        if (move.to.gpus > 0) {
            REQUIRE(move.to.gpus == gpus);
            if (move.from.gpus > 0) REQUIRE(move.to.node != move.from.node);
            REQUIRE(may_go(c, move.job, move.to.node));
            REQUIRE(free[move.to.node] >= gpus);
            free[move.to.node] -= gpus;
            now[move.job] = {move.to};
            ++restarts[move.job];
        }
        REQUIRE(move.cost == (move.kind == MoveKind::stops ? 0 : c.requests[move.job].move_cost));
        cost += move.cost;
        asides += move.kind == MoveKind::steps_aside ? 1 : 0;
        stops += move.kind == MoveKind::stops ? 1 : 0;
    }
    for (std::size_t j = 0; j < now.size(); ++j) REQUIRE(now[j].empty() == c.requests[j].current.empty());
    REQUIRE(plan.asides == asides);
    REQUIRE(plan.stops == stops);
    REQUIRE(plan.cost == doctest::Approx(cost));
    REQUIRE(plan.cost_bound <= plan.cost + 1e-9);
    REQUIRE(plan.after == free_space(c.cluster, now));
    REQUIRE(free == free_gpus(c.cluster, now));
    REQUIRE(plan.room.size() == c.wishes.size());
    std::size_t unmet = 0;
    for (std::size_t w = 0; w < c.wishes.size(); ++w) {
        if (plan.room[w].empty()) {
            REQUIRE(plan.unmet[unmet++].job == w);
            continue;
        }
        REQUIRE(pool_share_of(plan.room[w], c.cluster) == c.wishes[w]);
        now.push_back(plan.room[w]);
    }
    REQUIRE(plan.unmet.size() == unmet);
    // Throws if a node is overfilled.
    const FreeSpace left = free_space(c.cluster, now);
    REQUIRE(left.gpus <= plan.after.gpus);
    for (std::size_t w = 0; w < plan.room.size(); ++w)
        if (plan.room[w].size() > 1)
            for (const NodeShare& share : plan.room[w])
                REQUIRE(free[share.node] == c.cluster.nodes[share.node].gpus);
}

// Makes a case whose wishes mostly do not fit the jobs' places, but might after moves.
Case small_case(Random& random, const std::vector<int>& sizes, int node_size) {
    Case c{{{"a100"}, {}}, {}, {}};
    const int nodes = 2 + random.below(3);
    for (int n = 0; n < nodes; ++n) {
        add_nodes(c.cluster, 0, node_size, 1);
        c.cluster.nodes.back().drained = random.chance(5);
    }
    add_jobs(random, c, sizes, 6 + random.below(10), 5);
    if (c.requests.size() > 8) c.requests.resize(8);
    const std::vector<int> free = free_gpus(c.cluster, running(c.requests));
    const int total = std::accumulate(free.begin(), free.end(), 0);
    for (int draw = 0; draw < 20; ++draw) {
        c.wishes.clear();
        int wished = 0;
        const int wishes = random.chance(70) ? 1 : 2;
        for (int w = 0; w < wishes; ++w) {
            c.wishes.push_back(random.chance(30) ? whole_nodes(0, node_size, 1 + random.below(2))
                                                 : PoolShare{0, node_size, {1, 1 + random.below(node_size)}});
            wished += c.wishes.back().occupied_gpus();
        }
        if (random.chance(5) || (wished <= total && !wishes_fit(c.cluster, free, c.wishes))) break;
    }
    return c;
}

void against_brute_force(std::uint64_t seed, const std::vector<int>& sizes, int node_size) {
    const int trials = support::trials(3000);
    Random random{std::mt19937_64(seed)};
    Defragmenter defragmenter, stopper({.step_aside = false});
    int with_moves = 0, with_cycles = 0, stopped = 0, dearer = 0, unmet = 0;
    for (int trial = 0; trial < trials; ++trial) {
        CAPTURE(trial);
        const Case c = small_case(random, sizes, node_size);
        const DefragmentPlan plan = defragmenter.plan(c.cluster, c.requests, c.wishes);
        check_plan(c, plan);
        const double at_once = least_at_once(c);
        REQUIRE((at_once < never) == plan.unmet.empty());
        REQUIRE(plan.most_wishes_proven);
        if (!plan.unmet.empty()) {
            // A wish fits after those met before it if and only if the plan gives it room.
            Case met = c;
            met.wishes.clear();
            for (std::size_t w = 0; w < c.wishes.size(); ++w) {
                met.wishes.push_back(c.wishes[w]);
                REQUIRE((least_at_once(met) < never) == !plan.room[w].empty());
                if (plan.room[w].empty()) met.wishes.pop_back();
            }
            REQUIRE(least_at_once(met) == doctest::Approx(plan.cost_bound));
            ++unmet;
            continue;
        }
        REQUIRE(plan.cost_bound == doctest::Approx(at_once));
        const double in_order = least_in_order(c);
        if (plan.stops == 0) REQUIRE(plan.cost >= in_order - 1e-9);
        if (plan.stops == 0 && plan.proven()) REQUIRE(plan.cost == doctest::Approx(in_order));
        with_moves += plan.moves.empty() ? 0 : 1;
        with_cycles += plan.asides + plan.stops > 0 ? 1 : 0;
        stopped += plan.stops > 0 && in_order < never ? 1 : 0;
        dearer += plan.stops == 0 && plan.cost > in_order + 1e-9 ? 1 : 0;
        const DefragmentPlan stopping = stopper.plan(c.cluster, c.requests, c.wishes);
        check_plan(c, stopping);
        REQUIRE(stopping.asides == 0);
        REQUIRE(stopping.cost == doctest::Approx(at_once));
        REQUIRE(stopping.proven());
    }
    MESSAGE(with_moves << " plans with moves, " << unmet << " with unmet wishes; " << with_cycles
                       << " with a cycle to break, of which " << stopped
                       << " stop a job where an order without exists and " << dearer << " cost more than it");
    CHECK(with_moves > trials / 10);
    CHECK(stopped + dearer <= with_moves / 50);
}

TEST_CASE("powers of two: the plan costs what brute force finds, and can be carried out step by step") {
    against_brute_force(1, {1, 2, 4}, 8);
    against_brute_force(2, {1, 2}, 4);
}

TEST_CASE("any sizes: the same") {
    against_brute_force(3, {1, 2, 3, 5}, 8);
    against_brute_force(4, {2, 3}, 5);
    against_brute_force(5, {2, 3, 4}, 6);
}

TEST_CASE("a job to come on 4 GPUs: the cheapest jobs leave, none that is pinned") {
    Case c{{{"a100"}, {}}, {}, {{0, 8, {1, 4}}}};
    add_nodes(c.cluster, 0, 8, 3);
    const auto add = [&](std::size_t node, int gpus, double cost, bool pinned = false) {
        c.requests.push_back({.current = {{node, gpus}}, .move_cost = cost, .pinned = pinned});
    };
    add(0, 4, 900), add(0, 2, 60), add(0, 1, 60);
    add(1, 4, 900), add(1, 2, 45);
    add(2, 4, 900), add(2, 2, 30, true), add(2, 1, 20);
    const DefragmentPlan plan = Defragmenter{}.plan(c.cluster, c.requests, c.wishes);
    check_plan(c, plan);
    // Job 4 moves to the room that job 7 leaves.
    REQUIRE(plan.moves.size() == 2);
    CHECK(plan.moves[0].job == 7);
    CHECK(plan.moves[0].source_free == 2);
    CHECK(plan.moves[1].job == 4);
    CHECK(plan.moves[1].to == NodeShare{2, 2});
    CHECK(plan.moves[1].source_free == 4);
    CHECK(plan.report() ==
          "room for 1 of 1 wishes in 2 moves for 65 s (proven least); whole free nodes 0 -> 0, largest free "
          "block 2 -> 4");
}

TEST_CASE("without free GPUs to step aside to, a job stops and starts again") {
    // 3 + 2 of 6 GPUs are in use on two nodes, and a job of 2 will come: a 3 and a 2 have to change places.
    Case c{{{"a100"}, {}}, {}, {{0, 6, {1, 2}}}};
    add_nodes(c.cluster, 0, 6, 2);
    const auto add = [&](std::size_t node, int gpus, double cost) {
        c.requests.push_back({.current = {{node, gpus}}, .move_cost = cost});
    };
    add(0, 3, 40), add(0, 2, 10), add(1, 3, 20), add(1, 2, 30);
    const DefragmentPlan plan = Defragmenter{}.plan(c.cluster, c.requests, c.wishes);
    check_plan(c, plan);
    CHECK(least_in_order(c) == never);
    REQUIRE(plan.moves.size() == 3);
    CHECK(plan.moves[0].kind == MoveKind::stops);
    CHECK(plan.moves[0].job == 1);
    CHECK(plan.moves[1].kind == MoveKind::moves);
    CHECK(plan.moves[1].job == 2);
    CHECK(plan.moves[2].kind == MoveKind::starts);
    CHECK(plan.cost == doctest::Approx(30));
    CHECK(plan.proven());
    CHECK(plan.report() ==
          "room for 1 of 1 wishes in 3 moves for 30 s (proven least), 1 jobs stop meanwhile; whole free "
          "nodes 0 "
          "-> 0, largest free block 1 -> 2");
}

TEST_CASE(
    "jobs on whole nodes, over several pools or on drained nodes stay; wishes that cannot be met say why") {
    Case c{{{"a100", "rtx"}, {}}, {}, {}};
    add_nodes(c.cluster, 0, 8, 4);
    add_nodes(c.cluster, 0, 4, 2);
    add_nodes(c.cluster, 1, 8, 1);
    c.cluster.nodes[3].drained = true;
    const auto add = [&](Placement current) { c.requests.push_back({.current = current, .move_cost = 1}); };
    add({{0, 8}, {4, 2}});  // a node of 8 and one of 4
    add({{1, 4}, {5, 1}});
    add({{2, 2}}), add({{3, 2}}), add({{6, 3}});
    add({});
    c.wishes = {whole_nodes(0, 8, 1), {0, 8, {1, 6}}, whole_nodes(1, 8, 1), whole_nodes(0, 4, 3)};
    const DefragmentPlan plan = Defragmenter{}.plan(c.cluster, c.requests, c.wishes);
    CHECK(plan.moves.empty());
    CHECK(plan.cost == 0);
    REQUIRE(plan.unmet.size() == 3);
    CHECK(plan.room[1] == Placement{{2, 6}});
    CHECK(plan.unmet[0].why.outcome == Outcome::waits);
    CHECK(plan.unmet[1].job == 2);
    CHECK(plan.unmet[2].why.reason == "needs 3 a100 nodes of 4 GPUs; 0 are healthy");
    CHECK(plan.before == plan.after);
    CHECK(plan.before.report() == "11 GPUs free, 6 on one node, 0 whole nodes");
}

TEST_CASE("two jobs over several nodes that share one against the rules stay, and so do their neighbours") {
    Case c{{{"a100"}, {}}, {}, {{0, 8, {1, 8}}}};
    add_nodes(c.cluster, 0, 8, 4);
    const auto add = [&](Placement current) { c.requests.push_back({.current = current, .move_cost = 1}); };
    add({{0, 4}, {1, 4}}), add({{1, 4}, {2, 4}}), add({{2, 2}}), add({{3, 2}});
    const DefragmentPlan plan = Defragmenter{}.plan(c.cluster, c.requests, c.wishes);
    CHECK(plan.moves.empty());
    CHECK(plan.unmet.size() == 1);
}

TEST_CASE("many nodes and jobs: every plan can be carried out, nearly all are proven least") {
    Random random{std::mt19937_64(6)};
    Defragmenter defragmenter;
    int proven = 0, with_moves = 0, broken = 0;
    constexpr int trials = 300;
    for (int trial = 0; trial < trials; ++trial) {
        CAPTURE(trial);
        Case c{{{"a100"}, {}}, {}, {}};
        add_nodes(c.cluster, 0, 8, 60);
        const bool chain = trial % 2 == 0;
        add_jobs(random, c, chain ? std::vector<int>{1, 2, 4} : std::vector<int>{1, 2, 3, 5, 6}, 180, 3);
        c.wishes = {whole_nodes(0, 8, 3 + random.below(8)), {0, 8, {1, 6}}};
        const DefragmentPlan plan = defragmenter.plan(c.cluster, c.requests, c.wishes);
        check_plan(c, plan);
        const DefragmentPlan fresh = Defragmenter{}.plan(c.cluster, c.requests, c.wishes);
        CHECK(fresh.cost == plan.cost);
        CHECK(fresh.room == plan.room);
        proven += plan.proven() ? 1 : 0;
        with_moves += plan.moves.empty() ? 0 : 1;
        broken += plan.asides + plan.stops > 0 ? 1 : 0;
    }
    MESSAGE(proven << " of " << trials << " proven, " << with_moves << " with moves, " << broken
                   << " with a cycle to break");
    CHECK(with_moves > trials / 2);
    CHECK(proven > trials / 2);
}

// Moves among a few nodes that can be ordered, though moving each job as soon as it fits gets stuck.
struct Knot {
    std::vector<int> room;
    std::vector<detail::PendingMove> moves;
};

std::vector<DefragmentMove> ordered(const Knot& knot) {
    std::vector<DefragmentMove> steps;
    detail::MoveOrder().order(
        knot.room, knot.moves, {}, {.node_size = 8}, [](auto&&) { return false; }, steps);
    return steps;
}

bool moves_only(const std::vector<DefragmentMove>& steps) {
    return std::ranges::all_of(steps, [](const auto& step) { return step.kind == MoveKind::moves; });
}

Knot random_knot(Random& random) {
    while (true) {
        const std::size_t nodes = 3 + random.engine() % 2;
        Knot knot{std::vector<int>(nodes, 8), {}};
        std::vector<int> then = knot.room;
        for (std::size_t tries = 0; tries < 24; ++tries) {
            const detail::PendingMove move{knot.moves.size(), random.engine() % nodes,
                                           random.engine() % nodes, 1 + random.below(4), 1};
            if (move.from == move.to || knot.room[move.from] < move.gpus || then[move.to] < move.gpus)
                continue;
            knot.room[move.from] -= move.gpus;
            then[move.to] -= move.gpus;
            knot.moves.push_back(move);
        }
        std::vector<int> room = knot.room;
        std::vector<detail::PendingMove> left = knot.moves;
        while (true) {
            const auto goes =
                std::ranges::find_if(left, [&](const auto& move) { return room[move.to] >= move.gpus; });
            if (goes == left.end()) break;
            room[goes->from] += goes->gpus;
            room[goes->to] -= goes->gpus;
            left.erase(goes);
        }
        if (!left.empty() && moves_only(ordered(knot))) return knot;
    }
}

TEST_CASE("moves among some nodes are ordered whatever moves there are among others") {
    Random random{std::mt19937_64(11)};
    for (int trial = 0; trial < 20; ++trial) {
        CAPTURE(trial);
        Knot all;
        for (int k = 0; k < 12; ++k) {
            const Knot knot = random_knot(random);
            for (detail::PendingMove move : knot.moves) {
                move.from += all.room.size();
                move.to += all.room.size();
                all.moves.push_back(move);
            }
            all.room.insert(all.room.end(), knot.room.begin(), knot.room.end());
        }
        std::ranges::shuffle(all.moves, random.engine);
        for (std::size_t m = 0; m < all.moves.size(); ++m) all.moves[m].job = m;
        const std::vector<DefragmentMove> steps = ordered(all);
        CHECK(moves_only(steps));
        std::vector<int> room = all.room;
        for (const DefragmentMove& step : steps) {
            if (step.from.gpus > 0) room[step.from.node] += step.from.gpus;
            if (step.to.gpus > 0) REQUIRE((room[step.to.node] -= step.to.gpus) >= 0);
        }
        for (const detail::PendingMove& move : all.moves) all.room[move.from] += move.gpus;
        for (const detail::PendingMove& move : all.moves) all.room[move.to] -= move.gpus;
        CHECK(room == all.room);
    }
}

TEST_CASE("input that makes no sense is refused") {
    Cluster cluster{{"a100"}, {}};
    add_nodes(cluster, 0, 8, 2);
    Defragmenter defragmenter;
    const auto refused = [&](std::vector<PlacementRequest> requests, PoolShare wish) {
        CHECK_THROWS_AS(defragmenter.plan(cluster, requests, std::vector<PoolShare>{wish}),
                        std::invalid_argument);
    };
    const PoolShare two{0, 8, {1, 2}};
    refused({}, {});
    refused({}, {0, 8, {1, 9}});
    refused({}, {1, 8, {1, 2}});
    refused({{.current = {{2, 1}}}}, two);
    refused({{.current = {{0, 9}}}}, two);
    refused({{.current = {{0, 5}}}, {.current = {{0, 4}}}}, two);
    refused({{.current = {{1, 1}, {0, 1}}}}, two);
    refused({{.current = {{0, 1}}, .move_cost = -1}}, two);
}

}  // namespace
