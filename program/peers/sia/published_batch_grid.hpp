#ifndef GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_BATCH_GRID_HPP
#define GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_BATCH_GRID_HPP

// The batch search of the released code (AdaptDL, and with it Pollux and Sia), to replay what it would have
// decided; batch_plan.hpp finds better plans.
//
// On K replicas fifty total batch sizes are tried, in geometric steps
//
//     from max(initial batch, least atomic batch * K) to the largest batch, both exact
//
// and downwards if the first is the larger. Each is spread over replicas and accumulation steps by rounding
// up, with 1e-8 taken off before: with L = total / K, s is one less than L / (most examples of a GPU)
// rounded up, and at least 1 if a single GPU must accumulate. The atomic batch is L / (s + 1) rounded up.
// Plans whose atomic batch is outside its limits are skipped. The first of the others with the largest
// goodput wins, at the batch that is really used. That can be larger than max_batch, and smaller than the
// initial batch if that does not fit.
//
// For steps that do not synchronise, it assumes that synchronising takes 1e-8 s (published_sync.hpp).
//
// Sia's policy calls it with arrays in single precision, and then the total batches, L and the first
// quotient are rounded to that. A total batch that should be an integer may then lie above it, and rounding
// up makes it larger by one example per GPU. Powers are those of this machine's library, so a last digit
// may differ.
//
// Cost: a few microseconds per shape. The powers for a pair of first and last total batch are kept.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/throughput.hpp"
#include "peers/sia/published_sync.hpp"

namespace goodput::peers {

/// The precision in which the published code holds its numbers.
enum class GridPrecision {
    full,   ///< for a running job that chooses its batch
    single  ///< for Sia's policy when it values options
};

/// Keeps the steps for pairs of total batches that it has met, so use one object for many jobs.
class PublishedBatchGrid {
public:
    /// Number of total batch sizes tried.
    static constexpr std::size_t size = 50;

    /// `precision` is the one in which the published code holds its numbers.
    explicit PublishedBatchGrid(GridPrecision precision = GridPrecision::full)
        : precision_(precision), kept_(kept_pairs) {}

    /// Returns the plan of the grid with the largest goodput on `shape.gpus` replicas. Returns an empty
    /// plan with goodput 0 if no plan is within [min_atomic_batch, max_atomic_batch] and has a positive
    /// finite goodput, or if shape or limits are below 1.
    [[nodiscard]] BestPlan best_plan(const PolluxThroughput& throughput,
                                     const NoiseScaleEfficiency& efficiency, Shape shape,
                                     const BatchLimits& limits);

    /// Calls visit(plan) for the plans of the grid in their order, except those whose atomic batch is
    /// outside its limits. Equal successive plans count once.
    template <class Visit>
    void for_each_plan(int replicas, const BatchLimits& limits, Visit&& visit);

private:
    using Totals = std::array<double, size>;
    struct KnownTotals {
        int first = 0, last = 0;
        Totals totals{};
    };
    static constexpr std::size_t kept_pairs = 64;

    [[nodiscard]] const Totals& totals(int first, int last);
    template <class Real>
    static void write_steps(int first, int last, Totals& totals);
    template <class Real, class Visit>
    static void visit_plans(const Totals& totals, int replicas, const BatchLimits& limits, Visit&& visit);

    GridPrecision precision_;
    std::vector<KnownTotals> kept_;
};

inline BestPlan PublishedBatchGrid::best_plan(const PolluxThroughput& throughput,
                                              const NoiseScaleEfficiency& efficiency, Shape shape,
                                              const BatchLimits& limits) {
    BestPlan best;
    const double sync = published_sync_seconds(throughput, shape);
    for_each_plan(shape.gpus, limits, [&](BatchPlan plan) {
        const double total = static_cast<double>(plan.total(shape.gpus));
        const double compute = throughput.compute_seconds(plan.atomic_batch);
        const double seconds = plan.accumulation_steps * compute + throughput.step_seconds(compute, sync);
        const double goodput = total / seconds * efficiency.efficiency(total);
        if (goodput > best.goodput && std::isfinite(goodput)) best = {plan, goodput};
    });
    return best;
}

template <class Visit>
void PublishedBatchGrid::for_each_plan(int replicas, const BatchLimits& limits, Visit&& visit) {
    if (replicas < 1 || limits.initial_batch < 1 || limits.max_batch < 1 || limits.max_atomic_batch < 1)
        return;
    const std::int64_t least = std::int64_t{limits.min_atomic_batch} * replicas;
    constexpr std::int64_t most_total = 1 << 30;
    if (least > most_total) return;
    const int first = std::max(limits.initial_batch, static_cast<int>(least));
    const Totals& grid = totals(first, limits.max_batch);
    if (precision_ == GridPrecision::single)
        visit_plans<float>(grid, replicas, limits, visit);
    else
        visit_plans<double>(grid, replicas, limits, visit);
}

inline const PublishedBatchGrid::Totals& PublishedBatchGrid::totals(int first, int last) {
    // Multiplicative hashing: batch sizes are often powers of two, whose lower bits are alike.
    const std::uint64_t key = (static_cast<std::uint64_t>(first) << 32) | static_cast<std::uint32_t>(last);
    KnownTotals& kept = kept_[static_cast<std::size_t>((key * 0x9e3779b97f4a7c15) >> 58) % kept_pairs];
    if (kept.first != first || kept.last != last) {
        kept.first = first;
        kept.last = last;
        if (precision_ == GridPrecision::single)
            write_steps<float>(first, last, kept.totals);
        else
            write_steps<double>(first, last, kept.totals);
    }
    return kept.totals;
}

/// Uses powers of ten, as the released code does: another base would round differently.
template <class Real>
void PublishedBatchGrid::write_steps(int first, int last, Totals& totals) {
    const Real low = std::log10(static_cast<Real>(first)), high = std::log10(static_cast<Real>(last));
    const Real step = (high - low) / static_cast<Real>(size - 1);
    for (std::size_t i = 1; i + 1 < size; ++i)
        totals[i] = std::pow(Real{10}, low + static_cast<Real>(i) * step);
    totals.front() = static_cast<Real>(first);
    totals.back() = static_cast<Real>(last);
}

template <class Real, class Visit>
void PublishedBatchGrid::visit_plans(const Totals& totals, int replicas, const BatchLimits& limits,
                                     Visit&& visit) {
    constexpr double slack = 1e-8;
    // For numbers from 0 to 2^30, minus the slack. std::ceil would be a call on older processors.
    const auto round_up = [](auto x) {
        const int down = static_cast<int>(x);
        return down + (x > static_cast<decltype(x)>(down) ? 1 : 0);
    };
    const auto most = static_cast<Real>(limits.max_atomic_batch);
    const bool may_need_accumulation = replicas == 1 && limits.single_gpu_accumulates;
    BatchPlan previous;
    for (const double total : totals) {
        const Real load = static_cast<Real>(total) / static_cast<Real>(replicas);
        int accumulation = std::max(round_up(load / most - static_cast<Real>(slack)) - 1, 0);
        if (may_need_accumulation && load > static_cast<Real>(limits.initial_batch + slack))
            accumulation = std::max(accumulation, 1);
        const BatchPlan plan{round_up(load / (accumulation + 1.0) - slack), accumulation};
        if (plan.atomic_batch < limits.min_atomic_batch || plan.atomic_batch > limits.max_atomic_batch)
            continue;
        if (plan != previous) visit(plan);
        previous = plan;
    }
}

}  // namespace goodput::peers

#endif
