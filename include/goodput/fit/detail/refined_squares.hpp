#ifndef GOODPUT_FIT_DETAIL_REFINED_SQUARES_HPP
#define GOODPUT_FIT_DETAIL_REFINED_SQUARES_HPP

// The sum of squares that a fit of RefinedThroughput minimises, and its derivatives (a DenseSquaresProblem).
//
// A sample of several replicas has two residuals, with C its modelled computing time and T the step,
//
//     r_c = sqrt(w / 2) (ln C - ln measured computing) / s,     r_t = sqrt(w) (ln T - ln measured step) / s
//
// one of a single replica only r_t (both times are one measurement), as one whose split into computing and
// synchronising nobody measured; w is its weight (stragglers have less) and s the scatter. Every parameter
// has one more, (theta - mean) / deviation of its prior.
//
// Coordinates theta: fit/refined_parameters.hpp, and after them ln of the factor at each break point of the
// computing time. Samples share what depends on their batch or on their shape alone
// (detail/refined_terms.hpp).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/dense_squares.hpp"
#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/detail/refined_terms.hpp"
#include "goodput/fit/refined_parameters.hpp"
#include "goodput/fit/refined_prior.hpp"
#include "goodput/model/refined.hpp"

namespace goodput {

namespace detail {

/// Beyond so many of a prior's deviations a parameter of how computing scales is one that was not expected:
/// then the prior pulls no harder than there (RefinedSquares::loosen).
inline constexpr double unlikely_deviations = 2;
inline constexpr std::size_t most_break_points = most_parameters - refined_parameters;

/// Coordinates as refined_terms.hpp reads them.
inline std::span<const double> values_of(const DenseVector& x) { return x.all(); }

struct RefinedRow {
    std::size_t shape = 0, batch = 0;
    double log_compute = 0, log_step = 0;
    double weight = 1;
    bool split = true;  ///< log_compute was measured; else it is that of the step
};

/// In which samples computing was measured: those whose step is split, or where none is, those of the fewest
/// replicas, which stand for them.
class ComputingMeasured {
public:
    explicit ComputingMeasured(std::span<const ThroughputSample> samples) {
        for (const ThroughputSample& sample : samples) {
            any_split_ = any_split_ || sample.compute_seconds().has_value();
            fewest_ = std::min(fewest_, sample.shape.gpus);
        }
    }
    [[nodiscard]] bool operator()(const ThroughputSample& sample) const {
        return any_split_ ? sample.compute_seconds().has_value() : sample.shape.gpus <= fewest_;
    }

private:
    bool any_split_ = false;
    int fewest_ = std::numeric_limits<int>::max();
};

struct RefinedSquares {
    std::vector<RefinedRow> rows{};
    std::vector<RefinedBatch> batches{};  ///< ascending
    std::vector<RefinedShape> shapes{};   ///< ascending
    std::vector<double> breaks{};         ///< batches, ascending, at most most_break_points
    RefinedPrior believed{};              ///< the prior, in its own units
    DenseVector mean{}, deviation{};      ///< the same in the coordinates, with what loosen() made of it
    double scatter = 0.05;                ///< s

    /// Of a row: ln of what is modelled over what was measured, and what the step is made of.
    struct Errors {
        double compute = 0, step = 0;
        double sync_share = 0;  ///< d ln T / d ln S
        double excess = 0;      ///< ln T - ln C
        double log_ratio = 0;   ///< ln S - ln C
    };

    [[nodiscard]] std::size_t parameters() const { return refined_parameters + breaks.size(); }

    [[nodiscard]] int least_replicas() const {
        int least = std::numeric_limits<int>::max();
        for (const RefinedRow& row : rows) least = std::min(least, shapes[row.shape].shape.gpus);
        return least;
    }
    /// What the error of computing counts for beside that of the step.
    [[nodiscard]] double compute_weight(const RefinedRow& row) const {
        return row.split && !shapes[row.shape].alone() ? 0.5 : 0;
    }

    /// Variance of ln of a row's step that its shape's own factors make, where it shows in nothing else: what
    /// a known split says of computing would tell it from the laws of synchronising and from the overlap.
    [[nodiscard]] double own_variance(const RefinedRow& row, const Errors& errors) const {
        if (row.split) return 0;
        return square((1 - errors.sync_share) * believed.compute_deviation) +
               square(errors.sync_share * believed.sync_deviation);
    }

