// A plan respects the machines, the jobs' limits and what is running, and says why a job waits.

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Clusters of several GPU types and node sizes; jobs of all kinds, some running on nodes that exist.
class RandomRound {
public:
    explicit RandomRound(Random& random) {
        snapshot.time_seconds = 5000;
        const int types = random.integer(1, 3);
        for (int t = 0; t < types; ++t) {
            snapshot.cluster.gpu_types.push_back("type-" + std::to_string(t));
            const int nodes = random.integer(1, 6),
                      size = std::vector<int>{1, 2, 4, 8, 6}[static_cast<std::size_t>(random.integer(0, 4))];
            for (int n = 0; n < nodes; ++n)
                snapshot.cluster.nodes.push_back({"node-" + std::to_string(t) + "-" + std::to_string(n),
                                                  static_cast<std::size_t>(t),
                                                  random.chance(0.1) ? 2 * size : size});
        }
        const int jobs = random.integer(0, 25);
        for (int j = 0; j < jobs; ++j) {
            snapshot.jobs.push_back(random_job(random, j));
            snapshot.models.push_back(random_model(random, snapshot.jobs.back()));
        }
    }
    Snapshot snapshot;

private:
    Job random_job(Random& random, int index) {
        Job job{.name = "job-" + std::to_string(index), .submitted_seconds = random.between(0, 5000)};
        job.restarts = random.integer(0, 3);
        job.restart_cost_seconds = random.between(0, 100);
        job.adaptivity = static_cast<Adaptivity>(random.integer(0, 2));
        job.min_gpus = random.integer(1, 2);
        job.max_gpus = job.min_gpus + random.integer(0, 20);
        job.initial_batch = 1 << random.integer(4, 8);
        job.max_batch = job.initial_batch << random.integer(0, 5);
        job.target_batch = job.initial_batch << random.integer(0, 3);
        for (std::size_t t = 0; t < snapshot.cluster.gpu_types.size(); ++t) {
            TypeLimits limits{.min_atomic_batch = random.integer(1, 4)};
            limits.max_atomic_batch =
                random.chance(0.1) ? 0 : limits.min_atomic_batch + random.integer(0, 200);
            if (random.chance(0.15)) limits.gpus_per_replica = 1 << random.integer(1, 2);
            job.types.push_back(limits);
        }
        if (random.chance(0.8))
            job.gradient = GradientStatistics{random.between(0.1, 2), random.between(0.1, 20)};
        if (random.chance(0.5)) job.remaining_examples = random.between(1e3, 1e7);
        if (random.chance(0.5)) hold_something(random, job);
        if (!job.placement.empty()) {
            job.preemptible = random.chance(0.8);
            job.restarting = random.chance(0.1);
        }
        return job;
    }

    void hold_something(Random& random, Job& job) {
        used_.resize(snapshot.cluster.nodes.size());
        const auto node = static_cast<std::size_t>(random.integer(0, static_cast<int>(used_.size()) - 1));
        const Node& on = snapshot.cluster.nodes[node];
        const int gpus = std::min(1 << random.integer(0, 3), on.gpus);
        if (used_[node] + gpus > on.gpus || gpus % job.types[on.gpu_type].gpus_per_replica != 0) return;
        used_[node] += gpus;
        job.placement = {{node, gpus}};
    }

    JobModel random_model(Random& random, const Job& job) const {
        JobModel model;
        if (random.chance(0.2)) return model;
        model.types.resize(job.types.size());
        for (TypeModel& type : model.types) {
            if (random.chance(0.3)) continue;
            type.most_replicas = 1 << random.integer(0, 3);
            type.throughput = PolluxThroughput{random.between(0.01, 0.3), random.between(0.0001, 0.01),
                                               random.between(0, 0.3),    random.between(0, 0.01),
                                               random.between(0, 0.1),    random.between(0, 0.01),
                                               random.between(1, 5)};
        }
        return model;
    }

    std::vector<int> used_;
};

