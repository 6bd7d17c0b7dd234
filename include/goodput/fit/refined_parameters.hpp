#ifndef GOODPUT_FIT_REFINED_PARAMETERS_HPP
#define GOODPUT_FIT_REFINED_PARAMETERS_HPP

// The coordinates in which RefinedThroughput is fitted, and what is believed of them beforehand. All are
// unbounded, so that normal distributions suit them: logarithms of what must be positive, ln(gamma - 1),
// exponents as they are; the network's time as its logarithm over the node's, because the two go together.

#include <array>
#include <cstddef>
#include <string_view>

namespace goodput {

/// Indices of the parameters that every fit of RefinedThroughput has.
enum RefinedParameter : std::size_t {
    computing_constant,  ///< ln alpha_c
    computing_slope,     ///< ln beta_c
    alone_factor,        ///< ln alone
    straggling_exponent,
    node_level,  ///< ln node_seconds
    node_gpus_exponent,
    network_over_node,  ///< ln (network_seconds / node_seconds)
    network_gpus_exponent,
    network_nodes_exponent,
    network_ring_factor,  ///< ln network_ring
    overlap_level,        ///< ln (gamma - 1)
    refined_parameters
};

/// What messages and reports call the parameters, by RefinedParameter.
inline constexpr std::array<std::string_view, refined_parameters> refined_parameter_names{
    "alpha_c",         "beta_c",       "alone",         "straggling",   "node_seconds", "node_gpus",
    "network_seconds", "network_gpus", "network_nodes", "network_ring", "gamma"};

/// Normal distributions of a type's parameters, independent of each other. Means of computing_constant,
/// computing_slope and node_level are relative to ln of the computing time at the reference batch (the slope
/// times that batch).
struct RefinedPrior {
    std::array<double, refined_parameters> mean{};       ///< by RefinedParameter, in its coordinate
    std::array<double, refined_parameters> deviation{};  ///< standard deviations, the same way
    double break_deviation = 0.1;     ///< of ln of the factor at a break point of the computing time
    double sync_deviation = 0.15;     ///< of ln of a shape's own factor of synchronising
    double compute_deviation = 0.05;  ///< the same of computing
};

}  // namespace goodput

#endif
