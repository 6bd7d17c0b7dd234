// A kept Scheduler has its memory after the first rounds. A program of its own, because it counts
// allocations.

#include <cstddef>
#include <string>
#include <vector>

#include "allocation/counting_new.hpp"
#include "goodput/place/topology_placer.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::allocations_during;
using support::Random;

namespace {

/// Nodes of three GPU types, and jobs; all names are too long to be stored in place.
Snapshot busy_cluster(int nodes, int jobs) {
    Random random(7);
    Snapshot snapshot{.time_seconds = 1000};
    snapshot.cluster.gpu_types = {"Tesla T4 with 16 GB", "A100 with 80 GB of memory",
                                  "RTX 2080 Ti with 11 GB"};
    for (int n = 0; n < nodes; ++n)
        snapshot.cluster.nodes.push_back({"a-node-with-a-long-name-" + std::to_string(n),
                                          static_cast<std::size_t>(n % 3), n % 3 == 0 ? 4 : 8});
    for (int j = 0; j < jobs; ++j) {
        Job job{.name = "a-job-with-a-long-name-" + std::to_string(j)};
        job.max_gpus = 64;
        job.initial_batch = 128;
        job.max_batch = 4096;
        job.restart_cost_seconds = 30;
        job.gradient = GradientStatistics{random.between(0.1, 2), random.between(0.1, 20)};
        JobModel model;
        for (std::size_t t = 0; t < 3; ++t) {
            job.types.push_back({.max_atomic_batch = 256, .reference_rate = random.between(100, 1000)});
            TypeModel& type = model.types.emplace_back();
            type.most_replicas = 2;
            type.throughput = PolluxThroughput{random.between(0.01, 0.3), random.between(0.0001, 0.01),
                                               random.between(0, 0.3),    random.between(0, 0.01),
                                               random.between(0, 0.1),    random.between(0, 0.01),
                                               random.between(1, 5)};
        }
        snapshot.jobs.push_back(job);
        snapshot.models.push_back(model);
    }
    return snapshot;
}

template <class S>
void expect_none_after_warming_up(int nodes, int jobs, bool some_wait) {
    Snapshot snapshot = busy_cluster(nodes, jobs);
    S scheduler;
    CHECK(allocations_during([&] { scheduler.plan(snapshot); }) > 0);
    std::size_t waiting = 0, settled = 0;
    for (int round = 0; round < 16; ++round) {
        CAPTURE(round);
        const std::size_t count = allocations_during([&] { scheduler.plan(snapshot); });
        std::size_t starts = 0;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Decision& decision = scheduler.last_plan().decisions[j];
            snapshot.jobs[j].placement = decision.placement;
            starts += decision.starts ? 1 : 0;
            waiting += decision.verdict.reason.empty() ? 0 : 1;
        }
        if (round >= 3 && starts == 0) {
            CHECK(count == 0);
            ++settled;
        }
        snapshot.time_seconds += 60;
    }
    CHECK(settled >= 4);
    CHECK((waiting > 0) == some_wait);
}

}  // namespace

TEST_CASE("a plan for jobs that go on as they are takes no allocation, though others wait and are told why") {
    expect_none_after_warming_up<Scheduler<>>(12, 120, true);
    expect_none_after_warming_up<Scheduler<>>(384, 900, false);
    expect_none_after_warming_up<Scheduler<GoodputPolicy, TopologyPlacer>>(96, 900, true);
}
