// AlloX as a policy: who starts, where, and that nobody who runs is touched.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "goodput/share/allox_policy.hpp"
#include "support/random.hpp"
#include "support/typed_queue.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;
using support::TypedQueue;

TEST_CASE("who runs goes on, and nothing is promised twice") {
    Random random(1);
    for (int round = 0; round < 500; ++round) {
        TypedQueue queue({random.integer(1, 3), random.integer(1, 3)}, 4);
        queue.add_random(random, random.integer(1, 12), 4);
        for (std::size_t node = 0, j = 0; node < queue.cluster.nodes.size() && j < queue.jobs.size(); ++j)
            if (random.chance(0.3) && queue.options[j].size() == 2) queue.hold(j, node++);
        queue.value(Allox{.considered = random.chance(0.5) ? 1 : 0.4});
        for (std::size_t type = 0; type < 2; ++type) CHECK(queue.served_gpus(type) <= queue.gpus_of(type));
        for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
            if (queue.jobs[j].placement.empty()) continue;
            REQUIRE(queue.runs(j));
            CHECK(queue.type_of(j) == queue.cluster.nodes[queue.jobs[j].placement[0].node].gpu_type);
        }
    }
}

TEST_CASE("one-GPU jobs: exactly those start that come first in the order of least completion time") {
    Random random(2);
    for (int round = 0; round < 500; ++round) {
        TypedQueue queue({random.integer(1, 4), random.integer(1, 4)});
        queue.add_random(random, random.integer(1, 15));
        std::vector<AlloxJob> jobs;
        for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
            AlloxJob& job = jobs.emplace_back();
            job.waited_seconds = queue.time_seconds - queue.jobs[j].submitted_seconds;
            for (std::size_t type = 0; type < 2; ++type) {
                double rate = 0;
                for (const Option& option : queue.options[j])
                    if (option.configuration.first().gpu_type == type) rate = option.goodput;
                job.seconds.push_back(allox_seconds(*queue.jobs[j].remaining_examples, rate));
            }
        }
        const std::vector<std::size_t> machines{static_cast<std::size_t>(queue.gpus_of(0)),
                                                static_cast<std::size_t>(queue.gpus_of(1))};
        const AlloxOrder order = allox_order(jobs, machines);
        queue.value(Allox{});
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            CHECK(queue.runs(j) == (order.places[j].before == 0));
            if (queue.runs(j)) CHECK(queue.type_of(j) == order.places[j].type);
        }
    }
}

TEST_CASE("of jobs of several GPUs none waits for room that there is on its type") {
    Random random(3);
    for (int round = 0; round < 500; ++round) {
        TypedQueue queue({random.integer(1, 3)}, 4);
        queue.add_random(random, random.integer(1, 10), 4);
        queue.value(Allox{});
        const int left = queue.gpus_of(0) - queue.served_gpus(0);
        for (std::size_t j = 0; j < queue.jobs.size(); ++j)
            if (!queue.options[j].empty() && !queue.runs(j)) CHECK(queue.jobs[j].max_gpus > left);
    }
}

TEST_CASE("a job that can run nowhere keeps nobody from a GPU") {
    TypedQueue queue({1});
    queue.add({0}, 1000).submitted_seconds = -5000;
    queue.add({2}, 1000);
    queue.value(Allox{});
    CHECK(queue.runs(1));
}

TEST_CASE("settings that are none are refused") {
    CHECK_THROWS_AS(Allox{.considered = 0}.validate(), std::invalid_argument);
    CHECK_THROWS_AS(Allox{.considered = 1.5}.validate(), std::invalid_argument);
    CHECK_THROWS_AS(Allox{.assumed_seconds = 0}.validate(), std::invalid_argument);
}
