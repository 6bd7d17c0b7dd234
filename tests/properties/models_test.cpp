// Properties of any model of speed and efficiency, and of the batch plans that follow from them.

#include <algorithm>
#include <cmath>
#include <limits>

#include "goodput/memory/memory.hpp"
#include "goodput/model/batch_plan.hpp"
#include "model/random_batch_cases.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using support::BatchCase;
using support::Random;

namespace {

constexpr double relative_rounding = 1e-12;

/// Limits small enough to try every plan.
template <class Throughput>
BatchCase<Throughput> small_case(Random& random) {
    return support::random_case<Throughput>(
        random, {random.integer(1, 96), random.integer(1, 32), random.integer(1, 16)});
}

/// The best goodput of all plans that BatchLimits allows, or 0 if there is none.
template <class Throughput>
double best_of_all(const BatchCase<Throughput>& c) {
    double best = 0;
    for (int batch = 1; batch <= c.limits.max_atomic_batch; ++batch)
        for (int steps = 0; 1LL * c.shape.gpus * batch * (steps + 1) <= c.limits.max_batch; ++steps) {
            const BatchPlan plan{batch, steps};
            if (!support::respects(c.limits, c.shape.gpus, plan)) continue;
            const double total = static_cast<double>(plan.total(c.shape.gpus));
            const double goodput =
                total / c.model.iteration_seconds(c.shape, plan) * c.efficiency.efficiency(total);
            if (std::isfinite(goodput)) best = std::max(best, goodput);
        }
    return best;
}

template <class Throughput>
BestPlan best_plan(const BatchCase<Throughput>& c) {
    return best_batch_plan(c.model, c.efficiency, c.shape, c.limits);
}

template <class Throughput>
void check_best_plan(Case& one) {
    const auto c = small_case<Throughput>(one.random);
    const double best = best_of_all(c);
    const BestPlan found = best_plan(c);
    if (best == 0) {
        one.count("without a plan");
        REQUIRE(found.goodput == 0);
        REQUIRE(found.plan == BatchPlan{});
        return;
    }
    REQUIRE(support::respects(c.limits, c.shape.gpus, found.plan));
    REQUIRE(std::abs(found.goodput - best) <= relative_rounding * best);
}

template <class Throughput>
void check_wider_limits(Case& one) {
    auto c = small_case<Throughput>(one.random);
    const double before = best_plan(c).goodput;
    c.limits.max_batch += one.random.integer(0, 100);
    c.limits.max_atomic_batch += one.random.integer(0, 100);
    c.limits.min_atomic_batch = one.random.integer(1, c.limits.min_atomic_batch);
    if (one.random.chance(0.5)) c.limits.single_gpu_accumulates = false;
    REQUIRE(best_plan(c).goodput >= before * (1 - relative_rounding));
}

template <class Throughput>
void check_noise(Case& one) {
    auto c = small_case<Throughput>(one.random);
    const BestPlan before = best_plan(c);
    c.efficiency.gradient.variance = 2 * c.efficiency.gradient.variance + 1e-3;
    const BestPlan after = best_plan(c);
    REQUIRE((after.goodput > 0) == (before.goodput > 0));
    if (after.goodput == 0) return;
    // Infinite noise counts as none, and without statistics (both zero) a larger batch is better.
    if (c.efficiency.gradient.squared_norm == 0) return;
    if (after.plan.total(c.shape.gpus) < before.plan.total(c.shape.gpus)) {
        // This may happen only if the two plans are equally good.
        one.count("in which plans tie");
        const double total = static_cast<double>(before.plan.total(c.shape.gpus));
        const double same =
            total / c.model.iteration_seconds(c.shape, before.plan) * c.efficiency.efficiency(total);
        REQUIRE(std::abs(same - after.goodput) <= relative_rounding * after.goodput);
    }
}

void scale_seconds(PolluxThroughput& model, double factor) {
    for (double* seconds :
         {&model.alpha_c, &model.beta_c, &model.alpha_n, &model.beta_n, &model.alpha_r, &model.beta_r})
        *seconds *= factor;
}
void scale_seconds(RefinedThroughput& model, double factor) {
    for (double* seconds :
         {&model.alpha_c, &model.beta_c, &model.launch_seconds, &model.node_seconds, &model.network_seconds})
        *seconds *= factor;
}

template <class Throughput>
void check_unit_of_time(Case& one) {
    auto c = small_case<Throughput>(one.random);
    const BestPlan before = best_plan(c);
    const double factor = std::ldexp(1.0, one.random.integer(-20, 20));
    scale_seconds(c.model, factor);
    const BestPlan after = best_plan(c);
    REQUIRE(std::abs(after.goodput * factor - before.goodput) <= relative_rounding * before.goodput);
}

}  // namespace

