// Times a round that also divides cores and memory: 512 nodes of 8 GPUs, and 2,000 jobs of 1 to 16 GPUs,
// some of which gain from more cores or memory.
//
// usage: host_round [NODES [JOBS [ROUNDS]]]      default: 512, 2000 and 20
//
// Prints milliseconds of CPU time: of the first round, in which all jobs start, and of later ones, in which
// some jobs have ended and others come. It does so for a queue, whose jobs have fixed numbers of GPUs, and
// for goodput's policy with elastic jobs, at gap 1e-3.

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/hosts/with_hosts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/sim/metrics.hpp"

namespace {

using namespace goodput;

class Site {
public:
    Site(int nodes, int jobs, bool elastic) : elastic_(elastic) {
        snapshot.cluster.gpu_types = {"gpu"};
        for (int node = 0; node < nodes; ++node)
            snapshot.cluster.nodes.push_back({"node-" + std::to_string(node), 0, 8, false, 24, 500});
        for (int job = 0; job < jobs; ++job) submit();
    }

    /// One in twenty jobs ends, and another one follows it.
    void go_on(const Plan& plan) {
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Job& job = snapshot.jobs[j];
            job.placement = plan.decisions[j].placement;
            job.attained_gpu_seconds += 300 * plan.decisions[j].option.configuration.gpus();
        }
        std::size_t ended = 0;
        std::erase_if(snapshot.jobs, [&](const Job& job) {
            const bool ends = !job.placement.empty() && random_() % 20 == 0;
            ended += ends;
            return ends;
        });
        snapshot.time_seconds += 300;
        while (ended-- > 0) submit();
    }

    Snapshot snapshot{.time_seconds = 300};

private:
    void submit() {
        Job job{.name = "job-" + std::to_string(submitted_++),
                .submitted_seconds = snapshot.time_seconds - 1};
        const int gpus = 1 << (random_() % 5);
        job.min_gpus = elastic_ ? 1 : gpus;
        job.max_gpus = elastic_ ? 16 : gpus;
        job.restart_cost_seconds = 30;
        job.initial_batch = 64;
        job.max_batch = 1024;
        job.types = {
            {.max_atomic_batch = 128, .reference_rate = 100.0 + static_cast<double>(random_() % 900)}};
        const auto kind = random_() % 4;
        const double gain = 1 + static_cast<double>(random_() % 200) / 100;
        job.host = HostNeeds{{1, 20}, {24, 250}, {}};
        for (const double cores : {1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 12.0})
            for (const double memory : {20.0, 62.5, 125.0}) {
                const double fed = kind == 0 ? 1 : std::min(cores / 3, 1 + (gain - 1) * (cores - 3) / 9);
                const double cached = kind == 1       ? 1 + std::min(memory - 62.5, 0.0) / 100
                                      : memory < 62.5 ? 0.8
                                                      : 1;
                job.host->speed.push_back({cores, memory, std::max(std::min(fed, 3 * cached), 0.1)});
            }
        snapshot.jobs.push_back(std::move(job));
    }

    bool elastic_;
    std::mt19937_64 random_{1};
    int submitted_ = 0;
};

template <class P>
void run(const char* name, P policy, int nodes, int jobs, int rounds, bool elastic) {
    Site site(nodes, jobs, elastic);
    auto scheduler = with_hosts(Scheduler<P>(policy, {.gap = 1e-3}));
    std::vector<double> later;
    double first = 0, gap = 0;
    for (int round = 0; round < rounds; ++round) {
        const double begin = benchmarks::cpu_milliseconds();
        const Plan& plan = scheduler.plan(site.snapshot);
        const double spent = benchmarks::cpu_milliseconds() - begin;
        gap = std::max(gap, 1 - plan.objective / plan.bound);
        if (round == 0)
            first = spent;
        else
            later.push_back(spent);
        site.go_on(plan);
    }
    std::printf(
        "%-8s first %7.1f ms, later median %7.1f, worst %7.1f ms; plan at most %.1f %% below the bound of "
        "sums\n",
        name, first, quantile(later, 0.5), quantile(later, 1), 100 * gap);
}

}  // namespace

int main(int argc, char** argv) {
    const int nodes = argc > 1 ? std::atoi(argv[1]) : 512, jobs = argc > 2 ? std::atoi(argv[2]) : 2000,
              rounds = argc > 3 ? std::atoi(argv[3]) : 20;
    if (argc > 4 || nodes < 1 || jobs < 1 || rounds < 2) {
        std::fprintf(stderr, "usage: %s [NODES [JOBS [ROUNDS]]], at least 1, 1 and 2\n", argv[0]);
        return 2;
    }
    run("fifo", Fifo{.backfill = true}, nodes, jobs, rounds, false);
    run("goodput", GoodputPolicy(), nodes, jobs, rounds, true);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("largest memory of the process: %.1f MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}
