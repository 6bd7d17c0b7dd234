// Fuzzes availability. Every set of interruptions, mechanism and interval is refused with a reason or has a
// useful share from 0 to 1, and no interval beats the best one. Observed periods are refused or fitted to
// interruptions that are valid input, and can be monitored.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "goodput/availability/availability.hpp"
#include "goodput/availability/interruption_change.hpp"
#include "goodput/availability/interruption_fit.hpp"
#include "goodput/availability/usual_mechanisms.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

Interruptions interruptions_from(fuzz::Bytes record) {
    Interruptions read{.per_hour = record.scale(1e-4, 1e3), .off_seconds = record.number(0, 6000)};
    const std::size_t kind = record.index(4);
    if (kind == 1) read.shape = record.scale(0.1, 10);
    if (kind == 2) read.shape = std::numeric_limits<double>::infinity();
    return read;
}

CheckpointMechanism mechanism_from(fuzz::Bytes record) {
    CheckpointMechanism read{
        .name = "one", .pause_seconds = record.scale(1e-3, 1e4), .restore_seconds = record.number(0, 1000)};
    const std::size_t kind = record.index(32);
    if (kind & 1) read.write_seconds = record.number(0, 1000);
    if (kind & 2) read.write_slowdown = record.number(0, 1);
    if (kind & 4) read.caught = record.number(0, 1);
    if (kind & 8) {
        read.kept = record.number(0, 1);
        read.stored_every = record.integer(0, most_stored_every / 4 + 1);
    }
    read.saves = kind != 16;
    return read;
}

/// Reads the rest of the input as periods of nodes.
void check_fit(fuzz::Bytes bytes) {
    ObservedPeriods seen;
    fuzz::Bytes head = bytes.record();
    const InterruptionPrior prior{.per_hour = head.scale(1e-4, 10),
                                  .off_seconds = head.scale(1, 1e4),
                                  .spread = head.number(0, 3),
                                  .shape_spread = head.scale(0.1, 1)};
    while (!bytes.empty() && seen.live_seconds.size() < 40) {
        fuzz::Bytes record = bytes.record();
        seen.live_seconds.push_back(record.scale(1, 1e6));
        if (record.flag()) seen.off_seconds.push_back(record.number(0, 1e4));
        if (record.flag()) seen.running_seconds.push_back(record.number(0, 1e6));
    }
    InterruptionFit fit;
    if (!fuzz::accepted([&] { fit = fit_interruptions(seen, prior); })) return;
    validate(fit.interruptions, "fitted");
    check(fit.per_hour.low <= fit.per_hour.high && fit.per_hour.low > 0, "rates", fit.per_hour.low,
          fit.per_hour.high);
    check(fit.off_seconds.low <= fit.off_seconds.high, "times off", fit.off_seconds.low,
          fit.off_seconds.high);
    check(fit.shape.low <= fit.shape.high, "shapes", fit.shape.low, fit.shape.high);
    fuzz::accepted([&] {
        InterruptionWatch watch(fit.interruptions, 100);
        for (const double live : seen.live_seconds) watch.observe(live);
        for (const double live : seen.running_seconds) watch.observe(0, live, false);
        check(watch.statistic() >= 0 && std::isfinite(watch.statistic()), "statistic", watch.statistic());
        check(watch.since() <= seen.live_seconds.size() + seen.running_seconds.size(), "since");
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    const Interruptions node = interruptions_from(bytes.record());
    const CheckpointMechanism how = mechanism_from(bytes.record());
    fuzz::Bytes asked = bytes.record();
    const double longest = asked.scale(1, 1e6);
    check_fit(bytes);
    if (!fuzz::accepted([&] { validate(node, "node"); })) return 0;
    if (!fuzz::accepted([&] { validate(how); })) return 0;
    const int nodes = asked.integer(1, 64);
    const Interruptions job = interruptions_of(node, nodes);
    check(job.per_hour >= node.per_hour, "more nodes, more interruptions", job.per_hour, node.per_hour);
    Checkpointing best;
    if (!fuzz::accepted([&] { best = best_checkpointing(job, how, longest); })) return 0;
    check(best.availability >= 0 && best.availability <= 1, "a part", best.availability);
    check(best.interval_seconds > 0 && best.interval_seconds <= longest, "an interval", best.interval_seconds,
          longest);
    for (int i = 0; i < 8; ++i) {
        const double interval = longest * asked.scale(1e-4, 1);
        if (!(interval > 0 && interval <= longest)) continue;
        const double share = useful_share(job, how, interval);
        check(share >= 0 && share <= 1, "a part", share);
        if (how.saves)
            check(best.availability >= share * 0.995 - 1e-9, "the best interval", best.availability, share);
    }
    const double seconds = expected_seconds(asked.number(0, 1e6), best);
    check(seconds >= 0, "expected seconds", seconds);
    return 0;
}
