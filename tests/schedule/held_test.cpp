// A job is offered exactly what it holds, however it came to hold it.

#include <algorithm>
#include <string>
#include <vector>

#include "goodput/policies/optimus.hpp"
#include "goodput/policies/pollux.hpp"
#include "goodput/policies/tiresias.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

Job holding(const std::string& name, Placement placement, const Cluster& cluster) {
    const int gpus = shape_of(placement).gpus;
    Job job{.name = name, .submitted_seconds = 0, .restart_cost_seconds = 60};
    job.min_gpus = job.max_gpus = gpus;
    job.adaptivity = Adaptivity::none;
    job.initial_batch = job.target_batch = 64 * gpus;
    job.types.assign(cluster.gpu_types.size(), {1, 256});
    job.placement = std::move(placement);
    return job;
}

/// Jobs that hold parts of nodes in ways that other systems allow: across nodes of different size and type,
/// and on nodes shared with other jobs.
Snapshot random_holders(Random& random) {
    Snapshot snapshot{.time_seconds = 7200};
    Cluster& cluster = snapshot.cluster;
    const int types = random.integer(1, 2);
    for (int t = 0; t < types; ++t) {
        cluster.gpu_types.push_back("type-" + std::to_string(t));
        const int nodes = random.integer(1, 5);
        for (int n = 0; n < nodes; ++n)
            cluster.nodes.push_back({std::to_string(t) + "-" + std::to_string(n), static_cast<std::size_t>(t),
                                     random.chance(0.6) ? 8 : random.integer(1, 8), random.chance(0.1)});
    }
    std::vector<int> free;
    for (const Node& node : cluster.nodes) free.push_back(node.gpus);
    for (int j = 0; j < 12; ++j) {
        Placement placement;
        const int most = random.integer(1, 3);
        for (std::size_t n = 0; n < free.size() && static_cast<int>(placement.size()) < most; ++n)
            if (free[n] > 0 && random.chance(0.4)) {
                placement.push_back({n, random.integer(1, free[n])});
                free[n] -= placement.back().gpus;
            }
        if (placement.empty()) continue;
        snapshot.jobs.push_back(holding("job-" + std::to_string(j), placement, cluster));
        Job& job = snapshot.jobs.back();
        job.preemptible = random.chance(0.9);
        if (random.chance(0.5)) {
            job.adaptivity = Adaptivity::gpus;
            job.max_gpus += random.integer(0, 4);
        }
    }
    return snapshot;
}

template <class P>
void check_that_all_stay(const Snapshot& snapshot, P policy) {
    Scheduler<P> scheduler(policy);
    const Plan& plan = scheduler.plan(snapshot);
    support::check_plan(snapshot, plan);
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        CAPTURE(snapshot.jobs[j].name);
        CHECK(plan.decisions[j].placement == snapshot.jobs[j].placement);
    }
}

}  // namespace

TEST_CASE("jobs that share nodes with a job on several nodes all go on") {
    Snapshot snapshot{.time_seconds = 7200};
    snapshot.cluster = {{"A100"}, {{"a0", 0, 8}, {"a1", 0, 8}}};
    const Cluster& cluster = snapshot.cluster;
    snapshot.jobs = {holding("wide", {{0, 6}, {1, 6}}, cluster), holding("left", {{0, 2}}, cluster),
                     holding("right", {{1, 2}}, cluster)};
    for (const bool preemptible : {true, false}) {
        CAPTURE(preemptible);
        snapshot.jobs[0].preemptible = preemptible;
        check_that_all_stay(snapshot, Sia{});
        check_that_all_stay(snapshot, GoodputPolicy{});
        check_that_all_stay(snapshot, Pollux{});
        check_that_all_stay(snapshot, Optimus{});
        check_that_all_stay(snapshot, Tiresias{});
        check_that_all_stay(snapshot, Fifo{});
    }
    SUBCASE("a new job gets what they leave, and no whole node that does not exist") {
        snapshot.jobs.erase(snapshot.jobs.begin() + 1, snapshot.jobs.end());
        snapshot.jobs.push_back(holding("left", {{0, 1}}, cluster));
        snapshot.jobs.push_back(holding("new", {{1, 2}}, cluster));
        snapshot.jobs.back().placement.clear();
        const Plan result = plan(snapshot, GoodputPolicy{});
        CHECK(result.decisions[0].placement == snapshot.jobs[0].placement);
        CHECK(result.decisions[1].placement == snapshot.jobs[1].placement);
        CHECK(result.decisions[2].placement == Placement{{1, 2}});
        CHECK(result.status == AllotStatus::optimal);
    }
    SUBCASE("a job of whole nodes gets none of a shared one") {
        snapshot.jobs.push_back(holding("eight", {{0, 8}}, cluster));
        snapshot.jobs.back().placement.clear();
        check_that_all_stay(snapshot, GoodputPolicy{});
    }
}

