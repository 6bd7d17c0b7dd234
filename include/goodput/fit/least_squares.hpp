#ifndef GOODPUT_FIT_LEAST_SQUARES_HPP
#define GOODPUT_FIT_LEAST_SQUARES_HPP

// The minimiser of all fits that are not given another one (fit/minimise.hpp). It runs Ceres' TinySolver.
// TinySolver trusts its caller: it treats a failed factorisation, or a step that is NaN, like a step that
// did not help, and takes small steps after failures for convergence. Therefore a point counts here only if
// its sum is finite and has fallen, and it counts as a minimum only if a Gauss-Newton step from it promises
// next to no improvement.

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/fit/minimise.hpp"

namespace goodput::inline v0_1 {

/// The residuals and their derivatives at one point. Keeps its buffers.
class Linearisation {
public:
    Eigen::VectorXd residuals{};  ///< residuals at the point
    Eigen::MatrixXd jacobian{};   ///< derivatives of the residuals, one column per parameter

    /// Evaluates residuals and derivatives at y.
    void find(const AnyResiduals& source, const double* y) {
        residuals.resize(source.count());
        jacobian.resize(source.count(), source.parameters());
        source(y, residuals.data(), jacobian.data());
    }
    /// Computes J^T J and decomposes it for the functions below. Returns false, without a decomposition, if
    /// J^T J is not finite.
    bool decompose() {
        hessian_.noalias() = jacobian.transpose() * jacobian;
        if (!hessian_.allFinite()) return false;
        decomposed_.compute(hessian_);
        return true;
    }
    /// J^T J of the last decompose().
    [[nodiscard]] const Eigen::MatrixXd& hessian() const { return hessian_; }
    /// One column of the inverse of J^T J. It is valid until the next call.
    [[nodiscard]] const Eigen::VectorXd& covariance_column(Eigen::Index column) {
        solved_ = decomposed_.solve(Eigen::VectorXd::Unit(hessian_.rows(), column));
        return solved_;
    }
    /// Whether a Gauss-Newton step would lower the sum by less than `tolerance` if the residuals were
    /// linear.
    [[nodiscard]] bool promises_less_than(double tolerance) {
        if (!decompose()) return false;
        gradient_.noalias() = jacobian.transpose() * residuals;
        solved_ = decomposed_.solve(gradient_);
        return gradient_.dot(solved_) < tolerance;
    }

private:
    Eigen::MatrixXd hessian_{};
    Eigen::LDLT<Eigen::MatrixXd> decomposed_{};
    Eigen::VectorXd gradient_{}, solved_{};
};

namespace detail {

/// Residuals in the form that TinySolver needs. No point is linearised twice in succession.
struct TinyResiduals {
    using Scalar = double;
    enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

    const AnyResiduals& residuals;
    Eigen::VectorXd& at;
    Linearisation& there;  ///< the linearisation at `at`, unless `at` is empty

    [[nodiscard]] int NumResiduals() const { return residuals.count(); }
    [[nodiscard]] int NumParameters() const { return residuals.parameters(); }
    bool operator()(const double* y, double* values, double* jacobian) const {
        if (!jacobian) {
            residuals(y, values, nullptr);
            return true;
        }
        go_to(y);
        std::copy_n(there.residuals.data(), there.residuals.size(), values);
        std::copy_n(there.jacobian.data(), there.jacobian.size(), jacobian);
        return true;
    }
    /// Linearises at `y`, unless `y` is where it linearised last.
    void go_to(const double* y) const {
        if (at.size() > 0 && std::equal(at.begin(), at.end(), y)) return;
        at = Eigen::Map<const Eigen::VectorXd>(y, residuals.parameters());
        there.find(residuals, y);
    }
};

}  // namespace detail

/// The buffers of minimise_with_tiny_solver. A caller that minimises repeatedly may use them between calls.
struct MinimiserBuffers {
    ceres::TinySolver<detail::TinyResiduals> solver{};  ///< the solver with its matrices
    Eigen::VectorXd point{};                            ///< current point of the search
    Eigen::VectorXd at{};                               ///< point of the linearisation
    Linearisation there{};                              ///< residuals and derivatives at `at`
};

/// Minimises with Ceres' TinySolver. See Minimise.
inline Minimisation minimise_with_tiny_solver(const AnyResiduals& residuals, std::span<double> y,
                                              const LeastSquaresOptions& options, MinimiserBuffers& buffers) {
    auto& [solver, point, at, there] = buffers;
    const detail::TinyResiduals problem{residuals, at, there};
    Minimisation result;
    solver.options.gradient_tolerance = solver.options.cost_threshold = 0;
    solver.options.parameter_tolerance = 1e-14;
    at.resize(0);
    for (double radius = 1e4;; radius /= 100) {
        problem.go_to(y.data());
        const double squares = there.residuals.squaredNorm(),
                     tolerance = std::max(options.relative_tolerance * squares, options.absolute_tolerance);
        if (!std::isfinite(squares)) return result;
        result.status = FitStatus::converged;
        if (options.rough ? result.iterations > 0
                          : there.promises_less_than(
                                result.iterations == 0 ? tolerance : std::max(tolerance, negligible_squares)))
            return result;
        result.status = FitStatus::iteration_limit;
        // If the residuals are so curved that steps go too far, the next attempt begins with shorter steps.
        if (radius < 1 || result.iterations >= options.max_iterations) return result;
        solver.options.initial_trust_region_radius = radius;
        solver.options.max_num_iterations = options.max_iterations - result.iterations + 1;
        solver.options.function_tolerance = tolerance;
        point = Eigen::Map<const Eigen::VectorXd>(y.data(), residuals.parameters());
        result.iterations += std::max(solver.Solve(problem, &point).iterations, 1);
        if (2 * solver.summary.final_cost < squares && point.allFinite())
            std::copy_n(point.data(), point.size(), y.begin());
    }
}

}  // namespace goodput::inline v0_1

#endif
