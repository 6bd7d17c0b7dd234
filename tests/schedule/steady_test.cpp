// A quiet round stays quiet: among equal jobs, those that run go on running.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/detail/steady_choice.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::apply;
using support::check_plan;
using support::Random;
using support::RandomRound;

namespace {

/// Jobs in groups of equal value, whatever the time and the running jobs; a millionth breaks some ties.
struct Groups {
    double seed = 0;

    double value(const Round&, const Job& job, const Option& option) const {
        const auto number = static_cast<double>(std::stoi(job.name.substr(job.name.find('-') + 1)));
        const double group = 1 + std::fmod(number, 3);
        return group * std::sqrt(option.configuration.gpus()) * (1 + seed * std::fmod(number * 0.618, 1));
    }
};

/// How many jobs hold other GPUs after the plan than before: they start, stop, grow, shrink or move.
std::size_t changed(const Snapshot& snapshot, const Plan& plan) {
    std::size_t count = 0;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
        count += plan.decisions[j].placement != snapshot.jobs[j].placement ? 1 : 0;
    return count;
}

Job equal_job(int number, const Cluster& cluster) {
    Job job{.name = "job-" + std::to_string(number), .initial_batch = 64, .max_batch = 640};
    job.restart_cost_seconds = 30;
    job.types.assign(cluster.gpu_types.size(), {.max_atomic_batch = 64});
    return job;
}

/// 72 GPUs of three types, and equal jobs about which nothing is known.
Snapshot equal_jobs(int jobs) {
    Snapshot snapshot{.time_seconds = 1000, .cluster = {{"T4", "RTX", "A100"}, {}}};
    const auto add = [&](std::size_t type, int nodes, int gpus) {
        for (int n = 0; n < nodes; ++n)
            snapshot.cluster.nodes.push_back(
                {"node-" + std::to_string(type) + "-" + std::to_string(n), type, gpus});
    };
    add(0, 6, 4);
    add(1, 2, 8);
    add(2, 4, 8);
    for (int j = 0; j < jobs; ++j) snapshot.jobs.push_back(equal_job(j, snapshot.cluster));
    return snapshot;
}

struct SmallKind {
    int groups = 2;  ///< 1: equal jobs; 2: some are better, and not all can use every pool
    int most_gpus = 1;
    double seed = 0;
};

/// A small allotment problem with one option per job, pool and size. Jobs hold as much as fits.
struct SmallProblem {
    SmallProblem(Random& random, SmallKind kind) {
        const int pools = random.integer(1, 3);
        for (int p = 0; p < pools; ++p) problem.capacity.push_back(random.integer(1, 4));
        std::vector<double> left = problem.capacity;
        const int jobs = random.integer(1, 6);
        for (int j = 0; j < jobs; ++j) {
            const bool must = random.chance(0.1);
            problem.add_job(false);
            held.push_back(no_option);
            std::vector<std::size_t> fitting;
            const double worth = random.chance(0.7) || kind.groups == 1 ? 1 : 1.01;
            for (int p = 0; p < pools; ++p)
                for (int gpus = 1; gpus <= kind.most_gpus; ++gpus) {
                    if (kind.groups > 1 && random.chance(0.3)) continue;
                    const std::size_t k = problem.add_option(
                        worth * gpus * (1 + kind.seed * random.unit()),
                        {ResourceUse{static_cast<std::uint32_t>(p), static_cast<double>(gpus)}});
                    if (gpus <= left[static_cast<std::size_t>(p)]) fitting.push_back(k);
                }
            if (fitting.empty() || random.chance(0.3)) continue;
            const std::size_t k =
                fitting[static_cast<std::size_t>(random.integer(0, static_cast<int>(fitting.size()) - 1))];
            const ResourceUse use = problem.uses(static_cast<std::size_t>(j), k).front();
            left[use.resource] -= use.units;
            held.back() = k;
            if (must) pinned.push_back(static_cast<std::size_t>(j));
        }
        pin();
    }

    /// A job that must run has what it holds as its only option.
    void pin() {
        AllotmentProblem whole = std::move(problem);
        problem = {};
        problem.capacity = whole.capacity;
        for (std::size_t j = 0; j < whole.jobs(); ++j) {
            const bool must = std::find(pinned.begin(), pinned.end(), j) != pinned.end();
            problem.add_job(must);
            for (std::size_t k = 0; k < whole.options_of(j); ++k)
                if (!must || k == held[j]) problem.add_option(whole.value(j, k), whole.uses(j, k));
            if (must) held[j] = 0;
        }
    }

