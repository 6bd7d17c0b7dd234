// A plan respects the machines, the jobs' limits and what runs, and says why a job waits.

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/place/topology_placer.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::apply;
using support::check_plan;
using support::Random;
using support::RandomRound;

TEST_CASE("machines, limits, batch plans, pinned jobs: a plan breaks none, under any policy") {
    Random random(1);
    Scheduler<Sia> sia;
    Scheduler<Fifo> fifo;
    Scheduler<ShortestRemainingTime> shortest;
    for (int round = 0; round < 1500; ++round) {
        CAPTURE(round);
        const RandomRound instance(random);
        check_plan(instance.snapshot, sia.plan(instance.snapshot));
        check_plan(instance.snapshot, fifo.plan(instance.snapshot));
        check_plan(instance.snapshot, shortest.plan(instance.snapshot));
    }
}

TEST_CASE("an action leads from what a job holds to what it gets, whatever the two are") {
    Random random(11);
    std::map<Action, int> seen;
    for (int trial = 0; trial < 2000; ++trial) {
        const Cluster cluster = RandomRound(random).snapshot.cluster;
        const auto anything = [&] {
            Placement placement;
            const auto first =
                static_cast<std::size_t>(random.integer(0, static_cast<int>(cluster.nodes.size()) - 1));
            for (std::size_t n = first; n < cluster.nodes.size() && random.chance(0.6); ++n)
                placement.push_back({n, random.integer(1, cluster.nodes[n].gpus)});
            return placement;
        };
        Job job;
        Decision decision;
        job.placement = anything();
        decision.placement = random.chance(0.2) ? job.placement : anything();
        Snapshot snapshot{.cluster = cluster, .jobs = {job}};
        Plan plan{.decisions = {decision}};
        find_actions(snapshot, plan);
        support::check_action(job, plan.decisions[0], cluster);
        ++seen[plan.decisions[0].action];
    }
    for (const Action action :
         {Action::wait, Action::start, Action::stay, Action::move, Action::restart, Action::stop})
        CHECK(seen[action] > 20);
}

TEST_CASE(
    "no job is moved between nodes for nothing: planning once more changes no placement of a job that keeps "
    "its shape") {
    Random random(2);
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        RandomRound instance(random);
        Scheduler<Fifo> scheduler({.backfill = true});
        apply(scheduler.plan(instance.snapshot), instance.snapshot);
        const Plan again = scheduler.plan(instance.snapshot);
        CHECK(again.move_cost_seconds == 0);
        for (std::size_t j = 0; j < instance.snapshot.jobs.size(); ++j)
            if (again.decisions[j].option.configuration ==
                configuration_of(instance.snapshot.jobs[j].placement, instance.snapshot.cluster))
                CHECK(again.decisions[j].placement == instance.snapshot.jobs[j].placement);
    }
}

TEST_CASE(
    "the order of the jobs does not change what the plan is worth; the same snapshot gets the same plan") {
    Random random(3);
    std::mt19937_64 engine(3);
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        RandomRound instance(random);
        const Plan first = plan(instance.snapshot, Sia{}, {.gap = 0});
        const Plan second = plan(instance.snapshot, Sia{}, {.gap = 0});
        for (std::size_t j = 0; j < instance.snapshot.jobs.size(); ++j)
            CHECK(first.decisions[j].placement == second.decisions[j].placement);
        Snapshot shuffled = instance.snapshot;
        for (std::size_t i = shuffled.jobs.size(); i > 1; --i) {
            const std::size_t other = engine() % i;
            std::swap(shuffled.jobs[i - 1], shuffled.jobs[other]);
            std::swap(shuffled.models[i - 1], shuffled.models[other]);
        }
        CHECK(plan(shuffled, Sia{}, {.gap = 0}).bound == doctest::Approx(first.bound));
    }
}

