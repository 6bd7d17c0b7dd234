// Pilots first, then the shortest estimated remaining work: which jobs begin tasks, and that none loses any.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/tasks/pilots.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"
#include "support/validation.hpp"
#include "tasks/task_samples.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

UsualTasks usual_seconds_of(double seconds, double between, double within) {
    return {.mean_log_seconds = std::log(seconds),
            .between = between,
            .within = within,
            .within_freedom = 100,
            .mean_factor = std::exp(within / 2),
            .work = between + 0.5};
}

/// Jobs of tasks that hold GPUs of one pool, with the options that a maker would offer them.
struct TaskQueue {
    Cluster cluster{{"gpu"}, {}};
    std::vector<Pool> pools;
    std::vector<Job> jobs;
    std::vector<std::vector<Option>> options;
    std::vector<std::vector<double>> values;

    /// With one GPU per node, offers all numbers of GPUs; with eight, the sizes that always pack.
    TaskQueue(support::Random& random, int gpus_per_node) {
        const int nodes = gpus_per_node == 1 ? random.integer(1, 24) : random.integer(1, 3);
        for (int n = 0; n < nodes; ++n)
            cluster.nodes.push_back({"node-" + std::to_string(n), 0, gpus_per_node});
        pools = pools_of(cluster);
        std::size_t next = 0;
        for (int j = random.integer(1, 10); j > 0; --j) {
            Job job{.name = "job-" + std::to_string(j),
                    .submitted_seconds = static_cast<double>(jobs.size())};
            job.max_gpus = 1 << 20;
            std::vector<double> finished, running;
            for (int t = random.integer(0, 4); t > 0; --t) finished.push_back(std::exp(random.between(0, 6)));
            int held = 0;
            if (random.chance(0.5) && next < cluster.nodes.size()) {
                held = random.integer(1, gpus_per_node);
                if (gpus_per_node == 8) held = 1 << random.integer(0, 3);
                job.placement = {{next++, held}};
                for (int t = random.integer(0, held); t > 0; --t) running.push_back(random.between(0, 300));
            }
            const int more = random.integer(0, 30);
            const int tasks = static_cast<int>(finished.size() + running.size()) + std::max(more, 1);
            job.tasks = support::tasks_of(tasks, finished, running);
            if (random.chance(0.5))
                job.tasks->usual = usual_seconds_of(60, random.between(0.01, 2), random.between(0.01, 2));
            if (random.chance(0.1)) job.tasks.reset();
            jobs.push_back(job);
            std::vector<Option> offered;
            const auto offer = [&](Shape shape) {
                const bool keeps = job.keeps_what_it_holds();
                if (shape.gpus <= most_of(job) && (!keeps || shape.gpus == held))
                    offered.push_back(
                        {{0, gpus_per_node, shape}, {1, 0}, shape.gpus * 1.0, Knowledge::measured});
            };
            for (int gpus = 1; gpus <= gpus_per_node; gpus *= 2) offer({1, gpus});
            for (int n = 2; n <= nodes; ++n) offer({n, n * gpus_per_node});
            options.push_back(offered);
            values.emplace_back(offered.size(), -1);
        }
    }

    static int most_of(const Job& job) {
        return job.tasks ? std::max({job.tasks->running() + job.tasks->waiting(), 1,
                                     job.placement.empty() ? 0 : job.placement[0].gpus})
                         : 8;
    }

    void value(const Pilots& policy) {
        std::vector<support::PoolUses> uses;
        for (const auto& offered : options) uses.emplace_back(pools, std::span<const Option>(offered));
        std::vector<OptionRow> rows;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            rows.push_back({jobs[j], options[j], values[j], uses[j].view()});
        const std::vector<double> capacity = support::capacity_of(pools);
        policy.value_round(Round{100, cluster, pools, capacity}, rows);
    }

    /// Returns the GPUs of the option that has a value.
    [[nodiscard]] int given(std::size_t job) const {
        int gpus = 0;
        for (std::size_t k = 0; k < values[job].size(); ++k) {
            CHECK((values[job][k] == 0 || values[job][k] == 1));
            if (values[job][k] == 0) continue;
            CHECK(gpus == 0);
            gpus = options[job][k].configuration.gpus();
        }
        return gpus;
    }
};

}  // namespace

TEST_CASE("free GPUs go one by one to the best claim, pilots first, until none is left") {
    support::Random random(1);
    for (int round = 0; round < 3000; ++round) {
        std::vector<TaskClaim> claims;
        for (int j = random.integer(0, 8); j > 0; --j) {
            TaskClaim claim{.submitted_seconds = random.integer(0, 5) * 1.0, .waiting = random.integer(0, 6)};
            claim.priority = {std::max(random.integer(-4, 4), 0), random.integer(1, 3),
                              random.integer(0, 4) * 10.0};
            claims.push_back(claim);
        }
        const int free = random.integer(0, 30);
        const std::vector<int> given = share_free_gpus(claims, free);
        std::vector<int> expected(claims.size(), 0);
        for (int gpu = 0; gpu < free; ++gpu) {
            std::size_t best = claims.size();
            const auto before = [&](std::size_t a, std::size_t b) {
                const auto pilot = [&](std::size_t j) { return expected[j] < claims[j].priority.pilots; };
                if (pilot(a) != pilot(b)) return pilot(a);
                if (!pilot(a) && claims[a].priority.queue != claims[b].priority.queue)
                    return claims[a].priority.queue < claims[b].priority.queue;
                if (!pilot(a) && claims[a].priority.work_seconds != claims[b].priority.work_seconds)
                    return claims[a].priority.work_seconds < claims[b].priority.work_seconds;
                return claims[a].submitted_seconds < claims[b].submitted_seconds;
            };
            for (std::size_t j = 0; j < claims.size(); ++j)
                if (expected[j] < claims[j].waiting && (best == claims.size() || before(j, best))) best = j;
            if (best < claims.size()) ++expected[best];
        }
        REQUIRE(given == expected);
    }
}

