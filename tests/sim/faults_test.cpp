// Replays of bad traces, and under bad policies, end and say what was wrong.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/sia.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"
#include "sim/replay_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// Sia, except that it throws at some moments and answers NaN for some job.
struct UnreliableSia : Sia {
    double every_seconds = 0;  ///< throws in the first half of each such period; never if 0
    std::string victim{};      ///< job whose values are NaN
    void value_row(const Round& round, const Job& job, std::span<const Option> options,
                   std::span<double> values) const {
        if (every_seconds > 0 && std::fmod(round.time_seconds, every_seconds) < every_seconds / 2)
            throw std::runtime_error("not now");
        Sia::value_row(round, job, options, values);
        if (job.name == victim)
            std::fill(values.begin(), values.end(), std::numeric_limits<double>::quiet_NaN());
    }
};

/// Checks that jobs never hold more GPUs than there are.
void check_periods(const ReplayResult& result, int gpus) {
    std::vector<std::pair<double, int>> changes;
    for (const HeldPeriod& period : result.held_periods) {
        changes.emplace_back(period.end_seconds, -period.configuration.gpus());
        changes.emplace_back(period.begin_seconds, period.configuration.gpus());
    }
    std::sort(changes.begin(), changes.end());
    int held = 0;
    for (const auto& [time, change] : changes) CHECK((held += change) <= gpus);
}

}  // namespace

TEST_CASE("under a policy that fails half of the time all jobs complete, and no job is stopped by a fault") {
    support::Random random(81);
    const support::ReplayWorld world(random, 20);
    UnreliableSia unreliable;
    unreliable.every_seconds = 120;
    std::vector<Placement> before;
    std::size_t kept = 0;
    const ReplayResult result =
        replay(world.cluster, world.applications, world.submissions, unreliable, {},
               [&](double, const Snapshot& snapshot, auto make_plan) {
                   const Plan& plan = make_plan();
                   if (plan.faults.empty()) return;
                   CHECK(plan.faults.size() == snapshot.jobs.size());
                   for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
                       CHECK(plan.decisions[j].placement == snapshot.jobs[j].placement);
                       kept += snapshot.jobs[j].placement.empty() ? 0 : 1;
                   }
               });
    CHECK(kept > 20);
    CHECK(result.faults > 20);
    CHECK(result.first_fault.find("threw: not now") != std::string::npos);
    CHECK(metrics_of(result).completed == 20);
    check_periods(result, 36);
}

TEST_CASE("a job that the policy never values waits; the others' replay is as if it did not exist") {
    support::Random random(82);
    support::ReplayWorld world(random, 12);
    UnreliableSia unreliable;
    unreliable.victim = world.submissions[5].name;
    const ReplayResult with = replay(world.cluster, world.applications, world.submissions, unreliable, {},
                                     [](double, const Snapshot&, auto make_plan) { make_plan(); });
    CHECK(!with.jobs[5].completed_seconds);
    CHECK(with.jobs[5].gpu_seconds == 0);
    CHECK(with.faults >= with.rounds / 2);
    world.submissions.erase(world.submissions.begin() + 5);
    const ReplayResult without = replay(world.cluster, world.applications, world.submissions, Sia{});
    for (std::size_t j = 0; j < without.jobs.size(); ++j)
        CHECK(without.jobs[j].completed_seconds == with.jobs[j + (j >= 5)].completed_seconds);
    // The replay gave up: no job can run any more, and none is to come.
    CHECK(with.end_seconds < without.end_seconds + 60 * 10'002);
    CHECK(with.rounds > 10'000);
}

TEST_CASE("years without jobs pass at once, and change nothing but the time") {
    support::Random random(83);
    support::ReplayWorld world(random, 8);
    const ReplayResult now = replay(world.cluster, world.applications, world.submissions, Sia{});
    constexpr double later = 60 * 1e7;  // nineteen years
    for (Submission& submission : world.submissions) submission.time_seconds += later;
    const ReplayResult then = replay(world.cluster, world.applications, world.submissions, Sia{});
    CHECK(then.rounds == now.rounds);
    REQUIRE(then.held_periods.size() == now.held_periods.size());
    for (std::size_t s = 0; s < now.held_periods.size(); ++s) {
        CHECK(then.held_periods[s].job == now.held_periods[s].job);
        CHECK(then.held_periods[s].configuration == now.held_periods[s].configuration);
        CHECK(then.held_periods[s].begin_seconds - later ==
              doctest::Approx(now.held_periods[s].begin_seconds));
    }
    for (std::size_t j = 0; j < now.jobs.size(); ++j)
        CHECK(*then.jobs[j].completed_seconds - later == doctest::Approx(*now.jobs[j].completed_seconds));
}

TEST_CASE("input that no replay can make sense of is refused by name") {
    support::Random random(84);
    support::ReplayWorld world(random, 3);
    const auto why = [&](const ReplayOptions& options) -> std::string {
        try {
            replay(world.cluster, world.applications, world.submissions, Sia{}, options);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    CHECK(why({.interval_seconds = 1e-20}) ==
          "replay: interval is 1e-20, but must be a finite number of at least 0.001");
    CHECK(why({.last_second = std::numeric_limits<double>::quiet_NaN()}) ==
          "replay: last second is nan, but must be a number");
    world.submissions[2].time_seconds = 1e300;
    CHECK(why({}) == "job 'job-2': time is 1e+300, but must be at most 1e+12");
    world.submissions[2].time_seconds = world.submissions[1].time_seconds;
    world.submissions[2].name = world.submissions[0].name;
    CHECK(why({}) == "job 'job-0': name is given twice, but must be a name of its own");
    support::ReplayWorld other(random, 3);
    Application& application = other.applications[0];
    const auto refused = [&](const std::string& beginning) {
        try {
            replay(other.cluster, other.applications, other.submissions, Sia{});
        } catch (const std::invalid_argument& error) {
            return std::string(error.what())
                .starts_with("application '" + application.name + "': " + beginning);
        }
        return false;
    };
    for (const double bad : {-1.0, -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::infinity(), std::nan("")}) {
        application.restart_seconds = bad;
        CHECK(refused("restart is "));
    }
    application.restart_seconds = 30;
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
        application.slowdown = bad;
        CHECK(refused("slowdown is "));
    }
}
