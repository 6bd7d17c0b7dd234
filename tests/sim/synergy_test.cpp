// Synergy's world, and its published allocators as planners in it.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/sim/synergy_world.hpp"
#include "peers/synergy/synergy_allocator.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using peers::SynergyAllocator;
using peers::SynergyMode;
using peers::SynergyOrder;

namespace {

Cluster servers(int count, int gpus, double cores, double memory_gib) {
    Cluster cluster{{"gpu"}, {}};
    for (int i = 0; i < count; ++i)
        cluster.nodes.push_back(
            {.name = "server-" + std::to_string(i), .gpus = gpus, .cores = cores, .memory_gib = memory_gib});
    return cluster;
}

/// Twice as fast with six cores per GPU as with three, and half as fast with less than 50 GiB.
SynergyJob hungry(const std::string& name, double submitted_seconds, int gpus, double iterations) {
    SynergyJob job{.name = name, .model = "hungry", .submitted_seconds = submitted_seconds, .gpus = gpus};
    job.iterations = iterations;
    job.speed = {{1, 25, 0.2}, {1, 50, 0.4}, {3, 25, 0.5}, {3, 50, 1}, {6, 25, 1}, {6, 50, 2}, {9, 50, 1.9}};
    job.ideal = {6, 50};
    job.ideal_factor = 2;
    return job;
}

Configuration gpus(int count, HostShare host = {}) { return {PoolShare{0, 8, {1, count}}, host}; }

}  // namespace

static_assert(World<SynergyWorld> && ReportingWorld<SynergyWorld> && PredictingWorld<SynergyWorld> &&
              IsolatedTimes<SynergyWorld>);
static_assert(Planner<SynergyAllocator>);

TEST_CASE("a job of Synergy's world does whole iterations and completes at the end of a round") {
    SynergyWorld world(servers(1, 8, 24, 400), {hungry("job", 0, 1, 1000)});
    CHECK(world.share() == HostShare{3, 50});
    CHECK(world.train(0, gpus(1, {3, 50}), 0, 300.9) == std::nullopt);
    CHECK(world.iterations_left(0) == 700);
    CHECK(world.train(0, gpus(1), 0, 100) == std::nullopt);  // its share, because nothing is said
    CHECK(world.iterations_left(0) == 600);
    CHECK(world.train(0, gpus(1, {4.5, 50}), 0, 100) == std::nullopt);
    CHECK(world.iterations_left(0) == 450);
    CHECK(world.train(0, gpus(1, {9, 50}), 0, 100) == std::nullopt);  // more cores never harm
    CHECK(world.iterations_left(0) == 250);
    world.credit(0, 0.5);
    CHECK(world.train(0, gpus(1, {6, 50}), 0, 100) == std::nullopt);
    CHECK(world.iterations_left(0) == 200);
    world.credit(0, std::nullopt);
    CHECK(world.train(0, gpus(1, {6, 50}), 700, 300) == 1000);
    CHECK(world.done(0) == 1);
}

TEST_CASE("schedulers learn the profile, and that no job gets less than in proportion") {
    SynergyJob frugal{.name = "frugal", .model = "frugal", .gpus = 4, .iterations = 10};
    frugal.speed = {{1, 25, 1}, {3, 50, 1}};
    frugal.ideal = {1, 20};
    SynergyWorld world(servers(2, 8, 24, 400), {hungry("hungry", 0, 2, 1000), frugal});
    const Job &first = world.jobs()[0], &second = world.jobs()[1];
    CHECK(first.kind == "hungry");
    CHECK(first.min_gpus == 2);
    CHECK(first.max_gpus == 2);
    CHECK(first.host->least == HostShare{3, 50});
    CHECK(first.host->most == HostShare{6, 50});
    CHECK(second.host->least == HostShare{1, 25});
    CHECK(second.host->most == HostShare{1, 25});
    CHECK(world.needs(0).factor({6, 50}) == 2);
    CHECK(world.index_of("frugal") == 1);
    CHECK(world.isolated_seconds(0, 1) == 1000);
    CHECK(world.isolated_seconds(0, 16) == 2000);
    CHECK(world.one_gpu_seconds(0) == 1000);
    Job known = first;
    JobModel model;
    world.report(0, known, model);
    CHECK(known.remaining_examples == 1000.0);
}

TEST_CASE("any policy plans in Synergy's world, and so do the published allocators") {
    std::vector<SynergyJob> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(hungry("hungry-" + std::to_string(i), 0, 2, 600));
    for (int i = 0; i < 4; ++i) {
        jobs.push_back(
            {.name = "frugal-" + std::to_string(i), .model = "frugal", .gpus = 2, .iterations = 600});
        jobs.back().speed = {{1, 25, 1}};
        jobs.back().ideal = {1, 25};
    }
    const Cluster cluster = servers(2, 8, 24, 400);
    SynergyWorld plain(cluster, jobs);
    const ReplayResult shares = replay(cluster, plain, ShortestRemainingTime{}, {.interval_seconds = 300});
    for (const JobOutcome& job : shares.jobs) CHECK(job.completed_seconds == 900);
    SynergyWorld greedy(cluster, jobs);
    const ReplayResult fast =
        replay(cluster, greedy, SynergyAllocator(greedy, SynergyOrder::fifo, SynergyMode::greedy),
               {.interval_seconds = 300});
    // The frugal jobs, first by name, fill one server. The other one has the cores for two of the others.
    for (std::size_t j = 0; j < jobs.size(); ++j)
        CHECK(fast.jobs[j].completed_seconds == (j < 2 ? 600 : 900));
}

