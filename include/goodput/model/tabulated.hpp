#ifndef GOODPUT_MODEL_TABULATED_HPP
#define GOODPUT_MODEL_TABULATED_HPP

// Iteration time read off measurements, without a formula. A column is everything measured at one place:
// batch sizes in ascending order with the seconds of a step and of the synchronisation in it, linear in
// between and constant outside (so trust it only up to max_atomic_batch). Columns come from two kinds of
// measurements:
//
//     by placement   how many GPUs on each node, in ring order: (3, 1) and (1, 3) are one placement, as a
//     ring
//                    has no first node; (1, 1, 2, 2) and (1, 2, 1, 2) are two
//     by shape       only nodes n and GPUs K in all are known
//
// A placement that was not measured is looked up by its shape; a shape is first taken as its most even
// placement. The column of a shape averages all measurements of it. For a shape without a column, among
// columns that share its kind (one node, or several) if there are any:
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

namespace goodput {

/// One measurement of which the GPUs on each node are known.
struct PlacementSample {
    std::vector<int> gpus_by_node;  ///< in ring order, each at least 1
    int atomic_batch = 0;
    double step_seconds = 0;  ///< an iteration's last step, synchronisation included
    double sync_seconds = 0;  ///< the part of it spent in synchronisation
};

/// Seconds of an iteration's last step and of the synchronisation in it; step - sync is one step of
/// computing.
struct StepSeconds {
    double step = 0;
    double sync = 0;
};

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

    /// The same for a placement, given as GPUs on each node in ring order.
    [[nodiscard]] StepSeconds seconds(std::span<const int> gpus_by_node, double atomic_batch) const;

    /// Up to which atomic batch is a shape known: the largest measured on its most even placement; where that
    /// was not measured, the largest on any shape of at least as many nodes and GPUs; else the largest of the
    /// columns that seconds() reads.
    [[nodiscard]] int max_atomic_batch(Shape shape) const;

    /// The same for a placement.
    [[nodiscard]] int max_atomic_batch(std::span<const int> gpus_by_node) const;

    /// Most nodes of any measurement.
    [[nodiscard]] int max_nodes() const { return max_nodes_; }