TEST_CASE("a job on nodes of different size or type goes on, as fast as its slowest GPUs") {
    Snapshot snapshot{.time_seconds = 7200};
    snapshot.cluster = {{"A100", "T4"}, {{"a0", 0, 8}, {"b0", 0, 4}, {"t0", 1, 4}}};
    snapshot.jobs = {holding("job", {{0, 8}, {1, 4}}, snapshot.cluster)};
    TypeModel fast, slow;
    fast.most_replicas = slow.most_replicas = 16;
    fast.throughput = PolluxThroughput{0.01, 0.001, 0.01, 0.001, 0.05, 0.001, 1};
    slow.throughput = PolluxThroughput{0.1, 0.01, 0.01, 0.001, 0.05, 0.001, 1};
    snapshot.models = {{.types = {fast, slow}}};
    const auto goodput_of_same = [&](std::size_t type, int gpus_per_node, Shape shape) {
        Snapshot same = snapshot;
        same.cluster.nodes.assign(3, {"", type, gpus_per_node});
        for (std::size_t n = 0; n < 3; ++n) same.cluster.nodes[n].name = std::to_string(n);
        same.jobs[0].placement.clear();
        for (int n = 0; n < shape.nodes; ++n)
            same.jobs[0].placement.push_back({static_cast<std::size_t>(n), shape.gpus / shape.nodes});
        return plan(same, GoodputPolicy{}).decisions[0].option.goodput;
    };
    const Plan sizes = plan(snapshot, GoodputPolicy{});
    CHECK(sizes.decisions[0].placement == snapshot.jobs[0].placement);
    CHECK(sizes.decisions[0].option.goodput == doctest::Approx(goodput_of_same(0, 6, {2, 12})));
    snapshot.jobs[0].placement = {{0, 8}, {2, 4}};
    const Plan types = plan(snapshot, GoodputPolicy{});
    CHECK(types.decisions[0].placement == snapshot.jobs[0].placement);
    CHECK(types.decisions[0].option.goodput == doctest::Approx(goodput_of_same(1, 6, {2, 12})));
    SUBCASE("if it may have as many") {
        snapshot.jobs[0].min_gpus = snapshot.jobs[0].max_gpus = 16;
        CHECK(plan(snapshot, GoodputPolicy{}).decisions[0].placement.empty());
    }
}

TEST_CASE("jobs of fixed sizes that hold all kinds of shapes all go on if no new job comes") {
    Random random(176);
    int shared = 0;
    for (int trial = 0; trial < 400; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = random_holders(random);
        for (Job& job : snapshot.jobs) {
            job.adaptivity = Adaptivity::none;
            job.max_gpus = job.min_gpus;
            shared += job.placement.size() > 1 ? 1 : 0;
        }
        check_that_all_stay(snapshot, Sia{});
        check_that_all_stay(snapshot, GoodputPolicy{});
        check_that_all_stay(snapshot, Fifo{});
        check_that_all_stay(snapshot, Optimus{});
    }
    CHECK(shared > 100);
}

TEST_CASE("no job is stopped while what it held stays idle") {
    Random random(177);
    for (int trial = 0; trial < 600; ++trial) {
        CAPTURE(trial);
        const Snapshot snapshot = random_holders(random);
        Scheduler<GoodputPolicy> scheduler;
        const Plan& plan = scheduler.plan(snapshot);
        support::check_plan(snapshot, plan);
        std::vector<int> free;
        for (const Node& node : snapshot.cluster.nodes) free.push_back(node.gpus);
        for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            // A job that is newly placed on several nodes has them to itself.
            const bool whole = decision.starts && decision.option.configuration.first().shape.nodes > 1;
            for (const NodeShare& share : decision.placement)
                free[share.node] -= whole ? free[share.node] : share.gpus;
        }
        for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
            if (plan.decisions[j].action != Action::stop) continue;
            CAPTURE(snapshot.jobs[j].name);
            CHECK(std::ranges::any_of(snapshot.jobs[j].placement,
                                      [&](const NodeShare& share) { return free[share.node] < share.gpus; }));
        }
    }
}
