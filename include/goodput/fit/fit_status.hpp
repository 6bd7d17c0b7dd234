#ifndef GOODPUT_FIT_FIT_STATUS_HPP
#define GOODPUT_FIT_FIT_STATUS_HPP

// How a fit ended.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"
#include "goodput/fit/detail/least_squares.hpp"

namespace goodput {

/// How a fit ended.
enum class FitStatus {
    converged,
    iteration_limit,  ///< FitOptions::max_iterations spent; the best so far
    start_kept        ///< the samples cannot be evaluated at the start (never seen for valid samples)
};

namespace detail {

inline FitStatus status_of(LeastSquaresStatus found) {
    return found == LeastSquaresStatus::converged         ? FitStatus::converged
           : found == LeastSquaresStatus::iteration_limit ? FitStatus::iteration_limit
                                                          : FitStatus::start_kept;
}

/// One line on a ThroughputFit or RefinedFit whose parameters are named `names`.
template <class Fit>
std::string report_of(const Fit& fit, std::span<const std::string_view> names) {
    const auto percent = [](double part) { return text_of(std::round(part * 1000) / 10) + " %"; };
    const std::string_view ended = fit.status == FitStatus::converged         ? "converged"
                                   : fit.status == FitStatus::iteration_limit ? "stopped at the limit"
                                                                              : "kept the start";
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
