#ifndef GOODPUT_TESTS_SUPPORT_RANDOM_PARALLEL_RUN_HPP
#define GOODPUT_TESTS_SUPPORT_RANDOM_PARALLEL_RUN_HPP

// Simulated runs of large models: the measurements that models with known constants would have given.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "goodput/parallel/parallel_fit.hpp"
#include "support/random.hpp"

namespace support {

/// Two GPU types in nodes of four, in one zone.
inline goodput::ParallelCluster plain_parallel_cluster() {
    goodput::ParallelCluster cluster;
    cluster.types = {{"fast", 4, 80, 4}, {"slow", 4, 24, 1}};
    cluster.zones = {"here"};
    cluster.gpus = {{4096, 4096}};
    cluster.usd_per_gigabyte = {{0}};
    for (std::size_t from = 0; from < 2; ++from)
        for (std::size_t to = 0; to < 2; ++to)
            for (const int a : {1, 2, 4})
                for (const int b : {1, 2, 4})
                    cluster.links[{{0, from, a}, {0, to, b}}] = {-0.05, 0.6, from == to ? 6.0 * a : 2.0};
    return cluster;
}

/// Embedding, blocks and head, with times and sizes nearly proportional to micro-batch and degree.
inline goodput::LayeredModel random_layered_model(Random& random) {
    goodput::LayeredModel model;
    model.name = "random";
    model.layers = static_cast<std::size_t>(random.integer(8, 40));
    const double parameters = random.between(5e6, 1e8), output = random.between(1e6, 6e6),
                 activations = random.between(20, 50) * output, second = random.between(1e-3, 6e-3);
    const auto part_of = [&](std::size_t layer) { return layer == 0 || layer + 1 == model.layers ? 0.6 : 1; };
    model.times.resize(2);
    for (const int degree : {1, 2, 4})
        for (std::size_t l = 0; l < model.layers; ++l)
            model.sizes[degree].push_back(
                {part_of(l) * parameters / degree, output, part_of(l) * activations * (0.1 + 0.9 / degree)});
    for (std::size_t type = 0; type < 2; ++type)
        for (const int microbatch : {1, 2, 4, 8})
            for (const int degree : {1, 2, 4})
                for (std::size_t l = 0; l < model.layers; ++l) {
                    const double forward =
                        part_of(l) * second * (type == 0 ? 1 : 3) * (0.3 + microbatch) * (0.2 + 0.8 / degree);
                    model.times[type][{microbatch, degree}].push_back({forward, 2 * forward, 1e-3});
                }
    return model;
}

inline goodput::ParallelPlan random_parallel_plan(const goodput::LayeredModel& model, Random& random) {
    goodput::ParallelPlan plan{1 << random.integer(0, 3), 1 << random.integer(6, 10), {}};
    const auto stages = static_cast<std::size_t>(random.integer(1, 5));
    const int replicas = 1 << random.integer(0, 4), degree = 1 << random.integer(0, 2);
    for (std::size_t s = 0; s < stages; ++s)
        plan.stages.push_back({s * model.layers / stages,
                               (s + 1) * model.layers / stages - 1,
                               {{static_cast<std::size_t>(random.integer(0, 1)), degree, 0, replicas}}});
    return plan;
}

/// Runs on `platforms` platforms, without measurements.
struct RandomParallelRuns {
    std::unique_ptr<goodput::ParallelCluster> cluster =
        std::make_unique<goodput::ParallelCluster>(plain_parallel_cluster());
    std::vector<std::unique_ptr<goodput::LayeredModel>> models{};
    std::vector<goodput::ParallelRun> runs{};

    RandomParallelRuns(int count, std::size_t platforms, Random& random) {
        for (int i = 0; i < 3; ++i)
            models.push_back(std::make_unique<goodput::LayeredModel>(random_layered_model(random)));
        for (int i = 0; i < count; ++i) {
            const auto& model = *models[static_cast<std::size_t>(i) % models.size()];
            runs.push_back({"run " + std::to_string(i),
                            &model,
                            cluster.get(),
                            random_parallel_plan(model, random),
                            static_cast<std::size_t>(i) % platforms,
                            {},
                            {}});
        }
    }
};

}  // namespace support

#endif
