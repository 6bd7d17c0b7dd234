// Nodes fail, are drained, come back or are new, and jobs fail: no job runs on a missing node, work since the
// last checkpoint is repeated, and events that strike no job change nothing.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"
#include "sim/replay_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::ReplayWorld;

namespace {

ReplayResult replay_alone(const support::LoneJob& world, const std::vector<Event>& events,
                          double checkpoint_seconds = 1800) {
    SiaWorld<> jobs(world.cluster, world.applications, world.submissions,
                    {.checkpoint_seconds = checkpoint_seconds});
    return replay(world.cluster, jobs, Sia{}, {.events = events});
}

bool equal(const ReplayResult& a, const ReplayResult& b) {
    const auto same_jobs = [](const JobOutcome& x, const JobOutcome& y) {
        return x.submitted_seconds == y.submitted_seconds && x.completed_seconds == y.completed_seconds &&
               x.restarts == y.restarts && x.gpu_seconds == y.gpu_seconds && x.migrations == y.migrations &&
               x.failures == y.failures && x.done == y.done;
    };
    const auto same_periods = [](const HeldPeriod& x, const HeldPeriod& y) {
        return x.job == y.job && x.configuration == y.configuration && x.begin_seconds == y.begin_seconds &&
               x.end_seconds == y.end_seconds;
    };
    return std::equal(a.jobs.begin(), a.jobs.end(), b.jobs.begin(), b.jobs.end(), same_jobs) &&
           std::equal(a.held_periods.begin(), a.held_periods.end(), b.held_periods.begin(),
                      b.held_periods.end(), same_periods) &&
           a.rounds == b.rounds && a.end_seconds == b.end_seconds;
}

template <class T>
void shuffle(std::vector<T>& items, support::Random& random) {
    for (std::size_t i = items.size(); i > 1; --i)
        std::swap(items[i - 1], items[static_cast<std::size_t>(random.integer(0, static_cast<int>(i) - 1))]);
}

/// Draws failures, drains, returns and additions in the first two hours. Every node is back after that.
std::vector<Event> random_events(support::Random& random, const ReplayWorld& world) {
    std::vector<Event> events;
    std::vector<std::string> nodes;
    for (const Node& node : world.cluster.nodes) nodes.push_back(node.name);
    for (int i = random.integer(0, 3); i > 0; --i) {
        const auto time = static_cast<double>(random.integer(0, 1800));
        nodes.push_back("new-" + std::to_string(i));
        events.push_back({time, EventKind::node_added, nodes.back(),
                          static_cast<std::size_t>(random.integer(0, 1)), random.chance(0.5) ? 4 : 6});
        nodes.push_back(nodes.back());  // names new nodes twice: more events for them below
    }
    for (int i = random.integer(5, 40); i > 0; --i) {
        const auto time = random.chance(0.5) ? random.between(1801, 7200) : 60.0 * random.integer(31, 120);
        if (random.chance(0.3)) {
            const auto job =
                static_cast<std::size_t>(random.integer(0, static_cast<int>(world.submissions.size()) - 1));
            events.push_back({time, EventKind::job_fails, world.submissions[job].name});
            continue;
        }
        const EventKind kinds[]{EventKind::node_fails, EventKind::node_drains, EventKind::node_returns};
        const auto node = static_cast<std::size_t>(random.integer(0, static_cast<int>(nodes.size()) - 1));
        events.push_back({time, kinds[random.integer(0, 2)], nodes[node]});
    }
    for (const std::string& node : std::set<std::string>(nodes.begin(), nodes.end()))
        events.push_back({7201, EventKind::node_returns, node});
    return events;
}

/// Returns whether a node is there for a decision at `now`, from the events alone.
bool there(const std::vector<Event>& events, const std::string& node, bool at_first, double now) {
    bool is_there = at_first;
    double last = -1;
    EventKind kind{};
    for (const Event& event : events) {
        if (event.subject != node || event.kind == EventKind::job_fails || event.time_seconds > now) continue;
        if (event.time_seconds < last || (event.time_seconds == last && event.kind < kind)) continue;
        last = event.time_seconds;
        kind = event.kind;
        is_there = event.kind == EventKind::node_returns || event.kind == EventKind::node_added;
    }
    return is_there;
}

template <class P>
void check_with_events(const ReplayWorld& world, P policy, const std::vector<Event>& events) {
    std::map<std::string, std::vector<std::string>> jobs_on;  // by node, since the last decision
    std::map<std::string, std::size_t> index;
    for (std::size_t j = 0; j < world.submissions.size(); ++j) index[world.submissions[j].name] = j;
    struct Struck {
        std::size_t job;
        double time;
    };
    std::vector<Struck> struck;
    double last = 0;
    const ReplayOptions options{.events = events};
    const ReplayResult result = replay(
        world.cluster, world.applications, world.submissions, policy, options,
        [&](double now, const Snapshot& snapshot, auto make_plan) {
            for (const Event& event : events)
                if (event.kind == EventKind::node_fails && event.time_seconds > last &&
                    event.time_seconds <= now)
                    for (const std::string& job : jobs_on[event.subject])
                        struck.push_back({index[job], event.time_seconds});
            last = now;
            std::size_t count = 0;
            for (const Node& node : snapshot.cluster.nodes) {
                const bool at_first = std::any_of(world.cluster.nodes.begin(), world.cluster.nodes.end(),
                                                  [&](const Node& other) { return other.name == node.name; });
                REQUIRE(there(events, node.name, at_first, now));
            }
            for (const Node& node : world.cluster.nodes) count += there(events, node.name, true, now);
            for (const Event& event : events)
                if (event.kind == EventKind::node_added) count += there(events, event.subject, false, now);
            REQUIRE(snapshot.cluster.nodes.size() == count);

            const Plan& plan = make_plan();
            jobs_on.clear();
            std::vector<int> used(count);
            for (std::size_t j = 0; j < plan.decisions.size(); ++j)
                for (const NodeShare& share : plan.decisions[j].placement) {
                    used[share.node] += share.gpus;
                    jobs_on[snapshot.cluster.nodes[share.node].name].push_back(snapshot.jobs[j].name);
                }
            for (std::size_t node = 0; node < count; ++node)
                REQUIRE(used[node] <= snapshot.cluster.nodes[node].gpus);
        });
    CHECK(metrics_of(result).completed == world.submissions.size());
    // A job that was on a node that failed holds nothing right after.
    for (const auto& [job, time] : struck)
        for (const HeldPeriod& period : result.held_periods) {
            const bool goes_on =
                period.job == job && period.begin_seconds < time && period.end_seconds > time;
            REQUIRE_FALSE(goes_on);
        }
    for (const HeldPeriod& at : result.held_periods) {
        int held = 0, there_are = 0;
        for (const HeldPeriod& other : result.held_periods)
            if (other.begin_seconds <= at.begin_seconds && at.begin_seconds < other.end_seconds)
                held += other.configuration.gpus();
        for (const Capacity& capacity : result.capacity)
            if (capacity.seconds <= at.begin_seconds) there_are = capacity.gpus;
        REQUIRE(held <= there_are);
    }
    for (std::size_t i = 1; i < result.capacity.size(); ++i)
        REQUIRE(result.capacity[i - 1].seconds <= result.capacity[i].seconds);
    for (const JobOutcome& job : result.jobs) {
        CHECK(job.done == 1);
        CHECK(job.failures + job.migrations <= job.restarts);
    }
    CHECK(metrics_of(result).utilisation <= 1);
}

}  // namespace

