// Replays one trace of jobs with and without a node that fails during the replay.

#include <goodput/policy/goodput_policy.hpp>
#include <goodput/sim/fair_share.hpp>
#include <goodput/sim/metrics.hpp>
#include <goodput/sim/sia_world.hpp>
#include <iostream>

using namespace goodput;

int main() {
    // [world]
    const Cluster cluster{{"A100"}, {{"big-0", 0, 8}, {"big-1", 0, 8}}};
    const PolluxThroughput truth{
        .alpha_c = 0.1, .beta_c = 0.001, .alpha_n = 0.2, .alpha_r = 0.05, .gamma = 2};
    Application vision{.name = "vision"};
    vision.types = {{.truth = truth, .max_atomic_batch = 256, .reference_rate = 700}};
    // Statistics at total batches of 256 and 8192 in each of two epochs, and the progress that ends these.
    vision.curve = TrainingCurve({256, 8192}, {{{1, 10}, {1, 40}}, {{1, 10}, {1, 40}}}, {10'000, 20'000});
    std::vector<Submission> trace;
    for (int i = 0; i < 6; ++i)
        trace.push_back(
            {.name = "job-" + std::to_string(i), .time_seconds = 300.0 * i, .gpus = 4, .batch = 4096});
    // [/world]

    // [replay]
    const std::vector<Application> applications{vision};
    const std::vector<Event> failure{
        {.time_seconds = 1000, .kind = EventKind::node_fails, .subject = "big-1"},
        {.time_seconds = 4000, .kind = EventKind::node_returns, .subject = "big-1"}};
    for (const std::vector<Event>& events : {std::vector<Event>{}, failure}) {
        const ReplayOptions options{.interval_seconds = 60, .events = events};
        const ReplayResult result =
            replay<RefinedModels>(cluster, applications, trace, GoodputPolicy{}, options);
        const ReplayMetrics metrics = metrics_of(result, FairShares(applications, trace, cluster));
        std::cout << events.size() << " events: average " << metrics.average_hours << " h, makespan "
                  << metrics.makespan_hours << " h, restarts per job " << metrics.restarts_per_job
                  << ", failures per job " << metrics.failures_per_job << ", mean rho " << metrics.rho_mean
                  << "\n";
    }
    // [/replay]
    return 0;
}
