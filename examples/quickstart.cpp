#include <goodput/policy/sia.hpp>
#include <goodput/schedule/job_memory.hpp>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>

int main() {
    // [round]
    goodput::JobMemory memory;
    goodput::Snapshot now{.time_seconds = 600};
    now.cluster = {{"T4", "A100"}, {{"small-0", 0, 4}, {"small-1", 0, 4}, {"big-0", 1, 8}}};
    for (const char* name : {"vision", "speech", "language"}) {
        goodput::Job job{.name = name, .kind = name, .max_gpus = 8, .initial_batch = 128, .max_batch = 4096};
        job.types = {{.max_atomic_batch = 256, .reference_rate = 400},  // examples/s of one GPU
                     {.max_atomic_batch = 512, .reference_rate = 2500}};
        job.gradient = {.squared_norm = 1, .variance = 6};  // at the initial batch size
        now.jobs.push_back(job);
    }
    // "vision" on T4: {nodes, GPUs}, {batch per GPU, accumulation}, seconds of a step and of its
    // synchronising part
    std::vector<goodput::JobNews> news(now.jobs.size());
    news[0].samples = {{0, {{1, 1}, {128, 0}, 0.31, 0.00}}, {0, {{1, 2}, {128, 0}, 0.34, 0.03}}};
    memory.take_in(now, news);  // fits and fills in what is known of the jobs

    const goodput::Plan plan = goodput::plan(now, goodput::Sia{.fairness_power = -0.5});
    // [/round]
    for (std::size_t j = 0; j < now.jobs.size(); ++j)
        for (const goodput::NodeShare& share : plan.decisions[j].placement)
            std::cout << now.jobs[j].name << ": " << share.gpus << " GPUs of "
                      << now.cluster.nodes[share.node].name << ", batch "
                      << plan.decisions[j].option.plan.atomic_batch << " per GPU\n";
    std::cout << plan.report() << "\n";
    memory.keep(now, plan);  // and on to the next round
}
