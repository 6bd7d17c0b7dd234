// The allotment solver against brute force, and the promises of its certificate.

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/explain.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

enum class Values { decimals, reals, ties, wide, negative_too };

/// Makes one to four resources, must-run jobs, options that are too large or use nothing, and equal jobs.
AllotmentProblem random_problem(Random& random) {
    AllotmentProblem problem;
    const int resources = random.integer(1, 4), jobs = random.integer(0, 7);
    const auto values = static_cast<Values>(random.integer(0, 4));
    const bool whole_units = random.chance(0.8);
    for (int r = 0; r < resources; ++r)
        problem.capacity.push_back(whole_units ? random.integer(0, 16) : random.between(0, 16));
    for (int job = 0; job < jobs; ++job) {
        problem.add_job(random.chance(0.15));
        const int options = random.integer(0, 5);
        for (int k = 0; k < options; ++k) {
            double value = 0;
            switch (values) {
                case Values::decimals:
                    value = std::round(random.between(0, 300)) / 100;
                    break;
                case Values::reals:
                    value = random.between(0, 3);
                    break;
                case Values::ties:
                    value = random.integer(0, 2);
                    break;
                case Values::wide:
                    value = std::pow(10, random.integer(-9, 9));
                    break;
                case Values::negative_too:
                    value = random.between(-1, 1);
                    break;
            }
            std::vector<ResourceUse> uses;
            const int used = random.chance(0.6) ? 1 : random.integer(0, resources);
            for (int u = 0; u < used; ++u)
                uses.push_back({static_cast<std::uint32_t>(random.integer(0, resources - 1)),
                                whole_units ? random.integer(0, 9) : random.between(0, 9)});
            problem.add_option(value, uses);
        }
    }
    return problem;
}

}  // namespace

TEST_CASE("at gap 0 the answer is the best of all choices, and it says so") {
    Random random(20260101);
    Allotter<> kept;  // prices and memory of the last problem must not matter
    int infeasible = 0;
    for (int round = 0; round < support::trials(20000); ++round) {
        const AllotmentProblem problem = random_problem(random);
        const double best = support::BruteForce{}(problem);
        const AllotResult& result = kept(problem, {.gap = 0});
        CAPTURE(round);
        if (std::isinf(best)) {
            ++infeasible;
            REQUIRE(result.status == AllotStatus::infeasible);
            continue;
        }
        const double tolerance = 1e-12 * support::scale_of(problem);
        REQUIRE(result.status == AllotStatus::optimal);
        REQUIRE(std::abs(support::value_of(problem, result.choice) - best) <= tolerance);
        REQUIRE(std::abs(result.objective - best) <= tolerance);
        REQUIRE(result.bound >= result.objective);
        REQUIRE(result.bound <= best + tolerance);
        for (const double price : result.prices) REQUIRE(price >= 0);
    }
    CHECK(infeasible > support::trials(100));
    CHECK(infeasible < support::trials(10000));
}

TEST_CASE("with a gap, the answer is within it and the bound is above the best") {
    Random random(7);
    for (int round = 0; round < 3000; ++round) {
        const AllotmentProblem problem = random_problem(random);
        const double best = support::BruteForce{}(problem);
        if (std::isinf(best)) continue;
        const AllotResult result = allot(problem, {.gap = 0.05});
        const double tolerance = 1e-12 * support::scale_of(problem);
        CAPTURE(round);
        REQUIRE(result.status == AllotStatus::optimal);
        REQUIRE(result.bound >= best - tolerance);
        REQUIRE(result.bound - result.objective <= 0.05 * std::abs(result.bound));
        REQUIRE(!std::isnan(support::value_of(problem, result.choice)));
    }
}

