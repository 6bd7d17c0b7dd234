#ifndef GOODPUT_MODEL_BATCH_PLAN_HPP
#define GOODPUT_MODEL_BATCH_PLAN_HPP

// The best batch plan of a job on a shape: K replicas, atomic batch b, k = accumulation steps + 1
// microbatches, total batch M = K b k. Over all integers b and k that respect the limits, maximise
//
//     goodput = M / T(b, k) * efficiency(M)
//
// For a model of one's own every legal plan is tried: with L = max_batch / K that is at most L (1 + ln L)
// evaluations. For PolluxThroughput the same optimum is proven after one or two, as follows.
//
// With the noise scale's efficiency, goodput is a constant over
//
//     cost(b, k) = (noise / M + signal) T(b, k)        noise = variance * initial batch, signal = squared
//     norm T(b, k)    = (k - 1) a + step(a, w)              a = alpha_c + beta_c b computing, w synchronising
//
// 1. step is convex and homogeneous, so with its derivatives p, q at one point step = p a + q w there, and
//    step >= p a + q w everywhere, for other batches, accumulations, and shapes. This tangent needs no
//    further power, and with it the cost has a lower bound (noise / M + signal)(A + B b) whose least integer
//    is a square root. Where the bound reaches the best cost found, nothing better is left.
// 2. For fixed k the cost is convex in 1/b (T is convex and rising in b, and T(b)/b is its perspective), so
// the
//    sign of the derivative at one integer discards all integers on the other side. Evaluating, discarding
//    and bounding in turn ends with a proof; Newton's method says where to evaluate.
// 3. At an equal total batch a further microbatch costs at least alpha_c, and the smaller a hides less of w.
// So
//    the tangent bound over all total batches does not fall with k: once it reaches the best cost, no larger
//    k has to be looked at. Larger k pays only where memory limits b, or through rounding.
// 4. Where memory limits b for several k, the cost at the largest b is convex in k: its least integer is
// again a
//    square root, and the k up to which memory limits is the root of a quadratic.
//
// What it cannot do: atomic batches that differ between replicas, or other limits than those of BatchLimits.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "goodput/core/batch.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/model/concepts.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/pollux.hpp"

