// A world of your own: jobs with a number of steps on a number of GPUs, and a table of their speeds.

#include <algorithm>
#include <goodput/policy/queue.hpp>
#include <goodput/sim/metrics.hpp>
#include <goodput/sim/replay.hpp>
#include <iostream>
#include <map>

/// Steps per second by kind of job and number of GPUs, then by GPU type; 0 if it cannot run there.
using StepTable = std::map<std::pair<std::string, int>, std::vector<double>>;

struct TableWorld {
    StepTable table;
    std::vector<goodput::Job> trace{};
    std::vector<double> steps{}, left{};  ///< by job: all of them, and those still to do

    void add(const std::string& kind, double submitted_seconds, int gpus, double how_many_steps) {
        goodput::Job job{.name = "job-" + std::to_string(trace.size()), .kind = kind};
        job.submitted_seconds = submitted_seconds;
        job.max_gpus = gpus;
        job.adaptivity = goodput::Adaptivity::none;
        job.initial_batch = job.target_batch = 1;  // a step counts as an example
        for (const double rate : table.at({kind, gpus})) job.types.push_back({.max_atomic_batch = rate > 0});
        trace.push_back(job);
        left.push_back(steps.emplace_back(how_many_steps));
    }

    // [world]
    const std::vector<goodput::Job>& jobs() const { return trace; }
    std::optional<double> train(std::size_t job, const goodput::Configuration& held, double begin,
                                double seconds) {
        const double rate = table.at({trace[job].kind, held.gpus()})[held.first().gpu_type];
        const double needed = left[job] / rate;
        left[job] = std::max(left[job] - seconds * rate, 0.0);
        return needed <= seconds ? std::optional(begin + needed) : std::nullopt;
    }
    double done(std::size_t job) const { return 1 - left[job] / steps[job]; }
    // [/world]

    // The rest is optional.
    void report(std::size_t job, goodput::Job& known, goodput::JobModel&) const {
        known.remaining_examples = left[job];
    }
    auto predictor() const {
        return [this](const goodput::Job& job, const goodput::JobModel&, std::span<goodput::Option> options) {
            for (goodput::Option& option : options) {
                option.plan = {1, 0};
                option.goodput = table.at({job.kind, job.max_gpus})[option.configuration.first().gpu_type];
                option.knowledge = goodput::Knowledge::measured;
            }
        };
    }
    double start(std::size_t, const goodput::Configuration&) const { return 10; }  // seconds
    double isolated_seconds(std::size_t job, double sharers) const {  // its turns on eight GPUs in all
        const std::vector<double>& rates = table.at({trace[job].kind, trace[job].max_gpus});
        const double turns = std::min(8 / (sharers * trace[job].max_gpus), 1.0);
        return steps[job] / (*std::max_element(rates.begin(), rates.end()) * turns);
    }
};
static_assert(goodput::World<TableWorld>);

int main() {
    // [replay]
    const goodput::Cluster cluster{{"V100", "A100"}, {{"small", 0, 4}, {"big", 1, 4}}};
    TableWorld trace{{{{"vision", 1}, {8, 20}}, {{"vision", 4}, {28, 72}}, {{"speech", 2}, {0, 9}}}};
    for (int i = 0; i < 3; ++i) trace.add("vision", 60.0 * i, 4, 100'000);
    for (int i = 3; i < 6; ++i) trace.add("speech", 60.0 * i, 2, 9'000);
    for (int i = 6; i < 9; ++i) trace.add("vision", 60.0 * i, 1, 8'000);
    TableWorld first = trace, second = trace;  // a world is replayed once
    const auto show = [](const char* policy, const goodput::ReplayMetrics& metrics) {
        std::cout << policy << ": average " << metrics.average_hours << " h, makespan "
                  << metrics.makespan_hours << " h, mean rho " << metrics.rho_mean << "\n";
    };
    show("fifo", metrics_of(replay(cluster, first, goodput::Fifo{}), first));
    show("srtf", metrics_of(replay(cluster, second, goodput::ShortestRemainingTime{}), second));
    // [/replay]
    return 0;
}
