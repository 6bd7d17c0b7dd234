// Pollux's throughput model, efficiency, pipelines and tables: formulas, limits, and published measurements.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/pipeline.hpp"
#include "goodput/model/throughput.hpp"
#include "goodput/sim/tabulated.hpp"
#include "support/profiles.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using doctest::Approx;

namespace {

static_assert(ThroughputModel<PolluxThroughput>);
static_assert(ThroughputModel<PipelineThroughput<>>);
static_assert(ThroughputModel<TabulatedThroughput>);
static_assert(EfficiencyModel<NoiseScaleEfficiency>);
static_assert(EfficiencyModel<FullEfficiency>);
struct WrongArguments {
    [[nodiscard]] double iteration_seconds(Shape) const { return 1; }
};
struct NotConst {
    double iteration_seconds(Shape, BatchPlan) { return 1; }
    double efficiency(double) { return 1; }
};
static_assert(!ThroughputModel<WrongArguments>);
static_assert(!ThroughputModel<NotConst>);
static_assert(!EfficiencyModel<NotConst>);
static_assert(!ThroughputModel<int>);

using support::Random;

double log_between(Random& random, double low, double high) {
    return low * std::exp(random.unit() * std::log(high / low));
}

PolluxThroughput random_pollux(Random& random) {
    return {log_between(random, 1e-8, 1), log_between(random, 1e-8, 0.1), log_between(random, 1e-8, 1),
            log_between(random, 1e-8, 1), log_between(random, 1e-8, 1),   log_between(random, 1e-8, 1),
            1 + 9 * random.unit()};
}

double reference_step(double compute, double sync, double gamma) {
    const long double c = compute, w = sync, g = gamma;
    return static_cast<double>(std::pow(std::pow(c, g) + std::pow(w, g), 1 / g));
}

}  // namespace

TEST_CASE("Pollux: the step is the gamma-norm of computing and synchronising, with its derivatives") {
    Random random(1);
    for (int i = 0; i < 20000; ++i) {
        CAPTURE(i);
        const PolluxThroughput model{.gamma = 1 + 9 * random.unit()};
        const double compute = log_between(random, 1e-8, 10), sync = log_between(random, 1e-8, 10);
        const OverlappedStep step = overlapped_step(compute, sync, model.gamma);
        CHECK(step.seconds == Approx(reference_step(compute, sync, model.gamma)).epsilon(1e-13));
        CHECK(step.seconds == model.step_seconds(compute, sync));
        CHECK(model.step_seconds(sync, compute) == step.seconds);
        // Homogeneous, so that the derivatives make up the step, and convex, so that they bound it elsewhere.
        CHECK(step.per_compute * compute + step.per_sync * sync == Approx(step.seconds).epsilon(1e-13));
        CHECK(step.per_compute <= 1);
        CHECK(step.per_sync <= 1);
        const double other = log_between(random, 1e-8, 10), further = log_between(random, 1e-8, 10);
        CHECK(model.step_seconds(other, further) >=
              (step.per_compute * other + step.per_sync * further) * (1 - 1e-13));
    }
}

TEST_CASE("Pollux: overlap lies between none (the sum) and full (the longer of the two)") {
    Random random(2);
    for (int i = 0; i < 5000; ++i) {
        PolluxThroughput model = random_pollux(random);
        const double compute = log_between(random, 1e-8, 10), sync = log_between(random, 1e-8, 10);
        const double step = model.step_seconds(compute, sync);
        CHECK(step >= std::max(compute, sync));
        CHECK(step <= (compute + sync) * (1 + 1e-15));
        const double less_overlap = model.gamma;
        model.gamma = std::min(less_overlap + 1, 10.0);
        CHECK(model.step_seconds(compute, sync) <= step * (1 + 1e-14));
        model.gamma = 1;
        CHECK(model.step_seconds(compute, sync) == compute + sync);
    }
    // Times so small that their powers underflow, and times of zero.
    const PolluxThroughput most{.gamma = 10};
    CHECK(most.step_seconds(1e-200, 1e-200) == Approx(1e-200 * std::pow(2, 0.1)));
    CHECK(most.step_seconds(1, 1e-320) == 1);
    CHECK(most.step_seconds(0, 2) == 2);
    CHECK(most.step_seconds(2, 0) == 2);
    CHECK(most.step_seconds(0, 0) == 0);
}

