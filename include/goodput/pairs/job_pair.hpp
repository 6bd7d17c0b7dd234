#ifndef GOODPUT_PAIRS_JOB_PAIR_HPP
#define GOODPUT_PAIRS_JOB_PAIR_HPP

// Two jobs of a round that may hold the same GPUs at the same time. Each job has a process on every one of
// these GPUs.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"

namespace goodput::inline v0_1 {

/// Two jobs of a snapshot, and how fast they are together.
struct JobPair {
    std::array<std::size_t, 2> jobs{};  ///< indices into Snapshot::jobs, two different ones
    /// By GPU type: speeds of the first and the second job while they run together, as fractions of their
    /// speeds alone on the same GPUs, from 0 to 2; {0, 0} if they do not run together there.
    std::vector<std::array<double, 2>> parts{};
    bool together = false;  ///< they hold the same GPUs now: both have the same placement

    /// Returns whether both jobs make progress while they run together on a GPU type.
    [[nodiscard]] bool runs_on(std::size_t gpu_type) const { return std::ranges::min(parts[gpu_type]) > 0; }
};

/// "pair of jobs 'a' and 'b'", for messages. Both jobs must exist.
[[nodiscard]] inline std::string name_of(const JobPair& pair, std::span<const Job> jobs) {
    return "pair of jobs '" + jobs[pair.jobs[0]].name + "' and '" + jobs[pair.jobs[1]].name + "'";
}

/// Throws std::invalid_argument, which names jobs, field and value, if a job does not exist or is paired
/// with itself, if the number of GPU types is wrong, if a part is out of range, or if the two jobs are
/// `together` but not on the same GPUs.
inline void validate(const JobPair& pair, std::span<const Job> jobs, const Cluster& cluster) {
    for (const std::size_t job : pair.jobs)
        if (job >= jobs.size())
            bad_input("pair", "jobs", job, "an index into the " + text_of(jobs.size()) + " jobs");
    const auto subject = [&] { return name_of(pair, jobs); };
    if (pair.jobs[0] == pair.jobs[1]) bad_input(subject(), "jobs", pair.jobs[0], "two different jobs");
    if (pair.parts.size() != cluster.gpu_types.size())
        bad_input(subject(), "number of parts", pair.parts.size(),
                  text_of(cluster.gpu_types.size()) + ", one for each GPU type of the cluster");
    for (std::size_t t = 0; t < pair.parts.size(); ++t)
        for (const double part : pair.parts[t]) {
            const auto on_type = [&] { return subject() + " on " + cluster.gpu_types[t]; };
            // No job gains much from sharing: a larger number must be a percentage or a rate.
            require_between(on_type, "part", part, 0, 2);
        }
    const Job &first = jobs[pair.jobs[0]], &second = jobs[pair.jobs[1]];
    if (pair.together && (first.placement.empty() || first.placement != second.placement))
        bad_input(subject(), "together", true, "false where they do not hold the same GPUs");
}

}  // namespace goodput::inline v0_1

#endif
