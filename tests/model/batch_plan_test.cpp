// The search for the best batch plan, against all plans and against the published grid.

#include "goodput/model/batch_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "model/random_batch_cases.hpp"
#include "peers/sia/published_batch_grid.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

static_assert(ThroughputModel<PolluxThroughput>);
static_assert(ThroughputModel<RefinedThroughput>);
static_assert(EfficiencyModel<NoiseScaleEfficiency>);
static_assert(EfficiencyModel<FullEfficiency>);
struct Nothing {};
static_assert(!ThroughputModel<Nothing>);
static_assert(!EfficiencyModel<Nothing>);
static_assert(!ThroughputModel<NoiseScaleEfficiency>);
static_assert(!EfficiencyModel<PolluxThroughput>);

// The same model under another name, so that the search over all plans is used.
template <class Throughput>
struct UserThroughput {
    Throughput model;
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        return model.iteration_seconds(shape, plan);
    }
};
template <class Throughput>
UserThroughput(Throughput) -> UserThroughput<Throughput>;
struct UserEfficiency {
    NoiseScaleEfficiency model;
    [[nodiscard]] double efficiency(double total) const { return model.efficiency(total); }
};

using support::log_between;
using support::Random;
using support::random_case;
using support::respects;
template <class Throughput>
using Case = support::BatchCase<Throughput>;
using Sizes = support::BatchSizes;

// Pollux's model in either form. Synchronising takes as long with more replicas.
template <class Throughput>
Throughput as(const PolluxThroughput& model) {
    if constexpr (std::is_same_v<Throughput, RefinedThroughput>)
        return {.alpha_c = model.alpha_c,
                .beta_c = model.beta_c,
                .batches = {{4, 1}, {8, 1}, {1024, 1}},
                .node_seconds = model.alpha_r,
                .network_seconds = model.alpha_n,
                .gamma = model.gamma};
    else
        return model;
}

// Checks that the fast plan is as good as the best of all plans, legal, and worth what it says.
template <class Throughput>
void check_exact(const Case<Throughput>& c, const BestPlan& fast, const BestPlan& all) {
    REQUIRE((fast.goodput > 0) == (all.goodput > 0));
    if (all.goodput == 0) {
        CHECK(fast.plan == BatchPlan{});
        return;
    }
    CHECK(std::abs(fast.goodput - all.goodput) <= 1e-12 * all.goodput);
    CHECK(respects(c.limits, c.shape.gpus, fast.plan));
    const double worth = detail::goodput_of(c.model, c.efficiency, c.shape, fast.plan);
    CHECK(std::abs(worth - fast.goodput) <= 1e-12 * worth);
}

template <class Throughput>
void check_many(std::uint64_t seed, int cases, const Sizes& largest) {
    Random random(seed);
    int legal = 0;
    for (int i = 0; i < cases; ++i) {
        CAPTURE(i);
        const auto c = random_case<Throughput>(random, largest);
        const BestPlan fast = best_batch_plan(c.model, c.efficiency, c.shape, c.limits);
        const BestPlan all =
            best_batch_plan(UserThroughput{c.model}, UserEfficiency{c.efficiency}, c.shape, c.limits);
        check_exact(c, fast, all);
        if (all.goodput > 0) ++legal;
    }
    CHECK(legal > cases / 4);
}

}  // namespace

TEST_CASE("the fast search finds the optimum over all batch plans: small batches, where rounding matters") {
    check_many<PolluxThroughput>(1, support::trials(60000), {60, 20, 8});
    check_many<RefinedThroughput>(11, support::trials(60000), {60, 20, 8});
}

// A user's own model: computing breaks where a further kernel is needed, and synchronising takes longer with
// every node. No factors for single shapes.
struct BrokenByKernels {
    using BrokenLine = BrokenByKernels;
    struct Break {
        double batch = 0;
        double seconds = 0;
    };
    std::vector<Break> batches{};
    double network = 0, gamma = 1;
    mutable long long asked = 0;