    /// The prior in the coordinates of a type that computes for `seconds` at `batch`.
    void set_prior(const RefinedPrior& prior, double batch, double seconds) {
        believed = prior;
        mean.assign(parameters(), 0);
        deviation.assign(parameters(), prior.break_deviation);
        for (std::size_t i = 0; i < refined_parameters; ++i) {
            mean[i] = prior.mean[i];
            deviation[i] = prior.deviation[i];
        }
        mean[computing_constant] += std::log(seconds);
        mean[computing_slope] += std::log(seconds / batch);
        mean[node_level] += std::log(seconds);
    }

    /// Widens what is believed of the number of replicas in computing, where x is far from it: caches, data
    /// loaders and other hosts can make computing scale in ways that no prior foresees. Whether that changes
    /// much.
    bool loosen(const DenseVector& x) {
        bool changed = false;
        for (const RefinedParameter at : {alone_factor, straggling_exponent}) {
            const double off = std::abs(x[at] - mean[at]) / unlikely_deviations;
            const double wide = std::max(believed.deviation[at], off);
            changed = changed || std::abs(std::log(wide / deviation[at])) > 0.05;
            deviation[at] = wide;
        }
        return changed;
    }

    /// Takes in samples, which are valid. Keeps its buffers.
    void read(std::span<const ThroughputSample> samples);

    [[nodiscard]] double squares(const DenseVector& x) const {
        prepare(x);
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += square((x[i] - mean[i]) / deviation[i]);
        const double gamma = 1 + std::exp(x[overlap_level]), weight = 1 / (scatter * scatter);
        double of_rows = 0;
        for (const RefinedRow& row : rows) {
            const Errors errors = errors_of(row, gamma);
            of_rows += row.weight *
                       (errors.step * errors.step + compute_weight(row) * errors.compute * errors.compute);
        }
        return sum + weight * of_rows;
    }

    void linearise(const DenseVector& x, DenseNormalEquations& normal) const;

    /// x moved by that part of a step. What samples say best of computing is its time at the middle batch,
    /// and worst what is constant of it: so that time's logarithm and the logarithm of the two parts' ratio
    /// move in straight lines, not those of the parts themselves, whose sum would bend away from the samples.
    [[nodiscard]] DenseVector moved(const DenseVector& x, const DenseVector& step, double part) const {
        DenseVector result = x.moved(step, part);
        const double log_batch = std::log(batches[batches.size() / 2].batch);
        const double ratio = x[computing_slope] + log_batch - x[computing_constant];
        const double next_ratio = result[computing_slope] + log_batch - result[computing_constant];
        // ln(1 + e^ratio): of the whole over its constant part.
        const double over = LogStep(ratio, 1).excess, next_over = LogStep(next_ratio, 1).excess;
        const double share = LogStep(ratio, 1).sync_share;
        const double whole = x[computing_constant] + over +
                             part * ((1 - share) * step[computing_constant] + share * step[computing_slope]);
        result[computing_constant] = whole - next_over;
        result[computing_slope] = whole - next_over + next_ratio - log_batch;
        return result;
    }

    /// Calls visit(row, errors) for every row at x.
    template <class Visit>
    void for_each_row(const DenseVector& x, Visit&& visit) const {
        prepare(x);
        const double gamma = 1 + std::exp(x[overlap_level]);
        for (const RefinedRow& row : rows) {
            visit(row, errors_of(row, gamma));
        }
    }

    /// The model that the coordinates stand for, its factors of single shapes left out.
    void write(const DenseVector& x, RefinedThroughput& model) const;

private:
    struct OfShape {
        double log_factor = 0;  ///< of computing
        double log_sync = 0;
    };

    [[nodiscard]] Errors errors_of(const RefinedRow& row, double gamma) const {
        const OfShape& shape = of_shape_[row.shape];
        const double log_compute = of_batch_[row.batch].value + shape.log_factor;
        Errors errors{log_compute - row.log_compute, log_compute - row.log_step, 0, 0, 0};
        if (shapes[row.shape].alone()) return errors;
        errors.log_ratio = shape.log_sync - log_compute;
        const LogStep step(errors.log_ratio, gamma);
        errors.step += step.excess;
        errors.excess = step.excess;
        errors.sync_share = step.sync_share;
        return errors;
    }

