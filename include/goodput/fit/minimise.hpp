#ifndef GOODPUT_FIT_MINIMISE_HPP
#define GOODPUT_FIT_MINIMISE_HPP

// What a fit asks of whoever minimises for it: min sum_i r_i(y)^2 without bounds, for at most most_parameters
// parameters, each of which has a prior in whose units it is counted: then the diagonal of J^T J is at least
// 1, and no unit is far from the others.
//
// A minimiser is a plain function, Minimise. minimise_with_tiny_solver (fit/least_squares.hpp) is Ceres'
// header-only TinySolver (Levenberg-Marquardt; neither libceres nor glog), and what fits take unless told
// otherwise; minimise_with_ceres (fit/ceres_backend.hpp) is the full solver. This header needs neither.

#include <array>
#include <concepts>
#include <span>

#include "goodput/fit/fit_status.hpp"

namespace goodput {

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
