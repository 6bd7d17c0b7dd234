// Properties of any plan that divides cores and memory as well as GPUs: it respects nodes, shares and sums,
// even if nodes differ, amounts are 0, and jobs keep more than their share. The unit of cores and memory
// makes no difference.

#include <cmath>
#include <cstddef>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "hosts/hosted_round.hpp"
#include "hosts/unlike_hosts.hpp"

#include "properties.hpp"
#include "random_plans.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;

namespace {

auto hosted_scheduler(const properties::AnyPolicy& policy) {
    return with_hosts(Scheduler<properties::AnyPolicy>(policy, {.most_states = 20'000}));
}

/// Returns the round with cores and memory in other units: powers of two, so the change is exact.
Snapshot in_other_units(Snapshot snapshot) {
    constexpr double cores = 8, memory = 0.25;
    for (Node& node : snapshot.cluster.nodes) {
        node.cores *= cores;
        node.memory_gib *= memory;
    }
    for (Job& job : snapshot.jobs) {
        if (!job.host) continue;
        for (HostShare* share : {&job.host->least, &job.host->most}) {
            share->cores_per_gpu *= cores;
            share->memory_gib_per_gpu *= memory;
        }
        for (HostSpeed& speed : job.host->speed) {
            speed.cores_per_gpu *= cores;
            speed.memory_gib_per_gpu *= memory;
        }
    }
    return snapshot;
}

}  // namespace

TEST_CASE("hosts: no node is over-committed, no job is below its share, and the plan is worth its sum") {
    for_all(20, [](Case& one) {
        auto scheduler = hosted_scheduler(properties::random_policy(one.random));
        Snapshot snapshot = support::hosted_round(one.random, one.random.chance(0.3));
        for (int round = 0; round < 3; ++round) {
            const Plan& plan = scheduler.plan(snapshot);
            support::check_plan(snapshot, plan);
            support::check_hosts(snapshot, plan);
            double worth = 0, size = 1;
            for (const Decision& decision : plan.decisions) {
                worth += decision.value;
                size += std::abs(decision.value);
                if (decision.option.configuration.host().cores_per_gpu > 4) one.count("more than a share");
            }
            REQUIRE(std::abs(plan.objective - worth) <= 1e-9 * size);
            REQUIRE(plan.objective <= plan.bound + 1e-9 * (size + std::abs(plan.bound)));
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
                snapshot.jobs[j].placement = plan.decisions[j].placement;
        }
    });
}

TEST_CASE("hosts: different nodes each give what they have, to present jobs and to jobs that could come") {
    for_all(20, [](Case& one) {
        auto scheduler =
            hosted_scheduler(properties::random_policy(one.random, properties::AnyPolicy::rules));
        Snapshot snapshot = support::unlike_hosts(one.random);
        support::UnlikeHostCounts counts;
        for (int round = 0; round < 3; ++round) {
            const Plan& plan = scheduler.plan(snapshot);
            support::check_unlike_hosts(snapshot, plan, counts);
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
                snapshot.jobs[j].placement = plan.decisions[j].placement;
            // A node may suddenly have less, even less than the jobs that keep what they hold need.
            for (Node& node : snapshot.cluster.nodes)
                if (one.random.chance(0.1)) node.cores /= 2;
        }
        if (counts.keep_more_than_a_share > 0) one.count("keeps more than a share");
        if (counts.wait > 0) one.count("waits");
    });
}

TEST_CASE("hosts: the units of cores and memory make no difference") {
    for_all(40, [](Case& one) {
        const properties::AnyPolicy policy = properties::random_policy(one.random);
        const Snapshot snapshot = support::hosted_round(one.random, false);
        const Plan plan = hosted_scheduler(policy).plan(snapshot);
        const Plan other = hosted_scheduler(policy).plan(in_other_units(snapshot));
        if (plan.status != AllotStatus::optimal || other.status != AllotStatus::optimal)
            throw properties::NoVerdict{"not proven"};
        REQUIRE(std::abs(plan.bound - other.bound) <= 1e-3 * (1 + std::abs(plan.bound)));
        for (const Plan* each : {&plan, &other})
            REQUIRE(each->objective <= std::min(plan.bound, other.bound) + 1e-9 * (1 + std::abs(plan.bound)));
    });
}
