#ifndef GOODPUT_FIT_REFINED_PRIOR_HPP
#define GOODPUT_FIT_REFINED_PRIOR_HPP

// What is believed of a job's speed on one GPU type before it was measured there, from general experience and
// from what its measurements on other types say.
//
// A parameter theta of type t (fit/refined_parameters.hpp has the coordinates) is taken as drawn in two
// stages, both normal: a mean mu of the job around what jobs have in general, theta_t around mu:
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
#include <numbers>
#include <span>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"
#include "goodput/fit/refined_parameters.hpp"

namespace goodput {

/// What one type's measurements alone say of a parameter; without any, the variance is infinite.
struct ParameterEvidence {
    double value = 0;     ///< in the coordinates of refined_parameters.hpp
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

}  // namespace goodput

#endif
