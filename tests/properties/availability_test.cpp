// Properties of any interruptions and mechanisms: the unit of time and mechanisms that are never better
// make no difference, and no interval or single mechanism beats the best.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "goodput/availability/availability.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;

namespace {

double between_powers(Case& one, double low, double high) {
    return std::pow(10, one.random.between(low, high));
}

Interruptions random_interruptions(Case& one) {
    Interruptions drawn{.per_hour = between_powers(one, -4, 3)};
    if (one.random.chance(0.5)) drawn.off_seconds = between_powers(one, 0, 4);
    if (one.random.chance(0.2)) drawn.shape = between_powers(one, -0.7, 0.7);
    if (one.random.chance(0.2)) drawn.shape = std::numeric_limits<double>::infinity();
    return drawn;
}

CheckpointMechanism random_mechanism(Case& one) {
    CheckpointMechanism drawn{.pause_seconds = between_powers(one, -3, 3)};
    if (one.random.chance(0.5)) drawn.restore_seconds = between_powers(one, 0, 3);
    if (one.random.chance(0.4)) {
        drawn.write_seconds = between_powers(one, 0, 3);
        drawn.write_slowdown = one.random.unit();
    }
    if (one.random.chance(0.3)) drawn.caught = one.random.unit();
    if (one.random.chance(0.3)) {
        drawn.kept = one.random.unit();
        drawn.stored_every = one.random.integer(1, 12);
    }
    drawn.saves = !one.random.chance(0.05);
    return drawn;
}

}  // namespace

TEST_CASE("availability: seconds in another unit, a power of two, are the same share") {
    for_all(5, [](Case& one) {
        const Interruptions job = random_interruptions(one);
        const CheckpointMechanism how = random_mechanism(one);
        const double longest = between_powers(one, 1, 6), unit = one.random.chance(0.5) ? 4 : 0.125;
        Interruptions other = job;
        other.per_hour /= unit;
        other.off_seconds *= unit;
        CheckpointMechanism changed = how;
        changed.pause_seconds *= unit;
        changed.write_seconds *= unit;
        changed.restore_seconds *= unit;
        const Checkpointing best = best_checkpointing(job, how, longest);
        const Checkpointing again = best_checkpointing(other, changed, unit * longest);
        REQUIRE(again.availability == best.availability);
        REQUIRE(again.interval_seconds == unit * best.interval_seconds);
    });
}

TEST_CASE("availability: no interval and no other mechanism is better than the best") {
    for_all(5, [](Case& one) {
        const Interruptions job = random_interruptions(one);
        std::vector<CheckpointMechanism> mechanisms;
        for (int m = one.random.integer(1, 5); m > 0; --m) mechanisms.push_back(random_mechanism(one));
        const double longest = between_powers(one, 1, 6);
        const Checkpointing best = best_checkpointing(job, mechanisms, longest);
        REQUIRE(best.mechanism < mechanisms.size());
        REQUIRE(best.interval_seconds <= longest);
        for (const CheckpointMechanism& how : mechanisms) {
            if (!how.saves) continue;
            const double interval = longest * between_powers(one, -5, 0);
            REQUIRE(useful_share(job, how, interval) <= best.availability * 1.002 + 1e-9);
        }
        CheckpointMechanism worse = mechanisms[best.mechanism];
        worse.restore_seconds += between_powers(one, 0, 3);
        mechanisms.push_back(worse);
        REQUIRE(best_checkpointing(job, mechanisms, longest).availability <=
                best.availability * 1.002 + 1e-9);
    });
}

TEST_CASE("availability: almost no interval is better than the best one, even for the time to the end") {
    for_all(20, [](Case& one) {
        // Usual values: at most one interruption every twenty minutes, and checkpoints of at most two
        // minutes.
        const Interruptions job{.per_hour = between_powers(one, -3, 0.5)};
        CheckpointMechanism how{.pause_seconds = between_powers(one, -1, 2.1)};
        if (one.random.chance(0.5)) how.write_seconds = between_powers(one, 0, 2.3);
        if (one.random.chance(0.3)) how.caught = one.random.unit();
        const double left = between_powers(one, 2.5, 6),
                     long_run = best_checkpointing(job, how, 30 * 86400.0).interval_seconds;
        const Checkpointing best = best_checkpointing_until_end(job, how, long_run, left);
        REQUIRE(best.availability == useful_share_until_end(job, how, best.interval_seconds, left));
        // Tries intervals of all lengths, and those close to all numbers of equal parts.
        for (int i = 0; i < 40; ++i) {
            const double interval = i % 2 == 0
                                        ? left * between_powers(one, -4, 0.5)
                                        : left / one.random.integer(1, 20) * between_powers(one, -0.05, 0.05);
            REQUIRE(useful_share_until_end(job, how, interval, left) <= best.availability * (1 + 2e-3));
        }
    });
}

TEST_CASE("availability: more nodes lose more, and a notice at every interruption loses no work") {
    for_all(5, [](Case& one) {
        const Interruptions node = random_interruptions(one);
        const int nodes = one.random.integer(2, 64);
        const Interruptions job = interruptions_of(node, nodes);
        CheckpointMechanism how = random_mechanism(one);
        if (!how.saves) return;
        // If `longest` binds, a restart ends a write that slows the job down.
        const double longest = between_powers(one, 6, 7);
        const double alone = best_checkpointing(node, how, longest).availability;
        REQUIRE(best_checkpointing(job, how, longest).availability <= alone * 1.002 + 1e-9);
        how.caught = 1;
        REQUIRE(best_checkpointing(node, how, longest).availability >= alone * 0.998 - 1e-9);
    });
}
