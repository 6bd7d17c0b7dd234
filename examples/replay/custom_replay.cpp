// A policy of your own on a trace of your own: custom_replay TRACE.csv PROFILES TYPE:NODESxGPUS,...

#include <algorithm>
#include <goodput/policy/goodput_policy.hpp>
#include <goodput/sim/fair_share.hpp>
#include <goodput/sim/metrics.hpp>
#include <goodput/sim/sia_world.hpp>
#include <goodput_replay/profiles.hpp>
#include <goodput_replay/workload.hpp>
#include <iostream>
#include <span>
#include <string>

/// Twice the goodput is worth twice as much, and a nearly complete job counts most.
struct NearlyDoneFirst {
    void value_row(const goodput::Round&, const goodput::Job& job, std::span<const goodput::Option> options,
                   std::span<double> values) const {
        const double best = std::max(goodput::best_goodput(options), 1e-9);
        for (std::size_t k = 0; k < options.size(); ++k)
            values[k] = options[k].goodput / best / (1 + job.remaining_examples.value_or(0));
    }
};

int main(int count, char** words) {
    if (count != 4) {
        std::cerr << "custom_replay TRACE.csv PROFILES TYPE:NODESxGPUS,...\n";
        return 2;
    }
    const goodput::Cluster cluster = goodput::traces::parse_cluster(words[3]);
    const auto trace = goodput::traces::read_workload(words[1]);
    const auto applications =
        goodput::traces::read_applications(words[2], trace.applications, cluster.gpu_types);
    const goodput::FairShares alone(applications, trace.submissions, cluster);
    const auto replay_under = [&](const std::string& name, auto policy) {
        const auto result = goodput::replay(cluster, applications, trace.submissions, policy);
        const goodput::ReplayMetrics metrics = goodput::metrics_of(result, alone);
        std::cout << name << ": " << metrics.completed << " of " << metrics.jobs << " jobs, average "
                  << metrics.average_hours << " h, 99 % " << metrics.p99_hours << " h, restarts per job "
                  << metrics.restarts_per_job << ", mean rho " << metrics.rho_mean << '\n';
    };
    replay_under("mine", NearlyDoneFirst());
    replay_under("goodput", goodput::GoodputPolicy());
}
