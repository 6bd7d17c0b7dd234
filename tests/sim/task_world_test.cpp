// The world of jobs with many tasks on equal GPUs, against a simulator without rounds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/sim/task_world.hpp"
#include "goodput/tasks/pilots.hpp"
#include "sim/task_slots.hpp"
#include "support/random.hpp"
#include "support/validation.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

std::vector<TaskJob> random_task_jobs(support::Random& random, int most_tasks) {
    std::vector<TaskJob> jobs;
    double time = 0;
    for (int j = random.integer(1, 8); j > 0; --j) {
        TaskJob job{.name = "job-" + std::to_string(jobs.size()), .kind = "kind", .submitted_seconds = time};
        const double mean = std::exp(random.between(0, 5));
        for (int t = random.integer(1, most_tasks); t > 0; --t)
            job.task_seconds.push_back(mean * std::exp(random.between(-1, 1)));
        jobs.push_back(std::move(job));
        if (random.chance(0.8)) time += random.between(0, 300);
    }
    return jobs;
}

constexpr ReplayOptions rarely{.interval_seconds = 1e6};

}  // namespace

static_assert(World<TaskWorld> && ReportingWorld<TaskWorld> && UnevenWorld<TaskWorld> &&
              StartingWorld<TaskWorld> && SavingWorld<TaskWorld> && FailingWorld<TaskWorld> &&
              PredictingWorld<TaskWorld> && IsolatedTimes<TaskWorld>);

TEST_CASE("a job alone runs its tasks in order, as many at a time as there are GPUs") {
    const Cluster cluster = cluster_of_single_gpus(2);
    TaskWorld world(cluster, {{.name = "a", .submitted_seconds = 5, .task_seconds = {10, 4, 3, 8}}});
    const ReplayResult result = replay(cluster, world, Pilots{}, rarely);
    CHECK(result.jobs[0].completed_seconds == 5 + 4 + 3 + 8);  // the second GPU has all but the first task
    CHECK(result.jobs[0].gpu_seconds == doctest::Approx(25));
    CHECK(world.isolated_seconds(0, 1) == 15);
    CHECK(world.isolated_seconds(0, 2) == 25);
    CHECK(world.isolated_seconds(0, 4) == 50);
    CHECK(world.one_gpu_seconds(0) == 25);
}

TEST_CASE(
    "the world under a scheduler gives what a simulator without rounds does, for all ways to estimate") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        support::Random random(seed);
        const std::vector<TaskJob> jobs = random_task_jobs(random, 40);
        const int gpus = random.integer(1, 6);
        std::map<std::string, TaskHistory> earlier;
        if (random.chance(0.7))
            for (int i = 0; i < 5; ++i) {
                JobTasks past{{TaskSample{.tasks = 3}}, {}};
                for (int t = 0; t < 3; ++t) past.strata[0].finish(std::exp(random.between(0, 5)));
                earlier["kind"].add(past);
            }
        const Cluster cluster = cluster_of_single_gpus(gpus);
        for (const TaskEstimates estimates :
             {TaskEstimates::own, TaskEstimates::usual, TaskEstimates::combined}) {
            const Pilots policy{.estimates = estimates};
            TaskWorld world(cluster, jobs, earlier);
            const ReplayResult result = replay(cluster, world, policy, rarely);
            const std::vector<double> expected = support::complete_slots(
                jobs, gpus, [&](const support::SlotJob& job) { return policy.priority(job.tasks); }, earlier);
            for (std::size_t j = 0; j < jobs.size(); ++j) {
                REQUIRE(result.jobs[j].completed_seconds);
                CHECK(*result.jobs[j].completed_seconds == doctest::Approx(expected[j]).epsilon(1e-9));
            }
            CHECK(result.faults == 0);
        }
    }
}

TEST_CASE("no task is lost under pilots, and GPUs are never idle while a task waits") {
    for (std::uint64_t seed = 100; seed <= 120; ++seed) {
        CAPTURE(seed);
        support::Random random(seed);
        const std::vector<TaskJob> jobs = random_task_jobs(random, 30);
        const Cluster cluster = cluster_of_single_gpus(random.integer(1, 5));
        TaskWorld world(cluster, jobs);
        const auto observe = [&](double, const Snapshot& snapshot, auto make_plan) {
            const Plan& plan = make_plan();
            int held = 0, unfinished = 0;
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
                const int gpus = plan.decisions[j].option.configuration.gpus();
                const JobTasks& tasks = *snapshot.jobs[j].tasks;
                CHECK(gpus >= tasks.running());
                CHECK(gpus <= tasks.running() + tasks.waiting());
                held += gpus;
                unfinished += tasks.running() + tasks.waiting();
            }
            CHECK(held == std::min<int>(static_cast<int>(cluster.nodes.size()), unfinished));
        };
        const ReplayResult result = replay(cluster, world, Pilots{}, rarely, observe);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            // Each task ran once: GPUs were held for exactly as long as the tasks take.
            CHECK(result.jobs[j].gpu_seconds == doctest::Approx(world.one_gpu_seconds(j)).epsilon(1e-9));
            CHECK(result.jobs[j].done == 1);
        }
    }
}

