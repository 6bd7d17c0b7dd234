#ifndef GOODPUT_DEADLINES_DEADLINE_PLAN_HPP
#define GOODPUT_DEADLINES_DEADLINE_PLAN_HPP

// Who has how many GPUs when, and how much work that does.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "goodput/deadlines/deadline_job.hpp"

namespace goodput {

/// A job has the same GPUs from one moment to another, in seconds from now.
struct PlannedPiece {
    std::size_t job = 0;
    HeldGpus held{};
    double from_seconds = 0;
    double until_seconds = 0;
};

/// A plan over time: pieces by job, then by time; those of one job do not overlap.
using DeadlinePlan = std::vector<PlannedPiece>;

/// The work that pieces of one job do before its deadline, in the job's unit. A piece loses the job's
/// restart, unless it goes on with the GPUs of the piece before, or with those that the job holds now.
/// `lost`, where given, receives the work that the restarts would have done.
inline double work_of(const DeadlineJob& job, std::span<const PlannedPiece> pieces, double* lost = nullptr) {
    double work = 0;
    if (lost) *lost = 0;
    double end = 0;
    std::optional<HeldGpus> held = job.holds;
    for (const PlannedPiece& piece : pieces) {
        const double speed = job.speed_on(piece.held);
        const double seconds =
            std::max(0.0, std::min(piece.until_seconds, job.deadline_seconds) - piece.from_seconds);
        const bool goes_on = held == piece.held && piece.from_seconds <= end;
        const double restart = goes_on ? 0 : std::min(seconds, job.restart_seconds);
        work += speed * (seconds - restart);
        if (lost) *lost += speed * restart;
        held = piece.held;
        end = piece.until_seconds;
    }
    return work;
}

}  // namespace goodput

#endif
