// A model of eight layers, too large for one GPU, on fast GPUs in one zone and slower ones in another: which
// layers go where, on how many replicas, and how far from the best that may be.

#include <goodput/parallel/parallel_planner.hpp>
#include <iostream>

int main() {
    // [question]
    goodput::ParallelCluster cluster;
    cluster.types = {{.name = "A100", .gpus_per_node = 4, .memory_gib = 40, .usd_per_hour = 3.7},
                     {.name = "V100", .gpus_per_node = 4, .memory_gib = 16, .usd_per_hour = 2.5}};
    cluster.zones = {"east", "west"};
    cluster.gpus = {{8, 4}, {0, 4}};                    // by zone, then type
    cluster.usd_per_gigabyte = {{0, 0.02}, {0.02, 0}};  // by zone from and to
    for (std::size_t from = 0; from < 4; ++from)        // zone and type
        for (std::size_t to = 0; to < 4; ++to)          // the same
            for (const int sends : {1, 2})              // GPUs side by side, as replicas have
                for (const int receives : {1, 2})
                    cluster.links[{{from / 2, from % 2, sends}, {to / 2, to % 2, receives}}] = {
                        .constant = from / 2 == to / 2 ? 5.0 : 0.5};  // GB/s

    goodput::LayeredModel model;
    model.name = "language";
    model.layers = 8;
    model.times.resize(cluster.types.size());
    for (const int degree : {1, 2}) {  // tensor-parallel
        model.sizes[degree].assign(
            model.layers,
            {.parameters = 3e8 / degree, .output_floats = 4e6, .activation_floats = 6e7 / degree});
        for (const int samples : {1, 2, 4}) {
            const double seconds = 0.004 * samples / (degree == 1 ? 1 : 1.8);
            for (const std::size_t type : {0u, 1u}) {
                const double slower = type == 0 ? 1 : 2.5;
                model.times[type][{samples, degree}].assign(
                    model.layers, {slower * seconds, 2 * slower * seconds, slower * 0.002});
            }
        }
    }
    const goodput::PlanQuestion question{.global_batch = 64, .gap = 0.01};
    const goodput::PlanAnswer best = goodput::find_plan(model, cluster, question, [] { return false; });
    // [/question]

    std::cout.precision(3);
    for (const std::string& reason : best.why) std::cout << reason << "\n";
    for (const goodput::PlanStage& stage : best.plan.stages) {
        std::cout << "layers " << stage.first_layer << " to " << stage.last_layer << ":";
        for (const goodput::ReplicaGroup& group : stage.replicas)
            std::cout << " " << group.count << " x " << group.tensor_parallel << " "
                      << cluster.types[group.gpu_type].name << " in " << cluster.zones[group.zone];
        std::cout << "\n";
    }
    std::cout << "micro-batches of " << best.plan.microbatch << ", " << best.score.iteration_seconds
              << " s and " << best.score.usd() << " dollars an iteration; no plan is faster than "
              << 1 / best.bound << " s\n";
    return best.plan.stages.empty() ? 1 : 0;
}
