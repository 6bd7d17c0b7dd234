// Nodes with an announced end: jobs that need longer get other nodes, and no job restarts in vain.

#include <limits>
#include <string>
#include <vector>

#include "goodput/place/topology_placer.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::check_plan;
using support::Random;
using support::RandomRound;

namespace {

constexpr double leaves_soon = 60;

Snapshot cluster_of(const std::vector<double>& leaves) {
    Snapshot snapshot{.time_seconds = 1000, .cluster = {{"A100"}, {}}};
    for (const double seconds : leaves) {
        snapshot.cluster.nodes.push_back({"n" + std::to_string(snapshot.cluster.nodes.size()), 0, 8});
        snapshot.cluster.nodes.back().leaves_seconds = seconds;
    }
    return snapshot;
}

Job job_of(int fewest, int most) {
    Job job{.name = "j", .submitted_seconds = 0, .min_gpus = fewest, .max_gpus = most};
    job.initial_batch = job.max_batch = job.target_batch = 512;
    job.adaptivity = Adaptivity::gpus;
    job.types = {{.max_atomic_batch = 64}};
    job.restart_cost_seconds = 300;
    return job;
}

/// A speed that grows almost linearly with the GPUs, measured on up to 24 of them.
JobModel measured() {
    return {{{.throughput = PolluxThroughput{0.01, 0.01, 0.01, 0, 0.01, 0, 1}, .most_replicas = 24}}};
}

constexpr double always = std::numeric_limits<double>::infinity();

/// Returns whether every node of a placement stays for `seconds` more.
bool stays(const Snapshot& snapshot, const Placement& placement, double seconds) {
    for (const NodeShare& share : placement)
        if (snapshot.cluster.nodes[share.node].leaves_seconds < seconds) return false;
    return !placement.empty();
}

}  // namespace

TEST_CASE("a job alone gets nodes that stay as long as it needs them, whatever their order") {
    for (const std::vector<double>& leaves : {std::vector{leaves_soon, always, always},
                                              {always, leaves_soon, always},
                                              {always, always, leaves_soon}}) {
        Snapshot snapshot = cluster_of(leaves);
        snapshot.jobs = {job_of(16, 16)};
        CHECK(stays(snapshot, Scheduler<GoodputPolicy>().plan(snapshot).decisions[0].placement, always));
        CHECK(stays(snapshot, Scheduler<Fifo>().plan(snapshot).decisions[0].placement, always));
        // More GPUs for one minute are not worth a restart.
        snapshot.jobs = {job_of(8, 24)};
        snapshot.models = {measured()};
        CHECK(stays(snapshot, Scheduler<GoodputPolicy>().plan(snapshot).decisions[0].placement, always));
    }
}

TEST_CASE("a job that runs is not restarted on a node that leaves before that pays") {
    for (const double leaves : {leaves_soon, 600.0, 1e6, always}) {
        CAPTURE(leaves);
        Snapshot snapshot = cluster_of({always, leaves});
        snapshot.time_seconds = 1e5;
        snapshot.jobs = {job_of(1, 8), job_of(4, 4)};
        snapshot.jobs[1].name = "other";
        snapshot.models = {measured(), measured()};
        snapshot.jobs[0].placement = {{0, 4}};
        snapshot.jobs[1].placement = {{0, 4}};
        const Plan plan = Scheduler<Sia>().plan(snapshot);
        CHECK(plan.decisions[1].placement == snapshot.jobs[1].placement);
        if (leaves > 1e5)
            CHECK(plan.decisions[0].placement == Placement{{1, 8}});
        else
            CHECK(plan.decisions[0].placement == snapshot.jobs[0].placement);
    }
}

TEST_CASE("leftovers go to nodes that stay first") {
    Snapshot snapshot = cluster_of({100, always, 200});
    snapshot.jobs = {job_of(2, 2), job_of(2, 2)};
    snapshot.jobs[1].name = "k";
    const Plan plan = Scheduler<Sia>({}, {.gap = 1}).plan(snapshot);
    for (const Decision& decision : plan.decisions) CHECK(stays(snapshot, decision.placement, always));
}

TEST_CASE("a single new job never gets a node that leaves before its end if other pools do not matter") {
    Random random(7);
    TopologyPlacer placer;
    Scheduler<GoodputPolicy> scheduler;
    Scheduler<Fifo> fifo;
    int cases = 0;
    for (int round = 0; round < 4000; ++round) {
        CAPTURE(round);
        RandomRound instance(random, {.drained = 0.1});
        Snapshot& snapshot = instance.snapshot;
        if (snapshot.jobs.empty()) continue;
        snapshot.jobs.resize(1);
        snapshot.models.resize(1);
        Job& job = snapshot.jobs[0];
        job.placement.clear();
        job.preemptible = true;
        // One type and one size, and GPUs that are all equal to the job.
        snapshot.cluster.gpu_types.resize(1);
        job.types.resize(1);
        snapshot.models[0].types.resize(1);
        std::erase_if(snapshot.cluster.nodes, [&](const Node& node) {
            return node.gpu_type > 0 || node.gpus != snapshot.cluster.nodes[0].gpus;
        });
        job.adaptivity = Adaptivity::none;
        job.min_gpus = job.max_gpus;
        for (Node& node : snapshot.cluster.nodes)
            if (random.chance(0.5)) node.leaves_seconds = random.between(0, 5000);
        const auto check = [&](auto& of) {
            const Plan plan = of.plan(snapshot);
            check_plan(snapshot, plan);
            const Decision& decision = plan.decisions[0];
            const double needs = detail::needed_seconds(job, decision.option);
            Snapshot staying = snapshot;
            for (Node& node : staying.cluster.nodes) node.drained |= node.leaves_seconds < needs;
            if (of.plan(staying).decisions[0].placement.empty()) return;
            CHECK(stays(snapshot, decision.placement, needs));
            ++cases;
        };
        check(scheduler);
        check(fifo);
    }
    CHECK(cases > 500);
}
