// Predictions from refined models, from pipelines, and from models with more break points than most
// have.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/throughput.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

Job elastic_job() {
    Job job;
    job.name = "job";
    job.max_gpus = 16;
    job.initial_batch = 32;
    job.max_batch = 1024;
    job.types = {{.max_atomic_batch = 128}};
    job.gradient = GradientStatistics{1, 30};
    return job;
}

std::vector<Option> options_of(const std::vector<Shape>& shapes) {
    std::vector<Option> options;
    for (const Shape shape : shapes) options.push_back({.configuration = {0, 8, shape}});
    return options;
}

const std::vector<Shape> few_shapes{{1, 1}, {1, 2}, {1, 8}, {2, 16}};

RefinedThroughput some_refined() {
    RefinedThroughput model{.alpha_c = 0.02, .beta_c = 0.001};
    model.batches = {{16, 1.2}, {64, 1}};
    model.node_seconds = 0.01;
    model.network_seconds = 0.05;
    model.gamma = 2;
    return model;
}

}  // namespace

TEST_CASE("a refined model counts as measured up to its measured replicas, and as projected beyond") {
    const Job job = elastic_job();
    GoodputPredictor predictor;
    for (const int most_replicas : {0, 1, 4}) {
        const TypeModel model{some_refined(), most_replicas, true, {}};
        std::vector<Option> options = options_of(few_shapes);
        predictor(job, {{model}}, options);
        for (const Option& option : options) {
            const BestPlan best = best_batch_plan(some_refined(), NoiseScaleEfficiency{32, *job.gradient},
                                                  option.configuration.first().shape, batch_limits(job, 0));
            CHECK(option.plan == best.plan);
            CHECK(option.goodput == doctest::Approx(best.goodput));
            const bool measured = option.configuration.gpus() <= most_replicas;
            CHECK(option.knowledge == (measured ? Knowledge::measured : Knowledge::projected));
        }
    }
}

TEST_CASE("a pipeline keeps the plan that it runs; where that is too large a batch it has none") {
    Job job = elastic_job();
    job.types[0].gpus_per_replica = 2;
    const BatchPlan running{16, 3};
    const TypeModel model{PolluxThroughput{0.02, 0.001, 0.1, 0, 0.05, 0, 1}, 4, true, running};
    std::vector<Option> options = options_of({{1, 2}, {1, 8}, {2, 16}, {8, 64}});
    GoodputPredictor predictor;
    predictor(job, {{model}}, options);
    for (const Option& option : options) {
        const int replicas = option.configuration.gpus() / 2;
        const bool legal = running.total(replicas) <= job.max_batch;
        CHECK(option.plan == (legal ? running : BatchPlan{}));
        CHECK((option.goodput > 0) == legal);
    }
    CHECK(options.back().goodput == 0);
}

TEST_CASE("a pipeline takes microbatches that it runs elsewhere only where they fit") {
    Job job = elastic_job();
    job.types[0].gpus_per_replica = 2;
    job.types.push_back({.min_atomic_batch = 4, .max_atomic_batch = 8, .gpus_per_replica = 2});
    const TypeModel model{PolluxThroughput{0.02, 0.001, 0.1, 0, 0.05, 0, 1}, 4, true, BatchPlan{16, 3}};
    std::vector<Option> options;
    for (const Shape shape : {Shape{1, 2}, Shape{1, 8}, Shape{2, 16}})
        options.push_back({.configuration = {1, 8, shape}});
    GoodputPredictor()(job, {{model, {}}}, options);
    for (const Option& option : options) {
        CHECK(option.goodput > 0);
        CHECK(option.plan.atomic_batch >= 4);
        CHECK(option.plan.atomic_batch <= 8);
    }
}

