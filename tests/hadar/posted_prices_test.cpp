// Allotments at posted prices are always allowed and never above their bound. They are at most worse than the
// best by the ratio that they promise.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/hadar/posted_prices.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Makes jobs that want up to `most_units` of a few resources, with values within a factor of `spread`.
AllotmentProblem random_problem(Random& random, int most_jobs, int most_units, double spread, bool whole,
                                double must = 0) {
    AllotmentProblem problem;
    const int resources = random.integer(1, 3);
    for (int r = 0; r < resources; ++r) problem.capacity.push_back(random.integer(1, 12));
    const int jobs = random.integer(1, most_jobs);
    for (int j = 0; j < jobs; ++j) {
        problem.add_job(random.chance(must));
        const int options = random.integer(1, 3);
        for (int k = 0; k < options; ++k) {
            const double units = whole ? random.integer(1, most_units) : random.between(0.1, most_units);
            std::vector<ResourceUse> uses{
                {static_cast<std::uint32_t>(random.integer(0, resources - 1)), units}};
            if (random.chance(0.3)) {
                const auto other = static_cast<std::uint32_t>(random.integer(0, resources - 1));
                if (other != uses[0].resource) uses.push_back({other, whole ? 1.0 : random.between(0.1, 1)});
            }
            problem.add_option(std::exp(random.between(0, std::log(spread))) * units, uses);
        }
    }
    return problem;
}

PostedPrices solver_of(Random& random) {
    return PostedPrices({.order = random.chance(0.5) ? PostedOrder::as_listed : PostedOrder::densest_first,
                         .fills_idle = random.chance(0.5)});
}

}  // namespace

TEST_CASE("objective <= best <= bound, and best <= ratio * objective where a ratio is promised") {
    Random random(1);
    int promised = 0;
    for (int round = 0; round < 3000; ++round) {
        const AllotmentProblem problem =
            random_problem(random, 25, random.integer(1, 4), random.chance(0.5) ? 3 : 100, round % 4 != 0);
        PostedPrices posted = solver_of(random);
        const AllotResult& found = posted(problem);
        const AllotResult best = allot(problem, {.gap = 0});
        REQUIRE(best.status == AllotStatus::optimal);
        CHECK(support::value_of(problem, found.choice) == doctest::Approx(found.objective));
        CHECK(found.objective <= best.objective + 1e-9);
        CHECK(best.objective <= found.bound * (1 + 1e-9));
        CHECK(posted.published_ratio() >= 2);
        CHECK(posted.ratio() >= posted.published_ratio() * (1 - 1e-9));
        if (!std::isfinite(posted.ratio())) continue;
        ++promised;
        CHECK(found.objective * posted.ratio() >= best.objective * (1 - 1e-9));
    }
    CHECK(promised > 1500);
}

TEST_CASE("small jobs: the promise comes near to the published 2 alpha") {
    Random random(2);
    AllotmentProblem problem;
    problem.capacity = {1000};
    for (int j = 0; j < 3000; ++j) {
        problem.add_job();
        problem.add_option(random.between(1, 20), {{0, 1}});
    }
    PostedPrices posted;
    const AllotResult found = posted(problem);
    CHECK(posted.published_ratio() == doctest::Approx(2 * std::log(20)).epsilon(0.02));
    CHECK(posted.ratio() == doctest::Approx(posted.published_ratio()).epsilon(0.01));
    CHECK(found.objective * posted.ratio() >= allot(problem).objective);
}

TEST_CASE("what comes later is kept room for: a job that pays little does not take the last GPU") {
    AllotmentProblem problem;
    problem.capacity = {4};
    for (const double value : {1.0, 1.0, 1.0, 1.0, 10.0, 10.0}) {
        problem.add_job();
        problem.add_option(value, {{0, 1}});
    }
    PostedPrices posted;
    const AllotResult found = posted(problem);
    CHECK(found.choice[4] == 0);
    CHECK(found.choice[5] == 0);
    CHECK(found.choice[3] == no_option);
    CHECK(found.objective > 20);
}

TEST_CASE("on problems with everything that is odd: allowed, and within the bound") {
    Random random(3);
    for (int round = 0; round < 2000; ++round) {
        const AllotmentProblem problem = support::small_problem(random);
        PostedPrices posted = solver_of(random);
        const AllotResult& found = posted(problem);
        if (!found_allotment(found.status)) continue;
        const AllotResult best = allot(problem, {.gap = 0});
        const double rounding = 1e-9 * (1 + support::scale_of(problem));
        REQUIRE(best.status == AllotStatus::optimal);
        CHECK(std::abs(support::value_of(problem, found.choice) - found.objective) <= rounding);
        CHECK(found.objective <= best.objective + rounding);
        CHECK(best.objective <= found.bound + rounding);
    }
}

