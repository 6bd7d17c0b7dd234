#ifndef GOODPUT_FIT_REFINED_FIT_HPP
#define GOODPUT_FIT_REFINED_FIT_HPP

// A RefinedThroughput that was fitted, with how sure we are of it.

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/fit_status.hpp"
#include "goodput/fit/refined_parameters.hpp"
#include "goodput/fit/refined_prior.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput {

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
