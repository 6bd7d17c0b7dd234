// The world of ElasticFlow: its published policies, job by job against its public simulator, and other
// planners in it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/policies/balanced_slowdown.hpp"
#include "goodput/sim/replay.hpp"
#include "peers/elasticflow/elasticflow_edf_rounds.hpp"
#include "peers/elasticflow/elasticflow_rounds.hpp"
#include "peers/elasticflow/elasticflow_world.hpp"
#include "support/random.hpp"
#include "worlds/elasticflow_promises.hpp"
#include "worlds/elasticflow_trace.hpp"

#include <doctest/doctest.h>

namespace sim_elasticflow {

using namespace goodput;
using namespace goodput::peers;
using Json = nlohmann::json;

Cluster cluster_of(int nodes, int gpus_per_node) {
    Cluster cluster{.gpu_types = {"gpu"}};
    for (int n = 0; n < nodes; ++n)
        cluster.nodes.push_back({.name = "node" + std::to_string(n), .gpu_type = 0, .gpus = gpus_per_node});
    return cluster;
}

/// Speeds on up to `most` GPUs: one iteration per second for each GPU.
ElasticflowSpeeds linear(int most) {
    ElasticflowSpeeds speeds{.most_gpus_elastic = most, .most_gpus_other = most};
    for (int size = 1; size <= most; size *= 2) {
        speeds.sizes.push_back(size);
        speeds.rates.push_back(size);
    }
    return speeds;
}

ElasticflowJob job(const std::string& name, double submitted, double iterations, double deadline,
                   int most = 4) {
    return {name, "model", 64, submitted, iterations, deadline, linear(most)};
}

template <class Planner>
ReplayResult played(const Cluster& cluster, ElasticflowWorld& world, Planner planner) {
    return replay(
        cluster, world, std::move(planner),
        {.interval_seconds = 1e12, .moves_restart = false, .last_second = 1e9, .most_idle_rounds = 1});
}

TEST_CASE("a round ends with its only event, and a slot later where others follow soon") {
    ElasticflowEvents events;
    events.end(0, 30);
    CHECK(events.round_until(0, 60) == 30);
    events.submit(60);
    events.submit(100);
    CHECK(events.round_until(0, 60) == 60);
    CHECK(events.ends(0, 60));
    events.pass(60);
    CHECK(events.round_until(60, 60) == 100);
    events.end(1, 500);
    events.end(2, 161);
    events.pass(100);
    CHECK(events.round_until(100, 60) == 161);
}

TEST_CASE("a share has the fewest GPUs that keep the deadline") {
    const ElasticflowSpeeds speeds = linear(4);
    const auto share = [&](double iterations, double deadline, const GpuSteps& free) {
        return MinimumShare({&speeds, iterations, deadline, 4, 60}, free).plan();
    };
    CHECK(share(600, 600, {0, 4}).gpus.at(0) == 1);
    CHECK(share(601, 600, {0, 4}).gpus.at(0) == 2);
    SUBCASE("less now and more later") {
        GpuSteps free(0, 4);
        free[200] = 4;
        const ElasticflowPlan plan = share(700, 600, free);
        CHECK(plan.gpus.at(0) == 1);
        CHECK(plan.gpus.at(200) == 2);
        CHECK(plan.planned_end == 450);
        CHECK(plan.free.at(0) == 3);
        CHECK(plan.free.at(200) == 2);
        CHECK(plan.free.at(500) == 4);
    }
    SUBCASE("too late: all GPUs") {
        const ElasticflowPlan plan = share(6000, 600, {0, 4});
        CHECK(plan.gpus.at(0) == 4);
        CHECK(plan.planned_end == 1500);
    }
}

TEST_CASE("shares never have more GPUs than are free, and keep every deadline that one size keeps") {
    support::Random random(38);
    for (int round = 0; round < 2000; ++round) {
        const ElasticflowSpeeds speeds = linear(1 << random.integer(0, 4));
        GpuSteps free(0, static_cast<int>(random.integer(0, 16)));
        for (double time = 60; random.integer(0, 3) > 0;
             time += 60.0 * static_cast<double>(random.integer(1, 4)))
            free[time] = static_cast<int>(random.integer(0, 16));
        free[free.steps().back().seconds + 60] = 16;
        free.merge();
        const double iterations = static_cast<double>(random.integer(1, 5000)),
                     deadline = static_cast<double>(random.integer(1, 1500));
        const ElasticflowPlan plan = MinimumShare({&speeds, iterations, deadline, 16, 60}, free).plan();
        double done = 0;
        const auto& steps = plan.gpus.steps();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const double end =
                i + 1 < steps.size() ? std::min(steps[i + 1].seconds, plan.planned_end) : plan.planned_end;
            done += std::max(end - steps[i].seconds, 0.0) * steps[i].gpus;
        }
        CHECK(done >= iterations);
        for (double time = 0; time < plan.end; time += 60) {
            CHECK(plan.gpus.at(time) <= free.at(time));
            CHECK(plan.free.at(time) >= 0);
        }
        double possible = 0;
        for (double time = 0; time < deadline; time += 60)
            possible += speeds.size_within(std::min(free.at(time), 16)) * std::min(60.0, deadline - time);
        if (possible >= iterations) CHECK(plan.planned_end <= deadline);
    }
}

