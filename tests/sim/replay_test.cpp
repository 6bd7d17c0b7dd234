// A replay conserves GPUs, time and work, and agrees with a case that can be computed by hand.

#include <algorithm>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/modelling.hpp"
#include "goodput/sim/sia_world.hpp"
#include "peers/sia/published_models.hpp"
#include "sim/replay_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

using support::ReplayWorld;

template <class P>
ReplayResult checked_replay(const ReplayWorld& world, P policy, const ReplayOptions& options) {
    std::vector<double> progress(world.submissions.size());
    double last = -1;
    const ReplayResult result = replay(world.cluster, world.applications, world.submissions, policy, options,
                                       [&](double now, const Snapshot& snapshot, auto make_plan) {
                                           REQUIRE(now > last);
                                           last = now;
                                           const Plan& plan = make_plan();
                                           std::vector<int> used(world.cluster.nodes.size());
                                           for (const Decision& decision : plan.decisions)
                                               for (const NodeShare& share : decision.placement)
                                                   used[share.node] += share.gpus;
                                           for (std::size_t node = 0; node < used.size(); ++node)
                                               REQUIRE(used[node] <= world.cluster.nodes[node].gpus);
                                           for (const Job& job : snapshot.jobs) {
                                               REQUIRE(job.submitted_seconds <= now);
                                               REQUIRE(*job.remaining_examples > 0);
                                           }
                                       });
    // GPU-seconds: whole rounds are charged, while a held period ends with the job.
    std::vector<double> held(world.submissions.size());
    for (const HeldPeriod& period : result.held_periods) {
        REQUIRE(period.end_seconds > period.begin_seconds);
        held[period.job] += period.configuration.gpus() * (period.end_seconds - period.begin_seconds);
    }
    for (std::size_t j = 0; j < result.jobs.size(); ++j) {
        const JobOutcome& job = result.jobs[j];
        CHECK(held[j] <= job.gpu_seconds + 1e-6);
        CHECK(held[j] >= job.gpu_seconds - options.interval_seconds * 64);
        if (!job.completed_seconds) continue;
        CHECK(*job.completed_seconds > job.submitted_seconds);
        for (const HeldPeriod& period : result.held_periods)
            if (period.job == j) CHECK(period.end_seconds <= *job.completed_seconds);
    }
    // At no time do jobs hold more GPUs of a type than there are.
    for (const HeldPeriod& at : result.held_periods) {
        int gpus = 0;
        for (const HeldPeriod& other : result.held_periods)
            if (other.configuration.first().gpu_type == at.configuration.first().gpu_type &&
                other.begin_seconds <= at.begin_seconds && at.begin_seconds < other.end_seconds)
                gpus += other.configuration.gpus();
        CHECK(gpus <= (at.configuration.first().gpu_type == 0 ? 12 : 24));
    }
    return result;
}

}  // namespace

TEST_CASE("GPUs, time and work are conserved and every job completes, under every policy") {
    support::Random random(1);
    for (int round = 0; round < 12; ++round) {
        CAPTURE(round);
        const ReplayWorld world(random, 25);
        const ReplayOptions options{.interval_seconds = random.chance(0.5) ? 60.0 : 37.0,
                                    .moves_restart = random.chance(0.5)};
        for (const ReplayResult& result :
             {checked_replay(world, Sia{}, options), checked_replay(world, Fifo{}, options),
              checked_replay(world, ShortestRemainingTime{}, options)})
            CHECK(metrics_of(result).completed == world.submissions.size());
    }
}

TEST_CASE(
    "one job alone on one GPU takes the time that its epochs take, restart and waiting for the round "
    "included") {
    const support::LoneJob world;
    const ReplayResult result = replay(world.cluster, world.applications, world.submissions, Sia{});
    // Submitted at 70, decided at 120, trains from 145 with 63 s per epoch.
    REQUIRE(result.jobs[0].completed_seconds);
    CHECK(*result.jobs[0].completed_seconds == doctest::Approx(145 + 10 * 63).epsilon(1e-9));
    CHECK(result.jobs[0].restarts == 0);
    // Held from 120 to 775, charged in whole rounds of 60 s.
    CHECK(result.jobs[0].gpu_seconds == 660);
    const ReplayMetrics metrics = metrics_of(result);
    CHECK(metrics.average_hours == doctest::Approx((775 - 70) / 3600.0));
    CHECK(metrics.makespan_hours == metrics.average_hours);
}

TEST_CASE(
    "a job that trains with more than its owner stated is planned with what it was seen to use, and no "
    "more") {
    support::Random random(9);
    int beyond = 0;
    for (int round = 0; round < 8; ++round) {
        CAPTURE(round);
        const ReplayWorld world(random, 20);
        const auto each_round = [&]<class Modelling>(const auto& check) {
            replay<Modelling>(
                world.cluster, world.applications, world.submissions, Sia{}, {},
                [&](double, const Snapshot& snapshot, auto make_plan) {
                    for (const Job& job : snapshot.jobs) {
                        const auto& of =
                            *std::find_if(world.submissions.begin(), world.submissions.end(),
                                          [&](const Submission& other) { return other.name == job.name; });
                        const TrainingCurve& curve = world.applications[of.application].curve;
                        check(job.max_batch, std::max(of.batch, curve.initial_batch()), curve.max_batch());
                    }
                    make_plan();
                });
        };
        each_round.template operator()<RefinedModels>([&](int planned, int stated, int largest) {
            REQUIRE(planned >= stated);
            REQUIRE(planned <= std::max(stated, largest));
            beyond += planned > stated;
        });
        // Sia's public simulator plans with what the owner stated.
        each_round.template operator()<PublishedModels>(
            [](int planned, int stated, int) { REQUIRE(planned == stated); });
    }
    CHECK(beyond > 10);
}

