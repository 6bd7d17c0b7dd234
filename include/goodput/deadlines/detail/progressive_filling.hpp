#ifndef GOODPUT_DEADLINES_DETAIL_PROGRESSIVE_FILLING_HPP
#define GOODPUT_DEADLINES_DETAIL_PROGRESSIVE_FILLING_HPP

// Makes a plan job by job. This is quick, changes GPUs rarely, and suffices if there is plenty of room.
//
// A level is a number of GPUs at which a job can run. While fewer GPUs are free, a job at this level runs
// on the largest number of GPUs that it can use and that is free. Each job gets the lowest level at which
// it ends in time (the minimum satisfactory share of ElasticFlow, Gu et al. 2023). Then it starts one level
// lower, and stays there for as long as it still ends in time. A job that cannot be moved gets the smallest
// number of GPUs that it can keep from its start to its end in time. Among several GPU types, the job takes
// the type on which it needs the smallest fraction of all GPU time.
//
// The first order is by deadline. A job that is late in one order comes first in the next ("squeaky wheel"
// optimization, Joslin and Clements 1999). Such a job may be able to use only few GPUs at a time, and more
// flexible jobs with earlier deadlines may have left it too few.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/detail/clock.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"
#include "goodput/deadlines/detail/time_grid.hpp"

namespace goodput::inline v0_1::detail {

/// Makes plans job by job, in one order after the other.
class ProgressiveFilling {
public:
    ProgressiveFilling(const TimeGrid& grid, std::span<const DeadlineJob> jobs, double slot_seconds)
        : grid_(grid), jobs_(jobs), slot_(slot_seconds), order_(grid.order), plans_(jobs.size()) {
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            return jobs_[a].deadline_seconds < jobs_[b].deadline_seconds;
        });
        clear();
        for (std::size_t row = 0; row < grid_.rows.size(); ++row) {
            if (grid_.rows[row].size > 1) continue;
            gpu_seconds_.resize(grid_.rows[row].gpu_type + 1, 0);
            for (const GridInterval& interval : grid_.intervals)
                gpu_seconds_[grid_.rows[row].gpu_type] += interval.capacity[row] * interval.seconds();
        }
    }

    /// Returns a plan in which all jobs end in time. Returns nothing if `most_tries` orders give no plan,
    /// or if `clock` is late. The next call goes on with further orders.
    std::optional<DeadlinePlan> operator()(std::size_t most_tries, Clock& clock);

    /// Makes all GPUs free again.
    void clear() {
        segments_.clear();
        for (const GridInterval& interval : grid_.intervals)
            segments_.push_back({interval.from, interval.until, interval.capacity});
    }
    /// Takes the GPUs of one job's pieces if they are free all the time. Returns whether they were.
    bool take(std::span<const PlannedPiece> pieces);
    /// Returns the pieces of one more job on free GPUs, or nothing if it would be late.
    [[nodiscard]] std::optional<DeadlinePlan> plan_of(std::size_t job) const {
        if (!(grid_.work[job] > 1e-12 * jobs_[job].work_left)) return DeadlinePlan();
        return best_of(job);
    }

