// Which nodes are worth their price now.

#include <goodput/availability/renting.hpp>
#include <iostream>

using namespace goodput;

int main() {
    // [offers]
    const std::vector<RentOffer> offers{{.name = "big", .gpus = 8, .dollars_per_hour = 32, .most_nodes = 4},
                                        {.name = "big-spot",
                                         .gpus = 8,
                                         .dollars_per_hour = 11,
                                         .most_nodes = 2,
                                         .spot = true,
                                         .interruptions_per_hour = 0.1}};
    // [/offers]
    const PolluxThroughput truth{
        .alpha_c = 0.1, .beta_c = 0.001, .alpha_n = 0.2, .alpha_r = 0.05, .gamma = 2};
    Snapshot now{.time_seconds = 0, .cluster = {.gpu_types = {"A100"}}};
    for (int i = 0; i < 6; ++i) {
        Job job{.name = "job-" + std::to_string(i), .restart_cost_seconds = 60};
        job.max_gpus = 16;
        job.initial_batch = 256;
        job.max_batch = 8192;
        job.types = {{.max_atomic_batch = 256}};
        job.remaining_examples = 5e6;
        now.jobs.push_back(job);
        now.models.push_back({.types = {{.throughput = truth, .most_replicas = 16, .fitted = true}}});
    }
    for (const double hour_worth : {2.0, 20.0}) {
        // [advise]
        RentAdvisor<> advisor(hour_worth);
        const RentAdvice& advice = advisor.advise(now, offers);
        // [/advise]
        std::cout << "an hour of a job is worth $" << hour_worth << "; $" << advice.dollars_per_hour
                  << " an hour:\n";
        for (std::size_t o = 0; o < offers.size(); ++o)
            std::cout << "  " << offers[o].name << ": " << advice.offers[o].why << "\n";
    }
    return 0;
}
