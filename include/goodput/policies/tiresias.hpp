#ifndef GOODPUT_POLICIES_TIRESIAS_HPP
#define GOODPUT_POLICIES_TIRESIAS_HPP

// Tiresias' policy (Gu et al., NSDI'19, section 3: discretised two-dimensional least attained service). A
// job's service is two-dimensional, GPUs times seconds; of how long it will last nothing is known. With
// thresholds S_1 < S_2 < ... a job stands in
//
//     queue q = number of thresholds S_i <= attained GPU-seconds
//
// Queue 0 is served first, then queue 1, ...; within a queue, first in, first out. Every job gets all the
// GPUs that it asked for or none, and loses them to whoever stands before it. Few queues instead of a
// continuous order (policy/queue.hpp) let jobs of like service run one after the other instead of all a
// little.
//
// What differs from the published system:
// - First in within every queue is who was submitted first (published: in the lower queues, who was demoted
//   first).
// - No promotion of jobs that have starved (PROMOTEKNOB; off in the comparisons published since), no Gittins
//   index, which needs the distribution of service.
// - Placement is the placer's: always consolidated, with the fewest moves. On a mixed cluster a job takes the
//   GPU type of largest goodput that is free when its turn comes, and keeps the one that it holds.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"

namespace goodput {

/// Queues by attained service, first in, first out in each; a RoundPolicy.
struct Tiresias {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    /// S_1 < S_2 < ..., in GPU-seconds; 16 GPU-hours as in the comparison published with Pollux. None: one
    /// queue.
    std::vector<double> thresholds_gpu_seconds{16 * 3600.0};
    bool backfill = true;  ///< lets later jobs pass one that does not fit

    /// Refuses thresholds that do not rise (std::invalid_argument).
    void validate() const {
        double last = 0;
        for (const double threshold : thresholds_gpu_seconds) {
            require_positive("policy tiresias", "thresholds", threshold);
            if (threshold <= last)
                bad_input("policy tiresias", "thresholds", threshold,
                          "above the one before it, " + text_of(last));
            last = threshold;
        }
    }

    /// The queue in which a job stands.
    [[nodiscard]] std::size_t queue_of(const Job& job) const {
        const auto first_above = std::upper_bound(thresholds_gpu_seconds.begin(),
                                                  thresholds_gpu_seconds.end(), job.attained_gpu_seconds);
        return static_cast<std::size_t>(first_above - thresholds_gpu_seconds.begin());
    }

    /// Values that give the queues what they take.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto order = detail::ordered(rows, [&](const OptionRow& row) { return queue_of(row.job); });
        detail::serve_in_order(round, rows, order, backfill);
    }
};

static_assert(RoundPolicy<Tiresias>);

}  // namespace goodput

#endif