    /// Returns how many jobs hold the same in `choice` as before.
    [[nodiscard]] int keepers(const std::vector<std::size_t>& choice) const {
        int count = 0;
        for (std::size_t j = 0; j < held.size(); ++j)
            count += held[j] != no_option && choice[j] == held[j] ? 1 : 0;
        return count;
    }

    [[nodiscard]] double value(const std::vector<std::size_t>& choice) const {
        double sum = 0;
        for (std::size_t j = 0; j < choice.size(); ++j)
            if (choice[j] != no_option) sum += problem.value(j, choice[j]);
        return sum;
    }

    [[nodiscard]] bool fits(const std::vector<std::size_t>& choice) const {
        std::vector<double> left = problem.capacity;
        for (std::size_t j = 0; j < choice.size(); ++j) {
            if (choice[j] == no_option) {
                if (problem.must(j)) return false;
                continue;
            }
            const ResourceUse use = problem.uses(j, choice[j]).front();
            if ((left[use.resource] -= use.units) < 0) return false;
        }
        return true;
    }

    /// Returns the most keepers among all allotments worth at least `least`.
    [[nodiscard]] int most_keepers(double least) const {
        std::vector<std::size_t> choice(held.size(), no_option);
        int most = -1;
        for (;;) {
            if (fits(choice) && value(choice) >= least) most = std::max(most, keepers(choice));
            std::size_t j = 0;
            for (; j < choice.size(); ++j) {
                choice[j] = choice[j] == no_option ? 0 : choice[j] + 1;
                if (choice[j] < problem.options_of(j)) break;
                choice[j] = no_option;
            }
            if (j == choice.size()) return most;
        }
    }

    AllotmentProblem problem;
    std::vector<std::size_t> held, pinned;
};

/// Every other option means other GPUs.
bool is_same(std::size_t, std::size_t option, std::size_t held) { return option == held; }

/// Returns in how many of `problems` small problems some best allotment has more keepers than the step found.
int missed(std::uint64_t seed, int problems, SmallKind kind) {
    Random random(seed);
    detail::SteadyChoice steady;
    int count = 0, gained = 0;
    for (int n = 0; n < problems; ++n) {
        CAPTURE(n);
        const SmallProblem small(random, kind);
        const AllotResult before = allot(small.problem, {.gap = 0});
        REQUIRE(before.status == AllotStatus::optimal);
        AllotResult after = before;
        std::vector<std::size_t> held = small.held;
        steady.keep(small.problem, held, is_same, 0, after);
        CHECK(small.fits(after.choice));
        CHECK(after.objective == doctest::Approx(small.value(after.choice)));
        CHECK(after.objective >= before.objective * (1 - 2.1e-6));
        CHECK(after.objective <= after.bound);
        CHECK(after.bound == doctest::Approx(before.bound).epsilon(1e-9));
        CHECK(small.keepers(after.choice) >= small.keepers(before.choice));
        gained += small.keepers(after.choice) > small.keepers(before.choice) ? 1 : 0;
        count += small.keepers(after.choice) < small.most_keepers(before.objective * (1 - 1e-6)) ? 1 : 0;
        const AllotResult once = after;
        steady.keep(small.problem, held, is_same, 0, after);
        CHECK(after.choice == once.choice);
    }
    CHECK(gained > problems / 10);
    return count;
}

/// An allotment problem of jobs with given options (value, pool, GPUs), and its solution.
struct Written {
    explicit Written(std::vector<double> capacity) { problem.capacity = std::move(capacity); }
    void job(std::size_t holds, std::vector<std::pair<double, ResourceUse>> options, bool must = false) {
        problem.add_job(must);
        for (const auto& [value, use] : options) problem.add_option(value, {use});
        held.push_back(holds);
    }
    std::vector<std::size_t> kept(std::vector<std::size_t> given, double gap = 1e-4) {
        AllotResult result;
        result.choice = std::move(given);
        for (std::size_t j = 0; j < problem.jobs(); ++j)
            if (result.choice[j] != no_option) result.objective += problem.value(j, result.choice[j]);
        result.bound = result.objective;
        std::vector<std::size_t> holds = held;
        detail::SteadyChoice().keep(problem, holds, is_same, gap, result);
        return result.choice;
    }
    AllotmentProblem problem;
    std::vector<std::size_t> held;
};

}  // namespace

