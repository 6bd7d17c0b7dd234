#ifndef GOODPUT_MODEL_DETAIL_POLLUX_SEARCH_HPP
#define GOODPUT_MODEL_DETAIL_POLLUX_SEARCH_HPP

// The proven search for the cheapest batch plan under Pollux's model. batch_plan.hpp explains it; the points
// that are referred to here are listed there.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/core/batch.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/model/detail/elementary.hpp"
#include "goodput/model/detail/overlap.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/pollux.hpp"

namespace goodput::detail {

// cost(x) = (noise / x + signal)(intercept + slope x) over the integers of [least, most], all factors >= 0.
struct LeastCost {
    int at = 0;
    double cost = 0;
};

inline double cost_at(double x, double noise, double signal, double intercept, double slope) {
    return (noise / x + signal) * (intercept + slope * x);
}

inline LeastCost least_cost(double noise, double signal, double intercept, double slope, int least,
                            int most) {
    const double falling = noise * intercept, rising = signal * slope;
    const double real = falling > 0 ? std::sqrt(falling / rising) : 0;
    int at = real >= most ? most : least;
    if (real > least && real < most) {
        at = static_cast<int>(real);
        // The sign of cost(at + 1) - cost(at), without a division.
        if (rising * at * (at + 1.0) < falling) ++at;
    }
    return {at, cost_at(at, noise, signal, intercept, slope)};
}

struct CheapestPlan {
    BatchPlan plan{};
    double cost = std::numeric_limits<double>::infinity();  // infinite: there is no plan

    void consider(double its_cost, double atomic_batch, int microbatches) {
        if (its_cost < cost && its_cost > 0)
            *this = {{static_cast<int>(atomic_batch), microbatches - 1}, its_cost};
    }
};

class PolluxSearch {
public:
    // cost = (noise / total batch + signal) seconds.
    PolluxSearch(const PolluxThroughput& model, const BatchLimits& limits, double noise, double signal)
        : model_(model), limits_(limits), noise_(noise), signal_(signal) {}

    // Calls report(i, CheapestPlan) for each of `shapes`.
    template <class Report>
    void operator()(std::span<const Shape> shapes, const Report& report) const {
        if (shapes.size() == 1) return in_lock_step<1>(shapes, 0, report);
        for (std::size_t first = 0; first < shapes.size(); first += lanes) {
            const std::size_t count = std::min(lanes, shapes.size() - first);
            in_lock_step<lanes>(shapes.subspan(first, count), first, report);
        }
    }

private:
    static constexpr std::size_t lanes = 32;

    // The plans of one number of microbatches on one shape.
    struct Level {
        double further;    // microbatches - 1
        double low, high;  // the atomic batches that are not ruled out
        double noise;      // noise / replicas / microbatches
        double sync;
    };

    static Level level_of(const PlanRange& range, int microbatches, double replica_noise, double sync) {
        return {microbatches - 1.0, static_cast<double>(range.least_atomic_at(microbatches)),
                static_cast<double>(range.most_atomic_at(microbatches)), replica_noise / microbatches, sync};
    }

    // The tangent's lower bound on the seconds of a level: intercept + slope b.
    [[nodiscard]] double intercept(const Level& level, const OverlappedStep& step) const {
        return (level.further + step.per_compute) * model_.alpha_c + step.per_sync * level.sync;
    }
    [[nodiscard]] double slope(const Level& level, const OverlappedStep& step) const {
        return (level.further + step.per_compute) * model_.beta_c;
    }
    [[nodiscard]] LeastCost least_on(const Level& level, const OverlappedStep& step) const {
        return least_cost(level.noise, signal_, intercept(level, step), slope(level, step),
                          static_cast<int>(level.low), static_cast<int>(level.high));
    }

    static double within(const Level& level, double atomic) {
        const double high = atomic < level.high ? atomic : level.high;  // also for what is not a number
        return nearest_integer(high > level.low ? high : level.low);
    }

    // About where the tangent has its least cost.
    [[nodiscard]] double guess(const Level& level, const OverlappedStep& tangent) const {
        const double falling = level.noise * intercept(level, tangent);
        const double rising = signal_ * slope(level, tangent);
        return within(level, falling * rough_inverse_root(falling * rising));
    }