TEST_CASE("Pollux: an iteration grows with batch, accumulation and GPUs") {
    Random random(3);
    for (int i = 0; i < 5000; ++i) {
        const PolluxThroughput model = random_pollux(random);
        const Shape shape{random.integer(1, 4), random.integer(4, 64)};
        const BatchPlan plan{random.integer(1, 1000), random.integer(0, 10)};
        const double seconds = model.iteration_seconds(shape, plan);
        const double least = 1 - 1e-14;
        CHECK(model.iteration_seconds(shape, {plan.atomic_batch + 1, plan.accumulation_steps}) >=
              seconds * least);
        CHECK(model.iteration_seconds(shape, {plan.atomic_batch, plan.accumulation_steps + 1}) ==
              Approx(seconds + model.compute_seconds(plan.atomic_batch)));
        CHECK(model.iteration_seconds({shape.nodes, shape.gpus + 1}, plan) >= seconds * least);
        // A single GPU does not synchronise.
        CHECK(model.iteration_seconds({1, 1}, plan) ==
              Approx((plan.accumulation_steps + 1) * model.compute_seconds(plan.atomic_batch)));
        CHECK(model.sync_seconds({1, 2}) == model.alpha_r);
        CHECK(model.sync_seconds({2, 2}) == model.alpha_n);
    }
}

TEST_CASE("efficiency is 1 at the initial batch size and falls from there, never below its share") {
    Random random(4);
    for (int i = 0; i < 5000; ++i) {
        const double initial = random.integer(1, 1000);
        const NoiseScaleEfficiency model{initial,
                                         {log_between(random, 1e-6, 1e6), log_between(random, 1e-6, 1e6)}};
        CHECK(model.efficiency(initial) == Approx(1).epsilon(1e-14));
        double before = 1;
        for (double total = initial; total < 1000 * initial; total *= 1.7) {
            const double factor = model.efficiency(total);
            CHECK(factor <= before * (1 + 1e-14));
            CHECK(factor >= initial / total * (1 - 1e-14));
            before = factor;
        }
    }
    CHECK(NoiseScaleEfficiency{32, {0, 5}}.efficiency(3200) == 1);     // only noise
    CHECK(NoiseScaleEfficiency{32, {5, 0}}.efficiency(3200) == 0.01);  // no noise
    CHECK(NoiseScaleEfficiency{32, {0, 0}}.efficiency(3200) == 1);     // no statistics
    CHECK(FullEfficiency{}.efficiency(3200) == 1);
}

TEST_CASE("pipeline: fills, streams and synchronises once") {
    const PolluxThroughput stage{
        .alpha_c = 0.01, .beta_c = 0.002, .alpha_n = 0.5, .alpha_r = 0.25, .gamma = 3};
    const PipelineThroughput eight(stage, 8);
    CHECK(eight.stages() == 8);
    // 48 microbatches of one example, as published: 3 (7 + 48) forward times.
    CHECK(eight.iteration_seconds({1, 1}, {1, 47}) == Approx(3 * 55 * 0.012));
    CHECK(eight.iteration_seconds({1, 2}, {1, 47}) == Approx(3 * 55 * 0.012 + 0.25));
    CHECK(eight.iteration_seconds({2, 2}, {1, 47}) == Approx(3 * 55 * 0.012 + 0.5));
    // A single stage computes like a data-parallel job, forward and backward.
    const PipelineThroughput one(stage, 1);
    CHECK(one.iteration_seconds({1, 1}, {10, 4}) == Approx(3 * 5 * 0.03));
    // More microbatches hide the filling: seconds per example fall to three forward times.
    double before = std::numeric_limits<double>::infinity();
    for (int steps = 0; steps < 1000; ++steps) {
        const double each = eight.iteration_seconds({1, 1}, {1, steps}) / (steps + 1);
        CHECK(each < before);
        before = each;
    }
    CHECK(before == Approx(3 * 0.012).epsilon(0.01));
    CHECK_THROWS_WITH(PipelineThroughput(stage, 0),
                      "pipeline: stages is 0, but must be between 1 and 1048576");
    const BestPlan best = best_batch_plan(eight, FullEfficiency{}, {1, 1}, BatchLimits{48, 48, 1, 4});
    CHECK(best.plan.total(1) == 48);
}

namespace {

ThroughputSample sample(int nodes, int gpus, int batch, double step, double sync) {
    return {{nodes, gpus}, {batch, 0}, step, sync};
}

}  // namespace

TEST_CASE("tabulated: measured points are returned, linear in between, constant outside") {
    const std::vector<ThroughputSample> samples{sample(1, 1, 30, 3, 0), sample(1, 1, 10, 1, 0),
                                                sample(2, 8, 10, 2, 1), sample(2, 8, 10, 4, 2)};
    const TabulatedThroughput table(samples);
    CHECK(table.seconds({1, 1}, 10).step == 1);
    CHECK(table.seconds({1, 1}, 30).step == 3);
    CHECK(table.seconds({1, 1}, 25).step == 2.5);
    CHECK(table.seconds({1, 1}, 1).step == 1);
    CHECK(table.seconds({1, 1}, 1000).step == 3);
    CHECK(table.seconds({2, 8}, 10).step == 3);  // mean of both
    CHECK(table.seconds({2, 8}, 10).sync == 1.5);
    CHECK(table.iteration_seconds({2, 8}, {10, 4}) == Approx(3 + 4 * 1.5));
    CHECK(table.max_nodes() == 2);
    CHECK(table.max_atomic_batch({1, 1}) == 30);
    CHECK(table.max_atomic_batch({2, 8}) == 10);
    CHECK(table.max_atomic_batch({3, 12}) == 10);
}

