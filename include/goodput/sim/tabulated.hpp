#ifndef GOODPUT_SIM_TABULATED_HPP
#define GOODPUT_SIM_TABULATED_HPP

// Iteration time read off measurements, without a formula. A column is everything measured on one shape (n
// nodes, K GPUs in all): batch sizes in ascending order with the seconds of a step and of the synchronisation
// in it, linear in between and constant outside (so trust it only up to max_atomic_batch).
//
// Where it is known how many GPUs were on each node, in ring order, the most even placement speaks for its
// shape: (1, 1, 2, 2) for four nodes with six GPUs, wherever the ring is cut open, and not (1, 2, 1, 2).
// Where that was not measured, a shape's column averages all measurements of it. For a shape without a
// column, among columns that share its kind (one node, or several) if there are any:
//
//     1. more nodes than ever measured: the shape with the most nodes measured and as many GPUs a node
//     2. columns with as many GPUs a node, on fewer and on more nodes: linear in n
//     3. columns on as many nodes, with fewer and with more GPUs: linear in K
//     4. otherwise: the four nearest columns in (log n, log K), each weighed by 1 / distance^2
//
// Every lookup is finite and within the range of what was measured. Cost: two binary searches for a measured
// place, a few for rules 1 to 3, one pass over the columns for rule 4. Rules up to 2 are those with which
// Sia's measurements were replayed. What it cannot do: extrapolate to larger batches or more nodes.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/batch.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/sim/detail/measured_columns.hpp"

namespace goodput {

/// One measurement of which the GPUs on each node are known.
struct PlacementSample {
    std::vector<int> gpus_by_node;  ///< in ring order, each at least 1
    int atomic_batch = 0;           ///< examples per GPU and step
    double step_seconds = 0;        ///< an iteration's last step, synchronisation included
    double sync_seconds = 0;        ///< the part of it spent in synchronisation
};

/// Seconds of an iteration's last step, and of the synchronisation in it: step - sync is one step's
/// computing.
struct StepSeconds {
    double step = 0;  ///< synchronisation included
    double sync = 0;  ///< the part spent in synchronisation
};

/// A table of measurements, interpolated; a ThroughputModel.
class TabulatedThroughput {
public:
    /// Measurements of one job on one GPU type, in any order; several of the same place and batch are
    /// averaged. Accumulation steps of the samples do not matter. Refuses impossible samples and an empty
    /// table (std::invalid_argument, naming `subject`).
    explicit TabulatedThroughput(std::span<const ThroughputSample> by_shape,
                                 std::span<const PlacementSample> by_placement = {},
                                 std::string_view subject = "throughput table");

    /// How long do a step and its synchronisation take on a shape? `atomic_batch` in examples per GPU.
    /// Refuses what is no shape (nodes < 1 or gpus < nodes).
    [[nodiscard]] StepSeconds seconds(Shape shape, double atomic_batch) const;

    /// Up to which atomic batch is a shape known: the largest measured on its most even placement; where that
    /// was not measured, the largest on any shape of at least as many nodes and GPUs; else the largest of the
    /// columns that seconds() reads.
    [[nodiscard]] int max_atomic_batch(Shape shape) const;

    /// Most nodes of any measurement.
    [[nodiscard]] int max_nodes() const { return max_nodes_; }

    /// Seconds of one iteration: the step that synchronises, and computing alone for each further one.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const StepSeconds last = seconds(shape, plan.atomic_batch);
        return last.step + plan.accumulation_steps * (last.step - last.sync);
    }

private:
    using Column = detail::MeasuredColumns::Column;
    using Mix = detail::MeasuredColumns::Mix;

    struct Shaped {
        Shape shape;
        double log_nodes, log_gpus;
        Column column;
        bool even = false;            // of the most even placement alone
        int max_atomic_by_shape = 0;  // 0: measured by placement only
    };

    static void require_shape(Shape shape) {
        require_between("throughput table", "shape.nodes", shape.nodes, 1, 1 << 20);
        require_between("throughput table", "shape.gpus", shape.gpus, shape.nodes, 1 << 20);
    }

