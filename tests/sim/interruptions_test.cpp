// Random interruptions of nodes, checkpoints that cost time, and the useful part of the time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/availability.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/sim/detail/paid_checkpoints.hpp"
#include "goodput/sim/interruptions.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"
#include "sim/replay_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;

Cluster many_nodes(int nodes) {
    Cluster cluster{{"A100"}, {}};
    for (int n = 0; n < nodes; ++n) cluster.nodes.push_back({"node-" + std::to_string(n), 0, 8});
    return cluster;
}

/// One job with 100,000 s of work, alone on a node of one GPU, where decisions leave it.
struct OneJob {
    Cluster cluster{{"A100"}, {{"node", 0, 1}}};
    std::vector<Application> applications{1};
    std::vector<Submission> submissions{{.name = "job", .gpus = 1, .batch = 100}};

    OneJob() {
        Application& its = applications.front();
        its.name = "steady";
        its.restart_seconds = its.restart_cost_seconds = 40;
        // A step takes one second, with the only batch size.
        its.types = {{.truth = PolluxThroughput{.alpha_c = 1, .gamma = 1},
                      .min_atomic_batch = 100,
                      .max_atomic_batch = 100}};
        its.curve = TrainingCurve({100}, {{{1, 1}, {1, 1}}}, {50'000, 100'000});
    }
    [[nodiscard]] ReplayResult replayed(const SiaRules& rules, std::vector<Event> events) const {
        SiaWorld<RefinedModels> world(cluster, applications, submissions, rules);
        return replay(cluster, world, GoodputPolicy{},
                      {.interval_seconds = 10, .moves_restart = false, .events = std::move(events)});
    }
};

}  // namespace

TEST_CASE("nodes fail as often as they should, and stay away as long") {
    const Cluster cluster = many_nodes(200);
    for (const double shape : {0.7, 1.0, 3.0, std::numeric_limits<double>::infinity()}) {
        const double hours = 12, off = 600, until = 100 * 86400.0;
        const std::vector<Event> events = interruption_events(
            cluster, {.per_hour = 1 / hours, .shape = shape, .off_seconds = off}, 7, until);
        double lived = 0, squares = 0;
        int failures = 0;
        std::vector<double> since(200, 0);
        for (std::size_t e = 0; e < events.size(); e += 2) {
            const Event &lost = events[e], &back = events[e + 1];
            REQUIRE(lost.kind == EventKind::node_fails);
            REQUIRE(back.kind == EventKind::node_returns);
            REQUIRE(lost.subject == back.subject);
            REQUIRE(back.time_seconds - lost.time_seconds == doctest::Approx(off));
            double& up = since[static_cast<std::size_t>(std::stoi(lost.subject.substr(5)))];
            const double period = lost.time_seconds - up;
            REQUIRE(period >= 0);
            up = back.time_seconds;
            lived += period;
            squares += period * period;
            ++failures;
        }
        const double mean = lived / failures;
        // Long periods cut off by the end are missing.
        CHECK(mean / 3600 == doctest::Approx(hours).epsilon(0.03));
        const double variance = squares / failures - mean * mean;
        const double expected = std::tgamma(1 + 2 / shape) / std::pow(std::tgamma(1 + 1 / shape), 2) - 1;
        CHECK(variance / (mean * mean) == doctest::Approx(expected).epsilon(0.05).scale(0.1));
    }
}

TEST_CASE("a seed and a node's name decide when it fails, and nothing else") {
    const Interruptions often{.per_hour = 0.5, .off_seconds = 60};
    const auto of = [](const std::vector<Event>& events, const std::string& node) {
        std::vector<double> times;
        for (const Event& event : events)
            if (event.subject == node) times.push_back(event.time_seconds);
        return times;
    };
    const auto few = interruption_events(many_nodes(3), often, 1, 1e6);
    const auto many = interruption_events(many_nodes(9), often, 1, 1e6);
    const auto other = interruption_events(many_nodes(3), often, 2, 1e6);
    for (const std::string node : {"node-0", "node-1", "node-2"}) {
        CHECK(of(few, node) == of(many, node));
        CHECK(of(few, node) != of(other, node));
    }
    CHECK(of(few, "node-0") != of(few, "node-1"));
    // The first times, to the millisecond, are the same with every compiler and library.
    CHECK(few[0].time_seconds == 7761.827);
    CHECK(few[2].time_seconds == 23104.853);
    // If no rate is given, each node has its own.
    Cluster own = many_nodes(3);
    own.nodes[1].interruptions_per_hour = 0.5;
    const auto one = interruption_events(own, {.off_seconds = 60}, 1, 1e6);
    CHECK(of(one, "node-1") == of(few, "node-1"));
    CHECK(of(one, "node-0").empty());
    CHECK(interruption_events(many_nodes(3), {}, 1, 1e6).empty());
    CHECK_THROWS_AS((void)interruption_events(many_nodes(3), {.per_hour = -1}, 1, 1e6),
                    std::invalid_argument);
    CHECK_THROWS_AS((void)interruption_events(many_nodes(3), {.per_hour = 1e9}, 1, 1e9),
                    std::invalid_argument);
}