TEST_CASE("jobs that must run do so in any order, or the result says that it found no way") {
    Random random(4);
    int unknown = 0;
    for (int round = 0; round < 1000; ++round) {
        const AllotmentProblem problem = random_problem(random, 8, 3, 10, true, 0.3);
        PostedPrices posted = solver_of(random);
        const AllotResult& found = posted(problem);
        const AllotResult best = allot(problem, {.gap = 0});
        if (found.status == AllotStatus::unknown) {
            ++unknown;
            CHECK(found.objective == 0);
            CHECK(std::all_of(found.choice.begin(), found.choice.end(),
                              [](std::size_t k) { return k == no_option; }));
            continue;
        }
        REQUIRE(best.status == AllotStatus::optimal);
        CHECK(support::value_of(problem, found.choice) == doctest::Approx(found.objective));
        CHECK(best.objective <= found.bound * (1 + 1e-9));
    }
    CHECK(unknown < 500);
}

TEST_CASE("odd problems: nothing to give, no job to ask, the same resource twice, numbers at their limits") {
    PostedPrices posted;
    AllotmentProblem problem;
    CHECK(posted(problem).status == AllotStatus::optimal);
    problem.capacity = {0, 5};
    problem.add_job();
    problem.add_option(3, {{0, 1}});
    problem.add_option(1, {{1, 3}, {1, 3}});
    CHECK(posted(problem).choice[0] == no_option);
    problem.add_option(1e-300, {{1, 5}});
    problem.add_job();
    problem.add_option(1e150, {{1, 1e-300}});
    CHECK(support::value_of(problem, posted(problem).choice) == 1e150);
    problem.add_job();
    problem.add_option(1, {{7, 1}});
    CHECK_THROWS_AS(posted(problem), std::invalid_argument);
}

TEST_CASE("units by the billion: what is given fits to the last unit") {
    Random random(5);
    int full = 0;
    for (int round = 0; round < 1000; ++round) {
        AllotmentProblem problem;
        problem.capacity = {std::floor(std::exp2(random.between(20, 36)))};
        double left = problem.capacity[0];
        for (int job = random.integer(1, 5); job > 0; --job) {
            problem.add_job();
            const double units = job > 1 ? std::ceil(left * random.between(0, 1)) : left;
            problem.add_option(random.between(1, 10), {{0, std::max(units, 1.0)}});
            left -= units;
        }
        problem.add_job();
        problem.add_option(random.between(1, 10), {{0, 1}});
        PostedPrices posted = solver_of(random);
        const AllotResult& found = posted(problem);
        double used = 0;
        for (std::size_t job = 0; job < problem.jobs(); ++job)
            if (found.choice[job] != no_option) used += problem.uses(job, 0)[0].units;
        REQUIRE(used <= problem.capacity[0]);
        full += used == problem.capacity[0] ? 1 : 0;
    }
    CHECK(full > 60);
}

TEST_CASE("values in jobs per second work like those in jobs per hour: optimal means proven to the gap") {
    Random random(6);
    int proven = 0, open = 0;
    for (int round = 0; round < 500; ++round) {
        const AllotmentProblem hourly = random_problem(random, 12, 4, 5, true);
        const double factor = random.chance(0.5) ? 1e-5 : 1e-15;
        AllotmentProblem secondly;
        secondly.capacity = hourly.capacity;
        for (std::size_t job = 0; job < hourly.jobs(); ++job) {
            secondly.add_job(hourly.must(job));
            for (std::size_t k = 0; k < hourly.options_of(job); ++k)
                secondly.add_option(factor * hourly.value(job, k), hourly.uses(job, k));
        }
        const AllotOptions options{.gap = random.chance(0.5) ? 1e-4 : 0.2};
        PostedPrices posted({.fills_idle = random.chance(0.5)});
        const AllotStatus status = posted(hourly, options).status;
        const AllotResult& found = posted(secondly, options);
        const double best = allot(secondly, {.gap = 0}).objective;
        CHECK(found.status == status);
        if (found.status == AllotStatus::optimal)
            CHECK(found.objective >= best - 1.001 * options.gap * found.bound);
        (found.status == AllotStatus::optimal ? proven : open) += 1;
    }
    CHECK(proven > 20);
    CHECK(open > 20);
}

TEST_CASE("the solver, too, tells jobs that take hours apart") {
    AllotmentProblem problem;
    problem.capacity = {1};
    for (const double seconds : {50'000.0, 11'000.0}) {
        problem.add_job();
        problem.add_option(1 / seconds, {{0, 1}});
    }
    const AllotResult best = allot(problem);
    CHECK(best.objective == doctest::Approx(1 / 11'000.0));
    PostedPrices posted;
    const AllotResult& found = posted(problem);
    CHECK((found.status == AllotStatus::optimal) == (found.objective > 0.9 / 11'000.0));
}