TEST_CASE("if only a minute has passed, no job starts, stops or moves, whatever the policy") {
    // Jobs keep what they hold even if the search ends early. A few of these rounds would otherwise take
    // minutes.
    const std::size_t states = std::size_t{1} << 17;
    Random random(1);
    const auto check = [](auto&& scheduler, Snapshot snapshot) {
        apply(scheduler.plan(snapshot), snapshot);
        for (int minute = 0; minute < 3; ++minute) {
            snapshot.time_seconds += 60;
            const Plan& plan = scheduler.plan(snapshot);
            check_plan(snapshot, plan);
            CHECK(changed(snapshot, plan) == 0);
            CHECK(plan.move_cost_seconds == 0);
        }
    };
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        Snapshot snapshot = RandomRound(random, {.packs = true}).snapshot;
        check(Scheduler<Groups>({}, {.most_states = states}), snapshot);
        check(Scheduler<Groups>({.seed = 1e-6}, {.most_states = states}), snapshot);
        check(Scheduler<Groups>({.seed = 1e-6}, {.gap = 0, .most_states = states}), snapshot);
        // Fifo ignores the GPUs of a job that keeps what it holds without making progress.
        for (Job& job : snapshot.jobs) {
            job.preemptible = true;
            job.restarting = false;
        }
        check(Scheduler<Fifo>({.backfill = true}, {.most_states = states}), snapshot);
    }
}

TEST_CASE("if the gap is wide, a job moves only for something better") {
    Random random(2);
    int quiet = 0, rounds = 0, disturbed = 0;
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        Snapshot snapshot = RandomRound(random, {.packs = true}).snapshot;
        Scheduler<Groups> scheduler({}, {.gap = 0.02});
        double before = 0;
        for (int minute = 0; minute < 4; ++minute) {
            const Plan& plan = scheduler.plan(snapshot);
            if (minute > 0) {
                const bool worse = changed(snapshot, plan) > 0 && plan.objective <= before;
                // If options also take blocks of nodes, the step finds fewer exchanges.
                if (scheduler.problem().capacity.size() == scheduler.pools().size()) CHECK_FALSE(worse);
                disturbed += worse;
                quiet += changed(snapshot, plan) == 0 ? 1 : 0;
                ++rounds;
            }
            before = plan.objective;
            apply(plan, snapshot);
        }
    }
    CHECK(quiet > 0.95 * rounds);
    CHECK(disturbed <= 0.01 * rounds);
}

TEST_CASE("as many equal jobs as possible keep what they hold") {
    CHECK(missed(1, 3000, {.groups = 1}) == 0);
    CHECK(missed(2, 3000, {.groups = 1, .seed = 1e-7}) == 0);
}

TEST_CASE("with better jobs, or jobs of several sizes, nearly as many as possible keep what they hold") {
    CHECK(missed(3, 3000, {}) < 60);  // some exchanges need a waiting job to start instead
    CHECK(missed(4, 3000, {.most_gpus = 2}) < 400);
}