    [[nodiscard]] double compute_seconds(double batch) const {
        ++asked;
        if (batch <= batches.front().batch) return batches.front().seconds;
        for (std::size_t i = 1; i < batches.size(); ++i)
            if (batch <= batches[i].batch)
                return std::lerp(batches[i - 1].seconds, batches[i].seconds,
                                 (batch - batches[i - 1].batch) / (batches[i].batch - batches[i - 1].batch));
        return batches.back().seconds;
    }
    [[nodiscard]] double sync_seconds(Shape shape) const {
        return shape.gpus < 2 ? 0 : network * shape.nodes;
    }
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const double compute = compute_seconds(plan.atomic_batch);
        return plan.accumulation_steps * compute +
               overlapped_step(compute, sync_seconds(shape), gamma).seconds;
    }
};
static_assert(BrokenLineModel<BrokenByKernels>);
struct Derived : BrokenByKernels {};
static_assert(ThroughputModel<Derived> && !BrokenLineModel<Derived>);
static_assert(BrokenLineModel<PolluxThroughput> && BrokenLineModel<RefinedThroughput>);

TEST_CASE("a user's model with a broken line gets the fast search, and the same optimum") {
    Random random(21);
    for (int i = 0; i < 2000; ++i) {
        CAPTURE(i);
        const auto c = random_case<PolluxThroughput>(random, {3000, 400, 16});
        BrokenByKernels model{.network = log_between(random, 0.001, 1), .gamma = 1 + 9 * random.unit()};
        double batch = 0, seconds = log_between(random, 0.01, 1);
        for (int left = random.integer(1, 8); left > 0; --left) {
            model.batches.push_back({batch += random.between(0.4, 60), seconds});
            seconds += random.chance(0.2) ? -0.1 * seconds : random.between(0, 0.1);
        }
        const BestPlan fast = best_batch_plan(model, c.efficiency, c.shape, c.limits);
        CHECK(model.asked < 40);
        const BestPlan all = best_batch_plan(UserThroughput{model}, c.efficiency, c.shape, c.limits);
        check_exact(support::BatchCase<BrokenByKernels>{model, c.efficiency, c.shape, c.limits}, fast, all);
    }
}

// Between neighbouring batches a line may be so steep that its value at 0 is all rounding.
TEST_CASE("steep pieces at large batches lose no digits") {
    Random random(22);
    for (int i = 0; i < 300; ++i) {
        CAPTURE(i);
        const int large = random.integer(1 << 18, 1 << 20), gpus = random.integer(1, 4);
        RefinedThroughput model{.alpha_c = 0.01, .beta_c = 1e-5, .node_seconds = 0.1, .gamma = 2};
        for (int at = 0; at < 6; ++at) model.batches.push_back({large + at + 0.0, random.between(0.5, 2)});
        const BatchLimits limits{gpus * large, gpus * (large + 6), large, large + 6};
        const NoiseScaleEfficiency efficiency{gpus * 1.0 * large, {.squared_norm = 1, .variance = 1e3}};
        const BestPlan fast = best_batch_plan(model, efficiency, {1, gpus}, limits);
        const BestPlan all = best_batch_plan(UserThroughput{model}, efficiency, {1, gpus}, limits);
        check_exact(Case<RefinedThroughput>{model, efficiency, {1, gpus}, limits}, fast, all);
    }
}

TEST_CASE("the fast search finds the optimum over all batch plans: little memory, much accumulation") {
    check_many<PolluxThroughput>(2, support::trials(20000), {600, 12, 6});
    check_many<RefinedThroughput>(12, support::trials(20000), {600, 12, 6});
}

TEST_CASE("the fast search finds the optimum over all batch plans: medium and large batches") {
    check_many<PolluxThroughput>(3, support::trials(10000), {1000, 300, 16});
    check_many<PolluxThroughput>(4, 300, {33000, 4096, 16});
    check_many<RefinedThroughput>(13, support::trials(10000), {1000, 300, 64});
    check_many<RefinedThroughput>(14, 300, {33000, 4096, 64});
}

TEST_CASE_TEMPLATE("full efficiency is the limit of a noise scale without end", Throughput, PolluxThroughput,
                   RefinedThroughput) {
    Random random(5);
    for (int i = 0; i < 5000; ++i) {
        CAPTURE(i);
        auto c = random_case<Throughput>(random, {300, 64, 8});
        c.efficiency.gradient = {0, random.chance(0.5) ? 0.0 : 3.0};
        const BestPlan full = best_batch_plan(c.model, FullEfficiency{}, c.shape, c.limits);
        const BestPlan noise = best_batch_plan(c.model, c.efficiency, c.shape, c.limits);
        check_exact(c, full, best_batch_plan(UserThroughput{c.model}, FullEfficiency{}, c.shape, c.limits));
        CHECK(full.goodput == doctest::Approx(noise.goodput).epsilon(1e-12));
    }
}