TEST_CASE(
    "shapes: sizes that divide one another on one node, whole nodes beyond, whole replicas, fewest GPUs "
    "respected") {
    const std::vector<Pool> pools{{0, 8, {0, 1, 2}}, {1, 6, {3, 4}}};
    Job job{.max_gpus = 64};
    job.types = {{.max_atomic_batch = 8}, {.max_atomic_batch = 8}};
    const auto shapes = [&] {
        std::vector<Option> options;
        append_options(
            job, pools, [](std::size_t) { return 1000; }, options);
        std::map<int, std::vector<int>> sizes;
        for (const Option& option : options)
            sizes[option.configuration.first().gpus_per_node].push_back(option.configuration.gpus());
        return sizes;
    };
    CHECK(shapes()[8] == std::vector<int>{1, 2, 4, 8, 16, 24});
    CHECK(shapes()[6] == std::vector<int>{1, 2, 4, 6, 12});
    job.types[0].gpus_per_replica = 4;
    job.types[1].max_nodes = 1;
    CHECK(shapes()[8] == std::vector<int>{4, 8, 16, 24});
    CHECK(shapes()[6] == std::vector<int>{1, 2, 4, 6});
    job.min_gpus = 6;
    job.max_gpus = 16;
    CHECK(shapes()[8] == std::vector<int>{8, 16});
    CHECK(shapes()[6] == std::vector<int>{6});
    // A job that cannot have any of these is offered its fewest and its most GPUs.
    job.min_gpus = 5;
    job.max_gpus = 7;
    job.types[0].gpus_per_replica = 1;
    CHECK(shapes()[8] == std::vector<int>{5, 7});
    CHECK(shapes()[6] == std::vector<int>{6});
    job.types[0].gpus_per_replica = 3;
    CHECK(shapes()[8] == std::vector<int>{6});
    job.min_gpus = 9;
    job.max_gpus = 14;
    job.types[0].gpus_per_replica = 4;
    CHECK(shapes()[8] == std::vector<int>{12});
    CHECK(shapes()[6].empty());
    job.adaptivity = Adaptivity::none;
    job.max_gpus = 12;
    job.types[1].max_nodes = 2;
    CHECK(shapes()[8] == std::vector<int>{12});
    CHECK(shapes()[6] == std::vector<int>{12});
}

TEST_CASE("a fixed number of GPUs is offered as it is, whatever else about the job may change") {
    Random random(11);
    for (int round = 0; round < 2000; ++round) {
        const std::vector<Pool> pools{{0, random.integer(1, 9), {0, 1, 2}}, {1, random.integer(1, 9), {3}}};
        Job job{.min_gpus = random.integer(1, 20)};
        job.max_gpus = job.min_gpus;
        job.types = {{.max_atomic_batch = 8, .gpus_per_replica = random.integer(1, 3), .max_nodes = 2},
                     {.max_atomic_batch = 8}};
        const auto offered = [&](Adaptivity adaptivity) {
            job.adaptivity = adaptivity;
            std::vector<Option> options;
            append_options(
                job, pools, [](std::size_t) { return 1000; }, options);
            std::vector<Configuration> allotments;
            for (const Option& option : options) {
                allotments.push_back(option.configuration);
                CHECK(option.configuration.gpus() == job.max_gpus);
            }
            return allotments;
        };
        const std::vector<Configuration> rigid = offered(Adaptivity::none);
        CHECK(offered(Adaptivity::gpus) == rigid);
        CHECK(offered(Adaptivity::batch) == rigid);
    }
    Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4"}, {{"a", 0, 4}}}};
    snapshot.jobs = {{.name = "three", .min_gpus = 3, .max_gpus = 3, .initial_batch = 32, .max_batch = 64}};
    snapshot.jobs[0].types = {{.max_atomic_batch = 64}};
    CHECK(plan(snapshot).decisions[0].placement == Placement{{0, 3}});
}

