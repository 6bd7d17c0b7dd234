#ifndef GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP
#define GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP

// The fit of RefinedThroughput as a problem of residuals: the samples, sorted by what they share, and the
// prior.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/launch_floor.hpp"
#include "goodput/fit/detail/refined_terms.hpp"
#include "goodput/fit/model_fit.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/fit/throughput_terms.hpp"

namespace goodput::inline v0_1::detail {

/// Beyond this many deviations of the prior, a parameter of how computing scales counts as unexpected, and
/// the prior pulls no harder (RefinedProblem::loosen).
inline constexpr double unlikely_deviations = 2;

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

}  // namespace goodput::inline v0_1::detail

#endif