    // Where Newton's method in the logarithm of the batch, from `tried` with its step, expects the batch at
    // which the tangent has its least cost where it touches; instead of a power it takes its Pade fraction.
    [[nodiscard]] double newton(const Level& level, double tried, const OverlappedStep& step) const {
        const double start = intercept(level, step), rise = slope(level, step) * tried;
        const double in_batch = model_.beta_c * tried, compute = model_.alpha_c + in_batch;
        const double seconds = level.further * compute + step.seconds;
        const double curvature = (model_.gamma - 1) * in_batch * in_batch * step.per_compute * step.per_sync;
        const double bend = seconds * curvature * level.sync;
        const double whole = 2 * start * rise * step.seconds * compute;
        const double falling = level.noise * start, rising = signal_ * rise * tried;
        const double ratio = falling * rough_inverse_root(falling * rising);
        return within(level, tried * ((2 * whole + bend) * ratio + bend) / (bend * ratio + 2 * whole + bend));
    }

    [[nodiscard]] double cost(const Level& level, double atomic, const OverlappedStep& step) const {
        const double compute = model_.alpha_c + model_.beta_c * atomic;
        return (level.noise / atomic + signal_) * (level.further * compute + step.seconds);
    }

    // To which side of `atomic` the tangent that touches there falls: 1 or -1; 0 if it rises to the next
    // integer of the level on either side, so that nothing else on it can be better.
    [[nodiscard]] int falls(const Level& level, double atomic, const OverlappedStep& step) const {
        const double falling = level.noise * intercept(level, step);
        const double rising = signal_ * slope(level, step) * atomic;
        return (int{rising * (atomic + 1) < falling} & int{atomic < level.high}) -
               (int{rising * (atomic - 1) > falling} & int{atomic > level.low});
    }

    // Whether the tangent shows that no plan of k or more microbatches costs less than `least` (point 3): the
    // bound over all real loads at first, because it needs no root, then over the integers in range.
    [[nodiscard]] bool no_further_is_better(double least, int k, const PlanRange& range, double noise,
                                            double sync, const OverlappedStep& step) const {
        const double share = k - 1 + step.per_compute;
        const double intercept = share * model_.alpha_c + step.per_sync * sync;
        const double slope = share * model_.beta_c / k;
        const double above = least - noise * slope - signal_ * intercept;
        if (!(least < std::numeric_limits<double>::infinity())) return false;
        if (above <= 0 || 4 * noise * slope * signal_ * intercept >= above * above) return true;
        const double rounding = 1 - 4 * std::numeric_limits<double>::epsilon();
        return least_cost(noise, signal_, intercept, slope,
                          std::max(range.least_load, k * range.least_atomic), range.most_load)
                   .cost >= least * rounding;
    }

    // From the batch that were best if computing and synchronising took equally long, up to three of Newton's
    // steps together, each with the shapes that still need it; then every shape for itself (point 5).
    template <std::size_t Most, class Report>
    void in_lock_step(std::span<const Shape> shapes, std::size_t first, const Report& report) const {
        const std::size_t count = Most == 1 ? 1 : shapes.size();
        std::array<PlanRange, Most> ranges;
        std::array<Level, Most> levels;
        std::array<double, Most> atomic;
        std::array<OverlappedStep, Most> tangents;
        std::array<std::size_t, Most> open;  // shapes that are not settled, to which `steps` belongs
        OverlappedSteps<Most> steps;
        const auto evaluate_next = [&](std::size_t j, std::size_t i, double next) {
            open[j] = i;
            atomic[i] = next;
            steps.compute[j] = model_.compute_seconds(next);
            steps.sync[j] = levels[i].sync;
        };
        const double half = exp2_of(1 / model_.gamma - 1);
        for (std::size_t i = 0; i < count; ++i) {
            ranges[i] = PlanRange(shapes[i].gpus, limits_);
            levels[i] = level_of(ranges[i], ranges[i].fewest_microbatches, noise_ / shapes[i].gpus,
                                 model_.sync_seconds(shapes[i]));
            evaluate_next(i, i, guess(levels[i], {0, half, half}));
        }
        std::size_t left = count;
        for (int round = 0; round < 3; ++round) {
            if (round > 0)
                for (std::size_t j = 0; j < left; ++j)
                    evaluate_next(j, open[j], newton(levels[open[j]], atomic[open[j]], tangents[open[j]]));
            steps.evaluate(model_.gamma, left);
            std::size_t unsettled = 0;
            for (std::size_t j = 0; j < left; ++j) {
                const std::size_t i = open[j];
                tangents[i] = {steps.seconds[j], steps.per_compute[j], steps.per_sync[j]};
                open[unsettled] = i;
                unsettled += falls(levels[i], atomic[i], tangents[i]) != 0;
            }
            left = unsettled;
            if (left <= 2) break;
        }
        for (std::size_t i = 0; i < count; ++i)
            report(first + i, settle(ranges[i], levels[i], atomic[i], tangents[i]));
    }

