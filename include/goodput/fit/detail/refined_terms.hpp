#ifndef GOODPUT_FIT_DETAIL_REFINED_TERMS_HPP
#define GOODPUT_FIT_DETAIL_REFINED_TERMS_HPP

// The logarithms of RefinedThroughput's computing and synchronising times in the coordinates of
// fit/refined_parameters.hpp, and after them ln of the factor at each break point of the computing time.

#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "goodput/core/shape.hpp"
#include "goodput/fit/refined_parameters.hpp"

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

}  // namespace goodput::detail

#endif