TEST_CASE_TEMPLATE("shapes searched together give what each gives alone, in any order", Throughput,
                   PolluxThroughput, RefinedThroughput) {
    Random random(6);
    for (int i = 0; i < 1000; ++i) {
        CAPTURE(i);
        const auto c = random_case<Throughput>(random, {4000, 1000, 1});
        std::vector<Shape> shapes{{1, 1}, {1, 2}, {1, 4}};
        const int most_nodes = random.integer(2, 80);
        for (int n = 2; n <= most_nodes; ++n) shapes.push_back({n, 4 * n});
        for (std::size_t k = shapes.size(); k > 1; --k)
            std::swap(shapes[k - 1],
                      shapes[static_cast<std::size_t>(random.integer(0, static_cast<int>(k) - 1))]);
        std::vector<BestPlan> together(shapes.size());
        best_batch_plans(c.model, c.efficiency, shapes, c.limits, together);
        for (std::size_t k = 0; k < shapes.size(); ++k) {
            auto one = c;
            one.shape = shapes[k];
            check_exact(one, together[k], best_batch_plan(c.model, c.efficiency, shapes[k], c.limits));
        }
    }
    std::vector<BestPlan> too_few(1);
    const std::array<Shape, 2> two{Shape{1, 1}, Shape{1, 2}};
    CHECK_THROWS_AS(best_batch_plans(Throughput{}, FullEfficiency{}, two, BatchLimits{}, too_few),
                    std::invalid_argument);
}

TEST_CASE_TEMPLATE("equal plans: fewest accumulation steps, then the smallest atomic batch", Throughput,
                   PolluxThroughput, RefinedThroughput) {
    // Powers of two make ties exact: time is proportional to the batch, and every example counts.
    const auto linear = as<Throughput>({.beta_c = 0.125});
    const BatchLimits limits{
        .initial_batch = 8, .max_batch = 64, .min_atomic_batch = 2, .max_atomic_batch = 16};
    for (const int gpus : {1, 2, 4}) {
        const Shape shape{1, gpus};
        const BatchPlan expected{8 / gpus, 0};
        CHECK(best_batch_plan(linear, FullEfficiency{}, shape, limits).plan == expected);
        CHECK(best_batch_plan(UserThroughput{linear}, FullEfficiency{}, shape, limits).plan == expected);
    }
    // Synchronisation is not hidden and there is no constant time: only the total batch matters.
    const auto no_overlap = as<Throughput>({.beta_c = 0.125, .alpha_r = 0.5, .gamma = 1});
    const BatchLimits forced{
        .initial_batch = 64, .max_batch = 64, .min_atomic_batch = 1, .max_atomic_batch = 16};
    CHECK(best_batch_plan(no_overlap, FullEfficiency{}, {1, 2}, forced).plan == BatchPlan{16, 1});
    CHECK(best_batch_plan(UserThroughput{no_overlap}, FullEfficiency{}, {1, 2}, forced).plan ==
          BatchPlan{16, 1});
}

TEST_CASE("the search over integers is never worse than the published grid of fifty batch sizes") {
    for (const GridPrecision precision : {GridPrecision::full, GridPrecision::single}) {
        Random random(7);
        PublishedBatchGrid grid(precision);
        int compared = 0, better = 0;
        for (int i = 0; i < support::trials(20000); ++i) {
            CAPTURE(i);
            const auto c = random_case<PolluxThroughput>(random, {20000, 2000, 64});
            const BestPlan best = best_batch_plan(c.model, c.efficiency, c.shape, c.limits);
            double legal = 0;  // a plan may exceed max_batch by rounding up
            grid.for_each_plan(c.shape.gpus, c.limits, [&](BatchPlan plan) {
                if (respects(c.limits, c.shape.gpus, plan))
                    legal = std::max(legal, detail::goodput_of(c.model, c.efficiency, c.shape, plan));
            });
            CHECK(best.goodput >= legal * (1 - 1e-12));
            if (legal > 0) ++compared;
            if (best.goodput > legal * 1.001) ++better;
            // The grid's own choice is no better: its step time is never below ours, and above 0.
            const BestPlan chosen = grid.best_plan(c.model, c.efficiency, c.shape, c.limits);
            if (best.goodput > 0 && respects(c.limits, c.shape.gpus, chosen.plan))
                CHECK(best.goodput >= chosen.goodput * (1 - 1e-12));
        }
        CHECK(compared > support::trials(5000));
        CHECK(better > support::trials(500));
    }
}

