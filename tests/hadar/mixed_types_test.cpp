// One job on several GPU types: all parts at the pace of the slowest, or copies whose rates add. Never more
// options than promised, always placeable.

#include <algorithm>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/hadar/hadar.hpp"
#include "goodput/hadar/job_copies.hpp"
#include "goodput/hadar/mixed_types.hpp"
#include "goodput/hadar/posted_prices.hpp"
#include "goodput/hosts/host_shares.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Every GPU of a type gives TypeLimits::reference_rate, a tenth less for each further node.
struct RatePredictor {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            const PoolShare& part = option.configuration.first();
            REQUIRE(option.configuration.is_single());
            option.plan = {1, 0};
            option.knowledge = Knowledge::measured;
            option.goodput = job.types[part.gpu_type].reference_rate * part.shape.gpus *
                             (1 - 0.1 * (part.shape.nodes - 1));
        }
    }
};

Snapshot snapshot_of(const std::vector<int>& nodes, int gpus_per_node) {
    Snapshot now;
    now.time_seconds = 1000;
    for (std::size_t t = 0; t < nodes.size(); ++t) {
        now.cluster.gpu_types.push_back("type-" + std::to_string(t));
        for (int n = 0; n < nodes[t]; ++n)
            now.cluster.nodes.push_back({std::to_string(t) + "-" + std::to_string(n), t, gpus_per_node});
    }
    return now;
}

Job& add_job(Snapshot& now, int gpus, const std::vector<double>& rates, double examples = 1000) {
    Job job{.name = "job-" + std::to_string(now.jobs.size()), .min_gpus = gpus, .max_gpus = gpus};
    job.adaptivity = Adaptivity::none;
    job.initial_batch = job.target_batch = gpus;
    job.remaining_examples = examples;
    for (const double rate : rates)
        job.types.push_back({.max_atomic_batch = rate > 0 ? 8 : 0, .reference_rate = rate});
    now.jobs.push_back(job);
    return now.jobs.back();
}

auto in_step() {
    return Scheduler(Hadar{}, AllotOptions{}, LeastMovesPlacer{}, Allotter<>{}, RatePredictor{})
        .offering(MixedTypes<>{});
}
auto side_by_side() {
    return Scheduler(Hadar{}, AllotOptions{}, LeastMovesPlacer{}, Allotter<>{}, RatePredictor{})
        .offering(JobCopies<>{});
}

int gpus_on(const Snapshot& now, const Placement& placement, std::size_t type) {
    int gpus = 0;
    for (const NodeShare& share : placement)
        gpus += now.cluster.nodes[share.node].gpu_type == type ? share.gpus : 0;
    return gpus;
}

}  // namespace

TEST_CASE("a job that no GPU type has room for runs on two, at the pace of the slower") {
    Snapshot now = snapshot_of({2, 2}, 1);
    add_job(now, 3, {5, 2});
    auto scheduler = in_step();
    const Plan& plan = scheduler.plan(now);
    const Decision& decision = plan.decisions[0];
    REQUIRE(plan.faults.empty());
    REQUIRE(decision.placement.size() == 3);
    CHECK(decision.option.goodput == doctest::Approx(2 * 3 * 0.8));
    CHECK(gpus_on(now, decision.placement, 0) >= 1);
    CHECK(gpus_on(now, decision.placement, 1) >= 1);

    // It is offered what it holds again, and goes on without a restart.
    now.jobs[0].placement = decision.placement;
    CHECK_FALSE(scheduler.plan(now).decisions[0].starts);
}

TEST_CASE("mixtures are left alone where one type has room") {
    Snapshot now = snapshot_of({4, 4}, 1);
    add_job(now, 3, {5, 2});
    auto scheduler = in_step();
    CHECK(gpus_on(now, scheduler.plan(now).decisions[0].placement, 0) == 3);
}

TEST_CASE("the factor of a spread counts for mixtures alone") {
    Snapshot now = snapshot_of({2, 2}, 1);
    add_job(now, 3, {5, 2});
    add_job(now, 1, {5, 2});
    const auto goodput = [&](double factor, std::size_t job) {
        auto scheduler = Scheduler(Hadar{}, AllotOptions{}, LeastMovesPlacer{}, Allotter<>{}, RatePredictor{})
                             .offering(MixedTypes<>({.spread_factor = factor}));
        return scheduler.plan(now).decisions[job].option.goodput;
    };
    CHECK(goodput(0.5, 0) == doctest::Approx(0.5 * goodput(1, 0)));
    CHECK(goodput(0.5, 1) == goodput(1, 1));
    CHECK_THROWS_AS(MixedTypes<>({.spread_factor = 0}), std::invalid_argument);
    CHECK_THROWS_AS(JobCopies<>({.averaging_factor = 1.1}), std::invalid_argument);
}

TEST_CASE("makers around others lose nothing that those can do") {
    static_assert(KeptMaker<MixedTypes<HostShares<>>> && KeptMaker<JobCopies<HostShares<>>>);
    static_assert(ReasonMaker<MixedTypes<HostShares<>>> && !ReasonMaker<JobCopies<>>);
    static_assert(PredictingMaker<HostShares<MixedTypes<>>> && PredictingMaker<HostShares<JobCopies<>>>);
    static_assert(!PredictingMaker<HostShares<>> && !PredictingMaker<ListedShapes>);
    Snapshot now = snapshot_of({2, 2}, 1);
    add_job(now, 3, {5, 2});
    auto scheduler = Scheduler(Hadar{}, AllotOptions{}, LeastMovesPlacer{}, Allotter<>{}, RatePredictor{})
                         .offering(HostShares<MixedTypes<>>{});
    CHECK(scheduler.plan(now).decisions[0].option.goodput == doctest::Approx(2 * 3 * 0.8));
}