TEST_CASE("running jobs go on through pairs, cycles, and several small jobs for a large one") {
    const std::size_t x = no_option;
    SUBCASE("a pair") {
        Written pair({1});
        pair.job(x, {{1, {0, 1}}});
        pair.job(0, {{1, {0, 1}}});
        CHECK(pair.kept({0, x}) == std::vector<std::size_t>{x, 0});
    }
    SUBCASE("a cycle over three pools, next to a job that must start") {
        Written cycle({2, 1, 1});
        for (const std::size_t pool : {0U, 1U, 2U}) cycle.job(pool, {{1, {0, 1}}, {1, {1, 1}}, {1, {2, 1}}});
        cycle.job(x, {{1, {0, 1}}});
        CHECK(cycle.kept({1, 2, 0, 0}) == std::vector<std::size_t>{0, 1, 2, 0});
    }
    SUBCASE("a chain that ends with a job that was to start") {
        Written chain({1, 1});
        chain.job(0, {{1, {0, 1}}});
        chain.job(1, {{1, {0, 1}}, {1, {1, 1}}});
        chain.job(x, {{1, {1, 1}}});
        chain.job(x, {{1.01, {1, 1}}});
        CHECK(chain.kept({x, 0, 0, x}) == std::vector<std::size_t>{0, 1, x, x});
        // A better job at the end of the chain is not given up.
        CHECK(chain.kept({x, 0, x, 0}) == std::vector<std::size_t>{0, x, x, 0});
    }
    SUBCASE("a large one for small ones, and small ones for a large one") {
        for (const bool large_runs : {true, false}) {
            Written sizes({4});
            sizes.job(large_runs ? 0 : x, {{4, {0, 4}}});
            for (int small = 0; small < 4; ++small) sizes.job(large_runs ? x : 0, {{1, {0, 1}}});
            const std::vector<std::size_t> large{0, x, x, x, x}, four{x, 0, 0, 0, 0};
            CHECK(sizes.kept(large_runs ? four : large) == (large_runs ? large : four));
        }
    }
    SUBCASE("the same next to necessary changes") {
        for (const bool large_runs : {true, false}) {
            Written sizes({4, 1});
            sizes.job(large_runs ? 0 : x, {{4, {0, 4}}});
            for (int small = 0; small < 4; ++small) sizes.job(large_runs ? x : 0, {{1, {0, 1}}});
            sizes.job(0, {{1, {1, 1}}});
            sizes.job(x, {{2, {1, 1}}});
            const std::vector<std::size_t> large{0, x, x, x, x, x, 0}, four{x, 0, 0, 0, 0, x, 0};
            CHECK(sizes.kept(large_runs ? four : large) == (large_runs ? large : four));
        }
    }
    SUBCASE("jobs that must run do, and no job keeps what is worth nothing") {
        Written must({1, 1});
        must.job(0, {{1, {0, 1}}});
        must.job(x, {{1, {0, 1}}}, true);
        must.job(0, {{0, {1, 1}}});
        must.job(x, {{1, {1, 1}}});
        CHECK(must.kept({x, 0, x, 0}) == std::vector<std::size_t>{x, 0, x, 0});
    }
    SUBCASE("a free GPU goes to a job that gains from it, however wide the gap") {
        Written free({3, 1});
        for (int j = 0; j < 4; ++j) free.job(j < 3 ? 0 : x, {{1000, {0, 1}}});
        free.job(x, {{0.01, {1, 1}}});
        CHECK(free.kept({x, 0, 0, 0, 0}, 0.1) == std::vector<std::size_t>{0, 0, 0, x, 0});
    }
    SUBCASE("changes within the gap are not made if they gain little for the jobs concerned") {
        Written gap({2});
        gap.job(0, {{1, {0, 1}}});
        gap.job(x, {{1.001, {0, 1}}});  // better by less than half a percent
        gap.job(0, {{1000, {0, 1}}});
        CHECK(gap.kept({x, 0, 0}, 1e-4) == std::vector<std::size_t>{0, x, 0});
        CHECK(gap.kept({x, 0, 0}, 1e-7) == std::vector<std::size_t>{x, 0, 0});
    }
}

TEST_CASE("the same 72 of 300 equal jobs on 72 GPUs go on running, round after round") {
    const auto check = [](auto&& scheduler) {
        Snapshot snapshot = equal_jobs(300);
        for (int round = 0; round < 20; ++round) {
            CAPTURE(round);
            const Plan& plan = scheduler.plan(snapshot);
            check_plan(snapshot, plan);
            CHECK(changed(snapshot, plan) == (round == 0 ? 72 : 0));
            apply(plan, snapshot);
            snapshot.time_seconds += 60;
        }
    };
    check(Scheduler<Sia>());
    check(Scheduler<GoodputPolicy>());
    check(Scheduler<Fifo>({.backfill = true}));
    check(Scheduler<Groups>());
}

