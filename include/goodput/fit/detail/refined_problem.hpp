#ifndef GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP
#define GOODPUT_FIT_DETAIL_REFINED_PROBLEM_HPP

// The residuals of a fit of RefinedThroughput (fit/throughput_residuals.hpp): its samples, sorted by what
// they share, and its prior.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/refined_terms.hpp"
#include "goodput/fit/refined_parameters.hpp"
#include "goodput/fit/refined_prior.hpp"
#include "goodput/fit/throughput_residuals.hpp"
#include "goodput/model/refined.hpp"

namespace goodput::detail {

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

}  // namespace goodput::detail

#endif
