// Times a round with large models among ordinary jobs, and measures what this gains over a fixed part for
// each large model: 512 GPUs of three types, three transformers of different sizes with layer profiles from
// a formula, and 50 ordinary jobs.
//
// usage: parallel_jobs [GAP [MILLISECONDS [JOBS [POOLS]]]]      default: 0.005, 40, 50 and 1
//
// GAP is that of the round and of each question for a plan. A question takes at most MILLISECONDS and then
// answers with the bound that it has. At prices, it asks for plans on the GPUs of at most POOLS pools.
// Prints CPU time, gap and questions of the first round, and of a second one in which the same jobs run.
// Then prints the sum, over the large models, of throughput as a fraction of the model's with the whole
// cluster: with the ordinary jobs, without them, and in fixed thirds of all nodes.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/parallel/parallel_plans.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace {

using namespace goodput;

struct GpuKind {
    const char* name;
    int nodes, gpus;
    double memory_gib, teraflops, dollars;
};
constexpr std::array<GpuKind, 3> kinds{
    {{"A100", 16, 8, 40, 150, 4.1}, {"V100", 24, 8, 16, 60, 2.5}, {"T4", 48, 4, 16, 25, 0.5}}};

/// Layers of a transformer. Their times follow from its operations and an overhead per layer.
LayeredModel transformer(const char* name, std::size_t blocks, double hidden) {
    constexpr double sequence = 2048, vocabulary = 50000;
    LayeredModel model{.name = name, .layers = blocks + 2};
    model.bytes_per_float = 2;
    for (const int degree : {1, 2, 4, 8}) {
        auto& sizes = model.sizes[degree];
        sizes.push_back({vocabulary * hidden / degree, sequence * hidden, sequence * hidden});
        for (std::size_t block = 0; block < blocks; ++block)
            sizes.push_back(
                {12 * hidden * hidden / degree, sequence * hidden, 34 * sequence * hidden / degree});
        sizes.push_back(
            {vocabulary * hidden / degree, sequence * vocabulary / degree, sequence * vocabulary / degree});
    }
    for (const GpuKind& kind : kinds) {
        auto& times = model.times.emplace_back();
        for (int degree = 1; degree <= kind.gpus; degree *= 2)
            for (const int microbatch : {1, 2, 4, 8}) {
                const double speed = kind.teraflops * 1e12 * microbatch / (microbatch + 0.5) / 2 * degree *
                                     (degree > 1 ? 0.85 : 1);
                for (std::size_t layer = 0; layer < model.layers; ++layer) {
                    const double products = layer == 0 ? hidden
                                            : layer + 1 == model.layers
                                                ? vocabulary * hidden
                                                : 12 * hidden * hidden + sequence * hidden;
                    const double forward = 1e-4 + 2 * products * sequence * microbatch / speed;
                    times[{microbatch, degree}].push_back({forward, 2 * forward, 1e-3});
                }
            }
    }
    return model;
}

ParallelCluster description() {
    ParallelCluster cluster;
    cluster.zones = {"here"};
    cluster.usd_per_gigabyte = {{0}};
    cluster.gpus = {{0, 0, 0}};
    for (const GpuKind& kind : kinds)
        cluster.types.push_back({kind.name, kind.gpus, kind.memory_gib, kind.dollars});
    for (std::size_t from = 0; from < kinds.size(); ++from)
        for (std::size_t to = 0; to < kinds.size(); ++to)
            for (const int a : {1, 2, 4, 8})
                for (const int b : {1, 2, 4, 8})
                    cluster.links[{{0, from, a}, {0, to, b}}] = {0, 0.2, from == 0 && to == 0 ? 20.0 : 6.0};
    return cluster;
}

/// Plans within a time limit, and counts questions.
struct TimedSearcher {
    double gap = 0.005, milliseconds = 40;
    std::size_t* questions = nullptr;
    double* spent = nullptr;

    PlanAnswer operator()(const LayeredModel& model, const ParallelCluster& cluster,
                          const PlanQuestion& question, const ParallelConstants& constants) const {
        const double begin = benchmarks::cpu_milliseconds();
        const PlanSearcher search{
            .gap = gap, .stop = [&] { return benchmarks::cpu_milliseconds() - begin > milliseconds; }};
        PlanAnswer answer = search(model, cluster, question, constants);
        ++*questions;
        *spent += benchmarks::cpu_milliseconds() - begin;
        return answer;
    }
};

Snapshot snapshot_of(int ordinary) {
    Snapshot now{.time_seconds = 60};
    for (std::size_t type = 0; type < kinds.size(); ++type) {
        now.cluster.gpu_types.push_back(kinds[type].name);
        for (int n = 0; n < kinds[type].nodes; ++n)
            now.cluster.nodes.push_back(
                {std::string(kinds[type].name) + "-" + std::to_string(n), type, kinds[type].gpus});
    }
    for (const char* name : {"opt-350m", "neo-2.7b", "opt-13b"}) {
        Job job{.name = name, .restart_cost_seconds = 120, .max_gpus = 512, .initial_batch = 512};
        job.max_batch = 512;
        job.types.assign(kinds.size(), {.max_atomic_batch = 8});
        job.weight = 30;
        now.jobs.push_back(job);
        now.models.push_back({});
    }
    for (int j = 0; j < ordinary; ++j) {
        Job job{.name = "job-" + std::to_string(j), .restart_cost_seconds = 30, .max_gpus = 32};
        job.initial_batch = 32 << (j % 4);
        job.max_batch = 32 * job.initial_batch;
        job.types.assign(kinds.size(), {.max_atomic_batch = job.initial_batch});
        job.gradient = {1, 2.0 + j % 7};
        JobModel model;
        for (const GpuKind& kind : kinds) {
            const double slowness = 150 / kind.teraflops;
            const PolluxThroughput speed{.alpha_c = 0.02 * slowness,
                                         .beta_c = (1 + j % 5) * 1e-3 * slowness,
                                         .alpha_n = 0.05 + 0.02 * (j % 3),
                                         .beta_n = 1e-3,
                                         .alpha_r = 0.02,
                                         .beta_r = 1e-3,
                                         .gamma = 2};
            TypeModel& of_type = model.types.emplace_back();
            of_type.throughput = speed;
            of_type.most_replicas = 8;
        }
        now.jobs.push_back(job);
        now.models.push_back(model);
    }
    return now;
}

}  // namespace

