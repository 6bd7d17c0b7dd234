// The utilities of Hadar.

#include <cstddef>

#include "goodput/hadar/hadar.hpp"
#include "hadar/typed_queue.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;
using support::TypedQueue;

namespace {

constexpr CompletionUtility utilities[] = {
    CompletionUtility::jobs_per_second, CompletionUtility::effective_throughput,
    CompletionUtility::normalized_throughput, CompletionUtility::finish_time_fairness};

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
    // The equal share of a job is two GPUs, but it can use only one.
    CHECK(worth(CompletionUtility::finish_time_fairness) == doctest::Approx(500.0 / 500));
    for (int j = 0; j < 6; ++j) queue.add({1}, 100);
    CHECK(worth(CompletionUtility::finish_time_fairness) == doctest::Approx(1000.0 / 500));
}
