// Drained nodes keep what runs on them and take nothing new. No new job is promised their free GPUs.

#include <cstddef>
#include <vector>

#include "goodput/policy/queue.hpp"
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

Job job_holding(const char* name, Placement placement, int most_gpus) {
    Job job{.name = name, .max_gpus = most_gpus, .initial_batch = 64, .max_batch = 64};
    job.types = {{.max_atomic_batch = 64}};
    job.placement = std::move(placement);
    return job;
}

}  // namespace

TEST_CASE("every allotment can be placed, with drained nodes, too") {
    Random random(1);
    Scheduler<Sia> sia;
    Scheduler<Fifo> fifo({.backfill = true});
    Scheduler<ShortestRemainingTime> shortest;
    int stayed = 0, left = 0;
    const auto check = [&](auto& scheduler, const Snapshot& snapshot) {
        const Plan& plan = scheduler.plan(snapshot);
        check_plan(snapshot, plan);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const bool allotted = scheduler.allotted().choice[j] != no_option;
            CHECK(allotted == !plan.decisions[j].placement.empty());
            for (const NodeShare& share : snapshot.jobs[j].placement)
                if (snapshot.cluster.nodes[share.node].drained)
                    ++(plan.decisions[j].placement == snapshot.jobs[j].placement ? stayed : left);
        }
    };
    for (int round = 0; round < 3000; ++round) {
        CAPTURE(round);
        const RandomRound instance(random, {.drained = 0.4, .packs = true});
        check(sia, instance.snapshot);
        check(fifo, instance.snapshot);
        check(shortest, instance.snapshot);
    }
    CHECK(stayed > 1000);
    CHECK(left > 1000);
}

TEST_CASE("drained nodes take nothing new, however jobs that keep what they hold are spread") {
    Random random(2);
    Scheduler<Sia> sia;
    Scheduler<Fifo> fifo;
    for (int round = 0; round < 1500; ++round) {
        CAPTURE(round);
        const RandomRound instance(random, {.drained = 0.5});
        check_plan(instance.snapshot, sia.plan(instance.snapshot));
        check_plan(instance.snapshot, fifo.plan(instance.snapshot));
    }
}

TEST_CASE("jobs that stay on drained nodes take nothing from the others") {
    // The bound is at least two sums together: the values of jobs that may stay, at what they hold, and the
    // values of the other jobs on the open nodes.
    Random random(3);
    for (int round = 0; round < 600; ++round) {
        CAPTURE(round);
        RandomRound instance(random, {.drained = 0.4, .packs = true});
        Scheduler<Sia> scheduler({}, {.gap = 0});
        const double bound = scheduler.plan(instance.snapshot).bound;
        double stays = 0;
        Snapshot without = instance.snapshot;
        bool in_part = false;  // whether a job must keep open nodes together with drained ones
        without.jobs.clear();
        without.models.clear();
        for (std::size_t j = 0; j < instance.snapshot.jobs.size(); ++j) {
            const Job& job = instance.snapshot.jobs[j];
            bool all_drained = !job.placement.empty(), any_drained = false;
            for (const NodeShare& share : job.placement) {
                all_drained &= instance.snapshot.cluster.nodes[share.node].drained;
                any_drained |= instance.snapshot.cluster.nodes[share.node].drained;
            }
            const Configuration held = configuration_of(job.placement, instance.snapshot.cluster);
            const std::span<const Option> options = scheduler.options_of(j);
            for (std::size_t k = 0; k < options.size(); ++k)
                if (all_drained && options[k].configuration == held &&
                    scheduler.problem().uses(j, k).front().units == 0)
                    stays += scheduler.problem().value(j, k);
            in_part |= any_drained && !all_drained && job.keeps_what_it_holds();
            if (any_drained) continue;
            without.jobs.push_back(job);
            without.models.push_back(instance.snapshot.models[j]);
        }
        if (in_part) continue;
        CHECK(bound >= plan(without, Sia{}, {.gap = 0}).objective + stays - 1e-6);
    }
}

