#ifndef GOODPUT_FIT_LEAST_SQUARES_HPP
#define GOODPUT_FIT_LEAST_SQUARES_HPP

// The minimiser of all fits, unless they are given another one (fit/minimise.hpp): Ceres' TinySolver, which
// trusts its caller: it takes a failed factorisation or a step that is not a number for one that did not
// help, and small steps after failed ones for the end. So a point counts only where its sum is a number and
// has fallen, and as a minimum only where a Gauss-Newton step from it promises next to nothing.

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/fit/minimise.hpp"

namespace goodput {

/// The residuals at one point, and their derivatives there. Keeps its buffers.
class Linearisation {
public:
    Eigen::VectorXd residuals{};  ///< at the point
    Eigen::MatrixXd jacobian{};   ///< their derivatives, a column a parameter

    /// At y.
    void find(const AnyResiduals& of, const double* y) {
        residuals.resize(of.count());
        jacobian.resize(of.count(), of.parameters());
        of(y, residuals.data(), jacobian.data());
    }
    /// J^T J, which is decomposed for what follows, where all of it is finite: whether it is.
    bool decompose() {
        hessian_.noalias() = jacobian.transpose() * jacobian;
        if (!hessian_.allFinite()) return false;
        decomposed_.compute(hessian_);
        return true;
    }
    /// J^T J of the last decompose().
    [[nodiscard]] const Eigen::MatrixXd& hessian() const { return hessian_; }
    /// A column of its inverse, until the next call.
    [[nodiscard]] const Eigen::VectorXd& covariance_column(Eigen::Index column) {
        solved_ = decomposed_.solve(Eigen::VectorXd::Unit(hessian_.rows(), column));
        return solved_;
    }
    /// Whether a Gauss-Newton step would lower the sum by less if the residuals were linear.
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

/// Residuals as TinySolver wants them. Nothing is linearised twice at one point.
struct TinyResiduals {
    using Scalar = double;
    enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };

    const AnyResiduals& residuals;
    Eigen::VectorXd& at;
    Linearisation& there;  ///< at `at`, where that is not empty

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
    /// Linearises at `y`, unless that was done last.
    void go_to(const double* y) const {
        if (at.size() > 0 && std::equal(at.begin(), at.end(), y)) return;
        at = Eigen::Map<const Eigen::VectorXd>(y, residuals.parameters());
        there.find(residuals, y);
    }
};

}  // namespace detail

/// What minimise_with_tiny_solver keeps, and who minimises again and again may use in between.
struct MinimiserBuffers {
    ceres::TinySolver<detail::TinyResiduals> solver{};  ///< with its matrices
    Eigen::VectorXd point{};                            ///< where the search is
    Eigen::VectorXd at{};                               ///< a point to look at
    Linearisation there{};                              ///< what the residuals are there
};

/// Ceres' TinySolver, see Minimise.
inline Minimisation minimise_with_tiny_solver(const AnyResiduals& residuals, std::span<double> y,
                                              const LeastSquaresOptions& options, MinimiserBuffers& buffers) {
    auto& [solver, point, at, there] = buffers;
    const detail::TinyResiduals of{residuals, at, there};
    Minimisation result;
    solver.options.gradient_tolerance = solver.options.cost_threshold = 0;
    solver.options.parameter_tolerance = 1e-14;
    at.resize(0);
    for (double radius = 1e4;; radius /= 100) {
        of.go_to(y.data());
        const double squares = there.residuals.squaredNorm(),
                     tolerance = std::max(options.relative_tolerance * squares, options.absolute_tolerance);
        if (!std::isfinite(squares)) return result;
        result.status = FitStatus::converged;
        if (options.rough ? result.iterations > 0
                          : there.promises_less_than(
                                result.iterations == 0 ? tolerance : std::max(tolerance, negligible_squares)))
            return result;
        result.status = FitStatus::iteration_limit;
        // Where the residuals bend so much that steps go too far, shorter ones are begun with.
        if (radius < 1 || result.iterations >= options.max_iterations) return result;
        solver.options.initial_trust_region_radius = radius;
        solver.options.max_num_iterations = options.max_iterations - result.iterations + 1;
        solver.options.function_tolerance = tolerance;
        point = Eigen::Map<const Eigen::VectorXd>(y.data(), residuals.parameters());
        result.iterations += std::max(solver.Solve(of, &point).iterations, 1);
        if (2 * solver.summary.final_cost < squares && point.allFinite())
            std::copy_n(point.data(), point.size(), y.begin());
    }
}

}  // namespace goodput

#endif
