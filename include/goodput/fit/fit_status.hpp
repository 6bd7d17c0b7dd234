#ifndef GOODPUT_FIT_FIT_STATUS_HPP
#define GOODPUT_FIT_FIT_STATUS_HPP

// How a fit ended.
//
// Every fit returns a model that predicts (model/job_model.hpp), whatever the samples. A result is not
// trusted where the minimisation could not be begun, where the model or its covariance is no number or lies
// beyond what a model may be, or where it explains the samples worse than what the fit started from. Then the
// model is the previous fit, if one was given as the start, else the prior; nothing counts as identified, the
// errors are those of the model that is returned, and the scatter is at least as large as these say.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"

namespace goodput {

/// How a fit ended.
enum class FitStatus {
    converged,
    iteration_limit,  ///< the iterations are spent, or no further step helps; the best so far
    start_kept,       ///< no result to trust: the previous fit, which was given as the start
    prior_kept        ///< no result to trust, and no start: the prior
};

/// Whether the model explains the samples that it was fitted to, rather than what was believed before.
[[nodiscard]] constexpr bool is_fitted(FitStatus status) {
    return status == FitStatus::converged || status == FitStatus::iteration_limit;
}

namespace detail {

/// Whether a sum of squares is no larger than the one of what to fall back to, but for rounding errors.
inline bool explains_as_well(double squares, double fallback) {
    return squares <= fallback * (1 + 1e-6) + 1e-12;
}

/// Whether all of them are numbers, none infinite.
inline bool all_finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// One line on a fit whose parameters are named `names`.
template <class Fit>
std::string report_of(const Fit& fit, std::span<const std::string_view> names) {
    const auto percent = [](double part) { return text_of(std::round(part * 1000) / 10) + " %"; };
    const std::string_view ended = fit.status == FitStatus::converged         ? "converged"
                                   : fit.status == FitStatus::iteration_limit ? "stopped at the limit"
                                   : fit.status == FitStatus::start_kept      ? "kept the start"
                                                                              : "kept the prior";
    std::string line = text_of(fit.samples) + " samples, " + std::string(ended) + " after " +
                       text_of(fit.iterations) + " iterations; error of computing " +
                       percent(fit.compute_rmsle) + ", of the step " + percent(fit.step_rmsle);
    if (fit.stragglers > 0) line += "; " + text_of(fit.stragglers) + " stragglers";
    std::string_view separator = "; from the prior: ";
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (fit.identified[i]) continue;
        line.append(separator).append(names[i]);
        separator = ", ";
    }
    return line;
}

}  // namespace detail
}  // namespace goodput

#endif