TEST_CASE("published allocators give no more than there is, and only the greedy one less than a share") {
    support::Random random(3);
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        const Cluster cluster = servers(random.integer(1, 4), 8, 24, 400);
        std::vector<SynergyJob> jobs;
        for (int i = random.integer(1, 30); i > 0; --i) {
            SynergyJob job = hungry("job-" + std::to_string(i), random.integer(0, 3),
                                    1 << random.integer(0, 4), random.integer(1, 3000));
            if (random.chance(0.5)) {
                job.ideal = {1, 25};
                job.ideal_factor = 1;
                job.speed = {{1, 25, 1}};
            }
            jobs.push_back(job);
        }
        std::sort(jobs.begin(), jobs.end(), [](const SynergyJob& a, const SynergyJob& b) {
            return a.submitted_seconds < b.submitted_seconds;
        });
        const auto order = static_cast<SynergyOrder>(random.integer(0, 5));
        const auto mode = static_cast<SynergyMode>(random.integer(0, 3));
        CAPTURE(static_cast<int>(mode));
        SynergyWorld world(cluster, jobs);
        const ReplayResult result =
            replay(cluster, world, SynergyAllocator(world, order, mode),
                   {.interval_seconds = 300, .last_second = 1e7, .most_idle_rounds = 3},
                   [&](double, const Snapshot& snapshot, auto make_plan) {
                       const Plan& plan = make_plan();
                       std::vector<HostShare> used(cluster.nodes.size());
                       double cores = 0, memory = 0;
                       for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
                           const Decision& decision = plan.decisions[j];
                           const HostShare share = decision.option.configuration.host();
                           int held = 0;
                           for (const NodeShare& part : decision.placement) {
                               used[part.node].cores_per_gpu += share.cores_per_gpu * part.gpus;
                               used[part.node].memory_gib_per_gpu += share.memory_gib_per_gpu * part.gpus;
                               cores += share.cores_per_gpu * part.gpus;
                               memory += share.memory_gib_per_gpu * part.gpus;
                               held += part.gpus;
                           }
                           if (decision.placement.empty()) continue;
                           CHECK(held == snapshot.jobs[j].max_gpus);
                           const SynergyJob& job = world.job(world.index_of(snapshot.jobs[j].name));
                           CHECK(decision.option.goodput * job.iteration_seconds >= 1 - 1e-9);
                       }
                       const auto count = static_cast<double>(cluster.nodes.size());
                       CHECK(cores <= 24 * count + 1e-6);
                       CHECK(memory <= 400 * count + 1e-6);
                       if (mode == SynergyMode::opt) return;  // it assumes one large server
                       for (const HostShare& share : used) {
                           CHECK(share.cores_per_gpu <= 24 + 1e-6);
                           CHECK(share.memory_gib_per_gpu <= 400 + 1e-6);
                       }
                   });
        CHECK(result.faults == 0);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const bool fits = jobs[j].gpus <= 8 * static_cast<int>(cluster.nodes.size());
            CHECK(result.jobs[j].completed_seconds.has_value() == fits);
        }
    }
}

TEST_CASE("worlds that make no sense are refused with node or job, field and value") {
    const Cluster good = servers(1, 8, 24, 400);
    CHECK_THROWS_WITH(SynergyWorld(servers(1, 8, 0, 400), {}),
                      "node 'server-0': cores is 0, but must be a finite number above 0");
    Cluster uneven = servers(2, 8, 24, 400);
    uneven.nodes[1].memory_gib = 200;
    CHECK_THROWS_WITH(SynergyWorld(uneven, {}),
                      "node 'server-1': memory_gib is 200, but must be that of the other nodes");
    CHECK_THROWS_WITH(SynergyWorld({{"a", "b"}, {}}, {}), "cluster: number of GPU types is 2, but must be 1");
    CHECK_THROWS_WITH(SynergyWorld(good, {hungry("job", 0, 0, 1)}),
                      "job 'job': gpus is 0, but must be between 1 and 1048576");
    CHECK_THROWS_WITH(SynergyWorld(good, {hungry("job", 0, 1, 0)}),
                      "job 'job': iterations is 0, but must be a finite number of at least 1");
    SynergyWorld world(good, {hungry("job", 0, 1, 1)});
    CHECK_THROWS_WITH(world.credit(0, -1),
                      "job 'job': credited factor is -1, but must be a finite number of at least 0");
    CHECK_THROWS_WITH((void)world.index_of("other"), "world: job is 'other', but must be one of its trace");
}
