// Times throughput fits, cold and starting from the fit without the last sample: of the published model
// (ThroughputFitter), of the refined one, and of a job's models on three GPU types. Samples are synthetic,
// as a job gathers them: shapes of up to four nodes, 5 % noise, few batch sizes twice.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "goodput/fit/job_fit.hpp"
#include "goodput/tasks/forecast.hpp"
#include "peers/pollux/prediction_interval.hpp"
#include "peers/pollux/throughput_fit.hpp"

namespace {

using goodput::Shape;
using goodput::ThroughputSample;

std::vector<ThroughputSample> samples_of(std::size_t count, double slower = 1) {
    constexpr goodput::PolluxThroughput truth{0.05, 0.001, 0.06, 0.003, 0.03, 0.002, 1.7};
    constexpr Shape shapes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 8}, {1, 3}, {4, 16}, {3, 12}};
    std::mt19937_64 random(5);
    const auto noise = [&] {
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1.0p-53;
        return std::exp(0.05 * sum);
    };
    std::vector<ThroughputSample> samples;
    for (std::size_t i = 0; i < count; ++i) {
        const Shape shape = shapes[i % std::size(shapes)];
        const int batch = 16 + static_cast<int>(random() % 113);
        const double compute = slower * truth.compute_seconds(batch) * noise();
        const double sync =
            slower * (truth.iteration_seconds(shape, {batch, 0}) - truth.compute_seconds(batch));
        samples.push_back({shape, {batch, 0}, compute + sync * noise(), sync});
        samples.back().sync_seconds = samples.back().step_seconds - compute;
    }
    return samples;
}

void cold(benchmark::State& state) {
    const std::vector<ThroughputSample> samples = samples_of(static_cast<std::size_t>(state.range(0)));
    goodput::peers::ThroughputFitter fitter;
    int iterations = 0;
    for (auto _ : state) {
        const goodput::peers::ThroughputFit fit = fitter.fit(samples);
        iterations = fit.iterations;
        benchmark::DoNotOptimize(fit.model);
    }
    state.counters["iterations"] = iterations;
}

void warm(benchmark::State& state) {
    const std::vector<ThroughputSample> samples = samples_of(static_cast<std::size_t>(state.range(0)));
    goodput::peers::ThroughputFitter fitter;
    const goodput::peers::ThroughputFit before = fitter.fit(std::span(samples).first(samples.size() - 1));
    int iterations = 0;
    for (auto _ : state) {
        const goodput::peers::ThroughputFit fit = fitter.fit(samples, {.start = before.model});
        iterations = fit.iterations;
        benchmark::DoNotOptimize(fit.model);
    }
    state.counters["iterations"] = iterations;
}

/// A scheduling round: 20 jobs with 5 to 30 samples each, one more than before.
void round_of_20_jobs(benchmark::State& state) {
    goodput::peers::ThroughputFitter fitter;
    std::vector<std::vector<ThroughputSample>> jobs;
    std::vector<goodput::PolluxThroughput> before;
    for (std::size_t job = 0; job < 20; ++job) {
        jobs.push_back(samples_of(5 + job * 25 / 19));
        before.push_back(fitter.fit(std::span(jobs.back()).first(jobs.back().size() - 1)).model);
    }
    for (auto _ : state)
        for (std::size_t job = 0; job < jobs.size(); ++job)
            benchmark::DoNotOptimize(fitter.fit(jobs[job], {.start = before[job]}).model);
}

void interval(benchmark::State& state) {
    const goodput::peers::ThroughputFit fit = goodput::peers::fit_throughput(samples_of(20));
    for (auto _ : state) benchmark::DoNotOptimize(goodput::peers::predict_interval(fit, {2, 8}, {64, 0}));
}

void refined_cold(benchmark::State& state) {
    const std::vector<ThroughputSample> samples = samples_of(static_cast<std::size_t>(state.range(0)));
    goodput::JobFitter fitter;
    goodput::RefinedFit fit;
    for (auto _ : state) {
        fitter.fit(samples, {}, fit);
        benchmark::DoNotOptimize(fit.model);
    }
    state.counters["iterations"] = fit.iterations;
}

void refined_warm(benchmark::State& state) {
    const std::vector<ThroughputSample> samples = samples_of(static_cast<std::size_t>(state.range(0)));
    goodput::JobFitter fitter;
    const goodput::RefinedFit before = fitter.fit(std::span(samples).first(samples.size() - 1));
    goodput::RefinedFit fit;
    for (auto _ : state) {
        fitter.fit(samples, {.start = &before}, fit);
        benchmark::DoNotOptimize(fit.model);
    }
    state.counters["iterations"] = fit.iterations;
}

/// A job on three GPU types: range(0) samples on the first, one of them new, a third as many on the second,
/// and three on a single GPU of the last.
void job_refit(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    std::vector<std::vector<ThroughputSample>> samples{samples_of(count), samples_of(count / 3 + 1, 2), {}};
    for (const ThroughputSample& sample : samples_of(21, 0.3))
        if (sample.shape == Shape{1, 1}) samples[2].push_back(sample);
    std::vector<goodput::TypeFit> before(samples.size()), types;
    goodput::JobFitter fitter;
    const ThroughputSample added = samples[0].back();
    samples[0].pop_back();
    fitter(samples, before);
    samples[0].push_back(added);
    for (auto _ : state) {
        state.PauseTiming();
        types = before;
        state.ResumeTiming();
        fitter([&](std::size_t type) -> std::span<const ThroughputSample> { return samples[type]; },
               std::span<goodput::TypeFit>(types), "job", [](std::size_t type) { return type == 0; });
        benchmark::DoNotOptimize(types.data());
    }
}

void forecast_interval(benchmark::State& state) {
    const goodput::RefinedFit fit = goodput::fit_refined(samples_of(20));
    for (auto _ : state) {
        const goodput::Forecast forecast(fit, {2, 8}, {72, 0});
        benchmark::DoNotOptimize(forecast.median());
        benchmark::DoNotOptimize(forecast.interval());
    }
}

BENCHMARK(cold)->Arg(5)->Arg(20)->Arg(50)->Arg(500);
BENCHMARK(warm)->Arg(5)->Arg(20)->Arg(50)->Arg(500);
BENCHMARK(round_of_20_jobs)->Unit(benchmark::kMicrosecond);
BENCHMARK(interval);
BENCHMARK(refined_cold)->Arg(5)->Arg(20)->Arg(50)->Arg(500);
BENCHMARK(refined_warm)->Arg(5)->Arg(20)->Arg(50)->Arg(500);
BENCHMARK(job_refit)->Arg(5)->Arg(20)->Arg(50)->Arg(500);
BENCHMARK(forecast_interval);

}  // namespace
