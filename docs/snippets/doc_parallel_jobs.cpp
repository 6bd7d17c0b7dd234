// docs/schedule.md: a large model with parallelism plans, and ordinary jobs.

#include <iostream>

#include <goodput/parallel/parallel_plans.hpp>
#include <goodput/policy/goodput_policy.hpp>
#include <goodput/schedule/scheduler.hpp>

using namespace goodput;

namespace {

ParallelCluster described_gpus() {
    ParallelCluster gpus;
    gpus.types = {{.name = "A100", .gpus_per_node = 8, .memory_gib = 40},
                  {.name = "V100", .gpus_per_node = 4, .memory_gib = 16}};
    gpus.zones = {"here"};
    gpus.gpus = {{0, 0}};  // a round counts its open nodes
    gpus.usd_per_gigabyte = {{0}};
    for (std::size_t from = 0; from < 2; ++from)
        for (std::size_t to = 0; to < 2; ++to)
            gpus.links[{{0, from, 1}, {0, to, 1}}] = {.constant = 5};  // GB/s
    return gpus;
}

/// Twelve layers alike, 400 million parameters each.
LayeredModel language_model() {
    LayeredModel model{.name = "language", .layers = 12};
    model.sizes[1].assign(model.layers, {4e8, 2e6, 4e7});
    model.times.resize(2);
    model.times[0][{1, 1}].assign(model.layers, {0.005, 0.010, 0.002});  // forward, backward, update
    model.times[1][{1, 1}].assign(model.layers, {0.012, 0.024, 0.002});
    return model;
}

Snapshot three_jobs() {
    Snapshot now{.time_seconds = 60};
    now.cluster.gpu_types = {"A100", "V100"};
    for (const char* name : {"a-0", "a-1"}) now.cluster.nodes.push_back({name, 0, 8});
    for (const char* name : {"v-0", "v-1", "v-2"}) now.cluster.nodes.push_back({name, 1, 4});
    for (const char* name : {"language", "vision", "speech"}) {
        Job job{.name = name, .max_gpus = 28, .initial_batch = 256, .max_batch = 1024};
        job.types.assign(2, {.max_atomic_batch = 64});
        now.jobs.push_back(job);
    }
    return now;
}

}  // namespace

int main() {
    // [round]
    const Snapshot now = three_jobs();
    LargeModels large(described_gpus(), now.cluster.gpu_types);
    large.add("language", {language_model(), 256});  // samples an iteration
    Scheduler scheduler = Scheduler(GoodputPolicy(), {.gap = 1e-2}).offering(ParallelPlans(large));
    const Plan& plan = scheduler.plan(now);
    for (const Decision& decision : plan.decisions)
        std::cout << describe(now.cluster, decision.option.configuration) << "\n";
    // [/round]
    const Decision& decision = plan.decisions[0];
    if (const ParallelPlan* its = large.plan_of("language", decision.option.configuration)) {
        const auto home = [&](std::size_t gpu_type) { return large.home_of(gpu_type); };
        const auto layout = place_plan(*its, decision.placement, now.cluster, home);
        for (std::size_t s = 0; layout && s < its->stages.size(); ++s) {
            std::cout << "layers " << its->stages[s].first_layer << " to " << its->stages[s].last_layer
                      << ":";
            for (const std::size_t node : layout->nodes[s]) std::cout << " " << now.cluster.nodes[node].name;
            std::cout << "\n";
        }
    }
    return 0;
}
