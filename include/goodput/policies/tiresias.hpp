#ifndef GOODPUT_POLICIES_TIRESIAS_HPP
#define GOODPUT_POLICIES_TIRESIAS_HPP

// Tiresias' policy (Gu et al., NSDI'19, section 3: discretised two-dimensional least attained service). A
// job's service has two dimensions, GPUs and seconds. The policy does not know how long a job will last.
// With thresholds S_1 < S_2 < ... a job is in
//
//     queue q = number of thresholds S_i <= attained GPU-seconds
//
// Queue 0 is served first, then queue 1, and so on. Each queue is first in, first out. Every job gets all
// the GPUs for which it asked, or none, and loses them to jobs that come before it. Because there are few
// queues instead of a continuous order (policy/queue.hpp), jobs of similar service run one after the other,
// instead of each getting a little.
//
// Differences from the published system:
// - In every queue, the job that was submitted first comes first (published: in the lower queues, the job
//   that was demoted first).
// - Jobs that have waited long are not promoted (PROMOTEKNOB; off in the comparisons published since). The
//   variant with the Gittins index is missing, because it needs the distribution of service.
// - The placer chooses the nodes: always consolidated, with the fewest moves. On a mixed cluster, a waiting
//   job takes the free GPU type with the largest goodput when its turn comes; a running job keeps its type.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"

namespace goodput::inline v0_1 {

/// Queues by attained service, each first in, first out. It is a RoundPolicy.
struct Tiresias {
    /// A replay runs jobs with the GPUs and batch size for which their owners asked.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< false: values only say which jobs are served
    /// S_1 < S_2 < ..., in GPU-seconds. The default is 16 GPU-hours, as in the comparison published with
    /// Pollux. If empty, there is one queue.
    std::vector<double> thresholds_gpu_seconds{16 * 3600.0};
    bool backfill = true;  ///< whether later jobs may pass one that does not fit

    /// Throws std::invalid_argument if the thresholds do not increase.
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

    /// Returns the index of the queue to which a job belongs.
    [[nodiscard]] std::size_t queue_of(const Job& job) const {
        const auto first_above = std::upper_bound(thresholds_gpu_seconds.begin(),
                                                  thresholds_gpu_seconds.end(), job.attained_gpu_seconds);
        return static_cast<std::size_t>(first_above - thresholds_gpu_seconds.begin());
    }

    /// Sets values so that each job gets what it would take if the queues were served in order.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto order = detail::ordered(rows, [&](const OptionRow& row) { return queue_of(row.job); });
        detail::serve_in_order(round, rows, order, backfill);
    }
};

static_assert(RoundPolicy<Tiresias>);

}  // namespace goodput::inline v0_1

#endif
