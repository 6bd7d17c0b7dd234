#ifndef GOODPUT_SIM_TABULATED_HPP
#define GOODPUT_SIM_TABULATED_HPP

// Reads iteration times off measurements, without a formula. A column has everything that was measured on
// one shape (n nodes, K GPUs in all): batch sizes in ascending order, with the seconds of a step and of the
// synchronisation in it. It is linear between these and constant outside, so trust it only up to
// max_atomic_batch.
//
// If it is known how many GPUs were on each node, in ring order, only the most even placement counts for a
// shape: (1, 1, 2, 2) for four nodes with six GPUs, wherever the ring begins, and not (1, 2, 1, 2). If that
// placement was not measured, a shape's column averages all measurements of the shape. A shape without a
// column is computed from columns of its kind (one node, or several) if there are any, else from all:
//
//     1. more nodes than ever measured: the shape with the most nodes measured and as many GPUs per node
//     2. columns with as many GPUs per node, on fewer and on more nodes: linear in n
//     3. columns on as many nodes, with fewer and with more GPUs: linear in K
//     4. otherwise: the four nearest columns in (log n, log K), each weighted by 1 / distance^2
//
// Every answer is finite and within the range of what was measured. It takes two binary searches for a
// measured shape, and a few passes over the columns otherwise. Rules 1 and 2 are those with which Sia's
// measurements were replayed. The table cannot extrapolate to larger batches or more nodes.

#include <algorithm>
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

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"

namespace goodput::inline v0_1 {

/// A measurement with known GPUs on each node.
struct PlacementSample {
    std::vector<int> gpus_by_node;  ///< in ring order, each at least 1
    int atomic_batch = 0;           ///< examples per GPU and step
    double step_seconds = 0;        ///< last step of an iteration, including synchronisation
    double sync_seconds = 0;        ///< part of the step spent in synchronisation
};

/// The seconds of an iteration's last step, and of the synchronisation in it. step - sync is the computing
/// time of one step.
struct StepSeconds {
    double step = 0;  ///< including synchronisation
    double sync = 0;  ///< part of the step spent in synchronisation

    /// Returns the seconds of one iteration: the step that synchronises, and computing alone for each
    /// further step.
    [[nodiscard]] double iteration(const BatchPlan& plan) const {
        return step + plan.accumulation_steps * (step - sync);
    }
};

/// A table of measurements with interpolation; a ThroughputModel.
class TabulatedThroughput {
public:
    /// Takes measurements of one job on one GPU type, in any order. Several measurements of the same place
    /// and batch are averaged. Accumulation steps of the samples do not matter. Throws
    /// std::invalid_argument, naming `subject`, for impossible samples and an empty table.
    explicit TabulatedThroughput(std::span<const ThroughputSample> by_shape,
                                 std::span<const PlacementSample> by_placement = {},
                                 std::string_view subject = "throughput table");

    /// Returns how long a step and its synchronisation take on a shape, with `atomic_batch` examples per
    /// GPU. Throws std::invalid_argument for invalid shapes (nodes < 1 or gpus < nodes).
    [[nodiscard]] StepSeconds seconds(Shape shape, double atomic_batch) const {
        if (const Column* exact = find(shape)) return exact->at(atomic_batch);
        StepSeconds sum;
        for (const auto& [column, weight] : mix_for(shape)) {
            const StepSeconds part = column->at(atomic_batch);
            sum.step += weight * part.step;
            sum.sync += weight * part.sync;
        }
        return sum;
    }

    /// Returns the largest atomic batch for which a shape is known: the largest measured on its most even
    /// placement. If that was not measured, returns the largest on any shape with at least as many nodes
    /// and GPUs, or else the largest of the columns that seconds() reads.
    [[nodiscard]] int max_atomic_batch(Shape shape) const;

    /// Returns the largest number of nodes of any measurement.
    [[nodiscard]] int max_nodes() const { return columns_.back().shape.nodes; }

    /// Returns the seconds of one iteration.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        return seconds(shape, plan.atomic_batch).iteration(plan);
    }

private:
    struct Row {
        int atomic_batch = 0;
        StepSeconds mean{};
        int count = 0;
    };
    struct Column {
        Shape shape{};
        std::vector<Row> rows{};      // by batch
        bool even = false;            // whether only the most even placement counts
        int max_atomic_by_shape = 0;  // 0 if measured by placement only

        /// Interpolates linearly between measured batches, and is constant outside them.
        [[nodiscard]] StepSeconds at(double atomic_batch) const {
            if (!(atomic_batch > rows.front().atomic_batch)) return rows.front().mean;
            const auto above = std::ranges::upper_bound(rows, atomic_batch, {}, &Row::atomic_batch);
            const Row& below = *(above - 1);
            if (above == rows.end()) return below.mean;
            const double part =
                (atomic_batch - below.atomic_batch) / (above->atomic_batch - below.atomic_batch);
            return {below.mean.step + part * (above->mean.step - below.mean.step),
                    below.mean.sync + part * (above->mean.sync - below.mean.sync)};
        }
    };
    /// Columns with weights that sum to 1.
    using Mix = std::vector<std::pair<const Column*, double>>;

    /// Returns whether numbers of GPUs differ by at most one, with the larger ones adjacent.
    static bool is_most_even(std::span<const int> ring) {
        const auto [least, most] = std::minmax_element(ring.begin(), ring.end());
        int changes = ring.front() != ring.back() ? 1 : 0;
        for (std::size_t i = 1; i < ring.size(); ++i) changes += ring[i] != ring[i - 1] ? 1 : 0;
        return *most - *least <= 1 && changes <= 2;
    }

