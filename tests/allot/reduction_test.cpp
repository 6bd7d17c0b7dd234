// Tests which parts of a problem may be left out. These must stay: jobs that only look alike, values that are
// only nearly whole. Options that are good at no prices may go.

#include <cmath>
#include <cstdint>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// Requires that the answer at gap 0 is the best of all choices, and that the bound says so.
void require_exact(const AllotmentProblem& problem) {
    const AllotResult result = allot(problem, {.gap = 0});
    const double best = support::BruteForce{}(problem), tolerance = 1e-12 * support::scale_of(problem);
    REQUIRE(result.status == AllotStatus::optimal);
    REQUIRE(std::abs(support::value_of(problem, result.choice) - best) <= tolerance);
    REQUIRE(std::abs(result.objective - best) <= tolerance);
    REQUIRE(result.bound >= best - tolerance);
    REQUIRE(result.bound <= best + tolerance);
}

}  // namespace

TEST_CASE("jobs with the same values and the same uses are not equal if the uses belong to other options") {
    support::Random random(41);
    for (int round = 0; round < 3'000; ++round) {
        AllotmentProblem problem;
        problem.capacity = {static_cast<double>(random.integer(1, 5)),
                            static_cast<double>(random.integer(1, 5))};
        const std::vector<ResourceUse> uses{{0, 1}, {1, 1}, {0, 2}, {1, 1}};
        const std::size_t options = 2 + static_cast<std::size_t>(random.integer(0, 1));
        for (int job = 0; job < 5; ++job) {
            problem.add_job();
            std::size_t begin = 0;
            for (std::size_t k = 0; k < options; ++k) {
                const std::size_t end = k + 1 == options
                                            ? uses.size()
                                            : static_cast<std::size_t>(random.integer(
                                                  static_cast<int>(begin), static_cast<int>(uses.size())));
                problem.add_option(static_cast<double>(k + 1),
                                   std::span<const ResourceUse>(uses.data() + begin, uses.data() + end));
                begin = end;
            }
        }
        CAPTURE(round);
        require_exact(problem);
    }
}

TEST_CASE("values a little off whole numbers are not whole: what they add up to decides") {
    support::Random random(42);
    for (int round = 0; round < 3'000; ++round) {
        AllotmentProblem problem;
        const int resources = random.integer(1, 2);
        const double little = std::pow(10, -random.integer(7, 11));
        for (int r = 0; r < resources; ++r) problem.capacity.push_back(random.integer(3, 12));
        for (int job = 0; job < 7; ++job) {
            problem.add_job();
            for (int k = random.integer(1, 2); k > 0; --k)
                problem.add_option(random.integer(1, 4) + 4 * little * random.integer(-1, 1),
                                   {{static_cast<std::uint32_t>(random.integer(0, resources - 1)),
                                     static_cast<double>(random.integer(1, 4))}});
        }
        CAPTURE(round);
        require_exact(problem);
    }
}

TEST_CASE("options that the prices rule out do not make the search longer") {
    support::Random random(43);
    std::size_t without = 0, with = 0;
    for (int round = 0; round < 60; ++round) {
        // Half of the jobs compete for each resource. In `more` every job has additional options on the other
        // resource that are worth next to nothing.
        AllotmentProblem plain, more;
        plain.capacity = more.capacity = {61, 59};
        for (std::uint32_t job = 0; job < 24; ++job) {
            const std::uint32_t wanted = job % 2;
            plain.add_job();
            more.add_job();
            const double worth = random.between(0.5, 2);
            for (int k = 1; k <= 3; ++k) {
                const double units = 2 * k + random.integer(0, 3), value = worth * std::sqrt(units);
                plain.add_option(value, {{wanted, units}});
                more.add_option(value, {{wanted, units}});
            }
            for (int k = 1; k <= 3; ++k) more.add_option(0.01 * k, {{1 - wanted, 7.0 + k}});
        }
        const AllotResult short_one = allot(plain, {.gap = 0}), long_one = allot(more, {.gap = 0});
        REQUIRE(std::abs(short_one.objective - long_one.objective) <= 1e-12 * support::scale_of(plain));
        without += short_one.nodes;
        with += long_one.nodes;
    }
    CHECK(without > 1'000);
    CHECK(with <= without + without / 10);
}
