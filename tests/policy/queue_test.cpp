// Policies that are queues: no job overtakes except by the rule, and no GPU is promised twice.

#include <span>
#include <vector>

#include "goodput/policies/tiresias.hpp"
#include "goodput/policy/queue.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"
#include "support/random_queue.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::RandomQueue;

TEST_CASE(
    "first in, first out: running jobs go on, and no waiting job is served while an earlier one waits") {
    support::Random random(2);
    for (int round = 0; round < 2000; ++round) {
        RandomQueue queue(random);
        queue.value(Fifo{});
        REQUIRE(queue.served_gpus() <= queue.pools[0].gpus());
        for (std::size_t a = 0; a < queue.jobs.size(); ++a) {
            if (!queue.jobs[a].placement.empty()) {
                CHECK(queue.values[a] > 0);
                continue;
            }
            for (std::size_t b = 0; b < queue.jobs.size(); ++b)
                if (queue.jobs[b].placement.empty() &&
                    queue.jobs[b].submitted_seconds > queue.jobs[a].submitted_seconds && queue.values[b] > 0)
                    CHECK(queue.values[a] > 0);
        }
    }
}

TEST_CASE(
    "jobs that keep what they hold come before all others, under every order and with or without backfill") {
    support::Random random(6);
    const auto check = [](RandomQueue& queue, const auto& policy) {
        queue.value(policy);
        REQUIRE(queue.served_gpus() <= queue.pools[0].gpus());
        for (std::size_t j = 0; j < queue.jobs.size(); ++j)
            if (queue.keeps(j)) CHECK(queue.served(j));
    };
    for (int round = 0; round < 1000; ++round) {
        RandomQueue queue(random, 0.5);
        check(queue, Fifo{});
        check(queue, ShortestRemainingTime{.backfill = random.chance(0.5)});
        check(queue, Tiresias{.thresholds_gpu_seconds = {150, 300}, .backfill = random.chance(0.5)});
        check(queue, LeastAttainedService{.backfill = random.chance(0.5)});
    }
}

TEST_CASE("a job that must run is served wherever it stands in the queue") {
    support::Random random(7);
    int late = 0;
    const auto check = [&](RandomQueue& queue, std::size_t last, const auto& policy) {
        queue.value(policy);
        REQUIRE(queue.served_gpus() <= queue.pools[0].gpus());
        if (queue.gpus_of(last) > queue.pools[0].gpus()) return;
        CHECK(queue.served(last));
        queue.jobs[last].must_run = false;
        queue.value(policy);
        late += queue.served(last) ? 0 : 1;
        queue.jobs[last].must_run = true;
    };
    for (int round = 0; round < 1000; ++round) {
        RandomQueue queue(random);
        const std::size_t last = queue.jobs.size() - 1;
        queue.jobs[last].submitted_seconds = 1e6;
        queue.jobs[last].placement.clear();
        queue.jobs[last].must_run = true;
        check(queue, last, Fifo{.backfill = random.chance(0.5)});
        check(queue, last, ShortestRemainingTime{.backfill = random.chance(0.5)});
        check(queue, last, Tiresias{.thresholds_gpu_seconds = {150, 300}, .backfill = random.chance(0.5)});
        check(queue, last, LeastAttainedService{.backfill = random.chance(0.5)});
    }
    CHECK(late > 300);
}

TEST_CASE("a running job that gives way to one that must run stops no other running job") {
    support::Random random(8);
    int gave_way = 0;
    for (int round = 0; round < 2000; ++round) {
        RandomQueue queue(random);
        const std::size_t must = queue.jobs.size() - 1;
        queue.jobs[must].placement.clear();
        queue.jobs[must].must_run = true;
        queue.value(Fifo{});
        const int left = queue.pools[0].gpus() - queue.served_gpus();
        for (std::size_t j = 0; j < must; ++j) {
            if (!queue.runs(j) || queue.served(j)) continue;
            ++gave_way;
            CHECK(queue.gpus_of(j) > left);
        }
    }
    CHECK(gave_way > 100);
}

TEST_CASE("with backfilling nothing that fits is left waiting") {
    support::Random random(3);
    for (int round = 0; round < 2000; ++round) {
        RandomQueue queue(random);
        queue.value(Fifo{.backfill = true});
        const int left = queue.pools[0].gpus() - queue.served_gpus();
        for (std::size_t j = 0; j < queue.jobs.size(); ++j)
            if (queue.values[j] <= 0) CHECK(queue.gpus_of(j) > left);
    }
}

