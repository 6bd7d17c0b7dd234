#ifndef GOODPUT_MODEL_BATCH_PLAN_HPP
#define GOODPUT_MODEL_BATCH_PLAN_HPP

// The best batch plan of a job on a shape: K replicas, atomic batch b, k = accumulation steps + 1
// microbatches, total batch M = K b k. Over all integers b and k that respect the limits, maximise
//
//     goodput = M / T(b, k) * efficiency(M)
//
// In general every legal plan is tried: with L = max_batch / K that is at most L (1 + ln L) evaluations. For
// a BrokenLineModel, as PolluxThroughput and RefinedThroughput are, the same optimum is proven after a few,
// as follows.
//
// With the noise scale's efficiency, goodput is a constant over
//
//     cost(b, k) = (noise / M + signal) T(b, k)     noise = variance * initial batch, signal = squared norm
//     T(b, k)    = (k - 1) a + step(a, w)           a = alpha_c + beta_c b computing, w synchronising
//
// 1. step is convex and homogeneous, so with its derivatives p, q at one point step = p a + q w there, and
//    step >= p a + q w everywhere, for other batches and accumulations. This tangent needs no further power,
//    and with it the cost has a lower bound (noise / M + signal)(A + B b) whose least integer is a square
//    root. Where the bound reaches the best cost found, nothing better is left.
// 2. For fixed k the cost is convex in 1/b (T is convex and rising in b, and T(b)/b is its perspective), so
//    the sign of the derivative at one integer discards all integers on the other side. Evaluating where the
//    bound is least, discarding and bounding in turn ends with a proof.
// 3. At an equal total batch a further microbatch costs at least alpha_c, and the smaller a hides less of w.
//    So the tangent bound over all total batches does not fall with k: once it reaches the best cost, no
//    larger k has to be looked at. Larger k pays only where memory limits b, or through rounding.
// 4. Where memory limits b for several k, the cost at one b is convex in k: its least integer is again a
//    square root.
//
// RefinedThroughput has a broken line for a: 1 and 2 hold piece by piece, 3 with straight lines below the
// broken one. So the search is for broken lines (detail/batch_search.hpp), and Pollux's model is one of
// a single piece.
//
// What it cannot do: atomic batches that differ between replicas, or other limits than those of BatchLimits.
//
// What a model has to answer, concepts say. Any type with the function satisfies them; nothing is inherited.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/model/detail/batch_search.hpp"
#include "goodput/model/detail/plan_range.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput {

/// How long does one iteration take: `seconds = model.iteration_seconds(shape, plan)`, where shape.gpus
/// counts replicas. Satisfied by PolluxThroughput, RefinedThroughput, PipelineThroughput and
/// TabulatedThroughput.
template <class Model>
concept ThroughputModel = requires(const Model& model, Shape shape, BatchPlan plan) {
    { model.iteration_seconds(shape, plan) } -> std::convertible_to<double>;
};

/// A model whose best batch plan is proven without trying all (batch_plan.hpp), because an iteration of s
/// accumulation steps takes
///
///     s C + (C^gamma + sync_seconds(shape)^gamma)^(1/gamma),    C = compute_seconds(b) compute_factor(shape)
///
/// with C straight in the atomic batch b but at the batches that `batches[i].batch` names. compute_factor()
/// and batches may be left out. It names itself as BrokenLine, which a class that derives from it does not.
/// Satisfied by PolluxThroughput and RefinedThroughput.
template <class Model>
concept BrokenLineModel = ThroughputModel<Model> && std::same_as<typename Model::BrokenLine, Model> &&
    requires(const Model& model, Shape shape, double atomic_batch) {
    { model.compute_seconds(atomic_batch) } -> std::convertible_to<double>;
    { model.sync_seconds(shape) } -> std::convertible_to<double>;
    { model.gamma } -> std::convertible_to<double>;
};

/// How much progress an example makes at a total batch size, relative to the initial batch size (1 there,
/// falling): `factor = model.efficiency(total_batch)`. Satisfied by NoiseScaleEfficiency and FullEfficiency.
template <class Model>
concept EfficiencyModel = requires(const Model& model, double total_batch) {
    { model.efficiency(total_batch) } -> std::convertible_to<double>;
};

