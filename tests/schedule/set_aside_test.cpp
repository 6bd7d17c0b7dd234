// An invalid job or node is set aside and named, and the rest is planned.

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/renting.hpp"
#include "goodput/place/topology_placer.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

namespace schedule_set_aside {

using namespace goodput;
using support::Random;
using support::RandomRound;

constexpr AllotOptions exact{.gap = 0, .warm_start = false};

std::string refusal_of(Snapshot snapshot) {
    snapshot.strict = true;
    try {
        (void)plan(snapshot);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

/// Spoils a job. `way` selects how.
void spoil(Job& job, const Cluster& cluster, int way) {
    switch (way) {
        case 0:
            job.gradient = GradientStatistics{-0.1, 1};
            break;
        case 1:
            job.placement.push_back({cluster.nodes.size(), 1});
            break;
        case 2:
            job.types.pop_back();
            break;
        case 3:
            job.min_gpus = 0;
            break;
        case 4:
            job.weight = std::numeric_limits<double>::quiet_NaN();
            break;
        case 5:
            job.initial_batch = 0;
            break;
        case 6:
            job.within = "rack";  // the placer knows no racks
            break;
        case 7:
            job.checkpoints = {{.name = "full", .pause_seconds = -1}};
            break;
        case 8:
            job.set_aside = "its owner asked for it";
            break;
        default:
            job.submitted_seconds = std::numeric_limits<double>::infinity();
    }
}

Job elastic(const char* name, int most, Placement placement = {}) {
    Job job{.name = name, .max_gpus = most, .initial_batch = 32, .max_batch = 4096};
    job.types = {{.max_atomic_batch = 64}};
    job.placement = std::move(placement);
    return job;
}

TEST_CASE(
    "a spoiled job keeps what it holds or waits, and the others are planned as if it were pinned there") {
    Random random(83);
    int running = 0, waiting = 0;
    for (int trial = 0; trial < 150; ++trial) {
        CAPTURE(trial);
        Snapshot sound = RandomRound(random).snapshot;
        if (sound.jobs.empty()) continue;
        const auto spoiled =
            static_cast<std::size_t>(random.integer(0, static_cast<int>(sound.jobs.size()) - 1));
        Snapshot bad = sound;
        spoil(bad.jobs[spoiled], bad.cluster, trial % 10);
        Scheduler<> scheduler({}, exact);
        const Plan made = scheduler.plan(bad);

        REQUIRE(made.warnings.size() == 1);
        const std::string strict = refusal_of(bad);
        if (trial % 10 != 8) {
            CHECK(strict.find("'" + sound.jobs[spoiled].name + "'") != std::string::npos);
            CHECK(made.warnings[0] == strict + "; it is left as it is");
        } else {
            CHECK(strict == "");  // nothing is wrong with the job
            CHECK(made.warnings[0].find("its owner asked for it") != std::string::npos);
        }
        const Decision& decision = made.decisions[spoiled];
        CHECK(decision.placement == sound.jobs[spoiled].placement);
        CHECK(!decision.starts);
        CHECK(decision.action == (!decision.placement.empty()           ? Action::stay
                                  : bad.jobs[spoiled].placement.empty() ? Action::wait
                                                                        : Action::stop));
        CHECK(decision.verdict.reason.starts_with("set aside: "));
        CHECK((decision.verdict.outcome == Outcome::runs) == !decision.placement.empty());
        CHECK(explain_plan(scheduler, bad)[spoiled].reason == DecisionReason::set_aside);

        if (decision.placement.empty()) {
            ++waiting;
            sound.jobs.erase(sound.jobs.begin() + static_cast<std::ptrdiff_t>(spoiled));
            if (!sound.models.empty())
                sound.models.erase(sound.models.begin() + static_cast<std::ptrdiff_t>(spoiled));
            CHECK(made.objective == doctest::Approx(plan(sound, Sia{}, exact).objective));
            continue;
        }
        ++running;
        sound.jobs[spoiled].preemptible = false;
        const Plan pinned = plan(sound, Sia{}, exact);
        CHECK(made.objective - decision.value ==
              doctest::Approx(pinned.objective - pinned.decisions[spoiled].value));
        for (std::size_t j = 0; j < made.decisions.size(); ++j)
            if (sound.jobs[j].keeps_what_it_holds())
                CHECK(made.decisions[j].placement == sound.jobs[j].placement);
    }
    CHECK(running > 20);
    CHECK(waiting > 20);
}

TEST_CASE("no new job comes to a node that makes no sense, and jobs that hold GPUs there keep them") {
    for (int way = 0; way < 6; ++way) {
        CAPTURE(way);
        Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4"}, {{"a", 0, 4}, {"b", 0, 4}}}};
        snapshot.jobs = {elastic("here", 4, {{1, 4}}), elastic("there", 8, {{0, 2}}), elastic("new", 8)};
        Node& node = snapshot.cluster.nodes[1];
        if (way == 0) node.gpus = 0;
        if (way == 1) node.name = "a";
        if (way == 2) node.name = "";
        if (way == 3) node.gpu_type = 7;
        if (way == 4) node.cores = -1;
        if (way == 5) node.gpus = 1 << 21;
        const Plan made = plan(snapshot);
        REQUIRE(made.warnings.size() == 2);
        CHECK(made.warnings[0] == refusal_of(snapshot) + "; it gets no new jobs");
        CHECK(made.warnings[1].find("job 'here'") == 0);
        CHECK(made.decisions[0].placement == Placement{{1, 4}});
        Snapshot without = snapshot;
        without.cluster.nodes.pop_back();
        without.jobs.erase(without.jobs.begin());
        const Plan others = plan(without);
        CHECK(made.decisions[1].placement == others.decisions[0].placement);
        CHECK(made.decisions[2].placement == others.decisions[1].placement);
    }
}

TEST_CASE("a node that shrank under its jobs: one too many is set aside, and no new job comes") {
    Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4"}, {{"a", 0, 6}, {"b", 0, 4}}}};
    snapshot.jobs = {elastic("first", 4, {{0, 4}}), elastic("second", 4, {{0, 4}}), elastic("new", 8)};
    const Plan made = plan(snapshot);
    REQUIRE(made.warnings.size() == 1);
    CHECK(made.warnings[0].find("job 'second': placement on node 'a' is 4") == 0);
    CHECK(made.decisions[1].placement == Placement{{0, 4}});
    for (const NodeShare& share : made.decisions[2].placement) CHECK(share.node == 1);
    // A job that holds more than the whole node.
    snapshot.jobs = {elastic("large", 8, {{0, 8}}), elastic("new", 8)};
    const Plan one = plan(snapshot);
    CHECK(one.decisions[0].placement == Placement{{0, 8}});
    CHECK(one.decisions[0].action == Action::stay);
    CHECK(!one.decisions[0].starts);
    REQUIRE(!one.decisions[1].placement.empty());
    CHECK(one.decisions[1].placement.front().node == 1);
}

TEST_CASE("the second of two jobs with one name is set aside, and so is a job without a name") {
    Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4"}, {{"a", 0, 4}}}};
    snapshot.jobs = {elastic("x", 1), elastic("x", 1), elastic("", 1), elastic("y", 1)};
    const Plan made = plan(snapshot);
    CHECK(made.warnings.size() == 2);
    CHECK(made.decisions[0].placement.size() == 1);
    CHECK(made.decisions[1].placement.empty());
    CHECK(made.decisions[2].placement.empty());
    CHECK(made.decisions[3].placement.size() == 1);
    CHECK(made.report().find("; 2 warnings") != std::string::npos);
}

TEST_CASE("errors that do not concern a single job or node are refused in any case") {
    Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4"}, {{"a", 0, 4}}}};
    snapshot.jobs = {elastic("x", 1)};
    Snapshot clock = snapshot, models = snapshot, typeless = snapshot;
    clock.time_seconds = std::nan("");
    models.models.resize(2);
    typeless.cluster.gpu_types.clear();
    for (const Snapshot& bad : {clock, models, typeless})
        CHECK_THROWS_AS((void)plan(bad), std::invalid_argument);
}

TEST_CASE("all jobs spoiled, all nodes spoiled: a plan, under other policies and placers, too") {
    Random random(84);
    for (int trial = 0; trial < 40; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = RandomRound(random).snapshot;
        const std::vector<Job> jobs = snapshot.jobs;
        if (trial % 2 == 0)
            for (Job& job : snapshot.jobs) spoil(job, snapshot.cluster, random.integer(0, 9));
        if (trial % 3 == 0)
            for (Node& node : snapshot.cluster.nodes) node.gpus = 0;
        Scheduler<GoodputPolicy, TopologyPlacer> scheduler;
        const Plan& made = scheduler.plan(snapshot);
        REQUIRE(made.decisions.size() == jobs.size());
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (scheduler.is_set_aside(j)) CHECK(made.decisions[j].placement == jobs[j].placement);
        (void)explain_plan(scheduler, snapshot);
        CHECK_NOTHROW((void)RentAdvisor<>(10).advise(snapshot, {}));
    }
}

}  // namespace schedule_set_aside
