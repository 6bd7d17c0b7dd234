#ifndef GOODPUT_SCHEDULE_DETAIL_KIND_OF_HPP
#define GOODPUT_SCHEDULE_DETAIL_KIND_OF_HPP

// Finds jobs that are probably runs of one program, by their descriptions.

#include <algorithm>
#include <string>

#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"

namespace goodput::inline v0_1 {

/// Returns the name of a job's kind: the stated one, or else one composed of its limits and rates. Jobs of
/// one kind are assumed to be runs of one program.
[[nodiscard]] inline std::string kind_of(const Job& job) {
    if (!job.kind.empty()) return "kind " + job.kind;
    std::string key = "batch " + text_of(job.initial_batch);
    if (job.adaptivity != Adaptivity::batch) key.append(" target ").append(text_of(job.target_batch));
    for (const TypeLimits& type : job.types) {
        key.append("/").append(text_of(type.min_atomic_batch)).append("-");
        key.append(text_of(type.max_atomic_batch)).append("x").append(text_of(type.gpus_per_replica));
        key.append("@").append(text_of(type.reference_rate));
    }
    return key;
}

/// Whether two jobs are of one kind. This is faster than comparing kind_of() of both.
[[nodiscard]] inline bool same_kind(const Job& a, const Job& b) {
    if (!a.kind.empty() || !b.kind.empty()) return a.kind == b.kind;
    const auto same_target = (a.adaptivity == Adaptivity::batch) == (b.adaptivity == Adaptivity::batch) &&
                             (a.adaptivity == Adaptivity::batch || a.target_batch == b.target_batch);
    return same_target && a.initial_batch == b.initial_batch &&
           std::equal(a.types.begin(), a.types.end(), b.types.begin(), b.types.end(),
                      [](const TypeLimits& x, const TypeLimits& y) {
                          return x.min_atomic_batch == y.min_atomic_batch &&
                                 x.max_atomic_batch == y.max_atomic_batch &&
                                 x.gpus_per_replica == y.gpus_per_replica &&
                                 x.reference_rate == y.reference_rate;
                      });
}

}  // namespace goodput::inline v0_1

#endif