    /// Numbers of GPUs that differ by one at most, the larger ones side by side.
    static bool is_most_even(std::span<const int> ring) {
        const auto [least, most] = std::minmax_element(ring.begin(), ring.end());
        int changes = ring.front() != ring.back() ? 1 : 0;
        for (std::size_t i = 1; i < ring.size(); ++i) changes += ring[i] != ring[i - 1] ? 1 : 0;
        return *most - *least <= 1 && changes <= 2;
    }

    static bool same_ratio(Shape a, Shape b) {
        return std::int64_t{a.gpus} * b.nodes == std::int64_t{b.gpus} * a.nodes;
    }
    // By GPUs a node, then nodes.
    static bool ratio_less(Shape a, Shape b) {
        const std::int64_t left = std::int64_t{a.gpus} * b.nodes, right = std::int64_t{b.gpus} * a.nodes;
        return left != right ? left < right : a.nodes < b.nodes;
    }

    [[nodiscard]] const Shaped* find_shape(Shape shape) const;
    [[nodiscard]] Mix mix_for(Shape shape) const;
    [[nodiscard]] Mix nearest(Shape shape) const;
    template <class Place>
    [[nodiscard]] StepSeconds read(const Place& place, double atomic_batch) const {
        const detail::ColumnRow row = columns_.read(place, atomic_batch);
        return {row.step, row.sync};
    }

    detail::MeasuredColumns columns_;
    std::vector<Shaped> shaped_;         // by shape
    std::vector<std::size_t> by_ratio_;  // indices into shaped_, by GPUs a node, then nodes
    int max_nodes_ = 0;
};

inline TabulatedThroughput::TabulatedThroughput(std::span<const ThroughputSample> by_shape,
                                                std::span<const PlacementSample> by_placement,
                                                std::string_view subject) {
    std::map<Shape, detail::ColumnMeans> shapes, even;
    std::map<Shape, int> largest_by_shape;
    for (const PlacementSample& sample : by_placement) {
        const std::vector<int>& ring = sample.gpus_by_node;
        Shape shape{static_cast<int>(ring.size()), 0};
        for (const int gpus : ring) {
            require_between(subject, "placement.gpus", gpus, 1, 1 << 20);
            shape.gpus += gpus;
        }
        validate(ThroughputSample{shape, {sample.atomic_batch, 0}, sample.step_seconds, sample.sync_seconds},
                 subject);
        shapes[shape].add(sample.atomic_batch, sample.step_seconds, sample.sync_seconds);
        if (is_most_even(ring))
            even[shape].add(sample.atomic_batch, sample.step_seconds, sample.sync_seconds);
    }
    for (const ThroughputSample& sample : by_shape) {
        validate(sample, subject);
        const int atomic_batch = sample.plan.atomic_batch;
        shapes[sample.shape].add(atomic_batch, sample.step_seconds, sample.sync_seconds);
        int& largest = largest_by_shape[sample.shape];
        largest = std::max(largest, atomic_batch);
    }
    if (shapes.empty()) bad_input(subject, "number of samples", 0, "at least 1");

    for (const auto& [shape, means] : shapes) {
        const auto placed = even.find(shape);
        const bool is_even = placed != even.end();
        shaped_.push_back({shape, std::log(shape.nodes), std::log(shape.gpus),
                           columns_.append(is_even ? placed->second : means), is_even,
                           largest_by_shape[shape]});
        by_ratio_.push_back(by_ratio_.size());
        max_nodes_ = std::max(max_nodes_, shape.nodes);
    }
    std::sort(by_ratio_.begin(), by_ratio_.end(),
              [&](std::size_t a, std::size_t b) { return ratio_less(shaped_[a].shape, shaped_[b].shape); });
}

inline StepSeconds TabulatedThroughput::seconds(Shape shape, double atomic_batch) const {
    require_shape(shape);
    if (const Shaped* exact = find_shape(shape)) return read(exact->column, atomic_batch);
    return read(mix_for(shape), atomic_batch);
}

inline int TabulatedThroughput::max_atomic_batch(Shape shape) const {
    require_shape(shape);
    const Shaped* exact = find_shape(shape);
    if (exact && exact->even) return columns_.largest_batch(exact->column);
    int most = 0;
    for (const Shaped& shaped : shaped_)
        if (shaped.shape.nodes >= shape.nodes && shaped.shape.gpus >= shape.gpus)
            most = std::max(most, shaped.max_atomic_by_shape);
    if (most > 0) return most;
    if (exact) return columns_.largest_batch(exact->column);
    const Mix mix = mix_for(shape);
    for (std::size_t i = 0; i < mix.count; ++i) most = std::max(most, columns_.largest_batch(mix.columns[i]));
    return most;
}

