// The partial allocation mechanism: the largest product, and payments that make lying useless.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/share/partial_allocation.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Each bidder's valuation of 1 to 4 of the units that there are, rising.
AllotmentProblem random_auction(Random& random) {
    AllotmentProblem problem;
    problem.capacity = {static_cast<double>(random.integer(2, 8))};
    for (int j = random.integer(1, 5); j > 0; --j) {
        problem.add_job();
        double value = 0;
        for (int units = 1; units <= 4; ++units)
            problem.add_option(value += random.between(0, 1), {{0, static_cast<double>(units)}});
    }
    return problem;
}

/// The most that the product can be without a job, by trying everything; as a logarithm.
double largest_product(const AllotmentProblem& problem, std::size_t without, double left,
                       std::size_t job = 0) {
    if (job == problem.jobs()) return 0;
    double best = largest_product(problem, without, left, job + 1);
    if (job != without)
        for (std::size_t k = 0; k < problem.options_of(job); ++k)
            if (const double units = problem.uses(job, k)[0].units; units <= left)
                best = std::max(
                    best, problem.value(job, k) + largest_product(problem, without, left - units, job + 1));
    return best;
}

}  // namespace

TEST_CASE("the product is the largest, and a winner keeps what its presence leaves to the others") {
    Random random(1);
    for (int round = 0; round < 300; ++round) {
        const AllotmentProblem problem = random_auction(random);
        const PartialAllocation found = partial_allocation(problem, {.gap = 0});
        CHECK(found.won.objective ==
              doctest::Approx(largest_product(problem, no_option, problem.capacity[0])));
        for (std::size_t j = 0; j < problem.jobs(); ++j) {
            CHECK(found.kept[j] > 0);
            if (found.won.choice[j] == no_option) {
                CHECK(found.kept[j] == 1);
                continue;
            }
            const double others = found.won.objective - problem.value(j, found.won.choice[j]);
            CHECK(found.kept[j] ==
                  doctest::Approx(std::exp(others - largest_product(problem, j, problem.capacity[0]))));
        }
    }
}

TEST_CASE("no bidder gains by a bid that is not true: kept part times value of what it wins") {
    Random random(2);
    for (int round = 0; round < 300; ++round) {
        const AllotmentProblem truth = random_auction(random);
        AllotmentProblem lie = truth;
        const auto liar = static_cast<std::size_t>(random.integer(0, static_cast<int>(truth.jobs()) - 1));
        for (std::size_t k = 0; k < truth.options_of(liar); ++k)
            lie.set_value(liar, k, truth.value(liar, k) * random.between(0, 3));
        const auto gain = [&](const AllotmentProblem& bids) {
            const PartialAllocation found = partial_allocation(bids, {.gap = 0});
            const std::size_t choice = found.won.choice[liar];
            return found.kept[liar] * (choice == no_option ? 1 : std::exp(truth.value(liar, choice)));
        };
        CHECK(gain(truth) >= gain(lie) * (1 - 1e-9));
    }
}

TEST_CASE("whoever is in nobody's way keeps all") {
    AllotmentProblem problem;
    problem.capacity = {8};
    for (int j = 0; j < 2; ++j) {
        problem.add_job();
        problem.add_option(1, {{0, 4}});
    }
    for (const double kept : partial_allocation(problem).kept) CHECK(kept == doctest::Approx(1));
}