TEST_CASE("tabulated: the most even placement speaks for its shape, wherever the ring is cut open") {
    const std::vector<PlacementSample> samples{
        {{3, 1}, 10, 2, 1},       {{2, 2}, 10, 1, 0.5}, {{1, 1, 2, 2}, 10, 5, 1}, {{2, 1, 1, 2}, 10, 6, 1},
        {{1, 2, 1, 2}, 10, 7, 1}, {{2, 2}, 20, 3, 0.5}, {{1, 2, 4}, 10, 8, 1},    {{1, 1, 5}, 10, 10, 1}};
    const TabulatedThroughput table({}, samples);
    CHECK(table.seconds({2, 4}, 10).step == 1);
    CHECK(table.max_atomic_batch({2, 4}) == 20);
    CHECK(table.seconds({4, 6}, 10).step == Approx(5.5));
    // If it was not measured, the mean of the others counts.
    CHECK(table.seconds({3, 7}, 10).step == Approx(9));
}

TEST_CASE("tabulated: between shapes") {
    std::vector<ThroughputSample> samples;
    for (const int n : {1, 2, 4, 8}) samples.push_back(sample(n, 4 * n, 10, n, 0.5 * n));
    samples.push_back(sample(4, 8, 10, 10, 1));
    const TabulatedThroughput table(samples);
    CHECK(table.seconds({3, 12}, 10).step == Approx(3));
    CHECK(table.seconds({7, 28}, 10).step == Approx(7));
    CHECK(table.seconds({7, 28}, 10).sync == Approx(3.5));
    CHECK(table.seconds({4, 12}, 10).step == Approx(7));     // half way from (4, 8) to (4, 16)
    CHECK(table.seconds({100, 400}, 10).step == Approx(8));  // as most nodes, same GPUs per node
    CHECK(table.seconds({1, 2}, 10).step == Approx(1));      // one node is never mixed with several
    CHECK(table.seconds({5, 10}, 10).step == Approx(10).epsilon(0.5));
}

TEST_CASE("tabulated: always finite and within what was measured, for any table and shape") {
    Random random(5);
    for (int i = 0; i < 300; ++i) {
        std::vector<ThroughputSample> samples;
        std::vector<PlacementSample> placements;
        double least = 1e9, most = 0;
        const int count = random.integer(1, 30);
        for (int k = 0; k < count; ++k) {
            const double step = log_between(random, 1e-3, 10);
            least = std::min(least, step);
            most = std::max(most, step);
            const int nodes = random.integer(1, 8);
            if (random.unit() < 0.5) {
                samples.push_back(
                    sample(nodes, nodes * random.integer(1, 8), random.integer(1, 100), step, 0));
            } else {
                PlacementSample placed{{}, random.integer(1, 100), step, 0};
                for (int n = 0; n < nodes; ++n) placed.gpus_by_node.push_back(random.integer(1, 4));
                placements.push_back(placed);
            }
        }
        const TabulatedThroughput table(samples, placements);
        for (int k = 0; k < 300; ++k) {
            const int nodes = random.integer(1, 40);
            const Shape shape{nodes, random.integer(nodes, 9 * nodes)};
            const double batch = random.integer(0, 200);
            const StepSeconds seconds = table.seconds(shape, batch);
            CHECK(seconds.step >= least * (1 - 1e-12));
            CHECK(seconds.step <= most * (1 + 1e-12));
            CHECK(seconds.sync == 0);
            CHECK(table.max_atomic_batch(shape) >= 1);
            CHECK(table.max_atomic_batch(shape) <= 100);
        }
        CHECK(std::isfinite(table.seconds({1, 1}, std::numeric_limits<double>::quiet_NaN()).step));
    }
}