TEST_CASE("a single GPU that must accumulate does so above the initial batch, and only there") {
    const PolluxThroughput model{.alpha_c = 0.1, .beta_c = 0.001};
    const NoiseScaleEfficiency noisy{16, {.squared_norm = 1, .variance = 1000}};
    const NoiseScaleEfficiency exact{16, {.squared_norm = 1, .variance = 0}};
    const BatchLimits limits{16, 4096, 4, 256, true};
    const BatchPlan large = best_batch_plan(model, noisy, {1, 1}, limits).plan;
    CHECK(large.accumulation_steps >= 1);
    CHECK(large.total(1) > 16);
    CHECK(best_batch_plan(model, exact, {1, 1}, limits).plan == BatchPlan{16, 0});
    CHECK(best_batch_plan(model, noisy, {1, 2}, limits).plan.accumulation_steps == 0);
}

TEST_CASE_TEMPLATE("no legal plan, or a model that predicts no positive finite time: an empty plan",
                   Throughput, PolluxThroughput, RefinedThroughput) {
    const auto model = as<Throughput>({.alpha_c = 0.1, .beta_c = 0.001});
    const FullEfficiency full;
    const BatchLimits limits{16, 64, 4, 8};
    const auto empty = [](const BestPlan& best) { return best.goodput == 0 && best.plan == BatchPlan{}; };
    CHECK(empty(best_batch_plan(model, full, {0, 0}, limits)));
    CHECK(empty(best_batch_plan(model, full, {1, -1}, limits)));
    CHECK(empty(best_batch_plan(model, full, {5, 17}, limits)));  // 4 x 17 examples exceed 64
    CHECK(empty(best_batch_plan(model, full, {1, 1}, BatchLimits{})));
    CHECK(empty(best_batch_plan(model, full, {1, 1}, {16, 64, 8, 7})));
    CHECK(empty(best_batch_plan(model, full, {1, 1}, {16, 15, 4, 8})));
    CHECK(empty(best_batch_plan(model, full, {1, 1}, {5, 5, 2, 4})));  // no product of two such integers is 5
    CHECK(empty(best_batch_plan(Throughput{}, full, {1, 1}, limits)));
    CHECK(empty(best_batch_plan(as<Throughput>({}), full, {1, 1}, limits)));
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinite = std::numeric_limits<double>::infinity();
    for (const double bad : {nan, infinite}) {
        for (const PolluxThroughput& broken :
             {PolluxThroughput{.alpha_c = bad, .beta_c = 1}, PolluxThroughput{.alpha_c = 1, .beta_c = bad}}) {
            const auto wrong = as<Throughput>(broken);
            CHECK(empty(best_batch_plan(wrong, full, {1, 2}, limits)));
            CHECK(empty(best_batch_plan(UserThroughput{wrong}, full, {1, 2}, limits)));
        }
    }
}

TEST_CASE_TEMPLATE("extreme sizes end at once", Throughput, PolluxThroughput, RefinedThroughput) {
    // Memory for one example and no noise limit: the best of a million accumulation steps.
    const auto model = as<Throughput>({.alpha_c = 0, .beta_c = 0.01, .alpha_r = 0.1, .gamma = 2});
    const BatchLimits limits{1, 1 << 30, 1, 1};
    const BestPlan best = best_batch_plan(model, FullEfficiency{}, {1, 2}, limits);
    CHECK(best.plan == BatchPlan{1, (1 << 29) - 1});
    CHECK(best.goodput == doctest::Approx(200).epsilon(1e-6));
    const BatchLimits roomy{1, 1 << 30, 1, 1 << 30};
    CHECK(best_batch_plan(model, FullEfficiency{}, {1, 2}, roomy).plan == BatchPlan{1 << 29, 0});
    // No plan to find among that many.
    const auto endless = as<Throughput>({.alpha_c = std::numeric_limits<double>::infinity()});
    CHECK(best_batch_plan(endless, FullEfficiency{}, {1, 2}, limits).goodput == 0);
    CHECK(best_batch_plan(Throughput{}, FullEfficiency{}, {1, 2}, limits).goodput == 0);
}

