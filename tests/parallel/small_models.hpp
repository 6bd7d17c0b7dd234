#ifndef GOODPUT_TESTS_PARALLEL_SMALL_MODELS_HPP
#define GOODPUT_TESTS_PARALLEL_SMALL_MODELS_HPP

// Small versions of large models on small clusters, with few enough plans to list: for tests of rounds with
// parallelism plans.

#include <cstddef>
#include <string>
#include <vector>

#include "goodput/parallel/large_models.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "support/random.hpp"

namespace support {

/// Returns equal layers, profiled on every type at micro-batches 1 and 2 and at the degrees that its nodes
/// hold. `slowness`: factor on the times of each type.
inline goodput::LayeredModel small_model(std::size_t layers, double gib_a_layer,
                                         const std::vector<double>& slowness, int most_degree = 2) {
    goodput::LayeredModel model{.name = "model", .layers = layers};
    for (int degree = 1; degree <= most_degree; degree *= 2)
        model.sizes[degree].assign(
            layers, {gib_a_layer * 1073741824.0 / model.bytes_per_parameter / degree, 1e5, 1e6});
    for (const double factor : slowness) {
        auto& times = model.times.emplace_back();
        for (int degree = 1; degree <= most_degree; degree *= 2)
            for (const int microbatch : {1, 2}) {
                const double forward = factor * (0.02 + 0.05 * microbatch / degree);
                times[{microbatch, degree}].assign(layers, {forward, 2 * forward, 0.01});
            }
    }
    return model;
}

/// Returns types with `memory_gib` each, in one zone, with links between all of them.
inline goodput::ParallelCluster small_description(const std::vector<std::string>& names,
                                                  const std::vector<int>& gpus_per_node, double memory_gib) {
    goodput::ParallelCluster cluster;
    cluster.zones = {"here"};
    cluster.usd_per_gigabyte = {{0}};
    cluster.gpus.emplace_back(names.size(), 0);
    for (std::size_t t = 0; t < names.size(); ++t)
        cluster.types.push_back({names[t], gpus_per_node[t], memory_gib, 1});
    for (std::size_t from = 0; from < names.size(); ++from)
        for (std::size_t to = 0; to < names.size(); ++to)
            for (int a = 1; a <= 8; a *= 2)
                for (int b = 1; b <= 8; b *= 2)
                    cluster.links[{{0, from, a}, {0, to, b}}] = {0, 0.1, from == to ? 10.0 : 5.0};
    return cluster;
}

/// Two or three types of small nodes, one or two large models, and ordinary jobs. Some jobs run.
struct PlannedRound {
    goodput::Snapshot now{.time_seconds = 1000};
    goodput::ParallelCluster description{};
    std::vector<goodput::LargeModel> models{};  ///< large models of the first jobs

    explicit PlannedRound(Random& random) {
        using namespace goodput;
        const int types = random.integer(1, 3), larges = random.integer(1, 2);
        std::vector<int> sizes;
        for (int t = 0; t < types; ++t) {
            now.cluster.gpu_types.push_back("type-" + std::to_string(t));
            sizes.push_back(1 << random.integer(0, 2));
            for (int n = random.integer(1, 3); n > 0; --n)
                now.cluster.nodes.push_back({"node-" + std::to_string(now.cluster.nodes.size()),
                                             static_cast<std::size_t>(t), sizes.back()});
        }
        description = small_description(now.cluster.gpu_types, sizes, 16);
        int all = 0;
        for (const Node& node : now.cluster.nodes) all += node.gpus;
        for (int j = 0; j < larges + random.integer(0, 3); ++j) {
            const bool large = j < larges;
            Job job{.name = "job-" + std::to_string(j), .submitted_seconds = 900};
            job.max_gpus = large ? all : random.integer(1, 4);
            job.initial_batch = job.max_batch = 16;
            job.restart_cost_seconds = random.between(0, 20);
            job.weight = random.between(0.5, 2);
            for (int t = 0; t < types; ++t)
                job.types.push_back({.max_atomic_batch = 16, .reference_rate = random.between(1, 4)});
            if (large) {
                std::vector<double> slowness;
                for (int t = 0; t < types; ++t) slowness.push_back(random.between(0.5, 2));
                models.push_back({small_model(static_cast<std::size_t>(random.integer(1, 4)),
                                              random.between(2, 12), slowness),
                                  random.integer(4, 16)});
            }
            now.jobs.push_back(std::move(job));
        }
    }
};

}  // namespace support

#endif
