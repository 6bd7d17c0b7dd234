// Tests that options are whole (allot/detail/whole_units.hpp): tightened capacities and rows lose no
// allotment, and leave the relaxation less to take in fractions.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/compactor.hpp"
#include "goodput/allot/detail/whole_units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/core/detail/clock.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using detail::CompactProblem;
using support::Random;

namespace {

/// Makes jobs that all differ, so that each is a group of its own. Units are multiples of a granule;
/// capacities need not be.
AllotmentProblem odd_problem(Random& random) {
    AllotmentProblem problem;
    const int granule = random.integer(1, 4), resources = random.integer(1, 3);
    for (int r = 0; r < resources; ++r) problem.capacity.push_back(random.integer(0, 12 * granule));
    for (int job = 0; job < random.integer(2, 5); ++job) {
        problem.add_job();
        for (int k = 0; k < random.integer(1, 3); ++k) {
            std::vector<ResourceUse> uses;
            for (std::uint32_t r = 0; r < problem.capacity.size(); ++r)
                if (random.chance(0.7))
                    uses.push_back({r, static_cast<double>(granule * random.integer(1, 5))});
            problem.add_option(1 + job + random.between(0, 1), uses);
        }
    }
    return problem;
}

/// Calls visit(taken) for every choice of at most one option per group; `taken` is its use of each resource.
template <class Visit>
void each_choice(const CompactProblem& problem, std::size_t group, std::vector<double>& taken, Visit visit) {
    if (group == problem.groups()) {
        visit(taken);
        return;
    }
    each_choice(problem, group + 1, taken, visit);
    for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
        for (const ResourceUse& use : problem.uses_of(k)) taken[use.resource] += use.units;
        each_choice(problem, group + 1, taken, visit);
        for (const ResourceUse& use : problem.uses_of(k)) taken[use.resource] -= use.units;
    }
}

/// Returns, for each choice in a fixed order, whether it keeps to all capacities.
std::vector<bool> feasible_choices(const CompactProblem& problem) {
    std::vector<bool> answer;
    std::vector<double> taken(problem.resources());
    each_choice(problem, 0, taken, [&](const std::vector<double>& all) {
        bool fits = true;
        for (std::size_t r = 0; r < all.size(); ++r)
            fits = fits && all[r] <= problem.capacity[r] + problem.tolerance[r];
        answer.push_back(fits);
    });
    return answer;
}

}  // namespace

TEST_CASE("no choice of whole options is lost or won by capacities and rows for whole units") {
    Random random(20261128);
    detail::Compactor compactor;
    detail::WholeUnits whole_units;
    int lowered = 0, rows = 0;
    for (int round = 0; round < support::trials(20'000); ++round) {
        CAPTURE(round);
        const AllotmentProblem given = odd_problem(random);
        CompactProblem problem;
        detail::Clock clock;
        REQUIRE(compactor.assign(given, problem, false, clock));
        CompactProblem tight = problem;
        const bool changed = whole_units(tight);
        REQUIRE(tight.count == problem.count);
        REQUIRE(feasible_choices(tight) == feasible_choices(problem));
        bool lower = false;
        for (std::size_t r = 0; r < problem.resources(); ++r) {
            REQUIRE(tight.capacity[r] <= problem.capacity[r]);
            lower = lower || tight.capacity[r] < problem.capacity[r];
        }
        const bool longer = tight.resources() > problem.resources();
        REQUIRE(changed == (lower || longer));
        lowered += lower ? 1 : 0;
        rows += longer ? 1 : 0;
    }
    CHECK(lowered > support::trials(20'000) / 20);
    CHECK(rows > support::trials(20'000) / 20);
}

TEST_CASE("twos and threes on seven GPUs: a row says that three jobs fit, not three and a half") {
    AllotmentProblem given;
    given.capacity = {7};
    for (int job = 0; job < 4; ++job) {
        given.add_job();
        given.add_option(2.0 + job, {{0, 2.0}});
        given.add_option(3.5 + job, {{0, 3.0}});
    }
    CompactProblem problem;
    detail::Compactor compactor;
    detail::Clock clock;
    REQUIRE(compactor.assign(given, problem, false, clock));
    REQUIRE(detail::WholeUnits()(problem));
    REQUIRE(problem.resources() == 2);
    CHECK(problem.capacity[1] == 3);
}