TEST_CASE(
    "the relaxation is a mixture within the capacities, as good as its bound, and never below the whole "
    "choice") {
    Random random(11);
    Allotter<> allotter;
    for (int round = 0; round < support::trials(5000); ++round) {
        const AllotmentProblem problem = random_problem(random);
        const double best = support::BruteForce{}(problem);
        const RelaxedAllotment relaxed = allotter.relax(problem);
        CAPTURE(round);
        if (std::isinf(best)) continue;  // a mixture may fit although no allotment does
        const double tolerance = 1e-9 * std::max(1.0, support::scale_of(problem));
        REQUIRE(relaxed.status == AllotStatus::optimal);
        REQUIRE(relaxed.objective >= best - tolerance);
        REQUIRE(relaxed.bound >= relaxed.objective);
        REQUIRE(relaxed.bound - relaxed.objective <= tolerance);
        std::vector<double> left = problem.capacity;
        double value = 0;
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            double whole = 0;
            for (const OptionFraction& part : relaxed.choice[job]) {
                REQUIRE(part.fraction > 0);
                whole += part.fraction;
                value += part.fraction * problem.value(job, part.option);
                for (const ResourceUse& use : problem.uses(job, part.option))
                    left[use.resource] -= part.fraction * use.units;
            }
            REQUIRE(whole <= 1 + 1e-9);
            if (problem.must(job)) REQUIRE(whole >= 1 - 1e-9);
        }
        for (const double units : left) REQUIRE(units >= -1e-8);
        REQUIRE(std::abs(value - relaxed.objective) <= tolerance);
    }
}

TEST_CASE("a branching rule changes the search, not the answer") {
    struct LargestRegretFirst {
        std::pair<double, double> operator()(std::span<const double> regrets, double) const {
            return {-regrets.back(), 0};
        }
    };
    Allotter<LargestRegretFirst> other;
    Random random(99);
    for (int round = 0; round < 3000; ++round) {
        const AllotmentProblem problem = random_problem(random);
        const AllotResult expected = allot(problem, {.gap = 0});
        const AllotResult& result = other(problem, {.gap = 0});
        CAPTURE(round);
        REQUIRE(result.status == expected.status);
        REQUIRE(std::abs(result.objective - expected.objective) <= 1e-12 * support::scale_of(problem));
    }
}

TEST_CASE("whole numbers as values, a gap in their unit: the same optimum") {
    Random random(2026);
    for (int round = 0; round < 3000; ++round) {
        const AllotmentProblem problem = random_problem(random);
        if (problem.capacity.size() != 3) continue;
        AllotmentProblem whole;
        whole.capacity = problem.capacity;
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            whole.add_job(problem.must(job));
            for (std::size_t k = 0; k < problem.options_of(job); ++k)
                whole.add_option(std::trunc(std::min(1e6, 100 * problem.value(job, k))),
                                 problem.uses(job, k));
        }
        const AllotResult expected = allot(whole, {.gap = 0});
        CAPTURE(round);
        if (expected.status == AllotStatus::infeasible) continue;
        double sum = 0;
        for (std::size_t job = 0; job < whole.jobs(); ++job)
            if (expected.choice[job] != no_option) sum += whole.value(job, expected.choice[job]);
        REQUIRE(expected.objective == sum);
        REQUIRE(expected.bound == sum);
        const AllotResult near = allot(whole, {.gap = 0, .absolute_gap = 25});
        REQUIRE(near.status == AllotStatus::optimal);
        REQUIRE(near.gap() <= 25);
        REQUIRE(near.objective >= expected.objective - 25);
    }
}

TEST_CASE("the same problem gets the same answer, whatever was solved before and however often") {
    Random random(5);
    Allotter<> kept;
    for (int round = 0; round < 500; ++round) {
        const AllotmentProblem problem = random_problem(random);
        const AllotResult fresh = allot(problem);
        const AllotResult again = kept(problem);
        REQUIRE(again.choice == fresh.choice);
        REQUIRE(again.objective == fresh.objective);
        REQUIRE(again.bound == fresh.bound);
        REQUIRE(again.prices == fresh.prices);
        REQUIRE(again.nodes == fresh.nodes);
        const RelaxedAllotment split = kept.relax(problem), anew = Allotter<>{}.relax(problem);
        REQUIRE(split.objective == anew.objective);
        REQUIRE(split.bound == anew.bound);
        REQUIRE(split.prices == anew.prices);
    }
}

namespace {

/// Jobs of awkward sizes with nearly the same worth: the bound is far from the best, and the search is long.
AllotmentProblem hard_problem(int jobs) {
    Random random(3);
    return support::hard_problem(random, jobs);
}

}  // namespace

