// Queue policies: nobody overtakes but by the rule, nothing is promised twice.

#include <algorithm>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// A random queue on one pool of 8-GPU nodes: every job asks for one number of GPUs.
struct Queue {
    Cluster cluster{{"gpu"}, {}};
    std::vector<Pool> pools;
    std::vector<Job> jobs;
    std::vector<Option> options;
    std::vector<double> values;

    explicit Queue(support::Random& random) {
        const int nodes = random.integer(1, 4);
        for (int n = 0; n < nodes; ++n) cluster.nodes.push_back({"node-" + std::to_string(n), 0, 8});
        pools = pools_of(cluster);
        int held = 0;
        const int count = random.integer(1, 12);
        for (int j = 0; j < count; ++j) {
            Job job{.name = "job-" + std::to_string(j), .submitted_seconds = random.integer(0, 50) * 1.0};
            const int gpus = random.integer(1, 8);
            if (random.chance(0.4) && held + 8 <= nodes * 8) {
                job.placement = {{static_cast<std::size_t>(held / 8), gpus}};
                held += 8;
            }
            if (random.chance(0.8)) job.remaining_examples = random.between(1, 100);
            jobs.push_back(job);
            options.push_back({{0, 8, {1, gpus}}, {1, 0}, random.between(0.1, 10), Knowledge::measured});
        }
        values.resize(jobs.size());
    }

    template <class P>
    void value(const P& policy) {
        std::vector<Row> rows;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            rows.push_back({jobs[j], std::span<const Option>(options).subspan(j, 1),
                            std::span<double>(values).subspan(j, 1)});
        value_rows(policy, Round{100, cluster, pools}, std::span<const Row>(rows));
    }
    [[nodiscard]] int gpus_of(std::size_t j) const { return options[j].allotment.shape.gpus; }
    [[nodiscard]] int served_gpus() const {
        int sum = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) sum += values[j] > 0 ? gpus_of(j) : 0;
        return sum;
    }
};

}  // namespace

TEST_CASE(
    "first in, first out: running jobs go on, and no waiting job is served while an earlier one waits") {
    support::Random random(2);
    for (int round = 0; round < 2000; ++round) {
        Queue queue(random);
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

TEST_CASE("with backfilling nothing that fits is left waiting") {
    support::Random random(3);
    for (int round = 0; round < 2000; ++round) {
        Queue queue(random);
        queue.value(Fifo{.backfill = true});
        const int left = queue.pools[0].gpus() - queue.served_gpus();
        for (std::size_t j = 0; j < queue.jobs.size(); ++j)
            if (queue.values[j] <= 0) CHECK(queue.gpus_of(j) > left);
    }
}

TEST_CASE("shortest remaining time: a job waits only if the shorter ones leave too little") {
    support::Random random(4);
    for (int round = 0; round < 2000; ++round) {
        Queue queue(random);
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

TEST_CASE("the three forms of a policy, and what is none") {
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
    Queue queue(random);
    queue.value(ByOption{});
    for (std::size_t j = 0; j < queue.jobs.size(); ++j) CHECK(queue.values[j] == queue.options[j].goodput);
}
