// The market over a window of rounds is never worse than any other rounds, and its layout runs no job twice
// at once.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "peers/shockwave/exact_knapsack.hpp"
#include "peers/shockwave/window_layout.hpp"
#include "peers/shockwave/window_market.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

WindowProblem random_window(support::Random& random, int jobs, int rounds) {
    WindowProblem problem{.gpus = random.integer(1, 8), .rounds = rounds, .round_seconds = 60};
    problem.longest_left_factor = random.chance(0.3) ? 0 : std::pow(10, random.between(-5, 1));
    for (int j = 0; j < jobs; ++j) {
        const int epochs = random.integer(1, 12);
        WindowJob job{.name = std::to_string(j),
                      .gpus = random.integer(1, 6),
                      .epochs = epochs * 1.0,
                      .done_epochs = random.integer(0, epochs) * 1.0,
                      .epoch_seconds = random.between(5, 200),
                      .left_seconds = random.between(0, 900),
                      .weight = std::pow(10, random.between(-2, 3))};
        if (random.chance(0.2)) job.most_left_seconds = random.between(0, 900);
        problem.jobs.push_back(job);
    }
    return problem;
}

/// Returns the objective of a choice of rounds, or minus infinity if it is not allowed.
double objective_of(const WindowProblem& problem, const std::vector<int>& rounds) {
    double welfare = 0, longest = 0;
    int used = 0;
    for (std::size_t j = 0; j < rounds.size(); ++j) {
        const WindowJob& job = problem.jobs[j];
        const double left = problem.left_after(job, rounds[j]);
        if (left > job.most_left_seconds) return -INFINITY;
        welfare += problem.welfare(job, rounds[j]);
        longest = std::max(longest, left);
        used += job.gpus * rounds[j];
    }
    return used > problem.gpus * problem.rounds ? -INFINITY : welfare - problem.longest_left_factor * longest;
}

/// Tries all choices of rounds, and returns the best objective.
double best_by_trial(const WindowProblem& problem) {
    std::vector<int> rounds(problem.jobs.size(), 0);
    double best = -INFINITY;
    while (true) {
        best = std::max(best, objective_of(problem, rounds));
        std::size_t j = 0;
        while (j < rounds.size() && rounds[j] == problem.rounds) rounds[j++] = 0;
        if (j == rounds.size()) return best;
        ++rounds[j];
    }
}

}  // namespace

TEST_CASE("no rounds are worth more than the market's, of any sizes, and where there are none it says so") {
    support::Random random(1);
    WindowMarket market;
    int feasible = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        const WindowProblem problem = random_window(random, random.integer(0, 4), random.integer(1, 4));
        const WindowShares shares = market.solve(problem);
        const double best = best_by_trial(problem);
        REQUIRE(shares.feasible == (best > -INFINITY));
        if (!shares.feasible) continue;
        ++feasible;
        CHECK(objective_of(problem, shares.rounds) == doctest::Approx(shares.objective).epsilon(1e-12));
        CHECK(shares.objective >= best - 2e-9 * std::abs(best));
        CHECK(shares.bound >= best - 1e-12 * std::abs(best));
        CHECK(shares.bound <= shares.objective + 1e-9 * std::abs(shares.objective));
        CHECK(WindowMarket().solve(problem).rounds == shares.rounds);
    }
    CHECK(feasible > 800);
}

TEST_CASE("another GPU gains no more than the price says") {
    support::Random random(2);
    WindowMarket market;
    int paid = 0;
    for (int trial = 0; trial < 300; ++trial) {
        WindowProblem problem = random_window(random, 30, 20);
        problem.longest_left_factor = 0;
        for (WindowJob& job : problem.jobs) job.most_left_seconds = INFINITY;
        const WindowShares shares = market.solve(problem);
        ++problem.gpus;
        const WindowShares more = market.solve(problem);
        // Rounds that do not fit may be worth as much as a round of the largest job.
        const double room = problem.rounds + 6;
        CHECK(more.objective >= shares.objective);
        CHECK(more.objective <= shares.objective + shares.price * room + 1e-12);
        paid += shares.price > 0;
    }
    CHECK(paid > 100);
}

TEST_CASE("the limit on remaining time is kept, and a factor on the longest rest shortens it") {
    WindowProblem problem{.gpus = 1, .rounds = 4, .round_seconds = 100};
    for (const double left : {1000.0, 300.0})
        problem.jobs.push_back({.name = "j",
                                .epochs = 100,
                                .done_epochs = left == 1000 ? 90.0 : 10.0,
                                .epoch_seconds = 100,
                                .left_seconds = left});
    WindowMarket market;
    CHECK(market.solve(problem).rounds == std::vector<int>{0, 4});  // the job that has done least gains most
    problem.longest_left_factor = 1;
    CHECK(market.solve(problem).rounds == std::vector<int>{4, 0});
    problem.longest_left_factor = 0;
    problem.jobs[0].most_left_seconds = 800;
    CHECK(market.solve(problem).rounds == std::vector<int>{2, 2});
    problem.jobs[1].most_left_seconds = 50;
    CHECK_FALSE(market.solve(problem).feasible);
}

