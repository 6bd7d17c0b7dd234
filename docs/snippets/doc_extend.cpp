// Two jobs on the same GPUs, and a job that is promised its end in time.

#include <cstddef>
#include <goodput/deadlines/promised_scheduler.hpp>
#include <goodput/goodput.hpp>
#include <goodput/pairs/paired_scheduler.hpp>
#include <iostream>
#include <string>
#include <utility>
#include <vector>
using namespace goodput;

namespace {

/// Two jobs on a node of eight GPUs, with models from the rates that they declare.
Snapshot two_jobs(int min_gpus) {
    Snapshot now{.time_seconds = 600};
    now.cluster = {{"A100"}, {{"big-0", 0, 8}}};
    for (const char* name : {"paper", "sweep"}) {
        Job job{.name = name, .restart_cost_seconds = 30, .min_gpus = min_gpus, .max_gpus = 8};
        job.initial_batch = 128;
        job.max_batch = 4096;
        job.types = {{.max_atomic_batch = 512, .reference_rate = 2600}};
        job.gradient = {.squared_norm = 1, .variance = 25};
        now.jobs.push_back(job);
    }
    JobMemory().take_in(now, std::vector<JobNews>(2));
    return now;
}

void run_a_pair() {
    const Snapshot now = two_jobs(8);
    // [pairs]
    // On A100 the first job of a pair keeps 0.7 of its speed alone, the second one 0.6.
    const std::vector<JobPair> pairs{{.jobs = {0, 1}, .parts = {{0.7, 0.6}}}};
    PairedScheduler<GoodputPolicy> scheduler;
    const Plan& plan = scheduler.plan(now, pairs);
    for (std::size_t j = 0; j < now.jobs.size(); ++j)
        if (const Decision& decision = plan.decisions[j]; decision.shares_with)
            std::cout << now.jobs[j].name << " shares its GPUs with " << now.jobs[*decision.shares_with].name
                      << ", at " << decision.part_of_speed << " of its speed alone\n";
    // [/pairs]
}

void promise_an_end() {
    Snapshot now = two_jobs(1);
    // [promises]
    now.jobs[0].remaining_examples = 6e7;
    const std::vector<goodput::Deadline> deadlines{{.job = 0, .deadline_seconds = 15000}};
    PromisedScheduler promised{Scheduler<GoodputPolicy>()};
    promised.set_round_seconds(60);
    const Plan& plan = promised.plan(now, deadlines);
    const PromiseAnswer& answer = promised.answers()[0];
    if (answer.promise == Promise::kept)
        std::cout << now.jobs[0].name << " has " << plan.decisions[0].option.configuration.gpus()
                  << " GPUs now and will have ended by second " << answer.done_by_seconds << "\n";
    else
        std::cout << answer.why << "; " << promised.what_would_help(0) << "\n";
    // [/promises]
}

}  // namespace

int main() {
    run_a_pair();
    promise_an_end();
    return 0;
}
