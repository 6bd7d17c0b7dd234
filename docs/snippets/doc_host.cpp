// Divides the CPU cores and memory of every node among the jobs that gain most from them.

#include <goodput/hosts/with_hosts.hpp>
#include <goodput/policy/queue.hpp>
#include <goodput/schedule/explain_plan.hpp>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>
#include <vector>

using namespace goodput;

int main() {
    // [say]
    Snapshot now{.time_seconds = 60};
    now.cluster.gpu_types = {"A100"};
    for (const char* name : {"big-0", "big-1"})
        now.cluster.nodes.push_back({.name = name, .gpus = 8, .cores = 32, .memory_gib = 512});
    for (const char* name : {"images-0", "images-1", "text-0", "text-1"}) {
        Job job{.name = name, .min_gpus = 4, .max_gpus = 4, .initial_batch = 256, .max_batch = 256};
        job.types = {{.max_atomic_batch = 64, .reference_rate = 500}};
        // {cores per GPU, GiB per GPU, speed relative to that of the measured throughput}
        job.host = HostNeeds{.least = {1, 16}, .most = {12, 128}};
        if (job.name.starts_with("images"))
            job.host->speed = {{2, 64, 0.5}, {4, 64, 1}, {6, 64, 1.5}, {8, 64, 1.8}};
        else
            job.host->speed = {{1, 32, 0.9}, {2, 32, 1}};
        now.jobs.push_back(job);
    }
    auto scheduler = with_hosts(Scheduler<Fifo>({.backfill = true}, {.gap = 1e-6}));
    const Plan& plan = scheduler.plan(now);
    // [/say]
    for (std::size_t j = 0; j < now.jobs.size(); ++j) {
        const Decision& decision = plan.decisions[j];
        const HostShare share = decision.option.configuration.host();
        for (const NodeShare& held : decision.placement)
            std::cout << now.jobs[j].name << ": " << held.gpus << " GPUs of "
                      << now.cluster.nodes[held.node].name << ", " << held.gpus * share.cores_per_gpu
                      << " cores, " << held.gpus * share.memory_gib_per_gpu << " GiB\n";
    }

    // [why]
    const DecisionExplanation why = explain_plan(scheduler, now).front();
    std::cout << why.job << ": " << why.report(now.cluster) << "\n";
    for (const LimitUse& limit : plan.limits) std::cout << limit.report() << "\n";
    // [/why]
    return 0;
}