    [[nodiscard]] const Column* find(Shape shape) const {
        require_between("throughput table", "shape.nodes", shape.nodes, 1, 1 << 20);
        require_between("throughput table", "shape.gpus", shape.gpus, shape.nodes, 1 << 20);
        const auto found = std::ranges::lower_bound(columns_, shape, {}, &Column::shape);
        return found != columns_.end() && found->shape == shape ? &*found : nullptr;
    }
    [[nodiscard]] Mix mix_for(Shape shape) const;
    [[nodiscard]] Mix nearest(Shape shape) const;

    std::vector<Column> columns_;  // by shape
};

inline TabulatedThroughput::TabulatedThroughput(std::span<const ThroughputSample> by_shape,
                                                std::span<const PlacementSample> by_placement,
                                                std::string_view subject) {
    std::map<Shape, std::map<int, Row>> shapes, even;
    std::map<Shape, int> largest_by_shape;
    const auto add = [](std::map<int, Row>& rows, const ThroughputSample& sample) {
        Row& row = rows[sample.plan.atomic_batch];
        row.atomic_batch = sample.plan.atomic_batch;
        row.mean.step += sample.step_seconds;
        row.mean.sync += sample.sync_seconds;
        ++row.count;
    };
    for (const PlacementSample& placed : by_placement) {
        Shape shape{static_cast<int>(placed.gpus_by_node.size()), 0};
        for (const int gpus : placed.gpus_by_node) {
            require_between(subject, "placement.gpus", gpus, 1, 1 << 20);
            shape.gpus += gpus;
        }
        const ThroughputSample sample{
            shape, {placed.atomic_batch, 0}, placed.step_seconds, placed.sync_seconds};
        validate(sample, subject);
        add(shapes[shape], sample);
        if (is_most_even(placed.gpus_by_node)) add(even[shape], sample);
    }
    for (const ThroughputSample& sample : by_shape) {
        validate(sample, subject);
        add(shapes[sample.shape], sample);
        int& largest = largest_by_shape[sample.shape];
        largest = std::max(largest, sample.plan.atomic_batch);
    }
    if (shapes.empty()) bad_input(subject, "number of samples", 0, "at least 1");

    for (const auto& [shape, all] : shapes) {
        const bool is_even = even.contains(shape);
        columns_.push_back({shape, {}, is_even, largest_by_shape[shape]});
        for (auto [batch, row] : is_even ? even[shape] : all) {
            row.mean.step /= row.count;
            row.mean.sync /= row.count;
            columns_.back().rows.push_back(row);
        }
    }
}

inline int TabulatedThroughput::max_atomic_batch(Shape shape) const {
    const Column* exact = find(shape);
    if (exact && exact->even) return exact->rows.back().atomic_batch;
    int most = 0;
    for (const Column& column : columns_)
        if (column.shape.nodes >= shape.nodes && column.shape.gpus >= shape.gpus)
            most = std::max(most, column.max_atomic_by_shape);
    if (most > 0) return most;
    for (const auto& [column, weight] : exact ? Mix{{exact, 1.0}} : mix_for(shape))
        most = std::max(most, column->rows.back().atomic_batch);
    return most;
}

// Mixes columns for a shape without a column.
inline TabulatedThroughput::Mix TabulatedThroughput::mix_for(Shape shape) const {
    if (shape.nodes > max_nodes()) {
        const std::int64_t scaled = (std::int64_t{shape.gpus} * max_nodes() + shape.nodes / 2) / shape.nodes;
        shape = {max_nodes(), std::max(static_cast<int>(scaled), max_nodes())};
        if (const Column* exact = find(shape)) return {{exact, 1.0}};
    }
    // Interpolate linearly in a number between the nearest similar columns, if there are any.
    const auto between = [&](auto alike, int Shape::*number) -> Mix {
        const Column* below = nullptr;
        for (const Column& column : columns_) {
            if (!alike(column.shape)) continue;
            if (column.shape.*number > shape.*number) {
                if (!below) return {};
                const double part = static_cast<double>(shape.*number - below->shape.*number) /
                                    (column.shape.*number - below->shape.*number);
                return {{below, 1 - part}, {&column, part}};
            }
            below = &column;
        }
        return {};
    };
    const auto same_gpus_a_node = [shape](Shape other) {
        return other.nodes > 1 &&
               std::int64_t{other.gpus} * shape.nodes == std::int64_t{shape.gpus} * other.nodes;
    };
    if (const Mix mix = between(same_gpus_a_node, &Shape::nodes); !mix.empty()) return mix;
    const auto same_nodes = [shape](Shape other) { return other.nodes == shape.nodes; };
    if (const Mix mix = between(same_nodes, &Shape::gpus); !mix.empty()) return mix;
    return nearest(shape);
}

inline TabulatedThroughput::Mix TabulatedThroughput::nearest(Shape shape) const {
    // One node and several nodes behave like different machines.
    const auto same_kind = [shape](const Column& column) {
        return (column.shape.nodes > 1) == (shape.nodes > 1);
    };
    const bool any_of_kind = std::ranges::any_of(columns_, same_kind);
    Mix closest;  // by squared distance, then shape
    for (const Column& column : columns_) {
        if (any_of_kind && !same_kind(column)) continue;
        const double nodes = std::log(column.shape.nodes) - std::log(shape.nodes);
        const double gpus = std::log(column.shape.gpus) - std::log(shape.gpus);
        closest.emplace_back(&column, nodes * nodes + gpus * gpus);
    }
    std::ranges::stable_sort(closest, {}, &Mix::value_type::second);
    closest.resize(std::min<std::size_t>(closest.size(), 4));
    double sum = 0;
    for (auto& [column, weight] : closest) {
        weight = 1 / weight;
        sum += weight;
    }
    for (auto& [column, weight] : closest) weight /= sum;
    return closest;
}

}  // namespace goodput::inline v0_1

#endif
