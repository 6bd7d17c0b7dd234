#ifndef GOODPUT_FIT_DETAIL_REFINED_TERMS_HPP
#define GOODPUT_FIT_DETAIL_REFINED_TERMS_HPP

// The terms of RefinedThroughput (fit/throughput_terms.hpp): the logarithms of the computing and
// synchronising times, in the coordinates of fit/refined_fit.hpp followed by ln of the factor at each break
// point of the computing time and, with a floor, ln of the least time.

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "goodput/core/configuration.hpp"
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

/// Beyond these the break points are spread evenly over the batches.
inline constexpr std::size_t most_break_points = most_parameters - refined_parameters;

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

    /// Writes the model for these coordinates, without the factors of single shapes.
    void write(const FitParameters& x, RefinedThroughput& model) const;
};

inline void RefinedTerms::write(const FitParameters& x, RefinedThroughput& model) const {
    model.alpha_c = std::exp(x[computing_constant]);
    model.beta_c = std::exp(x[computing_slope]);
    model.launch_seconds = launches ? std::exp(x[launch_level()]) : 0;
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

}  // namespace goodput::inline v0_1::detail

#endif