TEST_CASE("out of time or memory: still feasible, with an honest bound and the reason") {
    const AllotmentProblem problem = hard_problem(60);
    const AllotResult late = allot(problem, {.gap = 0, .deadline = std::chrono::milliseconds(20)});
    CHECK(late.status == AllotStatus::feasible);
    CHECK(late.stopped == StopReason::deadline);
    CHECK(!std::isnan(support::value_of(problem, late.choice)));
    const AllotResult small = allot(problem, {.gap = 0, .memory_states = 2000});
    CHECK(small.status == AllotStatus::feasible);
    CHECK(small.stopped == StopReason::memory);
    CHECK(!std::isnan(support::value_of(problem, small.choice)));
    CHECK(late.bound >= small.objective);
    CHECK(small.bound >= late.objective);
    const AllotResult none = allot(problem, {.gap = 0, .deadline = std::chrono::nanoseconds(0)});
    CHECK(none.bound >= small.objective);
    CHECK(none.bound <= support::bound_at(problem, none.prices) * (1 + 1e-12));
    CHECK(!std::isnan(support::value_of(problem, none.choice)));
    CHECK(late.report().find("deadline") != std::string::npos);
}

TEST_CASE("what is feasible is never said to be infeasible, however soon the search is cut off") {
    Random random(5100);
    int unknown = 0, found = 0;
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        double planted = 0;
        const AllotmentProblem problem =
            support::tight_problem(random, random.integer(2, 7), random.integer(5, 60), planted);
        const AllotOptions options = support::soon_cut_off(random);
        const AllotResult result = allot(problem, options);
        REQUIRE(result.status != AllotStatus::infeasible);
        REQUIRE(result.bound >= planted);
        if (result.status == AllotStatus::unknown) {
            ++unknown;
            REQUIRE(result.stopped != StopReason::proven);
            REQUIRE(result.objective == 0);
            REQUIRE(result.choice == std::vector<std::size_t>(problem.jobs(), no_option));
            REQUIRE(result.report().starts_with("unknown ("));
            REQUIRE_THROWS_AS((void)explain(problem, result), std::invalid_argument);
        } else {
            ++found;
            REQUIRE(std::abs(support::value_of(problem, result.choice) - result.objective) <= 1e-9);
        }
        const RelaxedAllotment relaxed = Allotter<>{}.relax(problem, options);
        REQUIRE(relaxed.status != AllotStatus::infeasible);
        REQUIRE(relaxed.bound >= planted - 1e-9);
    }
    CHECK(unknown > 10);
    CHECK(found > 30);
}

TEST_CASE("accepting any gap does not make jobs infeasible that fit") {
    Random random(5300);
    Allotter<> allotter;
    for (int round = 0; round < 200; ++round) {
        double planted = 0;
        const AllotmentProblem problem = support::tight_problem(random, 3, 12, planted);
        REQUIRE(found_allotment(allotter(problem, {.absolute_gap = 1e9}).status));
    }
}

TEST_CASE("bad numbers are refused with job, option, field and value") {
    const auto message_of = [](const AllotmentProblem& problem) -> std::string {
        try {
            allot(problem);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    AllotmentProblem problem;
    problem.capacity = {4};
    problem.add_job();
    problem.add_option(1, {{0, 1}});
    CHECK(message_of(problem).empty());
    problem.add_job();
    problem.add_option(std::nan(""), {{0, 1}});
    CHECK(message_of(problem) == "job 1, option 0: value is nan, but must be finite");
    problem.clear();
    problem.add_job();
    problem.add_option(1, {{0, -2}});
    CHECK(message_of(problem) == "job 0, option 0: units is -2, but must be a finite number of at least 0");
    problem.clear();
    problem.add_job();
    problem.add_option(1, {{3, 1}});
    CHECK(message_of(problem) ==
          "job 0, option 0: resource is 3, but must be below the number of capacities, 1");
    problem.clear();
    problem.capacity = {-1};
    CHECK(message_of(problem) ==
          "allotment problem: capacity[0] is -1, but must be a finite number of at least 0");
    problem.capacity = {1};
    CHECK_THROWS_AS(allot(problem, {.gap = -1}), std::invalid_argument);
    CHECK_THROWS_AS(allot(problem, {.absolute_gap = -1}), std::invalid_argument);
}
