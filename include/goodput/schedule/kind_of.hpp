#ifndef GOODPUT_SCHEDULE_KIND_OF_HPP
#define GOODPUT_SCHEDULE_KIND_OF_HPP

// Which jobs are runs of one program, as far as their descriptions tell.

#include <string>

#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"

namespace goodput {

/// The name of a job's kind: the one that it states, or else one made of its limits and rates. Jobs of one
/// kind are believed to be runs of one program.
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

}  // namespace goodput

#endif
