// Times the best batch plans of a job on twenty shapes, for random jobs as in published_goodput.py.
// compare_model.py runs both and prints the ratio.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/model/batch_plan.hpp"
#include "goodput/sim/tabulated.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace goodput;

struct Application {
    BatchLimits limits;
    double constant, per_example;  // typical seconds of computing
};

const std::array<Application, 5> applications{{{{12, 384, 4, 12, true}, 0.05, 0.06},
                                               {{128, 4096, 32, 1024, true}, 0.02, 0.0005},
                                               {{20, 640, 10, 80, true}, 0.1, 0.03},
                                               {{200, 12800, 20, 200, true}, 0.02, 0.005},
                                               {{8, 512, 4, 16, true}, 0.1, 0.03}}};

struct Job {
    PolluxThroughput throughput;
    RefinedThroughput refined;  // computing time with kinks at a dozen measured batches
    NoiseScaleEfficiency efficiency;
    BatchLimits limits;
};

// The generator of published_goodput.py, so that both have the same jobs.
class Random {
public:
    double log_between(double low, double high) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return low * std::pow(high / low, static_cast<double>(state_ >> 11) * 0x1p-53);
    }

private:
    std::uint64_t state_ = 1;
};

RefinedThroughput refined(const PolluxThroughput& model, const BatchLimits& limits, Random& random) {
    RefinedThroughput refined{.alpha_c = model.alpha_c,
                              .beta_c = model.beta_c,
                              .alone = random.log_between(0.9, 1.1),
                              .straggling = 0.02,
                              .node_seconds = model.alpha_r,
                              .node_gpus = random.log_between(0.1, 1),
                              .network_seconds = model.alpha_n,
                              .network_gpus = random.log_between(0.1, 1),
                              .network_nodes = random.log_between(0.1, 1),
                              .network_ring = random.log_between(1, 2),
                              .gamma = model.gamma};
    const double low = limits.min_atomic_batch, high = limits.max_atomic_batch;
    for (int i = 0; i < 12; ++i) {
        const double batch = std::round(low * std::pow(high / low, i / 11.0));
        if (refined.batches.empty() || batch > refined.batches.back().batch)
            refined.batches.push_back({batch, random.log_between(0.8, 1.25)});
    }
    return refined;
}

std::vector<Job> random_jobs(std::size_t count) {
    Random random;
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < count; ++i) {
        const Application& application = applications[i % applications.size()];
        Job job{{}, {}, {static_cast<double>(application.limits.initial_batch), {}}, application.limits};
        PolluxThroughput& model = job.throughput;
        model.alpha_c = application.constant * random.log_between(0.3, 3);
        model.beta_c = application.per_example * random.log_between(0.3, 3);
        model.alpha_n = random.log_between(0.005, 0.3);
        model.beta_n = random.log_between(1e-5, 1e-2);
        model.alpha_r = random.log_between(0.002, 0.05);
        model.beta_r = random.log_between(1e-5, 5e-3);
        model.gamma = random.log_between(1, 10);
        job.efficiency.gradient = {.squared_norm = 1, .variance = random.log_between(0.5, 1000)};
        jobs.push_back(job);
    }
    for (Job& job : jobs) job.refined = refined(job.throughput, job.limits, random);
    return jobs;
}

std::vector<Shape> twenty_shapes() {
    std::vector<Shape> shapes{{1, 1}, {1, 2}, {1, 4}};
    for (int nodes = 2; nodes <= 18; ++nodes) shapes.push_back({nodes, 4 * nodes});
    return shapes;
}

