#ifndef GOODPUT_TESTS_AVAILABILITY_INTERRUPTED_JOB_HPP
#define GOODPUT_TESTS_AVAILABILITY_INTERRUPTED_JOB_HPP

// Simulates an interrupted job event by event, without the formulas of availability/availability.hpp.
// Progress is in seconds of training, and a checkpoint is just the progress that it holds.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "goodput/core/interruptions.hpp"

namespace test {

/// Draws numbers in (0, 1), all equally likely.
class Draws {
public:
    explicit Draws(std::uint64_t seed) : state_(seed) {}
    double next() {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t x = state_;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        x ^= x >> 31;
        return (static_cast<double>(x >> 11) + 0.5) / 9007199254740992.0;
    }

private:
    std::uint64_t state_;
};

/// Draws the seconds of a live period.
inline double draw_live_seconds(const goodput::Interruptions& job, Draws& draws) {
    const double mean = 3600 / job.per_hour;
    if (std::isinf(job.shape)) return mean;
    return mean / std::tgamma(1 + 1 / job.shape) * std::pow(-std::log(draws.next()), 1 / job.shape);
}

/// Returns the interval by Young's rule, in seconds: the root of twice the cost of a checkpoint times the
/// mean live period. First-order: for cheap checkpoints, rare interruptions (CACM 17, 1974).
inline double young_interval(const goodput::Interruptions& job, const goodput::CheckpointMechanism& how) {
    return std::sqrt(2 * how.pause_seconds * 3600 / job.per_hour);
}
/// Daly's higher-order estimate in seconds (Future Generation Computer Systems 22, 2006, equation 37).
inline double daly_interval(const goodput::Interruptions& job, const goodput::CheckpointMechanism& how) {
    const double mean = 3600 / job.per_hour, ratio = how.pause_seconds / (2 * mean);
    if (ratio >= 1) return mean;
    return young_interval(job, how) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - how.pause_seconds;
}

/// The useful part of the time, and its uncertainty.
struct SimulatedShare {
    double share = 0;
    double deviation = 0;  ///< standard deviation of `share`
    double periods = 0;    ///< number of simulated live periods
};

/// Simulates live periods until the relative standard deviation of the share is `wanted`, or until `most`
/// turns of training are done.
inline SimulatedShare simulate(const goodput::Interruptions& job, const goodput::CheckpointMechanism& how,
                               double interval, std::uint64_t seed, double wanted, double most) {
    Draws draws(seed);
    const bool saves = how.saves;
    const double pause = saves ? how.pause_seconds : 0;
    if (saves) interval = std::max(interval, how.write_seconds);
    double in_memory = 0, in_storage = 0;  // progress in the last checkpoint, and in the last stored one
    int since_stored = 0;
    double turns = 0;
    std::vector<double> gains, lengths;
    double squares = 0;  // sum over batches of (gain - share * length)^2
    double batch_gain = 0, batch_time = 0;
    for (int period = 1;; ++period) {
        const double before = std::min(in_memory, 1e300);
        const double live = draw_live_seconds(job, draws);
        double now = how.restore_seconds, progress = in_memory;
        double pending = -1, pending_at = 0;  // the checkpoint that is being written
        const auto settle = [&](double until) {
            if (pending < 0 || pending_at > until * (1 + 1e-9)) return;
            in_memory = pending;
            pending = -1;
            if (++since_stored >= how.stored_every) {
                in_storage = in_memory;
                since_stored = 0;
            }
        };
        while (now < live) {
            ++turns;
            // Trains, more slowly while a checkpoint is written.
            double slow = pending >= 0 ? std::min(pending_at - now, interval) : 0;
            slow = std::clamp(slow, 0.0, interval);
            const double until = std::min(now + interval, live), worked = until - now;
            progress += worked - how.write_slowdown * std::min(worked, slow);
            settle(until);
            now += interval;
            if (now > live) break;
            now += pause;
            if (now > live * (1 + 1e-9)) break;
            settle(now);
            pending = progress;
            pending_at = now + (saves ? how.write_seconds : 0);
            settle(now);
        }
        settle(live);
        if (how.caught > 0 && draws.next() < how.caught) {
            in_memory = in_storage = progress;
            since_stored = 0;
        } else if (saves && how.stored_every > 1 && draws.next() >= how.kept) {
            in_memory = in_storage;
            since_stored = 0;
        }
        batch_gain += in_memory - before;
        batch_time += live + job.off_seconds;
        if (period % 64 == 0) {
            gains.push_back(batch_gain);
            lengths.push_back(batch_time);
            batch_gain = batch_time = 0;
            if (gains.size() % 16 == 0) {
                double gain = 0, length = 0;
                for (std::size_t i = 0; i < gains.size(); ++i) gain += gains[i], length += lengths[i];
                const double share = gain / length;
                squares = 0;
                for (std::size_t i = 0; i < gains.size(); ++i) {
                    const double off = gains[i] - share * lengths[i];
                    squares += off * off;
                }
                const double deviation = std::sqrt(squares) / length;
                if (deviation <= wanted * share || turns > most || period > 2e7)
                    return {share, deviation, static_cast<double>(period)};
            }
        }
    }
}

/// One of many cases: rate x cost x interval x mechanism x shape; two fifths of them have shape 1.
struct InterruptedCase {
    goodput::Interruptions job{};
    goodput::CheckpointMechanism how{};
    double interval = 0;
};
inline InterruptedCase interrupted_case(int index) {
    Draws draws(1000003u * static_cast<std::uint64_t>(index) + 17);
    const auto between = [&](double low, double high) {  // uniform in the logarithm
        return low * std::pow(high / low, draws.next());
    };
    InterruptedCase it;
    it.job.per_hour = between(0.01, 60);
    const double mean = 3600 / it.job.per_hour;
    it.job.off_seconds = draws.next() < 0.5 ? 0 : between(1e-3, 3) * mean;
    const double shapes[] = {1, 1, 0.6, 2.5, std::numeric_limits<double>::infinity()};
    it.job.shape = shapes[index % 5];
    it.how.name = "case " + std::to_string(index);
    // Up to costs of twice the live period and more, which leave next to nothing.
    it.how.pause_seconds = between(1e-4, 2) * mean;
    it.how.restore_seconds = draws.next() < 0.5 ? 0 : between(1e-3, 2) * mean;
    it.interval = between(1e-2, 3) * mean;
    if (draws.next() < 0.3) it.how.caught = draws.next();
    if (draws.next() < 0.4) {
        it.how.write_seconds = between(1e-3, 1) * mean;
        it.how.write_slowdown = draws.next() < 0.5 ? draws.next() : 0;
    }
    if (draws.next() < 0.3) {
        it.how.kept = draws.next();
        it.how.stored_every = 1 + static_cast<int>(draws.next() * 10);
    }
    if (draws.next() < 0.05) it.how.saves = false;
    return it;
}

}  // namespace test

#endif
