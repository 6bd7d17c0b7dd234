// The figures of a replay equal those computed by hand.

#include <cmath>
#include <limits>
#include <vector>

#include "goodput/policy/sia.hpp"
#include "goodput/sim/fair_share.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"
#include "sim/replay_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// Returns the result of jobs of one application, each from `begin` to `end`.
ReplayResult result_of(const std::vector<std::pair<double, double>>& lives) {
    ReplayResult result;
    for (const auto& [begin, end] : lives) {
        result.jobs.push_back({.submitted_seconds = begin, .completed_seconds = end, .done = 1});
        result.end_seconds = std::max(result.end_seconds, end);
    }
    result.capacity = {{0, 4}};
    return result;
}

std::vector<Submission> submissions_of(const ReplayResult& result) {
    std::vector<Submission> submissions;
    for (std::size_t j = 0; j < result.jobs.size(); ++j)
        submissions.push_back({"job-" + std::to_string(j), result.jobs[j].submitted_seconds, 0, 1, 32});
    return submissions;
}

}  // namespace

TEST_CASE("an equal share of a cluster: a part of its GPUs, or an allotment for a part of the time") {
    support::LoneJob world;
    // Each of g GPUs takes 32 / g examples: 1500 x (0.1 + 0.32 / g) s in all.
    const FairShare one(world.applications[0], world.cluster, 64);
    CHECK(one.seconds(1) == doctest::Approx(630));
    CHECK(one.seconds(3) == doctest::Approx(3 * 630));
    CHECK(one.one_gpu_seconds() == doctest::Approx(630));

    world.cluster.nodes[0].gpus = 4;
    const FairShare four(world.applications[0], world.cluster, 64);
    CHECK(four.seconds(1) == doctest::Approx(270));
    CHECK(four.seconds(1.25) == doctest::Approx(1.25 * 270));  // four GPUs, four fifths of the time
    CHECK(four.seconds(1.5) == doctest::Approx(390));          // two GPUs, all the time
    CHECK(four.seconds(2) == doctest::Approx(390));
    CHECK(four.seconds(4) == doctest::Approx(630));
    CHECK(four.seconds(8) == doctest::Approx(1260));
    CHECK(FairShare(world.applications[0], world.cluster, 2).seconds(1) == doctest::Approx(390));

    // Another type is three times as fast: a job takes the type on which its share does more.
    world.cluster.gpu_types.push_back("other");
    world.cluster.nodes.push_back({"other", 1, 1});
    world.applications[0].types.push_back({PolluxThroughput{0.1 / 3, 0.01 / 3, 0, 0, 0, 0, 1}, 1, 32});
    const FairShare both(world.applications[0], world.cluster, 64);
    CHECK(both.seconds(1) == doctest::Approx(210));
    CHECK(both.seconds(2) == doctest::Approx(390));
    CHECK(both.one_gpu_seconds() == doctest::Approx(210));
    CHECK(std::isinf(FairShare(world.applications[0], {{"only", "other"}, {}}, 64).seconds(1)));
}

TEST_CASE("more sharers never make a job faster, and it never loses more than in proportion") {
    support::Random random(3);
    for (int round = 0; round < 10; ++round) {
        const support::ReplayWorld world(random, 0);
        for (const Application& application : world.applications) {
            const FairShare share(application, world.cluster, 64);
            double before = share.seconds(1), sharers = 1;
            CHECK(before <= share.one_gpu_seconds());
            for (int step = 0; step < 20; ++step) {
                const double more = random.between(1, 1.6);
                sharers *= more;
                const double now = share.seconds(sharers);
                CHECK(now >= before);
                CHECK(now <= before * more * (1 + 1e-9));
                before = now;
            }
        }
    }
}

