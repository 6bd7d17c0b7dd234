// Hadar's utilities, equal shares in turns, and Themis' auction: who gets what, and that shares even out.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "goodput/policy/hadar.hpp"
#include "goodput/share/gandiva_fair.hpp"
#include "goodput/share/themis.hpp"
#include "support/random.hpp"
#include "support/typed_queue.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;
using support::TypedQueue;

namespace {

constexpr CompletionUtility utilities[] = {
    CompletionUtility::jobs_per_second, CompletionUtility::effective_throughput,
    CompletionUtility::normalized_throughput, CompletionUtility::finish_time_fairness};

/// Lets jobs that never end run for some rounds: who is served holds its GPUs, first nodes first.
template <class P>
std::vector<double> seconds_run(TypedQueue& queue, const P& policy, int rounds, double seconds) {
    std::vector<double> ran(queue.jobs.size());
    for (int round = 0; round < rounds; ++round) {
        queue.value(policy);
        std::vector<std::size_t> next(queue.cluster.gpu_types.size());
        for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
            Job& job = queue.jobs[j];
            job.placement.clear();
            if (!queue.runs(j)) continue;
            const std::size_t type = queue.type_of(j);
            std::size_t node = 0, skip = next[type]++;
            while (queue.cluster.nodes[node].gpu_type != type || skip-- > 0) ++node;
            queue.hold(j, node);
            ran[j] += seconds;
            job.attained_gpu_seconds += seconds * job.max_gpus;
        }
        queue.time_seconds += seconds;
    }
    return ran;
}

}  // namespace

TEST_CASE("Hadar: a faster option is worth more, whatever the utility") {
    Random random(1);
    for (int round = 0; round < 300; ++round) {
        TypedQueue queue({2, 3, 1}, 2);
        queue.add_random(random, random.integer(1, 8), 2);
        for (const CompletionUtility utility : utilities) {
            queue.value(Hadar{.utility = utility});
            for (std::size_t j = 0; j < queue.jobs.size(); ++j)
                for (std::size_t a = 0; a < queue.options[j].size(); ++a) {
                    CHECK(queue.values[j][a] > 0);
                    for (std::size_t b = 0; b < a; ++b)
                        CHECK((queue.values[j][a] < queue.values[j][b]) ==
                              (queue.options[j][a].goodput < queue.options[j][b].goodput));
                }
        }
    }
}

TEST_CASE("Hadar: a move has to pay for its restart") {
    TypedQueue queue({1, 1});
    Job& job = queue.add({1, 2}, 100);
    job.restart_cost_seconds = 60;  // 100 s where it is, 50 + 60 s there
    queue.hold(0, 0);
    for (const CompletionUtility utility : utilities) {
        queue.value(Hadar{.utility = utility});
        CHECK(queue.values[0][0] > queue.values[0][1]);
    }
    queue.jobs[0].restart_cost_seconds = 40;
    for (const CompletionUtility utility : utilities) {
        queue.value(Hadar{.utility = utility});
        CHECK(queue.values[0][0] < queue.values[0][1]);
    }
}

TEST_CASE("Hadar: the published utilities are what they say") {
    TypedQueue queue({4});
    queue.add({2}, 600).done_examples = 400;
    queue.add({1}, 100);
    queue.jobs[0].submitted_seconds = queue.time_seconds - 200;
    const auto worth = [&](CompletionUtility utility) {
        queue.value(Hadar{.utility = utility});
        return queue.values[0][0];
    };
    CHECK(worth(CompletionUtility::jobs_per_second) == doctest::Approx(1.0 / 300));
    CHECK(worth(CompletionUtility::effective_throughput) == doctest::Approx(1000.0 / 500));
    CHECK(worth(CompletionUtility::normalized_throughput) == doctest::Approx(500.0 / 500));
    // Two GPUs are a job's equal share; it can use one.
    CHECK(worth(CompletionUtility::finish_time_fairness) == doctest::Approx(500.0 / 500));
    for (int j = 0; j < 6; ++j) queue.add({1}, 100);
    CHECK(worth(CompletionUtility::finish_time_fairness) == doctest::Approx(1000.0 / 500));
}