namespace goodput {

struct BestPlan {
    BatchPlan plan;
    double goodput =
        0;  ///< examples/s at the initial batch size's efficiency; 0: no plan respects the limits
};

/// Which batch plan gives the largest goodput on `shape.gpus` replicas? Exact over all integers that respect
/// the limits; of equal plans the one with the fewest accumulation steps, then the smallest atomic batch. An
/// empty plan with goodput 0 where none is legal, or where the model predicts no positive finite time.
/// PolluxThroughput (finite parameters >= 0, gamma >= 1) with NoiseScaleEfficiency or FullEfficiency: O(1) in
/// practice; any other pair of models: every legal plan, O(L log L) evaluations with L = max_batch / gpus.
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
[[nodiscard]] BestPlan best_batch_plan(const Throughput& throughput, const Efficiency& efficiency,
                                       Shape shape, const BatchLimits& limits);

/// The same for many shapes of one job, each result as from best_batch_plan up to rounding: `best[i]` for
/// `shapes[i]`. Faster than one by one with PolluxThroughput, because neighbouring shapes share their bounds.
/// Refuses spans of different lengths (std::invalid_argument).
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
void best_batch_plans(const Throughput& throughput, const Efficiency& efficiency,
                      std::span<const Shape> shapes, const BatchLimits& limits, std::span<BestPlan> best);

/// Which plan keeps the total batch size (strong scaling)? The fewest accumulation steps with which the share
/// of a replica, rounded up, fits max_atomic_batch; goodput at the batch really used, which rounding can make
/// larger than `total_batch` by less than one example a microbatch. Refused (empty plan, goodput 0) where the
/// share is below min_atomic_batch, because the total batch would grow. limits.max_batch is not looked at;
/// initial_batch only for single_gpu_accumulates.
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
[[nodiscard]] BestPlan fixed_batch_plan(const Throughput& throughput, const Efficiency& efficiency,
                                        Shape shape, const BatchLimits& limits, int total_batch);

namespace detail {

constexpr int divide_up(int dividend, int divisor) {
    return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
double goodput_of(const Throughput& throughput, const Efficiency& efficiency, Shape shape, BatchPlan plan) {
    const double total = static_cast<double>(plan.total(shape.gpus));
    const double seconds = throughput.iteration_seconds(shape, plan);
    const double goodput = total / seconds * efficiency.efficiency(total);
    return seconds > 0 && goodput > 0 && std::isfinite(goodput) ? goodput : 0;
}

// The legal plans on `replicas` replicas: microbatches x atomic batch = examples of one replica, the "load".
struct PlanRange {
    int least_load = 0, most_load = 0;
    int least_atomic = 0, most_atomic = 0;
    int fewest_microbatches = 1, most_microbatches = 0;  // none legal: 1, 0
    bool initial_without_accumulation =
        false;  // {initial_batch, 0} is legal besides, and nothing else at k = 1

    PlanRange(int replicas, const BatchLimits& limits) {
        if (replicas < 1) return;
        least_atomic = std::max(limits.min_atomic_batch, 1);
        most_atomic = limits.max_atomic_batch;
        least_load = divide_up(std::max(limits.initial_batch, 1), replicas);
        most_load = limits.max_batch / replicas;
        if (most_atomic < least_atomic || most_load < least_load) return;
        fewest_microbatches = divide_up(least_load, most_atomic);
        most_microbatches = most_load / least_atomic;
        if (limits.single_gpu_accumulates && replicas == 1 && fewest_microbatches == 1) {
            initial_without_accumulation =
                limits.initial_batch >= least_atomic && limits.initial_batch <= most_load;
            fewest_microbatches = 2;
        }
    }

    [[nodiscard]] int least_atomic_at(int microbatches) const {
        return std::max(least_atomic, microbatches == 1 ? least_load : divide_up(least_load, microbatches));
    }
    [[nodiscard]] int most_atomic_at(int microbatches) const {
        return std::min(most_atomic, microbatches == 1 ? most_load : most_load / microbatches);
    }
};

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
BestPlan best_of_all(const Throughput& throughput, const Efficiency& efficiency, Shape shape,
                     const BatchLimits& limits) {
    const PlanRange range(shape.gpus, limits);
    BestPlan best;
    const auto consider = [&](int atomic, int microbatches) {
        const BatchPlan plan{atomic, microbatches - 1};
        const double goodput = goodput_of(throughput, efficiency, shape, plan);
        if (goodput > best.goodput) best = {plan, goodput};
    };
    if (range.initial_without_accumulation) consider(limits.initial_batch, 1);
    for (int k = range.fewest_microbatches; k <= range.most_microbatches; ++k)
        for (int b = range.least_atomic_at(k); b <= range.most_atomic_at(k); ++b) consider(b, k);
    return best;
}

// cost(x) = (noise / x + signal)(intercept + slope x) over the integers of [least, most], all factors >= 0.
struct LeastCost {
    int at = 0;
    double cost = 0;
    double real =
        0;  // where the cost is least over all real x > 0: 0 if it only rises, infinite if it only falls
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
    return {at, cost_at(at, noise, signal, intercept, slope), real};
}

// Derivatives of the step, the only state that one search leaves to the next (point 1 above).
struct StepTangent {
    double per_compute = 0, per_sync = 0;

    // The one where computing and synchronising take equally long.
    static StepTangent balanced(double gamma) {
        const double half = gamma > 1 ? std::exp2(1 / gamma - 1) : 1;
        return {half, half};
    }
};

// noise, signal: as above; scale = goodput * cost.
struct PolluxSearch {
    PolluxThroughput model;
    BatchLimits limits;
    double noise, signal, scale;

    BestPlan operator()(Shape shape, StepTangent& kept) const {
        const PlanRange range(shape.gpus, limits);
        if (range.most_microbatches < range.fewest_microbatches && !range.initial_without_accumulation)
            return {};
        const double alpha = model.alpha_c, beta = model.beta_c, sync = model.sync_seconds(shape);
        const double replica_noise = noise / shape.gpus;
        StepTangent tangent = sync > 0 ? kept : StepTangent{1, 0};
        BestPlan best;
        double least = std::numeric_limits<double>::infinity();
        const auto consider = [&](double cost, int atomic, int microbatches) {
            if (cost < least && cost > 0) {
                least = cost;
                best.plan = {atomic, microbatches - 1};
            }
        };

        if (range.initial_without_accumulation)
            consider(cost_at(limits.initial_batch, noise, signal, alpha, beta), limits.initial_batch, 1);
        for (int k = range.fewest_microbatches; k <= range.most_microbatches; ++k) {
            double share = k - 1 + tangent.per_compute;
            if (least < std::numeric_limits<double>::infinity() &&
                no_further_is_better(least, k, range, replica_noise, share * alpha + tangent.per_sync * sync,
                                     share * beta / k))
                break;

            const double noise_k = replica_noise / k;
            int low = range.least_atomic_at(k), high = range.most_atomic_at(k);
            const int highest = high;
            double seconds = 0, curvature = 0;
            int tried = 0;
            bool limited = false;
            while (low <= high) {
                const double intercept = share * alpha + tangent.per_sync * sync, slope = share * beta;
                const LeastCost next = least_cost(noise_k, signal, intercept, slope, low, high);
                if (!(next.cost < least)) break;
                int atomic = next.at;
                if (curvature > 0 && next.real < std::numeric_limits<double>::infinity()) {
                    // Newton's method in the logarithm of the batch, for the batch at which the tangent has
                    // its least cost where it touches; the power that this takes is replaced by its Pade
                    // fraction.
                    const double ratio = next.real / tried;
                    const double bend = tried * seconds * curvature / (2 * intercept * slope);
                    const double newton =
                        tried * ((2 + bend) * ratio + bend) / (bend * ratio + 2 + bend) + 0.5;
                    atomic = newton >= high ? high : newton > low ? static_cast<int>(newton) : low;
                }
                const double compute = alpha + beta * atomic;
                const OverlappedStep step = model.overlapped_step(compute, sync);
                seconds = (k - 1) * compute + step.seconds;
                consider((noise_k / atomic + signal) * seconds, atomic, k);

                tangent = {step.per_compute, step.per_sync};
                share = k - 1 + tangent.per_compute;
                const double falling = noise_k * (share * alpha + tangent.per_sync * sync);
                const double rising = signal * share * beta * atomic;
                limited = atomic == highest && rising * atomic <= falling;
                // Where even the tangent rises to the next integer on either side, nothing else can be
                // better.
                if (rising * (atomic - 1) <= falling && rising * (atomic + 1.0) >= falling) break;
                if (rising * atomic < falling)
                    low = atomic + 1;
                else
                    high = atomic - 1;
                tried = atomic;
                curvature = (model.gamma - 1) * beta * beta * step.per_compute * step.per_sync * sync /
                            (step.seconds * compute);
            }

            if (limited && highest == range.most_atomic) {
                const double compute = alpha + beta * highest;
                const int last = last_limited(k, range, replica_noise, sync, tangent);
                if (last > k) {
                    const double hidden =
                        std::max(0.0, tangent.per_sync * sync - (1 - tangent.per_compute) * compute);
                    const LeastCost along =
                        least_cost(replica_noise / highest, signal, hidden, compute, k + 1, last);
                    consider(along.cost, highest, along.at);
                    k = last;
                }
            }
        }
        if (sync > 0) kept = tangent;
        best.goodput = std::isfinite(least) ? scale / least : 0;
        return best.goodput > 0 && std::isfinite(best.goodput) ? best : BestPlan{};
    }

    // Whether no plan of k or more microbatches costs less than `least` (point 3 above): the bound over all
    // real loads at first, because it needs no division and nearly always suffices, then over the integers in
    // range.
    [[nodiscard]] bool no_further_is_better(double least, int k, const PlanRange& range, double replica_noise,
                                            double intercept, double slope) const {
        const double above = least - replica_noise * slope - signal * intercept;
        if (above <= 0 || 4 * replica_noise * slope * signal * intercept >= above * above) return true;
        const double rounding = 1 - 4 * std::numeric_limits<double>::epsilon();
        return least_cost(replica_noise, signal, intercept, slope,
                          std::max(range.least_load, k * range.least_atomic), range.most_load)
                   .cost >= least * rounding;
    }

    // The last k >= from at which the best atomic batch is still the largest (point 4 above), from the sign
    // of the cost's derivative there, multiplied by k K: rising k (k - 1 + p) - noise ((k - 1 + p) alpha + q
    // w).
    [[nodiscard]] int last_limited(int from, const PlanRange& range, double replica_noise, double sync,
                                   StepTangent tangent) const {
        const int last = range.most_load / range.most_atomic;
        const double most = range.most_atomic, behind = 1 - tangent.per_compute;
        const double square = signal * model.beta_c * most * most;
        if (!(square > 0)) return last;
        const double linear = square * behind + replica_noise * model.alpha_c;
        const double constant = replica_noise * (tangent.per_sync * sync - behind * model.alpha_c);
        const double root =
            (linear + std::sqrt(std::max(0.0, linear * linear + 4 * square * constant))) / (2 * square);
        // A little less than the root: a k left out here is only searched as any other.
        const double safe = root * (1 - 1e-9);
        return safe >= last ? last : safe > from ? static_cast<int>(safe) : from;
    }
};

template <class Throughput, class Efficiency>
inline constexpr bool has_fast_search = std::same_as<Throughput, PolluxThroughput> &&
                                        (std::same_as<Efficiency, NoiseScaleEfficiency> ||
                                         std::same_as<Efficiency, FullEfficiency>);

inline PolluxSearch search_of(const PolluxThroughput& model, const NoiseScaleEfficiency& efficiency,
                              const BatchLimits& limits) {
    const GradientStatistics& gradient = efficiency.gradient;
    if (!(gradient.variance > 0) && !(gradient.squared_norm > 0)) return {model, limits, 1, 0, 1};
    return {model, limits, gradient.variance * efficiency.initial_batch, gradient.squared_norm,
            (gradient.variance + gradient.squared_norm) * efficiency.initial_batch};
}

inline PolluxSearch search_of(const PolluxThroughput& model, const FullEfficiency&,
                              const BatchLimits& limits) {
    return {model, limits, 1, 0, 1};
}

}  // namespace detail

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
BestPlan best_batch_plan(const Throughput& throughput, const Efficiency& efficiency, Shape shape,
                         const BatchLimits& limits) {
    if constexpr (detail::has_fast_search<Throughput, Efficiency>) {
        detail::StepTangent tangent = detail::StepTangent::balanced(throughput.gamma);
        return detail::search_of(throughput, efficiency, limits)(shape, tangent);
    } else {
        return detail::best_of_all(throughput, efficiency, shape, limits);
    }
}

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
void best_batch_plans(const Throughput& throughput, const Efficiency& efficiency,
                      std::span<const Shape> shapes, const BatchLimits& limits, std::span<BestPlan> best) {
    if (best.size() != shapes.size())
        bad_input("best_batch_plans", "number of results", best.size(),
                  "the number of shapes, " + text_of(shapes.size()));
    if constexpr (detail::has_fast_search<Throughput, Efficiency>) {
        detail::StepTangent tangent = detail::StepTangent::balanced(throughput.gamma);
        const detail::PolluxSearch search = detail::search_of(throughput, efficiency, limits);
        for (std::size_t i = 0; i < shapes.size(); ++i) best[i] = search(shapes[i], tangent);
    } else {
        for (std::size_t i = 0; i < shapes.size(); ++i)
            best[i] = best_batch_plan(throughput, efficiency, shapes[i], limits);
    }
}

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
BestPlan fixed_batch_plan(const Throughput& throughput, const Efficiency& efficiency, Shape shape,
                          const BatchLimits& limits, int total_batch) {
    if (shape.gpus < 1 || total_batch < 1 || limits.max_atomic_batch < 1) return {};
    const int load = detail::divide_up(total_batch, shape.gpus);
    int microbatches = detail::divide_up(load, limits.max_atomic_batch);
    if (limits.single_gpu_accumulates && shape.gpus == 1 && total_batch > limits.initial_batch)
        microbatches = std::max(microbatches, 2);
    const BatchPlan plan{detail::divide_up(load, microbatches), microbatches - 1};
    if (plan.atomic_batch < limits.min_atomic_batch) return {};
    const double goodput = detail::goodput_of(throughput, efficiency, shape, plan);
    return goodput > 0 ? BestPlan{plan, goodput} : BestPlan{};
}

}  // namespace goodput

#endif
