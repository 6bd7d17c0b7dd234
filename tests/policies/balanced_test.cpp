// Balanced slowdown: the last job does not end late, and the others do not wait for it in vain.

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/policies/balanced_slowdown.hpp"
#include "goodput/policy/queue.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// Runs jobs on a cluster of one-GPU nodes, round by round. Starts cost nothing.
struct Rounds {
    int gpus = 4;
    double seconds = 10;  // length of a round
    std::vector<Job> jobs{};
    std::vector<int> sizes{};
    double now = 0;

    void add(double left, int size = 1) {
        jobs.push_back({.name = std::to_string(jobs.size()), .remaining_examples = left, .done_examples = 0});
        sizes.push_back(size);
    }
    /// Returns which jobs run now.
    template <class P>
    std::vector<bool> served(const P& policy) const {
        Cluster cluster{{"gpu"}, {{"node", 0, gpus}}};
        const std::vector<Pool> pools = pools_of(cluster);
        const std::vector<double> capacity = support::capacity_of(pools);
        std::vector<Option> options;
        for (const int size : sizes)
            options.push_back({{0, gpus, {1, size}}, {1, 0}, 1, Knowledge::measured});
        std::vector<double> values(jobs.size());
        std::vector<support::PoolUses> uses;
        for (const Option& option : options) uses.emplace_back(pools, std::span(&option, 1));
        std::vector<OptionRow> rows;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (*jobs[j].remaining_examples > 0)
                rows.push_back({jobs[j], std::span<const Option>(options).subspan(j, 1),
                                std::span<double>(values).subspan(j, 1), uses[j].view()});
        value_rows(policy, Round{now, cluster, pools, capacity}, std::span<const OptionRow>(rows));
        AllotmentProblem problem;
        problem.capacity = capacity;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            problem.add_job();
            if (values[j] > 0) problem.add_option(values[j], {{0, static_cast<double>(sizes[j])}});
        }
        std::vector<bool> result;
        for (const std::size_t choice : allot(problem, {.gap = 0}).choice)
            result.push_back(choice != no_option);
        return result;
    }
    /// Returns when the last of all jobs ends; `sum` receives the sum of completion times.
    template <class P>
    double makespan(const P& policy, double& sum) {
        sum = 0;
        for (double end = 0;; now += seconds) {
            const std::vector<bool> runs = served(policy);
            if (std::none_of(runs.begin(), runs.end(), [](bool run) { return run; })) return end;
            for (std::size_t j = 0; j < jobs.size(); ++j) {
                jobs[j].placement = runs[j] ? Placement{{0, sizes[j]}} : Placement{};
                if (!runs[j]) continue;
                const double did = std::min(seconds, *jobs[j].remaining_examples);
                *jobs[j].remaining_examples -= did;
                *jobs[j].done_examples += did;
                if (*jobs[j].remaining_examples > 0) continue;
                sum += now + did;
                end = std::max(end, now + did);
            }
        }
    }
};

}  // namespace

TEST_CASE("the last job ends hardly later than it must, and the average is near that of the shortest first") {
    support::Random random(7);
    int late = 0;
    double ours_sum = 0, shortest_sum = 0;
    for (int trial = 0; trial < 200; ++trial) {
        Rounds rounds{.gpus = random.integer(1, 8)};
        double work = 0, longest = 0;
        for (int j = random.integer(1, 40); j > 0; --j) {
            const double left = std::pow(10, random.between(1, 3.3));
            rounds.add(left);
            work += left;
            longest = std::max(longest, left);
        }
        const double least = std::max(work / rounds.gpus, longest);
        Rounds same = rounds;
        double sum = 0;
        // Nearly critical jobs may wait for critical ones, and jobs end within rounds.
        CHECK(rounds.makespan(BalancedSlowdown{}, sum) <= 1.05 * least + 3 * rounds.seconds);
        ours_sum += sum;
        late += same.makespan(ShortestRemainingTime{}, sum) > 1.05 * least + 3 * rounds.seconds;
        shortest_sum += sum;
    }
    CHECK(late > 40);
    CHECK(ours_sum < 1.25 * shortest_sum);
}

TEST_CASE("a job that takes as long as all others together runs before them, however many these are") {
    Rounds rounds{.gpus = 2};
    for (int j = 0; j < 20; ++j) rounds.add(50);
    rounds.add(1000);
    CHECK(rounds.served(BalancedSlowdown{}).back());
    CHECK_FALSE(rounds.served(ShortestRemainingTime{}).back());
    *rounds.jobs.back().remaining_examples = 900;  // it can wait a while
    CHECK_FALSE(rounds.served(BalancedSlowdown{}).back());
    CHECK(rounds.served(BalancedSlowdown{.margin = 0.2}).back());
}

