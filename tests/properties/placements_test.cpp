// Properties of any placement, for any nodes and sizes of jobs, powers of two or not.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/topology_placer.hpp"
#include "place/place_rounds.hpp"

#include "properties.hpp"

using goodput::LeastMovesPlacer;
using goodput::NodeShare;
using goodput::Placement;
using goodput::PlacementRequest;
using goodput::PlacementResult;
using properties::Case;
using properties::for_all;
using properties::random_order;
using support::place::check_valid;
using PlacementRound = support::place::Round;

namespace {

/// Returns up to a dozen nodes of one or two GPU types and several sizes, some of them odd, drained or
/// spot, and jobs of any sizes or of powers of two, some of them pinned.
PlacementRound some_round(const Case& one, bool chain) {
    support::place::Random random{std::mt19937_64(one.seed)};
    if (random.chance(30)) return support::place::odd_round(random, 12, 20, random.chance(50) ? 25 : 60);
    goodput::Cluster cluster{{"a100", "rtx"}, {}};
    if (random.chance(70)) {
        cluster = support::place::small_cluster(random);
    } else {
        support::place::add_nodes(cluster, 0, chain ? 8 : 3 + random.below(6), 2 + random.below(8));
        support::place::add_nodes(cluster, 1, chain ? 4 : 3 + random.below(6), 1 + random.below(4));
    }
    for (goodput::Node& node : cluster.nodes) node.drained = random.chance(5);
    const int jobs = 1 + random.below(static_cast<int>(3 * cluster.nodes.size()));
    return support::place::random_round(random, cluster, jobs, chain, random.below(50),
                                        random.chance(70) ? 8 : 30);
}

PlacementResult placed(const PlacementRound& round) {
    PlacementResult result = LeastMovesPlacer{}.place(round.cluster, round.requests);
    check_valid(round, result);
    return result;
}

std::vector<std::size_t> jobs_without_nodes(const PlacementResult& result) {
    std::vector<std::size_t> jobs;
    for (const goodput::UnplacedJob& unplaced : result.unplaced) jobs.push_back(unplaced.job);
    return jobs;
}

/// Whether a job's part fits into the free GPUs, within one domain if the job must stay within one.
bool fits_into(const std::vector<int>& free, const PlacementRound& round, const goodput::Topology& topology,
               const PlacementRequest& request) {
    const int nodes = request.part.shape.nodes;
    const int gpus = nodes > 1 ? request.part.gpus_per_node : request.part.shape.gpus;
    goodput::TopologyLevel level{"all", 0, std::vector<std::size_t>(free.size(), 0)};
    for (const goodput::TopologyLevel& other : topology.levels)
        if (other.name == request.within && nodes > 1) level = other;
    const std::vector<goodput::Pool> pools = pools_of(round.cluster);
    const std::size_t pool = find_pool(pools, request.part);
    if (pool == pools.size()) return false;
    const auto has_room = [&](std::size_t node) { return free[node] >= gpus; };
    return largest_domain(level, pools[pool], has_room).size() >= static_cast<std::size_t>(nodes);
}

}  // namespace

TEST_CASE(
    "placements: jobs lie within racks and zones if they must; no job that fits next to the others goes "
    "without; a job that gets nothing costs the others nothing; and jobs in place stay there") {
    for_all(2, [](Case& one) {
        PlacementRound round = some_round(one, one.random.chance(0.5));
        support::place::Random random{std::mt19937_64(one.seed)};
        const goodput::Topology topology = support::place::odd_topology(random, round);
        goodput::TopologyPlacer placer(topology);
        const PlacementResult result = placer.place(round.cluster, round.requests);
        check_valid(round, result);
        const std::vector<int> free = free_gpus(round.cluster, result.placements);
        PlacementRound less = round, next = round;
        std::size_t running_out = 0;
        for (std::size_t j = 0; j < round.requests.size(); ++j) {
            const PlacementRequest& request = round.requests[j];
            const Placement& placement = result.placements[j];
            const bool pinned = support::place::stays_pinned(request);
            if (!pinned) REQUIRE(lies_within(topology, request.within, placement));
            next.requests[j].current = placement;
            if (pinned || placement.empty()) next.requests[j] = {};
            if (!placement.empty() || request.part.empty()) continue;
            REQUIRE(!fits_into(free, round, topology, request));
            one.count("jobs without nodes");
            if (request.current.empty())
                less.requests[j].part = {};
            else
                ++running_out;
        }
        const PlacementResult without = placer.place(less.cluster, less.requests);
        REQUIRE(without.unplaced.size() >= running_out);
        bool same_jobs = true;
        for (std::size_t j = 0; j < round.requests.size(); ++j)
            same_jobs &= without.placements[j].empty() == result.placements[j].empty();
        if (same_jobs) REQUIRE(without.move_cost >= result.move_cost_bound - 1e-6);
        const PlacementResult again = placer.place(next.cluster, next.requests);
        REQUIRE(again.moved.empty());
        REQUIRE(again.unplaced.empty());
    });
}

