// Rented nodes in a replay: they come after their start-up, are paid by the minute from their order to their
// end, and a cluster that is rented as a whole behaves like an owned one.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/renter.hpp"
#include "goodput/sim/replay.hpp"
#include "sim/work_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;
using support::WorkWorld;

/// Rents as many nodes as a function of the snapshot returns.
struct Told {
    std::function<int(const Snapshot&)> nodes{};
    std::vector<int> answer{};
    std::span<const int> rent(const Snapshot& snapshot, std::span<const RentOffer> offers,
                              std::span<const int>) {
        answer.assign(offers.size(), nodes(snapshot));
        return answer;
    }
};

WorkWorld random_world(support::Random& random, int jobs) {
    WorkWorld world;
    double time = 0;
    for (int j = 0; j < jobs; ++j) {
        time += random.between(0, 600);
        world.add(time, 1 << random.integer(0, 3), random.between(10, 4000));
    }
    return world;
}

const RentOffer four{.name = "one", .gpus = 4, .dollars_per_hour = 6, .most_nodes = 3, .start_seconds = 180};

TEST_CASE("A cluster that is rented as a whole, without a start-up, behaves like an owned one") {
    support::Random random(5);
    for (int round = 0; round < 20; ++round) {
        const WorkWorld world = random_world(random, 15);
        Cluster cluster{.gpu_types = {"one"}};
        for (int n = 0; n < 3; ++n) cluster.nodes.push_back({.name = "one-" + std::to_string(n), .gpus = 4});
        std::vector<Event> events{{500, EventKind::node_fails, "one-1"},
                                  {1000, EventKind::node_returns, "one-1"}};
        WorkWorld fixed = world, rented = world;
        RentOffer offer = four;
        offer.start_seconds = 0;
        const ReplayResult a = replay(cluster, fixed, Fifo(), {.events = events});
        const ReplayResult b =
            replay(Cluster{.gpu_types = {"one"}}, rented, Fifo(), {.events = events, .offers = {offer}});
        REQUIRE(a.jobs.size() == b.jobs.size());
        for (std::size_t j = 0; j < a.jobs.size(); ++j) {
            CHECK(a.jobs[j].completed_seconds == b.jobs[j].completed_seconds);
            CHECK(a.jobs[j].gpu_seconds == b.jobs[j].gpu_seconds);
        }
        CHECK(a.rented.empty());
        CHECK(metrics_of(a).dollars == 0);
        CHECK(metrics_of(b).dollars > 0);
    }
}

TEST_CASE("A node comes after its start-up and is paid from its order on, by the minute") {
    WorkWorld world;
    world.add(30, 4, 4 * 100.0);
    const ReplayResult result =
        replay(Cluster{.gpu_types = {"one"}}, world, Fifo(), {.offers = {four}}, unobserved,
               Told{[](const Snapshot& snapshot) { return snapshot.jobs.empty() ? 0 : 1; }, {}});
    // Seen and ordered at 60, there at 240, complete at 340.
    REQUIRE(result.jobs[0].completed_seconds);
    CHECK(*result.jobs[0].completed_seconds == doctest::Approx(340));
    REQUIRE(result.rented.size() == 1);
    CHECK(result.rented[0].begin_seconds == 60);
    CHECK(result.rented[0].end_seconds == 360);
    CHECK(result.rented[0].dollars == doctest::Approx(5 * 6 / 60.0));
    CHECK(metrics_of(result).node_hours == doctest::Approx(300 / 3600.0));
}

TEST_CASE("Nodes are given back in quiet hours, first those without jobs") {
    WorkWorld world;
    world.add(0, 4, 4 * 3000.0);
    world.add(0, 4, 4 * 300.0);
    world.add(40000, 1, 100);
    const ReplayResult result =
        replay(Cluster{.gpu_types = {"one"}}, world, Fifo(), {.offers = {four}}, unobserved,
               Told{[](const Snapshot& snapshot) { return static_cast<int>(snapshot.jobs.size()); }, {}});
    for (const JobOutcome& job : result.jobs) {
        CHECK(job.completed_seconds);
        CHECK(job.restarts == 0);
    }
    for (const RentedPeriod& period : result.rented)
        CHECK((period.end_seconds <= 3600 || period.begin_seconds >= 40000));
    CHECK(metrics_of(result).node_hours < 1.2);
}

TEST_CASE("A node of a job that may not be stopped stays") {
    WorkWorld world;
    world.add(0, 4, 4 * 1000.0);
    world.trace[0].preemptible = false;
    bool started = false;
    const ReplayResult result =
        replay(Cluster{.gpu_types = {"one"}}, world, Fifo(), {.offers = {four}}, unobserved,
               Told{[&](const Snapshot& snapshot) {
                        for (const Job& job : snapshot.jobs) started |= !job.placement.empty();
                        return started ? 0 : 1;
                    },
                    {}});
    REQUIRE(result.jobs[0].completed_seconds);
    CHECK(*result.jobs[0].completed_seconds == doctest::Approx(1240));
    CHECK(result.jobs[0].restarts == 0);
}

TEST_CASE("A spot node that is taken back costs nothing more, and the job goes on elsewhere") {
    WorkWorld world;
    world.add(0, 4, 4 * 1000.0);
    const ReplayResult result =
        replay(Cluster{.gpu_types = {"one"}}, world, Fifo(),
               {.events = {{600, EventKind::node_fails, "one-0"}, {9000, EventKind::node_returns, "one-0"}},
                .offers = {four}},
               unobserved, Told{[](const Snapshot& snapshot) { return snapshot.jobs.empty() ? 0 : 1; }, {}});
    REQUIRE(result.jobs[0].completed_seconds);
    CHECK(result.jobs[0].failures == 1);
    REQUIRE(result.rented.size() == 2);
    CHECK(result.rented[0].end_seconds == 600);
    CHECK(result.rented[1].begin_seconds == 600);
}

TEST_CASE("With a limit of 0 no job runs, and nothing is paid") {
    WorkWorld world;
    world.add(0, 1, 100);
    RentOffer none = four;
    none.most_nodes = 0;
    const ReplayResult result =
        replay(Cluster{.gpu_types = {"one"}}, world, Fifo(), {.most_idle_rounds = 20, .offers = {none}});
    CHECK(!result.jobs[0].completed_seconds);
    CHECK(metrics_of(result).dollars == 0);
}

}  // namespace
