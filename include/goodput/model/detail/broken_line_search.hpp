#ifndef GOODPUT_MODEL_DETAIL_BROKEN_LINE_SEARCH_HPP
#define GOODPUT_MODEL_DETAIL_BROKEN_LINE_SEARCH_HPP

// The proven search for the cheapest batch plan under a model whose computing time is a broken line in the
// batch: RefinedThroughput, and PolluxThroughput with a line of one piece. With T, cost, tangent and level as
// in batch_plan.hpp, and c(b) a broken line, f the factor of the shape:
//
// 1. On each piece c is straight, so on a level the tangent's bound has its least integer at a square root or
//    an end, and points 1 and 2 there hold piece by piece, also where c starts below zero. Where c falls,
//    both factors of the cost fall, and the right end is best. A plan whose tangent leaves no piece with a
//    lower bound is the best of its level; otherwise the lowest bound says what to try next.
// 2. Let alpha + beta b <= c(b), neither negative, be a support of c. Plans of k or more microbatches with a
//    load of L examples a replica take at least (k - 1 + p) f (alpha + beta L / k) + q w, which does not fall
//    with k. So whatever costs less than the best has a load between the roots of a quadratic. In the same
//    way it needs few enough seconds per example, c(b) / b, which leaves an interval of batches. Both say
//    which numbers of microbatches to skip, and when nothing is left.
// 3. At the batch with the fewest seconds per example, the cost is convex in k, and its least integer is a
//    square root: where more microbatches pay at all, this plan makes the intervals small.
// 4. Shapes take their first steps together (point 5 there).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/core/batch.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/model/detail/batch_level.hpp"
#include "goodput/model/detail/broken_line.hpp"
#include "goodput/model/detail/elementary.hpp"
#include "goodput/model/detail/overlap.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/refined.hpp"

namespace goodput::detail {

template <class Throughput>
class BrokenLineSearch {
public:
    // cost = (noise / total batch + signal) seconds. Keeps a reference to the model.
    BrokenLineSearch(const Throughput& model, const BatchLimits& limits, double noise, double signal)
        : model_(model), limits_(limits), noise_(noise), signal_(signal), line_(model, limits) {}

    // Calls report(i, CheapestPlan) for each of `shapes`.
    template <class Report>
    void operator()(std::span<const Shape> shapes, const Report& report) const {
        constexpr std::size_t most = 32;
        if (shapes.size() == 1) return in_lock_step<1>(shapes, 0, report);
        for (std::size_t first = 0; first < shapes.size(); first += most)
            in_lock_step<most>(shapes.subspan(first, std::min(most, shapes.size() - first)), first, report);
    }

private:
    using Piece = BrokenLine::Piece;

    // One shape, with the cheapest plan so far and the step that was tried last.
    struct Progress {
        PlanRange range;
        double factor;  // of computing
        double sync;
        double noise;  // noise / replicas
        CheapestPlan best;
        OverlappedStep tangent;
    };

    // What may be cheapest on a level.
    struct Promise {
        double bound = std::numeric_limits<double>::infinity();
        double atomic = 0;
        const Piece* piece = nullptr;
    };

    struct Loads {
        double least, most;
    };

    // Costs differ by this much from rounding alone.
    static double clearly_below(double cost) {
        return cost * (1 - 16 * std::numeric_limits<double>::epsilon());
    }

    [[nodiscard]] Progress start(Shape shape, const OverlappedStep& tangent) const {
        Progress at{PlanRange(shape.gpus, limits_),
                    model_.compute_factor(shape),
                    model_.sync_seconds(shape),
                    noise_ / shape.gpus,
                    {},
                    tangent};
        if (at.range.initial_without_accumulation) {
            const double compute = model_.compute_seconds(limits_.initial_batch) * at.factor;
            at.best.consider(cost_at(limits_.initial_batch, noise_, signal_, compute, 0),
                             limits_.initial_batch, 1);
        }
        return at;
    }

    [[nodiscard]] LineCost on(const Piece& piece, const Progress& at) const {
        return {piece.low, at.factor * piece.seconds, at.factor * piece.per_example, model_.gamma, signal_};
    }

    // The pieces that hold a level: it begins before the first ends, and ends after the last begins.
    [[nodiscard]] std::span<const Piece> pieces_of(const BatchLevel& level) const {
        const std::span<const Piece> all = line_.pieces();
        std::size_t first = 0, last = 0;
        for (const Piece& piece : all) {
            first += piece.high <= level.low;
            last += piece.low < level.high;
        }
        first = std::min(first, all.size() - 1);
        return all.subspan(first, std::max(last, first + 1) - first);
    }

    static BatchLevel part_of(BatchLevel level, const Piece& piece) {
        level.low = std::max(level.low, piece.low);
        level.high = std::min(level.high, piece.high);
        return level;
    }