TEST_CASE(
    "a fixed total batch: the fewest accumulation steps that fit in memory and below the largest batch, "
    "rounded "
    "down only where rounding up would pass it") {
    Random random(8);
    int refused = 0, further = 0, down = 0;
    for (int i = 0; i < support::trials(20000); ++i) {
        CAPTURE(i);
        auto c = random_case<PolluxThroughput>(random, {2000, 100, 16});
        c.limits.single_gpu_accumulates = false;
        const int total = random.integer(1, random.chance(0.5) ? 2000 : 40);
        c.limits.max_batch = random.chance(0.3) ? 0 : total + random.integer(-2, 20);
        const int most = c.limits.max_batch > 0 ? c.limits.max_batch : 1 << 30;
        const BestPlan fixed = fixed_batch_plan(c.model, c.efficiency, c.shape, c.limits, total);
        const int gpus = c.shape.gpus;
        const int up = (total + gpus - 1) / gpus, load = up <= most / gpus ? up : most / gpus;
        const auto plan_with = [&](int steps) { return BatchPlan{(load + steps) / (steps + 1), steps}; };
        int steps = 0;
        while (plan_with(steps).atomic_batch > c.limits.max_atomic_batch) ++steps;
        const int fewest = steps;
        while (plan_with(steps).atomic_batch > 1 && plan_with(steps).total(gpus) > most) ++steps;
        const BatchPlan expected = plan_with(steps);
        CHECK((load < 1 || expected.total(gpus) <= most));
        if (gpus > total || load < 1 || expected.atomic_batch < c.limits.min_atomic_batch) {
            ++refused;
            CHECK(fixed.goodput == 0);
            CHECK(fixed.plan == BatchPlan{});
            continue;
        }
        further += steps > fewest ? 1 : 0;
        const double worth = detail::goodput_of(c.model, c.efficiency, c.shape, expected);
        CHECK(fixed.goodput == worth);
        if (worth > 0) CHECK(fixed.plan == expected);
        down += expected.total(gpus) < total ? 1 : 0;
        CHECK((expected.total(gpus) >= total || total + gpus > most));
        CHECK(expected.total(gpus) > std::min(total, most) - gpus);
        CHECK(expected.total(gpus) < total + gpus * (steps + 1));
    }
    CHECK(refused > support::trials(1000));
    CHECK(further > support::trials(100));
    CHECK(down > support::trials(100));
    const BatchLimits accumulates{16, 64, 4, 64, true};
    const PolluxThroughput model{.alpha_c = 0.1};
    CHECK(fixed_batch_plan(model, FullEfficiency{}, {1, 1}, accumulates, 32).plan == BatchPlan{16, 1});
    CHECK(fixed_batch_plan(model, FullEfficiency{}, {1, 1}, accumulates, 16).plan == BatchPlan{16, 0});
    CHECK(fixed_batch_plan(model, FullEfficiency{}, {1, 2}, accumulates, 32).plan == BatchPlan{16, 0});
}

// A line that falls by 24 orders of magnitude. Nothing of its start may be left at its end.
TEST_CASE("a computing time that falls without end has its best plan at the end") {
    RefinedThroughput model{.alpha_c = 1.97427e13, .node_seconds = 0, .gamma = 274404};
    model.batches = {{1, 1e24}, {8, 0.9e24}, {64, 1}};
    const BatchLimits limits{32, 1 << 20, 1, 64};
    for (const double squared_norm : {0.0, 1.0}) {
        const NoiseScaleEfficiency efficiency{32, {squared_norm, 5}};
        for (const int gpus : {1, 4}) {
            const BestPlan best = best_batch_plan(model, efficiency, {1, gpus}, limits);
            CHECK(best.plan.atomic_batch == 64);
            CHECK(best.goodput > 0);
        }
    }
}
