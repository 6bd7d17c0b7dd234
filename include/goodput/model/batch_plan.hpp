#ifndef GOODPUT_MODEL_BATCH_PLAN_HPP
#define GOODPUT_MODEL_BATCH_PLAN_HPP

// The best batch plan of a job on a shape. With K replicas, atomic batch b, k = accumulation steps + 1
// microbatches and total batch M = K b k, the search maximises
//
//     goodput = M / T(b, k) * efficiency(M)
//
// over all integers b and k that respect the limits. In general it tries every legal plan, which takes at
// most L (1 + ln L) evaluations with L = max_batch / K. For a BrokenLineModel (PolluxThroughput and
// RefinedThroughput are such models) a few evaluations prove the same optimum, as follows.
//
// With the noise scale's efficiency, goodput is a constant divided by
//
//     cost(b, k) = (noise / M + signal) T(b, k)     noise = variance * initial batch, signal = squared norm
//     T(b, k)    = (k - 1) a + step(a, w)           a = alpha_c + beta_c b computing, w synchronising
//
// 1. step is convex and homogeneous, so with its derivatives p, q at one point step = p a + q w there, and
//    step >= p a + q w everywhere, for other batches and accumulations. This tangent needs no further power.
//    It bounds the cost from below by (noise / M + signal)(A + B b), which is least at a square root, rounded
//    to an integer. Once the bound reaches the best cost found, no better plan is left.
// 2. For fixed k the cost is convex in 1/b (T is convex and rising in b, and T(b)/b is its perspective), so
//    the sign of the derivative at one integer discards all integers on the other side. The search evaluates
//    the plan with the least bound, discards, and bounds again, until optimality is proven.
// 3. At an equal total batch an additional microbatch costs at least alpha_c, and the smaller a hides less of
//    w. Therefore the tangent bound over all total batches does not fall with k. Once it reaches the best
//    cost, larger k need not be searched. A larger k pays only if memory limits b, or through rounding.
// 4. If memory limits b for several k, the cost at one b is convex in k, and the best integer is again next
//    to a square root.
//
// RefinedThroughput has a broken line for a. Points 1 and 2 hold for each piece, and point 3 holds with
// straight lines below the broken one. The search is written for broken lines (detail/batch_search.hpp), and
// Pollux's model is a broken line with a single piece.
//
// The search supports neither atomic batches that differ between replicas nor limits beyond BatchLimits.
//
// Concepts state which functions a model needs. Any type with these functions is a model.

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

