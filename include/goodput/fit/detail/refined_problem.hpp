#ifndef GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP
#define GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP

// The fit of RefinedThroughput as a problem of residuals (fit/throughput_terms.hpp).
//
// The terms are the logarithms of the computing and synchronising times, in the coordinates of
// fit/refined_fit.hpp followed by ln of the factor at each break point of the computing time. The problem
// consists of the samples, sorted by what they share, and the prior. The start of a fit is in closed form:
// computing times on a straight line in the batch, and the synchronising times that the steps then imply at
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
#include "goodput/fit/detail/launch_floor.hpp"
#include "goodput/fit/detail/line.hpp"
#include "goodput/fit/model_fit.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/fit/throughput_terms.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1::detail {

/// The position of a batch between two break points of the computing time. Both are the same if the batch
/// lies on a break point or beyond the ends.
struct RefinedBatch {
    double batch = 0;
    std::size_t low = 0, high = 0;  ///< indices of the break points
    double part = 0;                ///< fraction of the way from low to high
    /// Batches at which the line is evaluated; the batch itself beyond the ends.
    double low_batch = 0, high_batch = 0;
    bool broken = false;  ///< whether there are break points
};

/// A distinct shape, with the features on which the logarithm of its synchronising time depends linearly.
struct RefinedShape {
    Shape shape{};
    double log_replicas = 0;
    double log_half_replicas = 0;
    double log_per_node = 0;
    double log_half_nodes = 0;
    double ring = 0;

    explicit RefinedShape(Shape replicas)
        : shape(replicas),
          log_replicas(std::log(replicas.gpus)),
          log_half_replicas(std::log(replicas.gpus / 2.0)),
          log_per_node(std::log(static_cast<double>(replicas.gpus) / replicas.nodes)),
          log_half_nodes(std::log(replicas.nodes / 2.0)),
          ring(replicas.nodes > 2 ? 1 : 0) {}
    [[nodiscard]] bool alone() const { return shape.gpus < 2; }
    [[nodiscard]] bool network() const { return shape.nodes > 1; }

    /// Calls visit(parameter, feature) for the terms of the logarithm of the synchronising time.
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

/// Finds the position of `batch` among `count` ascending break points.
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
        std::size_t shape_index = 0;  ///< index among the distinct shapes of the samples
    };
    static constexpr int most_touched = 6;

    std::vector<double> breaks{};  ///< batches, ascending, at most most_break_points
    bool launches = false;         ///< whether launching kernels takes a least time, the last parameter

    [[nodiscard]] std::size_t parameters() const {
        return refined_parameters + breaks.size() + (launches ? 1 : 0);
    }
    /// Index of ln of the least time.
    [[nodiscard]] std::size_t launch_level() const { return refined_parameters + breaks.size(); }

    template <class X>
    [[nodiscard]] auto log_compute(X& x, const Features& features) const {
        using std::exp, std::log;
        using Scalar = std::remove_cvref_t<decltype(exp(x[computing_constant]))>;
        const Scalar scaling = features.shape.alone()
                                   ? Scalar(x[alone_factor])
                                   : Scalar(x[straggling_exponent] * features.shape.log_replicas);
        if (launches) {
            const Scalar line = log_line(x, features.batch, Scalar(0)), least = x[launch_level()];
            return least > line ? Scalar(scaling + least) : Scalar(scaling + line);
        }
        return log_line(x, features.batch, scaling);
    }
    /// ln of the line of computing at a batch, without the least time, plus `scaling`.
    template <class X, class Scalar>
    [[nodiscard]] Scalar log_line(X& x, const RefinedBatch& at, const Scalar& scaling) const {
        using std::exp, std::log;
        const Scalar constant = exp(x[computing_constant]), slope = exp(x[computing_slope]);
        const auto seconds_at = [&](std::size_t i, double batch) {
            return Scalar(exp(x[refined_parameters + i]) * (constant + slope * batch));
        };
        if (at.low != at.high)
            return Scalar(scaling + log(seconds_at(at.low, at.low_batch) * (1 - at.part) +
                                        seconds_at(at.high, at.high_batch) * at.part));
        const Scalar seconds = constant + slope * at.batch;
        return at.broken ? Scalar(scaling + log(seconds) + x[refined_parameters + at.low])
                         : Scalar(scaling + log(seconds));
    }
    template <class X>
    [[nodiscard]] auto log_sync(X& x, const Features& features) const {
        using Scalar = std::remove_cvref_t<decltype(x[node_level])>;
        Scalar sum(0);
        features.shape.for_each_sync_term(
            [&](RefinedParameter at, double feature) { sum += x[at] * feature; });
        return sum;
    }
    template <class X>
    [[nodiscard]] auto log_overlap(X& x) const {
        return x[overlap_level];
    }
};