TEST_CASE("no job runs on a node that is not there, and all complete once the GPUs are back") {
    support::Random random(21);
    for (int round = 0; round < 25; ++round) {
        CAPTURE(round);
        const ReplayWorld world(random, 20);
        const std::vector<Event> events = random_events(random, world);
        check_with_events(world, Sia{}, events);
        check_with_events(world, Fifo{}, events);
        check_with_events(world, ShortestRemainingTime{}, events);
    }
}

TEST_CASE("jobs wait while there is no node at all") {
    support::Random random(22);
    const ReplayWorld world(random, 10);
    std::vector<Event> events;
    for (const Node& node : world.cluster.nodes) {
        events.push_back({400, EventKind::node_fails, node.name});
        events.push_back({9000, EventKind::node_returns, node.name});
    }
    check_with_events(world, Sia{}, events);
    check_with_events(world, Fifo{}, events);
}

TEST_CASE("the order of the events and of simultaneous submissions does not matter") {
    support::Random random(23);
    for (int round = 0; round < 8; ++round) {
        ReplayWorld world(random, 24);
        for (std::size_t j = 0; j < world.submissions.size(); ++j)
            world.submissions[j].time_seconds = 300.0 * static_cast<double>(j / 6);
        std::vector<Event> events = random_events(random, world);
        const auto run = [&](const std::vector<Submission>& submissions) {
            return replay(world.cluster, world.applications, submissions, Sia{}, {.events = events});
        };
        const ReplayResult before = run(world.submissions);
        shuffle(events, random);
        CHECK(equal(before, run(world.submissions)));

        std::vector<Submission> shuffled = world.submissions;
        shuffle(shuffled, random);
        std::stable_sort(shuffled.begin(), shuffled.end(),
                         [](const auto& a, const auto& b) { return a.time_seconds < b.time_seconds; });
        const ReplayResult after = run(shuffled);
        for (std::size_t i = 0; i < shuffled.size(); ++i)
            for (std::size_t j = 0; j < shuffled.size(); ++j) {
                if (shuffled[i].name != world.submissions[j].name) continue;
                CHECK(*after.jobs[i].completed_seconds == *before.jobs[j].completed_seconds);
                CHECK(after.jobs[i].gpu_seconds == before.jobs[j].gpu_seconds);
                CHECK(after.jobs[i].restarts == before.jobs[j].restarts);
            }
    }
}