// One iteration is one job. Jobs take turns, so that the processor cannot learn from the last one.
template <class Throughput>
void best_plans_together(benchmark::State& state, Throughput Job::*throughput) {
    const std::vector<Job> jobs = random_jobs(1000);
    const std::vector<Shape> shapes = twenty_shapes();
    std::vector<BestPlan> best(shapes.size());
    const auto search = [&](const Job& job) {
        best_batch_plans(job.*throughput, job.efficiency, std::span<const Shape>(shapes), job.limits,
                         std::span<BestPlan>(best));
    };
    std::size_t next = 0;
    for (auto _ : state) {
        search(jobs[next]);
        benchmark::DoNotOptimize(best.data());
        next = next + 1 < jobs.size() ? next + 1 : 0;
    }
    double goodput = 0;
    for (const Job& job : jobs) {
        search(job);
        for (const BestPlan& plan : best) goodput += plan.goodput;
    }
    state.counters["goodput"] = goodput / static_cast<double>(jobs.size());
}
BENCHMARK_CAPTURE(best_plans_together, , &Job::throughput)->Name("best_plans_together");
BENCHMARK_CAPTURE(best_plans_together, , &Job::refined)->Name("best_refined_plans_together");

template <class Throughput>
void best_plans_one_by_one(benchmark::State& state, Throughput Job::*throughput) {
    const std::vector<Job> jobs = random_jobs(1000);
    const std::vector<Shape> shapes = twenty_shapes();
    std::size_t next = 0;
    for (auto _ : state) {
        const Job& job = jobs[next];
        for (const Shape shape : shapes)
            benchmark::DoNotOptimize(
                best_batch_plan(job.*throughput, job.efficiency, shape, job.limits).goodput);
        next = next + 1 < jobs.size() ? next + 1 : 0;
    }
}
BENCHMARK_CAPTURE(best_plans_one_by_one, , &Job::throughput)->Name("best_plans_one_by_one");
BENCHMARK_CAPTURE(best_plans_one_by_one, , &Job::refined)->Name("best_refined_plans_one_by_one");

// The part of this time that the laws for the shapes take.
void shape_laws(benchmark::State& state) {
    const std::vector<Job> jobs = random_jobs(1000);
    const std::vector<Shape> shapes = twenty_shapes();
    std::size_t next = 0;
    for (auto _ : state) {
        const RefinedThroughput& model = jobs[next].refined;
        double sum = 0;
        for (const Shape shape : shapes) sum += model.compute_factor(shape) + model.sync_seconds(shape);
        benchmark::DoNotOptimize(sum);
        next = next + 1 < jobs.size() ? next + 1 : 0;
    }
}
BENCHMARK(shape_laws);

// A table as large as the published ones: 85 placements of up to four nodes, 40 larger shapes, 11 batch
// sizes.
void table_lookup(benchmark::State& state, Shape shape) {
    std::vector<PlacementSample> placements;
    std::vector<ThroughputSample> shapes;
    for (int batch = 32; batch <= 1024; batch = batch * 3 / 2) {
        for (int code = 0; code < 256; ++code) {
            const std::vector<int> ring{code % 4 + 1, code / 4 % 4 + 1, code / 16 % 4 + 1, code / 64 + 1};
            placements.push_back({ring, batch, 0.1 + 0.001 * batch, 0.05});
        }
        for (const int nodes : {6, 8, 12, 16})
            for (int gpus = nodes; gpus <= 4 * nodes; gpus += nodes / 2)
                shapes.push_back({{nodes, gpus}, {batch, 0}, 0.1 + 0.001 * batch + 0.001 * gpus, 0.05});
    }
    const TabulatedThroughput table(shapes, placements);
    int batch = 32;
    for (auto _ : state) {
        benchmark::DoNotOptimize(table.seconds(shape, batch));
        batch = batch < 1024 ? batch + 31 : 32;
    }
}
BENCHMARK_CAPTURE(table_lookup, measured_placement, Shape{4, 16});
BENCHMARK_CAPTURE(table_lookup, measured_shape, Shape{12, 48});
BENCHMARK_CAPTURE(table_lookup, between_whole_nodes, Shape{10, 40});
BENCHMARK_CAPTURE(table_lookup, four_nearest, Shape{7, 19});

}  // namespace
