#ifndef GOODPUT_SCHEDULE_MOVE_COST_HPP
#define GOODPUT_SCHEDULE_MOVE_COST_HPP

// What it costs a job to get the same GPUs on other nodes.

#include <algorithm>
#include <cstddef>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

/// Seconds that a move of a job costs, as far as placers take them.
inline double move_cost(const Job& job) { return std::min(job.restart_cost_seconds, 1e9); }

/// Whether a configuration has the GPUs that the job of that index holds.
inline bool is_held(const Snapshot& snapshot, std::size_t j, const Configuration& configuration) {
    return configuration.same_gpus(configuration_of(snapshot.jobs[j].placement, snapshot.cluster));
}

/// Who holds the same GPUs, but on other nodes, pays for the move.
inline double move_cost_of(const Snapshot& snapshot, std::size_t j, const Placement& placement) {
    const Job& job = snapshot.jobs[j];
    const bool moves = !job.placement.empty() && placement != job.placement &&
                       is_held(snapshot, j, configuration_of(placement, snapshot.cluster));
    return moves ? move_cost(job) : 0;
}

}  // namespace goodput::detail

#endif