TEST_CASE("shortest remaining time: a job waits only if the shorter ones leave too little") {
    support::Random random(4);
    for (int round = 0; round < 2000; ++round) {
        RandomQueue queue(random);
        queue.value(ShortestRemainingTime{});
        const auto seconds = [&](std::size_t j) {
            return queue.jobs[j].remaining_examples
                       ? *queue.jobs[j].remaining_examples / queue.options[j].goodput
                       : 1e300;
        };
        REQUIRE(queue.served_gpus() <= queue.pools[0].gpus());
        for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
            if (queue.values[j] > 0) continue;
            int shorter = 0;
            for (std::size_t other = 0; other < queue.jobs.size(); ++other)
                if (queue.values[other] > 0 && seconds(other) <= seconds(j)) shorter += queue.gpus_of(other);
            CHECK(shorter + queue.gpus_of(j) > queue.pools[0].gpus());
        }
    }
}

TEST_CASE("least attained service: less goes first, equals by submission, and a running job has a lead") {
    support::Random random(8);
    for (int round = 0; round < 2000; ++round) {
        RandomQueue queue(random);
        const LeastAttainedService policy{.lead_gpu_seconds = random.integer(0, 2) * 100.0};
        queue.value(policy);
        REQUIRE(queue.served_gpus() <= queue.pools[0].gpus());
        const auto service = [&](std::size_t j) {
            return queue.jobs[j].attained_gpu_seconds - (queue.runs(j) ? policy.lead_gpu_seconds : 0);
        };
        for (std::size_t a = 0; a < queue.jobs.size(); ++a) {
            if (queue.served(a)) continue;
            int before = 0;
            for (std::size_t b = 0; b < queue.jobs.size(); ++b) {
                if (!queue.served(b)) continue;
                const bool first = service(b) != service(a)
                                       ? service(b) < service(a)
                                       : queue.jobs[b].submitted_seconds <= queue.jobs[a].submitted_seconds;
                if (first) before += queue.gpus_of(b);
                if (queue.gpus_of(b) == queue.gpus_of(a)) CHECK(first);
            }
            CHECK(before + queue.gpus_of(a) > queue.pools[0].gpus());
        }
    }
}

TEST_CASE("a lead makes two equal jobs take turns less often") {
    const Cluster cluster{{"gpu"}, {{"node", 0, 8}}};
    const std::vector<Pool> pools = pools_of(cluster);
    const std::vector<Option> options{{{0, 8, {1, 8}}, {1, 0}, 1, Knowledge::measured}};
    const std::vector<double> capacity = support::capacity_of(pools);
    const support::PoolUses uses(pools, options);
    const auto turns = [&](double lead) {
        std::vector<Job> jobs{{.name = "a"}, {.name = "b", .submitted_seconds = 1}};
        std::vector<double> values(2);
        int changes = 0;
        for (int round = 0; round < 60; ++round) {
            const std::vector<OptionRow> rows{
                {jobs[0], options, std::span<double>(values).first(1), uses.view()},
                {jobs[1], options, std::span<double>(values).last(1), uses.view()}};
            value_rows(LeastAttainedService{.lead_gpu_seconds = lead},
                       Round{60.0 * round, cluster, pools, capacity}, std::span<const OptionRow>(rows));
            REQUIRE(values[0] + values[1] == 1);
            for (std::size_t j = 0; j < 2; ++j) {
                changes += values[j] > 0 && jobs[j].placement.empty() ? 1 : 0;
                jobs[j].placement = values[j] > 0 ? Placement{{0, 8}} : Placement{};
                jobs[j].attained_gpu_seconds += values[j] * 8 * 60;
            }
        }
        return changes;
    };
    CHECK(turns(0) == 60);
    CHECK(turns(5 * 8 * 60) <= 11);
    CHECK(turns(1e9) == 1);
}

TEST_CASE("settings of queues that make no sense are refused by name and value") {
    CHECK_NOTHROW(LeastAttainedService{}.validate());
    CHECK_THROWS_WITH(LeastAttainedService{.lead_gpu_seconds = -1}.validate(),
                      "policy las: lead is -1, but must be a finite number of at least 0");
}

TEST_CASE("the three forms of a policy, and types that are none") {
    struct ByOption {
        double value(const Round&, const Job&, const Option& option) const { return option.goodput; }
    };
    struct NoPolicy {
        double value(const Job&) const { return 0; }
    };
    static_assert(Policy<ByOption> && OptionPolicy<ByOption> && !RowPolicy<ByOption> &&
                  !GrowthLimit<ByOption>);
    static_assert(Policy<Fifo> && !OptionPolicy<Fifo>);
    static_assert(!Policy<NoPolicy>);
    support::Random random(5);
    RandomQueue queue(random);
    queue.value(ByOption{});
    for (std::size_t j = 0; j < queue.jobs.size(); ++j) CHECK(queue.values[j] == queue.options[j].goodput);
}
