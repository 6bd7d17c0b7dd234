#ifndef GOODPUT_MODEL_DETAIL_POLLUX_SEARCH_HPP
#define GOODPUT_MODEL_DETAIL_POLLUX_SEARCH_HPP

// The proven search for the cheapest batch plan under Pollux's model; batch_plan.hpp explains it, and its points 1
// to 4 are referred to here.

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

inline LeastCost least_cost(double noise, double signal, double intercept, double slope, int least, int most) {
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
};

class PolluxSearch {
public:
    // cost = (noise / total batch + signal) seconds.
    PolluxSearch(const PolluxThroughput& model, const BatchLimits& limits, double noise, double signal)
        : model_(model), limits_(limits), noise_(noise), signal_(signal) {}

    // Calls report(i, CheapestPlan) for each of `shapes`. First all are searched in lock-step, with Newton's method
    // from the batch that were best if computing and synchronising took equally long; then each is proven, which
    // seldom needs another step of the model.
    template <class Report>
    void operator()(std::span<const Shape> shapes, Report report) const {
        std::array<Level, lanes> levels;
        std::array<PlanRange, lanes> ranges;
        OverlappedSteps<lanes> steps;
        std::array<int, lanes> atomic;
        const double half = exp2_of(1 / model_.gamma - 1);
        for (std::size_t first = 0; first < shapes.size(); first += lanes) {
            const std::size_t count = std::min(lanes, shapes.size() - first);
            for (std::size_t i = 0; i < count; ++i) {
                const Shape shape = shapes[first + i];
                ranges[i] = PlanRange(shape.gpus, limits_);
                levels[i] = level_of(ranges[i], ranges[i].fewest_microbatches, noise_ / shape.gpus,
                                     model_.sync_seconds(shape));
                atomic[i] = least_on(levels[i], {0, half, half}).at;
                steps.sync[i] = levels[i].sync;
                steps.compute[i] = model_.compute_seconds(atomic[i]);
            }
            steps.evaluate(model_.gamma, count);
            const auto step_of = [&](std::size_t i) {
                return OverlappedStep{steps.seconds[i], steps.per_compute[i], steps.per_sync[i]};
            };
            if (count > 2) {
                for (std::size_t i = 0; i < count; ++i) {
                    atomic[i] = newton(levels[i], atomic[i], step_of(i));
                    steps.compute[i] = model_.compute_seconds(atomic[i]);
                }
                steps.evaluate(model_.gamma, count);
            }
            for (std::size_t i = 0; i < count; ++i)
                report(first + i, prove(ranges[i], levels[i], atomic[i], step_of(i)));
        }
    }

private:
    static constexpr std::size_t lanes = 32;

    // The plans of one number of microbatches on one shape.
    struct Level {
        int microbatches;
        int low, high;         // the atomic batches that are not ruled out
        double replica_noise;  // noise / replicas
        double sync;

        [[nodiscard]] double noise() const { return replica_noise / microbatches; }
    };

    static Level level_of(const PlanRange& range, int microbatches, double replica_noise, double sync) {
        return {microbatches, range.least_atomic_at(microbatches), range.most_atomic_at(microbatches),
                replica_noise, sync};
    }

    // The tangent's lower bound on the seconds of a level: intercept + slope b.
    [[nodiscard]] double share(const Level& level, const OverlappedStep& step) const {
        return level.microbatches - 1 + step.per_compute;
    }
    [[nodiscard]] double intercept(const Level& level, const OverlappedStep& step) const {
        return share(level, step) * model_.alpha_c + step.per_sync * level.sync;
    }
    [[nodiscard]] double slope(const Level& level, const OverlappedStep& step) const {
        return share(level, step) * model_.beta_c;
    }
    [[nodiscard]] LeastCost least_on(const Level& level, const OverlappedStep& step) const {
        return least_cost(level.noise(), signal_, intercept(level, step), slope(level, step), level.low,
                          level.high);
    }

    // Where Newton's method in the logarithm of the batch, with `step` at `tried`, expects the batch at which the
    // tangent has its least cost where it touches; the power that this takes is replaced by its Pade fraction.
    [[nodiscard]] int newton(const Level& level, int tried, const OverlappedStep& step) const {
        const double start = intercept(level, step), rise = slope(level, step), falling = level.noise() * start;
        const double compute = model_.compute_seconds(tried), beta = model_.beta_c;
        const double seconds = (level.microbatches - 1) * compute + step.seconds;
        const double curvature = (model_.gamma - 1) * beta * beta * step.per_compute * step.per_sync * level.sync;
        const double bend = tried * seconds * curvature / (2 * start * rise * step.seconds * compute);
        const double ratio = falling > 0 ? std::sqrt(falling / (signal_ * rise)) / tried : 0;
        const double next = tried * ((2 + bend) * ratio + bend) / (bend * ratio + 2 + bend) + 0.5;
        // Not a number where the cost only falls.
        return next < level.low ? level.low : next < level.high ? static_cast<int>(next) : level.high;
    }

