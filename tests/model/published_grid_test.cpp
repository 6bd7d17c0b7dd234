// The published grid of batch sizes, against a literal copy of its rules.

#include "peers/sia/published_batch_grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

struct Case {
    PolluxThroughput model;
    NoiseScaleEfficiency efficiency;
    Shape shape;
    BatchLimits limits;
};

double log_between(support::Random& random, double low, double high) {
    return low * std::exp(random.unit() * std::log(high / low));
}

Case random_case(support::Random& random) {
    const auto seconds = [&](double most) {
        return random.chance(0.15) ? 1e-8 : log_between(random, most * 1e-4, most);
    };
    Case c;
    c.model = {seconds(1),
               seconds(0.01),
               seconds(1),
               seconds(0.1),
               seconds(0.1),
               seconds(0.01),
               random.chance(0.2) ? 1 : random.between(1, 10)};
    c.limits.initial_batch = static_cast<int>(log_between(random, 1, 300));
    c.limits.max_batch = static_cast<int>(log_between(random, c.limits.initial_batch, 20000));
    c.limits.min_atomic_batch = static_cast<int>(log_between(random, 1, 40));
    c.limits.max_atomic_batch = static_cast<int>(log_between(random, c.limits.min_atomic_batch, 2000));
    c.limits.single_gpu_accumulates = random.chance(0.7);
    c.efficiency = {static_cast<double>(c.limits.initial_batch),
                    {log_between(random, 1e-3, 10), log_between(random, 1e-2, 1e4)}};
    const int gpus = random.chance(0.2) ? 1 : random.integer(1, 64);
    c.shape = {random.integer(1, std::min(gpus, 8)), gpus};
    return c;
}

double power(double x, double y) { return std::pow(x, y); }

// The grid exactly as published; nothing is kept or skipped.
template <class Real>
BestPlan literal(const Case& c) {
    const auto& [alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma] = c.model;
    const int replicas = c.shape.gpus;
    const int first = std::max(c.limits.initial_batch, c.limits.min_atomic_batch * replicas);
    const int last = c.limits.max_batch;
    const double further = std::max(replicas - 2.0, 1e-8);
    const double sync = c.shape.nodes > 1 ? alpha_n + beta_n * further
                        : replicas > 1    ? alpha_r + beta_r * further
                                          : 1e-8 + 1e-8 * further;
    BestPlan best;
    for (int i = 0; i < 50; ++i) {
        const Real low = std::log10(static_cast<Real>(first)), high = std::log10(static_cast<Real>(last));
        Real total = std::pow(static_cast<Real>(10), low + static_cast<Real>(i) * ((high - low) / 49));
        if (i == 0) total = static_cast<Real>(first);
        if (i == 49) total = static_cast<Real>(last);
        const Real load = total / static_cast<Real>(replicas);
        double steps =
            std::ceil(static_cast<double>(load / static_cast<Real>(c.limits.max_atomic_batch)) - 1e-8) - 1;
        if (replicas == 1 && c.limits.single_gpu_accumulates && load > c.limits.initial_batch + 1e-8)
            steps = std::max(steps, 1.0);
        const double atomic = std::ceil(load / (steps + 1) - 1e-8);
        if (atomic < c.limits.min_atomic_batch || atomic > c.limits.max_atomic_batch) continue;
        const double used = replicas * atomic * (steps + 1);
        const double compute = alpha_c + beta_c * atomic;
        const double seconds = steps * compute + power(power(compute, gamma) + power(sync, gamma), 1 / gamma);
        const double scale = used / c.limits.initial_batch;
        const auto& [squared_norm, variance] = c.efficiency.gradient;
        const double gain = (variance + squared_norm) / (variance / scale + squared_norm);
        const double goodput = used / seconds * gain / scale;
        if (goodput > best.goodput) best = {{static_cast<int>(atomic), static_cast<int>(steps)}, goodput};
    }
    return best;
}

std::vector<BatchPlan> plans_of(GridPrecision precision, int replicas, const BatchLimits& limits) {
    std::vector<BatchPlan> plans;
    PublishedBatchGrid(precision).for_each_plan(replicas, limits,
                                                [&](BatchPlan plan) { plans.push_back(plan); });
    return plans;
}

}  // namespace

TEST_CASE("the published grid gives the published example") {
    const PolluxThroughput model{0.02, 0.0002, 0.01, 0.002, 0.004, 0.0005, 1.5};
    const NoiseScaleEfficiency efficiency{128, {.squared_norm = 0.5, .variance = 2}};
    const BatchLimits limits{128, 4096, 32, 1024, true};
    for (const GridPrecision precision : {GridPrecision::full, GridPrecision::single}) {
        PublishedBatchGrid grid(precision);
        const auto best = [&](Shape shape) { return grid.best_plan(model, efficiency, shape, limits); };
        CHECK(best({1, 1}).goodput == doctest::Approx(2807.02).epsilon(1e-5));
        CHECK(best({1, 1}).plan == BatchPlan{128, 0});
        CHECK(best({1, 4}).goodput == doctest::Approx(6863.49).epsilon(1e-6));
        CHECK(best({1, 4}).plan == BatchPlan{115, 0});
        CHECK(best({2, 8}).goodput == doctest::Approx(7775.97).epsilon(1e-6));
        CHECK(best({2, 8}).plan == BatchPlan{106, 0});
    }
}

