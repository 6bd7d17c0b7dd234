#ifndef GOODPUT_MODEL_DETAIL_BATCH_LEVEL_HPP
#define GOODPUT_MODEL_DETAIL_BATCH_LEVEL_HPP

// The plans of one number of microbatches on one shape, as long as computing is a straight line in the batch:
// what the search of broken_line_search.hpp is made of. batch_plan.hpp explains it; the points that are
// referred to here are listed there.

#include <algorithm>
#include <cmath>
#include <limits>

#include "goodput/core/batch.hpp"
#include "goodput/model/detail/elementary.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/pollux.hpp"

namespace goodput::detail {

inline double cost_at(double x, double noise, double signal, double intercept, double slope) {
    return (noise / x + signal) * (intercept + slope * x);
}

// The integer x of [least, most] at which (noise / x + signal)(intercept + slope x) is least. Its derivative
// has the sign of rising x^2 - falling: so the least x where both are right, also where the intercept is
// negative, and the largest where the slope is, because there both factors fall.
inline double least_at(double falling, double rising, double least, double most) {
    if (!(rising * least * least < falling)) return least;  // also for what is not a number
    if (!(rising * most * most > falling)) return most;
    const double at = static_cast<int>(std::sqrt(falling / rising));
    // The sign of cost(at + 1) - cost(at), without a division.
    return rising * at * (at + 1) < falling ? at + 1 : at;
}

struct CheapestPlan {
    BatchPlan plan{};
    double cost = std::numeric_limits<double>::infinity();  // infinite: there is no plan

    void consider(double its_cost, double atomic_batch, int microbatches) {
        if (its_cost < cost && its_cost > 0)
            *this = {{static_cast<int>(atomic_batch), microbatches - 1}, its_cost};
    }
};

struct BatchLevel {
    double further;    // microbatches - 1
    double low, high;  // the atomic batches that are not ruled out
    double noise;      // noise / replicas / microbatches
    double sync;
};

inline BatchLevel level_of(const PlanRange& range, int microbatches, double replica_noise, double sync) {
    return {microbatches - 1.0, static_cast<double>(range.least_atomic_at(microbatches)),
            static_cast<double>(range.most_atomic_at(microbatches)), replica_noise / microbatches, sync};
}

// A batch that was tried, with its step: the tangent that touches there.
struct Tried {
    double atomic;
    OverlappedStep step;
};

// What plans cost where computing takes `seconds` at the batch `from`, and per_example for each further one:
// on a line through `constant`, which may be negative as may per_example.
struct LineCost {
    double from, seconds, per_example;
    double gamma, signal;
    double constant = seconds - per_example * from;

    [[nodiscard]] double compute_seconds(double atomic) const {
        return seconds + per_example * (atomic - from);
    }

    // The tangent's lower bound on the seconds of a level: intercept + slope b.
    [[nodiscard]] double intercept(const BatchLevel& level, const OverlappedStep& step) const {
        return (level.further + step.per_compute) * constant + step.per_sync * level.sync;
    }
    [[nodiscard]] double slope(const BatchLevel& level, const OverlappedStep& step) const {
        return (level.further + step.per_compute) * per_example;
    }

    // Where the tangent's bound is least, and what it is there.
    [[nodiscard]] double least_on(const BatchLevel& level, const OverlappedStep& step) const {
        return least_at(level.noise * intercept(level, step), signal * slope(level, step), level.low,
                        level.high);
    }
    [[nodiscard]] double bound_at(double atomic, const BatchLevel& level, const OverlappedStep& step) const {
        return (level.noise / atomic + signal) *
               ((level.further + step.per_compute) * compute_seconds(atomic) + step.per_sync * level.sync);
    }
    [[nodiscard]] double cost(const BatchLevel& level, const Tried& tried) const {
        return (level.noise / tried.atomic + signal) *
               (level.further * compute_seconds(tried.atomic) + tried.step.seconds);
    }

    static double within(const BatchLevel& level, double atomic) {
        const double high = atomic < level.high ? atomic : level.high;  // also for what is not a number
        return nearest_integer(high > level.low ? high : level.low);
    }

    // Where Newton's method in the logarithm of the batch expects the batch at which the tangent has its
    // least cost where it touches; instead of a power it takes its Pade fraction. Wants an intercept >= 0.
    [[nodiscard]] double newton(const BatchLevel& level, const Tried& tried) const {
        const OverlappedStep& step = tried.step;
        const double start = intercept(level, step), rise = slope(level, step) * tried.atomic;
        const double in_batch = per_example * tried.atomic, compute = constant + in_batch;
        const double iteration = level.further * compute + step.seconds;
        const double curvature = (gamma - 1) * in_batch * in_batch * step.per_compute * step.per_sync;
        const double bend = iteration * curvature * level.sync;
        const double whole = 2 * start * rise * step.seconds * compute;
        const double falling = level.noise * start, rising = signal * rise * tried.atomic;
        const double ratio = falling * rough_inverse_root(falling * rising);
        return within(level,
                      tried.atomic * ((2 * whole + bend) * ratio + bend) / (bend * ratio + 2 * whole + bend));
    }

    // The same, but the middle where the intercept is negative: then it has nothing to say of how far to go.
    [[nodiscard]] double next_after(const BatchLevel& level, const Tried& tried) const {
        return intercept(level, tried.step) < 0 ? within(level, (level.low + level.high) / 2)
                                                : newton(level, tried);
    }

    // To which side of `tried` the tangent that touches there falls: 1 or -1; 0 if it rises to the next
    // integer of the level on either side, so that nothing else on it can be better (point 2).
    [[nodiscard]] int falls(const BatchLevel& level, const Tried& tried) const {
        const double falling = level.noise * intercept(level, tried.step);
        const double rising = signal * slope(level, tried.step) * tried.atomic;
        return (int{rising * (tried.atomic + 1) < falling} & int{tried.atomic < level.high}) -
               (int{rising * (tried.atomic - 1) > falling} & int{tried.atomic > level.low});
    }

    [[nodiscard]] Tried try_at(const BatchLevel& level, double atomic) const {
        return {atomic,
                PolluxThroughput{.gamma = gamma}.overlapped_step(compute_seconds(atomic), level.sync)};
    }

    // Whether something on the level may cost less than `cost`.
    [[nodiscard]] bool promises(const BatchLevel& level, const OverlappedStep& tangent, double cost) const {
        return level.low <= level.high && bound_at(least_on(level, tangent), level, tangent) < cost;
    }

    // Evaluates, discards and bounds in turn, from what is tried already, until nothing on the level is
    // better than `best`. The last that was tried.
    Tried search(BatchLevel level, Tried tried, CheapestPlan& best) const {
        for (;;) {
            best.consider(cost(level, tried), tried.atomic, static_cast<int>(level.further) + 1);
            const int side = falls(level, tried);
            if (side == 0) return tried;
            (side > 0 ? level.low : level.high) = tried.atomic + side;
            if (!promises(level, tried.step, best.cost)) return tried;
            tried = try_at(level, next_after(level, tried));
        }
    }
};

}  // namespace goodput::detail

#endif