namespace goodput::inline v0_1 {

/// Predicts how long one iteration takes: `seconds = model.iteration_seconds(shape, plan)`, where
/// shape.gpus counts replicas. Satisfied by PolluxThroughput, RefinedThroughput, PipelineThroughput and
/// TabulatedThroughput.
template <class Model>
concept ThroughputModel = requires(const Model& model, Shape shape, BatchPlan plan) {
    { model.iteration_seconds(shape, plan) } -> std::convertible_to<double>;
};

/// A model whose best batch plan can be proven without trying all plans (see the top of this header), because
/// an iteration of s accumulation steps takes
///
///     s C + (C^gamma + sync_seconds(shape)^gamma)^(1/gamma),    C = compute_seconds(b) compute_factor(shape)
///
/// where C is linear in the atomic batch b except at the kinks that `batches[i].batch` lists, and where
/// line_seconds(b) meets launch_seconds, below which C does not fall. The members compute_factor(), batches,
/// launch_seconds and line_seconds() are optional. The model's type BrokenLine is the model itself, so a
/// class derived from a model is not taken for a BrokenLineModel. Satisfied by PolluxThroughput and
/// RefinedThroughput.
template <class Model>
concept BrokenLineModel = ThroughputModel<Model> && std::same_as<typename Model::BrokenLine, Model> &&
    requires(const Model& model, Shape shape, double atomic_batch) {
    { model.compute_seconds(atomic_batch) } -> std::convertible_to<double>;
    { model.sync_seconds(shape) } -> std::convertible_to<double>;
    { model.gamma } -> std::convertible_to<double>;
};

/// Predicts how much progress an example makes at a total batch size, relative to the initial batch size:
/// `factor = model.efficiency(total_batch)`. The factor is 1 at the initial batch size and falls with the
/// batch size. Satisfied by NoiseScaleEfficiency and FullEfficiency.
template <class Model>
concept EfficiencyModel = requires(const Model& model, double total_batch) {
    { model.efficiency(total_batch) } -> std::convertible_to<double>;
};

/// Checks that a type is a ThroughputModel. If it is not, compilation fails with one line that says what is
/// wrong.
template <class Model>
consteval bool throughput_model_fits() {
    static_assert(ThroughputModel<Model>,
                  "ThroughputModel: iteration_seconds is missing, or is not: double iteration_seconds(Shape, "
                  "BatchPlan) const");
    return true;
}

/// Checks that a type is an EfficiencyModel. If it is not, compilation fails with one line that says what
/// is wrong.
template <class Model>
consteval bool efficiency_model_fits() {
    static_assert(
        EfficiencyModel<Model>,
        "EfficiencyModel: efficiency is missing, or is not: double efficiency(double total_batch) const");
    return true;
}

/// A batch plan and its goodput.
struct BestPlan {
    BatchPlan plan;  ///< {0, 0} if no plan is legal
    /// Useful examples per second, relative to the initial batch size's efficiency; 0 if no plan respects
    /// the limits.
    double goodput = 0;
};

/// Returns the batch plan with the largest goodput on `shape.gpus` replicas. The result is exact over all
/// integers that respect the limits. Among equal plans, the one with the fewest accumulation steps wins,
/// then the one with the smallest atomic batch (the fast search may return any of the equal atomic
/// batches). Returns an empty plan with goodput 0 if no plan is legal, or if the model predicts no positive
/// finite time.
///
/// The fast search runs for a BrokenLineModel with NoiseScaleEfficiency or FullEfficiency. The model's
/// parameters must be as fits produce them: finite, seconds >= 0, factors > 0, gamma >= 1, batches
/// ascending. It takes O(measured batches) in practice. If the time per example is the same for many
/// batches, most of which do not divide the load, it takes about ten nanoseconds for each number of
/// microbatches. Any other pair of models takes O(L log L) evaluations with L = max_batch / gpus, because
/// every legal plan is tried.
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
[[nodiscard]] BestPlan best_batch_plan(const Throughput& throughput, const Efficiency& efficiency,
                                       Shape shape, const BatchLimits& limits);

/// The same for many shapes of one job: `best[i]` is the result for `shapes[i]`. With the fast search this
/// is faster than one call per shape. Throws std::invalid_argument if the spans differ in length.
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
void best_batch_plans(const Throughput& throughput, const Efficiency& efficiency,
                      std::span<const Shape> shapes, const BatchLimits& limits, std::span<BestPlan> best);

/// Finds the plan that keeps the total batch size (strong scaling). Each replica gets its share of the
/// batch, rounded up, in the fewest microbatches that max_atomic_batch allows. The share is rounded down if
/// the total would otherwise exceed limits.max_batch (0 means no limit). The goodput is that of the batch
/// really used: rounding can make it larger than `total_batch` by less than one example per microbatch, or
/// smaller by less than one per replica. Returns an empty plan with goodput 0 if there are more replicas
/// than examples, or if the share is below min_atomic_batch, because the total batch would have to grow.
/// limits.initial_batch matters only with single_gpu_accumulates.
template <ThroughputModel Throughput, EfficiencyModel Efficiency>
[[nodiscard]] BestPlan fixed_batch_plan(const Throughput& throughput, const Efficiency& efficiency,
                                        Shape shape, const BatchLimits& limits, int total_batch);

/// Overloads of the three functions above for types that are not models. They do not compile, and say in
/// one line why.
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

/// Another batch plan must be at least this many times as good as the present one to be worth a change
/// (Pollux). The gradient noise, on which the choice is based, fluctuates by more than a smaller gain.
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
        // The searches discard plans by comparing costs, and comparisons with such numbers would discard
        // nothing.
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
    // If rounding up exceeds the largest batch, smaller microbatches may divide the load better.
    while (std::int64_t{atomic} * microbatches > most_load) {
        microbatches = detail::divide_up(load, atomic - 1);
        atomic = detail::divide_up(load, microbatches);
    }
    const BatchPlan plan{atomic, microbatches - 1};
    if (plan.atomic_batch < limits.min_atomic_batch) return {};
    const double goodput = detail::goodput_of(throughput, efficiency, shape, plan);
    return goodput > 0 ? BestPlan{plan, goodput} : BestPlan{};
}

}  // namespace goodput::inline v0_1

#endif
