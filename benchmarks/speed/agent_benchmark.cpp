// Measures what the agent costs a training, compared with a pass over the same memory and with a step of a
// network of 10 million parameters with 32 examples, in plain loops on one core.

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/agent/detail/saved_text.hpp"
#include "goodput/agent/training_agent.hpp"

#include <benchmark/benchmark.h>

namespace {

using goodput::Optimizer;
using goodput::TrainingAgent;

constexpr std::size_t parameters = 10'000'000;

std::vector<float> random_numbers(std::size_t size) {
    std::vector<float> numbers(size);
    std::minstd_rand random(7);
    for (float& number : numbers) number = static_cast<float>(random()) * 1e-9f - 1.0f;
    return numbers;
}

/// Sums the squares of a gradient and of the previous one, and stores the gradient: the least work of the
/// single-gradient form.
void memory_pass(benchmark::State& state) {
    const std::vector<float> gradient = random_numbers(parameters);
    std::vector<float> previous = random_numbers(parameters);
    for (auto _ : state) {
        float sums[16] = {};
        for (std::size_t i = 0; i < parameters; i += 16)
            for (std::size_t lane = 0; lane < 16; ++lane) {
                const float both = gradient[i + lane] + previous[i + lane];
                sums[lane] += both * both;
                previous[i + lane] = gradient[i + lane];
            }
        benchmark::DoNotOptimize(sums);
    }
}
BENCHMARK(memory_pass)->Unit(benchmark::kMillisecond);

/// A step of the agent with `gradients` of one replica, of which it looks at one step in `every`. A single
/// gradient is compared with that of the step before, or its two halves are in one step of `split_every`.
void agent_step(benchmark::State& state, int gradients, bool mean_given, Optimizer optimizer, int every,
                int split_every = 0) {
    const std::vector<float> gradient = random_numbers(parameters);
    const std::vector<float> moments(parameters, 1e-4f);
    TrainingAgent agent({.parameters = parameters,
                         .optimizer = optimizer,
                         .initial_batch = 32 * gradients,
                         .max_batch = 32 * gradients,
                         .max_atomic_batch = 32,
                         .mean_gradient_given = mean_given,
                         .measure_every = every,
                         .split_every = split_every});
    agent.hold({});
    double now = 0;
    const std::span<const float> all(gradient);
    const auto step = [&] {
        agent.begin_step(now, {.adam_updates = optimizer == Optimizer::adam ? 100 : 0});
        for (int q = 0; q <= agent.plan().accumulation_steps; ++q) {
            if (optimizer == Optimizer::adam)
                agent.add_gradient(all, std::span<const float>(moments));
            else
                agent.add_gradient(all);
        }
        if (mean_given) agent.add_mean_gradient(all);
        now += 0.05;
        benchmark::DoNotOptimize(agent.end_step(now));
    };
    for (int i = 0; i < 48; ++i) step();  // allocates, and looks more often until enough is known
    for (auto _ : state) step();
}
BENCHMARK_CAPTURE(agent_step, single, 1, false, Optimizer::sgd, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(agent_step, single_default, 1, false, Optimizer::sgd, 0)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(256);
BENCHMARK_CAPTURE(agent_step, halves_default, 1, false, Optimizer::sgd, 0, 8)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(256);
BENCHMARK_CAPTURE(agent_step, halves_mean_given_default, 1, true, Optimizer::sgd, 0, 8)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(256);
BENCHMARK_CAPTURE(agent_step, single_adam, 1, false, Optimizer::adam, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(agent_step, single_adam_default, 1, false, Optimizer::adam, 0)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(256);
BENCHMARK_CAPTURE(agent_step, halves_adam_default, 1, false, Optimizer::adam, 0, 8)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(256);
BENCHMARK_CAPTURE(agent_step, two_summed, 2, false, Optimizer::sgd, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(agent_step, two_mean_given, 2, true, Optimizer::sgd, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(agent_step, two_mean_given_default, 2, true, Optimizer::sgd, 0, 8)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(256);

/// A small step: what the agent costs apart from its passes over gradients.
void bookkeeping(benchmark::State& state) {
    const std::vector<float> gradient(16, 1.0f);
    TrainingAgent agent({.parameters = 16, .initial_batch = 32, .max_batch = 1024, .max_atomic_batch = 256});
    agent.hold({});
    double now = 0;
    for (auto _ : state) {
        agent.begin_step(now);
        agent.add_gradient(std::span<const float>(gradient));
        now += 0.05;
        benchmark::DoNotOptimize(agent.end_step(now));
    }
}
BENCHMARK(bookkeeping);

/// A fit after 16 plans on two GPU types have been timed: reading the times back triggers it.
void fit_of_16_plans(benchmark::State& state) {
    goodput::StepTimes times(1);
    const std::size_t types[] = {times.type_index("t4"), times.type_index("a100")};
    const auto add = [&](int i) {
        const goodput::Shape shape{1, 1 + i % 4};
        const goodput::BatchPlan plan{16 << (i % 3), i % 2};
        const double sync = shape.gpus > 1 ? 0.02 * shape.gpus : 0;
        return times.add(types[i % 2], {.shape = shape,
                                        .plan = plan,
                                        .step_seconds = 0.01 + 0.001 * plan.atomic_batch + sync,
                                        .sync_seconds = sync});
    };
    for (int i = 0; i < 16; ++i) add(i);
    goodput::detail::SavedTextWriter writer;
    goodput::StepTimes::for_each_field(std::as_const(times), writer);
    const std::string kept = std::move(writer).text();
    for (auto _ : state) {
        goodput::detail::SavedTextReader reader(kept);
        goodput::StepTimes again(1);
        goodput::StepTimes::for_each_field(again, reader);
        benchmark::DoNotOptimize(again.model(0));
    }
}
BENCHMARK(fit_of_16_plans)->Unit(benchmark::kMicrosecond);

/// out[n x to] = in[n x from] weights[from x to], or what its backward pass needs, in loops that a compiler
/// vectorises.
void multiply(const float* in, const float* weights, float* out, std::size_t n, std::size_t from,
              std::size_t to) {
    // Each row of weights is read once for all examples of a tile.
    for (std::size_t k = 0; k < from; ++k) {
        const float* const row = weights + k * to;
        for (std::size_t e = 0; e < n; ++e) {
            const float factor = in[e * from + k];
            float* const to_row = out + e * to;
            for (std::size_t j = 0; j < to; ++j) to_row[j] += factor * row[j];
        }
    }
}

/// Forward pass, backward pass and update of a multilayer perceptron of five layers of 1,414 x 1,414
/// weights (10 million) with 32 examples.
void network_step(benchmark::State& state) {
    constexpr std::size_t width = 1414, layers = 5, examples = 32;
    std::vector<std::vector<float>> weights, transposed, gradients, activations, errors;
    for (std::size_t l = 0; l < layers; ++l) {
        weights.push_back(random_numbers(width * width));
        for (float& w : weights.back()) w *= 0.02f;
        gradients.emplace_back(width * width);
    }
    for (std::size_t l = 0; l <= layers; ++l) {
        activations.push_back(random_numbers(width * examples));
        errors.push_back(random_numbers(width * examples));
    }
    for (auto _ : state) {
        for (std::size_t l = 0; l < layers; ++l) {
            std::fill(activations[l + 1].begin(), activations[l + 1].end(), 0.0f);
            multiply(activations[l].data(), weights[l].data(), activations[l + 1].data(), examples, width,
                     width);
            for (float& a : activations[l + 1]) a = a > 0 ? a : 0;
        }
        for (std::size_t l = layers; l-- > 0;) {
            // Errors use rows of the weights, weight gradients use outer products.
            float* const gradient = gradients[l].data();
            std::fill(gradients[l].begin(), gradients[l].end(), 0.0f);
            for (std::size_t k = 0; k < width; ++k)
                for (std::size_t e = 0; e < examples; ++e) {
                    const float activation = activations[l][e * width + k];
                    const float* const error = errors[l + 1].data() + e * width;
                    const float* const row = weights[l].data() + k * width;
                    float* const to = gradient + k * width;
                    float sums[16] = {};
                    std::size_t j = 0;
                    for (; j + 16 <= width; j += 16)
                        for (std::size_t lane = 0; lane < 16; ++lane) {
                            to[j + lane] += activation * error[j + lane];
                            sums[lane] += row[j + lane] * error[j + lane];
                        }
                    float sum = 0;
                    for (const float part : sums) sum += part;
                    errors[l][e * width + k] = activation > 0 ? sum : 0;
                }
        }
        for (std::size_t l = 0; l < layers; ++l)
            for (std::size_t i = 0; i < weights[l].size(); ++i) weights[l][i] -= 1e-9f * gradients[l][i];
        benchmark::ClobberMemory();
    }
}
BENCHMARK(network_step)->Unit(benchmark::kMillisecond);

}  // namespace