TEST_CASE(
    "models: an iteration takes no less time with a larger batch, more accumulation, more replicas or less "
    "overlap, and no less than computing alone (Pollux's model)") {
    for_all(1, [](Case& one) {
        Random& random = one.random;
        PolluxThroughput model;
        support::randomise(model, random, {});
        const int gpus = random.integer(1, 64);
        const Shape shape{random.integer(1, std::min(gpus, 8)), gpus};
        const BatchPlan plan{random.integer(1, 1000), random.integer(0, 10)};
        const double seconds = model.iteration_seconds(shape, plan),
                     least = seconds * (1 - relative_rounding);
        const BatchPlan larger{plan.atomic_batch + random.integer(1, 100), plan.accumulation_steps},
            longer{plan.atomic_batch, plan.accumulation_steps + random.integer(1, 10)};
        REQUIRE(model.iteration_seconds(shape, larger) >= least);
        REQUIRE(model.iteration_seconds(shape, longer) >= least);
        if (gpus > 1)  // a single one does not synchronise, several may do so within a node for less
            REQUIRE(model.iteration_seconds({shape.nodes, gpus + random.integer(1, 8)}, plan) >= least);
        REQUIRE(model.iteration_seconds({1, 1}, plan) <=
                model.iteration_seconds({1, 2}, plan) * (1 + relative_rounding));
        const double compute = model.compute_seconds(plan.atomic_batch), sync = model.sync_seconds(shape);
        const double steps = plan.accumulation_steps;
        REQUIRE(seconds >= ((steps + 1) * compute) * (1 - relative_rounding));
        REQUIRE(seconds >= (steps * compute + sync) * (1 - relative_rounding));
        REQUIRE(seconds <= ((steps + 1) * compute + sync) * (1 + relative_rounding));
        PolluxThroughput overlapping = model;
        overlapping.gamma = random.between(model.gamma, 10);
        REQUIRE(overlapping.iteration_seconds(shape, plan) <= seconds * (1 + relative_rounding));
    });
}

TEST_CASE(
    "models: more accumulation takes its computing longer, and more replicas or nodes no less time where the "
    "exponents are not negative (refined model)") {
    for_all(1, [](Case& one) {
        Random& random = one.random;
        RefinedThroughput model;
        support::randomise(model, random, {.batch = 256, .atomic = 64, .gpus = 64});
        for (double* exponent :
             {&model.straggling, &model.node_gpus, &model.network_gpus, &model.network_nodes})
            *exponent = std::abs(*exponent);
        model.network_ring = std::max(model.network_ring, 1.0);
        model.shapes.clear();
        const int a_node = random.integer(1, 8), nodes = random.integer(1, 8), more = random.integer(1, 4);
        const Shape shape{nodes, a_node * nodes};
        const BatchPlan plan{random.integer(1, 100), random.integer(0, 10)};
        const double seconds = model.iteration_seconds(shape, plan),
                     least = seconds * (1 - relative_rounding);
        const double compute = model.compute_seconds(plan.atomic_batch) * model.compute_factor(shape);
        const int further = random.integer(1, 10);
        const double expected = seconds + further * compute;
        REQUIRE(
            std::abs(model.iteration_seconds(shape, {plan.atomic_batch, plan.accumulation_steps + further}) -
                     expected) <= relative_rounding * expected);
        if (shape.gpus < 2) return;  // a single replica has other duties
        REQUIRE(model.iteration_seconds({nodes, (a_node + more) * nodes}, plan) >= least);
        if (nodes < 2) return;
        const Shape wider{nodes + more, a_node * (nodes + more)};
        REQUIRE(model.iteration_seconds(wider, plan) >= least);
    });
}