TEST_CASE("other policies plan in this world too, and a task that they stop begins anew") {
    const Cluster cluster = cluster_of_single_gpus(1);
    const std::vector<TaskJob> jobs{{.name = "long", .task_seconds = {100, 100}},
                                    {.name = "short", .submitted_seconds = 30, .task_seconds = {10}}};
    TaskWorld told(cluster, jobs, {}, true);
    const ReplayResult result = replay(cluster, told, ShortestRemainingTime{}, rarely);
    CHECK(result.jobs[1].completed_seconds == 40.0);
    CHECK(result.jobs[0].completed_seconds == 240.0);  // 30 seconds are lost
    TaskWorld plain(cluster, jobs);
    const ReplayResult in_order = replay(cluster, plain, Fifo{}, rarely);
    CHECK(in_order.jobs[0].completed_seconds == 200.0);
    CHECK(in_order.jobs[1].completed_seconds == 210.0);
}

TEST_CASE("a failure of a job or its node begins the tasks anew that ran") {
    const Cluster cluster = cluster_of_single_gpus(2);
    const std::vector<TaskJob> jobs{{.name = "a", .task_seconds = {20, 20, 20}}};
    ReplayOptions options = rarely;
    options.events = {{.time_seconds = 30, .kind = EventKind::job_fails, .subject = "a"}};
    TaskWorld world(cluster, jobs);
    const ReplayResult result = replay(cluster, world, Pilots{}, options);
    REQUIRE(result.jobs[0].completed_seconds);
    CHECK(*result.jobs[0].completed_seconds == 50.0);
    CHECK(result.jobs[0].failures == 1);
}

TEST_CASE("the order of jobs in the trace and the length of the longest round do not matter") {
    for (std::uint64_t seed = 200; seed <= 210; ++seed) {
        CAPTURE(seed);
        support::Random random(seed);
        const std::vector<TaskJob> jobs = random_task_jobs(random, 20);
        const Cluster cluster = cluster_of_single_gpus(3);
        TaskWorld first(cluster, jobs), second(cluster, jobs);
        const Pilots published{.estimates = TaskEstimates::own};
        const ReplayResult a = replay(cluster, first, published, rarely);
        const ReplayResult b = replay(cluster, second, published, {.interval_seconds = 7});
        for (std::size_t j = 0; j < jobs.size(); ++j)
            CHECK(*a.jobs[j].completed_seconds ==
                  doctest::Approx(*b.jobs[j].completed_seconds).epsilon(1e-9));
    }
}

TEST_CASE("strata are reported apart, and bad input is refused with job, field and value") {
    const Cluster cluster = cluster_of_single_gpus(1);
    TaskWorld world(cluster, {{.name = "a", .task_seconds = {1, 50, 1}, .strata = {0, 1, 0}}});
    Job job = world.jobs()[0];
    JobModel model;
    world.start(0, {PoolShare{0, 1, {1, 1}}});
    const Configuration held{PoolShare{0, 1, {1, 1}}};
    const RunningJob running[]{{0, &held, 0}};
    CHECK(world.round_until({.latest_seconds = 9, .next_seconds = 7, .running = running}) == 1);
    CHECK(world.round_until({.latest_seconds = 9, .next_seconds = 0.5, .running = running}) == 0.5);
    CHECK(world.round_until({.latest_seconds = 0.25, .next_seconds = 7, .running = running}) == 0.25);
    CHECK(world.round_until({.latest_seconds = 9, .next_seconds = 70}) == 70);
    CHECK_FALSE(world.train(0, {PoolShare{0, 1, {1, 1}}}, 0, 2).has_value());
    world.report(0, job, model);
    REQUIRE(job.tasks->strata.size() == 2);
    CHECK(job.tasks->strata[0].tasks == 2);
    CHECK(job.tasks->strata[0].finished == 1);
    CHECK(job.tasks->strata[1].running_seconds == std::vector{1.0});
    CHECK(job.min_gpus == 1);
    CHECK(job.max_gpus == 2);
    const auto refuses = [&](TaskJob wrong, const char* message) {
        CHECK_THROWS_WITH_AS(TaskWorld(cluster, {std::move(wrong)}), message, std::invalid_argument);
    };
    refuses({.name = "x"}, "job 'x': number of tasks is 0, but must be between 1 and 268435456");
    refuses({.name = "x", .task_seconds = {0}},
            "job 'x': seconds of a task is 0, but must be between 1e-09 and 1e+12");
    refuses({.name = "x", .task_seconds = {1}, .strata = {1}},
            "job 'x': stratum of a task is 1, but must be between 0 and 0");
    refuses({.name = "x", .task_seconds = {1, 2}, .strata = {1, 1}},
            "job 'x': tasks of a stratum is 0, but must be at least 1");
    CHECK_THROWS_WITH_AS(TaskWorld({{"gpu"}, {{"n", 0, 8}}}, {}), "node 'n': gpus is 8, but must be 1",
                         std::invalid_argument);
}
