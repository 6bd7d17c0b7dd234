#ifndef GOODPUT_MODEL_DETAIL_BATCH_SEARCH_HPP
#define GOODPUT_MODEL_DETAIL_BATCH_SEARCH_HPP

// Searches for the cheapest batch plan, with a proof, for a model whose computing time is piecewise linear
// in the batch, a broken line (BrokenLineModel). T, cost, tangent, p, q and w are as in batch_plan.hpp: the
// tangent bounds the time of a step from below by p times computing plus q times synchronising, which takes
// w. c(b) is the broken line, f the factor of the shape, and a level is the set of plans with the same
// number of microbatches.
//
// 1. c is straight on each piece. Therefore the tangent's bound on a level is least at an integer next to a
//    square root (see least_at()) or at an end of the piece. Points 1 and 2 of batch_plan.hpp hold for each
//    piece, even if c starts below zero. Where c falls, both factors of the cost fall, and the right end is
//    best.
// 2. Let alpha + beta b <= c(b) be a support of c, with alpha and beta not negative. A plan with k or more
//    microbatches and a load of L examples per replica takes at least (k - 1 + p) f (alpha + beta L / k) +
//    q w, which does not fall with k. So every plan that costs less than the best one so far has a load
//    between the roots of a quadratic. The roots tell which numbers of microbatches to skip, and when to
//    stop.
// 3. At the batch with the fewest seconds per example, the cost is convex in k and least next to a square
//    root. If more microbatches pay at all, the plan found there is so cheap that few loads remain to be
//    searched.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "goodput/core/configuration.hpp"
#include "goodput/model/detail/broken_line.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1::detail {

// Returns the integer x of [least, most] at which (noise / x + signal)(intercept + slope x) is least. The
// derivative has the sign of rising x^2 - falling. This also holds if the intercept is negative (the result
// is `least`). If the slope is negative, both factors fall, and the result is `most`.
inline double least_at(double falling, double rising, double least, double most) {
    if (!(rising * least * least < falling)) return least;  // also for NaN
    if (!(rising * most * most > falling)) return most;
    const double at = std::floor(std::sqrt(falling / rising));
    // Tests the sign of cost(at + 1) - cost(at) without a division.
    return rising * at * (at + 1) < falling ? at + 1 : at;
}

struct CheapestPlan {
    BatchPlan plan{};
    double cost = std::numeric_limits<double>::infinity();  // infinite if there is no plan

    void consider(double plan_cost, double atomic_batch, double microbatches) {
        if (plan_cost < cost && plan_cost > 0)
            *this = {{static_cast<int>(atomic_batch), static_cast<int>(microbatches) - 1}, plan_cost};
    }
};

template <class Throughput>
class BatchSearch {
public:
    // cost = (noise / total batch + signal) seconds. Keeps a reference to the model.
    BatchSearch(const Throughput& model, const BatchLimits& limits, double noise, double signal)
        : model_(model), limits_(limits), noise_(noise), signal_(signal), line_(model, limits) {}

    [[nodiscard]] CheapestPlan operator()(Shape shape) const {
        // Start with the tangent where computing and synchronising take equally long.
        const double half = std::exp2(1 / model_.gamma - 1);
        double factor = 1;
        if constexpr (requires { model_.compute_factor(shape); }) factor = model_.compute_factor(shape);
        Progress at{PlanRange(shape.gpus, limits_),
                    factor,
                    model_.sync_seconds(shape),
                    noise_ / shape.gpus,
                    {},
                    {0, half, half}};
        if (at.range.initial_without_accumulation) {
            const double batch = limits_.initial_batch;
            at.best.consider((noise_ / batch + signal_) * model_.compute_seconds(batch) * at.factor, batch,
                             1);
        }
        const int k = at.range.fewest_microbatches;
        if (at.range.allows(k)) search_level(level_of(k, at), at);
        search_further(at);
        return at.best;
    }

private:
    // The search on one shape: the cheapest plan so far, and the step that was tried last.
    struct Progress {
        PlanRange range;
        double factor;  // factor on the computing time
        double sync;
        double noise;  // noise / replicas
        CheapestPlan best;
        OverlappedStep tangent;
    };

    struct Level {
        double microbatches;
        double low, high;  // the atomic batches that are not ruled out yet
        double noise;      // noise / replicas / microbatches
    };

    struct Loads {
        double least, most;
    };

    // Costs within this factor may differ by rounding alone.
    static double clearly_below(double cost) {
        return cost * (1 - 16 * std::numeric_limits<double>::epsilon());
    }

    static Level level_of(int microbatches, const Progress& at) {
        return {static_cast<double>(microbatches),
                static_cast<double>(at.range.least_atomic_at(microbatches)),
                static_cast<double>(at.range.most_atomic_at(microbatches)), at.noise / microbatches};
    }

