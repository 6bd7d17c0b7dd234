#ifndef GOODPUT_AVAILABILITY_AVAILABILITY_HPP
#define GOODPUT_AVAILABILITY_AVAILABILITY_HPP

// The third factor of goodput: the useful part of a job's time where it is interrupted. In a live period a
// job restores its state, then trains and saves it in turns:
//
//     restore | train tau | pause | train tau | pause | ... interrupted | off | restore | ...
//                                 | write |               nothing after the last safe checkpoint counts
//
// Live periods are alike and independent, so the useful part of the time is the work that one leaves behind
// on average, over its mean length and the time off (renewal reward). With S(t) the probability that it lasts
// t, checkpoint j is safe with probability S(restore + j (tau + pause) + write). For periods that end at
// random these are powers of one number, and the sum is that of Daly (Future Generation Computer Systems 22,
// 2006, equation 20); for Weibull periods it is summed up.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/availability/detail/checkpoint_reward.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput {

/// The interruptions of a job that runs on `nodes` (at least 1) nodes alike and stops when any of them does,
/// each as if it began when the job does. The least of n Weibull times of one shape k is one of them
/// shortened by n^(1/k).
[[nodiscard]] inline Interruptions interruptions_of(const Interruptions& node, int nodes) {
    require_between("job", "nodes", nodes, 1, 1 << 30);
    Interruptions job = node;
    if (nodes > 1) job.per_hour *= node.shape == 1 ? nodes : std::pow(nodes, 1 / node.shape);
    return job;
}

/// The useful part of a job's time, 0 to 1, with a checkpoint after every `interval_seconds` (above 0,
/// finite) of training; longer ones where writing the last checkpoint takes longer. A mechanism that saves
/// nothing is asked with all the work that there is as its interval. Both structs as validate() wants them;
/// bad intervals are refused (std::invalid_argument).
[[nodiscard]] inline double useful_share(const Interruptions& job, const CheckpointMechanism& mechanism,
                                         double interval_seconds) {
    require_positive("checkpoints", "interval_seconds", interval_seconds);
    return detail::CheckpointReward(job, mechanism).useful_share(interval_seconds);
}

/// The interval of largest useful share, at most `longest_seconds` (above 0, finite): what the job has left
/// to do, say. In closed form where interruptions strike at random and all of a checkpoint's cost is its
/// pause (Lambert's W, as Daly's derivation ends), otherwise by search.
[[nodiscard]] inline Checkpointing best_checkpointing(const Interruptions& job,
                                                      const CheckpointMechanism& mechanism,
                                                      double longest_seconds) {
    require_positive("checkpoints", "longest_seconds", longest_seconds);
    return detail::CheckpointReward(job, mechanism).best(longest_seconds);
}

/// The mechanism of largest useful share at its best interval; the first of equals. Refuses none
/// (std::invalid_argument).
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

/// The useful part of the time of a job that has `left_seconds` (above 0, finite) still to train: whole
/// intervals, and a rest that is no longer than one and ends with the job instead of a checkpoint. Whoever
/// has less left than an interval takes no checkpoint at all. Intervals as useful_share() takes them.
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

/// The interval of largest useful share until the end, for a job with `left_seconds` (above 0, finite) to
/// train, from `long_run_seconds`, the best interval of one that trains for ever. Where no checkpoint is best
/// the interval is at least as long as what is left.
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
    // A second nearly always costs more in a whole interval than in the rest, so that all are equally long.
    const auto consider = [&](double parts) {
        // A little longer, so that rounding does not make one part more of it.
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

/// Seconds that work of so many seconds (at least 0, without interruptions or checkpoints) is expected to
/// take in the long run; infinite where nothing is ever saved.
[[nodiscard]] inline double expected_seconds(double work_seconds, const Checkpointing& how) {
    require_at_least("checkpoints", "work_seconds", work_seconds, 0);
    if (work_seconds == 0) return 0;
    return how.availability > 0 ? work_seconds / how.availability : std::numeric_limits<double>::infinity();
}

}  // namespace goodput

#endif