/// Does not compile for what is not quite a ThroughputModel, and says in one line what is wrong.
template <class Model>
consteval bool throughput_model_fits() {
    static_assert(ThroughputModel<Model>,
                  "ThroughputModel: iteration_seconds is missing, or is not: double iteration_seconds(Shape, "
                  "BatchPlan) const");
    return true;
}

/// Does not compile for what is not quite an EfficiencyModel, and says in one line what is wrong.
template <class Model>
consteval bool efficiency_model_fits() {
    static_assert(
        EfficiencyModel<Model>,
        "EfficiencyModel: efficiency is missing, or is not: double efficiency(double total_batch) const");
    return true;
}

/// A batch plan and its goodput.
struct BestPlan {
    BatchPlan plan;  ///< {0, 0}: none
    /// Examples/s at the initial batch size's efficiency; 0: no plan respects the limits.
    double goodput = 0;
};

/// Which batch plan gives the largest goodput on `shape.gpus` replicas? Exact over all integers that respect
/// the limits; of equal plans the one with the fewest accumulation steps, then the smallest atomic batch
/// (with the fast search any atomic batch of those). An empty plan with goodput 0 where none is legal, or
/// where the model predicts no positive finite time. A BrokenLineModel (as fits give them: finite, seconds >=
/// 0, factors > 0, gamma >= 1, batches ascending) with NoiseScaleEfficiency or FullEfficiency: the fast
/// search, O(measured batches) in practice; where an example takes equally long in many batches and most of
/// them do not divide the load, some ten nanoseconds for each number of microbatches. Any other pair of
/// models: every legal plan, O(L log L) evaluations with L = max_batch / gpus.
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
[[nodiscard]] BestPlan best_batch_plan(const Throughput& throughput, const Efficiency& efficiency,
                                       Shape shape, const BatchLimits& limits);

/// The same for many shapes of one job: `best[i]` for `shapes[i]`. With the fast search faster than one by
/// one. Refuses spans of different lengths (std::invalid_argument).
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
void best_batch_plans(const Throughput& throughput, const Efficiency& efficiency,
                      std::span<const Shape> shapes, const BatchLimits& limits, std::span<BestPlan> best);

/// Which plan keeps the total batch size (strong scaling)? The fewest accumulation steps with which the share
/// of a replica, rounded up, fits max_atomic_batch; rounded down where the total would pass limits.max_batch
/// (0: no limit). Goodput at the batch really used, which rounding can make larger than `total_batch` by less
/// than one example a microbatch, or smaller by less than one a replica. Refused (empty plan, goodput 0)
/// where there are more replicas than examples, or the share is below min_atomic_batch, because the total
/// batch would grow. limits.initial_batch counts only for single_gpu_accumulates.
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
[[nodiscard]] BestPlan fixed_batch_plan(const Throughput& throughput, const Efficiency& efficiency,
                                        Shape shape, const BatchLimits& limits, int total_batch);

/// The three above where one of the two is not quite a model: they do not compile, and say in one line why.
template <class Throughput, class Efficiency>
requires(!(ThroughputModel<Throughput> && EfficiencyModel<Efficiency>)) BestPlan
    best_batch_plan(const Throughput&, const Efficiency&, Shape, const BatchLimits&) {
    static_assert(throughput_model_fits<Throughput>() && efficiency_model_fits<Efficiency>());
    return {};
}
/// See above.
template <class Throughput, class Efficiency>
requires(!(ThroughputModel<Throughput> && EfficiencyModel<Efficiency>)) void best_batch_plans(
    const Throughput&, const Efficiency&, std::span<const Shape>, const BatchLimits&, std::span<BestPlan>) {
    static_assert(throughput_model_fits<Throughput>() && efficiency_model_fits<Efficiency>());
}
/// See above.
template <class Throughput, class Efficiency>
requires(!(ThroughputModel<Throughput> && EfficiencyModel<Efficiency>)) BestPlan
    fixed_batch_plan(const Throughput&, const Efficiency&, Shape, const BatchLimits&, int) {
    static_assert(throughput_model_fits<Throughput>() && efficiency_model_fits<Efficiency>());
    return {};
}

/// How many times as good as the present batch plan another one has to be to be worth a change (Pollux): the
/// gradient noise, which it is chosen by, wavers by more than the best plan gains.
inline constexpr double least_plan_gain = 1.05;

