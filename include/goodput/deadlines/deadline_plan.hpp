#ifndef GOODPUT_DEADLINES_DEADLINE_PLAN_HPP
#define GOODPUT_DEADLINES_DEADLINE_PLAN_HPP

// Who has how many GPUs when, and how much work that does.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/deadlines/deadline_job.hpp"

namespace goodput {

/// A job has the same GPUs from one moment to another, in seconds from now.
struct PlannedPiece {
    std::size_t job = 0;       ///< its index
    HeldGpus held{};           ///< what it has
    double from_seconds = 0;   ///< from now
    double until_seconds = 0;  ///< from now
};

/// A plan over time: pieces by job, then by time; those of one job do not overlap.
using DeadlinePlan = std::vector<PlannedPiece>;

namespace detail {

/// Goes through the pieces of one job until its deadline: visit(piece, speed, seconds, restart seconds in
/// them). The first piece is what it holds for as long as it cannot be moved; it ends at job.from_seconds,
/// before which no piece of a plan begins.
template <class Visit>
void for_each_planned_run(const DeadlineJob& job, std::span<const PlannedPiece> pieces, Visit&& visit) {
    double end = 0, restart_left = job.restart_left_seconds;
    std::optional<HeldGpus> held = job.holds;
    bool same_nodes = held.has_value();  // as now
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

/// Seconds from now until pieces of one job have done its work but for this part of it; infinity where they
/// do not do it before its deadline.
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

/// Takes off pieces that are over before the restart is, and what comes after a job's work is done, or after
/// the slot in which it is done; returns whether it is done.
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
    // A rest as short as a rounding error would be of no use to others.
    if (!pieces.empty() && pieces.back().until_seconds > end * (1 + 1e-9)) pieces.back().until_seconds = end;
    return true;
}

}  // namespace detail

/// The work that pieces of one job do before its deadline, in the job's unit. A piece loses the job's
/// restart, unless it goes on with the GPUs of the piece before, or with those that the job holds now. What
/// the job does before it can be moved (DeadlineJob::from_seconds) is part of it.
/// `lost`, where given, receives the work that the restarts would have done.
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

/// Seconds from now until pieces of one job have done its work; infinity where they do not do it before its
/// deadline, but for a rounding error of it.
inline double done_after(const DeadlineJob& job, std::span<const PlannedPiece> pieces) {
    return detail::end_of_work(job, pieces, 1e-7);
}

}  // namespace goodput

#endif
