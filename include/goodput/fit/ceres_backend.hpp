#ifndef GOODPUT_FIT_CERES_BACKEND_HPP
#define GOODPUT_FIT_CERES_BACKEND_HPP

// The full Ceres Solver as a minimiser for the fits, for programs that link it anyway: pass
// minimise_with_ceres to JobFitter or another fitter. It minimises the same residuals as TinySolver, so it
// gives the same answer. It has more safeguards and takes several times as long, because the problem is
// small and set up anew each time. CeresResiduals adds the residuals to a ceres::Problem of your own, for
// example with a loss function, or for ceres::Covariance.
//
// This header needs libceres (CMake target goodput::ceres). goodput.hpp leaves it out, because ceres.h
// defines glog's macros LOG and CHECK. Include it before doctest.h.

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include <Eigen/Core>

#include "goodput/fit/least_squares.hpp"
#include "goodput/fit/minimise.hpp"

namespace goodput::inline v0_1 {

/// Residuals (for example ThroughputResiduals) as one block of a ceres::Problem. The problem must not
/// outlive the residuals. The parameters count deviations from the prior's mean.
class CeresResiduals final : public ceres::CostFunction {
public:
    /// Keeps a reference to the residuals.
    explicit CeresResiduals(AnyResiduals residuals) : residuals_(residuals) {
        set_num_residuals(residuals.count());
        mutable_parameter_block_sizes()->push_back(residuals.parameters());
    }

    /// See ceres::CostFunction.
    bool Evaluate(const double* const* parameters, double* residuals, double** jacobians) const override {
        const int count = num_residuals();
        using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        if (jacobians == nullptr || jacobians[0] == nullptr) {
            residuals_(parameters[0], residuals, nullptr);
        } else {
            Eigen::MatrixXd columns(count, residuals_.parameters());
            residuals_(parameters[0], residuals, columns.data());
            Eigen::Map<Rows>(jacobians[0], count, residuals_.parameters()) = columns;
            if (!columns.allFinite()) return false;
        }
        return Eigen::Map<Eigen::VectorXd>(residuals, count).allFinite();
    }

private:
    AnyResiduals residuals_;
};

/// Returns options for a small dense problem (dense QR, one thread, no log) whose sum of squares is
/// `squares`. Ceres stops if a step changes the sum by less than the larger of both tolerances.
[[nodiscard]] inline ceres::Solver::Options ceres_options(const LeastSquaresOptions& options,
                                                          double squares) {
    ceres::Solver::Options solver;
    solver.linear_solver_type = ceres::DENSE_QR;
    solver.num_threads = 1;
    solver.logging_type = ceres::SILENT;
    solver.max_num_iterations = options.max_iterations;
    solver.function_tolerance =
        std::max(options.relative_tolerance, options.absolute_tolerance / std::max(squares, 1e-300));
    solver.gradient_tolerance = 0;
    return solver;
}

/// Returns how ceres::Solve ended.
[[nodiscard]] inline Minimisation minimisation_of(const ceres::Solver::Summary& summary) {
    return {
        summary.termination_type == ceres::CONVERGENCE ? FitStatus::converged : FitStatus::iteration_limit,
        std::max(0, static_cast<int>(summary.iterations.size()) - 1)};
}

/// Minimises with ceres::Solve (Levenberg-Marquardt, dense QR, one thread). See Minimise.
inline Minimisation minimise_with_ceres(const AnyResiduals& residuals, std::span<double> y,
                                        const LeastSquaresOptions& options, MinimiserBuffers&) {
    Eigen::VectorXd here(residuals.count()), point = Eigen::Map<Eigen::VectorXd>(y.data(), std::ssize(y));
    residuals(y.data(), here.data(), nullptr);
    const double squares = here.squaredNorm();
    if (!std::isfinite(squares)) return {};
    ceres::Problem::Options owned;
    owned.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
    ceres::Problem problem(owned);
    CeresResiduals block(residuals);
    problem.AddResidualBlock(&block, nullptr, point.data());
    ceres::Solver::Options solver = ceres_options(options, squares);
    solver.max_num_iterations = std::max(1, options.max_iterations);
    solver.parameter_tolerance = 1e-12;
    ceres::Solver::Summary summary;
    ceres::Solve(solver, &problem, &summary);
    if (summary.final_cost <= summary.initial_cost && point.allFinite())
        std::copy(point.begin(), point.end(), y.begin());
    return minimisation_of(summary);
}

}  // namespace goodput::inline v0_1

#endif
