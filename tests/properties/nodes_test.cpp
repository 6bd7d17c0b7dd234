// Properties of the rows for blocks of nodes: an allotment keeps to them exactly if it can be placed, no
// job waits or is stopped next to free GPUs that it could have, and what is proven holds for the plan.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "goodput/place/topology_placer.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random_round.hpp"

#include "properties.hpp"
#include "random_plans.hpp"

namespace nodes_properties {

using namespace goodput;
using properties::AnyPolicy;
using properties::Case;
using properties::for_all;
using support::Random;
using support::RandomRound;

constexpr AllotOptions options{.gap = 1e-4, .most_states = 20'000};

/// Whether a job over several nodes holds one of them together with another job.
bool shares_nodes(const Snapshot& snapshot, std::size_t job) {
    const Placement& placement = snapshot.jobs[job].placement;
    if (placement.size() < 2) return false;
    for (std::size_t other = 0; other < snapshot.jobs.size(); ++other)
        for (const NodeShare& theirs : snapshot.jobs[other].placement)
            for (const NodeShare& ours : placement)
                if (other != job && theirs.node == ours.node) return true;
    return false;
}

/// GPUs that these jobs leave free on each node. A job over several nodes has them to itself, unless it
/// shares one of them in the snapshot: then it keeps its GPUs and no more.
std::vector<int> free_gpus(const Snapshot& snapshot, const std::vector<Placement>& placements) {
    std::vector<int> free;
    for (const Node& node : snapshot.cluster.nodes) free.push_back(node.drained ? 0 : node.gpus);
    for (std::size_t j = 0; j < placements.size(); ++j)
        for (const NodeShare& share : placements[j]) {
            const bool alone = placements[j].size() > 1 &&
                               !(placements[j] == snapshot.jobs[j].placement && shares_nodes(snapshot, j));
            free[share.node] = alone ? 0 : std::max(free[share.node] - share.gpus, 0);
        }
    return free;
}

/// Whether nodes of a pool have room for a part, all within one domain.
bool has_room(const Cluster& cluster, const std::vector<int>& free, const PoolShare& part,
              const std::vector<std::size_t>& domain_of) {
    std::vector<int> whole(cluster.nodes.size() + 1);
    for (std::size_t n = 0; n < free.size(); ++n) {
        if (!is_node_of(cluster.nodes[n], part)) continue;
        if (part.shape.nodes == 1 && free[n] >= part.shape.gpus) return true;
        if (free[n] == cluster.nodes[n].gpus && ++whole[domain_of[n]] >= part.shape.nodes) return true;
    }
    return false;
}

template <class AnyScheduler>
void check_nobody_waits_beside_free_gpus(const AnyScheduler& scheduler, const Snapshot& snapshot,
                                         const Topology& racks, Case& one) {
    const Plan& plan = scheduler.last_plan();
    const Cluster& cluster = snapshot.cluster;
    std::vector<Placement> placements;
    for (const Decision& decision : plan.decisions) placements.push_back(decision.placement);
    const std::vector<int> free = free_gpus(snapshot, placements);
    const std::vector<std::size_t> everywhere(cluster.nodes.size(), 0);
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        if (!placements[j].empty()) continue;
        CAPTURE(snapshot.jobs[j].name);
        if (!snapshot.jobs[j].placement.empty()) one.count("in which a job is stopped");
        const std::span<const Option> its = scheduler.options_of(j);
        for (std::size_t k = 0; k < its.size(); ++k) {
            if (scheduler.values_of(j)[k] <= 0 || !its[k].configuration.is_single()) continue;
            const std::string wanted = describe(cluster, its[k].configuration);
            CAPTURE(wanted);
            REQUIRE(!has_room(cluster, free, its[k].configuration.first(),
                              snapshot.jobs[j].within.empty() ? everywhere : racks.levels[0].domain_of));
        }
    }
    const double gap = plan.bound - plan.objective;
    if (plan.status == AllotStatus::optimal)
        REQUIRE(gap <= options.gap * std::max(1.0, std::abs(plan.bound)) + 1e-9 * std::abs(plan.bound));
    else
        one.count("not proven");
}

/// Puts nodes into racks at random.
Topology random_racks(Random& random, const Cluster& cluster) {
    Topology racks{{{"rack", 1, {}}}};
    for (std::size_t n = 0; n < cluster.nodes.size(); ++n)
        racks.levels[0].domain_of.push_back(static_cast<std::size_t>(random.integer(0, 2)));
    return racks;
}

/// Whether these blocks fit, found by trying every node for each block.
bool fit(std::vector<int>& free, const std::vector<int>& blocks, std::size_t next) {
    if (next == blocks.size()) return true;
    for (std::size_t n = 0; n < free.size(); ++n) {
        if (free[n] < blocks[next]) continue;
        if (std::find(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(n), free[n]) !=
            free.begin() + static_cast<std::ptrdiff_t>(n))
            continue;  // an earlier node had the same room
        free[n] -= blocks[next];
        const bool found = fit(free, blocks, next + 1);
        free[n] += blocks[next];
        if (found) return true;
    }
    return false;
}

/// Whether nodes have room for the parts that jobs choose, next to the kept placements. Both are by job.
bool can_be_placed(const Snapshot& snapshot, const std::vector<Placement>& kept,
                   const std::vector<PoolShare>& parts) {
    const Cluster& cluster = snapshot.cluster;
    const std::vector<int> free = free_gpus(snapshot, kept);
    for (const Pool& pool : pools_of(cluster)) {
        std::vector<int> left, blocks;
        for (const std::size_t node : pool.nodes) left.push_back(free[node]);
        for (const PoolShare& part : parts) {
            if (!part.same_pool(pool.share({}))) continue;
            const int on_each = part.shape.nodes > 1 ? part.gpus_per_node : part.shape.gpus;
            blocks.insert(blocks.end(), static_cast<std::size_t>(part.shape.nodes), on_each);
        }
        std::sort(blocks.rbegin(), blocks.rend());
        if (!fit(left, blocks, 0)) return false;
    }
    return true;
}

}  // namespace nodes_properties

