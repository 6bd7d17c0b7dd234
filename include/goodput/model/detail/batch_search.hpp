#ifndef GOODPUT_MODEL_DETAIL_BATCH_SEARCH_HPP
#define GOODPUT_MODEL_DETAIL_BATCH_SEARCH_HPP

// The proven search for the cheapest batch plan under a model whose computing time is a broken line in the
// batch (BrokenLineModel). With T, cost and tangent as in batch_plan.hpp, c(b) the broken line, f the factor
// of the shape, and the plans of one number of microbatches a level:
//
// 1. On each piece c is straight, so on a level the tangent's bound has its least integer at a square root or
//    an end, and points 1 and 2 there hold piece by piece, also where c starts below zero. Where c falls,
//    both factors of the cost fall, and the right end is best.
// 2. Let alpha + beta b <= c(b), neither negative, be a support of c. Plans of k or more microbatches with a
//    load of L examples a replica take at least (k - 1 + p) f (alpha + beta L / k) + q w, which does not fall
//    with k. So whatever costs less than the best has a load between the roots of a quadratic, which says
//    which numbers of microbatches to skip, and when nothing is left.
// 3. At the batch with the fewest seconds per example, the cost is convex in k, and its least integer is a
//    square root: where more microbatches pay at all, this plan makes the intervals small.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "goodput/core/configuration.hpp"
#include "goodput/model/detail/broken_line.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::detail {

// The integer x of [least, most] at which (noise / x + signal)(intercept + slope x) is least. Its derivative
// has the sign of rising x^2 - falling: so the least x where both are right, also where the intercept is
// negative, and the largest where the slope is, because there both factors fall.
inline double least_at(double falling, double rising, double least, double most) {
    if (!(rising * least * least < falling)) return least;  // also for what is not a number
    if (!(rising * most * most > falling)) return most;
    const double at = std::floor(std::sqrt(falling / rising));
    // The sign of cost(at + 1) - cost(at), without a division.
    return rising * at * (at + 1) < falling ? at + 1 : at;
}

struct CheapestPlan {
    BatchPlan plan{};
    double cost = std::numeric_limits<double>::infinity();  // infinite: there is no plan

    void consider(double its_cost, double atomic_batch, double microbatches) {
        if (its_cost < cost && its_cost > 0)
            *this = {{static_cast<int>(atomic_batch), static_cast<int>(microbatches) - 1}, its_cost};
    }
};

template <class Throughput>
class BatchSearch {
public:
    // cost = (noise / total batch + signal) seconds. Keeps a reference to the model.
    BatchSearch(const Throughput& model, const BatchLimits& limits, double noise, double signal)
        : model_(model), limits_(limits), noise_(noise), signal_(signal), line_(model, limits) {}

    [[nodiscard]] CheapestPlan operator()(Shape shape) const {
        // At first the tangent where computing and synchronising take equally long.
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
    // One shape, with the cheapest plan so far and the step that was tried last.
    struct Progress {
        PlanRange range;
        double factor;  // of computing
        double sync;
        double noise;  // noise / replicas
        CheapestPlan best;
        OverlappedStep tangent;
    };

    struct Level {
        double microbatches;
        double low, high;  // the atomic batches that are not ruled out
        double noise;      // noise / replicas / microbatches
    };

    struct Loads {
        double least, most;
    };

    // Costs differ by this much from rounding alone.
    static double clearly_below(double cost) {
        return cost * (1 - 16 * std::numeric_limits<double>::epsilon());
    }

    static Level level_of(int microbatches, const Progress& at) {
        return {static_cast<double>(microbatches),
                static_cast<double>(at.range.least_atomic_at(microbatches)),
                static_cast<double>(at.range.most_atomic_at(microbatches)), at.noise / microbatches};
    }

    [[nodiscard]] OverlappedStep step(double compute, double sync) const {
        return PolluxThroughput{.gamma = model_.gamma}.overlapped_step(compute, sync);
    }
    // The tangent's lower bound on the seconds of an iteration is weight() computing + waiting(); that on the
    // cost falls and rises with the batch as least_at() has it.
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

    // On each piece of a level evaluates, discards and bounds in turn until nothing is better than the best.
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
                // The tangent that touches here falls where the cost does (point 2).
                if (rising(part, piece, at) * next * (next + 1) < falling(part, piece, at))
                    part.low = next + 1;
                else if (rising(part, piece, at) * next * (next - 1) > falling(part, piece, at))
                    part.high = next - 1;
                else
                    break;
            }
        }
    }

    // The loads with which k or more microbatches may cost less than the best, from all supports: those L
    // with rising L^2 - above L + falling < 0.
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

    // All levels above the one of the fewest microbatches.
    void search_further(Progress& at) const {
        const int k = at.range.fewest_microbatches + 1;
        if (!at.range.allows(k)) return;
        const Loads loads = loads_left(k, at);
        if (!(loads.least <= loads.most)) return;
        const CheapestPlan guess = most_efficient(k, at);
        if (guess.cost < at.best.cost) {
            // Exaggerated, so that the search finds it again, or its equal with fewer microbatches.
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
            // Fewer microbatches hold no such load.
            k = std::max(k, static_cast<int>(std::ceil(loads.least / line_.pieces().back().high)));
            Level level = level_of(k, at);
            level.low = std::max(level.low, std::ceil(loads.least / k));
            level.high = std::min(level.high, std::floor(loads.most / k));
            search_level(level, at);
            if (level.low <= level.high && !(at.best.cost < std::numeric_limits<double>::infinity())) return;
            ++k;
        }
    }

    // The best of k or more microbatches of the batch with the fewest seconds per example, whose step is the
    // next tangent.
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

}  // namespace goodput::detail

#endif
