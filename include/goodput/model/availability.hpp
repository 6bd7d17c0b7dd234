#ifndef GOODPUT_MODEL_AVAILABILITY_HPP
#define GOODPUT_MODEL_AVAILABILITY_HPP

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

#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/model/detail/checkpoint_reward.hpp"

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
    require_positive("checkpoints", "interval_s", interval_seconds);
    return detail::CheckpointReward(job, mechanism).useful_share(interval_seconds);
}

/// Young's rule: the square root of twice what a checkpoint costs times the mean live period; seconds.
/// Infinite where there are no interruptions. First-order: cheap checkpoints, rare interruptions
/// (Communications of the ACM 17, 1974).
[[nodiscard]] inline double young_interval(const Interruptions& job, const CheckpointMechanism& mechanism) {
    if (job.per_hour == 0) return std::numeric_limits<double>::infinity();
    return std::sqrt(2 * mechanism.pause_seconds * 3600 / job.per_hour);
}
/// Daly's higher-order estimate (2006, equation 37); seconds. Infinite where there are no interruptions.
[[nodiscard]] inline double daly_interval(const Interruptions& job, const CheckpointMechanism& mechanism) {
    const double mean = 3600 / job.per_hour, ratio = mechanism.pause_seconds / (2 * mean);
    if (ratio >= 1) return mean;
    return young_interval(job, mechanism) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - mechanism.pause_seconds;
}

/// The interval of largest useful share, at most `longest_seconds` (above 0, finite): what the job has left
/// to do, say. In closed form where interruptions strike at random and all of a checkpoint's cost is its
/// pause (Lambert's W, as Daly's derivation ends), otherwise by search.
[[nodiscard]] inline Checkpointing best_checkpointing(const Interruptions& job,
                                                      const CheckpointMechanism& mechanism,
                                                      double longest_seconds) {
    require_positive("checkpoints", "longest interval_s", longest_seconds);
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

/// Seconds that work of so many seconds (at least 0, without interruptions or checkpoints) is expected to
/// take in the long run; infinite where nothing is ever saved.
[[nodiscard]] inline double expected_seconds(double work_seconds, const Checkpointing& how) {
    require_at_least("checkpoints", "work_s", work_seconds, 0);
    if (work_seconds == 0) return 0;
    return how.availability > 0 ? work_seconds / how.availability : std::numeric_limits<double>::infinity();
}

}  // namespace goodput

#endif