TEST_CASE("no plan takes a job that tunes its batch beyond the largest, whatever is known of it") {
    support::Random random(17);
    int none = 0, some = 0;
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        Job job = elastic_job();
        job.initial_batch = random.integer(1, 300);
        job.max_batch = job.initial_batch + (random.chance(0.5) ? 0 : random.integer(0, 20));
        TypeLimits& limits = job.types[0];
        limits.gpus_per_replica = random.chance(0.2) ? 2 : 1;
        limits.min_atomic_batch = random.chance(0.5) ? 1 : random.integer(2, 40);
        if (random.chance(0.5)) limits.max_atomic_batch = limits.min_atomic_batch + random.integer(0, 10);
        job.single_gpu_accumulates = random.chance(0.5);
        if (random.chance(0.5)) job.gradient.reset();
        std::vector<Option> options = options_of({{1, 2}, {1, 6}, {1, 8}, {2, 10}, {2, 14}});
        if (limits.gpus_per_replica == 1) options.push_back({.configuration = {0, 8, {1, 1}}});
        JobModel model;
        if (random.chance(0.6))
            model.types = {{some_refined(), random.integer(1, 4), random.chance(0.5), {}}};
        GoodputPredictor()(job, model, options);
        for (const Option& option : options) {
            const int replicas = option.configuration.gpus() / job.types[0].gpus_per_replica;
            CHECK(option.plan.total(replicas) <= job.max_batch);
            CHECK((option.goodput > 0) == (option.plan.atomic_batch > 0));
            CHECK((option.goodput == 0 || (option.plan.atomic_batch >= limits.min_atomic_batch &&
                                           option.plan.atomic_batch <= limits.max_atomic_batch)));
            if (limits.gpus_per_replica > 1) continue;
            // Whether there is a plan does not depend on what is known about the gradient.
            const BestPlan tuned = best_batch_plan(some_refined(), NoiseScaleEfficiency{32, {1, 30}},
                                                   option.configuration.first().shape, batch_limits(job, 0));
            CHECK((option.goodput > 0) == (tuned.goodput > 0));
            ++(option.goodput > 0 ? some : none);
        }
    }
    CHECK(none > 100);
    CHECK(some > 100);
}

TEST_CASE(
    "no plan of a job that keeps its batch is above the largest, and where there is none nothing is gained") {
    support::Random random(23);
    int none = 0, some = 0;
    for (int round = 0; round < 600; ++round) {
        CAPTURE(round);
        Job job = elastic_job();
        job.adaptivity = random.chance(0.5) ? Adaptivity::gpus : Adaptivity::none;
        job.initial_batch = random.integer(1, 40);
        job.target_batch = random.integer(1, random.chance(0.5) ? 16 : 200);
        job.max_batch = random.chance(0.2) ? 0 : job.target_batch + random.integer(0, 6);
        TypeLimits& limits = job.types[0];
        limits.gpus_per_replica = random.chance(0.2) ? 2 : 1;
        limits.min_atomic_batch = random.chance(0.7) ? 1 : random.integer(2, 6);
        limits.max_atomic_batch = limits.min_atomic_batch + random.integer(0, 20);
        if (random.chance(0.5)) job.gradient.reset();
        std::vector<Option> options = options_of({{1, 2}, {1, 6}, {1, 8}, {2, 10}, {2, 16}});
        JobModel model;
        if (random.chance(0.6))
            model.types = {{some_refined(), random.integer(1, 4), random.chance(0.5), {}}};
        GoodputPredictor()(job, model, options);
        for (const Option& option : options) {
            const int replicas = option.configuration.gpus() / limits.gpus_per_replica;
            const int most = job.max_batch > 0 ? job.max_batch : 1 << 30;
            // Finds out by trying all plans whether one is legal. They round up from the target, or from the
            // most that is within the largest batch.
            const int load = std::min((job.target_batch + replicas - 1) / replicas, most / replicas);
            bool possible = false;
            for (int microbatches = 1; microbatches <= load; ++microbatches) {
                const int atomic = (load + microbatches - 1) / microbatches;
                possible = possible ||
                           (replicas <= job.target_batch && atomic >= limits.min_atomic_batch &&
                            atomic <= limits.max_atomic_batch && replicas * microbatches * atomic <= most);
            }
            CHECK((option.goodput > 0) == possible);
            CHECK((option.plan.atomic_batch > 0) == possible);
            CHECK(option.plan.total(replicas) <= most);
            ++(possible ? some : none);
        }
    }
    CHECK(none > 100);
    CHECK(some > 100);
}