    // The cheapest plan, with `step` known at `atomic` on the level of the fewest microbatches.
    [[nodiscard]] CheapestPlan prove(const PlanRange& range, Level level, int atomic, OverlappedStep step) const {
        CheapestPlan best;
        const auto consider = [&](double cost, int b, int k) {
            if (cost < best.cost && cost > 0) best = {{b, k - 1}, cost};
        };
        const int fewest = range.fewest_microbatches;
        if (range.initial_without_accumulation)
            consider(cost_at(limits_.initial_batch, noise_, signal_, model_.alpha_c, model_.beta_c),
                     limits_.initial_batch, 1);
        bool limited = false;  // by memory, on the level before
        for (int k = fewest; k <= range.most_microbatches; ++k) {
            bool promising = true;
            if (k > fewest) {
                if (no_further_is_better(best.cost, k, range, level, step)) break;
                if (limited) {
                    limited = false;
                    const int last = last_limited(k - 1, range, level, step);
                    if (last >= k) {
                        const double compute = model_.compute_seconds(range.most_atomic);
                        const double hidden =
                            std::max(0.0, step.per_sync * level.sync - (1 - step.per_compute) * compute);
                        const LeastCost along = least_cost(level.replica_noise / range.most_atomic, signal_,
                                                           hidden, compute, k, last);
                        consider(along.cost, range.most_atomic, along.at);
                        k = last;
                        continue;
                    }
                }
                level = level_of(range, k, level.replica_noise, level.sync);
                const LeastCost next = least_on(level, step);
                promising = next.cost < best.cost;
                atomic = next.at;
                if (promising && level.low <= level.high)
                    step = model_.overlapped_step(model_.compute_seconds(atomic), level.sync);
            }
            const double noise = level.noise();
            while (promising && level.low <= level.high) {
                const double compute = model_.compute_seconds(atomic);
                consider((noise / atomic + signal_) * ((k - 1) * compute + step.seconds), atomic, k);
                if (!(best.cost < std::numeric_limits<double>::infinity())) return best;
                // Where even the tangent rises to the next integer on either side, nothing else can be better.
                const double falling = noise * intercept(level, step);
                const double rising = signal_ * slope(level, step) * atomic;
                limited = atomic == range.most_atomic && rising * atomic <= falling;
                const bool up = rising * (atomic + 1.0) < falling, down = rising * (atomic - 1.0) > falling;
                if (!(up & (atomic < level.high)) & !(down & (atomic > level.low))) break;
                if (up)
                    level.low = atomic + 1;
                else
                    level.high = atomic - 1;
                promising = least_on(level, step).cost < best.cost;
                if (!promising) break;
                atomic = newton(level, atomic, step);
                step = model_.overlapped_step(model_.compute_seconds(atomic), level.sync);
            }
        }
        return best;
    }

    // Whether no plan of k or more microbatches costs less than `least` (point 3): the bound over all real loads at
    // first, because it needs no division and nearly always suffices, then over the integers in range.
    [[nodiscard]] bool no_further_is_better(double least, int k, const PlanRange& range, const Level& level,
                                            const OverlappedStep& step) const {
        if (!(least < std::numeric_limits<double>::infinity())) return false;
        const double share = k - 1 + step.per_compute, noise = level.replica_noise;
        const double intercept = share * model_.alpha_c + step.per_sync * level.sync;
        const double slope = share * model_.beta_c / k;
        const double above = least - noise * slope - signal_ * intercept;
        if (above <= 0 || 4 * noise * slope * signal_ * intercept >= above * above) return true;
        const double rounding = 1 - 4 * std::numeric_limits<double>::epsilon();
        return least_cost(noise, signal_, intercept, slope, std::max(range.least_load, k * range.least_atomic),
                          range.most_load)
                   .cost >= least * rounding;
    }

    // The last k >= from at which the best atomic batch is still the largest (point 4), from the sign of the cost's
    // derivative there, multiplied by k K: rising k (k - 1 + p) - noise ((k - 1 + p) alpha + q w).
    [[nodiscard]] int last_limited(int from, const PlanRange& range, const Level& level,
                                   const OverlappedStep& step) const {
        const int last = range.most_load / range.most_atomic;
        const double most = range.most_atomic, behind = 1 - step.per_compute;
        const double square = signal_ * model_.beta_c * most * most;
        if (!(square > 0)) return last;
        const double linear = square * behind + level.replica_noise * model_.alpha_c;
        const double constant = level.replica_noise * (step.per_sync * level.sync - behind * model_.alpha_c);
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