    /// Seconds of one iteration: the step that synchronises, and computing alone for each further one.
    [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
        const StepSeconds last = seconds(shape, plan.atomic_batch);
        return last.step + plan.accumulation_steps * (last.step - last.sync);
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    struct Column {  // rows_[first, last)
        std::size_t first = 0, last = 0;
    };
    struct Row {
        double atomic_batch, step, sync;
    };
    struct Placed {  // digits_[first, first + nodes), its smallest rotation
        std::size_t first;
        std::size_t nodes;
        Column column;
    };
    struct Shaped {
        Shape shape;
        double log_nodes, log_gpus;
        Column all;                   // every measurement of this shape
        std::size_t placement;        // the most even one in placed_, or none
        int max_atomic_by_shape = 0;  // 0: measured by placement only
    };
    // Up to four columns with weights that sum to 1.
    struct Mix {
        std::array<Column, 4> columns;
        std::array<double, 4> weights{};
        std::size_t count = 0;

        void add(Column column, double weight) {
            columns[count] = column;
            weights[count++] = weight;
        }
    };
    struct Mean {
        double step = 0, sync = 0;
        int count = 0;
    };
    using Means = std::map<int, Mean>;  // by atomic batch

    static void require_shape(Shape shape) {
        require_between("throughput table", "shape.nodes", shape.nodes, 1, 1 << 20);
        require_between("throughput table", "shape.gpus", shape.gpus, shape.nodes, 1 << 20);
    }

    static Shape shape_of(std::span<const int> gpus_by_node) {
        Shape shape{static_cast<int>(gpus_by_node.size()), 0};
        for (const int gpus : gpus_by_node) {
            require_between("throughput table", "placement.gpus", gpus, 1, 1 << 20);
            shape.gpus += gpus;
        }
        require_shape(shape);
        return shape;
    }

    static bool same_ratio(Shape a, Shape b) {
        return std::int64_t{a.gpus} * b.nodes == std::int64_t{b.gpus} * a.nodes;
    }
    // By GPUs a node, then nodes.
    static bool ratio_less(Shape a, Shape b) {
        const std::int64_t left = std::int64_t{a.gpus} * b.nodes, right = std::int64_t{b.gpus} * a.nodes;
        return left != right ? left < right : a.nodes < b.nodes;
    }

    static std::size_t smallest_rotation(std::span<const int> ring) {
        std::size_t best = 0;
        for (std::size_t start = 1; start < ring.size(); ++start)
            if (compare_rotations(ring, start, ring, best) < 0) best = start;
        return best;
    }
    // Of two rings of equal length, each read from its start.
    static int compare_rotations(std::span<const int> left, std::size_t left_start,
                                 std::span<const int> right, std::size_t right_start) {
        std::size_t l = left_start, r = right_start;
        for (std::size_t i = 0; i < left.size(); ++i) {
            if (left[l] != right[r]) return left[l] < right[r] ? -1 : 1;
            if (++l == left.size()) l = 0;
            if (++r == right.size()) r = 0;
        }
        return 0;
    }

    Column append(const Means& means);
    [[nodiscard]] std::size_t find_placement(std::span<const int> gpus_by_node) const;
    [[nodiscard]] const Shaped* find_shape(Shape shape) const;
    [[nodiscard]] Column column_of(const Shaped& shaped) const {
        return shaped.placement != none ? placed_[shaped.placement].column : shaped.all;
    }
    [[nodiscard]] Mix mix_for(Shape shape) const;
    [[nodiscard]] Mix nearest(Shape shape) const;
    [[nodiscard]] StepSeconds read(Column column, double atomic_batch) const;
    [[nodiscard]] StepSeconds read(const Mix& mix, double atomic_batch) const;
    [[nodiscard]] int largest(Column column) const {
        return static_cast<int>(rows_[column.last - 1].atomic_batch);
    }
    [[nodiscard]] int max_atomic_by_shape(Shape shape) const;

    std::vector<Row> rows_;
    std::vector<int> digits_;
    std::vector<Placed> placed_;         // by number of nodes, then digits
    std::vector<Shaped> shaped_;         // by shape
    std::vector<std::size_t> by_ratio_;  // indices into shaped_, by GPUs a node, then nodes
    int max_nodes_ = 0;
};

inline TabulatedThroughput::TabulatedThroughput(std::span<const ThroughputSample> by_shape,
                                                std::span<const PlacementSample> by_placement,
                                                std::string_view subject) {
    std::map<std::vector<int>, Means> placements;
    std::map<Shape, Means> shapes;
    std::map<Shape, int> largest_by_shape;
    const auto add = [](Means& means, int atomic_batch, double step, double sync) {
        Mean& mean = means[atomic_batch];
        mean.step += step;
        mean.sync += sync;
        ++mean.count;
    };
    for (const PlacementSample& sample : by_placement) {
        const std::vector<int>& ring = sample.gpus_by_node;
        Shape shape{static_cast<int>(ring.size()), 0};
        for (const int gpus : ring) {
            require_between(subject, "placement.gpus", gpus, 1, 1 << 20);
            shape.gpus += gpus;
        }
        validate(ThroughputSample{shape, {sample.atomic_batch, 0}, sample.step_seconds, sample.sync_seconds},
                 subject);
        std::vector<int> smallest = ring;
        const auto start = static_cast<std::ptrdiff_t>(smallest_rotation(ring));
        std::rotate(smallest.begin(), smallest.begin() + start, smallest.end());
        add(placements[smallest], sample.atomic_batch, sample.step_seconds, sample.sync_seconds);
        add(shapes[shape], sample.atomic_batch, sample.step_seconds, sample.sync_seconds);
    }
    for (const ThroughputSample& sample : by_shape) {
        validate(sample, subject);
        const int atomic_batch = sample.plan.atomic_batch;
        add(shapes[sample.shape], atomic_batch, sample.step_seconds, sample.sync_seconds);
        int& largest = largest_by_shape[sample.shape];
        largest = std::max(largest, atomic_batch);
    }
    if (shapes.empty()) bad_input(subject, "number of samples", 0, "at least 1");

    for (const auto& [digits, means] : placements) {
        placed_.push_back({digits_.size(), digits.size(), append(means)});
        digits_.insert(digits_.end(), digits.begin(), digits.end());
    }
    std::stable_sort(placed_.begin(), placed_.end(),
                     [](const Placed& a, const Placed& b) { return a.nodes < b.nodes; });
    for (const auto& [shape, means] : shapes) {
        std::vector<int> even(static_cast<std::size_t>(shape.nodes), shape.gpus / shape.nodes);
        const auto with_one_more = even.size() - static_cast<std::size_t>(shape.gpus % shape.nodes);
        for (std::size_t i = with_one_more; i < even.size(); ++i) ++even[i];
        shaped_.push_back({shape, std::log(shape.nodes), std::log(shape.gpus), append(means),
                           find_placement(even), largest_by_shape[shape]});
        by_ratio_.push_back(by_ratio_.size());
        max_nodes_ = std::max(max_nodes_, shape.nodes);
    }
    std::sort(by_ratio_.begin(), by_ratio_.end(),
              [&](std::size_t a, std::size_t b) { return ratio_less(shaped_[a].shape, shaped_[b].shape); });
}

inline StepSeconds TabulatedThroughput::seconds(Shape shape, double atomic_batch) const {
    require_shape(shape);
    if (const Shaped* exact = find_shape(shape)) return read(column_of(*exact), atomic_batch);
    return read(mix_for(shape), atomic_batch);
}

inline StepSeconds TabulatedThroughput::seconds(std::span<const int> gpus_by_node,
                                                double atomic_batch) const {
    const std::size_t placement = find_placement(gpus_by_node);
    if (placement != none) return read(placed_[placement].column, atomic_batch);
    const Shape shape = shape_of(gpus_by_node);
    if (const Shaped* exact = find_shape(shape)) return read(exact->all, atomic_batch);
    return read(mix_for(shape), atomic_batch);
}

inline int TabulatedThroughput::max_atomic_batch(Shape shape) const {
    require_shape(shape);
    const Shaped* exact = find_shape(shape);
    if (exact && exact->placement != none) return largest(column_of(*exact));
    return max_atomic_by_shape(shape);
}

inline int TabulatedThroughput::max_atomic_batch(std::span<const int> gpus_by_node) const {
    const std::size_t placement = find_placement(gpus_by_node);
    return placement != none ? largest(placed_[placement].column)
                             : max_atomic_by_shape(shape_of(gpus_by_node));
}

inline int TabulatedThroughput::max_atomic_by_shape(Shape shape) const {
    int most = 0;
    for (const Shaped& shaped : shaped_)
        if (shaped.shape.nodes >= shape.nodes && shaped.shape.gpus >= shape.gpus)
            most = std::max(most, shaped.max_atomic_by_shape);
    if (most > 0) return most;
    if (const Shaped* exact = find_shape(shape)) return largest(exact->all);
    const Mix mix = mix_for(shape);
    for (std::size_t i = 0; i < mix.count; ++i) most = std::max(most, largest(mix.columns[i]));
    return most;
}

inline TabulatedThroughput::Column TabulatedThroughput::append(const Means& means) {
    Column column{rows_.size(), rows_.size() + means.size()};
    for (const auto& [atomic_batch, mean] : means)
        rows_.push_back({static_cast<double>(atomic_batch), mean.step / mean.count, mean.sync / mean.count});
    return column;
}

inline std::size_t TabulatedThroughput::find_placement(std::span<const int> gpus_by_node) const {
    const std::size_t start = smallest_rotation(gpus_by_node);
    std::size_t low = 0, high = placed_.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const Placed& candidate = placed_[middle];
        int order = 0;
        if (candidate.nodes != gpus_by_node.size())
            order = candidate.nodes < gpus_by_node.size() ? -1 : 1;
        else
            order = compare_rotations({digits_.data() + candidate.first, candidate.nodes}, 0, gpus_by_node,
                                      start);
        if (order == 0) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return none;
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
            mix.add(column_of(*exact), 1);
            return mix;
        }
    }
    const auto between = [&mix, this](const Shaped& below, const Shaped& above, int low, int at, int high) {
        const double part = static_cast<double>(at - low) / (high - low);
        mix.add(column_of(below), 1 - part);
        mix.add(column_of(above), part);
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
    for (std::size_t i = 0; i < count; ++i)
        mix.add(column_of(*closest[i].second), 1 / closest[i].first / sum);
    return mix;
}

inline StepSeconds TabulatedThroughput::read(Column column, double atomic_batch) const {
    const Row* const first = rows_.data() + column.first;
    const Row* const last = rows_.data() + column.last - 1;
    if (!(atomic_batch > first->atomic_batch)) return {first->step, first->sync};
    if (atomic_batch >= last->atomic_batch) return {last->step, last->sync};
    const Row* const above = std::upper_bound(
        first, last, atomic_batch, [](double wanted, const Row& row) { return wanted < row.atomic_batch; });
    const Row* const below = above - 1;
    const double part = (atomic_batch - below->atomic_batch) / (above->atomic_batch - below->atomic_batch);
    return {below->step + part * (above->step - below->step),
            below->sync + part * (above->sync - below->sync)};
}

inline StepSeconds TabulatedThroughput::read(const Mix& mix, double atomic_batch) const {
    StepSeconds sum;
    for (std::size_t i = 0; i < mix.count; ++i) {
        const StepSeconds seconds = read(mix.columns[i], atomic_batch);
        sum.step += mix.weights[i] * seconds.step;
        sum.sync += mix.weights[i] * seconds.sync;
    }
    return sum;
}

}  // namespace goodput

#endif
