#ifndef GOODPUT_MEMORY_MEMORY_FIT_HPP
#define GOODPUT_MEMORY_MEMORY_FIT_HPP

// Fits the line bytes(b) = fixed + per_example b (memory/memory.hpp) to measurements of a job's memory on
// one GPU type.
//
// With measurements at several batch sizes b_i: an estimate that is too high wastes some memory, but one
// that is too low kills the job. Therefore the fit solves
//
//     minimise    sum_i (fixed + per_example b_i - bytes_i)^2
//     subject to  fixed + per_example b_i >= (1 - tolerance) bytes_i       for all i
//                 fixed >= least_fixed_bytes,  per_example >= 0
//
// Every constraint except the last says that the line passes above a point (the constraint on `fixed`:
// above (0, least_fixed_bytes)). So the line can touch only corners of the upper convex hull of these
// points. The problem is convex with two unknowns, so at most two constraints are active. The optimum is
// the best feasible one of all candidates with no, one or two active constraints. With N measurements this
// takes at most O(N^2), which is microseconds for the usual number of a few dozen.
//
// With measurements at only one batch size b_1, the two parts cannot be distinguished; it is only known
// that fixed is at least least_fixed_bytes. The fit takes the line through (0, least_fixed_bytes) and the
// measurement. Memory grows by at most (bytes_1 - least_fixed_bytes) / b_1 per example, so above b_1 the
// line is never too low. The less is declared as fixed, the more cautious it is there. Below b_1 it is the
// lowest possible line. To fit a batch smaller than b_1 into a smaller GPU, measure there, or declare
// nearly all fixed bytes.
//
// Some measurements do not grow with the batch: they are constant or falling, up to the tolerance over the
// whole range. This is typical of frameworks that reserve memory ahead. Such measurements say nothing about
// larger batches. The line is then flat at the largest measurement, and ends at the largest measured batch.
// If one batch size has different measurements, the line covers all of them, so the largest decides.
// largest_excess shows how much of the differences the tolerance does not explain.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/fit/detail/line.hpp"
#include "goodput/memory/memory.hpp"