TEST_CASE("a job that ends as it begins, by the whole seconds of its epochs, has held nothing") {
    support::LoneJob world;
    world.applications[0].restart_seconds = 0;
    world.applications[0].slowdown = 0.0015;  // an epoch takes 0.063 s
    const ReplayResult result = replay(world.cluster, world.applications, world.submissions, Sia{});
    CHECK(result.jobs[0].completed_seconds == 120);
    CHECK(result.held_periods.empty());
    // Its round is charged nevertheless.
    CHECK(result.jobs[0].gpu_seconds == 60);
}

TEST_CASE("GPUs are given back by the end of a round, even if the last whole second of a job ends after it") {
    support::LoneJob world;
    world.applications[0].slowdown = 1.37;  // an epoch takes 57.54 s
    int after_the_round = 0;
    for (int i = 0; i < 1500; ++i) {
        CAPTURE(i);
        const ReplayOptions options{.interval_seconds = 50 + 0.01 * i};
        const ReplayResult result =
            replay(world.cluster, world.applications, world.submissions, Fifo{}, options);
        REQUIRE(result.jobs[0].completed_seconds);
        after_the_round += *result.jobs[0].completed_seconds > result.end_seconds ? 1 : 0;
        double held = 0;
        for (const HeldPeriod& period : result.held_periods) {
            CHECK(period.end_seconds <= result.end_seconds);
            held += period.configuration.gpus() * (period.end_seconds - period.begin_seconds);
        }
        CHECK(held <= result.jobs[0].gpu_seconds + 1e-6);
    }
    CHECK(after_the_round > 0);
}

TEST_CASE("equal inputs give equal outcomes to the last digit; a trace without jobs gives none") {
    support::Random random(4);
    const ReplayWorld world(random, 20);
    const ReplayResult first = replay(world.cluster, world.applications, world.submissions, Sia{});
    const ReplayResult second = replay(world.cluster, world.applications, world.submissions, Sia{});
    REQUIRE(first.held_periods.size() == second.held_periods.size());
    for (std::size_t j = 0; j < first.jobs.size(); ++j)
        CHECK(*first.jobs[j].completed_seconds == *second.jobs[j].completed_seconds);
    const ReplayResult none = replay(world.cluster, world.applications, {}, Sia{});
    CHECK(none.rounds == 0);
    CHECK(metrics_of(none).jobs == 0);
}

TEST_CASE("a job whose replica fits nowhere stays incomplete, and the replay ends at its last second") {
    support::Random random(5);
    ReplayWorld world(random, 3);
    world.submissions[1].gpus = 1000;
    const ReplayResult result = replay(world.cluster, world.applications, world.submissions,
                                       Fifo{.backfill = true}, {.last_second = 1e6});
    CHECK(metrics_of(result).completed == 2);
    CHECK(!result.jobs[1].completed_seconds);
}

TEST_CASE("traces that cannot be replayed are refused with job, field and value") {
    support::Random random(6);
    ReplayWorld world(random, 3);
    world.submissions[2].time_seconds = -5;
    CHECK_THROWS_AS(replay(world.cluster, world.applications, world.submissions, Sia{}),
                    std::invalid_argument);
    world.submissions.resize(1);
    world.submissions[0].application = 7;
    CHECK_THROWS_WITH(replay(world.cluster, world.applications, world.submissions, Sia{}),
                      "job 'job-0': application is 7, but must be one of those given");
    world.submissions[0].application = 0;
    std::vector<Application> applications = world.applications;
    applications[1].types.pop_back();
    CHECK_THROWS_WITH(replay(world.cluster, applications, world.submissions, Sia{}),
                      "application 'application-1': GPU types is 1, but must be as many as the cluster's, 2");
    CHECK_THROWS_WITH(
        TrainingCurve({32, 64}, {{{1, 1}}}, {100}),
        "training curve: number of batch sizes is 2, but must be at least 1 and as many as rows of "
        "gradients");
    CHECK_THROWS_WITH(
        replay(world.cluster, world.applications, world.submissions, Sia{}, {.interval_seconds = 0}),
        "replay: interval is 0, but must be a finite number of at least 0.001");
    CHECK_THROWS_WITH(
        replay(world.cluster, world.applications, world.submissions, Sia{}, {.interval_seconds = 1e308}),
        "replay: interval is 1e+308, but must be at most 1e+12");
}

TEST_CASE("gradient statistics between tabulated batch sizes are linear, and outside constant") {
    const TrainingCurve table({10, 30}, {{{1, 2}}, {{3, 8}}}, {5});
    CHECK(table.gradient(10, 0).variance == 2);
    CHECK(table.gradient(20, 0).variance == 5);
    CHECK(table.gradient(15, 0).squared_norm == 1.5);
    CHECK(table.gradient(1, 0).variance == 2);
    CHECK(table.gradient(99, 0).variance == 8);
    CHECK_THROWS_AS(TrainingCurve({10, 10}, {{{1, 2}}, {{3, 8}}}, {5}), std::invalid_argument);
    CHECK_THROWS_AS(TrainingCurve({10}, {{{1, 2}}}, {5, 4}), std::invalid_argument);
}
