#ifndef GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP
#define GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP

// A fit of RefinedThroughput as one of residuals (fit/throughput_terms.hpp).
//
// The terms: the logarithms of its computing and synchronising times in the coordinates of
// fit/refined_fit.hpp, and after them ln of the factor at each break point of the computing time. The
// problem: its samples, sorted by what they share, and its prior. Where a fit starts, in closed form:
// computing times on a straight line in the batch, and the synchronising times that the steps then leave at
// one of three overlaps.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/line.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/fit/throughput_terms.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::detail {

/// A batch between two break points of the computing time (one and the same where there is one).
struct RefinedBatch {
    double batch = 0;
    std::size_t low = 0, high = 0;         ///< indices of the break points
    double part = 0;                       ///< of the way from low to high
    double low_batch = 0, high_batch = 0;  ///< where the line is read; the batch itself beyond the ends
    bool broken = false;                   ///< there are break points
};

/// A distinct shape, with the features that its synchronising time's logarithm is linear in.
struct RefinedShape {
    Shape shape{};
    double log_replicas = 0;
    double log_half_replicas = 0;
    double log_per_node = 0;
    double log_half_nodes = 0;
    double ring = 0;

    explicit RefinedShape(Shape of)
        : shape(of),
          log_replicas(std::log(of.gpus)),
          log_half_replicas(std::log(of.gpus / 2.0)),
          log_per_node(std::log(static_cast<double>(of.gpus) / of.nodes)),
          log_half_nodes(std::log(of.nodes / 2.0)),
          ring(of.nodes > 2 ? 1 : 0) {}
    [[nodiscard]] bool alone() const { return shape.gpus < 2; }
    [[nodiscard]] bool network() const { return shape.nodes > 1; }

    /// Calls visit(parameter, feature) for the terms of the synchronising time's logarithm.
    template <class Visit>
    void for_each_sync_term(Visit&& visit) const {
        visit(node_level, 1.0);
        if (network()) {
            visit(network_over_node, 1.0);
            visit(network_gpus_exponent, log_per_node);
            visit(network_nodes_exponent, log_half_nodes);
            visit(network_ring_factor, ring);
        } else {
            visit(node_gpus_exponent, log_half_replicas);
        }
    }
};

/// Where `batch` lies among `count` ascending break points.
template <class BreakAt>
RefinedBatch locate_batch(double batch, std::size_t count, BreakAt break_at) {
    std::size_t high = 0;
    while (high < count && break_at(high) <= batch) ++high;
    const std::size_t low = high > 0 ? high - 1 : 0;
    if (high == 0 || high == count || break_at(low) == batch)
        return {batch, low, low, 0, batch, batch, count > 0};
    const double from = break_at(low), to = break_at(high);
    return {batch, low, high, (batch - from) / (to - from), from, to, true};
}

/// The terms of RefinedThroughput (see ThroughputTerms).
struct RefinedTerms {
    struct Features {
        RefinedShape shape{{1, 1}};
        RefinedBatch batch{};
        std::size_t shape_index = 0;  ///< among the distinct shapes of the samples
    };
    static constexpr int most_touched = 6;

    std::vector<double> breaks{};  ///< batches, ascending, at most most_break_points

    [[nodiscard]] std::size_t parameters() const { return refined_parameters + breaks.size(); }

    template <class X>
    [[nodiscard]] auto log_compute(X& x, const Features& of) const {
        using std::exp, std::log;
        using Scalar = std::remove_cvref_t<decltype(exp(x[computing_constant]))>;
        const Scalar constant = exp(x[computing_constant]), slope = exp(x[computing_slope]);
        const RefinedBatch& at = of.batch;
        const auto seconds_at = [&](std::size_t i, double batch) {
            return Scalar(exp(x[refined_parameters + i]) * (constant + slope * batch));
        };
        const Scalar scaling = of.shape.alone() ? Scalar(x[alone_factor])
                                                : Scalar(x[straggling_exponent] * of.shape.log_replicas);
        if (at.low != at.high)
            return Scalar(scaling + log(seconds_at(at.low, at.low_batch) * (1 - at.part) +
                                        seconds_at(at.high, at.high_batch) * at.part));
        const Scalar seconds = constant + slope * at.batch;
        return at.broken ? Scalar(scaling + log(seconds) + x[refined_parameters + at.low])
                         : Scalar(scaling + log(seconds));
    }
    template <class X>
    [[nodiscard]] auto log_sync(X& x, const Features& of) const {
        using Scalar = std::remove_cvref_t<decltype(x[node_level])>;
        Scalar sum(0);
        of.shape.for_each_sync_term([&](RefinedParameter at, double feature) { sum += x[at] * feature; });
        return sum;
    }
    template <class X>
    [[nodiscard]] auto log_overlap(X& x) const {
        return x[overlap_level];
    }
};

