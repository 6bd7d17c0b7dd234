#ifndef GOODPUT_FIT_INTERVAL_HPP
#define GOODPUT_FIT_INTERVAL_HPP

// What intervals may be asked for.

#include <algorithm>
#include <cmath>
#include <string_view>

#include "goodput/core/batch.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interval.hpp"  // IWYU pragma: export
#include "goodput/core/shape.hpp"

namespace goodput {

namespace detail {

/// e^exponent, kept within what is a number and above 0. Rises with the exponent.
inline double bounded_exp(double exponent) { return std::exp(std::clamp(exponent, -600.0, 600.0)); }

/// Refuses what is no shape of replicas, or no batch plan (std::invalid_argument).
inline void require_configuration(std::string_view subject, Shape shape, BatchPlan plan) {
    require_between(subject, "nodes", shape.nodes, 1, 1 << 20);
    require_between(subject, "gpus", shape.gpus, shape.nodes, 1 << 20);
    require_between(subject, "atomic_batch", plan.atomic_batch, 1, 1 << 30);
    require_between(subject, "accumulation_steps", plan.accumulation_steps, 0, 1 << 20);
}

}  // namespace detail

}  // namespace goodput

#endif
