#ifndef GOODPUT_FIT_MINIMISE_HPP
#define GOODPUT_FIT_MINIMISE_HPP

// How a fit ended, and what a fit requires of a minimiser.
//
// Every fit returns a model that can predict (model/job_model.hpp), whatever the samples are. A result is
// not trusted in three cases: the minimisation could not begin; the model or its covariance is not finite
// or exceeds the limits of models; or the model explains the samples worse than the start of the fit does.
// Then the fit returns its start if it was given a previous fit, else the prior. In these cases no
// parameter counts as identified, the errors are those of the returned model, and the scatter is at least
// as large as these errors.
//
// The problem is min sum_i r_i(y)^2 without bounds, for at most most_parameters parameters. Each parameter
// has a prior and is measured in units of the prior. Therefore the diagonal of J^T J is at least 1, and all
// parameters have similar scales.
//
// A minimiser is a plain function (Minimise). The default is minimise_with_tiny_solver
// (fit/least_squares.hpp), Ceres' header-only TinySolver (Levenberg-Marquardt), which needs neither
// libceres nor glog. The full solver is minimise_with_ceres (fit/ceres_backend.hpp). This header needs
// neither of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// How a fit ended.
enum class FitStatus {
    converged,
    iteration_limit,  ///< the iterations are used up, or no further step helps; the result is the best so far
    start_kept,       ///< the result is not trusted; the model is the start, a previous fit
    prior_kept        ///< the result is not trusted and no start was given; the model is the prior
};

/// Whether the model explains the samples that it was fitted to. If false, the model is an earlier belief.
[[nodiscard]] constexpr bool is_fitted(FitStatus status) {
    return status == FitStatus::converged || status == FitStatus::iteration_limit;
}

namespace detail {

/// Whether a sum of squares is at most that of the fallback, up to rounding errors.
inline bool explains_as_well(double squares, double fallback) {
    return squares <= fallback * (1 + 1e-6) + 1e-12;
}

/// Whether all values are finite.
inline bool all_finite(std::span<const double> values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// Returns a one-line report of a fit whose parameters are called `names`.
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

/// The largest number of parameters that a model may have.
inline constexpr int most_parameters = 36;
/// Parameter values. Only as many entries as the model has parameters are meaningful.
using FitParameters = std::array<double, most_parameters>;
/// A sum of squares, in units of standard deviations, is at its minimum if it could fall by less than this.
/// Then no parameter is further from its optimum than about a thirtieth of its deviation.
inline constexpr double negligible_squares = 1e-3;

/// When a minimisation stops.
struct LeastSquaresOptions {
    int max_iterations = 60;  ///< at least 0
    double relative_tolerance =
        1e-8;                       ///< stop if a step changes the sum of squares by less than this fraction
    double absolute_tolerance = 0;  ///< or if a step changes it by less than this
    bool rough = false;             ///< the caller does not need to know whether the result is a minimum
};

/// Residuals of a number of parameters. A call with parameters y writes the residuals and, if the last
/// pointer is not null, their derivatives column by column.
template <class R>
concept Residuals = requires(const R& residuals, const double* y, double* out) {
    { residuals.parameters() } -> std::convertible_to<int>;
    { residuals.count() } -> std::convertible_to<int>;
    residuals(y, out, out);
};

/// A reference to any Residuals. It lets minimisers be compiled once.
class AnyResiduals {
public:
    /// `residuals` must outlive this object and keep its number of residuals.
    template <Residuals R>
    requires(!std::same_as<R, AnyResiduals>) AnyResiduals(const R& source)
        : source_(&source),
          evaluate_([](const void* residuals, const double* y, double* values, double* jacobian) {
              (*static_cast<const R*>(residuals))(y, values, jacobian);
          }),
          count_(source.count()),
          parameters_(source.parameters()) {}

    /// Number of residuals.
    [[nodiscard]] int count() const { return count_; }
    /// Number of parameters.
    [[nodiscard]] int parameters() const { return parameters_; }
    /// See Residuals.
    void operator()(const double* y, double* values, double* jacobian) const {
        evaluate_(source_, y, values, jacobian);
    }

private:
    const void* source_;
    void (*evaluate_)(const void*, const double*, double*, double*);
    int count_, parameters_;
};

/// How a minimisation ended.
struct Minimisation {
    /// `prior_kept` means that the start is unchanged, because its sum of squares is not finite.
    /// `iteration_limit` also means that no further point could be evaluated.
    FitStatus status = FitStatus::prior_kept;
    int iterations = 0;  ///< number of steps tried
};

/// The buffers that minimise_with_tiny_solver keeps between calls (fit/least_squares.hpp). Other minimisers
/// may ignore them.
struct MinimiserBuffers;

/// A function that moves `y` (one value per parameter) to a local minimum, if it finds any point better
/// than the start.
using Minimise = Minimisation (*)(const AnyResiduals& residuals, std::span<double> y,
                                  const LeastSquaresOptions& options, MinimiserBuffers& buffers);

}  // namespace goodput::inline v0_1

#endif
