// Cores and memory on different nodes of one pool, amounts of 0, and pinned jobs that need more than their
// share.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "hosts/host_use.hpp"
#include "hosts/unlike_hosts.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace unlike_hosts_test {

Job job_of(const std::string& name, int least, int most, HostNeeds needs) {
    Job job{.name = name, .restart_cost_seconds = 30, .min_gpus = least, .max_gpus = most};
    job.adaptivity = Adaptivity::gpus;
    job.initial_batch = job.target_batch = 64;
    job.max_batch = 4096;
    job.types = {{.max_atomic_batch = 64, .reference_rate = 100}};
    job.host = std::move(needs);
    return job;
}

Node node_of(const std::string& name, int gpus, double cores, double memory = 0) {
    return {name, 0, gpus, false, cores, memory};
}

template <class P = GoodputPolicy>
Plan plan_of(const Snapshot& snapshot, P policy = {}) {
    auto scheduler = with_hosts(Scheduler<P>(policy));
    return scheduler.plan(snapshot);
}

double cores_of(const Decision& decision) {
    return decision.option.configuration.gpus() * decision.option.configuration.host().cores_per_gpu;
}

}  // namespace unlike_hosts_test

using namespace unlike_hosts_test;

TEST_CASE("an amount of 0 gives the speed that the table has for 0, and is not enough") {
    const HostNeeds needs{{4, 0}, {4, 32}, {{4, 0, 0.25}, {4, 32, 1}}};
    HostShare none{4, 0};
    CHECK(needs.factor(none) == 1);  // memory is not counted
    none.set_memory(0);
    CHECK(needs.factor(none) == 0.25);
    CHECK(none != HostShare{4, 0});
    CHECK_FALSE(none.empty());
    HostShare cores;
    CHECK(cores.empty());
    cores.set_cores(0);
    CHECK_FALSE(cores.empty());
    // Below the least measured amount, speed is proportional to the amount.
    CHECK(HostNeeds{{}, {4, 0}, {{2, 0, 0.5}, {4, 0, 1}}}.factor(cores) == 0);
    CHECK(at_factor_one({{1, 1}, {1, 0}, 2, 1, none}, needs).step_seconds == 0.5);
    CHECK(describe({{"A100"}, {}}, Configuration(PoolShare{0, 2, {1, 2}}, none)) ==
          "2 A100 on 1 node with 4 cores and 0 GiB a GPU");
}

TEST_CASE("a job whose least is 0 gets the memory that makes it faster") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {node_of("n0", 2, 8, 64)}};
    snapshot.jobs = {job_of("a", 2, 2, {{4, 0}, {4, 32}, {{4, 0, 0.25}, {4, 32, 1}}})};
    CHECK(plan_of(snapshot).decisions[0].option.configuration.host() == HostShare{4, 32});
    // No memory may be given: the job is as slow as the table says.
    snapshot.jobs[0].host->most.set_memory(0);
    const double full = plan_of(Snapshot{0, snapshot.cluster, {job_of("a", 2, 2, {{4, 0}, {4, 0}, {}})}})
                            .decisions[0]
                            .option.goodput;
    const Option option = plan_of(snapshot).decisions[0].option;
    CHECK(option.configuration.host().counts_memory());
    CHECK(option.goodput == doctest::Approx(full / 4));
    // The same with cores.
    snapshot.jobs[0].host = HostNeeds{{0, 8}, {4, 8}, {{0, 8, 0.25}, {4, 8, 1}}};
    CHECK(plan_of(snapshot).decisions[0].option.configuration.host() == HostShare{4, 8});
    // A job does not get what it does not count.
    snapshot.jobs[0].host = HostNeeds{{1, 0}, {4, 0}, {{1, 0, 0.25}, {4, 0, 1}}};
    CHECK(plan_of(snapshot).decisions[0].option.configuration.host() == HostShare{4, 0});
}

TEST_CASE("of two unlike nodes each gives what it has, and a job runs where there is enough for it") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {node_of("lean", 8, 32), node_of("rich", 8, 64)}};
    for (const bool swapped : {false, true}) {
        if (swapped) std::swap(snapshot.cluster.nodes[0], snapshot.cluster.nodes[1]);
        snapshot.jobs = {job_of("d", 8, 8, {{8, 0}, {8, 0}, {}})};
        const Plan plan = plan_of(snapshot);
        REQUIRE(plan.decisions[0].placement.size() == 1);
        CHECK(snapshot.cluster.nodes[plan.decisions[0].placement[0].node].name == "rich");
        CHECK(plan.status == AllotStatus::optimal);
        // Two such jobs: one waits, but is not impossible.
        snapshot.jobs.push_back(job_of("e", 8, 8, {{8, 0}, {8, 0}, {}}));
        const Plan both = plan_of(snapshot);
        CHECK(both.decisions[0].placement.size() + both.decisions[1].placement.size() == 1);
        for (const Decision& decision : both.decisions)
            CHECK(decision.verdict.outcome != Outcome::impossible);
        CHECK(both.objective == doctest::Approx(both.bound));
    }
    // The lean node's share is 4 cores per GPU, the rich one's 16: both are used in full.
    snapshot.cluster = {{"A100"}, {node_of("lean", 2, 8), node_of("rich", 2, 32)}};
    const HostNeeds hungry{{1, 0}, {16, 0}, {{1, 0, 0.25}, {4, 0, 1}, {16, 0, 4}}};
    snapshot.jobs = {job_of("a", 2, 2, hungry), job_of("b", 2, 2, hungry)};
    const Plan plan = plan_of(snapshot);
    CHECK(cores_of(plan.decisions[0]) + cores_of(plan.decisions[1]) == doctest::Approx(40));
}

