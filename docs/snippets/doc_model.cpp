// The best batch of a job on a shape, what a larger batch is worth, and whether it fits into memory.

#include <goodput/agent/learning_rate.hpp>
#include <goodput/memory/memory.hpp>
#include <goodput/model/batch_plan.hpp>
#include <goodput/model/efficiency.hpp>
#include <goodput/model/throughput.hpp>
#include <iostream>

using namespace goodput;

int main() {
    // [memory]
    const MemoryModel memory{.fixed_bytes = 5e9, .bytes_per_example = 40e6};
    const GpuMemory gpu{.capacity_bytes = 16e9};
    const int most = largest_atomic_batch(memory, gpu);
    std::cout << most << " examples fit: " << memory.bytes(most) / 1e9 << " of " << gpu.usable_bytes() / 1e9
              << " GB\n"
              << fits(memory, gpu, {512, 0}).reason << "\n";
    // [/memory]

    // [plan]
    const PolluxThroughput speed{.alpha_c = 0.05,  // s a step, and a millisecond an example
                                 .beta_c = 0.001,
                                 .alpha_n = 0.04,  // s to synchronise on two nodes
                                 .beta_n = 0.001,
                                 .alpha_r = 0.01,  // and on one
                                 .beta_r = 0.0002,
                                 .gamma = 2};
    const NoiseScaleEfficiency noise{.initial_batch = 128, .gradient = {.squared_norm = 1, .variance = 6}};
    const BatchLimits limits{.initial_batch = 128, .max_batch = 4096, .max_atomic_batch = most};
    for (const Shape shape : {Shape{1, 1}, Shape{1, 4}, Shape{4, 16}}) {
        const BestPlan best = best_batch_plan(speed, noise, shape, limits);
        std::cout << shape.gpus << " GPUs: " << best.plan.atomic_batch << " per GPU, "
                  << best.plan.accumulation_steps << " accumulation steps, efficiency "
                  << noise.efficiency(static_cast<double>(best.plan.total(shape.gpus))) << ", "
                  << best.goodput << " useful examples/s\n";
    }
    // [/plan]

    // [rate]
    const auto factor = [&](LearningRateScaling scaling, Optimizer optimizer) {
        return learning_rate_factor(scaling, optimizer, 8, noise.gradient);
    };
    std::cout << "eight times the batch: linear " << factor(LearningRateScaling::linear, Optimizer::sgd)
              << ", AdaScale " << factor(LearningRateScaling::by_optimizer, Optimizer::sgd) << ", AdamScale "
              << factor(LearningRateScaling::by_optimizer, Optimizer::adam) << "\n";
    // [/rate]
    return 0;
}
