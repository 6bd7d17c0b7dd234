// A system of your own that the toolkit knows nothing about: hours and places with clean power. It consists
// of a limit and a factor on the goodput. So any policy respects it, and explanations and prices include
// it.
#include <iostream>
#include <string>
#include <utility>

#include "carbon_cap.hpp"
#include "clean_power.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/scheduler.hpp"
using namespace goodput;

namespace {
/// Sun in the south, with low emissions at noon; wind in the north, mostly at night.
carbon::Grid two_places() {
    carbon::Grid grid{.kilowatts = {0.4, 0.4}, .grams_per_kilowatt_hour = {{}, {}}};
    for (int hour = 0; hour < 24; ++hour) {
        const bool day = hour >= 8 && hour < 18;
        grid.grams_per_kilowatt_hour[0].push_back(day ? 100 : 600);
        grid.grams_per_kilowatt_hour[1].push_back(day ? 400 : 150);
    }
    return grid;
}

/// Replays a day of hourly rounds. Prints the emissions and the GPU-hours that ran.
template <class S>
std::pair<double, int> day(S scheduler, const carbon::Grid& grid) {
    Snapshot now{.cluster = {{"south", "north"}, {{"s0", 0, 8}, {"s1", 0, 8}, {"n0", 1, 8}}}};
    for (int j = 0; j < 4; ++j) {
        Job job{.name = "job-" + std::to_string(j), .max_gpus = 8, .initial_batch = 64, .max_batch = 4096};
        job.types.assign(2, {.max_atomic_batch = 64, .reference_rate = 500});
        job.gradient = {.squared_norm = 1, .variance = 20};
        now.jobs.push_back(job);
    }
    JobMemory memory;
    double grams = 0;
    int gpu_hours = 0;
    for (int hour = 0; hour < 24; ++hour, now.time_seconds += 3600) {
        memory.take_in(now);
        const Plan& plan = scheduler.plan(now);
        memory.keep(now, plan);
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            now.jobs[j].placement = decision.placement;
            if (decision.placement.empty()) continue;
            grams += grid.grams_per_hour(decision.option.configuration, now.time_seconds);
            gpu_hours += decision.option.configuration.gpus();
        }
        if (hour == 0 && !plan.limits.empty()) std::cout << plan.limits[0].report() << "\n";
    }
    return {grams / 1000, gpu_hours};
}

}  // namespace

int main() {
    const carbon::Grid grid = two_places();
    const Scheduler<Sia> plain;
    const auto [all, hours] = day(plain, grid);
    const auto [clean, clean_hours] =
        day(plain.counting(carbon::CleanPower{grid}).limited_by(carbon::CarbonCap{grid, 400}), grid);
    std::cout << all << " kg in " << hours << " GPU-hours; with the cap " << clean << " kg in " << clean_hours
              << "\n";
    return clean < all && clean / clean_hours < all / hours ? 0 : 1;
}