TEST_CASE("gradient statistics that are both zero say as little as none") {
    Job job = elastic_job();
    job.max_batch = 4096;
    for (const bool modelled : {false, true})
        for (const Adaptivity adaptivity : {Adaptivity::batch, Adaptivity::gpus}) {
            job.adaptivity = adaptivity;
            job.target_batch = 64;
            JobModel model;
            if (modelled) model.types = {{some_refined(), 4, true, {}}};
            std::vector<Option> without = options_of(few_shapes), zero = without;
            GoodputPredictor()(job, model, without, std::nullopt);
            GoodputPredictor()(job, model, zero, GradientStatistics{0, 0});
            for (std::size_t i = 0; i < zero.size(); ++i) {
                CHECK(zero[i].plan == without[i].plan);
                CHECK(zero[i].goodput == without[i].goodput);
                CHECK(zero[i].plan.total(few_shapes[i].gpus) <= std::max(32, job.target_batch));
            }
        }
}

TEST_CASE("with many break points the best plan is still the best of all plans") {
    support::Random random(61);
    for (int round = 0; round < 40; ++round) {
        RefinedThroughput model = some_refined();
        model.batches.clear();
        for (int batch = 2; batch <= 120; batch += random.integer(1, 2))
            model.batches.push_back({static_cast<double>(batch), std::exp(random.between(-0.2, 0.2))});
        REQUIRE(model.batches.size() > 50);
        const NoiseScaleEfficiency efficiency{32, {1, random.between(1, 300)}};
        const BatchLimits limits{32, 256, 1, 128, false};
        for (const Shape shape : few_shapes) {
            double most = 0;
            for (int atomic = 1; atomic <= limits.max_atomic_batch; ++atomic)
                for (int steps = 0;; ++steps) {
                    const BatchPlan plan{atomic, steps};
                    const auto total = static_cast<double>(plan.total(shape.gpus));
                    if (total > limits.max_batch) break;
                    if (total < limits.initial_batch) continue;
                    most = std::max(
                        most, total / model.iteration_seconds(shape, plan) * efficiency.efficiency(total));
                }
            const BestPlan best = best_batch_plan(model, efficiency, shape, limits);
            CAPTURE(round);
            REQUIRE(best.goodput == doctest::Approx(most).epsilon(1e-12));
        }
    }
}

TEST_CASE(
    "a type that the job can no longer use still says how fast it was, where another is scaled from it") {
    // Ten times slower in every respect, and measured on a single GPU only.
    const PolluxThroughput slow{0.2, 0.01, 0.05, 0.001, 0.02, 0.001, 1},
        fast{0.02, 0.001, 0.005, 1e-4, 2e-3, 1e-4, 1};
    Job job = elastic_job();
    job.types = {{.max_atomic_batch = 128}, {.max_atomic_batch = 128}};
    const JobModel known{{{slow, 1, true, {}}, {fast, 8, true, {}}}};
    const auto goodputs = [&](const JobModel& model) {
        std::vector<Option> options = options_of({{1, 2}, {1, 8}});
        GoodputPredictor predictor;
        predictor(job, model, options);
        std::vector<double> found;
        for (const Option& option : options) found.push_back(option.goodput);
        return found;
    };
    const JobModel truth{{{slow, 8, true, {}}, {fast, 8, true, {}}}};
    const std::vector<double> exact = goodputs(truth);
    // Without and with a declared rate of the slow type; with and without the fast type's limits.
    for (const double rate : {0.0, 128 / slow.compute_seconds(128)})
        for (const int batch : {128, 0}) {
            job.types[0].reference_rate = rate;
            job.types[1].max_atomic_batch = batch;
            CAPTURE(rate);
            CAPTURE(batch);
            const std::vector<double> projected = goodputs(known);
            for (std::size_t i = 0; i < exact.size(); ++i)
                CHECK(projected[i] == doctest::Approx(exact[i]).epsilon(1e-6));
        }
}