TEST_CASE(
    "models: efficiency is 1 at the initial batch size, falls with the batch, and rises with noise; "
    "progress of a step rises with the batch") {
    for_all(1, [](Case& one) {
        Random& random = one.random;
        const auto c =
            support::random_case<PolluxThroughput>(random, {.batch = 512, .atomic = 64, .gpus = 8});
        NoiseScaleEfficiency model = c.efficiency;
        const double initial = model.initial_batch, total = initial * support::log_between(random, 1, 1e4);
        const double further = total * support::log_between(random, 1, 10);
        REQUIRE(std::abs(model.efficiency(initial) - 1) <= relative_rounding);
        REQUIRE(model.efficiency(total) <= 1 + relative_rounding);
        REQUIRE(model.efficiency(total) > 0);
        REQUIRE(model.efficiency(further) <= model.efficiency(total) * (1 + relative_rounding));
        REQUIRE(further * model.efficiency(further) >=
                total * model.efficiency(total) * (1 - relative_rounding));
        const double scale = total / initial, steps = gain(model.gradient, scale);
        REQUIRE(steps >= 1 - relative_rounding);
        REQUIRE(steps <= scale * (1 + relative_rounding));
        REQUIRE(std::abs(steps - scale * model.efficiency(total)) <= relative_rounding * steps);
        if (!(model.gradient.squared_norm > 0)) return;
        const double before = model.efficiency(total);
        model.gradient.variance = 2 * model.gradient.variance + 1;
        REQUIRE(model.efficiency(total) >= before * (1 - relative_rounding));
    });
}

TEST_CASE("models: the batch plan is legal and as good as the best of all legal plans (Pollux's model)") {
    for_all(1, [](Case& one) { check_best_plan<PolluxThroughput>(one); });
}
TEST_CASE("models: the batch plan is legal and as good as the best of all legal plans (refined model)") {
    for_all(1, [](Case& one) { check_best_plan<RefinedThroughput>(one); });
}

TEST_CASE("models: wider limits never lower the goodput of the batch plan") {
    for_all(1, [](Case& one) {
        check_wider_limits<PolluxThroughput>(one);
        check_wider_limits<RefinedThroughput>(one);
    });
}

TEST_CASE("models: with more noise the batch plan is no smaller, unless plans tie") {
    for_all(1, [](Case& one) {
        check_noise<PolluxThroughput>(one);
        check_noise<RefinedThroughput>(one);
    });
}

TEST_CASE("models: seconds in another unit give goodput in that unit") {
    for_all(1, [](Case& one) {
        check_unit_of_time<PolluxThroughput>(one);
        check_unit_of_time<RefinedThroughput>(one);
    });
}

TEST_CASE("models: the largest batch that fits a GPU is the last that does") {
    for_all(1, [](Case& one) {
        Random& random = one.random;
        const MemoryModel model{
            .fixed_bytes = random.chance(0.1) ? 0 : support::log_between(random, 1, 1e11),
            .bytes_per_example = random.chance(0.1) ? 0 : support::log_between(random, 1, 1e10),
            .most_atomic_batch =
                random.chance(0.3) ? random.integer(1, 1000) : std::numeric_limits<int>::max()};
        const GpuMemory gpu{support::log_between(random, 1, 1e12), random.between(0, 0.9)};
        const int largest = largest_atomic_batch(model, gpu);
        REQUIRE(largest >= 0);
        REQUIRE(largest <= std::min(model.most_atomic_batch, 1 << 30));
        if (largest > 0) REQUIRE(model.bytes(largest) <= gpu.usable_bytes());
        if (largest < std::min(model.most_atomic_batch, 1 << 30))
            REQUIRE(model.bytes(largest + 1.0) > gpu.usable_bytes());
    });
}