TEST_CASE("admission refuses a job that would be late, and all that arrive with it") {
    const Cluster cluster = cluster_of(1, 4);
    const std::vector<ElasticflowJob> jobs{job("a", 0, 4000, 1100), job("hopeless", 30, 4000, 200),
                                           job("possible", 40, 1000, 9000)};
    SUBCASE("together, as published") {
        ElasticflowWorld world(cluster, jobs, 60);
        played(cluster, world, ElasticflowRounds(world, true));
        CHECK(world.has_met(0));
        CHECK(!world.is_admitted(1));
        CHECK(!world.is_admitted(2));
    }
    SUBCASE("one by one, without the slip") {
        ElasticflowWorld world(cluster, jobs, 60);
        played(cluster, world, ElasticflowRounds(world, true, {.refuses_together = false}));
        CHECK(world.has_met(0));
        CHECK(!world.is_admitted(1));
        CHECK(world.has_met(2));
    }
    SUBCASE("one by one, by earliest deadline") {
        ElasticflowWorld world(cluster, jobs, 60);
        played(cluster, world, ElasticflowEdf(world, true));
        CHECK(!world.is_admitted(1));
        CHECK(world.has_met(2));
    }
    SUBCASE("no job, without admission") {
        ElasticflowWorld world(cluster, jobs, 60);
        const ReplayResult result = played(cluster, world, ElasticflowRounds(world, false));
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            CHECK(world.is_admitted(j));
            CHECK(result.jobs[j].completed_seconds.has_value());
        }
        CHECK(!world.has_met(1));
    }
}

