// Times placements: rounds in which nothing changes; in which some jobs come, go and change size; in which
// so many do so that running jobs must move; the same on a tree of racks and zones. Also times the plan of a
// defragmentation.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "goodput/moves/defragment.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/topology_placer.hpp"

namespace {

using namespace goodput;

Cluster cluster_of(int nodes) {
    Cluster cluster{{"a100"}, {}};
    for (int n = 0; n < nodes; ++n) cluster.nodes.push_back({"node" + std::to_string(n), 0, 8});
    return cluster;
}

PoolShare random_part(std::mt19937_64& random) {
    // 1 to 32 GPUs, with smaller sizes more frequent.
    constexpr int sizes[] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 8, 16, 32};
    const int gpus = sizes[random() % std::size(sizes)];
    return {0, 8, {gpus > 8 ? gpus / 8 : 1, gpus}};
}

// Returns jobs on a cluster filled to `percent_full`, laid out by the placer over some rounds of churn.
// Then `changed_percent` of them end, and others, also of whole nodes, replace them.
std::vector<PlacementRequest> requests_for(const Cluster& cluster, int jobs, int percent_full,
                                           int changed_percent) {
    std::mt19937_64 random(7);
    const int capacity = static_cast<int>(cluster.nodes.size()) * 8 * percent_full / 100;
    std::vector<PlacementRequest> requests(static_cast<std::size_t>(jobs));
    LeastMovesPlacer placer;
    const auto churn = [&](int percent) {
        int used = 0;
        for (PlacementRequest& request : requests) {
            if (static_cast<int>(random() % 100) < percent || request.part.empty())
                request.part = random_part(random);
            if (used + request.part.occupied_gpus() > capacity) request.part = {};
            used += request.part.occupied_gpus();
            request.move_cost = 10 + static_cast<double>(random() % 3000) / 10;
        }
    };
    for (int round = 0; round < 6; ++round) {
        churn(15);
        const PlacementResult result = placer.place(cluster, requests);
        for (std::size_t j = 0; j < requests.size(); ++j) requests[j].current = result.placements[j];
    }
    if (changed_percent > 0) churn(changed_percent);
    return requests;
}

// Arguments: nodes, jobs, percent full, percent of jobs changed.
void place(benchmark::State& state) {
    const Cluster cluster = cluster_of(static_cast<int>(state.range(0)));
    const auto requests = requests_for(cluster, static_cast<int>(state.range(1)),
                                       static_cast<int>(state.range(2)), static_cast<int>(state.range(3)));
    LeastMovesPlacer placer;
    PlacementResult result;
    for (auto _ : state) {
        result = placer.place(cluster, requests);
        benchmark::DoNotOptimize(result);
    }
    state.counters["moved"] = static_cast<double>(result.moved.size());
    state.counters["unplaced"] = static_cast<double>(result.unplaced.size());
    state.counters["gap"] =
        result.move_cost > 0 ? (result.move_cost - result.move_cost_bound) / result.move_cost : 0;
}
BENCHMARK(place)
    ->ArgNames({"nodes", "jobs", "full", "changed"})
    ->Args({8, 20, 100, 0})
    ->Args({8, 20, 100, 20})
    ->Args({1000, 3000, 100, 0})
    ->Args({1000, 3000, 100, 5})
    ->Args({1000, 3000, 100, 50})
    ->Args({10000, 5000, 100, 0})
    ->Args({10000, 5000, 100, 20})
    ->Args({10000, 30000, 100, 0})
    ->Args({10000, 30000, 100, 1})
    ->Args({10000, 30000, 100, 5})
    ->Args({10000, 30000, 100, 50})
    ->Unit(benchmark::kMicrosecond);

// Every node is full of jobs of random sizes. One in four ends, all over the cluster, and jobs of half
// nodes and whole nodes take their room. Arguments: nodes; sizes are powers of two, or any.
void place_rush(benchmark::State& state) {
    const Cluster cluster = cluster_of(static_cast<int>(state.range(0)));
    const bool any_size = state.range(1) != 0;
    std::mt19937_64 random(9);
    std::vector<PlacementRequest> requests;
    int free = 0;
    for (std::size_t node = 0; node < cluster.nodes.size(); ++node)
        for (int left = 8; left > 0;) {
            int gpus = 1 + static_cast<int>(random() % static_cast<std::uint64_t>(left));
            while (!any_size && (gpus & (gpus - 1)) != 0) --gpus;
            left -= gpus;
            if (random() % 4 == 0)
                free += gpus;
            else
                requests.push_back({.part = {0, 8, {1, gpus}},
                                    .current = {{node, gpus}},
                                    .move_cost = 10 + static_cast<double>(random() % 3000) / 10});
        }
    if (any_size) free = free * 8 / 10;
    while (free >= 16) {
        const int gpus = random() % 3 == 0 ? 16 : random() % 2 == 0 ? 8 : any_size ? 5 : 4;
        requests.push_back({.part = {0, 8, {gpus > 8 ? 2 : 1, gpus}}});
        free -= gpus;
    }
    LeastMovesPlacer placer;
    PlacementResult result;
    for (auto _ : state) {
        result = placer.place(cluster, requests);
        benchmark::DoNotOptimize(result);
    }
    state.counters["jobs"] = static_cast<double>(requests.size());
    state.counters["moved"] = static_cast<double>(result.moved.size());
    state.counters["unplaced"] = static_cast<double>(result.unplaced.size());
    state.counters["gap"] =
        result.move_cost > 0 ? (result.move_cost - result.move_cost_bound) / result.move_cost : 0;
}
BENCHMARK(place_rush)
    ->ArgNames({"nodes", "any_size"})
    ->Args({8, 0})
    ->Args({100, 0})
    ->Args({1000, 0})
    ->Args({10000, 0})
    ->Args({8, 1})
    ->Args({100, 1})
    ->Args({1000, 1})
    ->Unit(benchmark::kMicrosecond);

