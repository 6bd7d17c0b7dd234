// Fuzzes placements, round after round on nodes that come and go, and defragmentations. No node gives more
// GPUs than it has, every job has its shape, pinned jobs stay, and what is called proven is true, if all
// placements can be tried.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/moves/defragment.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/topology_placer.hpp"

#include "fuzz/support/all_placements.hpp"
#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;
using fuzz::Site;

namespace {

constexpr std::size_t most_nodes = 24, most_jobs = 40, most_wishes = 4, most_rounds = 8;

/// Records change the site. Some of them ask for a placement or a defragmentation.
enum class Question { none, place, defragment };

class Decoder {
public:
    Question change(fuzz::Bytes record, Site& site) {
        switch (record.index(16)) {
            case 0:
            case 1:
                return Question::place;
            case 2:
                return Question::defragment;
            case 3:
            case 4:
                add_nodes(record, site);
                break;
            case 5:
                if (!site.cluster.nodes.empty())
                    site.cluster.nodes[record.index(site.cluster.nodes.size())].drained ^= true;
                break;
            case 6:
                drop_node(record, site);
                break;
            case 7:
                if (site.wishes.size() < most_wishes) site.wishes.push_back(part(record, site));
                break;
            case 8:
                site.wishes.clear();
                break;
            case 9:
                set_topology(record, site);
                break;
            case 10:
                if (!site.requests.empty())
                    site.requests.erase(site.requests.begin() +
                                        static_cast<std::ptrdiff_t>(record.index(site.requests.size())));
                break;
            case 11:
                if (!site.requests.empty())
                    site.requests[record.index(site.requests.size())].part = part(record, site);
                break;
            default:
                add_request(record, site);
        }
        return Question::none;
    }

private:
    static void add_nodes(fuzz::Bytes& record, Site& site) {
        const std::size_t type = record.integer(0, 63) == 63 ? 2 : record.index(2);
        const int size = record.pick(std::array{8, 4, 1, 2, 6, 5, 3});
        const int gpus = record.integer(0, 31) == 31 ? record.hostile_integer(1, 16) : size;
        for (std::size_t count = 1 + record.index(4); count > 0 && site.cluster.nodes.size() < most_nodes;
             --count)
            site.cluster.nodes.push_back(
                {"node-" + std::to_string(site.cluster.nodes.size()), type, gpus, false});
    }

    /// A node vanishes together with what ran there.
    static void drop_node(fuzz::Bytes& record, Site& site) {
        if (site.cluster.nodes.empty()) return;
        const std::size_t gone = record.index(site.cluster.nodes.size());
        site.cluster.nodes.erase(site.cluster.nodes.begin() + static_cast<std::ptrdiff_t>(gone));
        for (PlacementRequest& request : site.requests) {
            const auto there = [&](const NodeShare& share) { return share.node == gone; };
            if (std::any_of(request.current.begin(), request.current.end(), there)) request.current.clear();
            for (NodeShare& share : request.current) share.node -= share.node > gone ? 1 : 0;
        }
        for (TopologyLevel& level : site.topology.levels)
            if (gone < level.domain_of.size())
                level.domain_of.erase(level.domain_of.begin() + static_cast<std::ptrdiff_t>(gone));
    }

    static PoolShare part(fuzz::Bytes& record, const Site& site) {
        if (site.cluster.nodes.empty()) return {record.index(2), 8, {1, 1 + record.integer(0, 7)}};
        const Node& like = site.cluster.nodes[record.index(site.cluster.nodes.size())];
        const int size = std::clamp(like.gpus, 1, 64);
        const std::size_t kind = record.index(16);
        if (kind == 15)
            return {record.index(3),
                    record.flag() ? like.gpus : record.hostile_integer(0, 16),
                    {record.hostile_integer(0, 3), record.hostile_integer(0, 16)}};
        if (kind < 10) return {like.gpu_type, like.gpus, {1, record.integer(1, size)}};
        const int nodes = record.integer(2, 4), spare = record.flag() ? record.integer(0, size - 1) : 0;
        return {like.gpu_type, like.gpus, {nodes, nodes * size - spare}};
    }

