// Nodes of many prices under a budget: near prices form a group, charged at its highest price.

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/detail/price_groups.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Nodes of 4 and 8 GPUs, each with its own price.
Snapshot priced(Random& random, int nodes, int jobs) {
    Snapshot snapshot{.time_seconds = 1000, .cluster = {{"A100"}, {}}};
    for (int n = 0; n < nodes; ++n) {
        const int gpus = random.chance(0.5) ? 4 : 8;
        Node& node = snapshot.cluster.nodes.emplace_back(Node{"n" + std::to_string(n), 0, gpus});
        node.dollars_per_hour = gpus * random.between(1, 4);
    }
    for (int j = 0; j < jobs; ++j) {
        Job job{.name = "j" + std::to_string(j), .max_gpus = 1 << random.integer(0, 2)};
        job.min_gpus = job.max_gpus;
        job.adaptivity = Adaptivity::none;
        job.initial_batch = job.max_batch = job.target_batch = 64;
        job.types = {{.max_atomic_batch = 64}};
        snapshot.jobs.push_back(job);
    }
    return snapshot;
}

}  // namespace

TEST_CASE(
    "each of few prices has a group of nodes; among many prices, near ones count as the highest of them") {
    Random random(3);
    detail::PriceGroups groups;
    struct Size {
        int nodes, jobs;
        bool all;
    };
    for (const Size& size : {Size{100, 500, true}, Size{100, 5000, false}, Size{800, 400, false}}) {
        CAPTURE(size.nodes);
        const bool all = size.all;
        const Snapshot snapshot = priced(random, size.nodes, size.jobs);
        REQUIRE(groups.find(snapshot));
        std::map<PoolId, std::set<double>> charged;
        for (std::size_t n = 0; n < snapshot.cluster.nodes.size(); ++n) {
            const Node &node = snapshot.cluster.nodes[n], &copy = groups.snapshot().cluster.nodes[n];
            CHECK(copy.dollars_per_hour >= node.dollars_per_hour);
            // The prices of a pool span a factor of 4, so 32 groups of a factor of 4^(1/32) cover them.
            CHECK(copy.dollars_per_hour <= node.dollars_per_hour * (all ? 1 : 1.0443));
            charged[copy].insert(copy.dollars_per_hour);
        }
        CHECK(charged.size() <= (all ? snapshot.cluster.nodes.size() : 64));
        if (all) CHECK(charged.size() == snapshot.cluster.nodes.size());
        for (const auto& [pool, prices] : charged) CHECK(prices.size() == 1);
    }
}

TEST_CASE("the budget holds at the true prices of nodes, however many there are") {
    Random random(4);
    for (int round = 0; round < 6; ++round) {
        const Snapshot snapshot = priced(random, 400, 600);
        double all = 0;
        for (const Node& node : snapshot.cluster.nodes) all += node.dollars_per_hour;
        const double budget = all * random.between(0.1, 0.7);
        auto scheduler = Scheduler(Sia()).limited_by(Budget(budget));
        const Plan& plan = scheduler.plan(snapshot);
        double spent = 0;
        bool all_run = true;
        for (const Decision& decision : plan.decisions) {
            all_run = all_run && !decision.placement.empty();
            for (const NodeShare& share : decision.placement) {
                const Node& node = snapshot.cluster.nodes[share.node];
                spent += node.dollars_per_hour * share.gpus / node.gpus;
            }
        }
        CHECK(spent <= budget * (1 + 1e-9));
        // If a job waits, dollars are short, up to the surcharge of grouped prices. If no job waits, the
        // plan may cost less.
        CHECK((all_run || spent > 0.98 * budget));
    }
}