namespace detail {

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
double goodput_of(const Throughput& throughput, const Efficiency& efficiency, Shape shape, BatchPlan plan) {
    const double total = static_cast<double>(plan.total(shape.gpus));
    const double seconds = throughput.iteration_seconds(shape, plan);
    const double goodput = total / seconds * efficiency.efficiency(total);
    return seconds > 0 && goodput > 0 && std::isfinite(goodput) ? goodput : 0;
}

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
    for (int k = range.fewest_microbatches; range.allows(k); ++k)
        for (int b = range.least_atomic_at(k); b <= range.most_atomic_at(k); ++b) consider(b, k);
    return best;
}

template <class Throughput, class Efficiency>
inline constexpr bool has_fast_search = BrokenLineModel<Throughput> &&
                                        (std::same_as<Efficiency, NoiseScaleEfficiency> ||
                                         std::same_as<Efficiency, FullEfficiency>);

// goodput = scale / cost, cost = (noise / total batch + signal) seconds.
struct CostForm {
    double noise = 1, signal = 0, scale = 1;
};

inline CostForm cost_form(const NoiseScaleEfficiency& efficiency) {
    const GradientStatistics gradient = in_range(efficiency.gradient);
    if (!(gradient.variance > 0) && !(gradient.squared_norm > 0)) return {};
    return {gradient.variance * efficiency.initial_batch, gradient.squared_norm,
            (gradient.variance + gradient.squared_norm) * efficiency.initial_batch};
}

inline CostForm cost_form(const FullEfficiency&) { return {}; }

}  // namespace detail

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
BestPlan best_batch_plan(const Throughput& throughput, const Efficiency& efficiency, Shape shape,
                         const BatchLimits& limits) {
    BestPlan best;
    best_batch_plans(throughput, efficiency, std::span(&shape, 1), limits, std::span(&best, 1));
    return best;
}

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
void best_batch_plans(const Throughput& throughput, const Efficiency& efficiency,
                      std::span<const Shape> shapes, const BatchLimits& limits, std::span<BestPlan> best) {
    if (best.size() != shapes.size())
        bad_input("best_batch_plans", "number of results", best.size(),
                  "the number of shapes, " + text_of(shapes.size()));
    if constexpr (detail::has_fast_search<Throughput, Efficiency>) {
        const detail::CostForm form = detail::cost_form(efficiency);
        // The searches discard by comparing, and would discard nothing.
        if (!std::isfinite(form.noise) || !std::isfinite(form.signal)) {
            std::fill(best.begin(), best.end(), BestPlan{});
            return;
        }
        const detail::BatchSearch search(throughput, limits, form.noise, form.signal);
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            const detail::CheapestPlan cheapest = search(shapes[i]);
            const double goodput = form.scale / cheapest.cost;
            best[i] = goodput > 0 && std::isfinite(goodput) ? BestPlan{cheapest.plan, goodput} : BestPlan{};
        }
    } else {
        for (std::size_t i = 0; i < shapes.size(); ++i)
            best[i] = detail::best_of_all(throughput, efficiency, shapes[i], limits);
    }
}

template <ThroughputModel Throughput, EfficiencyModel Efficiency>
BestPlan fixed_batch_plan(const Throughput& throughput, const Efficiency& efficiency, Shape shape,
                          const BatchLimits& limits, int total_batch) {
    if (shape.gpus < 1 || total_batch < shape.gpus || limits.max_atomic_batch < 1) return {};
    const int most_load =
        (limits.max_batch > 0 ? limits.max_batch : std::numeric_limits<int>::max()) / shape.gpus;
    const int load = std::min(detail::divide_up(total_batch, shape.gpus), most_load);
    if (load < 1) return {};
    int microbatches = detail::divide_up(load, limits.max_atomic_batch);
    if (limits.single_gpu_accumulates && shape.gpus == 1 && total_batch > limits.initial_batch)
        microbatches = std::max(microbatches, 2);
    int atomic = detail::divide_up(load, microbatches);
    // Where rounding up passes the largest batch, smaller microbatches may divide the load better.
    while (std::int64_t{atomic} * microbatches > most_load) {
        microbatches = detail::divide_up(load, atomic - 1);
        atomic = detail::divide_up(load, microbatches);
    }
    const BatchPlan plan{atomic, microbatches - 1};
    if (plan.atomic_batch < limits.min_atomic_batch) return {};
    const double goodput = detail::goodput_of(throughput, efficiency, shape, plan);
    return goodput > 0 ? BestPlan{plan, goodput} : BestPlan{};
}

}  // namespace goodput

#endif