    // The cheapest plan, with `step` known at `atomic` on the level of the fewest microbatches: nearly always
    // proven by it.
    [[nodiscard]] CheapestPlan settle(const PlanRange& range, const Level& level, double atomic,
                                      const OverlappedStep& step) const {
        const int k = range.fewest_microbatches;
        CheapestPlan best;
        if (range.initial_without_accumulation)
            best.consider(cost_at(limits_.initial_batch, noise_, signal_, model_.alpha_c, model_.beta_c),
                          limits_.initial_batch, 1);
        if (!range.allows(k)) return best;
        if (level.low <= level.high && falls(level, atomic, step) == 0) {
            CheapestPlan both = best;
            both.consider(cost(level, atomic, step), atomic, k);
            if (!range.allows(k + 1) ||
                no_further_is_better(both.cost, k + 1, range, level.noise * k, level.sync, step))
                return both;
        }
        return search_on(range, level, atomic, step, best);
    }

    // The same where it is not, with the best plan on other levels so far.
    [[nodiscard]] CheapestPlan search_on(const PlanRange& range, Level level, double atomic,
                                         OverlappedStep step, CheapestPlan best) const {
        const double replica_noise = level.noise * range.fewest_microbatches, sync = level.sync;
        bool limited = false;  // by memory, on the level before
        for (int k = range.fewest_microbatches; range.allows(k); ++k) {
            bool promising = true;
            if (k > range.fewest_microbatches) {
                if (no_further_is_better(best.cost, k, range, replica_noise, sync, step)) break;
                // Along the levels that memory limits, the cost at the largest batch is known.
                const int last = limited ? last_limited(k - 1, range, replica_noise, sync, step) : 0;
                limited = false;
                if (last >= k) {
                    const double compute = model_.compute_seconds(range.most_atomic);
                    const double hidden =
                        std::max(0.0, step.per_sync * sync - (1 - step.per_compute) * compute);
                    const LeastCost along =
                        least_cost(replica_noise / range.most_atomic, signal_, hidden, compute, k, last);
                    best.consider(along.cost, range.most_atomic, along.at);
                    k = last;
                    continue;
                }
                level = level_of(range, k, replica_noise, sync);
                const LeastCost next = least_on(level, step);
                promising = next.cost < best.cost && level.low <= level.high;
                atomic = next.at;
                if (promising) step = model_.overlapped_step(model_.compute_seconds(atomic), sync);
            }
            while (promising && level.low <= level.high) {
                best.consider(cost(level, atomic, step), atomic, k);
                if (!(best.cost < std::numeric_limits<double>::infinity())) return best;
                limited = atomic == range.most_atomic && signal_ * slope(level, step) * atomic * atomic <=
                                                             level.noise * intercept(level, step);
                const int side = falls(level, atomic, step);
                if (side == 0) break;
                (side > 0 ? level.low : level.high) = atomic + side;
                promising = least_on(level, step).cost < best.cost;
                if (!promising) break;
                atomic = newton(level, atomic, step);
                step = model_.overlapped_step(model_.compute_seconds(atomic), sync);
            }
        }
        return best;
    }

    // The last k >= from at which the best atomic batch is still the largest (point 4), from the sign of the
    // cost's derivative there, multiplied by k K: rising k (k - 1 + p) - noise ((k - 1 + p) alpha + q w).
    [[nodiscard]] int last_limited(int from, const PlanRange& range, double replica_noise, double sync,
                                   const OverlappedStep& step) const {
        const int last = range.most_load / range.most_atomic;
        const double most = range.most_atomic, behind = 1 - step.per_compute;
        const double square = signal_ * model_.beta_c * most * most;
        if (!(square > 0)) return last;
        const double linear = square * behind + replica_noise * model_.alpha_c;
        const double constant = replica_noise * (step.per_sync * sync - behind * model_.alpha_c);
        const double root =
            (linear + std::sqrt(std::max(0.0, linear * linear + 4 * square * constant))) / (2 * square);
        // A little less than the root: a k left out here is only searched as any other.
        const double safe = root * (1 - 1e-9);
        return safe >= last ? last : safe > from ? static_cast<int>(safe) : from;
    }

    PolluxThroughput model_;
    BatchLimits limits_;
    double noise_, signal_;
};

}  // namespace goodput::detail

#endif