    void prepare(const DenseVector& x) const;

    // Of the point evaluated last: buffers, not state.
    mutable std::vector<LogCompute> of_batch_{};
    mutable std::vector<OfShape> of_shape_{};
};

inline void RefinedSquares::read(std::span<const ThroughputSample> samples) {
    shapes.clear();
    batches.clear();
    for (const ThroughputSample& sample : samples) {
        const auto shape = std::lower_bound(shapes.begin(), shapes.end(), sample.shape,
                                            [](const RefinedShape& at, Shape of) { return at.shape < of; });
        if (shape == shapes.end() || shape->shape != sample.shape)
            shapes.insert(shape, RefinedShape(sample.shape));
        const auto batch = std::lower_bound(batches.begin(), batches.end(), sample.plan.atomic_batch,
                                            [](const RefinedBatch& at, int of) { return at.batch < of; });
        if (batch == batches.end() || batch->batch != sample.plan.atomic_batch)
            batches.insert(batch, RefinedBatch{.batch = static_cast<double>(sample.plan.atomic_batch)});
    }
    // A batch whose computing nobody measured gets no break point: it would take up what the laws of
    // synchronising leave unexplained. Where there are too many batches, evenly many share one.
    const ComputingMeasured measured(samples);
    breaks.clear();
    for (const ThroughputSample& sample : samples) {
        const double its = sample.plan.atomic_batch;
        const auto at = std::lower_bound(breaks.begin(), breaks.end(), its);
        if (measured(sample) && (at == breaks.end() || *at != its)) breaks.insert(at, its);
    }
    const std::size_t all = breaks.size(), count = std::min(all, most_break_points);
    for (std::size_t i = 0; i < count; ++i) breaks[i] = breaks[count < 2 ? 0 : i * (all - 1) / (count - 1)];
    breaks.resize(count);
    for (RefinedBatch& batch : batches)
        batch = locate_batch(batch.batch, count, [&](std::size_t i) { return breaks[i]; });
    rows.clear();
    for (const ThroughputSample& sample : samples) {
        const auto shape = std::lower_bound(shapes.begin(), shapes.end(), sample.shape,
                                            [](const RefinedShape& at, Shape of) { return at.shape < of; });
        const auto batch = std::lower_bound(batches.begin(), batches.end(), sample.plan.atomic_batch,
                                            [](const RefinedBatch& at, int of) { return at.batch < of; });
        const std::optional<double> compute = sample.compute_seconds();
        rows.push_back({static_cast<std::size_t>(shape - shapes.begin()),
                        static_cast<std::size_t>(batch - batches.begin()),
                        std::log(compute.value_or(sample.step_seconds)), std::log(sample.step_seconds), 1,
                        compute.has_value()});
    }
}

inline void RefinedSquares::prepare(const DenseVector& x) const {
    of_batch_.clear();
    for (const RefinedBatch& batch : batches)
        of_batch_.emplace_back(values_of(x), batch, [&](std::size_t i) { return breaks[i]; });
    of_shape_.resize(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const RefinedShape& shape = shapes[i];
        OfShape& of = of_shape_[i];
        of.log_factor = shape.alone() ? x[alone_factor] : x[straggling_exponent] * shape.log_replicas;
        of.log_sync = shape.log_sync(values_of(x));
    }
}

inline void RefinedSquares::linearise(const DenseVector& x, DenseNormalEquations& normal) const {
    prepare(x);
    normal.clear(parameters());
    const double overlap = std::exp(x[overlap_level]), gamma = 1 + overlap;
    const double unit = 1 / (scatter * scatter);
    struct Entry {
        std::size_t at;
        double value;
    };
    for (const RefinedRow& row : rows) {
        const Errors errors = errors_of(row, gamma);
        const RefinedShape& shape = shapes[row.shape];
        const RefinedBatch& batch = batches[row.batch];
        const LogCompute& of = of_batch_[row.batch];
        const double weight = unit * row.weight, weight_compute = weight * compute_weight(row);
        normal.squares +=
            weight * errors.step * errors.step + weight_compute * errors.compute * errors.compute;
        // d ln C and d ln S by the parameters that they depend on; indices ascend over both lists.
        std::array<Entry, 5> compute;
        std::array<Entry, 5> sync;
        std::size_t computes = 0, syncs = 0;
        compute[computes++] = {computing_constant, of.by_constant};
        compute[computes++] = {computing_slope, of.by_slope};
        compute[computes++] =
            shape.alone() ? Entry{alone_factor, 1} : Entry{straggling_exponent, shape.log_replicas};
        compute[computes++] = {refined_parameters + batch.low, of.by_low};
        if (batch.high != batch.low) compute[computes++] = {refined_parameters + batch.high, of.by_high};
        const double share = errors.sync_share, rest = 1 - share;
        const double both = weight * rest * rest + weight_compute;
        const double pull = weight * rest * errors.step + weight_compute * errors.compute;
        for (std::size_t i = 0; i < computes; ++i) {
            normal.gradient[compute[i].at] += pull * compute[i].value;
            for (std::size_t j = 0; j <= i; ++j)
                normal.hessian(compute[i].at, compute[j].at) += both * compute[i].value * compute[j].value;
        }
        if (shape.alone()) continue;
        shape.for_each_sync_term([&](RefinedParameter at, double feature) { sync[syncs++] = {at, feature}; });
        // By ln(gamma - 1).
        const double bend = overlap * (share * errors.log_ratio - errors.excess) / gamma;
        const double weighted = weight * share, by_bend = weight * bend;
        normal.gradient[overlap_level] += by_bend * errors.step;
        normal.hessian(overlap_level, overlap_level) += by_bend * bend;
        for (std::size_t i = 0; i < syncs; ++i) {
            const double value = sync[i].value;
            normal.gradient[sync[i].at] += weighted * value * errors.step;
            normal.hessian(overlap_level, sync[i].at) += by_bend * share * value;
            for (std::size_t j = 0; j <= i; ++j)
                normal.hessian(sync[i].at, sync[j].at) += weighted * share * value * sync[j].value;
            for (std::size_t j = 0; j < computes; ++j) {
                const std::size_t a = std::max(sync[i].at, compute[j].at),
                                  b = std::min(sync[i].at, compute[j].at);
                normal.hessian(a, b) += weighted * rest * value * compute[j].value;
            }
        }
        for (std::size_t j = 0; j < computes; ++j) {
            const std::size_t at = compute[j].at, bent = overlap_level;
            normal.hessian(std::max(at, bent), std::min(at, bent)) += by_bend * rest * compute[j].value;
        }
    }
    // The only bend of the residuals that matters: towards gamma = 1 they lose their slope exponentially, so
    // that J^T J alone promises too much and steps overshoot. d^2/dtheta^2 is about d/dtheta there.
    normal.hessian(overlap_level, overlap_level) += std::max(normal.gradient[overlap_level], 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double precision = 1 / (deviation[i] * deviation[i]), off = x[i] - mean[i];
        normal.squares += precision * off * off;
        normal.gradient[i] += precision * off;
        normal.hessian(i, i) += precision;
    }
}

inline void RefinedSquares::write(const DenseVector& x, RefinedThroughput& model) const {
    model.alpha_c = std::exp(x[computing_constant]);
    model.beta_c = std::exp(x[computing_slope]);
    model.alone = std::exp(x[alone_factor]);
    model.straggling = x[straggling_exponent];
    model.node_seconds = std::exp(x[node_level]);
    model.node_gpus = x[node_gpus_exponent];
    model.network_seconds = std::exp(x[node_level] + x[network_over_node]);
    model.network_gpus = x[network_gpus_exponent];
    model.network_nodes = x[network_nodes_exponent];
    model.network_ring = std::exp(x[network_ring_factor]);
    model.gamma = 1 + std::exp(x[overlap_level]);
    model.batches.clear();
    for (std::size_t i = 0; i < breaks.size(); ++i)
        model.batches.push_back({breaks[i], std::exp(x[refined_parameters + i])});
}

}  // namespace detail
}  // namespace goodput

#endif