TEST_CASE("any planner plays in this world: jobs end when their work is done") {
    const Cluster cluster = cluster_of(2, 4);
    std::vector<ElasticflowJob> jobs;
    support::Random random(7);
    for (int j = 0; j < 12; ++j)
        jobs.push_back(job("job" + std::to_string(100 + j), 500 * j,
                           static_cast<double>(random.integer(100, 20'000)), 500 * j + 6000, 8));
    ElasticflowWorld world(cluster, jobs, 60);
    const ReplayResult result =
        replay(cluster, world, BalancedSlowdown(), {.interval_seconds = 1e12, .moves_restart = false});
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        REQUIRE(result.jobs[j].completed_seconds.has_value());
        REQUIRE(world.work_done(j).has_value());
        CHECK(*result.jobs[j].completed_seconds >= *world.work_done(j));
        CHECK(*result.jobs[j].completed_seconds < *world.work_done(j) + 1);
        CHECK(world.has_met(j) == (*result.jobs[j].completed_seconds <= jobs[j].deadline_seconds));
    }
}

TEST_CASE("a job admitted with a promise has its work done by the deadline, however short rounds are") {
    support::Random random(38);
    int admitted = 0, refused = 0;
    for (int trace = 0; trace < 12; ++trace) {
        const Cluster cluster = cluster_of(1 << random.integer(0, 3), 4);
        const double slot = random.chance(0.5) ? 60 : 240;
        std::vector<ElasticflowJob> jobs;
        double now = 0;
        for (int j = 0; j < 60; ++j) {
            now += std::floor(random.between(0, random.chance(0.5) ? slot : 20 * slot));
            const double work = std::floor(random.between(1, random.chance(0.3) ? 300 * slot : 20 * slot));
            const bool best_effort = random.chance(0.2);
            jobs.push_back(job("job" + std::to_string(100 + j), now, work,
                               best_effort ? std::numeric_limits<double>::infinity()
                                           : now + std::floor(work * random.between(0.2, 3)),
                               1 << random.integer(0, 4)));
        }
        ElasticflowWorld world(cluster, jobs, slot);
        played(cluster, world, cli::ElasticflowPromises(world));
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            CAPTURE(trace);
            CAPTURE(jobs[j].name);
            if (std::isinf(jobs[j].deadline_seconds)) {
                CHECK(world.has_ended(j));
                continue;
            }
            (world.is_admitted(j) ? admitted : refused) += 1;
            CHECK(world.is_admitted(j) == world.work_is_done_by_deadline(j));
            CHECK(world.is_admitted(j) == world.has_met(j));
        }
    }
    CHECK(admitted > 100);
    CHECK(refused > 20);
}

TEST_CASE("worlds that make no sense are refused") {
    const auto refused = [](const Cluster& cluster, std::vector<ElasticflowJob> jobs, double slot) {
        CHECK_THROWS_AS(ElasticflowWorld(cluster, std::move(jobs), slot), std::invalid_argument);
    };
    Cluster unlike = cluster_of(2, 4);
    unlike.nodes[1].gpus = 2;
    refused(unlike, {job("a", 0, 1, 1)}, 60);
    refused(cluster_of(2, 4), {job("a", 0, 1, 1)}, 0.5);
    refused(cluster_of(2, 4), {job("a", 0, 0, 1)}, 60);
    refused(cluster_of(2, 4), {job("a", 0, std::numeric_limits<double>::quiet_NaN(), 1)}, 60);
}

TEST_SUITE_BEGIN("data");

/// Replays a policy by its name in the recorded results.
ReplayResult replay_called(const std::string& policy, const Cluster& cluster, ElasticflowWorld& world) {
    const auto has = [&](const char* part) { return policy.find(part) != std::string::npos; };
    const bool admission = has("-accessctrl");
    if (policy.starts_with("edf")) return played(cluster, world, ElasticflowEdf(world, admission));
    return played(cluster, world,
                  ElasticflowRounds(world, admission,
                                    {.refuses_together = !has("-fixed"), .largest_growth = !has("-margin")}));
}

TEST_CASE("every admission and every end is that of the published simulator") {
    const std::string folder = std::string(GOODPUT_DATA_DIR) + "/elasticflow/";
    for (const std::string name : {"g100", "evp", "t195"}) {
        cli::ElasticflowTrace trace = cli::read_elasticflow_trace(folder + name + ".json");
        cli::read_elasticflow_speeds(folder + "throughputs.json", trace.gpu_type, trace.jobs);
        const Cluster cluster = cluster_of(trace.nodes, trace.gpus_per_node);
        std::ifstream file(folder + name + ".json");
        const Json published = Json::parse(file);
        int policies = 0;
        for (const Json& result : published["results"]) {
            const std::string policy = result["policy"];
            if (!policy.starts_with("ef") && !policy.starts_with("edf")) continue;
            CAPTURE(name);
            CAPTURE(policy);
            ++policies;
            ElasticflowWorld world(cluster, trace.jobs, trace.slot_seconds);
            const ReplayResult replayed = replay_called(policy, cluster, world);
            int work_done = 0;
            for (const Json& row : result["jobs"]) {
                const std::size_t job = world.index_of(std::to_string(row[0].get<int>()));
                CAPTURE(world.job(job).name);
                const bool refused = row[1] == "refused";
                CHECK(world.is_admitted(job) == !refused);
                CHECK(world.has_met(job) == (row[1] == "met"));
                REQUIRE(replayed.jobs[job].completed_seconds.has_value() == !refused);
                work_done += world.work_is_done_by_deadline(job);
                if (refused) continue;
                CHECK(*replayed.jobs[job].completed_seconds == row[3].get<double>());
                if (!row[4].is_null()) CHECK(world.planned_end(job) == row[4].get<double>());
            }
            CHECK(work_done == result["totals"]["work_done_by_deadline"].get<int>());
        }
        CHECK(policies == 7);
    }
}

TEST_SUITE_END();

}  // namespace sim_elasticflow
