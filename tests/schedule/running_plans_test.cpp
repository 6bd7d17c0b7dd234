// The batch plan of a running job changes if that pays, and does not follow the noise of measurements.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace running_plans {

using namespace goodput;
using support::Random;

/// One job that holds a node of 8 GPUs.
struct OneJob {
    explicit OneJob(Random& random) {
        now.cluster = {{"gpu"}, {{"node", 0, 8}}};
        Job job{.name = "job", .restart_cost_seconds = 30, .min_gpus = 8, .max_gpus = 8};
        job.initial_batch = 128;
        job.max_batch = 4096;
        job.types = {{.max_atomic_batch = 256}};
        job.placement = {{0, 8}};
        now.jobs.push_back(job);
        model = {random.between(0.01, 0.1),
                 random.between(0.0005, 0.002),
                 0,
                 0,
                 random.between(0.01, 0.1),
                 0.001,
                 2};
        now.models = {{{{.throughput = model, .most_replicas = 8}}}};
    }
    Job& job() { return now.jobs.front(); }
    [[nodiscard]] double goodput(BatchPlan plan) const {
        const Job& its = now.jobs.front();
        return detail::goodput_of(model, NoiseScaleEfficiency{128, *its.gradient}, {1, 8}, plan);
    }
    [[nodiscard]] BestPlan best() const {
        return best_batch_plan(model, NoiseScaleEfficiency{128, *now.jobs.front().gradient}, {1, 8},
                               batch_limits(now.jobs.front(), 0));
    }

    Snapshot now{};
    PolluxThroughput model{};
};

template <class P>
void check_steady(P policy) {
    Random random(4);
    int changes = 0, changes_of_best = 0, rounds = 0;
    for (int trial = 0; trial < 20; ++trial) {
        OneJob of(random);
        Scheduler<P> scheduler(policy);
        RunningPlans running;
        BatchPlan last{}, last_best{};
        const double variance = random.between(5, 50);
        for (int round = 0; round < 60; ++round) {
            of.now.time_seconds += 60;
            of.job().gradient = GradientStatistics{1, variance * random.between(0.75, 1.25)};
            if (round == 0) running.note("job", 0, {{1, 8}, {16, 0}, 0.1, 0.02});
            of.job().running_plan = {};
            running.fill(of.now);
            const BatchPlan before = of.job().running_plan;
            REQUIRE(before.atomic_batch > 0);
            const Option option = scheduler.plan(of.now).decisions[0].option;
            running.note(of.now, scheduler.last_plan());
            const BestPlan best = of.best();
            CHECK(option.plan.total(8) <= of.job().max_batch);
            CHECK(option.goodput == doctest::Approx(of.goodput(option.plan)));
            CHECK(option.goodput >= best.goodput / least_plan_gain * (1 - 1e-9));
            if (of.goodput(before) * least_plan_gain < best.goodput)
                CHECK(option.plan == best.plan);
            else
                CHECK(option.plan == before);
            if (round > 0) {
                changes += option.plan != last;
                changes_of_best += best.plan != last_best;
                ++rounds;
            }
            last = option.plan;
            last_best = best.plan;
        }
    }
    CHECK(changes_of_best > rounds / 2);
    CHECK(changes <= rounds / 50);
}

}  // namespace running_plans

using namespace running_plans;

TEST_CASE("the batch of a job that runs does not follow the noise of its gradient") {
    check_steady(Sia{});
    check_steady(GoodputPolicy{});
}

TEST_CASE("a running batch plan that is not within the job's limits any more, or not known, is not kept") {
    Random random(5);
    OneJob of(random);
    of.job().gradient = GradientStatistics{1, 20};
    const BatchPlan best = of.best().plan;
    const auto given = [&](BatchPlan running) {
        of.job().running_plan = running;
        return Scheduler<Sia>().plan(of.now).decisions[0].option.plan;
    };
    const BatchPlan near{best.atomic_batch - 1, best.accumulation_steps};
    CHECK(given({}) == best);
    CHECK(given(near) == near);
    CHECK(given({best.atomic_batch + 1, best.accumulation_steps}) ==
          BatchPlan{best.atomic_batch + 1, best.accumulation_steps});
    CHECK(given({1, 0}) == best);
    of.job().max_batch = static_cast<int>(near.total(8)) - 1;
    CHECK(given(near) == of.best().plan);
    CHECK(given(near).total(8) <= of.job().max_batch);
    of.job().max_batch = 4096;
    of.job().types[0].max_atomic_batch = near.atomic_batch - 1;
    CHECK(given(near) == of.best().plan);
    of.job().types[0].max_atomic_batch = 256;
    of.job().types[0].min_atomic_batch = best.atomic_batch;
    CHECK(given(near) == of.best().plan);
    of.job().types[0].min_atomic_batch = 1;
    // On other GPUs it starts with the best plan.
    of.job().placement.clear();
    CHECK(given(near) == best);
    of.job().placement = {{0, 8}};
    of.job().running_plan = {-1, 0};
    of.now.strict = true;
    CHECK_THROWS_AS(static_cast<void>(Scheduler<Sia>().plan(of.now)), std::invalid_argument);
}

TEST_CASE("what a job runs with is remembered by name, for as long as it holds the same") {
    Random random(6);
    OneJob of(random);
    RunningPlans running;
    const auto known = [&] {
        of.job().running_plan = {};
        running.fill(of.now);
        return of.job().running_plan;
    };
    CHECK(known() == BatchPlan{});
    running.note("job", 0, {{1, 4}, {16, 1}, 0.1, 0.02});
    CHECK(known() == BatchPlan{});
    running.note("job", 0, {{1, 8}, {16, 1}, 0.1, 0.02});
    CHECK(known() == BatchPlan{16, 1});
    running.note("another", 0, {{1, 8}, {32, 0}, 0.1, 0.02});
    CHECK(known() == BatchPlan{16, 1});
    of.job().placement.clear();
    CHECK(known() == BatchPlan{});
    of.job().placement = {{0, 8}};
    Plan plan;
    plan.decisions.resize(1);
    plan.decisions[0].option = {Configuration(0, 8, {1, 8}), {24, 0}, 1, Knowledge::measured};
    running.note(of.now, plan);
    CHECK(known() == BatchPlan{24, 0});
    // A measurement may be older than the latest plan, and one on other GPUs says nothing about these.
    running.note("job", 0, {{1, 8}, {16, 1}, 0.1, 0.02});
    CHECK(known() == BatchPlan{24, 0});
    plan.decisions[0].option = {};
    running.note(of.now, plan);
    CHECK(known() == BatchPlan{});
}
