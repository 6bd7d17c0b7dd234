// From a log of lost nodes to the checkpoints of a job: how often, by which mechanism, and how much of the
// time is useful.

#include <goodput/availability/availability.hpp>
#include <goodput/availability/interruption_change.hpp>
#include <goodput/availability/interruption_fit.hpp>
#include <goodput/availability/usual_mechanisms.hpp>
#include <iostream>
#include <vector>

using namespace goodput;

int main() {
    // [fit]
    ObservedPeriods log;  // of eight spot nodes over two days
    for (const double hours : {31.0, 6.5, 11.0, 40.0, 3.0, 22.0, 17.5, 9.0, 28.0})
        log.live_seconds.push_back(3600 * hours);
    for (const double hours : {10.0, 41.0, 37.0, 8.0, 45.0, 26.0, 20.0, 29.0})
        log.running_seconds.push_back(3600 * hours);
    log.off_seconds = {400, 900, 250, 700, 620, 480, 1100, 330, 560};
    const InterruptionFit fit = fit_interruptions(log);
    std::cout << "a node runs " << 1 / fit.interruptions.per_hour << " h, between " << 1 / fit.per_hour.high
              << " and " << 1 / fit.per_hour.low << "; then " << fit.interruptions.off_seconds << " s off\n";
    // [/fit]

    // [choose]
    const Interruptions job = interruptions_of(fit.interruptions, 4);  // any of four nodes stops it
    const std::vector<CheckpointMechanism> mechanisms =
        usual_mechanisms({.state_gib = 120, .nodes = 4, .gpus_per_node = 8});
    for (const CheckpointMechanism& how : mechanisms) {
        const Checkpointing best = best_checkpointing(job, how, 86400);
        std::cout << how.name << ": every " << best.interval_seconds / 60 << " min, "
                  << 100 * best.availability << " % of the time is useful\n";
    }
    const Checkpointing best = best_checkpointing(job, mechanisms, 86400);
    std::cout << "chosen: " << mechanisms[best.mechanism].name << "; ten hours of work take "
              << expected_seconds(36000, best) / 3600 << " h\n";
    // [/choose]

    // [watch]
    InterruptionWatch watch(fit.interruptions, 200);  // a false alarm in 200 interruptions, at most
    std::size_t seen = 0;
    for (const double hours : {20.0, 35.0, 12.0, 3.0, 5.0, 2.0, 4.0, 1.0, 6.0, 2.5, 3.5, 1.5}) {
        watch.observe(3600 * hours);
        ++seen;
        if (!watch.changed()) continue;
        std::cout << "after " << seen << " interruptions: " << watch.factor()
                  << " times as often as fitted, since the first " << watch.since() << "\n";
        break;
    }
    // [/watch]
    return 0;
}
