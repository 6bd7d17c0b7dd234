// A problem contains what was put in, whatever the order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Fills `other` with the jobs of `problem`, adding options in a random order of the jobs. Now and then a job
/// starts late, is marked as must-run late, or has the value of an option set later.
void fill_in_random_order(const AllotmentProblem& problem, Random& random, AllotmentProblem& other) {
    other.clear();
    other.capacity = problem.capacity;
    std::vector<std::size_t> unfinished;
    const bool all_at_once = random.chance(0.5);
    const auto begin_job = [&] {
        const std::size_t job = other.jobs();
        const bool now = random.chance(0.5);
        other.add_job(now && problem.must(job));
        if (!now) other.set_must(job, problem.must(job));
        if (problem.options_of(job) > 0) unfinished.push_back(job);
    };
    while (other.jobs() < problem.jobs() || !unfinished.empty()) {
        if (other.jobs() < problem.jobs() && (all_at_once || unfinished.empty() || random.chance(0.3))) {
            begin_job();
            continue;
        }
        const auto at = static_cast<std::size_t>(random.integer(0, static_cast<int>(unfinished.size()) - 1));
        const std::size_t job = unfinished[at], option = other.options_of(job);
        const bool later = random.chance(0.2);
        const double value = problem.value(job, option);
        REQUIRE(other.add_option(job, later ? 17 : value, problem.uses(job, option)) == option);
        if (later) other.set_value(job, option, value);
        if (other.options_of(job) == problem.options_of(job))
            unfinished.erase(unfinished.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

bool same(const ResourceUse& a, const ResourceUse& b) {
    return a.resource == b.resource && a.units == b.units;
}

void require_same(const AllotmentProblem& a, const AllotmentProblem& b) {
    REQUIRE(a.jobs() == b.jobs());
    REQUIRE(a.options() == b.options());
    REQUIRE(a.use_count() == b.use_count());
    for (std::size_t job = 0; job < a.jobs(); ++job) {
        REQUIRE(a.must(job) == b.must(job));
        REQUIRE(std::ranges::equal(a.values(job), b.values(job)));
        REQUIRE(std::ranges::equal(a.uses(job), b.uses(job), same));
        REQUIRE(std::ranges::equal(a.use_offsets(job), b.use_offsets(job)));
        for (std::size_t k = 0; k < a.options_of(job); ++k) {
            REQUIRE(a.value(job, k) == b.value(job, k));
            REQUIRE(std::ranges::equal(a.uses(job, k), b.uses(job, k), same));
        }
    }
}

void require_same(const AllotResult& a, const AllotResult& b) {
    REQUIRE(a.choice == b.choice);
    REQUIRE(a.objective == b.objective);
    REQUIRE(a.bound == b.bound);
    REQUIRE(a.status == b.status);
    REQUIRE(a.prices == b.prices);
    REQUIRE(a.nodes == b.nodes);
}

}  // namespace

TEST_CASE("options in any order of the jobs are the same problem, and get the same answer") {
    Random random(20261122);
    AllotmentProblem other;  // data of earlier problems must not show
    for (int round = 0; round < 3'000; ++round) {
        CAPTURE(round);
        const AllotmentProblem problem =
            round % 100 == 0 ? support::cluster_problem(random, 64) : support::small_problem(random, 8);
        fill_in_random_order(problem, random, other);
        require_same(problem, other);
        require_same(allot(problem, {.gap = 0, .most_states = 100'000}),
                     allot(other, {.gap = 0, .most_states = 100'000}));
    }
}

TEST_CASE("a job like another has that job's options, and options of its own after that") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Random random(seed);
        const AllotmentProblem problem = support::small_problem(random);
        AllotmentProblem copied, added;
        copied.capacity = added.capacity = problem.capacity;
        const auto add = [&](std::size_t job) {
            added.add_job(problem.must(job));
            for (std::size_t k = 0; k < problem.options_of(job); ++k)
                added.add_option(problem.value(job, k), problem.uses(job, k));
        };
        std::vector<std::size_t> place(problem.jobs(), no_option);
        for (int n = 0; n < 30 && problem.jobs() > 0; ++n) {
            const auto job =
                static_cast<std::size_t>(random.integer(0, static_cast<int>(problem.jobs()) - 1));
            if (place[job] != no_option) {
                REQUIRE(copied.add_job_like(place[job]) == added.jobs());
            } else {
                place[job] = copied.add_job(problem.must(job));
                for (std::size_t k = 0; k < problem.options_of(job); ++k)
                    copied.add_option(problem.value(job, k), problem.uses(job, k));
            }
            add(job);
            require_same(copied, added);
        }
        for (int n = 0; n < 30 && added.jobs() > 0; ++n) {
            const auto job = static_cast<std::size_t>(random.integer(0, static_cast<int>(added.jobs()) - 1));
            const std::vector<ResourceUse> uses{{0, 1.0 * n}};
            copied.add_option(job, n, uses);
            added.add_option(job, n, uses);
        }
        require_same(copied, added);
        CHECK_THROWS_AS(copied.add_job_like(copied.jobs()), std::invalid_argument);
    }
}

TEST_CASE("values written in place are the problem's") {
    Random random(4);
    for (int round = 0; round < 300; ++round) {
        const AllotmentProblem problem = support::small_problem(random);
        AllotmentProblem other = problem;
        for (std::size_t job = 0; job < other.jobs(); ++job)
            for (double& value : other.values(job)) value = 17;
        for (std::size_t job = 0; job < other.jobs(); ++job)
            std::ranges::copy(problem.values(job), other.values(job).begin());
        require_same(problem, other);
    }
}

TEST_CASE("a hundred thousand jobs filled in turn take no quadratic time") {
    constexpr std::size_t jobs = 100'000, options = 12;
    AllotmentProblem problem;
    problem.capacity = {1};
    for (std::size_t job = 0; job < jobs; ++job) problem.add_job();
    for (std::size_t k = 0; k < options; ++k)
        for (std::size_t job = jobs; job-- > 0;)
            problem.add_option(job, static_cast<double>(job * options + k), {{0, static_cast<double>(k)}});
    CHECK(problem.options() == jobs * options);
    bool right = true;
    for (std::size_t job = 0; job < jobs; ++job)
        for (std::size_t k = 0; k < options; ++k)
            right = right && problem.value(job, k) == static_cast<double>(job * options + k) &&
                    problem.uses(job, k).size() == 1 &&
                    problem.uses(job, k)[0].units == static_cast<double>(k);
    CHECK(right);
}

TEST_CASE("jobs and options that do not exist are refused") {
    AllotmentProblem problem;
    CHECK_THROWS_WITH_AS(problem.add_option(0, 1, {}),
                         "allotment problem: job is 0, but must be below the number of jobs, 0",
                         std::invalid_argument);
    problem.add_job();
    CHECK_THROWS_AS(problem.add_option(1, 1, {}), std::invalid_argument);
    CHECK_THROWS_AS(problem.set_must(1, true), std::invalid_argument);
    CHECK_THROWS_AS(problem.set_value(1, 0, 1), std::invalid_argument);
    CHECK_THROWS_WITH_AS(
        problem.set_value(0, 0, 1),
        "allotment problem: option is 0, but must be below the number of options of job 0, 0",
        std::invalid_argument);
}