void check_plan(const Snapshot& snapshot, const Plan& plan) {
    REQUIRE(plan.decisions.size() == snapshot.jobs.size());
    std::vector<int> used(snapshot.cluster.nodes.size());
    std::vector<int> jobs_on(snapshot.cluster.nodes.size());
    double objective = 0;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        const Decision& decision = plan.decisions[j];
        CAPTURE(job.name);
        if (decision.placement.empty()) {
            CHECK(decision.option.allotment.empty());
            CHECK(decision.verdict.outcome != Outcome::runs);
            CHECK(!decision.verdict.reason.empty());
            continue;
        }
        objective += decision.value;
        const Allotment& allotment = decision.option.allotment;
        CHECK(decision.verdict.outcome == Outcome::runs);
        CHECK(allotment_of(decision.placement, snapshot.cluster) == allotment);
        CHECK(decision.restarts == (decision.placement != job.placement));
        for (const NodeShare& share : decision.placement) {
            used[share.node] +=
                allotment.shape.nodes > 1 ? snapshot.cluster.nodes[share.node].gpus : share.gpus;
            ++jobs_on[share.node];
        }
        if (!job.preemptible || job.restarting) {
            CHECK(decision.placement == job.placement);
            continue;
        }
        const TypeLimits& limits = job.types[allotment.gpu_type];
        CHECK(allotment.shape.gpus >= job.min_gpus);
        CHECK(allotment.shape.gpus <= job.max_gpus);
        CHECK(allotment.shape.gpus % limits.gpus_per_replica == 0);
        if (job.adaptivity == Adaptivity::none) CHECK(allotment.shape.gpus == job.max_gpus);
        const int replicas = allotment.shape.gpus / limits.gpus_per_replica;
        const BatchPlan& batch = decision.option.plan;
        CHECK(batch.atomic_batch >= limits.min_atomic_batch);
        CHECK(batch.atomic_batch <= limits.max_atomic_batch);
        CHECK(batch.accumulation_steps >= 0);
        if (job.adaptivity == Adaptivity::batch && job.gradient && limits.gpus_per_replica == 1) {
            if (decision.option.knowledge != Knowledge::unknown)
                CHECK(batch.total(replicas) >= job.initial_batch);
            if (decision.option.knowledge != Knowledge::unknown)
                CHECK(batch.total(replicas) <= job.max_batch);
        }
        // Rounding the share of a replica up adds less than one example a microbatch and replica.
        if (job.adaptivity != Adaptivity::batch) {
            CHECK(batch.total(replicas) >= job.target_batch);
            CHECK(batch.total(replicas) < job.target_batch + replicas * (batch.accumulation_steps + 1));
        }
    }
    for (std::size_t node = 0; node < used.size(); ++node)
        CHECK(used[node] <= snapshot.cluster.nodes[node].gpus);
    CHECK(plan.objective == doctest::Approx(objective));
    CHECK(plan.bound >= plan.objective - 1e-9);
    for (const PoolPrice& price : plan.prices) CHECK(price.price >= 0);
}

/// Gives every job what the plan says.
void apply(const Plan& plan, Snapshot& snapshot) {
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
        snapshot.jobs[j].placement = plan.decisions[j].placement;
}

}  // namespace

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
            if (again.decisions[j].option.allotment ==
                allotment_of(instance.snapshot.jobs[j].placement, instance.snapshot.cluster))
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
            sizes[option.allotment.gpus_per_node].push_back(option.allotment.shape.gpus);
        return sizes;
    };
    CHECK(shapes()[8] == std::vector<int>{1, 2, 4, 8, 16, 24});
    CHECK(shapes()[6] == std::vector<int>{1, 3, 6, 12});
    job.types[0].gpus_per_replica = 4;
    job.types[1].max_nodes = 1;
    CHECK(shapes()[8] == std::vector<int>{4, 8, 16, 24});
    CHECK(shapes()[6] == std::vector<int>{1, 3, 6});
    job.min_gpus = 6;
    job.max_gpus = 16;
    CHECK(shapes()[8] == std::vector<int>{8, 16});
    CHECK(shapes()[6] == std::vector<int>{6});
    job.adaptivity = Adaptivity::none;
    job.max_gpus = 12;
    job.types[1].max_nodes = 2;
    CHECK(shapes()[8] == std::vector<int>{12});
    CHECK(shapes()[6] == std::vector<int>{12});
}

TEST_CASE("waits, impossible and bad input are three things") {
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

    snapshot.jobs[0] = job;
    snapshot.jobs[0].types[0].min_atomic_batch = 65;
    CHECK_THROWS_WITH(plan(snapshot),
                      "job 'first' on T4: batch.local (most) is 64, but must be between 65 and 1073741824");
    snapshot.jobs[0] = job;
    snapshot.jobs[0].name = "second";
    CHECK_THROWS_WITH(plan(snapshot), "job 'second': name is given twice, but must be a name of its own");
    snapshot.jobs[0] = job;
    snapshot.jobs[0].restart_cost_seconds = -3;
    CHECK_THROWS_WITH(plan(snapshot),
                      "job 'first': restart_cost_s is -3, but must be a finite number of at least 0");
}

TEST_CASE("a policy that returns NaN is named with job and option") {
    struct Broken {
        double value(const Round&, const Job&, const Option&) const { return std::nan(""); }
    };
    Snapshot snapshot;
    snapshot.cluster = {{"T4"}, {{"a", 0, 2}}};
    snapshot.jobs = {
        {.name = "only", .initial_batch = 1, .max_batch = 1, .types = {{.max_atomic_batch = 1}}}};
    CHECK_THROWS_WITH(plan(snapshot, Broken{}),
                      "job 'only': value of 1 T4 on 1 node is nan, but must be finite");
}