TEST_CASE(
    "placements: no node is over-committed, no job is split against its shape, pinned jobs stay, nothing new "
    "comes to a drained node, and the bound on the cost of moves does not lie above it") {
    for_all(1, [](Case& one) {
        const PlacementRound round = some_round(one, one.random.chance(0.5));
        const PlacementResult result = placed(round);
        for (std::size_t j = 0; j < round.requests.size(); ++j)
            for (const NodeShare& share : result.placements[j])
                if (round.cluster.nodes[share.node].drained)
                    REQUIRE(result.placements[j] == round.requests[j].current);
        if (!result.unplaced.empty()) one.count("with jobs that find no nodes");
        if (!result.moved.empty()) one.count("with moves");
    });
}

TEST_CASE(
    "placements: nodes in another order leave the jobs without nodes as they are, and the cost of moves, "
    "where both are proven; no cost lies below the other's bound") {
    for_all(1, [](Case& one) {
        const PlacementRound round = some_round(one, one.random.chance(0.5));
        const std::vector<std::size_t> to = random_order(one.random, round.cluster.nodes.size());
        PlacementRound other = round;
        for (std::size_t n = 0; n < to.size(); ++n) other.cluster.nodes[to[n]] = round.cluster.nodes[n];
        for (PlacementRequest& request : other.requests) {
            for (NodeShare& share : request.current) share.node = to[share.node];
            std::sort(request.current.begin(), request.current.end());
        }
        const PlacementResult before = placed(round), after = placed(other);
        if (!before.fewest_unplaced_proven || !after.fewest_unplaced_proven) {
            one.count("not proven");
            return;
        }
        REQUIRE(jobs_without_nodes(after) == jobs_without_nodes(before));
        REQUIRE(after.move_cost >= before.move_cost_bound - 1e-6);
        REQUIRE(before.move_cost >= after.move_cost_bound - 1e-6);
        if (!before.proven() || !after.proven()) {
            one.count("with moves that are not proven");
            return;
        }
        REQUIRE(after.move_cost == doctest::Approx(before.move_cost));
        REQUIRE(after.moved.size() == before.moved.size());
    });
}

TEST_CASE("placements: jobs in another order leave equally many without nodes") {
    for_all(1, [](Case& one) {
        const PlacementRound round = some_round(one, one.random.chance(0.5));
        const std::vector<std::size_t> to = random_order(one.random, round.requests.size());
        PlacementRound other = round;
        for (std::size_t j = 0; j < to.size(); ++j) other.requests[to[j]] = round.requests[j];
        const PlacementResult before = placed(round), after = placed(other);
        if (!before.fewest_unplaced_proven || !after.fewest_unplaced_proven) {
            one.count("not proven");
            return;
        }
        REQUIRE(after.unplaced.size() == before.unplaced.size());
        if (!before.unplaced.empty() || !before.proven() || !after.proven()) return;
        one.count("in which everybody finds nodes");
        REQUIRE(after.move_cost == doctest::Approx(before.move_cost));
    });
}

TEST_CASE(
    "placements: a further node leaves no more jobs without nodes, and if all have some, moves cost no "
    "more") {
    for_all(1, [](Case& one) {
        const PlacementRound round = some_round(one, one.random.chance(0.5));
        PlacementRound wider = round;
        goodput::Node node = round.cluster.nodes[static_cast<std::size_t>(
            one.random.integer(0, static_cast<int>(round.cluster.nodes.size()) - 1))];
        node.name = "further";
        node.drained = false;
        wider.cluster.nodes.push_back(node);
        const PlacementResult before = placed(round), after = placed(wider);
        if (!after.fewest_unplaced_proven) {
            one.count("not proven");
            return;
        }
        REQUIRE(after.unplaced.size() <= before.unplaced.size());
        if (after.unplaced.size() < before.unplaced.size()) one.count("with fewer jobs without nodes");
        if (before.unplaced.empty()) REQUIRE(after.move_cost_bound <= before.move_cost + 1e-6);
        if (before.unplaced.empty() && after.proven()) REQUIRE(after.move_cost <= before.move_cost + 1e-6);
    });
}