    // Where the tangent's bound is least on a level: at one of its ends, where pieces meet, or where the
    // bound has a minimum of its own within a piece. Rules out the pieces to the left and to the right of all
    // that may be better than the best.
    [[nodiscard]] Promise most_promising(BatchLevel& level, std::span<const Piece>& pieces,
                                         const Progress& at) const {
        const double share = (level.further + at.tangent.per_compute) * at.factor;
        const double waiting = at.tangent.per_sync * at.sync, below = clearly_below(at.best.cost);
        const auto bound_at = [&](double inverse, double compute) {
            return (level.noise * inverse + signal_) * (share * compute + waiting);
        };
        Promise best;
        const Piece *first = nullptr, *last = nullptr;
        const auto consider = [&](double bound, double atomic, const Piece* from, const Piece* to) {
            if (!(bound < below)) return;
            if (!first) first = from;
            last = to;
            if (bound < best.bound) best = {bound, atomic, to};
        };
        const auto consider_on = [&](const Piece& piece, double atomic) {
            consider(bound_at(1 / atomic, piece.compute_seconds(atomic)), atomic, &piece, &piece);
        };
        consider_on(pieces.front(), level.low);
        const double signal_share = signal_ * share;
        const auto falling = [&](const Piece& piece) {
            return level.noise * (share * piece.constant + waiting);
        };
        // What every piece needs comes first, without branches.
        constexpr std::size_t most = 16;
        std::array<double, most> at_low;
        std::array<bool, most> within;
        for (std::size_t begin = 0; begin < pieces.size(); begin += most) {
            const std::size_t count = std::min(most, pieces.size() - begin);
            const Piece* block = &pieces[begin];
            for (std::size_t i = 0; i < count; ++i) {
                at_low[i] = bound_at(block[i].inverse_low, block[i].seconds);
                within[i] = (int{signal_share * block[i].rising_low < falling(block[i])} &
                             int{falling(block[i]) < signal_share * block[i].rising_high}) != 0;
            }
            for (std::size_t i = 0; i < count; ++i) {
                const Piece& piece = block[i];
                if (begin + i > 0) consider(at_low[i], piece.low, &piece - 1, &piece);
                if (within[i])
                    consider_on(piece,
                                least_at(falling(piece), signal_share * piece.per_example,
                                         std::max(piece.low, level.low), std::min(piece.high, level.high)));
            }
        }
        consider_on(pieces.back(), level.high);
        if (best.piece) {
            pieces = pieces.subspan(static_cast<std::size_t>(first - pieces.data()),
                                    static_cast<std::size_t>(last - first) + 1);
            level.low = std::max(level.low, pieces.front().low);
            level.high = std::min(level.high, pieces.back().high);
        }
        return best;
    }

    template <std::size_t Most, class Report>
    void in_lock_step(std::span<const Shape> shapes, std::size_t first, const Report& report) const {
        const std::size_t count = Most == 1 ? 1 : shapes.size();
        std::array<Progress, Most> all;
        std::array<BatchLevel, Most> levels;
        std::array<std::span<const Piece>, Most> pieces;
        std::array<Promise, Most> next;
        std::array<std::size_t, Most> open;  // shapes that are not settled, to which `steps` belongs
        std::array<bool, Most> settled;
        OverlappedSteps<Most> steps;
        std::size_t left = 0;
        // Where computing and synchronising take equally long.
        const double half = exp2_of(1 / model_.gamma - 1);
        const OverlappedStep as_long{0, half, half};
        const auto evaluate_next = [&](std::size_t j, std::size_t i) {
            open[j] = i;
            steps.compute[j] = all[i].factor * next[i].piece->compute_seconds(next[i].atomic);
            steps.sync[j] = all[i].sync;
        };
        for (std::size_t i = 0; i < count; ++i) all[i] = start(shapes[i], as_long);
        for (std::size_t i = 0; i < count; ++i) {
            Progress& at = all[i];
            const int k = at.range.fewest_microbatches;
            levels[i] = level_of(at.range, k, at.noise, at.sync);
            settled[i] = !at.range.allows(k) || levels[i].low > levels[i].high;
            if (settled[i]) continue;
            pieces[i] = pieces_of(levels[i]);
            next[i] = most_promising(levels[i], pieces[i], at);
            settled[i] = next[i].piece == nullptr;
            if (!settled[i]) evaluate_next(left++, i);
        }
        for (int round = 0; round < 3 && left > 0; ++round) {
            steps.evaluate(model_.gamma, left);
            std::size_t unsettled = 0;
            for (std::size_t j = 0; j < left; ++j) {
                const std::size_t i = open[j];
                Progress& at = all[i];
                at.tangent = {steps.seconds[j], steps.per_compute[j], steps.per_sync[j]};
                const Tried tried{next[i].atomic, at.tangent};
                const LineCost line = on(*next[i].piece, at);
                at.best.consider(line.cost(levels[i], tried), tried.atomic, at.range.fewest_microbatches);
                const Promise promise = most_promising(levels[i], pieces[i], at);
                settled[i] = promise.piece == nullptr;
                if (settled[i]) continue;
                const bool same = promise.piece == next[i].piece;
                next[i] = promise;
                if (same) next[i].atomic = line.next_after(part_of(levels[i], *promise.piece), tried);
                evaluate_next(unsettled++, i);
            }
            left = unsettled;
            if (left <= 2) break;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (!settled[i]) search_level(levels[i], pieces[i], all[i]);
            search_further(all[i]);
            report(first + i, all[i].best);
        }
    }

