// A training that adapts itself: linear regression by stochastic gradient descent. Its agent measures noise
// and step times, and chooses batch size and learning rate.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <random>
#include <span>
#include <vector>

#include <goodput/agent/training_agent.hpp>

int main() {
    constexpr std::size_t size = 64;
    constexpr double base_rate = 0.004;  // right for 16 examples
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> truth(size), weights(size), gradient(size), example(size);
    for (float& weight : truth) weight = normal(random);
    const auto compute = [&](std::vector<float>& sum, int examples) {
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (int e = 0; e < examples; ++e) {
            float error = 3 * normal(random);  // what no model can explain
            for (std::size_t i = 0; i < size; ++i) {
                example[i] = normal(random);
                error += (weights[i] - truth[i]) * example[i];
            }
            for (std::size_t i = 0; i < size; ++i)
                sum[i] += error * example[i] / static_cast<float>(examples);
        }
    };
    const auto seconds = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };

    // [loop]
    goodput::TrainingAgent agent(
        {.parameters = size, .initial_batch = 16, .max_batch = 1024, .max_atomic_batch = 512});
    agent.hold({.gpu_type = "cpu", .nodes = 1, .gpus = 1});
    for (int step = 0; step < 3000; ++step) {
        agent.begin_step(seconds());
        std::vector<float> mean(size);
        const goodput::BatchPlan plan = agent.plan();
        for (int microbatch = 0; microbatch <= plan.accumulation_steps; ++microbatch) {
            compute(gradient, plan.atomic_batch);  // the mean over so many new examples
            agent.add_gradient(std::span<const float>(gradient));
            for (std::size_t i = 0; i < size; ++i)
                mean[i] += gradient[i] / static_cast<float>(plan.accumulation_steps + 1);
        }
        if (agent.end_step(seconds())) {  // false: the gradient overflowed
            const double rate = base_rate * agent.learning_rate_factor();
            for (std::size_t i = 0; i < size; ++i) weights[i] -= static_cast<float>(rate) * mean[i];
        }
        if (step % 50 == 49) agent.retune();  // a better plan, if there is one, counts from the next step
    }
    // [/loop]
    float distance = 0;
    for (std::size_t i = 0; i < size; ++i) distance += (weights[i] - truth[i]) * (weights[i] - truth[i]);
    std::cout << "squared distance " << distance << ", batch " << agent.total_batch()
              << ", learning rate times " << agent.learning_rate_factor() << ", " << agent.useful_examples()
              << " useful examples\n";
    if (const auto report = agent.report())
        std::cout << "a step of " << report->sample.plan.atomic_batch << " examples on each of "
                  << report->sample.shape.gpus << " GPUs takes " << report->sample.step_seconds << " s\n";
    return distance < 1 ? 0 : 1;
}
