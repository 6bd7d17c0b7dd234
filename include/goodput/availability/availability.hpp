#ifndef GOODPUT_AVAILABILITY_AVAILABILITY_HPP
#define GOODPUT_AVAILABILITY_AVAILABILITY_HPP

// Computes the third factor of goodput: the useful part of the time of a job that is interrupted. A live
// period is the time from the beginning of a restore until the next interruption. In a live period a job
// restores its state, then alternates between training for tau seconds and saving:
//
//     restore | train tau | pause | train tau | pause | ... interrupted | off | restore | ...
//                                 | write |               nothing after the last safe checkpoint counts
//
// Live periods are independent and identically distributed. So the useful part of the time is the work that
// one live period saves on average, divided by the mean length of a live period plus the time off (renewal
// reward). Let S(t) be the probability that a live period lasts at least t. Checkpoint j is safe with
// probability S(restore + j (tau + pause) + write). If interruptions strike at random, these probabilities
// are powers of one number, and their sum is that of Daly (Future Generation Computer Systems 22, 2006,
// equation 20). For Weibull periods the sum is computed numerically.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/availability/detail/checkpoint_reward.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// Returns the interruptions of a job that runs on `nodes` (at least 1) equal nodes and stops when any one
/// of them stops. Assumes that each node's live period began together with the job. The minimum of n
/// Weibull times of shape k is again a Weibull time, shorter by a factor of n^(1/k).
[[nodiscard]] inline Interruptions interruptions_of(const Interruptions& node, int nodes) {
    require_between("job", "nodes", nodes, 1, 1 << 30);
    Interruptions job = node;
    if (nodes > 1) job.per_hour *= node.shape == 1 ? nodes : std::pow(nodes, 1 / node.shape);
    return job;
}

/// Returns the useful part of a job's time, 0 to 1, with a checkpoint after every `interval_seconds` (above
/// 0, finite) of training. If writing the last checkpoint takes longer than that, intervals are extended.
/// For a mechanism that saves nothing, pass all the remaining work as the interval. Both structs must
/// satisfy validate(). Throws std::invalid_argument for invalid intervals.
[[nodiscard]] inline double useful_share(const Interruptions& job, const CheckpointMechanism& mechanism,
                                         double interval_seconds) {
    require_positive("checkpoints", "interval_seconds", interval_seconds);
    return detail::CheckpointReward(job, mechanism).useful_share(interval_seconds);
}

/// Returns the interval with the largest useful share, at most `longest_seconds` (above 0, finite), for
/// example the work that the job has left. If interruptions strike at random and a checkpoint costs only
/// its pause, the solution has a closed form (Lambert's W, as in Daly's derivation); otherwise it is found
/// by search.
[[nodiscard]] inline Checkpointing best_checkpointing(const Interruptions& job,
                                                      const CheckpointMechanism& mechanism,
                                                      double longest_seconds) {
    require_positive("checkpoints", "longest_seconds", longest_seconds);
    return detail::CheckpointReward(job, mechanism).best(longest_seconds);
}

/// Returns the mechanism with the largest useful share at its best interval; the first one among equals.
/// Throws std::invalid_argument if there is no mechanism.
[[nodiscard]] inline Checkpointing best_checkpointing(const Interruptions& job,
                                                      std::span<const CheckpointMechanism> mechanisms,
                                                      double longest_seconds) {
    if (mechanisms.empty()) bad_input("checkpoints", "mechanisms", 0, "at least one");
    Checkpointing best{0, 0, -1};
    for (std::size_t m = 0; m < mechanisms.size(); ++m) {
        Checkpointing found = best_checkpointing(job, mechanisms[m], longest_seconds);
        found.mechanism = m;
        if (found.availability > best.availability) best = found;
    }
    return best;
}

/// Returns the useful part of the time of a job that still has `left_seconds` (above 0, finite) to train.
/// It trains whole intervals, then a remainder of at most one interval that ends with the job instead of a
/// checkpoint. A job with less work left than an interval takes no checkpoint. Intervals are as for
/// useful_share().
[[nodiscard]] inline double useful_share_until_end(const Interruptions& job,
                                                   const CheckpointMechanism& mechanism,
                                                   double interval_seconds, double left_seconds) {
    require_positive("checkpoints", "left_seconds", left_seconds);
    const double interval =
        mechanism.saves ? std::max(interval_seconds, mechanism.write_seconds) : interval_seconds;
    const double whole = std::ceil(left_seconds / interval) - 1;
    const double in_whole = useful_share(job, mechanism, interval);
    if (whole > 1e6) return in_whole;
    CheckpointMechanism none = mechanism;
    none.pause_seconds = none.write_seconds = none.write_slowdown = 0;
    none.stored_every = 1;
    const double rest = left_seconds - whole * interval;
    const double of_rest = useful_share(job, none, rest);
    if (!(of_rest > 0) || (whole > 0 && !(in_whole > 0))) return 0;
    return left_seconds / ((whole > 0 ? whole * interval / in_whole : 0) + rest / of_rest);
}

/// Returns the interval with the largest useful share until the end, for a job with `left_seconds` (above
/// 0, finite) to train. `long_run_seconds` is the best interval for a job that trains forever. If it is
/// best to take no checkpoint, the interval is at least as long as the work left.
[[nodiscard]] inline Checkpointing best_checkpointing_until_end(const Interruptions& job,
                                                                const CheckpointMechanism& mechanism,
                                                                double long_run_seconds,
                                                                double left_seconds) {
    const auto at = [&](double interval) {
        return Checkpointing{0, interval, useful_share_until_end(job, mechanism, interval, left_seconds)};
    };
    Checkpointing best = at(long_run_seconds);
    const double start = std::max(std::round(left_seconds / long_run_seconds), 1.0);
    if (!mechanism.saves || start > 1e6) return best;
    // An additional second nearly always costs more in a whole interval than in the remainder, so intervals
    // of equal length are best.
    const auto consider = [&](double parts) {
        // Slightly longer, so that rounding does not add another interval.
        const Checkpointing here = at(std::max(left_seconds / parts * (1 + 1e-12), mechanism.write_seconds));
        if (here.availability > best.availability) best = here;
        return here.availability;
    };
    const double of_start = consider(start);
    consider(1);
    for (const double step : {-1.0, 1.0})
        for (double parts = start + step, before = of_start; parts >= 1; parts += step) {
            const double here = consider(parts);
            if (!(here > before)) break;
            before = here;
        }
    return best;
}

/// Returns the expected number of seconds that `work_seconds` of work take in the long run, where work is
/// at least 0 and is counted without interruptions and checkpoints. Returns infinity if nothing is ever
/// saved.
[[nodiscard]] inline double expected_seconds(double work_seconds, const Checkpointing& how) {
    require_at_least("checkpoints", "work_seconds", work_seconds, 0);
    if (work_seconds == 0) return 0;
    return how.availability > 0 ? work_seconds / how.availability : std::numeric_limits<double>::infinity();
}

}  // namespace goodput::inline v0_1

#endif
