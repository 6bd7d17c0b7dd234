// Steps 4 and 6 of docs/tutorial.md: prices over time, and a policy of your own in a replay against others.
//
// tutorial_policy           average completion times by policy, at each load
// tutorial_policy prices    a line for each round under the library's policy: second, jobs, prices by type

#include <algorithm>
#include <cmath>
#include <goodput/policy/goodput_policy.hpp>
#include <goodput/policy/queue.hpp>
#include <goodput/policy/sia.hpp>
#include <goodput/sim/metrics.hpp>
#include <goodput/sim/sia_world.hpp>
#include <iostream>
#include <string>
#include <vector>

using namespace goodput;

namespace {

// [policy]
/// Short jobs first, and running jobs keep running unless a change gains a quarter.
struct SoonDone {
    void value_row(const Round& round, const Job& job, std::span<const Option> options,
                   std::span<double> values) const {
        const double best = best_goodput(options);
        // What it still needs there. Those that are nearly done count as five minutes, those of unknown
        // length as an hour.
        const double left = job.remaining_examples && best > 0 ? *job.remaining_examples / best : 3600;
        const double weight = 1 / std::max(left, 300.0);
        for (std::size_t k = 0; k < options.size(); ++k) {
            const double speed = best > 0 ? options[k].goodput / best : 1;  // from 0 to 1
            const bool stays = options[k].configuration.same_gpus(round.held_by(job));
            values[k] = 3600 * weight * std::sqrt(speed) * (stays ? 1 : 0.8);
        }
    }
};
static_assert(Policy<SoonDone>);
// [/policy]

// [trace]
const Cluster cluster{{"T4", "A100"},
                      {{"small-0", 0, 4}, {"small-1", 0, 4}, {"big-0", 1, 8}, {"big-1", 1, 8}}};

/// Trains so many thousand steps at the initial batch of 128; an A100 is some five times as fast as a T4.
Application application(const std::string& name, double thousands) {
    Application made{.name = name};
    made.types = {{.truth =
                       PolluxThroughput{
                           .alpha_c = 0.05, .beta_c = 0.0015, .alpha_n = 0.12, .alpha_r = 0.04, .gamma = 2},
                   .max_atomic_batch = 128,
                   .reference_rate = 530},
                  {.truth =
                       PolluxThroughput{
                           .alpha_c = 0.02, .beta_c = 0.0003, .alpha_n = 0.08, .alpha_r = 0.02, .gamma = 2},
                   .max_atomic_batch = 512,
                   .reference_rate = 2900}};
    made.curve = TrainingCurve({128, 4096}, {{{1, 8}, {1, 30}}, {{1, 8}, {1, 30}}},
                               {500 * thousands, 1000 * thousands});
    return made;
}
const std::vector<Application> applications{application("small", 4), application("medium", 20),
                                            application("large", 120)};

/// 120 jobs, one a minute on average at load 1: most are small, every tenth is large.
std::vector<Submission> trace_at(double load) {
    std::vector<Submission> trace;
    double seconds = 0;
    unsigned state = 1;
    const auto random = [&] {  // a fixed sequence of numbers from 0 to 1, the same on every machine
        state = state * 1664525u + 1013904223u;
        return (state >> 8) / double(1u << 24);
    };
    for (int i = 0; i < 120; ++i) {
        const std::size_t which = i % 10 == 9 ? 2 : i % 3 == 0 ? 1 : 0;
        seconds += -60 * std::log(1 - random()) / load;
        trace.push_back(
            {.name = "job-" + std::to_string(i), .time_seconds = seconds, .application = which, .gpus = 2});
        trace.back().batch = 512;
    }
    return trace;
}
// [/trace]

template <Policy P>
void show(const char* name, double load, P policy) {
    // [replay]
    const ReplayResult result = replay<RefinedModels>(cluster, applications, trace_at(load), policy);
    const ReplayMetrics metrics = metrics_of(result);
    // [/replay]
    std::cout << "load " << load << " " << name << ": average " << metrics.average_hours
              << " h, 99th percentile " << metrics.p99_hours << " h, restarts per job "
              << metrics.restarts_per_job << "\n";
}

// [prices]
void show_prices() {
    const std::vector<Submission> trace = trace_at(1);
    replay<RefinedModels>(cluster, applications, trace, GoodputPolicy{}, {},
                          [](double now, const Snapshot& snapshot, auto make_plan) {
                              const Plan& plan = make_plan();
                              std::cout << now << " " << snapshot.jobs.size();
                              for (const PoolPrice& pool : plan.prices) std::cout << " " << pool.price;
                              std::cout << "\n";
                          });
}
// [/prices]

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "prices") {
        show_prices();
        return 0;
    }
    for (const double load : {0.5, 1.0, 2.0, 4.0}) {
        show("fifo", load, Fifo{});
        show("sia", load, Sia{});
        show("goodput", load, GoodputPolicy{});
        show("goodput-declared", load, DeclaredGoodputPolicy{});
        show("soon-done", load, SoonDone{});
    }
    return 0;
}