TEST_CASE("events that strike no job change nothing, to the last digit") {
    support::Random random(24);
    for (int round = 0; round < 5; ++round) {
        const ReplayWorld world(random, 20);
        const auto run = [&](const std::vector<Event>& events) {
            return replay(world.cluster, world.applications, world.submissions, Sia{}, {.events = events});
        };
        const ReplayResult none = run({});
        std::vector<Event> events;
        for (std::size_t j = 0; j < world.submissions.size(); ++j) {
            events.push_back(
                {world.submissions[j].time_seconds, EventKind::job_fails, world.submissions[j].name});
            events.push_back(
                {*none.jobs[j].completed_seconds + 1, EventKind::job_fails, world.submissions[j].name});
            events.push_back({random.between(0, 5000), EventKind::node_returns, "slow1"});
        }
        for (int minute = 0; minute < 20; ++minute) {  // gone and back between two decisions
            events.push_back({60.0 * minute + 20, EventKind::node_drains, "fast0"});
            events.push_back({60.0 * minute + 50, EventKind::node_returns, "fast0"});
        }
        events.push_back({5, EventKind::node_fails, "slow0"});
        events.push_back({6, EventKind::node_returns, "slow0"});
        CHECK(equal(none, run(events)));
    }
}

TEST_CASE("a job that fails does again what it did since its last checkpoint") {
    const support::LoneJob world;  // trains from 145, 63 s per epoch: epochs end at 208, 271, 334, ...
    const ReplayResult epochs = replay_alone(world, {{290, EventKind::job_fails, "job"}});
    CHECK(*epochs.jobs[0].completed_seconds == doctest::Approx(290 + 25 + 8 * 63).epsilon(1e-9));
    CHECK(epochs.jobs[0].restarts == 1);
    CHECK(epochs.jobs[0].failures == 1);
    CHECK(epochs.jobs[0].migrations == 0);
    CHECK(epochs.held_periods.size() == 1);
    // At the end of a round, and with checkpoints 20 and 40 s after an epoch began.
    CHECK(*replay_alone(world, {{300, EventKind::job_fails, "job"}}).jobs[0].completed_seconds ==
          doctest::Approx(300 + 25 + 8 * 63).epsilon(1e-9));
    CHECK(*replay_alone(world, {{300, EventKind::job_fails, "job"}}, 20).jobs[0].completed_seconds ==
          doctest::Approx(300 + 25 + 8 * 63 - 20).epsilon(1e-9));
    CHECK(*replay_alone(world, {{320, EventKind::job_fails, "job"}}, 20).jobs[0].completed_seconds ==
          doctest::Approx(320 + 25 + 8 * 63 - 40).epsilon(1e-9));
    // Twice, the second time during a restart, when there is nothing new to lose.
    CHECK(*replay_alone(world, {{290, EventKind::job_fails, "job"}, {300, EventKind::job_fails, "job"}})
               .jobs[0]
               .completed_seconds == doctest::Approx(300 + 25 + 8 * 63).epsilon(1e-9));
}

TEST_CASE("a node that fails takes its jobs along; GPUs count until then, and again from the next start") {
    const support::LoneJob world;
    const ReplayResult result =
        replay_alone(world, {{200, EventKind::node_fails, "node"}, {310, EventKind::node_returns, "node"}});
    // 55 s of the first epoch are lost. The next decision is at 360, and the job trains from 385.
    CHECK(*result.jobs[0].completed_seconds == doctest::Approx(385 + 630).epsilon(1e-9));
    CHECK(result.jobs[0].restarts == 1);
    CHECK(result.jobs[0].failures == 1);
    CHECK(result.jobs[0].gpu_seconds == doctest::Approx(80 + 660));
    REQUIRE(result.capacity.size() == 3);
    CHECK(result.capacity[1].seconds == 200);
    CHECK(result.capacity[1].gpus == 0);
    CHECK(result.capacity[2].seconds == 360);
    CHECK(result.capacity[2].gpus == 1);
    const ReplayMetrics metrics = metrics_of(result);
    CHECK(metrics.queueing_hours == doctest::Approx((50 + 160) / 3600.0));
    CHECK(metrics.utilisation == doctest::Approx((80 + 655) / (130 + 655.0)));
}

