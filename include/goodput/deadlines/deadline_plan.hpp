#ifndef GOODPUT_DEADLINES_DEADLINE_PLAN_HPP
#define GOODPUT_DEADLINES_DEADLINE_PLAN_HPP

// Plans over time: which jobs have how many GPUs when, and how much work that does.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/deadlines/deadline_job.hpp"

namespace goodput::inline v0_1 {

/// A period during which a job has the same GPUs.
struct PlannedPiece {
    std::size_t job = 0;       ///< index of the job
    HeldGpus held{};           ///< GPUs that the job has
    double from_seconds = 0;   ///< seconds from now
    double until_seconds = 0;  ///< seconds from now
};

/// A plan over time: pieces ordered by job, then by time. The pieces of one job do not overlap.
using DeadlinePlan = std::vector<PlannedPiece>;

namespace detail {

/// Visits the pieces of one job until its deadline: visit(piece, speed, seconds, restart seconds within
/// them). If the job cannot be moved yet, the first piece is the GPUs that it holds. That piece ends at
/// job.from_seconds, and no piece of a plan begins earlier.
template <class Visit>
void for_each_planned_run(const DeadlineJob& job, std::span<const PlannedPiece> pieces, Visit&& visit) {
    double end = 0, restart_left = job.restart_left_seconds;
    std::optional<HeldGpus> held = job.holds;
    bool same_nodes = held.has_value();  // whether the nodes are those held now
    const auto run_part = [&](const PlannedPiece& piece, bool goes_on) {
        const double seconds =
            std::max(0.0, std::min(piece.until_seconds, job.deadline_seconds) - piece.from_seconds);
        if (!goes_on) restart_left = job.restart_seconds + (piece.from_seconds > 0 ? job.late_seconds : 0);
        visit(piece, job.speed_on(piece.held), seconds, std::min(seconds, restart_left));
        restart_left = std::max(0.0, restart_left - (piece.until_seconds - piece.from_seconds));
        held = piece.held;
        end = piece.until_seconds;
    };
    const auto run = [&](PlannedPiece piece) {
        const bool goes_on = held == piece.held && piece.from_seconds <= end;
        same_nodes = same_nodes && goes_on;
        const bool left = same_nodes && piece.until_seconds > job.held_until_seconds;
        if (left && piece.from_seconds < job.held_until_seconds) {
            PlannedPiece before = piece;
            before.until_seconds = piece.from_seconds = job.held_until_seconds;
            run_part(before, true);
        }
        same_nodes = same_nodes && !left;
        run_part(piece, goes_on && !left);
    };
    if (job.holds && job.from_seconds > 0) run({0, *job.holds, 0, job.from_seconds});
    for (const PlannedPiece& piece : pieces) run(piece);
}

/// Returns the seconds from now until the pieces of one job have done all its work except the part
/// `rounding`. Returns infinity if this work is not done before the deadline.
inline double end_of_work(const DeadlineJob& job, std::span<const PlannedPiece> pieces, double rounding) {
    double left = job.work_left * (1 - rounding), end = std::numeric_limits<double>::infinity();
    if (left <= 0) return 0;
    for_each_planned_run(job, pieces,
                         [&](const PlannedPiece& piece, double speed, double seconds, double restart) {
                             const double work = speed * (seconds - restart);
                             if (left > 0 && work >= left) end = piece.from_seconds + restart + left / speed;
                             left -= work;
                         });
    return end;
}

/// Removes pieces that are no longer than the restart with which they begin, and everything after the job's
/// work is done, or after the slot in which it is done. Returns whether the work is done.
inline bool end_with_work(const DeadlineJob& job, DeadlinePlan& pieces, double slot_seconds) {
    if (job.restart_seconds > 0 || job.late_seconds > 0) {
        DeadlinePlan useful;
        for_each_planned_run(job, pieces,
                             [&](const PlannedPiece& piece, double, double seconds, double restart) {
                                 if (seconds > restart && piece.until_seconds > job.from_seconds)
                                     useful.push_back(piece);
                             });
        pieces = std::move(useful);
    }
    double end = end_of_work(job, pieces, 1e-12);
    if (std::isinf(end)) return false;
    if (slot_seconds > 0) end = std::ceil(end / slot_seconds - 1e-9) * slot_seconds;
    std::erase_if(pieces, [&](const PlannedPiece& piece) { return piece.from_seconds >= end; });
    // A remainder as short as a rounding error would be useless to other jobs.
    if (!pieces.empty() && pieces.back().until_seconds > end * (1 + 1e-9)) pieces.back().until_seconds = end;
    return true;
}

}  // namespace detail

/// Returns the work that the pieces of one job do before its deadline, in the job's unit. A piece loses the
/// job's restart, and late_seconds if it begins later than now, unless it continues on the GPUs of the
/// piece before, or on those that the job holds now. The work that the job does before it can be moved
/// (DeadlineJob::from_seconds) is included. `lost`, if given, receives the work that the job would have
/// done during its restarts.
inline double work_of(const DeadlineJob& job, std::span<const PlannedPiece> pieces, double* lost = nullptr) {
    double work = 0;
    if (lost) *lost = 0;
    detail::for_each_planned_run(job, pieces,
                                 [&](const PlannedPiece&, double speed, double seconds, double restart) {
                                     work += speed * (seconds - restart);
                                     if (lost) *lost += speed * restart;
                                 });
    return work;
}

/// Returns the seconds from now until the pieces of one job have done its work. Returns infinity if the
/// work is not done before the job's deadline, up to rounding.
inline double done_after(const DeadlineJob& job, std::span<const PlannedPiece> pieces) {
    return detail::end_of_work(job, pieces, 1e-7);
}

}  // namespace goodput::inline v0_1

#endif