TEST_CASE("finish-time fairness uses the average number of jobs in the cluster during a job's life") {
    support::LoneJob world;
    world.cluster.nodes[0].gpus = 4;
    // 1.5 jobs on average during the lives of the first two, 1 during the last: T = 390, 390, 270.
    const ReplayResult result = result_of({{0, 400}, {200, 600}, {600, 1140}});
    const FairShares shares(world.applications, submissions_of(result), world.cluster);
    const std::vector<double> rho = finish_time_fairness(result, shares);
    CHECK(rho[0] == doctest::Approx(400 / 390.0));
    CHECK(rho[1] == doctest::Approx(400 / 390.0));
    CHECK(rho[2] == doctest::Approx(2));
    const ReplayMetrics metrics = metrics_of(result, shares);
    CHECK(metrics.rho_mean == doctest::Approx((800 / 390.0 + 2) / 3));
    CHECK(metrics.rho_p99 == doctest::Approx(2));
    CHECK(metrics.rho_above_one == 1);
    // Three jobs of 630 s on one GPU, done in 1140 s.
    CHECK(metrics.effective_gpus == doctest::Approx(3 * 630 / 1140.0));

    // A job that is there to the end counts as a sharer, but has no rho. Half of its work is done.
    ReplayResult left = result;
    left.jobs[2].completed_seconds.reset();
    left.jobs[2].done = 0.5;
    const std::vector<double> of_two = finish_time_fairness(left, shares);
    CHECK(of_two[1] == doctest::Approx(400 / 390.0));
    CHECK(std::isnan(of_two[2]));
    const ReplayMetrics of_left = metrics_of(left, shares);
    CHECK(of_left.rho_mean == doctest::Approx(400 / 390.0));
    CHECK(of_left.effective_gpus == doctest::Approx(2.5 * 630 / 1140));
}

TEST_CASE("completion times, queueing, utilisation and counts of a hand-made outcome") {
    ReplayResult result = result_of({{100, 3700}, {100, 7300}, {1900, 18100}});
    result.jobs[0].restarts = 2;
    result.jobs[1].migrations = 3;
    result.jobs[2].failures = 1;
    result.jobs[2].gpu_seconds = 7200;
    const Configuration two{0, 4, {1, 2}}, four{0, 4, {1, 4}};
    result.held_periods = {{0, two, 700, 3700}, {1, two, 1300, 7300}, {2, four, 9100, 18100}};
    result.capacity = {{0, 4}, {9100, 8}, {20000, 1000}};
    const ReplayMetrics metrics = metrics_of(result);
    CHECK(metrics.completed == 3);
    CHECK(metrics.average_hours == doctest::Approx((1 + 2 + 4.5) / 3));
    CHECK(metrics.median_hours == doctest::Approx(2));
    CHECK(metrics.p99_hours == doctest::Approx(4.5));
    CHECK(metrics.makespan_hours == doctest::Approx(5));
    CHECK(metrics.gpu_hours_per_job == doctest::Approx(2 / 3.0));
    CHECK(metrics.restarts_per_job == doctest::Approx(2 / 3.0));
    CHECK(metrics.migrations_per_job == doctest::Approx(1));
    CHECK(metrics.failures_per_job == doctest::Approx(1 / 3.0));
    CHECK(metrics.queueing_hours == doctest::Approx((600 + 1200 + 7200) / 3.0 / 3600));
    // 4 GPUs from 100 to 9100, then 8 to 18100.
    CHECK(metrics.utilisation == doctest::Approx((6000 + 12000 + 36000) / (36000 + 72000.0)));
}

TEST_CASE("a replay never holds more than there is, and fairness is a number for every job") {
    support::Random random(8);
    for (int round = 0; round < 5; ++round) {
        const support::ReplayWorld world(random, 25);
        const ReplayResult result = replay(world.cluster, world.applications, world.submissions, Sia{});
        const ReplayMetrics metrics =
            metrics_of(result, FairShares(world.applications, world.submissions, world.cluster));
        CHECK(metrics.utilisation > 0);
        CHECK(metrics.utilisation <= 1);
        CHECK(metrics.queueing_hours > 0);
        CHECK(metrics.queueing_hours < metrics.average_hours);
        CHECK(metrics.effective_gpus > 0);
        CHECK(metrics.effective_gpus <= 36 * metrics.utilisation);
        CHECK(metrics.rho_mean > 0);
        CHECK(metrics.rho_mean <= metrics.rho_p99);
        CHECK(metrics.migrations_per_job <= metrics.restarts_per_job);
        CHECK(metrics.failures_per_job == 0);
        for (const JobOutcome& job : result.jobs) CHECK(job.done == 1);
    }
    const ReplayMetrics none = metrics_of({}, FairShares());
    CHECK(none.jobs == 0);
    CHECK(none.rho_mean == 0);
}