    static void add_request(fuzz::Bytes& record, Site& site) {
        if (site.requests.size() == most_jobs) return;
        PlacementRequest request;
        request.part = part(record, site);
        request.move_cost = record.number(0, 100);
        const std::size_t state = record.index(8);
        if (state < 4) hold(record, site, request);
        if (state == 1) request.part = part(record, site);
        request.pinned = state == 2 || state == 7;
        site.requests.push_back(std::move(request));
    }

    /// Gives a request the first nodes from a random one on that have room: mostly its whole allotment.
    static void hold(fuzz::Bytes& record, const Site& site, PlacementRequest& request) {
        std::vector<int> free;
        for (const Node& node : site.cluster.nodes) free.push_back(node.gpus);
        const bool careless = record.integer(0, 15) == 15;  // ignores other jobs there
        for (const PlacementRequest& other : site.requests)
            for (const NodeShare& share : other.current)
                if (!careless && share.node < free.size()) free[share.node] -= share.gpus;
        const PoolShare& a = request.part;
        if (a.shape.nodes < 1 || a.shape.nodes > 8) return;
        int left = a.shape.gpus;
        const std::size_t first = record.index(free.size());
        for (std::size_t i = 0; i < free.size() && left > 0; ++i) {
            const std::size_t node = (first + i) % free.size();
            if (site.cluster.nodes[node].gpu_type != a.gpu_type ||
                site.cluster.nodes[node].gpus != a.gpus_per_node)
                continue;
            const int gpus = std::min(left, a.gpus_per_node);
            if (free[node] < gpus) continue;
            request.current.push_back({node, gpus});
            left -= gpus;
        }
        std::sort(request.current.begin(), request.current.end());
        if (left > 0 && !careless) request.current.clear();
    }

