#ifndef GOODPUT_FIT_CERES_BACKEND_HPP
#define GOODPUT_FIT_CERES_BACKEND_HPP

// The full Ceres Solver behind the fits, for who links it anyway: RefinedFitter, JobFitter and the others
// take CeresBackend for a template argument. The same residuals, and so the same answer as TinyBackend; some
// times slower (the problem is small, and set up anew each time), with more safeguards. CeresResiduals is for
// a ceres::Problem of one's own, with a loss function, or for ceres::Covariance.
//
// Needs libceres (CMake target goodput::ceres). goodput.hpp leaves this header out, because ceres.h brings
// glog's macros LOG and CHECK along; include it before doctest.h.

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <Eigen/Core>

#include "goodput/fit/detail/job_fit.hpp"
#include "goodput/fit/least_squares.hpp"

namespace goodput {

/// Residuals (Residuals, for example ThroughputResiduals) as one block of a ceres::Problem, which has
/// to go before them; its parameters count deviations from the prior's mean.
template <Residuals R>
class CeresResiduals final : public ceres::CostFunction {
public:
    /// Keeps a reference.
    explicit CeresResiduals(const R& residuals) : residuals_(residuals) {
        set_num_residuals(residuals.count());
        mutable_parameter_block_sizes()->push_back(static_cast<std::int32_t>(residuals.parameters()));
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
    const R& residuals_;
};

/// Options of a small dense problem (dense QR, one thread, no log) whose sum of squares is `squares`: Ceres
/// stops where a step changes it by less than a part, which is the larger one of both tolerances.
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

/// How ceres::Solve ended.
[[nodiscard]] inline Minimisation minimisation_of(const ceres::Solver::Summary& summary) {
    return {
        summary.termination_type == ceres::CONVERGENCE ? FitStatus::converged : FitStatus::iteration_limit,
        std::max(0, static_cast<int>(summary.iterations.size()) - 1)};
}

/// Minimises with ceres::Solve (Levenberg-Marquardt, dense QR, one thread).
struct CeresBackend {
    /// As TinyBackend::minimise.
    template <Residuals R>
    Minimisation minimise(const R& residuals, SmallVector& y, const LeastSquaresOptions& options) const {
        Linearisation here;
        here.find(residuals, y);
        const double squares = here.residuals.squaredNorm();
        if (!std::isfinite(squares)) return {};
        ceres::Problem::Options owned;
        owned.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
        ceres::Problem problem(owned);
        CeresResiduals<R> block(residuals);
        SmallVector point = y;
        problem.AddResidualBlock(&block, nullptr, point.data());
        ceres::Solver::Options solver = ceres_options(options, squares);
        solver.max_num_iterations = std::max(1, options.max_iterations);
        solver.parameter_tolerance = 1e-12;
        ceres::Solver::Summary summary;
        ceres::Solve(solver, &problem, &summary);
        if (summary.final_cost <= summary.initial_cost && point.allFinite()) y = point;
        return minimisation_of(summary);
    }
};

}  // namespace goodput

#endif