private:
    /// The GPUs that are free from one moment to another.
    struct Segment {
        double from = 0, until = 0;
        std::vector<double> free{};  ///< by row
    };

    std::size_t begin_segment(double at);
    std::optional<DeadlinePlan> at_levels(std::size_t job, std::span<const DeadlineOption> levels,
                                          std::size_t before, std::size_t change, std::size_t after) const;
    std::optional<DeadlinePlan> without_change(std::size_t job, std::span<const DeadlineOption> levels) const;
    std::optional<DeadlinePlan> of_type(std::size_t job, std::span<const DeadlineOption> levels) const;
    std::optional<DeadlinePlan> best_of(std::size_t job) const;
    std::size_t fill(Clock& clock);
    /// Returns an upper bound on the work that the job can do with `before` levels until that moment and
    /// `after` levels from then on.
    [[nodiscard]] double most_at_levels(std::size_t job, std::span<const DeadlineOption> levels,
                                        std::size_t before, double change_seconds, std::size_t after) const {
        const double from = jobs_[job].from_seconds, until = jobs_[job].deadline_seconds,
                     change = std::clamp(change_seconds, from, std::max(from, until));
        return (1 + 1e-9) * ((before > 0 ? levels[before - 1].speed * (change - from) : 0) +
                             levels[after - 1].speed * std::max(0.0, until - change));
    }

    const TimeGrid& grid_;
    std::span<const DeadlineJob> jobs_;
    double slot_;
    std::vector<std::size_t> order_;  // order in which jobs are planned next
    std::vector<Segment> segments_;
    std::vector<DeadlinePlan> plans_;  // by job
    std::vector<double> gpu_seconds_;  // by GPU type, until the last deadline
};

/// Returns the pieces of a job that has `before` levels (0 means none) in segments before `change` and
/// `after` levels from there on. Returns nothing if the job is late.
inline std::optional<DeadlinePlan> ProgressiveFilling::at_levels(std::size_t job,
                                                                 std::span<const DeadlineOption> levels,
                                                                 std::size_t before, std::size_t change,
                                                                 std::size_t after) const {
    DeadlinePlan pieces;
    double done = 0;  // a lower bound
    for (std::size_t k = 0; k < segments_.size() && segments_[k].from < jobs_[job].deadline_seconds; ++k) {
        if (done > grid_.work[job] * (1 + 1e-9)) break;
        const Segment& segment = segments_[k];
        if (segment.from < jobs_[job].from_seconds) continue;
        std::size_t level = k < change ? before : after;
        while (level > 0 && !grid_.fits(levels[level - 1].held, segment.free)) --level;
        if (level == 0) continue;
        const HeldGpus& held = levels[level - 1].held;
        const double speed = levels[level - 1].speed;
        done += speed * (std::min(segment.until, jobs_[job].deadline_seconds) - segment.from);
        if (!pieces.empty() && pieces.back().held == held && pieces.back().until_seconds == segment.from)
            pieces.back().until_seconds = segment.until;
        else {
            pieces.push_back({job, held, segment.from, segment.until});
            done -= speed * (jobs_[job].restart_seconds + jobs_[job].late_seconds);
        }
    }
    if (!end_with_work(jobs_[job], pieces, slot_)) return std::nullopt;
    return pieces;
}

/// Finds the smallest size at which the job can keep the same GPUs from its start to its end, as early as
/// possible.
inline std::optional<DeadlinePlan> ProgressiveFilling::without_change(
    std::size_t job, std::span<const DeadlineOption> levels) const {
    for (const DeadlineOption& level : levels)
        for (std::size_t first = 0; first < segments_.size(); ++first) {
            if (segments_[first].from < jobs_[job].from_seconds) continue;
            DeadlinePlan piece{{job, level.held, segments_[first].from, segments_[first].from}};
            for (std::size_t k = first; k < segments_.size() && grid_.fits(level.held, segments_[k].free);
                 ++k)
                piece.front().until_seconds = segments_[k].until;
            if (piece.front().until_seconds > piece.front().from_seconds &&
                end_with_work(jobs_[job], piece, slot_))
                return piece;
        }
    return std::nullopt;
}

inline std::optional<DeadlinePlan> ProgressiveFilling::of_type(std::size_t job,
                                                               std::span<const DeadlineOption> levels) const {
    if (!jobs_[job].movable) return without_change(job, levels);
    for (std::size_t level = 1; level <= levels.size(); ++level) {
        if (most_at_levels(job, levels, level, 0, level) < grid_.work[job]) continue;
        std::optional<DeadlinePlan> pieces = at_levels(job, levels, level, 0, level);
        if (!pieces) continue;
        if (level == 1) return pieces;
        std::size_t enough = 0, late = segments_.size();
        while (late - enough > 1) {
            const std::size_t middle = enough + (late - enough) / 2;
            if (most_at_levels(job, levels, level - 1, segments_[middle].from, level) < grid_.work[job]) {
                late = middle;
            } else if (std::optional<DeadlinePlan> less = at_levels(job, levels, level - 1, middle, level)) {
                pieces = std::move(less);
                enough = middle;
            } else {
                late = middle;
            }
        }
        return pieces;
    }
    return std::nullopt;
}