/// Beyond this many deviations of the prior, a parameter of how computing scales counts as unexpected, and
/// the prior pulls no harder (RefinedProblem::loosen).
inline constexpr double unlikely_deviations = 2;
inline constexpr std::size_t most_break_points = most_parameters - refined_parameters;

using RefinedRow = ThroughputRow<RefinedTerms>;

/// Decides in which samples computing was measured: those with a split step or, if there are none, those
/// with the fewest replicas, which stand in for them.
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
    std::vector<double> batches{};       ///< the samples' batches, ascending
    std::vector<RefinedShape> shapes{};  ///< the samples' shapes, ascending
    /// The prior in its own units. The residuals hold it in the coordinates, as changed by loosen().
    RefinedPrior believed{};

    [[nodiscard]] std::size_t parameters() const { return residuals.terms.parameters(); }
    [[nodiscard]] double middle_batch() const { return batches[batches.size() / 2]; }

    [[nodiscard]] int fewest_replicas() const {
        int fewest = std::numeric_limits<int>::max();
        for (const RefinedShape& shape : shapes) fewest = std::min(fewest, shape.shape.gpus);
        return fewest;
    }

    /// The variance of ln of a row's step due to the factors of its shape, which the laws do not cover: the
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

    /// Sets the prior, in the coordinates of a type that computes for `seconds` at `batch`.
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

    /// Widens the prior of how computing depends on the number of replicas if x is far from it. Caches,
    /// data loaders and other hosts can make computing scale in ways that no prior foresees. Returns
    /// whether a deviation changes by more than 5 %.
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

    /// Whether the host's launches take longer at x than the line of computing says.
    [[nodiscard]] bool waits_for_host(const FitParameters& x, const RefinedRow& row) const {
        if (!residuals.terms.launches) return false;
        const std::span<const double> values(x.data(), parameters());
        return x[residuals.terms.launch_level()] > residuals.terms.log_line(values, row.features.batch, 0.0);
    }

    /// Computes the scatter of the steps on the line at x, which it returns, and that of the steps that wait
    /// for the host, which becomes the ratio of their rows.
    double divide_scatter(const FitParameters& x);

    /// Takes in valid samples. Keeps its buffers. With a floor, only batches above its split get break
    /// points.
    void read(std::span<const ThroughputSample> samples, const LaunchFloor* with_floor = nullptr);

    /// Replaces `times` by the computing times on one replica, by what x says of the scaling with replicas.
    void list_computing_times(const FitParameters& x, std::vector<ComputingTime>& times) const;

    /// Lets the evidence for the floor take the place of the prior of computing. Where it leaves the slope
    /// open, its means and deviations hold; otherwise the measurements are left to find them.
    void believe(const LaunchFloor& found);

    /// Writes the model for these coordinates, without the factors of single shapes.
    void write(const FitParameters& x, RefinedThroughput& model) const;
};

inline void RefinedProblem::list_computing_times(const FitParameters& x,
                                                 std::vector<ComputingTime>& times) const {
    times.clear();
    for (const RefinedRow& row : residuals.rows) {
        if (!row.split) continue;
        const double scaling =
            row.alone ? x[alone_factor] : x[straggling_exponent] * row.features.shape.log_replicas;
        times.push_back({row.features.batch.batch, row.log_compute - scaling, row.weight});
    }
}

inline double RefinedProblem::divide_scatter(const FitParameters& x) {
    double on_floor = 0, floor_weights = 0, on_line = 0, line_weights = 0;
    residuals.for_each_row(x, [&](const RefinedRow& row, const RowErrors& errors) {
        const bool waits = waits_for_host(x, row);
        (waits ? on_floor : on_line) += row.weight * square(errors.step);
        (waits ? floor_weights : line_weights) += row.weight;
    });
    const double line = Scatter(on_line, line_weights, static_cast<double>(parameters())).deviation;
    const double floor =
        Scatter(on_floor, floor_weights, 1, LaunchPrior().floor_scatter, LaunchPrior::floor_freedom)
            .deviation;
    for (RefinedRow& row : residuals.rows) row.scatter = waits_for_host(x, row) ? floor / line : 1;
    return line;
}

