// A throughput model of your own, all the way into the plan: a job that waits for its storage. An iteration
// takes as long as computing and synchronising, but never less than reading the examples.

#include <goodput/schedule/scheduler.hpp>
#include <iostream>

// [model]
struct StorageBound {
    double seconds_per_example = 0.001;           ///< of one GPU
    double synchronising_seconds = 0.02;          ///< on one node; five times as long over several
    double most_examples_per_second = 1.0 / 0.0;  ///< that the storage delivers to all replicas together

    double iteration_seconds(goodput::Shape shape, goodput::BatchPlan plan) const {
        const double sync = shape.gpus == 1 ? 0 : synchronising_seconds * (shape.nodes > 1 ? 5 : 1);
        const double computing = seconds_per_example * plan.atomic_batch * (plan.accumulation_steps + 1);
        const double reading = static_cast<double>(plan.total(shape.gpus)) / most_examples_per_second;
        return std::max(computing + sync, reading);
    }
};
static_assert(goodput::ThroughputModel<StorageBound>);
// [/model]

// [predictor]
struct PredictStorageBound {
    std::vector<StorageBound> by_type;

    void operator()(const goodput::Job& job, const goodput::JobModel&,
                    std::span<goodput::Option> options) const {
        const goodput::NoiseScaleEfficiency efficiency{1.0 * job.initial_batch, job.gradient.value()};
        for (goodput::Option& option : options) {
            const std::size_t type = option.configuration.first().gpu_type;
            const goodput::BestPlan best =
                goodput::best_batch_plan(by_type[type], efficiency, option.configuration.first().shape,
                                         goodput::batch_limits(job, type));
            option.plan = best.plan;
            option.goodput = best.goodput;
            option.knowledge = goodput::Knowledge::measured;
        }
    }
};
// [/predictor]

int main() {
    goodput::Snapshot now{.time_seconds = 600, .cluster = {{"T4"}, {{"node-0", 0, 8}}}};
    goodput::Job job{.name = "vision", .max_gpus = 8, .initial_batch = 64, .max_batch = 2048};
    job.types = {{.max_atomic_batch = 128}};
    job.gradient = {.squared_norm = 1, .variance = 50};
    now.jobs = {job};
    now.models = {{{{.most_replicas = 8}}}};  // has run on so many: Sia lets it grow to twice as many
    int gpus[2];
    for (const bool slow_storage : {false, true}) {
        const PredictStorageBound predictor{{{.most_examples_per_second = slow_storage ? 2000.0 : 1e9}}};
        const goodput::Plan plan = goodput::plan(now, goodput::Sia{}, {}, {}, {}, predictor);
        const goodput::Option& option = plan.decisions[0].option;
        gpus[slow_storage] = option.configuration.gpus();
        std::cout << (slow_storage ? "slow" : "fast") << " storage: " << gpus[slow_storage] << " GPUs, batch "
                  << option.plan.total(gpus[slow_storage]) << ", goodput " << option.goodput << "\n";
    }
    return gpus[1] < gpus[0] ? 0 : 1;  // more GPUs would only wait for the storage
}