TEST_CASE("one job ends and another comes: one starts, and no other job changes") {
    Snapshot snapshot = equal_jobs(300);
    Scheduler<Sia> scheduler;
    apply(scheduler.plan(snapshot), snapshot);
    Random random(1);
    for (int round = 0; round < 50; ++round) {
        CAPTURE(round);
        snapshot.time_seconds += 60;
        std::size_t ends = 0;
        for (int steps = random.integer(1, 72); steps > 0; ++ends)
            steps -= snapshot.jobs[ends].placement.empty() ? 0 : 1;
        const auto at = snapshot.jobs.begin() + static_cast<std::ptrdiff_t>(ends - 1);
        REQUIRE(!at->placement.empty());
        snapshot.jobs.erase(at);
        snapshot.jobs.push_back(equal_job(300 + round, snapshot.cluster));
        snapshot.jobs.back().submitted_seconds = snapshot.time_seconds;
        // The newcomer comes first in the order in which the solver deals out options.
        std::rotate(snapshot.jobs.begin(), snapshot.jobs.end() - 1, snapshot.jobs.end());
        const Plan& plan = scheduler.plan(snapshot);
        CHECK(changed(snapshot, plan) == 1);
        apply(plan, snapshot);
    }
}

TEST_CASE("a new job that is better by a hundredth replaces a running one") {
    struct BetterLast {
        double value(const Round&, const Job& job, const Option&) const {
            return job.name == "job-299" ? 1.01 : 1;
        }
    };
    Snapshot snapshot = equal_jobs(299);
    Scheduler<BetterLast> scheduler;
    apply(scheduler.plan(snapshot), snapshot);
    snapshot.jobs.push_back(equal_job(299, snapshot.cluster));
    const Plan& plan = scheduler.plan(snapshot);
    CHECK(plan.decisions.back().starts);
    CHECK(changed(snapshot, plan) == 2);
}

namespace {

/// A policy for which all GPUs are equally good.
struct GpusCount {
    double value(const Round&, const Job&, const Option& option) const { return option.configuration.gpus(); }
};

}  // namespace

TEST_CASE("no job is slower for fewer nodes if a policy values both equally") {
    struct AllAlikeValues {
        double value(const Round&, const Job&, const Option&) const { return 1; }
    };
    struct FasterOnSmall {
        void operator()(const Job&, const JobModel&, std::span<Option> options) const {
            for (Option& option : options) option.goodput = option.configuration.nodes();
        }
    };
    Snapshot snapshot{.cluster = {{"GPU"}, {{"a", 0, 2}, {"b", 0, 2}, {"c", 0, 4}}}};
    snapshot.jobs.push_back(
        {.name = "job", .min_gpus = 4, .max_gpus = 4, .initial_batch = 64, .max_batch = 640});
    snapshot.jobs[0].types = {{.max_atomic_batch = 64}};
    Scheduler<AllAlikeValues, LeastMovesPlacer, Allotter<>, FasterOnSmall> scheduler;
    CHECK(scheduler.plan(snapshot).decisions[0].placement.size() == 2);
}

TEST_CASE("among equally good options, a job gets the one on the fewest nodes") {
    Snapshot snapshot{.cluster = {{"GPU"}, {}}};
    for (int n = 0; n < 16; ++n) snapshot.cluster.nodes.push_back({"small-" + std::to_string(n), 0, 1});
    for (int n = 0; n < 2; ++n) snapshot.cluster.nodes.push_back({"large-" + std::to_string(n), 0, 8});
    const auto add = [&](const char* name, int gpus) {
        snapshot.jobs.push_back(
            {.name = name, .min_gpus = gpus, .max_gpus = gpus, .initial_batch = 64, .max_batch = 640});
        snapshot.jobs.back().types = {{.max_atomic_batch = 64}};
    };
    add("wide", 16);
    Scheduler<GpusCount> scheduler;
    CHECK(scheduler.plan(snapshot).decisions[0].placement == Placement{{16, 8}, {17, 8}});
    // If another job is on one of the large nodes, the job gets the small ones and stays there.
    add("pinned", 8);
    snapshot.jobs[1].preemptible = false;
    snapshot.jobs[1].placement = {{16, 8}};
    apply(scheduler.plan(snapshot), snapshot);
    CHECK(snapshot.jobs[0].placement.size() == 16);
    snapshot.jobs.pop_back();
    CHECK_FALSE(scheduler.plan(snapshot).decisions[0].starts);
    // No GPU idles to save nodes: of 3 nodes of 2 GPUs and 2 of 4, six GPUs take the three.
    snapshot.jobs.clear();
    snapshot.cluster.nodes.clear();
    for (const int gpus : {2, 2, 2, 4, 4})
        snapshot.cluster.nodes.push_back({"node-" + std::to_string(snapshot.cluster.nodes.size()), 0, gpus});
    add("six", 6);
    CHECK(scheduler.plan(snapshot).decisions[0].placement.size() == 3);
}