    void search_level(const BatchLevel& level, std::span<const Piece> pieces, Progress& at) const {
        for (const Piece& piece : pieces) {
            const LineCost line = on(piece, at);
            const BatchLevel part = part_of(level, piece);
            if (!line.promises(part, at.tangent, clearly_below(at.best.cost))) continue;
            const Tried tried = line.try_at(part, line.least_on(part, at.tangent));
            at.tangent = line.search(part, tried, at.best).step;
        }
    }

    // The loads with which k or more microbatches may cost less than the best, from all supports: those L
    // with rising L^2 - above L + falling < 0.
    [[nodiscard]] Loads loads_left(int k, const Progress& at) const {
        struct Quadratic {
            double rising, above, falling, square;
        };
        const double share = (k - 1 + at.tangent.per_compute) * at.factor, of_slope = share / k;
        const double waiting = at.tangent.per_sync * at.sync, cost = clearly_below(at.best.cost);
        const auto quadratic = [&](const BrokenLine::Support& support) {
            const double intercept = share * support.constant + waiting;
            const double slope = of_slope * support.per_example;
            const double rising = signal_ * slope, falling = at.noise * intercept;
            const double above = cost - at.noise * slope - signal_ * intercept;
            return Quadratic{rising, above, falling, above * above - 4 * rising * falling};
        };
        // Mostly no load is left, and to see it takes no root.
        int some = 1;
        for (const BrokenLine::Support& support : line_.supports()) {
            const Quadratic loads = quadratic(support);
            some &= int{loads.above > 0} & int{loads.square > 0};
        }
        if (!some) return {1, 0};
        Loads left{static_cast<double>(std::max(at.range.least_load, k * at.range.least_atomic)),
                   static_cast<double>(at.range.most_load)};
        for (const BrokenLine::Support& support : line_.supports()) {
            const Quadratic loads = quadratic(support);
            const double twice = loads.above + std::sqrt(loads.square);
            left.least = std::max(left.least, std::ceil(2 * loads.falling / twice));
            left.most = std::min(left.most, std::floor(twice / (2 * loads.rising)));
        }
        return left;
    }

    // The atomic batches that may cost less than the best with such loads in k or more microbatches: those
    // with few enough seconds per example.
    [[nodiscard]] BrokenLine::Batches batches_left(int k, const Loads& loads, const Progress& at) const {
        const double share = (k - 1 + at.tangent.per_compute) / k * at.factor;
        const double computing =
            clearly_below(at.best.cost) - (at.noise / loads.most + signal_) * at.tangent.per_sync * at.sync;
        return line_.batches_within(computing / (share * (at.noise + signal_ * loads.least)));
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
            const BrokenLine::Batches batches = batches_left(k, loads, at);
            const double fewest = std::ceil(loads.least / batches.most);
            if (!(batches.least <= batches.most && std::max<double>(k, fewest) * batches.least <= loads.most))
                return;
            if (fewest > k) {
                k = static_cast<int>(fewest);
                continue;
            }
            BatchLevel level = level_of(at.range, k, at.noise, at.sync);
            level.low = std::max({level.low, std::ceil(loads.least / k), batches.least});
            level.high = std::min({level.high, std::floor(loads.most / k), batches.most});
            if (level.low <= level.high) {
                search_level(level, pieces_of(level), at);
                if (!(at.best.cost < std::numeric_limits<double>::infinity())) return;
            }
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
        const LineCost line{atomic, compute, 0, model_.gamma, signal_};
        BatchLevel level{0, atomic, atomic, 0, at.sync};
        const Tried tried = line.try_at(level, atomic);
        const double hidden = tried.step.seconds - compute;
        const double microbatches = least_at(at.noise / atomic * hidden, signal_ * compute, least, most);
        level.further = microbatches - 1;
        level.noise = at.noise / microbatches;
        best.consider(line.cost(level, tried), atomic, static_cast<int>(microbatches));
        if (best.cost < at.best.cost) at.tangent = tried.step;
        return best;
    }

    const Throughput& model_;
    BatchLimits limits_;
    double noise_, signal_;
    BrokenLine line_;
};

}  // namespace goodput::detail

#endif