TEST_CASE(
    "of two jobs that both need hours the shorter one is served, though a second of it is worth little") {
    Snapshot now = snapshot_of(std::vector{1}, 1);
    add_job(now, 1, {1}, 50000);
    add_job(now, 1, {1}, 11000);
    Scheduler scheduler(Hadar{}, AllotOptions{}, LeastMovesPlacer{}, Allotter<>{}, RatePredictor{});
    for (int round = 0; round < 2; ++round) {
        const Plan& plan = scheduler.plan(now);
        CHECK(plan.decisions[0].placement.empty());
        CHECK(plan.decisions[1].placement.size() == 1);
        now.jobs[0].placement = {{0, 1}};  // even if the longer one runs
    }
}

TEST_CASE("copies fill a cluster that no other job wants, and their rates add") {
    Snapshot now = snapshot_of({2, 1, 1}, 2);
    add_job(now, 2, {5, 3, 1});
    auto scheduler = side_by_side();
    const Plan& plan = scheduler.plan(now);
    REQUIRE(plan.faults.empty());
    CHECK(plan.decisions[0].placement.size() == 4);
    CHECK(plan.decisions[0].option.goodput == doctest::Approx(2 * (5 + 5 + 3 + 1)));
    now.jobs[0].placement = plan.decisions[0].placement;
    CHECK_FALSE(scheduler.plan(now).decisions[0].starts);
}

TEST_CASE("a second copy gives way to a job that is faster on those GPUs") {
    Snapshot now = snapshot_of({1, 1}, 1);
    add_job(now, 1, {5, 1});
    add_job(now, 1, {1, 5});
    auto scheduler = side_by_side();
    for (const Decision& decision : scheduler.plan(now).decisions) CHECK(decision.placement.size() == 1);
}

TEST_CASE("configurations hold what they must, come once and in order, and are as few as promised") {
    Random random(1);
    for (int round = 0; round < 300; ++round) {
        const support::RandomRound random_round(random);
        const Snapshot& now = random_round.snapshot;
        const std::vector<Pool> pools = pools_of(now.cluster);
        std::vector<double> capacity;
        const Round seen{now.time_seconds, now.cluster, pools, capacity};
        const std::vector<int> most_gpus(now.cluster.gpu_types.size(), 1 << 20);
        for (const Job& job : now.jobs) {
            std::vector<Option> plain, mixed, copies;
            ListedShapes{}.list(seen, job, most_gpus, plain);
            MixedTypes<>({.most_types = 3, .most_pools = 3, .most_splits = 4})
                .list(seen, job, most_gpus, mixed);
            JobCopies<>({.most_copies = 4, .most_options = 10}).list(seen, job, most_gpus, copies);
            std::set<int> sizes{detail::has_fixed_gpus(job) ? job.max_gpus : 0};
            for (const Option& option : plain) sizes.insert(option.configuration.gpus());
            CHECK(mixed.size() <= plain.size() + sizes.size() * (3 + 1) * 4);
            CHECK(copies.size() <= plain.size() + 10);
            for (const auto* list : {&mixed, &copies})
                for (std::size_t k = 1; k < list->size(); ++k)
                    CHECK((*list)[k - 1].configuration < (*list)[k].configuration);
            for (const Option& option : mixed) {
                CHECK(sizes.count(option.configuration.gpus()) == 1);
                for (const PoolShare& part : option.configuration.parts())
                    CHECK(part.shape.gpus % job.types[part.gpu_type].gpus_per_replica == 0);
            }
            for (const Option& option : copies)
                CHECK((!detail::has_fixed_gpus(job) || option.configuration.gpus() % job.max_gpus == 0));
        }
    }
}

TEST_CASE("plans of mixtures and copies keep every rule, whichever solver makes them") {
    Random random(2);
    for (int round = 0; round < 60; ++round) {
        Snapshot now = snapshot_of({random.integer(1, 3), random.integer(1, 3), random.integer(1, 3)},
                                   1 << random.integer(0, 2));
        for (int j = random.integer(1, 10); j > 0; --j)
            add_job(now, random.integer(1, 6),
                    {random.between(1, 9), random.between(1, 9), random.chance(0.3) ? 0 : 1.0},
                    random.between(10, 10000));
        const auto check = [&](auto scheduler) {
            const Plan& plan = scheduler.plan(now);
            CHECK(plan.faults.empty());
            std::vector<int> used(now.cluster.nodes.size());
            for (std::size_t j = 0; j < now.jobs.size(); ++j) {
                const Decision& decision = plan.decisions[j];
                int gpus = 0;
                for (const NodeShare& share : decision.placement) {
                    used[share.node] += share.gpus;
                    gpus += share.gpus;
                }
                CHECK(gpus == decision.option.configuration.gpus());
                if (gpus > 0) CHECK(gpus % now.jobs[j].max_gpus == 0);
            }
            for (std::size_t node = 0; node < used.size(); ++node)
                CHECK(used[node] <= now.cluster.nodes[node].gpus);
            CHECK(plan.objective <= plan.bound * (1 + 1e-9) + 1e-9);
        };
        check(in_step());
        check(side_by_side());
        check(Scheduler(Hadar{}, AllotOptions{}, LeastMovesPlacer{}, PostedPrices{}, RatePredictor{})
                  .offering(MixedTypes<>({.spread_factor = 0.9})));
    }
}