TEST_CASE("the grid is what is published, whatever it was asked before") {
    support::Random random(3);
    PublishedBatchGrid full, single(GridPrecision::single);
    int legal = 0, accumulated = 0, downwards = 0, differ = 0;
    for (int i = 0; i < support::trials(20000); ++i) {
        CAPTURE(i);
        const Case c = random_case(random);
        const auto agree = [&](PublishedBatchGrid& grid, const BestPlan& expected) {
            const BestPlan found = grid.best_plan(c.model, c.efficiency, c.shape, c.limits);
            CHECK(found.goodput == doctest::Approx(expected.goodput).epsilon(1e-12));
            // Among equally good plans, rounding decides.
            if (found.plan != expected.plan) ++differ;
            return found;
        };
        agree(single, literal<float>(c));
        const BestPlan best = agree(full, literal<double>(c));
        legal += best.goodput > 0 ? 1 : 0;
        accumulated += best.plan.accumulation_steps > 0 ? 1 : 0;
        downwards += best.goodput > 0 && c.limits.min_atomic_batch * c.shape.gpus > c.limits.max_batch;
    }
    CHECK(differ < support::trials(20));
    CHECK(legal > support::trials(15000));
    CHECK(accumulated > support::trials(3000));
    CHECK(downwards > support::trials(1000));
}

TEST_CASE("both ends are exact, and all atomic batches within their limits") {
    support::Random random(4);
    for (int i = 0; i < 3000; ++i) {
        CAPTURE(i);
        const Case c = random_case(random);
        for (const GridPrecision precision : {GridPrecision::full, GridPrecision::single}) {
            const int gpus = c.shape.gpus;
            const auto plans = plans_of(precision, gpus, c.limits);
            for (const BatchPlan& plan : plans) {
                CHECK(plan.atomic_batch >= c.limits.min_atomic_batch);
                CHECK(plan.atomic_batch <= c.limits.max_atomic_batch);
                CHECK(plan.accumulation_steps >= 0);
            }
            if (plans.empty()) continue;
            // Rounding up adds less than one example per GPU and microbatch.
            const auto largest =
                std::max({c.limits.max_batch, c.limits.initial_batch, c.limits.min_atomic_batch * gpus});
            for (const BatchPlan& plan : plans)
                CHECK(plan.total(gpus) < largest + gpus * (plan.accumulation_steps + 1) + 1);
        }
    }
    const BatchLimits powers{128, 4096, 32, 4096, false};
    for (const GridPrecision precision : {GridPrecision::full, GridPrecision::single}) {
        const auto plans = plans_of(precision, 4, powers);
        CHECK(plans.front() == BatchPlan{32, 0});
        CHECK(plans.back() == BatchPlan{1024, 0});
        CHECK(plans_of(precision, 4, {128, 128, 1, 64}) == std::vector<BatchPlan>{{32, 0}});
    }
}

TEST_CASE("single precision can only add or take away one example per GPU") {
    // Between 256 and 32768 every seventh step is a power of two, which single precision may overshoot.
    const BatchLimits limits{256, 32768, 1, 32768};
    for (const int gpus : {1, 2, 4, 8, 12, 16, 24, 32}) {
        const auto full = plans_of(GridPrecision::full, gpus, limits);
        const auto single = plans_of(GridPrecision::single, gpus, limits);
        for (const BatchPlan& plan : single) {
            const bool near = std::any_of(full.begin(), full.end(), [&](const BatchPlan& other) {
                return std::abs(plan.atomic_batch - other.atomic_batch) <= 1;
            });
            CHECK(near);
        }
    }
}

TEST_CASE("no plan, or no finite goodput: empty") {
    PublishedBatchGrid grid;
    const NoiseScaleEfficiency efficiency{16, {1, 1}};
    const PolluxThroughput model{.alpha_c = 0.1, .beta_c = 0.001};
    const auto empty = [&](const PolluxThroughput& of, Shape shape, const BatchLimits& limits) {
        const BestPlan best = grid.best_plan(of, efficiency, shape, limits);
        return best.goodput == 0 && best.plan == BatchPlan{};
    };
    const double infinite = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(!empty(model, {1, 1}, {16, 64, 4, 8}));
    CHECK(empty(model, {1, 0}, {16, 64, 4, 8}));
    CHECK(empty(model, {1, -1}, {16, 64, 4, 8}));
    CHECK(empty(model, {1, 1}, {}));
    CHECK(empty(model, {1, 1}, {16, 64, 9, 8}));
    CHECK(empty(model, {1, 1 << 20}, {16, 64, 1 << 20, 1 << 20}));
    for (const double bad : {infinite, nan})
        CHECK(empty({.alpha_c = bad, .beta_c = 0.001}, {1, 2}, {16, 64, 4, 8}));
    // Memory for far more than any batch.
    CHECK(!empty(model, {1, 1}, {1, 1, 1, 1 << 30}));
}