TEST_CASE("placements: earlier questions change nothing; jobs that are in place stay there") {
    for_all(2, [](Case& one) {
        LeastMovesPlacer kept;
        const bool chain = one.random.chance(0.5);
        std::uint64_t seed = one.seed + 0x9e3779b97f4a7c15;
        for (int before = one.random.integer(1, 3); before > 0; --before, ++seed) {
            const PlacementRound other = some_round({.seed = seed, .kinds = one.kinds}, !chain);
            (void)kept.place(other.cluster, other.requests);
        }
        PlacementRound round = some_round(one, chain);
        const PlacementResult fresh = placed(round), again = kept.place(round.cluster, round.requests);
        REQUIRE(again.placements == fresh.placements);
        REQUIRE(again.moved == fresh.moved);
        REQUIRE(again.move_cost_bound == fresh.move_cost_bound);
        for (std::size_t j = 0; j < round.requests.size(); ++j)
            round.requests[j].current = fresh.placements[j];
        // Remove jobs that stay invalid: pinned ones sharing a node against the rules, and waiting ones.
        std::erase_if(round.requests,
                      [](const PlacementRequest& r) { return r.current.empty() || r.pinned; });
        const PlacementResult next = kept.place(round.cluster, round.requests);
        check_valid(round, next);
        REQUIRE(next.moved.empty());
        REQUIRE(next.unplaced.empty());
        REQUIRE(next.move_cost_bound == 0);
    });
}

TEST_CASE(
    "placements: nodes that leave cost no job nodes or moves; a job that fits on nodes that stay is not put "
    "on others; and jobs that need nodes longest get those that stay longest") {
    for_all(2, [](Case& one) {
        PlacementRound round = some_round(one, one.random.chance(0.5));
        support::place::Random random{std::mt19937_64(one.seed)};
        const goodput::Topology topology = support::place::odd_topology(random, round);
        const auto place = [&](const PlacementRound& of) {
            goodput::TopologyPlacer placer(topology);
            PlacementResult result = placer.place(of.cluster, of.requests);
            check_valid(of, result);
            return result;
        };
        const PlacementResult before = place(round), inner_before = placed(round);
        for (goodput::Node& node : round.cluster.nodes)
            if (one.random.chance(0.4)) node.leaves_seconds = one.random.integer(1, 5);
        for (PlacementRequest& request : round.requests)
            if (one.random.chance(0.5)) request.needs_seconds = one.random.integer(0, 6);
        const PlacementResult result = place(round), inner = placed(round);
        REQUIRE(jobs_without_nodes(inner) == jobs_without_nodes(inner_before));
        REQUIRE(inner.move_cost == doctest::Approx(inner_before.move_cost));
        if (before.proven() && result.proven()) {
            REQUIRE(result.unplaced.size() == before.unplaced.size());
            REQUIRE(result.move_cost == doctest::Approx(before.move_cost));
        }
        const auto is_brief = [&](std::size_t node, double needs) {
            return round.cluster.nodes[node].leaves_seconds < needs;
        };
        for (std::size_t j = 0; j < round.requests.size(); ++j) {
            const PlacementRequest& request = round.requests[j];
            PlacementRound alone = round;
            for (std::size_t other = 0; other < alone.requests.size(); ++other)
                if (other != j) alone.requests[other] = {};
            PlacementRound staying = alone;
            for (goodput::Node& node : staying.cluster.nodes)
                node.drained |= node.leaves_seconds < request.needs_seconds;
            if (request.part.empty() || !request.current.empty() || place(staying).placements[j].empty())
                continue;
            const PlacementResult by_itself = place(alone);
            for (const NodeShare& share : by_itself.placements[j])
                REQUIRE(!is_brief(share.node, request.needs_seconds));
            one.count("jobs that could have got nodes that leave");
        }
    });
}

TEST_CASE(
    "placements: among jobs of one size, those that need their nodes longest get those that stay longest") {
    for_all(1, [](Case& one) {
        PlacementRound round;
        round.cluster.gpu_types = {"a100"};
        const int nodes = one.random.integer(1, 12), gpus = one.random.integer(1, 8);
        for (int n = 0; n < nodes; ++n) {
            round.cluster.nodes.push_back({"n" + std::to_string(n), 0, gpus});
            if (one.random.chance(0.6)) round.cluster.nodes.back().leaves_seconds = one.random.integer(1, 6);
        }
        for (int j = one.random.integer(1, nodes); j > 0; --j) {
            round.requests.push_back({.part = {0, gpus, {1, gpus}}});
            if (one.random.chance(0.7)) round.requests.back().needs_seconds = one.random.integer(1, 7);
        }
        const PlacementResult result = placed(round);
        std::vector<double> stay, need;
        for (const goodput::Node& node : round.cluster.nodes) stay.push_back(node.leaves_seconds);
        int brief = 0, least = 0;
        for (std::size_t j = 0; j < round.requests.size(); ++j) {
            need.push_back(round.requests[j].needs_seconds);
            brief += stay[result.placements[j].front().node] < need.back() ? 1 : 0;
        }
        // Matching the longest need with the longest stay leaves the fewest jobs whose nodes leave too
        // early. The placer promises to do as well only if that number is 0.
        std::sort(stay.rbegin(), stay.rend());
        std::sort(need.rbegin(), need.rend());
        for (std::size_t j = 0; j < need.size(); ++j) least += stay[j] < need[j] ? 1 : 0;
        if (least == 0) REQUIRE(brief == 0);
        one.count(least == 0 ? "all stay long enough" : "some do not");
    });
}
