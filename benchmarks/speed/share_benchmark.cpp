// Times shares under every objective: random jobs on 3 and on 6 GPU types that want four times the GPUs
// there are. Counters: passes of the method over all jobs, and whether the answer is proven.

#include <cstddef>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"

namespace {

using namespace goodput;

/// Random numbers that are the same with every standard library.
class Numbers {
public:
    double between(double low, double high) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return low + (high - low) * static_cast<double>(state_ >> 11) * 0x1.0p-53;
    }

private:
    std::uint64_t state_ = 1;
};

ShareProblem random_problem(std::size_t jobs, std::size_t types) {
    Numbers numbers;
    ShareProblem problem;
    double wanted = 0;
    for (std::size_t j = 0; j < jobs; ++j) {
        ShareJob job;
        job.workers = 1 << static_cast<int>(numbers.between(0, 4));
        job.weight = numbers.between(0.5, 2);
        const double rate = numbers.between(0.5, 50);
        for (std::size_t t = 0; t < types; ++t)
            job.rates.push_back(rate * numbers.between(1, 2.0 + static_cast<double>(t)));
        job.steps_left = rate * numbers.between(1e3, 1e5);
        job.age_seconds = numbers.between(0, 1e5);
        job.isolated_seconds = numbers.between(0, 5e4);
        wanted += job.workers;
        problem.jobs.push_back(job);
    }
    for (std::size_t t = 0; t < types; ++t) {
        problem.gpus.push_back(wanted / 4 / static_cast<double>(types));
        problem.dollars_per_hour.push_back(0.5 + static_cast<double>(t));
    }
    return problem;
}

template <class Answer>
void measure(benchmark::State& state, Answer answer) {
    const ShareProblem problem =
        random_problem(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    double passes = 0, proven = 1;
    for (auto _ : state) {
        const ShareResult result = answer(problem);
        passes = static_cast<double>(result.iterations);
        proven = result.status == ShareStatus::optimal;
        benchmark::DoNotOptimize(result.shares.data());
    }
    state.counters["passes"] = passes;
    state.counters["proven"] = proven;
}

template <class Objective>
void share(benchmark::State& state) {
    measure(state, [](const ShareProblem& problem) { return share_time(problem, Objective()); });
}

void water(benchmark::State& state) {
    measure(state, [](const ShareProblem& problem) { return fill_water(problem); });
}

void sizes(benchmark::internal::Benchmark* of) {
    of->Args({100, 3})
        ->Args({1'000, 3})
        ->Args({10'000, 3})
        ->Args({100'000, 6})
        ->Unit(benchmark::kMillisecond);
}

BENCHMARK(share<MaxMin>)->Apply(sizes);
BENCHMARK(water)->Apply(sizes);
BENCHMARK(share<FinishTimeFairness>)->Apply(sizes);
BENCHMARK(share<Makespan>)->Apply(sizes);
BENCHMARK(share<SumOfRates>)->Apply(sizes);
BENCHMARK(share<SumPerDollar>)->Apply(sizes);
BENCHMARK(share<NashWelfare>)->Apply(sizes);

}  // namespace
