// A ProvingAllotter keeps the promises of an Allotter, with more searches, and serves jobs that hardly fit.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/proving.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

TEST_CASE("small problems at gap 0: the best of all choices") {
    Random random(20261128);
    ProvingAllotter kept;  // what it remembers of other problems must not matter
    for (int round = 0; round < support::trials(20'000); ++round) {
        CAPTURE(round);
        const AllotmentProblem problem = support::small_problem(random);
        const double best = support::BruteForce{}(problem);
        const AllotResult& result = kept(problem, {.gap = 0});
        if (std::isinf(best)) {
            REQUIRE(result.status == AllotStatus::infeasible);
            continue;
        }
        const double tolerance = 1e-12 * support::scale_of(problem);
        REQUIRE(result.status == AllotStatus::optimal);
        REQUIRE(std::abs(support::value_of(problem, result.choice) - best) <= tolerance);
        REQUIRE(std::abs(result.objective - best) <= tolerance);
        REQUIRE(std::abs(result.bound - best) <= tolerance);
    }
}

TEST_CASE("what the core alone soon proves is the same from both allotters, prices and states included") {
    Random random(20261129);
    ProvingAllotter proving;
    Allotter<> plain;
    int soon = 0;
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        const AllotmentProblem problem = support::cluster_problem(random, random.integer(16, 64));
        const AllotOptions options{.gap = 1e-3};
        const AllotResult &one = proving(problem, options), &other = plain(problem, options);
        if (other.nodes > std::size_t{1} << 11) continue;  // more than the core's first turn
        ++soon;
        REQUIRE(one.nodes == other.nodes);
        REQUIRE(one.choice == other.choice);
        REQUIRE(one.bound == other.bound);
        REQUIRE(one.prices == other.prices);
        const RelaxedAllotment split = proving.relax(problem), same = plain.relax(problem);
        REQUIRE(split.objective == same.objective);
        REQUIRE(split.prices == same.prices);
    }
    CHECK(soon > 150);
}

TEST_CASE("what is feasible is never said to be infeasible, however soon the search is cut off") {
    Random random(5100);
    int unknown = 0, found = 0;
    ProvingAllotter allotter;
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        double planted = 0;
        const AllotmentProblem problem =
            support::tight_problem(random, random.integer(2, 7), random.integer(5, 60), planted);
        const AllotOptions options = support::soon_cut_off(random);
        const AllotResult& result = allotter(problem, options);
        REQUIRE(result.status != AllotStatus::infeasible);
        REQUIRE(result.bound >= planted);
        unknown += result.status == AllotStatus::unknown ? 1 : 0;
        if (result.status == AllotStatus::unknown) continue;
        ++found;
        REQUIRE(std::abs(support::value_of(problem, result.choice) - result.objective) <= 1e-9);
    }
    CHECK(unknown > 10);
    CHECK(found > 30);
}

TEST_CASE("jobs that must run and hardly fit are served where their values show the way") {
    // Class b of the generalised assignment problems in the literature, with somewhat smaller capacities.
    constexpr int agents = 5, jobs = 100;
    int served = 0;
    ProvingAllotter allotter;
    for (int round = 0; round < 12; ++round) {
        Random random(static_cast<std::uint32_t>(5200 + round));
        AllotmentProblem problem;
        std::vector<double> cheapest(agents, 0);  // units of the jobs that cost least there
        for (int job = 0; job < jobs; ++job) {
            problem.add_job(true);
            std::size_t best = 0;
            for (std::uint32_t agent = 0; agent < agents; ++agent) {
                problem.add_option(random.integer(-50, -10),
                                   {{agent, static_cast<double>(random.integer(5, 25))}});
                if (problem.value(problem.jobs() - 1, agent) > problem.value(problem.jobs() - 1, best))
                    best = agent;
            }
            cheapest[best] += problem.uses(problem.jobs() - 1, best)[0].units;
        }
        const double most = *std::ranges::max_element(cheapest);
        problem.capacity.assign(agents, std::floor(0.66 * (9.0 * jobs / agents + 0.4 * most)));
        served += found_allotment(allotter(problem, {.gap = 1e-2}).status) ? 1 : 0;
    }
    CHECK(served == 12);
}