inline std::optional<DeadlinePlan> ProgressiveFilling::best_of(std::size_t job) const {
    const std::vector<DeadlineOption>& options = grid_.options[job];
    std::optional<DeadlinePlan> best;
    double least = 0;
    for (std::size_t begin = 0, end = 0; begin < options.size(); begin = end) {
        const std::size_t type = options[begin].held.gpu_type;
        while (end < options.size() && options[end].held.gpu_type == type) ++end;
        std::optional<DeadlinePlan> pieces = of_type(job, std::span(options).subspan(begin, end - begin));
        if (!pieces) continue;
        double part = 0;
        for (const PlannedPiece& piece : *pieces)
            part += piece.held.gpus * (piece.until_seconds - piece.from_seconds) / gpu_seconds_[type];
        if (best && part >= least) continue;
        best = std::move(pieces);
        least = part;
    }
    return best;
}

/// Returns the segment that begins at this moment, and splits the one before if necessary.
inline std::size_t ProgressiveFilling::begin_segment(double at) {
    const auto found = std::partition_point(segments_.begin(), segments_.end(),
                                            [&](const Segment& each) { return each.until <= at; });
    const auto k = static_cast<std::size_t>(found - segments_.begin());
    if (k == segments_.size() || segments_[k].from >= at) return k;
    Segment rest = segments_[k];
    rest.from = segments_[k].until = at;
    segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(k) + 1, std::move(rest));
    return k + 1;
}

inline bool ProgressiveFilling::take(std::span<const PlannedPiece> pieces) {
    for (const PlannedPiece& piece : pieces) {
        const std::size_t end = (begin_segment(piece.from_seconds), begin_segment(piece.until_seconds));
        for (std::size_t k = begin_segment(piece.from_seconds); k < end; ++k)
            if (!grid_.fits(piece.held, segments_[k].free)) return false;
    }
    for (const PlannedPiece& piece : pieces)
        for (std::size_t k = begin_segment(piece.from_seconds), end = begin_segment(piece.until_seconds);
             k < end; ++k)
            for (std::size_t row = 0; row < grid_.rows.size(); ++row)
                segments_[k].free[row] -= grid_.blocks_of(piece.held, row);
    return true;
}

/// Plans all jobs in this order. Returns the position of the first job that is late, or the number of jobs
/// if none is. Once `clock` is late, so is the next job.
inline std::size_t ProgressiveFilling::fill(Clock& clock) {
    clear();
    for (std::size_t k = 0; k < order_.size(); ++k) {
        if (clock.late()) return k;
        std::optional<DeadlinePlan> pieces = plan_of(order_[k]);
        if (!pieces) return k;
        (void)take(*pieces);
        plans_[order_[k]] = std::move(*pieces);
    }
    return order_.size();
}

inline std::optional<DeadlinePlan> ProgressiveFilling::operator()(std::size_t most_tries, Clock& clock) {
    for (std::size_t tries = 0; tries < most_tries && !clock.late(); ++tries) {
        const std::size_t late = fill(clock);
        if (late == order_.size()) {
            DeadlinePlan plan;
            for (const DeadlinePlan& pieces : plans_) plan.insert(plan.end(), pieces.begin(), pieces.end());
            return plan;
        }
        const auto late_job = order_.begin() + static_cast<std::ptrdiff_t>(late);
        std::rotate(order_.begin(), late_job, late_job + 1);
    }
    return std::nullopt;
}

}  // namespace goodput::inline v0_1::detail

#endif