/// Beyond so many of a prior's deviations a parameter of how computing scales is one that was not expected:
/// then the prior pulls no harder than there (RefinedProblem::loosen).
inline constexpr double unlikely_deviations = 2;
inline constexpr std::size_t most_break_points = most_parameters - refined_parameters;

using RefinedRow = ThroughputRow<RefinedTerms>;

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

struct RefinedProblem {
    ThroughputResiduals<RefinedTerms> residuals{};
    std::vector<double> batches{};       ///< the samples', ascending
    std::vector<RefinedShape> shapes{};  ///< likewise
    RefinedPrior believed{};             ///< the prior, in its own units; the residuals' in the coordinates
                                         ///< has what loosen() made of it

    [[nodiscard]] std::size_t parameters() const { return residuals.terms.parameters(); }
    [[nodiscard]] double middle_batch() const { return batches[batches.size() / 2]; }

    [[nodiscard]] int fewest_replicas() const {
        int fewest = std::numeric_limits<int>::max();
        for (const RefinedShape& shape : shapes) fewest = std::min(fewest, shape.shape.gpus);
        return fewest;
    }

    /// Variance of ln of a row's step that its shape's own factors make, which are not among the laws: the
    /// mean over all rows at x.
    [[nodiscard]] double own_variance(const FitParameters& x) const {
        double sum = 0;
        residuals.for_each_row(x, [&](const RefinedRow& row, const RowErrors& errors) {
            if (row.split) return;
            sum += square((1 - errors.sync_share) * believed.compute_deviation) +
                   square(errors.sync_share * believed.sync_deviation);
        });
        return sum / static_cast<double>(residuals.rows.size());
    }

    /// The prior in the coordinates of a type that computes for `seconds` at `batch`.
    void set_prior(const RefinedPrior& prior, double batch, double seconds) {
        believed = prior;
        FitParameters &mean = residuals.mean, &deviation = residuals.deviation;
        mean.fill(0);
        deviation.fill(prior.break_deviation);
        std::copy(prior.mean.begin(), prior.mean.end(), mean.begin());
        std::copy(prior.deviation.begin(), prior.deviation.end(), deviation.begin());
        mean[computing_constant] += std::log(seconds);
        mean[computing_slope] += std::log(seconds / batch);
        mean[node_level] += std::log(seconds);
    }

    /// Widens what is believed of the number of replicas in computing, where x is far from it: caches, data
    /// loaders and other hosts can make computing scale in ways that no prior foresees. Whether that changes
    /// much.
    bool loosen(const FitParameters& x) {
        bool changed = false;
        for (const RefinedParameter at : {alone_factor, straggling_exponent}) {
            const double off = std::abs(x[at] - residuals.mean[at]) / unlikely_deviations;
            const double wide = std::max(believed.deviation[at], off);
            changed = changed || std::abs(std::log(wide / residuals.deviation[at])) > 0.05;
            residuals.deviation[at] = wide;
        }
        return changed;
    }

    /// Takes in samples, which are valid. Keeps its buffers.
    void read(std::span<const ThroughputSample> samples);

    /// The model that the coordinates stand for, its factors of single shapes left out.
    void write(const FitParameters& x, RefinedThroughput& model) const;
};

