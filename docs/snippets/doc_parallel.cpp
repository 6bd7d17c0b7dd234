// Chooses which GPUs compute which layers of a model that is too large for one GPU, with a few fast GPUs
// and more slow ones in two zones.

#include <goodput/parallel/parallel_planner.hpp>
#include <iostream>

void print(const goodput::ParallelCluster& cluster, const goodput::PlanAnswer& best) {
    for (const std::string& reason : best.why) std::cout << reason << "\n";
    for (const goodput::PlanStage& stage : best.plan.stages)
        for (const goodput::ReplicaGroup& group : stage.replicas)
            std::cout << "layers " << stage.first_layer << " to " << stage.last_layer << ": " << group.count
                      << " x " << group.tensor_parallel << " " << cluster.types[group.gpu_type].name << " in "
                      << cluster.zones[group.zone] << "\n";
    if (!best.plan.stages.empty())
        std::cout << "micro-batches of " << best.plan.microbatch << ", " << best.objective
                  << " iterations/s of at most " << best.bound << ", " << best.score.usd()
                  << " dollars each\n";
}

int main() {
    // [cluster]
    goodput::ParallelCluster cluster;
    cluster.types = {{.name = "A100", .gpus_per_node = 4, .memory_gib = 40, .usd_per_hour = 3.7},
                     {.name = "V100", .gpus_per_node = 4, .memory_gib = 16, .usd_per_hour = 2.5}};
    cluster.zones = {"east", "west"};
    cluster.gpus = {{8, 0}, {0, 24}};  // by zone, then type
    // [/cluster]
    cluster.usd_per_gigabyte = {{0, 0.02}, {0.02, 0}};  // by zone from and to
    for (std::size_t from = 0; from < 4; ++from)        // zone and type
        for (std::size_t to = 0; to < 4; ++to)          // the same
            for (const int sends : {1, 2})              // GPUs side by side, as replicas have
                for (const int receives : {1, 2})
                    cluster.links[{{from / 2, from % 2, sends}, {to / 2, to % 2, receives}}] = {
                        .constant = from / 2 == to / 2 ? 5.0 : 1.0};  // GB/s

    goodput::LayeredModel model{.name = "language", .layers = 12};
    model.times.resize(cluster.types.size());
    for (const int degree : {1, 2}) {  // tensor-parallel degree
        model.sizes[degree].assign(model.layers, {2e8 / degree, 2e6, 4e7 / degree});  // see LayerSize
        for (const int samples : {1, 2, 4})
            for (const std::size_t type : {0u, 1u}) {
                const double one = (0.002 + 0.003 * samples) * (type == 0 ? 1 : 2.2);
                const double seconds = degree == 1 ? one : one / 1.7;
                model.times[type][{samples, degree}].assign(
                    model.layers, {seconds, 2 * seconds, 0.002});  // forward, backward, update
            }
    }
    // [question]
    goodput::PlanQuestion question{.global_batch = 256, .gap = 0.01};
    const auto never_stop = [] { return false; };
    const goodput::PlanAnswer best = goodput::find_plan(model, cluster, question, never_stop);
    // [/question]

    std::cout.precision(3);
    print(cluster, best);
    // [limits]
    question.most_usd = 0.05;
    print(cluster, goodput::find_plan(model, cluster, question, never_stop));
    question.least_throughput = 0.25;
    print(cluster, goodput::find_plan(model, cluster, question, never_stop));
    // [/limits]
    return 0;
}
