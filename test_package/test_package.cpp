#include <goodput/fit/refined_fitter.hpp>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>

int main() {
    // {nodes, GPUs}, {batch a GPU, accumulation}, seconds
    const goodput::ThroughputSample samples[] = {{{1, 1}, {128, 0}, 0.31}, {{1, 2}, {128, 0}, 0.34}};
    std::cout << goodput::fit_refined(samples).report() << "\n";

    goodput::Snapshot now{};
    now.cluster = {{"a100"}, {{"n0", 0, 8}}};
    now.jobs.push_back({.name = "vision", .max_gpus = 8, .initial_batch = 128, .max_batch = 4096});
    now.jobs[0].types = {{.max_atomic_batch = 512, .reference_rate = 2500}};
    now.models.resize(1);
    std::cout << goodput::plan(now).report() << "\n";
}