TEST_CASE("a job that is offered nothing learns what exists, and the true reason") {
    Snapshot snapshot{.time_seconds = 100};
    snapshot.cluster = {{"T4", "A100"}, {{"a", 0, 4}, {"b", 0, 4}, {"c", 1, 6}}};
    Job job{.name = "job", .min_gpus = 9, .max_gpus = 11, .initial_batch = 32, .max_batch = 640};
    job.target_batch = 64;
    job.types = {{.max_atomic_batch = 64}, {}};
    Scheduler<Sia> scheduler;
    const auto reason = [&] {
        snapshot.jobs = {job};
        const Decision decision = scheduler.plan(snapshot).decisions[0];
        CHECK(decision.verdict.outcome == Outcome::impossible);
        const std::string explained = explain_plan(scheduler, snapshot)[0].report(snapshot.cluster);
        CHECK(explained == "impossible: " + decision.verdict.reason);
        return decision.verdict.reason;
    };
    CHECK(reason() == "offered are 1, 2, 4, 8 GPUs on T4: none is within 9 to 11");
    job.types[0].max_nodes = 1;
    CHECK(reason() == "offered are 1, 2, 4 GPUs on T4 (on at most 1 node): none is within 9 to 11");
    job.types[0] = {.max_atomic_batch = 64, .gpus_per_replica = 4};
    job.types[1] = {.max_atomic_batch = 64, .gpus_per_replica = 4};
    CHECK(reason() ==
          "offered are 4, 8 GPUs on T4 (in replicas of 4); 4 GPUs on A100 (in replicas of 4): none is within "
          "9 to 11");
    job.types = {{.max_atomic_batch = 64}, {.max_atomic_batch = 64}};
    job.adaptivity = Adaptivity::none;
    job.min_gpus = 1;
    job.max_gpus = 12;
    CHECK(reason() ==
          "it takes 12 GPUs, no more and no fewer; there are at most 8 GPUs on T4; at most 6 GPUs on A100");
    job.types = {{}, {}};
    CHECK(reason() == "it has no batch size on any GPU type: it can run nowhere");
    job.types = {{.max_atomic_batch = 64}, {}};
    snapshot.cluster.nodes[0].drained = snapshot.cluster.nodes[1].drained = true;
    CHECK(reason() == "no open node has GPUs of a type that it can use");

    // Of many sizes, the reason lists those near the job's limits.
    snapshot.cluster = {{"T4", "A100"}, {}};
    for (int n = 0; n < 40; ++n) snapshot.cluster.nodes.push_back({"n" + std::to_string(n), 0, 8});
    job.adaptivity = Adaptivity::gpus;
    job.min_gpus = 65;
    job.max_gpus = 71;
    job.types[0].gpus_per_replica = 8;
    CHECK(
        reason() ==
        "offered are ..., 40, 48, 56, 64, 72, 80, 88, 96, ... GPUs on T4 (in replicas of 8): none is within "
        "65 to 71");
}

TEST_CASE("a model of more GPU types than the cluster has is refused, one of fewer is not") {
    Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4", "A100"}, {{"a", 0, 2}, {"b", 1, 2}}}};
    snapshot.jobs = {{.name = "job", .initial_batch = 32, .max_batch = 64}};
    snapshot.jobs[0].types = {{.max_atomic_batch = 64}, {.max_atomic_batch = 64}};
    snapshot.models.resize(1);
    for (const std::size_t types : {0U, 1U, 2U}) {
        snapshot.models[0].types.resize(types);
        CHECK(plan(snapshot).decisions[0].verdict.outcome == Outcome::runs);
    }
    snapshot.models[0].types.resize(3);
    CHECK_THROWS_WITH((void)plan(snapshot),
                      "job 'job': GPU types in its model is 3, but must be at most the cluster's 2");
}

TEST_CASE("waiting, impossible and bad input are three different outcomes") {
    Snapshot snapshot{.time_seconds = 100};
    snapshot.cluster = {{"T4"}, {{"a", 0, 2}}};
    Job job{.name = "first", .max_gpus = 2, .initial_batch = 32, .max_batch = 64};
    job.types = {{.max_atomic_batch = 64}};
    snapshot.jobs = {job, job, job};
    snapshot.jobs[1].name = "second";
    snapshot.jobs[2].name = "third";
    Plan result = plan(snapshot);
    int waiting = 0;
    for (const Decision& decision : result.decisions)
        waiting += decision.verdict.outcome == Outcome::waits ? 1 : 0;
    CHECK(waiting == 1);

    snapshot.jobs[0].min_gpus = snapshot.jobs[0].max_gpus = 5;
    result = plan(snapshot);
    CHECK(result.decisions[0].verdict.outcome == Outcome::impossible);
    CHECK(result.decisions[0].verdict.reason.find("5") != std::string::npos);

    snapshot.strict = true;
    snapshot.jobs[0] = job;
    snapshot.jobs[0].types[0].min_atomic_batch = 65;
    CHECK_THROWS_WITH((void)plan(snapshot),
                      "job 'first' on T4: max_atomic_batch is 64, but must be between 65 and 1073741824");
    snapshot.jobs[0] = job;
    snapshot.jobs[0].name = "second";
    CHECK_THROWS_WITH((void)plan(snapshot),
                      "job 'second': name is given twice, but must be a name of its own");
    snapshot.jobs[0] = job;
    snapshot.jobs[0].restart_cost_seconds = -3;
    CHECK_THROWS_WITH((void)plan(snapshot),
                      "job 'first': restart_cost_seconds is -3, but must be a finite number of at least 0");
}