TEST_CASE("tabulated: refuses empty tables, impossible samples and invalid shapes") {
    using Samples = std::vector<ThroughputSample>;
    CHECK_THROWS_AS(TabulatedThroughput(Samples{}), std::invalid_argument);
    CHECK_THROWS_AS(TabulatedThroughput(Samples{sample(2, 1, 10, 1, 0)}), std::invalid_argument);
    CHECK_THROWS_AS(TabulatedThroughput(Samples{sample(1, 1, 10, 1, 2)}), std::invalid_argument);
    CHECK_THROWS_AS(TabulatedThroughput(Samples{sample(1, 1, 0, 1, 0)}), std::invalid_argument);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(TabulatedThroughput(Samples{sample(1, 1, 1, nan, 0)}), std::invalid_argument);
    const std::vector<PlacementSample> zero{{{2, 0}, 1, 1, 0}};
    CHECK_THROWS_AS(TabulatedThroughput({}, zero), std::invalid_argument);
    const TabulatedThroughput table(Samples{sample(1, 1, 10, 1, 0)});
    CHECK_THROWS_AS((void)table.seconds(Shape{0, 0}, 10), std::invalid_argument);
    CHECK_THROWS_AS((void)table.seconds(Shape{3, 2}, 10), std::invalid_argument);
    CHECK_THROWS_AS((void)table.max_atomic_batch(Shape{0, 0}), std::invalid_argument);
}

TEST_SUITE("data") {
    TEST_CASE("tabulated: the published measurements, as the public simulator reads them") {
        const auto table = [](const std::string& application, const std::string& type) {
            const std::string profiles = std::string(GOODPUT_DATA_DIR) + "/sia/profiles/";
            return support::read_profile(profiles + application, type).table();
        };
        struct Case {
            const char *application, *type;
            Shape shape;
            double atomic_batch, step, sync;
            int most;
            double tolerance;  // above 0 where the simulator triangulates instead of mixing columns
        };
        const std::vector<Case> cases{{"cifar10", "aws", {2, 8}, 100, 0.216878, 0.134889, 1024, 0},
                                      {"cifar10", "aws", {3, 4}, 50, 0.143873, 0.091908, 1024, 0},
                                      {"bert", "dgx-ext", {2, 16}, 20, 0.217400, 0.023507, 48, 0},
                                      {"imagenet", "rtx", {3, 24}, 150, 0.532177, 0.069828, 200, 0},
                                      {"imagenet", "aws", {6, 24}, 137, 0.757365, 0.059470, 200, 0},
                                      {"imagenet", "aws", {5, 20}, 137, 0.729256, 0.036726, 200, 0.035},
                                      {"cifar10", "aws", {5, 20}, 300, 0.262599, 0.029272, 513, 0.06},
                                      {"deepspeech2", "aws", {5, 20}, 20, 1.326285, 0.539795, 57, 0.14},
                                      {"yolov3", "aws", {5, 20}, 6, 1.346086, 0.815700, 8, 0.035}};
        for (const Case& c : cases) {
            CAPTURE(c.application);
            CAPTURE(c.shape.nodes);
            const TabulatedThroughput t = table(c.application, c.type);
            const StepSeconds seconds = t.seconds(c.shape, c.atomic_batch);
            CHECK(std::abs(seconds.step - c.step) <= 6e-7 + c.tolerance * c.step);
            if (c.tolerance == 0) CHECK(std::abs(seconds.sync - c.sync) <= 6e-7);
            CHECK(seconds.sync < seconds.step);
            CHECK(t.max_atomic_batch(c.shape) == c.most);
        }
        CHECK(table("cifar10", "aws").max_nodes() == 16);
        CHECK(table("cifar10", "rtx").max_nodes() == 3);
        CHECK(table("cifar10", "dgx-ext").max_nodes() == 2);
    }

    TEST_CASE(
        "tabulated: every published measurement on even placements is read back, and every application has "
        "its batch plans") {
        const std::string profiles = std::string(GOODPUT_DATA_DIR) + "/sia/profiles/";
        for (const std::string application : {"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"})
            for (const std::string type : {"aws", "rtx", "dgx-ext"}) {
                CAPTURE(application);
                CAPTURE(type);
                const support::Profile profile = support::read_profile(profiles + application, type);
                CHECK(profile.placements.size() > 100);
                const TabulatedThroughput table = profile.table();
                for (const PlacementSample& row : profile.placements) {
                    const int nodes = static_cast<int>(row.gpus_by_node.size());
                    const int gpus = row.gpus_by_node.front();
                    if (std::count(row.gpus_by_node.begin(), row.gpus_by_node.end(), gpus) != nodes) continue;
                    const StepSeconds seconds = table.seconds({nodes, nodes * gpus}, row.atomic_batch);
                    CHECK(seconds.step == row.step_seconds);
                    CHECK(seconds.sync == row.sync_seconds);
                }
                const BatchLimits limits{16, 64, 4, table.max_atomic_batch({1, 4})};
                CHECK(best_batch_plan(table, FullEfficiency{}, {1, 4}, limits).goodput > 0);
            }
    }
}
