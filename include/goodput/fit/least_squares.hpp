#ifndef GOODPUT_FIT_LEAST_SQUARES_HPP
#define GOODPUT_FIT_LEAST_SQUARES_HPP

// min sum_i r_i(y)^2 without bounds, for at most most_parameters parameters, each of which has a prior in
// whose units it is counted: then the diagonal of J^T J is at least 1, and no unit is far from the others.
//
// A backend is a type with minimise(residuals, y, options): TinyBackend is Ceres' header-only TinySolver
// (Levenberg-Marquardt; neither libceres nor glog), CeresBackend (fit/ceres_backend.hpp) the full solver.
//
// TinySolver trusts its caller: it takes a failed factorisation or a step that is not a number for one that
// did not help, and small steps after failed ones for the end. So a point counts only where its sum is a
// number and has fallen, and as a minimum only where a Gauss-Newton step from it promises next to nothing.

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/fit/fit_status.hpp"

namespace goodput {

/// More parameters than any model here has.
inline constexpr int most_parameters = 36;
/// At most most_parameters numbers, without memory of its own.
using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, most_parameters, 1>;
/// At most most_parameters rows and columns, likewise.
using SmallMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, most_parameters, most_parameters>;

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

/// How a minimisation ended.
struct Minimisation {
    /// prior_kept: the start is left as it is, because its sum of squares is no number; iteration_limit also
    /// where no further point can be evaluated.
    FitStatus status = FitStatus::prior_kept;
    int iterations = 0;  ///< steps that were tried
};

/// The residuals at one point, and their derivatives there. Keeps its buffers.
struct Linearisation {
    Eigen::VectorXd residuals{};  ///< at the point
    Eigen::MatrixXd jacobian{};   ///< their derivatives, a column a parameter

    /// At y.
    template <Residuals R>
    void find(const R& of, const SmallVector& y) {
        residuals.resize(of.count());
        jacobian.resize(of.count(), of.parameters());
        of(y.data(), residuals.data(), jacobian.data());
    }
    /// J^T J.
    [[nodiscard]] SmallMatrix hessian() const {
        SmallMatrix half = SmallMatrix::Zero(jacobian.cols(), jacobian.cols());
        half.selfadjointView<Eigen::Lower>().rankUpdate(jacobian.transpose());
        return half.selfadjointView<Eigen::Lower>();
    }
    /// Whether a Gauss-Newton step would lower the sum by less if the residuals were linear.
    [[nodiscard]] bool promises_less_than(double tolerance) const {
        const SmallVector gradient = jacobian.transpose() * residuals;
        return gradient.dot(hessian().llt().solve(gradient)) < tolerance;
    }
};

/// Ceres' TinySolver. Keeps its buffers.
class TinyBackend {
public:
    /// A sum of squares in units of standard deviations that may fall by less than this is at its minimum: no
    /// parameter is further from there than a thirtieth of its deviation.
    static constexpr double negligible = 1e-3;

    TinyBackend() = default;
    /// There is nothing to copy but buffers.
    TinyBackend(const TinyBackend& /*other*/) {}
    /// The same.
    TinyBackend& operator=(const TinyBackend& /*other*/) { return *this; }
    /// Moves `y` to a local minimum, if any point is better than the start.
    template <Residuals R>
    Minimisation minimise(const R& residuals, SmallVector& y, const LeastSquaresOptions& options);

private:
    /// Any residuals, so that the solver is compiled once. Nothing is linearised twice at one point.
    struct Any {
        using Scalar = double;
        enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

        TinyBackend& backend;
        const void* residuals;
        void (*evaluate)(const void*, const double*, double* values, double* jacobian);
        int count, parameters;

        [[nodiscard]] int NumResiduals() const { return count; }
        [[nodiscard]] int NumParameters() const { return parameters; }
        bool operator()(const double* y, double* values, double* jacobian) const {
            if (!jacobian) {
                evaluate(residuals, y, values, nullptr);
                return true;
            }
            go_to(Eigen::Map<const Eigen::VectorXd>(y, parameters));
            Eigen::Map<Eigen::VectorXd>(values, count) = backend.there_.residuals;
            Eigen::Map<Eigen::MatrixXd>(jacobian, count, parameters) = backend.there_.jacobian;
            return true;
        }
        /// Linearises at `y`, unless that was done last.
        void go_to(const SmallVector& y) const {
            if (backend.at_.size() == y.size() && backend.at_ == y) return;
            backend.at_ = y;
            backend.there_.residuals.resize(count);
            backend.there_.jacobian.resize(count, parameters);
            evaluate(residuals, y.data(), backend.there_.residuals.data(), backend.there_.jacobian.data());
        }
    };

    ceres::TinySolver<Any> solver_{};
    Eigen::VectorXd point_{};
    Linearisation there_{};  ///< at at_
    SmallVector at_{};
};

template <Residuals R>
Minimisation TinyBackend::minimise(const R& residuals, SmallVector& y, const LeastSquaresOptions& options) {
    const Any any{*this, &residuals,
                  [](const void* of, const double* at, double* values, double* jacobian) {
                      (*static_cast<const R*>(of))(at, values, jacobian);
                  },
                  residuals.count(), residuals.parameters()};
    Minimisation result;
    solver_.options.gradient_tolerance = solver_.options.cost_threshold = 0;
    solver_.options.parameter_tolerance = 1e-14;
    at_.resize(0);
    for (double radius = 1e4;; radius /= 100) {
        any.go_to(y);
        const double squares = there_.residuals.squaredNorm(),
                     tolerance = std::max(options.relative_tolerance * squares, options.absolute_tolerance);
        if (!std::isfinite(squares)) return result;
        result.status = FitStatus::converged;
        if (options.rough ? result.iterations > 0
                          : there_.promises_less_than(
                                result.iterations == 0 ? tolerance : std::max(tolerance, negligible)))
            return result;
        result.status = FitStatus::iteration_limit;
        // Where the residuals bend so much that steps go too far, shorter ones are begun with.
        if (radius < 1 || result.iterations >= options.max_iterations) return result;
        solver_.options.initial_trust_region_radius = radius;
        solver_.options.max_num_iterations = options.max_iterations - result.iterations + 1;
        solver_.options.function_tolerance = tolerance;
        point_ = y;
        result.iterations += std::max(solver_.Solve(any, &point_).iterations, 1);
        if (2 * solver_.summary.final_cost < squares && point_.allFinite()) y = point_;
    }
}

}  // namespace goodput

#endif
