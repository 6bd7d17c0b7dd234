#ifndef GOODPUT_FIT_DETAIL_REFINED_TERMS_HPP
#define GOODPUT_FIT_DETAIL_REFINED_TERMS_HPP

// The logarithms of RefinedThroughput's computing and synchronising times in the coordinates of
// fit/refined_parameters.hpp: what depends on the batch, what on the shape, each with its derivatives.

#include <cmath>
#include <cstddef>
#include <span>

#include "goodput/core/shape.hpp"
#include "goodput/fit/refined_parameters.hpp"

namespace goodput::detail {

/// A distinct batch, between two break points of the computing time (equal where it is one).
struct RefinedBatch {
    double batch = 0;
    std::size_t low = 0, high = 0;
    double part = 0;  ///< of the way from low to high
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
    [[nodiscard]] double log_sync(std::span<const double> x) const {
        double sum = 0;
        for_each_sync_term([&](RefinedParameter at, double feature) { sum += x[at] * feature; });
        return sum;
    }
};

/// Where `batch` lies among `count` ascending break points.
template <class BreakAt>
RefinedBatch locate_batch(double batch, std::size_t count, BreakAt break_at) {
    std::size_t high = 0;
    while (high < count && break_at(high) <= batch) ++high;
    const std::size_t low = high > 0 ? high - 1 : 0;
    if (high == 0 || high == count || break_at(low) == batch) return {batch, low, low, 0};
    return {batch, low, high, (batch - break_at(low)) / (break_at(high) - break_at(low))};
}

/// ln of the computing time at a batch, and its derivatives by the parameters that it depends on.
struct LogCompute {
    double value = 0;
    double by_constant = 0, by_slope = 0, by_low = 0, by_high = 0;

    template <class BreakAt>
    LogCompute(std::span<const double> x, const RefinedBatch& batch, BreakAt break_at) {
        const double alpha = std::exp(x[computing_constant]), beta = std::exp(x[computing_slope]);
        const auto factor = [&](std::size_t i) { return std::exp(x[refined_parameters + i]); };
        const bool between = batch.low != batch.high;
        const double low_factor = factor(batch.low) * (1 - batch.part);
        double constant = low_factor * alpha;
        double slope = low_factor * beta * (between ? break_at(batch.low) : batch.batch);
        const double low_seconds = constant + slope;
        if (between) {
            const double high_factor = factor(batch.high) * batch.part;
            constant += high_factor * alpha;
            slope += high_factor * beta * break_at(batch.high);
        }
        const double seconds = constant + slope;
        value = std::log(seconds);
        by_constant = constant / seconds;
        by_slope = slope / seconds;
        by_low = low_seconds / seconds;
        by_high = 1 - by_low;
    }
};

}  // namespace goodput::detail

#endif