TEST_CASE("weights far apart do not spoil what little ones decide") {
    WindowProblem problem{.gpus = 2, .rounds = 5, .round_seconds = 100};
    problem.jobs = {{.name = "huge", .epochs = 10, .done_epochs = 9, .epoch_seconds = 100, .weight = 1e17},
                    {.name = "a", .epochs = 10, .epoch_seconds = 100, .weight = 1},
                    {.name = "b", .epochs = 10, .epoch_seconds = 100, .weight = 2}};
    // One round completes the huge job; then only the gains of the others matter.
    const WindowShares shares = WindowMarket().solve(problem);
    CHECK(shares.rounds[0] == 1);
    CHECK(shares.objective == doctest::Approx(best_by_trial(problem)).epsilon(1e-12));
}

TEST_CASE("bad windows are refused") {
    WindowProblem good{.gpus = 1, .jobs = {{.name = "a"}}};
    CHECK_NOTHROW(good.validate());
    const auto refused = [&](auto change) {
        WindowProblem bad = good;
        change(bad);
        CHECK_THROWS_AS((void)WindowMarket().solve(bad), std::invalid_argument);
    };
    refused([](auto& p) { p.gpus = -1; });
    refused([](auto& p) { p.rounds = 0; });
    refused([](auto& p) { p.round_seconds = NAN; });
    refused([](auto& p) { p.longest_left_factor = -1; });
    refused([](auto& p) { p.exact_progress = {0, 0.5, 0.5, 1}; });
    refused([](auto& p) { p.exact_progress = {0.1, 1}; });
    refused([](auto& p) { p.least_progress = 0; });
    refused([](auto& p) { p.jobs[0].gpus = 0; });
    refused([](auto& p) { p.jobs[0].epochs = 0; });
    refused([](auto& p) { p.jobs[0].done_epochs = -1; });
    refused([](auto& p) { p.jobs[0].epoch_seconds = 0; });
    refused([](auto& p) { p.jobs[0].left_seconds = INFINITY; });
    refused([](auto& p) { p.jobs[0].weight = -1; });
    refused([](auto& p) { p.jobs[0].most_left_seconds = NAN; });
}

TEST_CASE("the knapsack takes the best of all choices") {
    support::Random random(3);
    ExactKnapsack knapsack;
    for (int trial = 0; trial < 3000; ++trial) {
        const int room = random.integer(0, 30);
        std::vector<KnapsackThing> things;
        for (int i = random.integer(0, 10); i > 0; --i) {
            const int size = random.integer(1, 9);
            if (size <= room)
                things.push_back(
                    {random.chance(0.3) ? 1.0 * random.integer(1, 4) : random.between(0.1, 9), size, 0});
        }
        std::stable_sort(things.begin(), things.end(), denser);
        double best = 0;
        for (std::uint32_t choice = 0; choice < 1U << things.size(); ++choice) {
            double gain = 0;
            int size = 0;
            for (std::size_t i = 0; i < things.size(); ++i)
                if (choice >> i & 1) {
                    gain += things[i].gain;
                    size += things[i].size;
                }
            if (size <= room) best = std::max(best, gain);
        }
        knapsack.solve(things, room);
        double gain = 0;
        int size = 0;
        for (std::size_t i = 0; i < things.size(); ++i)
            if (knapsack.taken()[i]) {
                gain += things[i].gain;
                size += things[i].size;
            }
        CHECK(size <= room);
        CHECK(gain == doctest::Approx(best).epsilon(1e-12));
    }
}

TEST_CASE("no job runs twice in a round or more often than said, and no GPU is given twice") {
    support::Random random(4);
    int left_out = 0, laid_out = 0;
    for (int trial = 0; trial < 500; ++trial) {
        const int gpus = 16, rounds = random.integer(1, 20);
        const bool alike = random.chance(0.5);
        std::vector<LayoutJob> jobs;
        for (int room = gpus * rounds; room > 0;) {
            LayoutJob job{.gpus = alike ? 1 : 1 << random.integer(0, 3), .weight = random.between(0, 5)};
            job.rounds = std::min(random.integer(0, rounds), room / job.gpus);
            room -= std::max(job.rounds * job.gpus, 1);
            jobs.push_back(job);
        }
        WindowLayout layout = lay_out_window(gpus, rounds, jobs);
        std::vector<std::size_t> order(jobs.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto check = [&](bool filled) {
            std::vector<int> count(jobs.size(), 0);
            for (const auto& runs : layout.runs) {
                int used = 0;
                std::vector<bool> seen(jobs.size(), false);
                for (const std::size_t j : runs) {
                    CHECK_FALSE(seen[j]);
                    seen[j] = true;
                    used += jobs[j].gpus;
                    ++count[j];
                }
                CHECK(used <= gpus);
                if (filled)
                    for (std::size_t j = 0; j < jobs.size(); ++j)
                        CHECK((seen[j] || jobs[j].gpus > gpus - used));
            }
            return count;
        };
        const std::vector<int> count = check(false);
        int missing = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            CHECK(count[j] <= jobs[j].rounds);
            missing += jobs[j].rounds - count[j];
            laid_out += count[j];
        }
        CHECK(layout.left_out == missing);
        if (alike) CHECK(missing == 0);
        left_out += missing;
        fill_window(layout, gpus, jobs, order);
        check(true);
    }
    CHECK(left_out < laid_out / 50);
}

TEST_CASE("the job that saves most by it runs first") {
    const std::vector<LayoutJob> jobs{{1, 1, 1}, {1, 1, 3}, {1, 2, 4}};  // savings per round: 1, 3, 2
    CHECK(lay_out_window(1, 4, jobs).runs == std::vector<std::vector<std::size_t>>{{1}, {2}, {2}, {0}});
}
