// A policy of one's own: how many examples a job handles for every dollar, more for jobs that have waited
// long.

#include <goodput/schedule/scheduler.hpp>
#include <iostream>
#include <string>
#include <vector>

// [policy]
struct CheapExamples {
    std::vector<double> dollars_per_gpu_hour;  ///< by GPU type

    double value(const goodput::Round& round, const goodput::Job& job, const goodput::Option& option) const {
        const goodput::PoolShare& gpus = option.configuration.first();
        const double dollars = dollars_per_gpu_hour[gpus.gpu_type] * gpus.occupied_gpus();
        const double patience = 1 + round.age_of(job) / 3600;
        const bool stays = option.configuration.same_gpus(round.held_by(job));
        return patience * option.goodput / dollars * (stays ? 1 : 0.9);
    }
};
static_assert(goodput::Policy<CheapExamples>);
// [/policy]

int main() {
    // [snapshot]
    goodput::Snapshot now{.time_seconds = 3600};
    now.cluster = {{"T4", "A100"}, {{"small-0", 0, 4}, {"big-0", 1, 8}}};
    for (int i = 0; i < 6; ++i) {
        goodput::Job job{.name = "job-" + std::to_string(i), .submitted_seconds = 600.0 * i, .max_gpus = 4};
        job.initial_batch = 64;
        job.max_batch = 1024;
        job.types = {{.max_atomic_batch = 64}, {.max_atomic_batch = 256}};
        now.jobs.push_back(job);
    }
    // [/snapshot]
    const goodput::Plan plan = goodput::plan(now, CheapExamples{{0.5, 3.0}});
    bool honoured = true;  // those that have waited longest get the cheap GPUs
    for (std::size_t j = 0; j < now.jobs.size(); ++j) {
        const goodput::Decision& decision = plan.decisions[j];
        honoured = honoured && decision.option.configuration.first().gpu_type == (j < 4 ? 0 : 1);
        std::cout << now.jobs[j].name << ": ";
        if (decision.placement.empty())
            std::cout << "waits, " << decision.verdict.reason << "\n";
        else
            std::cout << decision.option.configuration.gpus() << " GPUs of "
                      << now.cluster.gpu_types[decision.option.configuration.first().gpu_type] << "\n";
    }
    return honoured ? 0 : 1;
}