inline void RefinedProblem::read(std::span<const ThroughputSample> samples) {
    const auto by_shape = [](const RefinedShape& at, Shape of) { return at.shape < of; };
    shapes.clear();
    batches.clear();
    for (const ThroughputSample& sample : samples) {
        const auto shape = std::lower_bound(shapes.begin(), shapes.end(), sample.shape, by_shape);
        if (shape == shapes.end() || shape->shape != sample.shape)
            shapes.insert(shape, RefinedShape(sample.shape));
        const double its = sample.plan.atomic_batch;
        const auto batch = std::lower_bound(batches.begin(), batches.end(), its);
        if (batch == batches.end() || *batch != its) batches.insert(batch, its);
    }
    // A batch whose computing nobody measured gets no break point: it would take up what the laws of
    // synchronising leave unexplained. Where there are too many batches, evenly many share one.
    const ComputingMeasured measured(samples);
    std::vector<double>& breaks = residuals.terms.breaks;
    breaks.clear();
    for (const ThroughputSample& sample : samples) {
        const double its = sample.plan.atomic_batch;
        const auto at = std::lower_bound(breaks.begin(), breaks.end(), its);
        if (measured(sample) && (at == breaks.end() || *at != its)) breaks.insert(at, its);
    }
    const std::size_t all = breaks.size(), count = std::min(all, most_break_points);
    for (std::size_t i = 0; i < count; ++i) breaks[i] = breaks[count < 2 ? 0 : i * (all - 1) / (count - 1)];
    breaks.resize(count);
    residuals.rows.clear();
    for (const ThroughputSample& sample : samples) {
        const auto shape = std::lower_bound(shapes.begin(), shapes.end(), sample.shape, by_shape);
        residuals.rows.push_back(row_of<RefinedTerms>(
            sample,
            {*shape, locate_batch(sample.plan.atomic_batch, count, [&](std::size_t i) { return breaks[i]; }),
             static_cast<std::size_t>(shape - shapes.begin())}));
    }
}

inline void RefinedProblem::write(const FitParameters& x, RefinedThroughput& model) const {
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
    for (std::size_t i = 0; i < residuals.terms.breaks.size(); ++i)
        model.batches.push_back({residuals.terms.breaks[i], std::exp(x[refined_parameters + i])});
}

/// Relative least squares over the computing times, neither part negative; twice again without what is far
/// off. Where no computing time was measured, the steps of the fewest replicas stand for them. A single batch
/// has no slope: then half of the time at the reference batch is constant, as is believed beforehand.
inline Line line_of_computing(const RefinedProblem& samples, double reference_batch) {
    int most_replicas = 0;
    if (std::ranges::none_of(samples.residuals.rows, &RefinedRow::split))
        most_replicas = samples.fewest_replicas();
    const auto counts = [&](const RefinedRow& row) {
        return row.split || row.features.shape.shape.gpus <= most_replicas;
    };
    double log_seconds = 0, count = 0, smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (const RefinedRow& row : samples.residuals.rows) {
        if (!counts(row)) continue;
        log_seconds += row.log_compute;
        count += 1;
        smallest = std::min(smallest, row.features.batch.batch);
        largest = std::max(largest, row.features.batch.batch);
    }
    const double middle_seconds = std::exp(log_seconds / count);
    if (smallest == largest) {
        const double constant = middle_seconds / (1 + smallest / reference_batch);
        return {constant, constant / reference_batch};
    }
    Line line;
    for (int round = 0; round < 3; ++round) {
        LineSums sums;
        for (const RefinedRow& row : samples.residuals.rows) {
            if (!counts(row)) continue;
            const double batch = row.features.batch.batch;
            double weight = 1;
            if (round > 0) {
                const double error = row.log_compute - std::log(line.at(batch));
                weight = std::min(1.0, 0.04 / (error * error));
            }
            const double seconds = std::exp(row.log_compute);
            sums.add(weight / (seconds * seconds), batch, seconds);
        }
        const Line next = sums.line();
        if (!(next.at(1) > 0)) break;  // no sample is near enough to the line before
        line = next;
    }
    if (line.at(1) > 0) return line;
    return {middle_seconds, 0};
}

/// ln of factors on the line by which computing depends on the number of replicas.
struct ScalingStart {
    double level = 0;       ///< of several replicas
    double straggling = 0;  ///< exponent of their number
    double alone = 0;       ///< of a single replica
};