using namespace nodes_properties;

TEST_CASE("nodes: if sizes pack, an allotment keeps to all rows exactly if there are nodes for it") {
    for_all(5, [](Case& one) {
        const Snapshot snapshot =
            RandomRound(one.random, {.kept = one.random.chance(0.5) ? 0.2 : 0.9, .packs = true}).snapshot;
        Scheduler<AnyPolicy> scheduler(properties::random_policy(one.random, AnyPolicy::rules), options);
        (void)scheduler.plan(snapshot);
        const AllotmentProblem& problem = scheduler.problem();
        for (int tries = 0; tries < 20; ++tries) {
            std::vector<double> taken(problem.capacity.size());
            std::vector<PoolShare> parts;
            std::vector<Placement> kept(problem.jobs());
            const double chance = one.random.between(0, 1);
            for (std::size_t j = 0; j < problem.jobs(); ++j) {
                const auto offered = static_cast<int>(problem.options_of(j));
                if (offered == 0 || (!problem.must(j) && !one.random.chance(chance))) continue;
                const auto k = static_cast<std::size_t>(one.random.integer(0, offered - 1));
                for (const ResourceUse& use : problem.uses(j, k)) taken[use.resource] += use.units;
                const Configuration& chosen = scheduler.options_of(j)[k].configuration;
                const Placement& held = snapshot.jobs[j].placement;
                if (problem.must(j) ||
                    (shares_nodes(snapshot, j) && chosen.same_gpus(configuration_of(held, snapshot.cluster))))
                    kept[j] = held;
                else
                    parts.push_back(chosen.first());
            }
            bool keeps = true;
            for (std::size_t r = 0; r < taken.size(); ++r) keeps &= taken[r] <= problem.capacity[r];
            REQUIRE(keeps == can_be_placed(snapshot, kept, parts));
            if (keeps) one.count("that can be placed");
        }
    });
}

TEST_CASE(
    "nodes: no job waits or is stopped next to free GPUs that it could have, whatever parts of nodes others "
    "keep; and only plans proven to be optimal are called so") {
    for_all(2, [](Case& one) {
        const bool packs = one.random.chance(0.5);
        const Snapshot snapshot = RandomRound(one.random, {.drained = one.random.chance(0.3) ? 0.2 : 0,
                                                           .kept = one.random.chance(0.5) ? 0.2 : 0.9,
                                                           .packs = packs})
                                      .snapshot;
        Scheduler<AnyPolicy> scheduler(properties::random_policy(one.random, AnyPolicy::rules), options);
        const Plan& plan = scheduler.plan(snapshot);
        support::check_plan(snapshot, plan);
        check_nobody_waits_beside_free_gpus(scheduler, snapshot, {}, one);
    });
}

TEST_CASE("nodes: no job waits or is stopped next to free GPUs of a rack that it could have") {
    for_all(4, [](Case& one) {
        Snapshot snapshot = RandomRound(one.random, {.drained = one.random.chance(0.3) ? 0.2 : 0}).snapshot;
        const Topology racks = random_racks(one.random, snapshot.cluster);
        for (Job& job : snapshot.jobs)
            if (one.random.chance(0.5) && lies_within(racks, "rack", job.placement)) job.within = "rack";
        const auto check = [&](auto scheduler) {
            scheduler.placer().set_topology(racks);
            const Plan& plan = scheduler.plan(snapshot);
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
                if (!snapshot.jobs[j].within.empty())
                    REQUIRE(lies_within(racks, "rack", plan.decisions[j].placement));
            check_nobody_waits_beside_free_gpus(scheduler, snapshot, racks, one);
        };
        // Sia's values stay the same when options are withdrawn. Policies that are queues choose again.
        if (one.random.chance(0.5))
            check(Scheduler<Sia, TopologyPlacer>({}, options));
        else
            check(Scheduler<AnyPolicy, TopologyPlacer>(
                properties::random_policy(one.random, AnyPolicy::rules), options));
    });
}
