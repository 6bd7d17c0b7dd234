// Hadar: a job of three workers that no GPU type has room for runs on two types at once. Copies: a job that
// is alone on the cluster uses all of it.

#include <goodput/hadar/hadar.hpp>
#include <goodput/hadar/job_copies.hpp>
#include <goodput/hadar/mixed_types.hpp>
#include <goodput/hadar/posted_prices.hpp>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>

using namespace goodput;

/// Examples/s of any number of workers: what their owner measured on one of each type.
struct Measured {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            const PoolShare& part = option.configuration.first();
            option.plan = {job.target_batch / job.max_gpus, 0};
            option.goodput = job.types[part.gpu_type].reference_rate * part.shape.gpus;
            option.knowledge = Knowledge::measured;
        }
    }
};

Job job_of(const char* name, int workers, double v100, double k80, double examples) {
    Job job{.name = name, .max_gpus = workers, .adaptivity = Adaptivity::none};
    job.initial_batch = job.target_batch = 32 * workers;
    job.types = {{.max_atomic_batch = 32, .reference_rate = v100},
                 {.max_atomic_batch = 32, .reference_rate = k80}};
    job.remaining_examples = examples;
    return job;
}

int main() {
    Snapshot now;
    now.cluster = {{"V100", "K80"}, {{"v0", 0, 1}, {"v1", 0, 1}, {"k0", 1, 1}, {"k1", 1, 1}}};
    // [step]
    now.jobs = {job_of("translation", 3, 40, 25, 1e6), job_of("vision", 1, 90, 20, 5e4)};
    Scheduler posted =
        Scheduler(Hadar(), {}, LeastMovesPlacer(), PostedPrices(), Measured()).offering(MixedTypes<>());
    for (const Decision& decision : posted.plan(now).decisions)
        std::cout << describe(now.cluster, decision.option.configuration) << ": " << decision.option.goodput
                  << " examples/s\n";
    // [/step]

    // [copies]
    now.jobs.erase(now.jobs.begin());
    Scheduler copies = Scheduler(Hadar(), {}, LeastMovesPlacer(), Allotter<>(), Measured())
                           .offering(JobCopies<>({.averaging_factor = 0.95}));
    const Option alone = copies.plan(now).decisions[0].option;
    std::cout << describe(now.cluster, alone.configuration) << ": " << alone.goodput << " examples/s\n";
    // [/copies]
    return 0;
}
