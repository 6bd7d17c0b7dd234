#ifndef GOODPUT_FIT_REFINED_FIT_HPP
#define GOODPUT_FIT_REFINED_FIT_HPP

// A RefinedThroughput that was fitted, with how sure we are of it; the coordinates in which it is fitted, and
// what is believed of them beforehand.
//
// All coordinates are unbounded, so that normal distributions suit them: logarithms of what must be positive,
// ln(gamma - 1), exponents as they are; the network's time as its logarithm over the node's, because the two
// go together.
//
// What is believed of a job's speed on one GPU type before it was measured there comes from general
// experience and from what its measurements on other types say. A parameter theta of type t is taken as drawn
// in two stages, both normal: a mean mu of the job around what jobs have in general, theta_t around mu:
//
//     mu ~ N(m, jobs^2)        theta_t ~ N(mu, types^2)
//
// A type s with measurements of its own says theta_s = e_s, with variance V_s. Then for another type
//
//     mu      ~ N(M, 1 / W)    W = 1 / jobs^2 + sum_s 1 / (V_s + types^2)
//                              M = (m / jobs^2 + sum_s e_s / (V_s + types^2)) / W
//     theta_t ~ N(M, 1 / W + types^2)
//
// (the normal hierarchical model; Gelman et al., Bayesian Data Analysis, section 5.4, variances known). How
// long synchronising takes is compared across types in units of the time that computing takes there on a
// batch of the same size: faster GPUs come with faster links.
//
// The constants below are round figures from what is known of data-parallel training, not fitted to
// measurements: jobs are distributed where that pays, so that two nodes should reach four fifths of twice the
// speed (synchronising takes a quarter of computing), within a node twice as near to it; one standard
// deviation is a factor of e. GPUs of a node share its links, from a bus of theirs each to one for all: an
// exponent around a half. A ring passes the network card of a node once, however many of its GPUs take part,
// and a tree hardly grows with the nodes; other ways take proportionally more of both. Rings and trees are
// the rule, hence exponents around a quarter (for the GPUs of a node this was a half, until the published
// profiles of docs/fit.md spoke against it). gamma = 2 lies between no overlap and full.

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

/// What one type's measurements alone say of a parameter; without any, the variance is infinite.
struct ParameterEvidence {
    double value = 0;     ///< in the coordinates of RefinedParameter
    double variance = 0;  ///< of that value; infinite: no evidence
};

/// The two stages from which a type's prior follows.
struct RefinedPopulation {
    //                                               alpha, beta, alone, straggling, node level, its exponent,
    //                                               network over node, exponents of GPUs and nodes, ring,
    //                                               gamma
    /// m, what jobs have in general.
    std::array<double, refined_parameters> mean{-std::numbers::ln2,
                                                -std::numbers::ln2,
                                                0,
                                                0,
                                                -3 * std::numbers::ln2,
                                                0.5,
                                                std::numbers::ln2,
                                                0.25,
                                                0.25,
                                                0,
                                                0};
    /// Standard deviations of jobs around it.
    std::array<double, refined_parameters> jobs{1, 1, 0.15, 0.05, 1, 0.35, 0.5, 0.25, 0.25, 0.35, 1};
    /// Standard deviations of a job's GPU types around the job's mean.
    std::array<double, refined_parameters> types{1, 1, 0.15, 0.03, 1, 0.25, 0.5, 0.15, 0.15, 0.25, 0.5};

    /// Refuses means that are not finite, and deviations that are not positive and finite
    /// (std::invalid_argument naming `subject`).
    void validate(std::string_view subject) const {
        for (std::size_t i = 0; i < refined_parameters; ++i) {
            const std::string of(refined_parameter_names[i]);
            if (!std::isfinite(mean[i])) bad_input(subject, "mean of " + of, mean[i], "finite");
            require_positive(subject, "deviation of jobs in " + of, jobs[i]);
            require_positive(subject, "deviation of types in " + of, types[i]);
        }
    }

    /// The prior of a type on which nothing but `others` is known, `others[s]` holding the evidence of
    /// another type of the job.
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

/// A model with its errors, covariance and prior.
struct RefinedFit {
    RefinedThroughput model{};  ///< the parameters of greatest posterior probability
    /// By parameter (refined_parameter_names): the samples have at least halved the prior's variance.
    std::array<bool, refined_parameters> identified{};
    double compute_rmsle = 0;  ///< root mean square error of ln(computing time), every sample counted alike
    double step_rmsle = 0;     ///< the same of ln(step time)
    int samples = 0;           ///< number of measurements
    int stragglers = 0;        ///< samples weighted down
    int iterations = 0;        ///< of all minimisations together
    FitStatus status = FitStatus::prior_kept;  ///< how it ended
    double step_deviation = 0;                 ///< standard deviation of ln(step time) about the model
    double degrees_of_freedom = 1;             ///< what that deviation rests on

    RefinedPrior prior{};               ///< under which it was fitted
    double reference_batch = 1;         ///< at which computing takes reference_seconds
    double reference_seconds = 1;       ///< about; the prior's unit of time
    std::vector<double> coordinates{};  ///< by RefinedParameter, and ln of the factors of model.batches
    std::vector<double> covariance{};   ///< of the coordinates, by rows, the prior included
    std::vector<std::array<double, 2>> shape_variances{};  ///< of ln of model.shapes' factors: compute, sync

    /// Variances of ln of a shape's own factors of computing and synchronising: what the samples left of the
    /// prior's, or the prior's.
    [[nodiscard]] std::array<double, 2> factor_variances(Shape shape) const {
        if (const ShapeFactor* own = model.factor_of(shape))
            return shape_variances[static_cast<std::size_t>(own - model.shapes.data())];
        return {detail::square(prior.compute_deviation), detail::square(prior.sync_deviation)};
    }

    /// What the samples alone say of each parameter, in the prior's units.
    [[nodiscard]] std::array<ParameterEvidence, refined_parameters> evidence() const;

    /// One line: how it ended, how well it fits, what is from the prior.
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

/// Whether a fit's model can be predicted from, with numbers that say how sure it is.
[[nodiscard]] inline bool is_whole(const RefinedFit& fit) {
    const std::size_t count = fit.coordinates.size();
    if (count != refined_parameters + fit.model.batches.size() || fit.covariance.size() != count * count ||
        fit.shape_variances.size() != fit.model.shapes.size())
        return false;
    const auto positive = [](double number) { return std::isfinite(number) && number > 0; };
    bool whole = positive(fit.step_deviation) && positive(fit.degrees_of_freedom) && is_valid(fit.model) &&
                 detail::all_finite(fit.coordinates) && detail::all_finite(fit.covariance);
    for (std::size_t i = 0; i < count; ++i) whole = whole && fit.covariance[i * count + i] > 0;
    for (const auto& [compute, sync] : fit.shape_variances)
        whole = whole && positive(compute) && positive(sync);
    return whole;
}

}  // namespace goodput

#endif