TEST_CASE("one lean node of ten halves no job") {
    Snapshot snapshot;
    snapshot.cluster.gpu_types = {"A100"};
    for (int odd = 0; odd < 10; odd += 3) {
        CAPTURE(odd);
        snapshot.cluster.nodes.clear();
        for (int n = 0; n < 10; ++n)
            snapshot.cluster.nodes.push_back(node_of("n" + std::to_string(n), 8, n == odd ? 32 : 64));
        snapshot.jobs.clear();
        for (int j = 0; j < 10; ++j) {
            const int gpus = j == 4 ? 4 : 8;
            snapshot.jobs.push_back(job_of("d" + std::to_string(j), gpus, gpus, {{8, 0}, {8, 0}, {}}));
        }
        const Plan plan = plan_of(snapshot);
        int gpus = 0;
        for (const Decision& decision : plan.decisions) gpus += decision.option.configuration.gpus();
        CHECK(gpus == 9 * 8 + 4);
    }
}

TEST_CASE("a job over all nodes may have unlike ones, with as much as each of them has") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {node_of("a", 8, 32), node_of("b", 8, 64), node_of("c", 8, 64)}};
    snapshot.jobs = {job_of("wide", 24, 24, {{2, 0}, {8, 0}, {{2, 0, 0.5}, {4, 0, 1}, {8, 0, 2}}})};
    Plan plan = plan_of(snapshot);
    CHECK(plan.decisions[0].placement.size() == 3);
    CHECK(plan.decisions[0].option.configuration.host().cores_per_gpu == 4);
    // On two nodes it gets the rich ones, wherever it was placed first.
    snapshot.jobs[0].min_gpus = snapshot.jobs[0].max_gpus = 16;
    plan = plan_of(snapshot);
    CHECK(plan.decisions[0].option.configuration.host().cores_per_gpu == 8);
    snapshot.jobs[0].host = HostNeeds{{8, 0}, {8, 0}, {}};
    CHECK(plan_of(snapshot).decisions[0].placement == Placement{{1, 8}, {2, 8}});
}

TEST_CASE("a job that keeps more than its share has it, and no other is promised the same cores") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {node_of("n0", 4, 32), node_of("n1", 4, 32)}};
    for (std::size_t n = 0; n < 2; ++n) {
        snapshot.jobs.push_back(job_of("p" + std::to_string(n), 1, 1, {{20, 0}, {20, 0}, {}}));
        snapshot.jobs.back().preemptible = false;
        snapshot.jobs.back().placement = {{n, 1}};
    }
    snapshot.jobs.push_back(job_of("d", 1, 1, {{24, 0}, {24, 0}, {}}));
    Plan plan = plan_of(snapshot);
    CHECK(cores_of(plan.decisions[0]) == 20);
    CHECK(cores_of(plan.decisions[1]) == 20);
    CHECK(plan.decisions[2].verdict.outcome == Outcome::waits);
    CHECK(plan.objective == doctest::Approx(plan.bound));
    CHECK(plan.status == AllotStatus::optimal);
    // It takes what is left on a node, less than its share.
    snapshot.jobs[2] = job_of("d", 2, 2, {{2, 0}, {8, 0}, {{2, 0, 0.25}, {4, 0, 0.5}, {8, 0, 1}}});
    plan = plan_of(snapshot);
    CHECK(cores_of(plan.decisions[2]) >= 8);
    CHECK(cores_of(plan.decisions[2]) <= 12);
    // Two jobs that together need more than the node has get their shares.
    snapshot.jobs[1].placement = {{0, 1}};
    plan = plan_of(snapshot);
    CHECK(cores_of(plan.decisions[0]) + cores_of(plan.decisions[1]) <= 32);
    CHECK(cores_of(plan.decisions[0]) >= 8);
    CHECK_FALSE(plan.decisions[2].placement.empty());
}

TEST_CASE("on unlike nodes no node promises more than it has, and no job waits or starves next to enough") {
    support::Random random(11);
    support::UnlikeHostCounts counts;
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        const Snapshot snapshot = support::unlike_hosts(random);
        support::check_unlike_hosts(snapshot, plan_of(snapshot), counts);
        support::check_unlike_hosts(snapshot, plan_of(snapshot, Fifo{.backfill = true}), counts);
        support::check_unlike_hosts(snapshot, plan_of(snapshot, Sia()), counts);
    }
    CHECK(counts.hosted > 500);
    CHECK(counts.keep_more_than_a_share > 50);
    CHECK(counts.wait > 50);
}