inline void RefinedProblem::believe(const LaunchFloor& found) {
    constexpr double open = 0.5;  // a standard deviation of ln beta
    FitParameters &mean = residuals.mean, &deviation = residuals.deviation;
    const std::size_t level = residuals.terms.launch_level();
    mean[level] = found.mean[0];
    deviation[level] = 1;
    const std::array<double, 2> wide{1, 2};
    const std::array<std::size_t, 2> line{computing_constant, computing_slope};
    for (std::size_t i = 0; i < 2; ++i) {
        mean[line[i]] = found.mean[i + 1];
        deviation[line[i]] = found.variance[2] > square(open) ? std::sqrt(found.variance[i + 1]) : wide[i];
    }
}

inline void RefinedProblem::read(std::span<const ThroughputSample> samples, const LaunchFloor* with_floor) {
    residuals.terms.launches = with_floor != nullptr;
    const double split = with_floor ? with_floor->split : 0;
    const auto by_shape = [](const RefinedShape& at, Shape wanted) { return at.shape < wanted; };
    shapes.clear();
    batches.clear();
    for (const ThroughputSample& sample : samples) {
        const auto shape = std::lower_bound(shapes.begin(), shapes.end(), sample.shape, by_shape);
        if (shape == shapes.end() || shape->shape != sample.shape)
            shapes.insert(shape, RefinedShape(sample.shape));
        const double atomic = sample.plan.atomic_batch;
        const auto batch = std::lower_bound(batches.begin(), batches.end(), atomic);
        if (batch == batches.end() || *batch != atomic) batches.insert(batch, atomic);
    }
    // A batch whose computing time was not measured gets no break point, because it would absorb what the
    // laws of synchronising leave unexplained. If there are too many batches, break points are spread
    // evenly over them.
    const ComputingMeasured measured(samples);
    std::vector<double>& breaks = residuals.terms.breaks;
    breaks.clear();
    for (const ThroughputSample& sample : samples) {
        const double atomic = sample.plan.atomic_batch;
        const auto at = std::lower_bound(breaks.begin(), breaks.end(), atomic);
        if (measured(sample) && atomic > split && (at == breaks.end() || *at != atomic))
            breaks.insert(at, atomic);
    }
    const std::size_t all = breaks.size(), count = std::min(all, most_break_points - (with_floor ? 1 : 0));
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
    model.launch_seconds = residuals.terms.launches ? std::exp(x[residuals.terms.launch_level()]) : 0;
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

/// Fits a line with neither parameter negative to the computing times, by relative least squares, and twice
/// again with less weight for outliers. If no computing time was measured, the steps of the fewest replicas
/// stand in for them. A single batch determines no slope; then half of the time at the reference batch is
/// constant, as in the prior.
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
        if (!(next.at(1) > 0)) break;  // no sample is near enough to the previous line
        line = next;
    }
    if (line.at(1) > 0) return line;
    return {middle_seconds, 0};
}

/// ln of factors on the line: how computing depends on the number of replicas.
struct ScalingStart {
    double level = 0;       ///< ln of the factor of several replicas
    double straggling = 0;  ///< exponent of the number of replicas
    double alone = 0;       ///< ln of the factor of a single replica
};

/// Returns how computing depends on the replicas if that is far from the prior, else nothing. Uses measured
/// computing times, and steps that are shorter than computing would be on the line.
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

/// Sets the coordinates of computing to a line, with neither parameter 0.
inline void set_line(const RefinedProblem& samples, const Line& line, FitParameters& x) {
    const double middle = samples.middle_batch(), least = 1e-3 * line.at(middle);
    x[computing_constant] = std::log(std::max(line.intercept, least));
    x[computing_slope] = std::log(std::max(line.slope, least / middle));
}

/// Returns the start of a fit: computing from the line, and synchronising from what the steps then imply at
/// each of three overlaps. Returns the prior's mean if that explains the samples better.
inline FitParameters cold_start(const RefinedProblem& samples, const Line& line) {
    FitParameters best = samples.residuals.mean;
    double least_squares = samples.residuals.squares(best);
    const auto consider = [&](const ScalingStart& scaling) {
        FitParameters x = samples.residuals.mean;
        set_line(samples, line, x);
        x[computing_constant] += scaling.level;
        x[computing_slope] += scaling.level;
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
                // The last step of an iteration. It takes at least as long as computing.
                const double log_step =
                    row.log_step +
                    std::log(std::max(1 - row.further_steps * std::exp(log_compute - row.log_step),
                                      std::exp(log_compute - row.log_step)));
                const double part = std::exp(gamma * (log_compute - log_step));
                // If computing hides nearly all synchronisation, the step time reveals only that
                // synchronisation is short.
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

}  // namespace goodput::inline v0_1::detail

#endif