// A round of `place` on racks of 16 nodes and zones of 20 racks, with the same arguments.
void place_topology(benchmark::State& state) {
    const Cluster cluster = cluster_of(static_cast<int>(state.range(0)));
    const auto requests = requests_for(cluster, static_cast<int>(state.range(1)),
                                       static_cast<int>(state.range(2)), static_cast<int>(state.range(3)));
    TopologyLevel racks{"rack", 1, {}}, zones{"zone", 10, {}};
    for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
        racks.domain_of.push_back(node / 16);
        zones.domain_of.push_back(node / 320);
    }
    const Topology topology{{racks, zones}};
    TopologyPlacer placer(topology);
    PlacementResult result;
    for (auto _ : state) {
        result = placer.place(cluster, requests);
        benchmark::DoNotOptimize(result);
    }
    state.counters["spread"] = placer.spread().cost;
    state.counters["bound"] = placer.spread().bound;
    state.counters["without"] = spread_cost(topology, LeastMovesPlacer{}.place(cluster, requests).placements);
}
BENCHMARK(place_topology)
    ->ArgNames({"nodes", "jobs", "full", "changed"})
    ->Args({1000, 3000, 100, 5})
    ->Args({10000, 5000, 100, 0})
    ->Args({10000, 5000, 100, 20})
    ->Unit(benchmark::kMicrosecond);

// Jobs on parts of nodes all over the cluster, and a demand for whole nodes. Arguments: nodes, jobs,
// percent of the free GPUs that are demanded as whole nodes; sizes are powers of two, or any.
void defragment(benchmark::State& state) {
    const Cluster cluster = cluster_of(static_cast<int>(state.range(0)));
    const bool any_size = state.range(3) != 0;
    std::mt19937_64 random(11);
    std::vector<int> free(cluster.nodes.size(), 8);
    std::vector<PlacementRequest> requests;
    while (requests.size() < static_cast<std::size_t>(state.range(1))) {
        // Two jobs in three are on the first third of the nodes.
        const std::size_t share = random() % 3 == 0 ? free.size() : free.size() / 3;
        const std::size_t node = random() % share;
        int gpus = 1 + static_cast<int>(random() % 6);
        while (!any_size && (gpus & (gpus - 1)) != 0) --gpus;
        if (gpus > free[node]) continue;
        free[node] -= gpus;
        requests.push_back(
            {.current = {{node, gpus}}, .move_cost = 10 + static_cast<double>(random() % 3000) / 10});
    }
    int total = 0;
    for (const int gpus : free) total += gpus;
    const int nodes = static_cast<int>(total / 8 * state.range(2) / 100);
    const std::vector<PoolShare> wishes{whole_nodes(0, 8, nodes)};
    Defragmenter defragmenter;
    DefragmentPlan plan;
    for (auto _ : state) {
        plan = defragmenter.plan(cluster, requests, wishes);
        benchmark::DoNotOptimize(plan);
    }
    state.counters["wished"] = nodes;
    state.counters["unmet"] = static_cast<double>(plan.unmet.size());
    state.counters["moves"] = static_cast<double>(plan.moves.size());
    state.counters["asides"] = static_cast<double>(plan.asides);
    state.counters["stops"] = static_cast<double>(plan.stops);
    state.counters["gap"] = plan.cost > 0 ? (plan.cost - plan.cost_bound) / plan.cost : 0;
}
BENCHMARK(defragment)
    ->ArgNames({"nodes", "jobs", "wish", "any_size"})
    ->Args({1000, 1500, 80, 0})
    ->Args({10000, 5000, 80, 0})
    ->Args({10000, 5000, 95, 0})
    ->Args({10000, 5000, 95, 1})
    ->Args({10000, 15000, 90, 0})
    ->Args({10000, 15000, 90, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
