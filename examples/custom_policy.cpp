// A policy of your own: the speed of a job per dollar, relative to its best choice, and more for jobs that
// have waited long.

#include <algorithm>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>
#include <span>
#include <string>
#include <vector>

// [policy]
struct CheapSpeed {
    std::vector<double> dollars_per_gpu_hour;  ///< by GPU type

    double speed_for_a_dollar(const goodput::Option& option) const {
        const goodput::PoolShare& gpus = option.configuration.first();
        return option.goodput / (dollars_per_gpu_hour[gpus.gpu_type] * gpus.occupied_gpus());
    }
    void value_row(const goodput::Round& round, const goodput::Job& job,
                   std::span<const goodput::Option> options, std::span<double> values) const {
        double best = 1e-9;
        for (const goodput::Option& option : options) best = std::max(best, speed_for_a_dollar(option));
        const double patience = 1 + round.age_of(job) / 3600;
        for (std::size_t k = 0; k < options.size(); ++k) {
            const bool stays = options[k].configuration.same_gpus(round.held_by(job));
            values[k] = patience * speed_for_a_dollar(options[k]) / best * (stays ? 1 : 0.9);
        }
    }
};
static_assert(goodput::Policy<CheapSpeed>);
// [/policy]

/// Two jobs of known speed hold all A100 when a job arrives about which nothing is known. Does it start?
bool starts_newcomers(goodput::Snapshot now) {
    now.cluster.nodes.erase(now.cluster.nodes.begin());
    now.jobs.resize(3);
    now.models.resize(3);
    for (std::size_t j = 0; j < 2; ++j) {
        now.jobs[j].placement = {{0, 4}};
        now.jobs[j].gradient = {.squared_norm = 1, .variance = 1e6};  // any batch is as good
        now.models[j].types.resize(2);
        for (goodput::TypeModel& type : now.models[j].types)  // 1 ms an example, and nothing to wait for
            type = {.throughput = goodput::PolluxThroughput{1e-6, 1e-3, 0, 0, 0, 0, 1}, .most_replicas = 4};
    }
    return !goodput::plan(now, CheapSpeed{{0.5, 3.0}}).decisions[2].placement.empty();
}

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
    const goodput::Plan plan = goodput::plan(now, CheapSpeed{{0.5, 3.0}});
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
    return honoured && starts_newcomers(now) ? 0 : 1;
}