int main(int argc, char** argv) {
    const double gap = argc > 1 ? std::atof(argv[1]) : 0.005,
                 milliseconds = argc > 2 ? std::atof(argv[2]) : 40;
    const int ordinary = argc > 3 ? std::atoi(argv[3]) : 50, pools = argc > 4 ? std::atoi(argv[4]) : 1;
    if (argc > 5 || !(gap > 0) || !(milliseconds > 0) || ordinary < 0 || pools < 1) {
        std::fprintf(stderr, "usage: %s [GAP [MILLISECONDS [JOBS [POOLS]]]]\n", argv[0]);
        return 2;
    }
    const std::array<LargeModel, 3> models{{{transformer("opt-350m", 24, 1024), 512},
                                            {transformer("neo-2.7b", 32, 2560), 512},
                                            {transformer("opt-13b", 40, 5120), 512}}};
    std::size_t questions = 0;
    double spent = 0;
    Snapshot now = snapshot_of(ordinary);
    LargeModels large(description(), now.cluster.gpu_types,
                      TimedSearcher{gap, milliseconds, &questions, &spent});
    for (std::size_t m = 0; m < models.size(); ++m) large.add(now.jobs[m].name, models[m]);
    const AllotOptions options{.gap = gap, .deadline = std::chrono::milliseconds(200)};
    const ParallelPlans<TimedSearcher>::Settings settings{.halvings = 0,
                                                          .most_pools = static_cast<std::size_t>(pools),
                                                          .most_curves = 1,
                                                          .most_single = 1,
                                                          .settles = false};
    auto scheduler = Scheduler(GoodputPolicy{}, options).offering(ParallelPlans(large, settings));
    const auto whole = [&](std::size_t m) {
        std::vector<PoolShare> parts;
        for (std::size_t t = 0; t < kinds.size(); ++t)
            parts.push_back({t, kinds[t].gpus, {kinds[t].nodes, kinds[t].nodes * kinds[t].gpus}});
        return large.best_on(now.jobs[m].name, Configuration(parts)).throughput;
    };
    const auto normalised = [&](const Plan& plan) {
        double sum = 0;
        for (std::size_t m = 0; m < models.size(); ++m) {
            const Configuration& given = plan.decisions[m].option.configuration;
            if (!given.empty()) sum += large.best_on(now.jobs[m].name, given).throughput / whole(m);
        }
        return sum;
    };
    const auto run = [&](const char* what) {
        questions = 0;
        spent = 0;
        const double begin = benchmarks::cpu_milliseconds();
        std::array<double, 3> done{};
        const Plan& plan = scheduler.plan(now, [&](PlanStep step) {
            done[static_cast<std::size_t>(step)] = benchmarks::cpu_milliseconds() - begin;
        });
        std::printf(
            "%-14s %7.0f ms (listing %.0f, allotment %.0f), of which %.0f for %zu plans; value %.4f, bound "
            "%.4f, gap %.4f\n",
            what, benchmarks::cpu_milliseconds() - begin, done[0], done[1] - done[0], spent, questions,
            plan.objective, plan.bound, 1 - plan.objective / plan.bound);
        for (const PlanFault& fault : plan.faults) std::printf("  fault: %s\n", fault.what.c_str());
        for (std::size_t m = 0; m < models.size(); ++m) {
            const Configuration& given = plan.decisions[m].option.configuration;
            std::printf("  %-9s", now.jobs[m].name.c_str());
            for (const PoolShare& part : given.parts())
                std::printf(" %d %s", part.shape.gpus, kinds[part.gpu_type].name);
            std::printf(": %.4g iterations/s, %s\n", plan.decisions[m].option.goodput / 512,
                        plan.decisions[m].verdict.reason.c_str());
        }
        return normalised(plan);
    };
    const double together = run("first round");
    for (std::size_t j = 0; j < now.jobs.size(); ++j)
        now.jobs[j].placement = scheduler.last_plan().decisions[j].placement;
    now.time_seconds += 300;
    run("second round");
    now = snapshot_of(0);
    const double alone = run("large ones only");
    double thirds = 0;
    for (std::size_t m = 0; m < models.size(); ++m) {
        std::vector<PoolShare> parts;
        for (std::size_t t = 0; t < kinds.size(); ++t) {
            const int nodes = (kinds[t].nodes + static_cast<int>(m)) / 3;
            parts.push_back({t, kinds[t].gpus, {nodes, nodes * kinds[t].gpus}});
        }
        thirds += large.best_on(now.jobs[m].name, Configuration(parts)).throughput / whole(m);
    }
    std::printf(
        "sum of normalised throughputs: %.3f beside %d ordinary jobs, %.3f without them, %.3f in fixed "
        "thirds\n",
        together, ordinary, alone, thirds);
}