TEST_CASE("checkpoints cost their pauses, and failures cost what was not yet safe") {
    const OneJob one;
    // Training begins with the second round, at 10 s, after a start of 40 s. Checkpoints after every 1,000 s.
    SiaRules rules{.checkpoint_seconds = 1000,
                   .checkpoints = CheckpointRule::fixed,
                   .mechanisms = {{.name = "full", .pause_seconds = 50, .restore_seconds = 70}}};
    const ReplayResult calm = one.replayed(rules, {});
    // 99 pauses: the last of 100 stretches of work ends with the job.
    CHECK(*calm.jobs[0].completed_seconds == doctest::Approx(10 + 40 + 100'000 + 99 * 50).epsilon(1e-5));
    CHECK(calm.jobs[0].lost_gpu_seconds == doctest::Approx(40 + 99 * 50).epsilon(0.01));
    CHECK(metrics_of(calm).availability ==
          doctest::Approx(100'000 / (40 + 100'000 + 99 * 50.0)).epsilon(1e-4));

    // It fails 600 s after its second checkpoint, at 10 + 40 + 2 * 1,050 + 600, and repeats that work.
    const Event failure{.time_seconds = 2750, .kind = EventKind::job_fails, .subject = "job"};
    const ReplayResult failed = one.replayed(rules, {failure});
    CHECK(*failed.jobs[0].completed_seconds - *calm.jobs[0].completed_seconds ==
          doctest::Approx(600 + 70).epsilon(0.02));
    CHECK(failed.jobs[0].lost_gpu_seconds - calm.jobs[0].lost_gpu_seconds ==
          doctest::Approx(600 + 70).epsilon(0.02));

    // While training, a write takes 700 s: the second checkpoint is not yet safe, so back to the first.
    rules.mechanisms = {{.name = "asynchronous", .write_seconds = 700, .restore_seconds = 70}};
    const Event later{.time_seconds = 2650, .kind = EventKind::job_fails, .subject = "job"};
    const ReplayResult written = one.replayed(rules, {later});
    CHECK(written.jobs[0].lost_gpu_seconds == doctest::Approx(40 + 1600 + 70));
    // If the failure is caught, only the restart is lost.
    rules.mechanisms[0].caught = 1;
    CHECK(one.replayed(rules, {later}).jobs[0].lost_gpu_seconds == doctest::Approx(40 + 70));
    // In memory that the failure takes, too, with every third one stored: both checkpoints are lost.
    rules.mechanisms = {{.name = "peer", .restore_seconds = 70, .kept = 0, .stored_every = 3}};
    const ReplayResult peer = one.replayed(rules, {{2650, EventKind::job_fails, "job"}});
    CHECK(peer.jobs[0].lost_gpu_seconds == doctest::Approx(40 + 2600 + 70));
    // Without any checkpoint all work is lost, whatever the interval.
    rules.mechanisms = {{.name = "none", .restore_seconds = 70, .saves = false}};
    CHECK(one.replayed(rules, {later}).jobs[0].lost_gpu_seconds == doctest::Approx(40 + 2600 + 70));

    // Free checkpoints as published: the first after 1,800 s of training.
    const ReplayResult free = one.replayed({}, {failure});
    CHECK(free.jobs[0].lost_gpu_seconds == doctest::Approx(40 + 40 + (2750 - 50 - 1800)));
}

TEST_CASE("the part of a job's time that is useful is the one that is expected") {
    OneJob one;
    const Interruptions often{.per_hour = 1};
    const CheckpointMechanism asynchronous{.name = "asynchronous",
                                           .pause_seconds = 20,
                                           .write_seconds = 60,
                                           .write_slowdown = 0.2,
                                           .restore_seconds = 90};
    CheckpointMechanism peer = asynchronous;
    peer.kept = 0.6;
    peer.stored_every = 4;
    // The next checkpoint waits until this one is written.
    CheckpointMechanism slow{.name = "slow", .pause_seconds = 100, .write_seconds = 400};
    for (const auto& [mechanism, chosen] :
         {std::pair{asynchronous, false}, {asynchronous, true}, {peer, false}, {peer, true}, {slow, false}}) {
        SiaRules rules{.checkpoint_seconds = mechanism.name == slow.name ? 300.0 : 1200.0,
                       .checkpoints = chosen ? CheckpointRule::chosen : CheckpointRule::fixed,
                       .mechanisms = {mechanism}};
        one.cluster.nodes[0].interruptions_per_hour = often.per_hour;
        double work = 0, held = 0;
        for (std::uint64_t seed = 1; seed <= 25; ++seed) {
            std::vector<Event> events;
            for (const Event& event : interruption_events(one.cluster, often, seed, 4e5))
                if (event.kind == EventKind::node_fails)
                    events.push_back({event.time_seconds, EventKind::job_fails, "job"});
            const ReplayResult result = one.replayed(rules, events);
            REQUIRE(result.jobs[0].completed_seconds);
            work += 100'000;
            held += result.jobs[0].gpu_seconds;
            CHECK(metrics_of(result).availability ==
                  doctest::Approx(100'000 / result.jobs[0].gpu_seconds).epsilon(0.002));
        }
        const double expected = chosen ? best_checkpointing(often, rules.mechanisms[0], 1e6).availability
                                       : useful_share(often, rules.mechanisms[0], rules.checkpoint_seconds);
        CHECK(work / held == doctest::Approx(expected).epsilon(0.02));
    }
}

TEST_CASE("without interruptions the scheduler and the jobs do as they did, whatever nodes might do") {
    support::Random random(3);
    for (int i = 0; i < 10; ++i) {
        const support::ReplayWorld its(random, 15);
        const auto completions = [&](const SiaRules& rules) {
            SiaWorld<RefinedModels> world(its.cluster, its.applications, its.submissions, rules);
            std::vector<double> seconds;
            for (const JobOutcome& job : replay(its.cluster, world, GoodputPolicy{}).jobs)
                seconds.push_back(job.completed_seconds.value_or(-1));
            return seconds;
        };
        // Checkpoints that cost nothing, whichever mechanisms are listed.
        const std::vector<double> as_ever = completions({});
        CHECK(as_ever == completions({.mechanisms = {{.name = "unused", .pause_seconds = 100}}}));
    }
}
