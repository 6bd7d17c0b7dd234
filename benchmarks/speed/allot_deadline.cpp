// Measures how well an allotment keeps its deadline: thousands of calls on hard problems, on request next
// to other threads that occupy the processors. Wall time is what a caller waits. Thread CPU time is what
// the solver itself used of it, so the difference is due to the operating system.
//
// usage: allot_deadline [--busy N] [--calls N] [--deadline MS] [--jobs N] [--nice N] [--pause MS]
//
// --busy: other threads that spin (0); --calls: per kind (2000); --deadline: milliseconds (5); --jobs: for
// the kind with many jobs (100000; 0 leaves it out); --nice: for the calling thread alone (0; negative
// values need the right to it); --pause: milliseconds asleep before every call (0), as in a control loop.

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

namespace {

using namespace goodput;
using support::Random;

struct Settings {
    std::size_t busy = 0, calls = 2000, jobs = 100000;
    double deadline_ms = 5, pause_ms = 0;
    int nice = 0;
};

double thread_cpu_ms() {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Jobs with 12 options that each use all of many resources, no two alike: the bound is never near.
AllotmentProblem many_resources(Random& random, std::uint32_t resources, int jobs) {
    AllotmentProblem problem;
    for (std::uint32_t r = 0; r < resources; ++r) problem.capacity.push_back(jobs * 16.0 - r);
    std::vector<ResourceUse> uses;
    for (int job = 0; job < jobs; ++job) {
        problem.add_job();
        for (int option = 0; option < 12; ++option) {
            uses.clear();
            double size = 0;
            for (std::uint32_t r = 0; r < resources; ++r) {
                uses.push_back({r, random.between(1, 60)});
                size += uses.back().units;
            }
            problem.add_option(size * random.between(0.98, 1), uses);
        }
    }
    return problem;
}

void print(const char* name, std::vector<double> times, double deadline_ms) {
    std::sort(times.begin(), times.end());
    const auto quantile = [&](double q) {
        return times[std::min(times.size() - 1,
                              static_cast<std::size_t>(q * static_cast<double>(times.size())))];
    };
    const auto late = times.end() - std::upper_bound(times.begin(), times.end(), 2 * deadline_ms);
    std::printf("  %-10s p50 %7.3f  p99 %7.3f  p99.9 %7.3f  max %7.3f ms  above twice the deadline %.3f %%\n",
                name, quantile(0.5), quantile(0.99), quantile(0.999), times.back(),
                100 * static_cast<double>(late) / static_cast<double>(times.size()));
}

/// Calls the solver on one problem after the other, cold, at gap 0.
void measure(const std::string& kind, const std::vector<AllotmentProblem>& problems, std::size_t calls,
             const Settings& settings) {
    Allotter<> allotter;
    const AllotOptions options{
        .gap = 0,
        .deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(1e6 * settings.deadline_ms)),
        .warm_start = false};
    std::vector<double> wall, cpu;
    std::size_t proven = 0, close = 0;
    for (std::size_t call = 0; call < calls; ++call) {
        const AllotmentProblem& problem = problems[call % problems.size()];
        if (settings.pause_ms > 0)
            std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(settings.pause_ms));
        const double cpu_begin = thread_cpu_ms();
        const auto begin = std::chrono::steady_clock::now();
        const AllotResult& result = allotter(problem, options);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        cpu.push_back(thread_cpu_ms() - cpu_begin);
        wall.push_back(took.count());
        proven += result.status == AllotStatus::optimal;
        close += result.gap() <= 1e-3 * std::max(1.0, result.bound);
    }
    std::printf("%s: %zu options, %zu calls, %zu proven, %zu within 1e-3\n", kind.c_str(),
                problems.front().options(), calls, proven, close);
    print("wall", wall, settings.deadline_ms);
    print("thread CPU", cpu, settings.deadline_ms);
}

std::vector<AllotmentProblem> several(std::size_t count, const auto& make) {
    std::vector<AllotmentProblem> problems;
    for (std::size_t i = 0; i < count; ++i) {
        Random random(i + 1);
        problems.push_back(make(random));
    }
    return problems;
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        const double number = std::atof(argv[i + 1]);
        if (option == "--deadline") settings.deadline_ms = number;
        if (option == "--pause") settings.pause_ms = number;
        if (option == "--nice") settings.nice = static_cast<int>(number);
        for (const auto& [name, count] :
             {std::pair{"--busy", &settings.busy}, {"--calls", &settings.calls}, {"--jobs", &settings.jobs}})
            if (option == name) *count = static_cast<std::size_t>(number);
    }
    std::atomic<bool> stop{false};
    std::vector<std::jthread> busy;
    for (std::size_t i = 0; i < settings.busy; ++i)
        busy.emplace_back([&] {
            std::uint64_t spins = 0;
            while (!stop.load(std::memory_order_relaxed)) ++spins;
        });
    // On Linux this applies to the calling thread only.
    if (settings.nice != 0 && setpriority(PRIO_PROCESS, 0, settings.nice) != 0)
        std::perror("allot_deadline: --nice");
    std::printf("deadline %g ms, %zu busy threads beside, %u processors\n", settings.deadline_ms,
                settings.busy, std::thread::hardware_concurrency());
    measure("2,048 GPUs", several(20, [](Random& random) { return support::cluster_problem(random, 2048); }),
            settings.calls, settings);
    for (const std::uint32_t resources : {8U, 32U, 100U})
        measure("60 jobs, " + std::to_string(resources) + " resources",
                several(5, [&](Random& random) { return many_resources(random, resources, 60); }),
                settings.calls / 4, settings);
    for (std::size_t jobs = settings.jobs / 16; jobs > 0 && jobs <= settings.jobs; jobs *= 4)
        measure(std::to_string(jobs) + " jobs",
                several(2,
                        [&](Random& random) {
                            return support::cluster_problem(random, 4 * static_cast<int>(jobs));
                        }),
                settings.calls / 20, settings);
    stop = true;
}