TEST_CASE("an unchanged round moves nothing") {
    Random random(4);
    int unchanged = 0;
    for (int round = 0; round < 600; ++round) {
        CAPTURE(round);
        RandomRound instance(random, {.drained = 0.4});
        Scheduler<Fifo> scheduler({.backfill = true});
        apply(scheduler.plan(instance.snapshot), instance.snapshot);
        const Plan again = scheduler.plan(instance.snapshot);
        bool same = true;  // false if the first plan made room for others
        for (std::size_t j = 0; j < instance.snapshot.jobs.size(); ++j)
            same &= again.decisions[j].option.configuration ==
                    configuration_of(instance.snapshot.jobs[j].placement, instance.snapshot.cluster);
        if (!same) continue;
        ++unchanged;
        CHECK(again.move_cost_seconds == 0);
        for (std::size_t j = 0; j < instance.snapshot.jobs.size(); ++j)
            CHECK(again.decisions[j].placement == instance.snapshot.jobs[j].placement);
    }
    CHECK(unchanged > 300);
}

TEST_CASE("jobs on drained nodes leave the open ones to others") {
    Snapshot snapshot{.time_seconds = 1000};
    snapshot.cluster = {{"T4"}, {{"gone", 0, 4, true}, {"open", 0, 4}}};
    SUBCASE("a job that stays on a drained node takes nothing from the open one") {
        snapshot.jobs = {job_holding("stays", {{0, 4}}, 4), job_holding("new", {}, 1),
                         job_holding("other", {}, 1),       job_holding("third", {}, 1),
                         job_holding("fourth", {}, 1),      job_holding("fifth", {}, 1)};
        snapshot.jobs[0].min_gpus = 4;
        const Plan result = plan(snapshot);
        CHECK(result.decisions[0].placement == Placement{{0, 4}});
        int waiting = 0;
        for (const Decision& decision : result.decisions) waiting += decision.placement.empty() ? 1 : 0;
        CHECK(waiting == 1);
    }
    SUBCASE("a job on a drained and an open node keeps both or gets open ones") {
        snapshot.jobs = {job_holding("both", {{0, 4}, {1, 4}}, 8), job_holding("new", {}, 1)};
        snapshot.jobs[0].min_gpus = 8;
        snapshot.jobs[0].preemptible = false;
        const Plan result = plan(snapshot);
        CHECK(result.decisions[0].placement == Placement{{0, 4}, {1, 4}});
        CHECK(result.decisions[1].verdict.outcome == Outcome::waits);
    }
    SUBCASE("a job that shrinks on a drained node ends up on an open one") {
        snapshot.jobs = {job_holding("shrinks", {{0, 4}}, 2)};
        const Plan result = plan(snapshot);
        REQUIRE(result.decisions[0].placement.size() == 1);
        CHECK(result.decisions[0].placement[0].node == 1);
    }
    SUBCASE("other jobs stay next to a job that keeps several nodes, and get the rest") {
        snapshot.jobs = {job_holding("both", {{0, 2}, {1, 2}}, 4), job_holding("beside", {{0, 1}}, 1)};
        snapshot.jobs[0].preemptible = false;
        Scheduler<Sia> scheduler;
        const Plan& result = scheduler.plan(snapshot);
        CHECK(result.decisions[0].placement == Placement{{0, 2}, {1, 2}});
        CHECK(result.decisions[1].placement == Placement{{0, 1}});
        snapshot.jobs.push_back(job_holding("new", {}, 2));
        snapshot.jobs.back().min_gpus = 2;
        CHECK(scheduler.plan(snapshot).decisions[2].placement == Placement{{1, 2}});
    }
    SUBCASE("a fully drained cluster keeps its jobs and takes no new one") {
        snapshot.cluster.nodes[1].drained = true;
        snapshot.jobs = {job_holding("stays", {{0, 2}}, 2), job_holding("new", {}, 2)};
        const Plan result = plan(snapshot);
        CHECK(result.decisions[0].placement == Placement{{0, 2}});
        CHECK(result.decisions[1].verdict.outcome == Outcome::impossible);
    }
}
