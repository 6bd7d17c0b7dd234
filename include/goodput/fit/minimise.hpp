#ifndef GOODPUT_FIT_MINIMISE_HPP
#define GOODPUT_FIT_MINIMISE_HPP

// How a fit ended, and what it asks of whoever minimises for it.
//
// Every fit returns a model that predicts (model/job_model.hpp), whatever the samples. A result is not
// trusted where the minimisation could not be begun, where the model or its covariance is no number or lies
// beyond what a model may be, or where it explains the samples worse than what the fit started from. Then the
// model is the previous fit, if one was given as the start, else the prior; nothing counts as identified, the
// errors are those of the model that is returned, and the scatter is at least as large as these say.
//
// What is asked is min sum_i r_i(y)^2 without bounds, for at most most_parameters
// parameters, each of which has a prior in whose units it is counted: then the diagonal of J^T J is at least
// 1, and no unit is far from the others.
//
// A minimiser is a plain function, Minimise. minimise_with_tiny_solver (fit/least_squares.hpp) is Ceres'
// header-only TinySolver (Levenberg-Marquardt; neither libceres nor glog), and what fits take unless told
// otherwise; minimise_with_ceres (fit/ceres_backend.hpp) is the full solver. This header needs neither.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
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

/// More parameters than any model here has.
inline constexpr int most_parameters = 36;
/// The values of as many parameters as a model has; what is behind them means nothing.
using FitParameters = std::array<double, most_parameters>;
/// A sum of squares in units of standard deviations that may fall by less than this is at its minimum: no
/// parameter is further from there than a thirtieth of its deviation.
inline constexpr double negligible_squares = 1e-3;

/// When a minimisation ends.
struct LeastSquaresOptions {
    int max_iterations = 60;  ///< at least 0
    double relative_tolerance =
        1e-8;                       ///< stop where a step changes the sum of squares by less than this part
    double absolute_tolerance = 0;  ///< or by less than this
    bool rough = false;             ///< whether that is the end of it is of no interest
};

/// Residuals of so many parameters. Called with the parameters it writes the residuals and, where that is no
/// null pointer, their derivatives, column by column.
template <class R>
concept Residuals = requires(const R& residuals, const double* y, double* out) {
    { residuals.parameters() } -> std::convertible_to<int>;
    { residuals.count() } -> std::convertible_to<int>;
    residuals(y, out, out);
};

/// Any Residuals, to which it refers: what minimises them is compiled once.
class AnyResiduals {
public:
    /// `of` has to stay, and as many as they are.
    template <Residuals R>
    requires(!std::same_as<R, AnyResiduals>) AnyResiduals(const R& of)
        : of_(&of),
          evaluate_([](const void* residuals, const double* y, double* values, double* jacobian) {
              (*static_cast<const R*>(residuals))(y, values, jacobian);
          }),
          count_(of.count()),
          parameters_(of.parameters()) {}

    /// How many residuals.
    [[nodiscard]] int count() const { return count_; }
    /// Of how many parameters.
    [[nodiscard]] int parameters() const { return parameters_; }
    /// See Residuals.
    void operator()(const double* y, double* values, double* jacobian) const {
        evaluate_(of_, y, values, jacobian);
    }

private:
    const void* of_;
    void (*evaluate_)(const void*, const double*, double*, double*);
    int count_, parameters_;
};

/// How a minimisation ended.
struct Minimisation {
    /// prior_kept: the start is left as it is, because its sum of squares is no number; iteration_limit also
    /// where no further point can be evaluated.
    FitStatus status = FitStatus::prior_kept;
    int iterations = 0;  ///< steps that were tried
};

/// What minimise_with_tiny_solver keeps from call to call (fit/least_squares.hpp); others need not look.
struct MinimiserBuffers;

/// Moves `y`, as many as there are parameters, to a local minimum, if any point is better than the start.
using Minimise = Minimisation (*)(const AnyResiduals& residuals, std::span<double> y,
                                  const LeastSquaresOptions& options, MinimiserBuffers& buffers);

}  // namespace goodput

#endif
