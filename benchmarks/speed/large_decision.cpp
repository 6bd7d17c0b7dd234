// Times a whole decision under load: 2,048 GPUs of three types, for which thousands of jobs of five
// programs compete, round after round. Another job follows each one that completes. All jobs declare rates,
// and running ones measure their steps and gradients.
//
// usage: large_decision [JOBS [ROUNDS]]      default: 5800 and 100
//
// Prints milliseconds of CPU time: of the first round with its first fits, and of a later round's decision
// by its steps. These exclude refits, which are printed separately with all else that a caller keeps up to
// date: histories, models, sizes.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/sim/application.hpp"
#include "goodput/sim/metrics.hpp"

namespace {

using namespace goodput;

constexpr double round_seconds = 60;

/// The parameters of a program's jobs.
struct Program {
    PolluxThroughput speed{};  ///< on the slowest type
    int min_gpus = 1, initial_batch = 1, max_batch = 1, max_atomic_batch = 1;
    double noise = 1;  ///< gradient noise scale at the start, in initial batches
};

const std::array<Program, 5> programs{{
    {{0.02, 5e-4, 0.05, 5e-3, 0.01, 1e-3, 2}, 1, 128, 4096, 512, 2},
    {{0.05, 2e-3, 0.2, 2e-2, 0.03, 3e-3, 2}, 2, 64, 2048, 256, 8},
    {{0.1, 4e-3, 0.4, 4e-2, 0.1, 1e-2, 2}, 2, 32, 512, 64, 15},
    {{0.2, 3e-3, 0.1, 1e-2, 0.02, 2e-3, 2}, 4, 16, 1024, 32, 5},
    {{0.03, 5e-3, 0.3, 3e-2, 0.05, 5e-3, 2}, 4, 200, 12800, 256, 20},
}};

struct GpuType {
    const char* name;
    int nodes, gpus;
    double speed;
};
constexpr std::array<GpuType, 3> gpu_types{{{"T4", 192, 4, 1}, {"A100", 64, 8, 5}, {"2080Ti", 96, 8, 2}}};

/// A step of a program on a GPU type: a faster type computes faster, but the network does not change.
StepSeconds step_of(const Program& program, const GpuType& type, Shape shape, int atomic_batch) {
    const double compute = program.speed.compute_seconds(atomic_batch) / type.speed;
    const double step = program.speed.step_seconds(compute, program.speed.sync_seconds(shape));
    return {step, step - compute};
}

class Site {
public:
    explicit Site(int jobs) {
        for (std::size_t type = 0; type < gpu_types.size(); ++type) {
            snapshot.cluster.gpu_types.push_back(gpu_types[type].name);
            for (int node = 0; node < gpu_types[type].nodes; ++node)
                snapshot.cluster.nodes.push_back(
                    {std::string(gpu_types[type].name) + "-" + std::to_string(node), type,
                     gpu_types[type].gpus});
        }
        for (int j = 0; j < jobs; ++j) submit();
    }

    /// All jobs train for a round with what the plan gives them.
    void train(const Plan& plan, KindHistories& histories) {
        for (std::size_t j = 0; j < work.size(); ++j) {
            Job& job = snapshot.jobs[j];
            const Decision& decision = plan.decisions[j];
            if (decision.starts && job.attained_gpu_seconds > 0) ++job.restarts;
            job.placement = decision.placement;
            job.done_examples.reset();
            if (decision.placement.empty()) continue;
            const Program& program = programs[program_of[j]];
            const PoolShare& held = decision.option.configuration.first();
            const StepSeconds times =
                step_of(program, gpu_types[held.gpu_type], held.shape, decision.option.plan.atomic_batch);
            histories.add(job, held.gpu_type, {held.shape, decision.option.plan, times.step, times.sync});
            job.attained_gpu_seconds += round_seconds * held.shape.gpus;
            job.gradient = {1, program.noise * (1 + job.attained_gpu_seconds / 36000)};
            work[j] -= round_seconds * held.shape.gpus * gpu_types[held.gpu_type].speed;
        }
        snapshot.time_seconds += round_seconds;
        std::size_t left = 0;
        for (std::size_t j = 0; j < work.size(); ++j) {
            if (work[j] <= 0) continue;
            if (left != j) {
                snapshot.jobs[left] = std::move(snapshot.jobs[j]);
                work[left] = work[j];
                program_of[left] = program_of[j];
            }
            ++left;
        }
        const std::size_t gone = work.size() - left;
        snapshot.jobs.resize(left);
        work.resize(left);
        program_of.resize(left);
        for (std::size_t j = 0; j < gone; ++j) submit();
    }

