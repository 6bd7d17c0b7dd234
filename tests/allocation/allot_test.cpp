// A kept solver has its memory after the first call. A program of its own, because it replaces the global
// operators new and delete by ones that count.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocation/counting_new.hpp"
#include "goodput/allot/allot.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::allocations;
using support::Random;

namespace {

/// Allocations of one more call.
std::size_t allocations_of(Allotter<>& allotter, const AllotmentProblem& problem,
                           const AllotOptions& options = {}) {
    const std::size_t before = allocations;
    const AllotResult& result = allotter(problem, options);
    const std::size_t count = allocations - before;
    CHECK(result.status == AllotStatus::optimal);
    return count;
}

/// The first `jobs` jobs, some of them with values that have changed a little.
AllotmentProblem changed(const AllotmentProblem& problem, std::size_t jobs, Random& random) {
    AllotmentProblem other;
    other.capacity = problem.capacity;
    for (std::size_t job = 0; job < jobs; ++job) {
        other.add_job(problem.must(job));
        const double factor = random.chance(0.05) ? random.between(0.8, 1.2) : 1;
        for (std::size_t k = 0; k < problem.options_of(job); ++k)
            other.add_option(std::round(100 * factor * problem.value(job, k)) / 100, problem.uses(job, k));
    }
    return other;
}

}  // namespace

TEST_CASE("the counter counts") {
    const std::size_t before = allocations;
    std::vector<double> numbers(100);
    numbers.resize(1000);
    CHECK(allocations - before == 2);
}

TEST_CASE("the same problem again takes no allocation") {
    for (const int gpus : {64, 512, 2048}) {
        Random random(static_cast<std::uint64_t>(gpus));
        CAPTURE(gpus);
        const AllotmentProblem problem = support::cluster_problem(random, gpus);
        Allotter<> allotter;
        CHECK(allocations_of(allotter, problem) > 0);
        CHECK(allocations_of(allotter, problem, {}) == 0);
        CHECK(allocations_of(allotter, problem) == 0);
        CHECK(allocations_of(allotter, problem) == 0);
    }
}

TEST_CASE("nor does another of the same size or a smaller one, as far as there is nothing to search") {
    for (const int gpus : {64, 512, 2048}) {
        Random random(static_cast<std::uint64_t>(gpus));
        CAPTURE(gpus);
        const AllotmentProblem problem = support::cluster_problem(random, gpus);
        Allotter<> allotter;
        const AllotOptions coarse{.gap = 0.2};
        CHECK(allocations_of(allotter, problem, coarse) > 0);
        for (int round = 0; round < 5; ++round) {
            CAPTURE(round);
            for (const std::size_t jobs : {problem.jobs(), problem.jobs() * 3 / 4, problem.jobs() / 8}) {
                CAPTURE(jobs);
                CHECK(allocations_of(allotter, changed(problem, jobs, random), coarse) == 0);
            }
        }
    }
}

TEST_CASE("how long a search is nobody knows before; its memory, too, is kept for all that follow") {
    for (const int gpus : {64, 512, 2048}) {
        Random random(static_cast<std::uint64_t>(gpus));
        CAPTURE(gpus);
        std::vector<AllotmentProblem> rounds{support::cluster_problem(random, gpus)};
        for (int round = 0; round < 5; ++round) {
            const std::size_t jobs = rounds.front().jobs();
            rounds.push_back(changed(rounds.front(), jobs, random));
            rounds.push_back(changed(rounds.front(), jobs * 3 / 4, random));
        }
        Allotter<> allotter;
        const AllotOptions cold{};  // the way to the answer does not depend on the order
        std::size_t states = 0;
        for (const AllotmentProblem& problem : rounds) states += allotter(problem, cold).nodes;
        CHECK(states > 100);
        for (const AllotmentProblem& problem : rounds) CHECK(allocations_of(allotter, problem, cold) == 0);
        for (std::size_t i = rounds.size(); i-- > 0;) CHECK(allocations_of(allotter, rounds[i], cold) == 0);
    }
}