TEST_CASE("a scheduler with a topology gives the same allotment on closer nodes") {
    Random random(7);
    double far = 0, close = 0;
    Scheduler<Sia> plain;
    Scheduler<Sia, TopologyPlacer> near;
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        const RandomRound instance(random);
        const Snapshot& snapshot = instance.snapshot;
        Topology topology;
        for (const int domains : {4, 2}) {
            TopologyLevel level{domains == 4 ? "rack" : "zone", domains == 4 ? 1.0 : 10.0, {}};
            for (std::size_t n = 0; n < snapshot.cluster.nodes.size(); ++n)
                level.domain_of.push_back(n % static_cast<std::size_t>(domains));
            topology.levels.push_back(level);
        }
        near.placer().set_topology(topology);
        const Plan expected = plain.plan(snapshot), closer = near.plan(snapshot);
        check_plan(snapshot, closer);
        CHECK(closer.objective == expected.objective);
        CHECK(closer.move_cost_seconds == expected.move_cost_seconds);
        double before = 0, after = 0;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            CHECK(closer.decisions[j].option.configuration == expected.decisions[j].option.configuration);
            before += spread_cost(topology, expected.decisions[j].placement);
            after += spread_cost(topology, closer.decisions[j].placement);
        }
        CHECK(after <= before);
        far += before;
        close += after;
    }
    CHECK(close < 0.95 * far);
}

TEST_CASE("stops first, then starts: no GPU is given while another job still holds it") {
    Random random(12);
    Scheduler<Sia> scheduler;
    int would_collide = 0;  // rounds in which a single pass in the order of the jobs would collide
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        const RandomRound instance(random);
        const Snapshot& snapshot = instance.snapshot;
        const Plan& plan = scheduler.plan(snapshot);
        std::vector<int> free, in_one_pass;
        for (const Node& node : snapshot.cluster.nodes) free.push_back(node.gpus);
        const auto add = [](std::vector<int>& gpus, const Placement& placement, int sign) {
            bool all_there = true;
            for (const NodeShare& share : placement)
                all_there = (gpus[share.node] += sign * share.gpus) >= 0 && all_there;
            return all_there;
        };
        for (const Job& job : snapshot.jobs) add(free, job.placement, -1);
        in_one_pass = free;
        bool collides = false;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            REQUIRE(decision.starts == (decision.action == Action::start || decision.action == Action::move ||
                                        decision.action == Action::restart));
            if (decision.stops()) add(in_one_pass, snapshot.jobs[j].placement, +1);
            if (decision.starts) collides = !add(in_one_pass, decision.placement, -1) || collides;
        }
        would_collide += collides;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (plan.decisions[j].stops()) add(free, snapshot.jobs[j].placement, +1);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (plan.decisions[j].starts) REQUIRE(add(free, plan.decisions[j].placement, -1));
    }
    CHECK(would_collide > 20);
}

TEST_CASE("a plan of a scheduler that is gone afterwards is the caller's") {
    Random random(13);
    const RandomRound instance(random);
    static_assert(std::is_same_v<decltype(Scheduler<Sia>().plan(instance.snapshot)), Plan>);
    static_assert(
        std::is_same_v<decltype(std::declval<Scheduler<Sia>&>().plan(instance.snapshot)), const Plan&>);
    const Plan& plan = Scheduler<Sia>().plan(instance.snapshot);
    Scheduler<Sia> scheduler;
    CHECK(plan.report() == scheduler.plan(instance.snapshot).report());
    check_plan(instance.snapshot, plan);
}

TEST_CASE("a policy that returns NaN is named with job and option") {
    struct Broken {
        double value(const Round&, const Job&, const Option&) const { return std::nan(""); }
    };
    Snapshot snapshot;
    snapshot.cluster = {{"T4"}, {{"a", 0, 2}}};
    snapshot.jobs = {
        {.name = "only", .initial_batch = 1, .max_batch = 1, .types = {{.max_atomic_batch = 1}}}};
    const Plan broken = plan(snapshot, Broken{});
    REQUIRE(broken.faults.size() == 1);
    CHECK(broken.faults[0].report(snapshot) == "job 'only', 1 T4 on 1 node: the value is nan");
    CHECK(broken.decisions[0].verdict.reason == "the policy failed for it");
}
