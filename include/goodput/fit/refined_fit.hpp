#ifndef GOODPUT_FIT_REFINED_FIT_HPP
#define GOODPUT_FIT_REFINED_FIT_HPP

// A fitted RefinedThroughput with its uncertainty, the coordinates in which it is fitted, and the prior of
// these coordinates.
//
// All coordinates are unbounded, so that normal distributions suit them: logarithms of positive parameters,
// ln(gamma - 1), and exponents as they are. The coordinate of the network's time is its logarithm relative
// to the node's time, because the two are correlated.
//
// The belief about a job's speed on one GPU type before measurements there comes from general experience
// and from the job's measurements on other types. A parameter theta of type t is modelled as drawn in two
// normal stages: a mean mu of the job around the general mean, and theta_t around mu:
//
//     mu ~ N(m, jobs^2)        theta_t ~ N(mu, types^2)
//
// A measured type s gives the evidence theta_s = e_s with variance V_s. Then for another type
//
//     mu      ~ N(M, 1 / W)    W = 1 / jobs^2 + sum_s 1 / (V_s + types^2)
//                              M = (m / jobs^2 + sum_s e_s / (V_s + types^2)) / W
//     theta_t ~ N(M, 1 / W + types^2)
//
// (the normal hierarchical model with known variances; Gelman et al., Bayesian Data Analysis, section 5.4).
// Synchronising times of different types are compared in units of the computing time of the same batch size
// on that type, because faster GPUs come with faster links.
//
// The constants below are round figures from general knowledge of data-parallel training. They are not
// fitted to measurements. Jobs are distributed only if that pays. So two nodes should reach four fifths of
// twice the speed of one, which means that synchronising takes a quarter of the computing time. Two GPUs of
// one node should come closer to twice the speed: they synchronise in half of that time, an eighth of the
// computing time. That alone would make two nodes take twice as long as two GPUs of one node. But where
// several nodes were never measured, steps on them then came out too slow, in Sia's profiles and in
// ElasticFlow's tables alike. So they take the square root of two times as long. One standard deviation is
// a factor of e. The GPUs of a node share its links, anything from one bus per GPU to one bus for all, so
// the exponent of synchronising within a node is around a half. A ring passes the network card of a node
// once, however many of its GPUs take part, and the cost of a tree hardly grows with the nodes; the cost of
// other methods grows in proportion to both. Rings and trees are the rule, so the network's exponents, in
// the GPUs per node and in the nodes, are around a quarter. (The former used to be a half, until the
// published profiles of docs/fit.md contradicted it.) gamma = 2 lies between no overlap and full overlap.

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1 {

/// Indices of the parameters that every fit of RefinedThroughput has, with their coordinates.
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

/// Names of the parameters in messages and reports, by RefinedParameter.
inline constexpr std::array<std::string_view, refined_parameters> refined_parameter_names{
    "alpha_c",         "beta_c",       "alone",         "straggling",   "node_seconds", "node_gpus",
    "network_seconds", "network_gpus", "network_nodes", "network_ring", "gamma"};

/// Independent normal distributions of a type's parameters. The means of computing_constant,
/// computing_slope and node_level are relative to ln of the computing time at the reference batch (for the
/// slope: of that time divided by that batch).
struct RefinedPrior {
    std::array<double, refined_parameters> mean{};       ///< means by RefinedParameter, in its coordinate
    std::array<double, refined_parameters> deviation{};  ///< standard deviations by RefinedParameter
    /// Standard deviation of ln of the factor at a break point of the computing time.
    double break_deviation = 0.1;
    double sync_deviation = 0.15;     ///< standard deviation of ln of a shape's own factor on synchronising
    double compute_deviation = 0.05;  ///< standard deviation of ln of a shape's own factor on computing
};

/// The information about a parameter from the measurements of one type alone. The variance is infinite
/// without measurements.
struct ParameterEvidence {
    double value = 0;     ///< estimate, in the coordinate of RefinedParameter
    double variance = 0;  ///< variance of the estimate; infinite if there is no evidence
};

/// The two stages from which the prior of a type follows.
struct RefinedPopulation {
    //                                              alpha, beta, alone, straggling, node level, node exponent,
    //                                              network over node, exponents of GPUs and nodes, ring,
    //                                              gamma
    /// The general mean of jobs (m).
    std::array<double, refined_parameters> mean{-std::numbers::ln2,
                                                -std::numbers::ln2,
                                                0,
                                                0,
                                                -3 * std::numbers::ln2,
                                                0.5,
                                                std::numbers::ln2 / 2,
                                                0.25,
                                                0.25,
                                                0,
                                                0};
    /// Standard deviations of jobs around the general mean.
    std::array<double, refined_parameters> jobs{1, 1, 0.15, 0.05, 1, 0.35, 0.5, 0.25, 0.25, 0.35, 1};
    /// Standard deviations of a job's GPU types around the job's mean.
    std::array<double, refined_parameters> types{1, 1, 0.15, 0.03, 1, 0.25, 0.5, 0.15, 0.15, 0.25, 0.5};

    /// Throws std::invalid_argument, which names `subject`, if a mean is not finite or a deviation is not
    /// positive and finite.
    void validate(std::string_view subject) const {
        for (std::size_t i = 0; i < refined_parameters; ++i) {
            const std::string name(refined_parameter_names[i]);
            if (!std::isfinite(mean[i])) bad_input(subject, "mean of " + name, mean[i], "finite");
            require_positive(subject, "deviation of jobs in " + name, jobs[i]);
            require_positive(subject, "deviation of types in " + name, types[i]);
        }
    }

    /// Returns the prior of a type without measurements, given the evidence from the job's other types.
    [[nodiscard]] RefinedPrior prior(
        std::span<const std::array<ParameterEvidence, refined_parameters>> others = {}) const {
        RefinedPrior prior;
        for (std::size_t i = 0; i < refined_parameters; ++i) {
            double weight = 1 / (jobs[i] * jobs[i]), sum = mean[i] * weight;
            for (const auto& other : others) {
                const double precision = 1 / (other[i].variance + types[i] * types[i]);
                weight += precision;
                sum += precision * other[i].value;
            }
            prior.mean[i] = sum / weight;
            prior.deviation[i] = std::sqrt(1 / weight + types[i] * types[i]);
        }
        return prior;
    }
};

/// A fitted model with its errors, covariance and prior.
struct RefinedFit {
    RefinedThroughput model{};  ///< the parameters with the greatest posterior probability
    /// By parameter (refined_parameter_names): whether the samples have at least halved the prior's
    /// variance.
    std::array<bool, refined_parameters> identified{};
    double compute_rmsle = 0;  ///< root mean square error of ln(computing time), with equal weights
    double step_rmsle = 0;     ///< root mean square error of ln(step time), with equal weights
    int samples = 0;           ///< number of measurements
    int stragglers = 0;        ///< number of samples with reduced weight
    int iterations = 0;        ///< total of all minimisations
    FitStatus status = FitStatus::prior_kept;  ///< how the fit ended
    double step_deviation = 0;                 ///< standard deviation of ln(step time) about the model
    double degrees_of_freedom = 1;             ///< degrees of freedom of step_deviation
    double launch_deviation = 0;  ///< the same of steps that wait for the host, if model.launch_seconds > 0
    double launch_freedom = 1;    ///< degrees of freedom of launch_deviation
    double launch_batch = 0;      ///< the largest measured batch that waits for the host, if any does

    RefinedPrior prior{};          ///< the prior of the fit
    double reference_batch = 1;    ///< atomic batch that computes in reference_seconds
    double reference_seconds = 1;  ///< approximate; the prior's unit of time
    /// By RefinedParameter, then ln of the factors of model.batches, then ln of model.launch_seconds if > 0.
    std::vector<double> coordinates{};
    std::vector<double> covariance{};  ///< covariance of the coordinates by rows, prior included
    /// Variances of ln of the factors in model.shapes: computing, synchronising.
    std::vector<std::array<double, 2>> shape_variances{};

    /// Returns the variances of ln of a shape's own factors on computing and synchronising: the posterior
    /// ones of a measured shape, else the prior's.
    [[nodiscard]] std::array<double, 2> factor_variances(Shape shape) const {
        if (const ShapeFactor* own = model.factor_of(shape))
            return shape_variances[static_cast<std::size_t>(own - model.shapes.data())];
        return {detail::square(prior.compute_deviation), detail::square(prior.sync_deviation)};
    }

    /// Number of coordinates that a fit of this model has.
    [[nodiscard]] std::size_t expected_coordinates() const {
        return refined_parameters + model.batches.size() + (model.launch_seconds > 0 ? 1 : 0);
    }

    /// Returns what the samples alone say about each parameter, in the prior's units.
    [[nodiscard]] std::array<ParameterEvidence, refined_parameters> evidence() const;

    /// Returns one line: how the fit ended, how well it fits, and which parameters come from the prior.
    [[nodiscard]] std::string report() const;
};

inline std::array<ParameterEvidence, refined_parameters> RefinedFit::evidence() const {
    std::array<ParameterEvidence, refined_parameters> evidence{};
    const std::size_t count = coordinates.size();
    const double level = std::log(reference_seconds);
    for (std::size_t i = 0; i < refined_parameters; ++i) {
        double value = coordinates[i];
        if (i == computing_constant || i == node_level) value -= level;
        if (i == computing_slope) value -= level - std::log(reference_batch);
        // Posterior = prior times likelihood, all normal.
        const double posterior = 1 / covariance[i * count + i],
                     before = 1 / detail::square(prior.deviation[i]);
        const double own = posterior - before;
        if (!(own >= 1e-3 * before) || !std::isfinite(own)) {
            evidence[i] = {value, std::numeric_limits<double>::infinity()};
            continue;
        }
        evidence[i] = {(value * posterior - prior.mean[i] * before) / own, 1 / own};
    }
    return evidence;
}

inline std::string RefinedFit::report() const { return detail::report_of(*this, refined_parameter_names); }

/// Whether a fit's model can be used for predictions, with finite numbers for its uncertainty.
[[nodiscard]] inline bool is_whole(const RefinedFit& fit) {
    const std::size_t count = fit.coordinates.size();
    if (count != fit.expected_coordinates() || fit.covariance.size() != count * count ||
        fit.shape_variances.size() != fit.model.shapes.size())
        return false;
    const auto positive = [](double number) { return std::isfinite(number) && number > 0; };
    if (fit.model.launch_seconds > 0 &&
        !(positive(fit.launch_deviation) && positive(fit.launch_freedom) && positive(fit.launch_batch)))
        return false;
    bool whole = positive(fit.step_deviation) && positive(fit.degrees_of_freedom) && is_valid(fit.model) &&
                 detail::all_finite(fit.coordinates) && detail::all_finite(fit.covariance);
    for (std::size_t i = 0; i < count; ++i) whole = whole && fit.covariance[i * count + i] > 0;
    for (const auto& [compute, sync] : fit.shape_variances)
        whole = whole && positive(compute) && positive(sync);
    return whole;
}

}  // namespace goodput::inline v0_1

#endif