    static void set_topology(fuzz::Bytes& record, Site& site) {
        site.topology = {};
        const std::size_t rack = 1 + record.index(4), zone = rack * (1 + record.index(3));
        TopologyLevel racks{"rack", record.number(0, 10), {}}, zones{"zone", record.number(0, 10), {}};
        const bool nested = record.integer(0, 15) != 15;
        for (std::size_t n = 0; n < site.cluster.nodes.size(); ++n) {
            racks.domain_of.push_back(n / rack);
            zones.domain_of.push_back(nested ? n / zone : n / (zone + 1));
        }
        site.topology.levels = {std::move(racks), std::move(zones)};
        if (record.flag()) site.topology.levels.pop_back();
    }
};

void check_shapes(const Site& site, const PlacementResult& result) {
    const std::vector<Node>& nodes = site.cluster.nodes;
    check(result.placements.size() == site.requests.size(), "a placement for each request");
    std::vector<int> used(nodes.size()), jobs(nodes.size()), wide(nodes.size());
    std::vector<char> taken(nodes.size());
    for (std::size_t j = 0; j < site.requests.size(); ++j) {
        const PlacementRequest& request = site.requests[j];
        const Placement& placement = result.placements[j];
        if (fuzz::stays_pinned(request)) check(placement == request.current, "who is pinned stays");
        if (placement.empty()) continue;
        for (std::size_t i = 0; i < placement.size(); ++i) {
            check(placement[i].node < nodes.size(), "a node that there is");
            check(i == 0 || placement[i - 1].node < placement[i].node, "nodes ascend");
            check(placement[i].gpus >= 1, "GPUs of every node", placement[i].gpus);
            used[placement[i].node] += placement[i].gpus;
            if (nodes[placement[i].node].drained)
                check(placement == request.current, "nothing new comes to a drained node");
            if (fuzz::stays_pinned(request)) {
                taken[placement[i].node] |= placement.size() > 1;
                continue;
            }
            ++jobs[placement[i].node];
            wide[placement[i].node] += placement.size() > 1;
        }
        check(pool_share_of(placement, site.cluster) == request.part, "every job has its shape");
    }
    for (std::size_t h = 0; h < nodes.size(); ++h) {
        check(used[h] <= nodes[h].gpus, "no node has more than its GPUs", used[h], nodes[h].gpus);
        if (wide[h] > 0) check(jobs[h] == 1, "jobs over several nodes have them for themselves");
        if (taken[h]) check(jobs[h] == 0, "so have those that are pinned");
    }
}

void check_result(const Site& site, const PlacementResult& result) {
    check_shapes(site, result);
    check(!result.report().empty(), "a report says something");
    const std::vector<char> holds = fuzz::holders(site);
    std::size_t next = 0;
    std::vector<std::size_t> moved;
    std::int64_t cost = 0;
    for (std::size_t j = 0; j < site.requests.size(); ++j) {
        const PlacementRequest& request = site.requests[j];
        const Placement& placement = result.placements[j];
        if (placement.empty() && !request.part.empty()) {
            check(next < result.unplaced.size() && result.unplaced[next].job == j, "who is not placed");
            check(result.unplaced[next].why.outcome != Outcome::runs, "does not run");
            check(!result.unplaced[next].why.reason.empty(), "and is told why");
            ++next;
        }
        if (!holds[j] || placement.empty() || placement == request.current) continue;
        moved.push_back(j);
        cost += fuzz::milliseconds(request);
    }
    check(next == result.unplaced.size(), "only who is not placed");
    check(result.moved == moved, "who moved");
    const double seconds = static_cast<double>(cost) / 1000;
    check(std::abs(result.move_cost - seconds) <= 1e-9 * (1 + seconds), "what moves cost", result.move_cost,
          seconds);
    check(result.move_cost_bound <= result.move_cost + 1e-9 * (1 + seconds), "bound <= cost",
          result.move_cost_bound, result.move_cost);
    check(result.move_cost_bound >= 0, "a bound of costs", result.move_cost_bound);
}

void check_bounds(const Site& site, const PlacementResult& result) {
    fuzz::AllPlacements all(site);
    if (!all.few()) return;
    all.run(result);
    check(result.unplaced.size() >= all.fewest_left_out, "no more jobs than can be are placed");
    if (result.fewest_unplaced_proven)
        check(result.unplaced.size() == all.fewest_left_out, "as many jobs as can be are placed",
              static_cast<double>(result.unplaced.size()), static_cast<double>(all.fewest_left_out));
    const double least = static_cast<double>(all.least_cost) / 1000;
    check(result.move_cost_bound <= least + 1e-9 * (1 + least), "no placement costs less than the bound",
          result.move_cost_bound, least);
}

bool same(const PlacementResult& a, const PlacementResult& b) {
    return a.placements == b.placements && a.moved == b.moved && a.move_cost == b.move_cost &&
           a.move_cost_bound == b.move_cost_bound && a.unplaced.size() == b.unplaced.size();
}

struct Placers {
    LeastMovesPlacer least_moves;
    TopologyPlacer topology;
    Defragmenter defragmenter, stopper{{.step_aside = false}};
};

void place(Site& site, Placers& kept) {
    PlacementResult result, again, near;
    const bool good = fuzz::accepted([&] { result = kept.least_moves.place(site.cluster, site.requests); });
    check(good == fuzz::accepted([&] { again = LeastMovesPlacer{}.place(site.cluster, site.requests); }),
          "whatever came before");
    kept.topology.set_topology(site.topology);
    const bool good_topology =
        fuzz::accepted([&] { near = kept.topology.place(site.cluster, site.requests); });
    check(good || !good_topology, "a topology allows nothing that the placer inside refuses");
    if (!good) return;
    check_result(site, result);
    check_bounds(site, result);
    check(same(result, again), "an answer depends on the arguments alone");
    if (good_topology) {
        check_result(site, near);
        check(near.move_cost == result.move_cost && near.moved == result.moved, "no move more");
        check(near.unplaced.size() == result.unplaced.size(), "no job fewer");
        const Spread& spread = kept.topology.spread();
        check(spread.bound >= 0 && spread.bound <= spread.cost * (1 + 1e-9) + 1e-9, "bound <= spread",
              spread.bound, spread.cost);
    }
    const PlacementResult& chosen = good_topology ? near : result;
    for (std::size_t j = 0; j < site.requests.size(); ++j)
        if (site.requests[j].current.empty() || !site.requests[j].pinned)
            site.requests[j].current = chosen.placements[j];
}

/// Carries out the plan step by step and checks each step.
void check_defragment(const Site& site, const DefragmentPlan& plan) {
    const std::vector<Node>& nodes = site.cluster.nodes;
    std::vector<Placement> now;
    for (const PlacementRequest& request : site.requests) now.push_back(request.current);
    std::vector<int> free = free_gpus(site.cluster, now);
    check(plan.before == free_space(site.cluster, now), "what is free before");
    check(!plan.report().empty(), "a report says something");
    double cost = 0;
    std::size_t asides = 0, stops = 0;
    for (const DefragmentMove& move : plan.moves) {
        check(move.job < now.size(), "a job that there is");
        const PlacementRequest& request = site.requests[move.job];
        check(!request.pinned && request.current.size() == 1,
              "only jobs on one node that are not pinned move");
        const NodeShare home = request.current.front();
        check(!nodes[home.node].drained, "who is on a drained node stays");
        check((move.kind == MoveKind::starts) == (move.from.gpus == 0), "a start comes from nowhere");
        check((move.kind == MoveKind::stops) == (move.to.gpus == 0), "a stop goes nowhere");
        if (move.from.gpus > 0) {
            check(now[move.job] == Placement{move.from}, "it leaves where it is");
            free[move.from.node] += home.gpus;
        } else {
            check(now[move.job].empty(), "it has stopped before it starts");
        }
        now[move.job].clear();
        if (move.to.gpus > 0) {
            check(move.to.gpus == home.gpus && move.to.node < nodes.size(), "it keeps its GPUs");
            const Node& to = nodes[move.to.node];
            check(to.gpu_type == nodes[home.node].gpu_type && to.gpus == nodes[home.node].gpus && !to.drained,
                  "to a node of its pool that is open");
            check(free[move.to.node] >= home.gpus, "there is room when it comes", free[move.to.node],
                  home.gpus);
            free[move.to.node] -= home.gpus;
            now[move.job] = {move.to};
        }
        cost += move.cost;
        asides += move.kind == MoveKind::steps_aside;
        stops += move.kind == MoveKind::stops;
    }
    for (std::size_t j = 0; j < now.size(); ++j)
        check(now[j].empty() == site.requests[j].current.empty(), "who ran runs in the end");
    check(plan.asides == asides && plan.stops == stops, "asides and stops");
    check(std::abs(plan.cost - cost) <= 1e-3 * static_cast<double>(plan.moves.size()) + 1e-9 * cost,
          "what moves cost", plan.cost, cost);
    check(plan.cost_bound <= plan.cost + 1e-9 * (1 + plan.cost), "bound <= cost", plan.cost_bound, plan.cost);
    check(plan.after == free_space(site.cluster, now), "what is free after");
    check(plan.room.size() == site.wishes.size(), "an answer to each wish");
    std::size_t unmet = 0;
    for (std::size_t w = 0; w < site.wishes.size(); ++w) {
        const Placement& room = plan.room[w];
        if (room.empty()) {
            check(unmet < plan.unmet.size() && plan.unmet[unmet].job == w, "which wish is unmet");
            check(!plan.unmet[unmet++].why.reason.empty(), "and why");
            continue;
        }
        check(pool_share_of(room, site.cluster) == site.wishes[w], "the room that was wished for");
        for (const NodeShare& share : room) {
            const int gpus = room.size() > 1 ? nodes[share.node].gpus : share.gpus;
            check(free[share.node] >= gpus, "is free in the end", free[share.node], gpus);
            free[share.node] -= gpus;
        }
    }
    check(unmet == plan.unmet.size(), "only unmet wishes are");
}

void defragment(const Site& site, Placers& kept) {
    for (Defragmenter* const one : {&kept.defragmenter, &kept.stopper}) {
        DefragmentPlan plan;
        if (!fuzz::accepted([&] { plan = one->plan(site.cluster, site.requests, site.wishes); })) continue;
        check_defragment(site, plan);
        if (one == &kept.stopper) check(plan.asides == 0, "nobody steps aside where that is not wanted");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    Site site;
    Placers kept;
    Decoder decoder;
    for (std::size_t rounds = 0; rounds < most_rounds && !bytes.empty();) {
        const Question question = decoder.change(bytes.record(), site);
        if (question == Question::none) continue;
        ++rounds;
        if (question == Question::place)
            place(site, kept);
        else
            defragment(site, kept);
    }
    place(site, kept);
    return 0;
}