TEST_CASE("no task that runs loses its GPU, no more is given than there is, and nothing that fits is left") {
    support::Random random(2);
    for (const int gpus_per_node : {1, 8})
        for (int round = 0; round < 1500; ++round) {
            CAPTURE(gpus_per_node);
            CAPTURE(round);
            TaskQueue queue(random, gpus_per_node);
            const Pilots policy{.estimates = random.chance(0.3)   ? TaskEstimates::own
                                             : random.chance(0.3) ? TaskEstimates::usual
                                                                  : TaskEstimates::combined};
            queue.value(policy);
            int given = 0, wanted = 0;
            for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
                const int its = queue.given(j);
                given += its;
                if (const auto& tasks = queue.jobs[j].tasks) {
                    CHECK(its >= tasks->running());
                    wanted += tasks->running() + tasks->waiting();
                } else {
                    if (!queue.jobs[j].placement.empty()) CHECK(its >= queue.jobs[j].placement[0].gpus);
                    wanted += queue.options[j].back().configuration.gpus();
                }
            }
            CHECK(given <= queue.pools[0].gpus());
            if (gpus_per_node == 1) CHECK(given == std::min(queue.pools[0].gpus(), wanted));
        }
}

TEST_CASE("a job's place under the published rule: pilots, then nothing known, then its own estimate") {
    const Pilots published{.estimates = TaskEstimates::own};
    const TaskPriority fresh = published.priority(support::tasks_of(100, {}));
    CHECK(fresh.pilots == 3);
    const TaskPriority begun = published.priority(support::tasks_of(100, {10}, {5, 5}));
    CHECK(begun.pilots == 0);
    CHECK(begun.queue == fresh.queue);  // because two pilots still run
    const TaskPriority known = published.priority(support::tasks_of(100, {10, 20, 30}));
    CHECK(known.queue < begun.queue);
    CHECK(known.work_seconds == doctest::Approx(97 * 20));
    const TaskPriority few = published.priority(support::tasks_of(3, {}));
    CHECK(few.pilots == 0);
    CHECK(few.queue < known.queue);
    CHECK(published.priority(support::tasks_of(3, {5}, {2})).queue == few.queue);
}

TEST_CASE("by history there are no pilots, and a job without one is served last") {
    const Pilots by_history{.estimates = TaskEstimates::usual};
    JobTasks tasks = support::tasks_of(100, {1, 1, 1});
    const TaskPriority unknown = by_history.priority(tasks);
    tasks.usual = usual_seconds_of(60, 0.1, 0.1);
    const TaskPriority known = by_history.priority(tasks);
    CHECK(unknown.pilots + known.pilots == 0);
    CHECK(known.queue < unknown.queue);
    // It ignores what has ended: 97 tasks of e^(0.05 + 0.05) minutes are left.
    CHECK(known.work_seconds == doctest::Approx(97 * 60 * std::exp(0.1)));
}

TEST_CASE(
    "combined: pilots where jobs differ, none where earlier jobs say enough, the published rule without") {
    const Pilots ours;
    JobTasks tasks = support::tasks_of(100, {});
    CHECK(ours.priority(tasks).pilots == published_pilots(100));
    tasks.usual = usual_seconds_of(60, 1, 0.2);
    CHECK(ours.priority(tasks).pilots == best_pilots(100, *tasks.usual));
    CHECK(ours.priority(tasks).pilots > 0);
    tasks.usual = usual_seconds_of(60, 0.001, 0.2);
    CHECK(ours.priority(tasks).pilots == 0);
    CHECK(ours.priority(tasks).work_seconds == doctest::Approx(100 * 60 * std::exp(0.1 + 0.0005)));
    // The job's own tasks change the estimate, both ended ones and one that does not end.
    tasks.usual = usual_seconds_of(60, 1, 0.2);
    const double before = ours.priority(tasks).work_seconds;
    JobTasks fast = support::tasks_of(100, {5, 6, 7}), stuck = support::tasks_of(100, {}, {600});
    fast.usual = stuck.usual = tasks.usual;
    CHECK(ours.priority(fast).work_seconds < before / 5);
    CHECK(ours.priority(stuck).work_seconds > 5 * before);
}

TEST_CASE("bad settings are refused") {
    CHECK_THROWS_WITH_AS((Pilots{.pilot_part = 2}.validate()),
                         "policy pilots: part of the tasks is 2, but must be from 0 to 1",
                         std::invalid_argument);
    CHECK_THROWS_AS((Pilots{.few_tasks = -1}.validate()), std::invalid_argument);
    Pilots().validate();
}