inline const TabulatedThroughput::Shaped* TabulatedThroughput::find_shape(Shape shape) const {
    const auto found =
        std::lower_bound(shaped_.begin(), shaped_.end(), shape,
                         [](const Shaped& candidate, Shape wanted) { return candidate.shape < wanted; });
    return found != shaped_.end() && found->shape == shape ? &*found : nullptr;
}

// For a shape without a column.
inline TabulatedThroughput::Mix TabulatedThroughput::mix_for(Shape shape) const {
    Mix mix;
    if (shape.nodes > max_nodes_) {
        const std::int64_t scaled = (std::int64_t{shape.gpus} * max_nodes_ + shape.nodes / 2) / shape.nodes;
        shape = {max_nodes_, std::max(static_cast<int>(scaled), max_nodes_)};
        if (const Shaped* exact = find_shape(shape)) {
            mix.add(exact->column, 1);
            return mix;
        }
    }
    const auto between = [&mix](const Shaped& below, const Shaped& above, int low, int at, int high) {
        const double part = static_cast<double>(at - low) / (high - low);
        mix.add(below.column, 1 - part);
        mix.add(above.column, part);
    };

    const auto next = std::lower_bound(
        by_ratio_.begin(), by_ratio_.end(), shape,
        [this](std::size_t index, Shape wanted) { return ratio_less(shaped_[index].shape, wanted); });
    if (next != by_ratio_.begin() && next != by_ratio_.end()) {
        const Shaped &below = shaped_[*(next - 1)], &above = shaped_[*next];
        if (same_ratio(below.shape, shape) && same_ratio(above.shape, shape) && below.shape.nodes > 1) {
            between(below, above, below.shape.nodes, shape.nodes, above.shape.nodes);
            return mix;
        }
    }
    const auto larger =
        std::lower_bound(shaped_.begin(), shaped_.end(), shape,
                         [](const Shaped& candidate, Shape wanted) { return candidate.shape < wanted; });
    if (larger != shaped_.begin() && larger != shaped_.end()) {
        const Shaped &below = *(larger - 1), &above = *larger;
        if (below.shape.nodes == shape.nodes && above.shape.nodes == shape.nodes) {
            between(below, above, below.shape.gpus, shape.gpus, above.shape.gpus);
            return mix;
        }
    }
    return nearest(shape);
}

inline TabulatedThroughput::Mix TabulatedThroughput::nearest(Shape shape) const {
    const double log_nodes = std::log(shape.nodes), log_gpus = std::log(shape.gpus);
    // One node and several are other machines: shapes are sorted by nodes, so each kind is one run.
    const auto several = std::find_if(shaped_.begin(), shaped_.end(),
                                      [](const Shaped& shaped) { return shaped.shape.nodes > 1; });
    auto first = shape.nodes > 1 ? several : shaped_.begin();
    auto last = shape.nodes > 1 ? shaped_.end() : several;
    if (first == last) {
        first = shaped_.begin();
        last = shaped_.end();
    }
    std::array<std::pair<double, const Shaped*>, 4> closest{};  // by distance^2, then shape
    std::size_t count = 0;
    for (auto candidate = first; candidate != last; ++candidate) {
        const double nodes = candidate->log_nodes - log_nodes, gpus = candidate->log_gpus - log_gpus;
        const double distance = nodes * nodes + gpus * gpus;
        if (count == closest.size() && distance >= closest.back().first) continue;
        std::size_t at = count < closest.size() ? count++ : count - 1;
        for (; at > 0 && closest[at - 1].first > distance; --at) closest[at] = closest[at - 1];
        closest[at] = {distance, &*candidate};
    }
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += 1 / closest[i].first;
    Mix mix;
    for (std::size_t i = 0; i < count; ++i) mix.add(closest[i].second->column, 1 / closest[i].first / sum);
    return mix;
}

}  // namespace goodput

#endif