    Snapshot snapshot{.time_seconds = round_seconds};

private:
    void submit() {
        const std::size_t index = random_() % programs.size();
        const Program& program = programs[index];
        Job job{.name = "job-" + std::to_string(submitted_++)};
        job.submitted_seconds = snapshot.time_seconds - round_seconds * unit();
        job.restart_cost_seconds = 30;
        job.min_gpus = program.min_gpus;
        job.max_gpus = 64;
        job.initial_batch = program.initial_batch;
        job.max_batch = program.max_batch;
        for (const GpuType& type : gpu_types) {
            TypeLimits limits{.max_atomic_batch = program.max_atomic_batch};
            limits.reference_rate =
                program.max_atomic_batch / step_of(program, type, {1, 1}, program.max_atomic_batch).step;
            job.types.push_back(limits);
        }
        snapshot.jobs.push_back(std::move(job));
        work.push_back(600 + 20000 * unit());
        program_of.push_back(index);
    }
    double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

    std::mt19937_64 random_{1};
    int submitted_ = 0;
    std::vector<double> work{};  // GPU-seconds of the slowest type
    std::vector<std::size_t> program_of{};
};

void print(const char* what, std::vector<double> milliseconds) {
    std::printf("%-34s median %7.2f   99 %% %7.2f ms\n", what, quantile(milliseconds, 0.5),
                quantile(milliseconds, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
    const int jobs = argc > 1 ? std::atoi(argv[1]) : 5800, rounds = argc > 2 ? std::atoi(argv[2]) : 100;
    if (argc > 3 || jobs < 1 || rounds < 2) {
        std::fprintf(stderr, "usage: %s [JOBS [ROUNDS]], at least 1 and 2\n", argv[0]);
        return 2;
    }
    Site site(jobs);
    Snapshot& snapshot = site.snapshot;
    KindHistories histories;
    JobSizes sizes;
    Scheduler<GoodputPolicy> scheduler;
    std::vector<double> kept, values, allotment, placement, decision;
    for (int round = 0; round < rounds; ++round) {
        const double begin = benchmarks::cpu_milliseconds();
        snapshot.models.clear();
        for (const Job& job : snapshot.jobs) {
            histories.meet(job);
            histories.refit(job);
        }
        for (const Job& job : snapshot.jobs) snapshot.models.push_back(histories.of(job).model());
        sizes.expect(snapshot);
        const double known = benchmarks::cpu_milliseconds();
        std::array<double, 3> done{};
        const Plan& plan = scheduler.plan(snapshot, [&](PlanStep step) {
            done[static_cast<std::size_t>(step)] = benchmarks::cpu_milliseconds();
        });
        const double end = benchmarks::cpu_milliseconds();
        if (round == 0) {
            std::printf("first round, fits included         %.1f ms\n", end - begin);
        } else {
            kept.push_back(known - begin);
            values.push_back(done[0] - known);
            allotment.push_back(done[1] - done[0]);
            placement.push_back(end - done[1]);
            decision.push_back(end - known);
        }
        sizes.note(snapshot, plan);
        site.train(plan, histories);
    }
    print("histories, models, sizes, refits", kept);
    print("decision", decision);
    print("  values", values);
    print("  allotment", allotment);
    print("  placement and reasons", placement);
}