/// How computing depends on the replicas, where that is far from what is believed beforehand; else nothing.
/// By what was measured of computing, and by steps that are shorter than computing would be on the line.
inline std::optional<ScalingStart> unexpected_scaling(const RefinedProblem& samples, const Line& line) {
    LineSums several;
    double single = 0, singles = 0;
    for (const RefinedRow& row : samples.residuals.rows) {
        const RefinedShape& shape = row.features.shape;
        const double off = row.log_compute - std::log(line.at(row.features.batch.batch));
        if (shape.alone()) {
            single += off;
            singles += 1;
        } else if (row.split || off < 0) {
            several.add(1, shape.log_replicas, off);
        }
    }
    if (several.weight == 0) return std::nullopt;
    ScalingStart start;
    const Line scaling = several.free_line();
    start.straggling = scaling.slope;
    start.level = scaling.intercept;
    if (singles > 0) start.alone = single / singles - start.level;
    const auto unexpected = [&](RefinedParameter at, double value) {
        return std::abs(value - samples.residuals.mean[at]) >
               unlikely_deviations * samples.residuals.deviation[at];
    };
    if (unexpected(straggling_exponent, start.straggling) || unexpected(alone_factor, start.alone))
        return start;
    return std::nullopt;
}

/// Computing from the line; synchronising at each of three overlaps from what the steps then say of it. Or
/// what is believed beforehand, where that explains the samples better.
inline FitParameters cold_start(const RefinedProblem& samples, const Line& line) {
    FitParameters best = samples.residuals.mean;
    double least_squares = samples.residuals.squares(best);
    const double middle = samples.middle_batch(), least = 1e-3 * line.at(middle);
    const auto consider = [&](const ScalingStart& scaling) {
        FitParameters x = samples.residuals.mean;
        x[computing_constant] = std::log(std::max(line.intercept, least)) + scaling.level;
        x[computing_slope] = std::log(std::max(line.slope, least / middle)) + scaling.level;
        if (scaling.straggling != 0) x[straggling_exponent] = scaling.straggling;
        if (scaling.alone != 0) x[alone_factor] = scaling.alone;
        for (const double overlap : {0.25, 1.0, 3.0}) {
            const double gamma = 1 + overlap;
            FitParameters candidate = x;
            candidate[overlap_level] = std::log(overlap);
            std::array<double, 2> sum{}, count{};
            for (const RefinedRow& row : samples.residuals.rows) {
                const RefinedShape& shape = row.features.shape;
                if (shape.alone()) continue;
                const double log_compute = row.split
                                               ? row.log_compute
                                               : std::log(line.at(row.features.batch.batch)) + scaling.level +
                                                     scaling.straggling * shape.log_replicas;
                // Of an iteration the last step, which takes as long as computing at least.
                const double log_step =
                    row.log_step +
                    std::log(std::max(1 - row.further_steps * std::exp(log_compute - row.log_step),
                                      std::exp(log_compute - row.log_step)));
                const double part = std::exp(gamma * (log_compute - log_step));
                // Where nearly everything is hidden, the step says little of it but that it is short.
                const double log_sync = log_step + std::log(std::max(1 - part, 1e-3)) / gamma;
                const double law = shape.network() ? x[network_gpus_exponent] * shape.log_per_node +
                                                         x[network_nodes_exponent] * shape.log_half_nodes +
                                                         x[network_over_node]
                                                   : x[node_gpus_exponent] * shape.log_half_replicas;
                sum[shape.network()] += log_sync - law;
                count[shape.network()] += 1;
            }
            if (count[0] > 0) candidate[node_level] = sum[0] / count[0];
            if (count[1] > 0) {
                if (count[0] > 0)
                    candidate[network_over_node] += sum[1] / count[1] - candidate[node_level];
                else
                    candidate[node_level] = sum[1] / count[1];
            }
            const double squares = samples.residuals.squares(candidate);
            if (squares < least_squares) {
                least_squares = squares;
                best = candidate;
            }
        }
    };
    consider({});
    if (const auto scaling = unexpected_scaling(samples, line)) consider(*scaling);
    return best;
}

}  // namespace goodput::detail

#endif