TEST_CASE("a drained node is left at the next decision without loss, for another one if there is one") {
    support::LoneJob world;
    const std::vector<Event> events{{200, EventKind::node_drains, "node"},
                                    {310, EventKind::node_returns, "node"}};
    // Trains from 145 to 240, and again from 385.
    const ReplayResult waits = replay_alone(world, events);
    CHECK(*waits.jobs[0].completed_seconds == doctest::Approx(385 + 630 - 95).epsilon(1e-9));
    CHECK(waits.jobs[0].restarts == 1);
    CHECK(waits.jobs[0].failures == 0);
    CHECK(waits.jobs[0].migrations == 0);
    world.cluster.nodes.push_back({"other", 0, 1});
    world.applications[0].types[0].max_nodes = 1;
    const ReplayResult moves = replay_alone(world, events);
    CHECK(*moves.jobs[0].completed_seconds == doctest::Approx(240 + 25 + 630 - 95).epsilon(1e-9));
    CHECK(moves.jobs[0].migrations == 1);
    CHECK(moves.jobs[0].restarts == 1);
}

TEST_CASE("nodes of a GPU type that had none are used from the next decision on") {
    support::LoneJob world;
    world.cluster.nodes.clear();
    CHECK(*replay_alone(world, {{500, EventKind::node_added, "late", 0, 1}}).jobs[0].completed_seconds ==
          doctest::Approx(540 + 25 + 630).epsilon(1e-9));

    // A job on a small slow cluster continues on a fast node that comes later.
    support::Random random(25);
    ReplayWorld trace(random, 12);
    trace.cluster.nodes = {{"slow0", 0, 4}};
    const auto run = [&](const std::vector<Event>& events) {
        return metrics_of(
            replay(trace.cluster, trace.applications, trace.submissions, Sia{}, {.events = events}));
    };
    const double usual = run({}).average_hours;
    CHECK(run({{600, EventKind::node_added, "fast0", 1, 8}}).average_hours < 0.7 * usual);
}

TEST_CASE("events that make no sense are refused with the subject, the field and the value") {
    const support::LoneJob world;
    CHECK_THROWS_WITH(replay_alone(world, {{10, EventKind::node_fails, "nod"}}),
                      "event: subject is 'nod', but must be the name of a node");
    CHECK_THROWS_WITH(replay_alone(world, {{10, EventKind::job_fails, "node"}}),
                      "event: subject is 'node', but must be the name of a job");
    CHECK_THROWS_WITH(replay_alone(world, {{-1, EventKind::job_fails, "job"}}),
                      "event of 'job': time is -1, but must be a finite number of at least 0");
    CHECK_THROWS_WITH(replay_alone(world, {{9, EventKind::node_added, "node", 0, 4}}),
                      "node 'node': name is given twice, but must be a name of its own");
    CHECK_THROWS_AS(replay_alone(world, {{9, EventKind::node_added, "new", 1, 4}}), std::invalid_argument);
    CHECK_THROWS_AS(replay_alone(world, {{9, EventKind::node_added, "new", 0, 0}}), std::invalid_argument);
    CHECK_THROWS_WITH(
        replay_alone(world, {{9, EventKind::node_added, "new", 0, 4}, {8, EventKind::node_fails, "new"}}),
        "event of 'new': time is 8, but must be after the node's addition");
    CHECK_THROWS_AS(replay_alone(world, {}, 0), std::invalid_argument);
}

TEST_CASE("names are ordered with their numbers as numbers, and the order is total") {
    CHECK(name_before("job-9", "job-10"));
    CHECK_FALSE(name_before("job-10", "job-9"));
    CHECK(name_before("a", "b"));
    CHECK(name_before("a", "a1"));
    CHECK(name_before("a01", "a1"));
    CHECK(name_before("a2b", "a10a"));
    CHECK_FALSE(name_before("x", "x"));
    support::Random random(26);
    const auto draw = [&] {
        std::string name;
        for (int i = random.integer(0, 4); i > 0; --i) name += "01a-9"[random.integer(0, 4)];
        return name;
    };
    for (int i = 0; i < 20000; ++i) {
        const std::string a = draw(), b = draw(), c = draw();
        CHECK(name_before(a, b) + name_before(b, a) == (a != b));
        if (name_before(a, b) && name_before(b, c)) CHECK(name_before(a, c));
    }
}