TEST_CASE("a critical job stays critical for another margin, so that two do not take turns") {
    Rounds rounds{.gpus = 1};
    rounds.add(102);
    rounds.add(106);
    rounds.gpus = 2;
    for (int j = 0; j < 3; ++j) rounds.add(4);
    rounds.jobs[0].placement = {{0, 1}};
    const std::vector<bool> served = rounds.served(BalancedSlowdown{});
    CHECK(served[0]);
    CHECK(served[1]);
    rounds.jobs[0].placement = {};
    CHECK_FALSE(rounds.served(BalancedSlowdown{})[0]);
}

TEST_CASE("of jobs that are far from critical, those go first whose slowdown a GPU lowers most") {
    const auto first_of = [](double size_a, double left_a, double age_a, double size_b, double left_b) {
        Rounds rounds{.gpus = 4, .now = 1000};
        rounds.add(1e6, 1);  // decides when the last job ends
        rounds.gpus = 5;
        rounds.add(left_a, static_cast<int>(size_a));
        rounds.add(left_b, static_cast<int>(size_b));
        rounds.add(1, 1);
        rounds.jobs[1].submitted_seconds = 1000 - age_a;
        rounds.jobs[2].submitted_seconds = rounds.jobs[3].submitted_seconds = 1000;
        const std::vector<bool> served = rounds.served(BalancedSlowdown{});
        CHECK(served[0]);
        return served[1] && !served[2] ? 'a' : served[2] && !served[1] ? 'b' : '?';
    };
    CHECK(first_of(3, 100, 0, 3, 200) == 'a');  // shorter
    CHECK(first_of(3, 200, 0, 3, 100) == 'b');
    CHECK(first_of(2, 100, 0, 3, 100) == 'a');     // fewer GPUs
    CHECK(first_of(3, 200, 1000, 3, 100) == 'a');  // has waited for long
}

TEST_CASE("longer times in the same proportions change nothing") {
    support::Random random(8);
    for (int trial = 0; trial < 300; ++trial) {
        Rounds rounds{.gpus = 8, .now = 5000};
        for (int j = 0; j < 12; ++j) {
            rounds.add(random.between(10, 3000), 1 << random.integer(0, 2));
            rounds.jobs.back().submitted_seconds = random.between(0, 5000);
            rounds.jobs.back().done_examples = random.between(0, 1000);
            rounds.jobs.back().restart_cost_seconds = 20;
        }
        const std::vector<bool> before = rounds.served(BalancedSlowdown{});
        rounds.now *= 8;
        for (Job& job : rounds.jobs) {
            job.submitted_seconds *= 8;
            *job.remaining_examples *= 8;
            *job.done_examples *= 8;
            job.restart_cost_seconds *= 8;
        }
        CHECK(rounds.served(BalancedSlowdown{}) == before);
    }
}

TEST_CASE("where a type is faster for one job than for another, it goes to that one") {
    const Cluster cluster{{"slow", "fast"}, {{"s", 0, 1}, {"f", 1, 1}}};
    const std::vector<Pool> pools = pools_of(cluster);
    const std::vector<double> capacity = support::capacity_of(pools);
    // The jobs take equally long on the fast GPU only. The order of the list must not matter.
    for (const bool swapped : {false, true}) {
        std::vector<Job> jobs(2);
        std::vector<std::vector<Option>> options(2);
        for (std::size_t j = 0; j < 2; ++j) {
            const bool gains = (j == 1) != swapped;
            jobs[j] = {.name = std::to_string(j), .remaining_examples = gains ? 8000.0 : 1500.0};
            options[j] = {{{0, 1, {1, 1}}, {1, 0}, 1, Knowledge::measured},
                          {{1, 1, {1, 1}}, {1, 0}, gains ? 8.0 : 1.5, Knowledge::measured}};
        }
        std::vector<std::vector<double>> values(2, std::vector<double>(2));
        std::vector<support::PoolUses> uses;
        std::vector<OptionRow> rows;
        for (std::size_t j = 0; j < 2; ++j) uses.emplace_back(pools, std::span<const Option>(options[j]));
        for (std::size_t j = 0; j < 2; ++j) rows.push_back({jobs[j], options[j], values[j], uses[j].view()});
        value_rows(BalancedSlowdown{}, Round{0, cluster, pools, capacity}, std::span<const OptionRow>(rows));
        const std::size_t gains = swapped ? 0 : 1;
        CHECK(values[gains][1] + values[1 - gains][0] > values[gains][0] + values[1 - gains][1]);
    }
}

TEST_CASE("settings out of range are refused before the first round") {
    for (const double power : {0.5, 0.0, -1.0, 101.0, std::nan("")})
        CHECK_THROWS_AS((BalancedSlowdown{.power = power}.validate()), std::invalid_argument);
    for (const double margin : {-0.1, 0.6, std::nan("")})
        CHECK_THROWS_AS((BalancedSlowdown{.margin = margin}.validate()), std::invalid_argument);
    CHECK_THROWS_WITH_AS((BalancedSlowdown{.power = 0.5}.validate()),
                         "policy balanced slowdown: power is 0.5, but must be between 1 and 100",
                         std::invalid_argument);
    CHECK_NOTHROW((BalancedSlowdown{.power = 1, .margin = 0.5}.validate()));
}
