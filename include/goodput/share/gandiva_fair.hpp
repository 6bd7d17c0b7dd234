#ifndef GOODPUT_SHARE_GANDIVA_FAIR_HPP
#define GOODPUT_SHARE_GANDIVA_FAIR_HPP

// Equal shares in turns (Gandiva, OSDI'18, section 3: time-slicing; the fair share of the comparisons of
// Gavel and Shockwave, min(1, GPUs / jobs) of the time for everybody). The job comes first that has had its
// GPUs for the smallest part of its life,
//
//     part = attained GPU-seconds / GPUs / (age + turn)
//
// so that in the long run all have them for the same part. A job that runs is only overtaken by those that
// are behind it by more than a turn of its life.
//
// What differs from the published systems:
// - Shares count from the submission of a job on. Where the load has changed, a newcomer therefore has a lead
//   over those that had the cluster for themselves before. (Published: from the last change on, which asks
//   for the seconds that each job was entitled to.)
// - No packing of two jobs on one GPU: a GPU is held by one job here, and what two jobs on one make of it is
//   known to no model.
// - Each takes the fastest GPU type that is free in its turn; no trading of types.

#include <cstddef>
#include <span>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"

namespace goodput {

/// Everybody runs for the same part of the time; a RoundPolicy.
struct GandivaFair {
    /// Jobs run with the GPUs and batch size that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< its values only say who is served
    double turn_seconds = 360;  ///< how long a job runs on before others that have had as much get their turn

    /// Refuses a turn that is none (std::invalid_argument).
    void validate() const { require_positive("policy gandiva-fair", "turn", turn_seconds); }

    /// Values that give the queue what it takes.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const auto part = [&](const Job& job) {
            const double had = job.attained_gpu_seconds / job.max_gpus;
            const double lead = job.placement.empty() ? 0 : turn_seconds;
            return (had - lead) / (round.age_of(job) + turn_seconds);
        };
        const auto order = detail::ordered(rows, [&](const OptionRow& a, const OptionRow& b) {
            const double first = part(a.job), second = part(b.job);
            return first != second ? first < second : a.job.submitted_seconds < b.job.submitted_seconds;
        });
        detail::serve_in_order(round, rows, order, true);
    }
};

static_assert(RoundPolicy<GandivaFair>);

}  // namespace goodput

#endif