namespace goodput::inline v0_1 {

/// The peak memory of a training iteration on one GPU.
struct MemorySample {
    int atomic_batch = 0;  ///< examples on the GPU at once, at least 1
    double bytes = 0;      ///< peak, from 1 to 1e18
};

/// Prior knowledge, and how cautious the fit is.
struct MemoryFitOptions {
    /// Bytes that are known to be used at any batch: parameters, gradients and optimiser state. These are
    /// 16 bytes per parameter with Adam in mixed or single precision, and 8 with plain SGD in single
    /// precision.
    double least_fixed_bytes = 0;
    /// The fraction by which the line may lie below a measurement, in [0, 1).
    double tolerance = 0.01;
    std::string_view subject = "memory fit";  ///< name of the measurements in error messages
};

/// The knowledge that the measurements gave.
enum class MemoryKnowledge {
    measured,  ///< both parts, from several batch sizes
    /// The fixed part was assumed, because only one batch size was measured; cautious above that batch, not
    /// below.
    fixed_assumed,
    /// Measurements are constant or contradictory; the model is valid up to the largest measured batch.
    no_growth
};

/// A memory model and its basis.
struct MemoryFit {
    MemoryModel model{};                                    ///< for largest_atomic_batch() and fits()
    MemoryKnowledge knowledge = MemoryKnowledge::measured;  ///< the knowledge that the measurements gave
    int least_batch = 0;                                    ///< smallest measured atomic batch
    int most_batch = 0;                                     ///< largest measured atomic batch
    double largest_excess = 0;  ///< largest relative excess of the model over a measurement
    /// Largest relative shortfall of the model below a measurement; at most the tolerance.
    double largest_shortfall = 0;
};

/// Fits a job's memory to measurements. Throws std::invalid_argument if there are no measurements or if an
/// argument is invalid: batches must be at least 1, bytes in [1, 1e18], the tolerance in [0, 1), and the
/// declared fixed bytes at most the smallest measurement.
[[nodiscard]] MemoryFit fit_memory(std::span<const MemorySample> samples,
                                   const MemoryFitOptions& options = {});

namespace detail {

struct MemoryPoint {
    double batch, bytes;
};

/// Returns the corners of the upper convex hull in order of the batch. Sorts `points`.
inline std::vector<MemoryPoint> upper_hull(std::vector<MemoryPoint>& points) {
    std::sort(points.begin(), points.end(), [](const MemoryPoint& a, const MemoryPoint& b) {
        return a.batch != b.batch ? a.batch < b.batch : a.bytes > b.bytes;
    });
    std::vector<MemoryPoint> hull;
    for (const MemoryPoint& p : points) {
        if (!hull.empty() && hull.back().batch == p.batch) continue;
        const auto last_is_below = [&hull, &p] {
            const MemoryPoint &a = hull[hull.size() - 2], &b = hull.back();
            return (b.bytes - a.bytes) * (p.batch - a.batch) <= (p.bytes - a.bytes) * (b.batch - a.batch);
        };
        while (hull.size() >= 2 && last_is_below()) hull.pop_back();
        hull.push_back(p);
    }
    return hull;
}

/// Returns the least-squares line through `points` among the lines that lie above `hull` and do not fall.
inline Line least_covering_line(std::span<const MemoryPoint> points, std::span<const MemoryPoint> hull) {
    Line best;
    double least = std::numeric_limits<double>::infinity(), highest = 0;
    for (const MemoryPoint& corner : hull) highest = std::max(highest, corner.bytes);
    const auto consider = [&](Line line) {
        if (!(line.slope >= 0)) return;
        double lift = 0;  // rounding may put a line through two corners slightly below a third
        for (const MemoryPoint& corner : hull) {
            const double below = corner.bytes - line.at(corner.batch);
            if (below > 1e-12 * highest) return;
            lift = std::max(lift, below);
        }
        line.intercept += lift;
        double squares = 0;
        for (const MemoryPoint& p : points) {
            const double residual = line.at(p.batch) - p.bytes;
            squares += residual * residual;
        }
        if (squares < least) {
            least = squares;
            best = line;
        }
    };
    LineSums sums;
    for (const MemoryPoint& p : points) sums.add(1, p.batch, p.bytes);
    consider(sums.free_line());
    consider({sums.y, 0});
    for (std::size_t i = 0; i < hull.size(); ++i) {
        consider(sums.through(hull[i].batch, hull[i].bytes));
        consider({hull[i].bytes, 0});
        if (i == 0) continue;
        const double slope = (hull[i].bytes - hull[i - 1].bytes) / (hull[i].batch - hull[i - 1].batch);
        consider({hull[i].bytes - slope * hull[i].batch, slope});
    }
    return best;
}

}  // namespace detail

inline MemoryFit fit_memory(std::span<const MemorySample> samples, const MemoryFitOptions& options) {
    const std::string_view subject = options.subject;
    if (samples.empty()) bad_input(subject, "measurements", samples.size(), "at least 1");
    if (!(options.tolerance >= 0 && options.tolerance < 1))
        bad_input(subject, "tolerance", options.tolerance, "at least 0 and below 1");
    require_at_least(subject, "fixed bytes", options.least_fixed_bytes, 0);
    MemoryFit fit;
    fit.least_batch = std::numeric_limits<int>::max();
    double most_bytes = 0;
    std::vector<detail::MemoryPoint> points, to_cover{{0, options.least_fixed_bytes}};
    points.reserve(samples.size());
    to_cover.reserve(samples.size() + 1);
    for (const MemorySample& sample : samples) {
        require_between(subject, "atomic batch", sample.atomic_batch, 1, 1 << 30);
        if (!(sample.bytes >= 1 && sample.bytes <= 1e18))
            bad_input(subject, "bytes", sample.bytes, "between 1 and 1e18");
        if (options.least_fixed_bytes > sample.bytes)
            bad_input(subject, "fixed bytes", options.least_fixed_bytes,
                      "at most what was measured, " + text_of(sample.bytes));
        fit.least_batch = std::min(fit.least_batch, sample.atomic_batch);
        fit.most_batch = std::max(fit.most_batch, sample.atomic_batch);
        most_bytes = std::max(most_bytes, sample.bytes);
        points.push_back({static_cast<double>(sample.atomic_batch), sample.bytes});
        to_cover.push_back({points.back().batch, sample.bytes * (1 - options.tolerance)});
    }

    Line line;
    if (fit.least_batch == fit.most_batch) {
        fit.knowledge = MemoryKnowledge::fixed_assumed;
        line.intercept = options.least_fixed_bytes;
        line.slope = (most_bytes - line.intercept) / fit.most_batch;
    } else {
        line = detail::least_covering_line(points, detail::upper_hull(to_cover));
    }
    const double growth =
        line.slope * (fit.least_batch == fit.most_batch ? fit.most_batch : fit.most_batch - fit.least_batch);
    if (growth <= options.tolerance * most_bytes) {
        fit.knowledge = MemoryKnowledge::no_growth;
        line = {most_bytes, 0};
        fit.model.most_atomic_batch = fit.most_batch;
    }
    fit.model.fixed_bytes = line.intercept;
    fit.model.bytes_per_example = line.slope;
    for (const detail::MemoryPoint& p : points) {
        const double relative = fit.model.bytes(p.batch) / p.bytes - 1;
        fit.largest_excess = std::max(fit.largest_excess, relative);
        fit.largest_shortfall = std::max(fit.largest_shortfall, -relative);
    }
    return fit;
}

}  // namespace goodput::inline v0_1

#endif