TEST_CASE("equal shares in turns: in the long run everybody runs for GPUs / jobs of the time") {
    Random random(2);
    for (int trial = 0; trial < 30; ++trial) {
        const int gpus = random.integer(1, 6), jobs = random.integer(1, 15);
        TypedQueue queue({gpus});
        queue.time_seconds = 0;
        for (int j = 0; j < jobs; ++j) queue.add({1}, 1e9);
        const int rounds = 600;
        const std::vector<double> ran = seconds_run(queue, GandivaFair{}, rounds, 360);
        const double share = std::min(1.0, static_cast<double>(gpus) / jobs);
        for (const double seconds : ran)
            CHECK(seconds / (rounds * 360) == doctest::Approx(share).epsilon(0.05));
    }
}

TEST_CASE("equal shares in turns: nobody starves, whatever the jobs ask for") {
    Random random(3);
    for (int trial = 0; trial < 30; ++trial) {
        TypedQueue queue({random.integer(1, 2), random.integer(1, 2)}, 4);
        queue.time_seconds = 0;
        for (int j = random.integer(2, 10); j > 0; --j)
            queue.add({random.between(1, 3), random.between(1, 3)}, 1e9, 4);
        for (const double seconds : seconds_run(queue, GandivaFair{}, 100, 360)) CHECK(seconds > 0);
    }
}

TEST_CASE("Themis: nothing is promised twice, and nobody waits beside room for it") {
    Random random(4);
    for (int round = 0; round < 400; ++round) {
        TypedQueue queue({random.integer(1, 3), random.integer(1, 3)}, 4);
        queue.add_random(random, random.integer(1, 15), 4);
        queue.value(Themis{.fairness = random.unit()});
        for (std::size_t type = 0; type < 2; ++type) CHECK(queue.served_gpus(type) <= queue.gpus_of(type));
        for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
            if (queue.runs(j)) continue;
            for (const Option& option : queue.options[j]) {
                const std::size_t type = option.configuration.first().gpu_type;
                CHECK(option.configuration.gpus() > queue.gpus_of(type) - queue.served_gpus(type));
            }
        }
    }
}

TEST_CASE("Themis: who is worst off is served, on the type where it matters most") {
    TypedQueue queue({1, 1});
    // Of two that waited for long, the second is helped far more by the fast type.
    queue.add({10, 9}, 10000).submitted_seconds = 0;
    queue.add({10, 1}, 10000).submitted_seconds = 0;
    for (int j = 0; j < 8; ++j) queue.add({10, 9}, 100000).submitted_seconds = queue.time_seconds;
    queue.value(Themis{});
    REQUIRE(queue.runs(0));
    REQUIRE(queue.runs(1));
    CHECK(queue.type_of(0) == 1);
    CHECK(queue.type_of(1) == 0);
    CHECK_THROWS_AS(Themis{.fairness = 2}.validate(), std::invalid_argument);
}

TEST_CASE("Themis: a winner pays with a part of its bundle, which goes to the others") {
    TypedQueue queue({1}, 8);
    for (int j = 0; j < 2; ++j) {
        queue.add({1}, 10000, 8).submitted_seconds = 0;
        queue.options.back().clear();
        for (const int gpus : {1, 2, 4, 8})
            queue.options.back().push_back({{0, 8, {1, gpus}}, {1, 0}, 1.0 * gpus, Knowledge::measured});
    }
    queue.jobs[1].submitted_seconds = queue.time_seconds;  // rho 1: does not bid
    queue.value(Themis{});
    CHECK(queue.options[0][queue.served(0)].configuration.gpus() == 8);
    CHECK_FALSE(queue.runs(1));
    // Both bid. The product is largest with all 8 for the new one, 3700 / 1250; without it the old one would
    // make 13700 / 11250 of them, so the new one keeps 0.82 of 8 GPUs, which is 4, and the old one gets the
    // rest.
    queue.value(Themis{.fairness = 0});
    for (std::size_t j = 0; j < 2; ++j) CHECK(queue.options[j][queue.served(j)].configuration.gpus() == 4);
}
