// Tiresias: jobs overtake only by the queue that they are in.

#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "goodput/policies/tiresias.hpp"
#include "support/random.hpp"
#include "support/random_queue.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::RandomQueue;

TEST_CASE("Tiresias: no job waits for one of the same size in a later queue, or behind it in its own") {
    support::Random random(7);
    for (int round = 0; round < 2000; ++round) {
        RandomQueue queue(random, 0.2);
        Tiresias policy;
        policy.thresholds_gpu_seconds.clear();
        for (const double threshold : {100.0, 250.0, 400.0})
            if (random.chance(0.6)) policy.thresholds_gpu_seconds.push_back(threshold);
        policy.backfill = random.chance(0.5);
        queue.value(policy);
        REQUIRE(queue.served_gpus() <= queue.pools[0].gpus());
        const auto number = [&](std::size_t j) {
            std::size_t below = 0;
            for (const double threshold : policy.thresholds_gpu_seconds)
                below += queue.jobs[j].attained_gpu_seconds >= threshold ? 1 : 0;
            return below;
        };
        for (std::size_t a = 0; a < queue.jobs.size(); ++a) {
            CHECK(policy.queue_of(queue.jobs[a]) == number(a));
            if (queue.served(a)) continue;
            int before = 0;
            for (std::size_t b = 0; b < queue.jobs.size(); ++b) {
                if (!queue.served(b)) continue;
                const bool first = number(b) != number(a)
                                       ? number(b) < number(a)
                                       : queue.jobs[b].submitted_seconds <= queue.jobs[a].submitted_seconds;
                if (first || queue.keeps(b))
                    before += queue.gpus_of(b);
                else
                    CHECK(queue.gpus_of(b) < queue.gpus_of(a));
                if (!policy.backfill) CHECK((first || queue.keeps(b)));
            }
            if (policy.backfill) CHECK(before + queue.gpus_of(a) > queue.pools[0].gpus());
        }
    }
}

TEST_CASE("Tiresias: thresholds that do not rise are refused by name and value") {
    CHECK_NOTHROW(Tiresias{}.validate());
    CHECK_NOTHROW(Tiresias{.thresholds_gpu_seconds = {}}.validate());
    CHECK_THROWS_WITH((Tiresias{.thresholds_gpu_seconds = {60, 60}}.validate()),
                      "policy tiresias: thresholds is 60, but must be above the one before it, 60");
    CHECK_THROWS_AS((Tiresias{.thresholds_gpu_seconds = {0}}.validate()), std::invalid_argument);
    CHECK_THROWS_AS((Tiresias{.thresholds_gpu_seconds = {std::nan("")}}.validate()), std::invalid_argument);
}