    [[nodiscard]] OverlappedStep step(double compute, double sync) const {
        return overlapped_step(compute, sync, model_.gamma);
    }
    // The tangent bounds the seconds of an iteration from below by weight() * computing + waiting(). The
    // bound on the cost falls and rises with the batch as least_at() expects.
    static double weight(const Level& level, const Progress& at) {
        return level.microbatches - 1 + at.tangent.per_compute;
    }
    static double waiting(const Progress& at) { return at.tangent.per_sync * at.sync; }
    static double falling(const Level& level, const BrokenLine::Piece& piece, const Progress& at) {
        return level.noise * (weight(level, at) * at.factor * piece.constant + waiting(at));
    }
    [[nodiscard]] double rising(const Level& level, const BrokenLine::Piece& piece,
                                const Progress& at) const {
        return signal_ * weight(level, at) * at.factor * piece.per_example;
    }

    // On each piece of a level, evaluates, discards and bounds in turn until no batch can beat the best
    // plan.
    void search_level(const Level& level, Progress& at) const {
        for (const BrokenLine::Piece& piece : line_.pieces()) {
            if (piece.low > level.high) return;
            Level part = level;
            part.low = std::max(level.low, piece.low);
            part.high = std::min(level.high, piece.high);
            while (part.low <= part.high) {
                const double next =
                    least_at(falling(part, piece, at), rising(part, piece, at), part.low, part.high);
                const double compute = at.factor * piece.compute_seconds(next);
                const double per_batch = part.noise / next + signal_;
                const double least = per_batch * (weight(part, at) * compute + waiting(at));
                if (!(least < clearly_below(at.best.cost))) break;
                at.tangent = step(compute, at.sync);
                at.best.consider(per_batch * ((part.microbatches - 1) * compute + at.tangent.seconds), next,
                                 part.microbatches);
                // The tangent at this batch falls where the cost falls (point 2).
                if (rising(part, piece, at) * next * (next + 1) < falling(part, piece, at))
                    part.low = next + 1;
                else if (rising(part, piece, at) * next * (next - 1) > falling(part, piece, at))
                    part.high = next - 1;
                else
                    break;
            }
        }
    }

    // Returns the range of loads L with which k or more microbatches may still cost less than the best
    // plan. Every support requires rising L^2 - above L + falling < 0.
    [[nodiscard]] Loads loads_left(int k, const Progress& at) const {
        const double share = (k - 1 + at.tangent.per_compute) * at.factor, cost = clearly_below(at.best.cost);
        Loads left{static_cast<double>(std::max(at.range.least_load, k * at.range.least_atomic)),
                   static_cast<double>(at.range.most_load)};
        for (const BrokenLine::Support& support : line_.supports()) {
            const double intercept = share * support.constant + waiting(at);
            const double slope = share / k * support.per_example;
            const double rising = signal_ * slope, falling = at.noise * intercept;
            const double above = cost - at.noise * slope - signal_ * intercept;
            const double square = above * above - 4 * rising * falling;
            if (!(above > 0 && square > 0)) return {1, 0};
            const double twice = above + std::sqrt(square);
            left.least = std::max(left.least, std::ceil(2 * falling / twice));
            left.most = std::min(left.most, std::floor(twice / (2 * rising)));
        }
        return left;
    }

    // Searches all levels above that of the fewest microbatches.
    void search_further(Progress& at) const {
        const int k = at.range.fewest_microbatches + 1;
        if (!at.range.allows(k)) return;
        const Loads loads = loads_left(k, at);
        if (!(loads.least <= loads.most)) return;
        const CheapestPlan guess = most_efficient(k, at);
        if (guess.cost < at.best.cost) {
            // Exaggerate the cost, so that the search finds this plan again, or an equal one with fewer
            // microbatches.
            at.best = guess;
            at.best.cost *= 1 + 256 * std::numeric_limits<double>::epsilon();
        }
        search_from(k, at);
        if (guess.cost < at.best.cost) at.best = guess;
    }

    void search_from(int k, Progress& at) const {
        while (at.range.allows(k)) {
            const Loads loads = loads_left(k, at);
            if (!(loads.least <= loads.most)) return;
            // A smaller number of microbatches cannot hold such a load.
            k = std::max(k, static_cast<int>(std::ceil(loads.least / line_.pieces().back().high)));
            Level level = level_of(k, at);
            level.low = std::max(level.low, std::ceil(loads.least / k));
            level.high = std::min(level.high, std::floor(loads.most / k));
            search_level(level, at);
            if (level.low <= level.high && !(at.best.cost < std::numeric_limits<double>::infinity())) return;
            ++k;
        }
    }

    // Takes the batch with the fewest seconds per example and returns its best plan with k or more
    // microbatches. The step of that plan becomes the next tangent.
    [[nodiscard]] CheapestPlan most_efficient(int k, Progress& at) const {
        const double atomic = line_.most_efficient(), compute = at.factor * line_.seconds_there();
        const double least = std::max<double>(k, std::ceil(at.range.least_load / atomic));
        const double most = std::floor(at.range.most_load / atomic);
        CheapestPlan best;
        if (least > most) return best;
        const OverlappedStep last = step(compute, at.sync);
        const double count =
            least_at(at.noise / atomic * (last.seconds - compute), signal_ * compute, least, most);
        best.consider((at.noise / count / atomic + signal_) * ((count - 1) * compute + last.seconds), atomic,
                      count);
        if (best.cost < at.best.cost) at.tangent = last;
        return best;
    }

    const Throughput& model_;
    BatchLimits limits_;
    double noise_, signal_;
    BrokenLine line_;
};

}  // namespace goodput::inline v0_1::detail

#endif
