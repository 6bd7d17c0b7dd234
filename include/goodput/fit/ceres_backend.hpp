#ifndef GOODPUT_FIT_CERES_BACKEND_HPP
#define GOODPUT_FIT_CERES_BACKEND_HPP

// The full Ceres Solver behind the fits of RefinedThroughput, for who links it anyway: RefinedFitter and
// JobFitter take CeresBackend for a template argument. The same sum of squares, and so the same answer as
// SmallStepsBackend; some ten times slower (the problem is small, and set up anew each time), with more
// safeguards.
//
// Needs libceres (CMake target goodput::ceres). goodput.hpp leaves this header out, because ceres.h brings
// glog's macros LOG and CHECK along; include it before doctest.h.

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/fit/detail/dense_squares.hpp"

namespace goodput {

namespace detail {

/// The residuals as one block: R with R^T R = J^T J as Jacobian, in units of `unit`, y with R^T y = J^T r,
/// and one more that makes up the sum.
template <class Problem>
class CeresResiduals final : public ceres::CostFunction {
public:
    CeresResiduals(const Problem& problem, const DenseVector& unit) : problem_(problem), unit_(unit) {
        set_num_residuals(static_cast<int>(unit.size()) + 1);
        mutable_parameter_block_sizes()->push_back(static_cast<std::int32_t>(unit.size()));
    }

    bool Evaluate(const double* const* parameters, double* residuals, double** jacobians) const override {
        const std::size_t count = unit_.size();
        DenseVector x(count);
        for (std::size_t i = 0; i < count; ++i) x[i] = parameters[0][i] * unit_[i];
        std::fill_n(residuals, count + 1, 0.0);
        if (jacobians == nullptr || jacobians[0] == nullptr) {
            const double squares = problem_.squares(x);
            residuals[0] = std::sqrt(squares);
            return std::isfinite(squares);
        }
        DenseNormalEquations normal;
        problem_.linearise(x, normal);
        if (!normal.finite()) return false;
        DenseMatrix& lower = normal.hessian;
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = 0; j <= i; ++j) lower(i, j) *= unit_[i] * unit_[j];
        if (!factorise(lower.all(), count)) return false;
        for (std::size_t i = 0; i < count; ++i) residuals[i] = unit_[i] * normal.gradient[i];
        solve_lower(lower.all(), {residuals, count});
        residuals[count] = std::sqrt(std::max(normal.squares - dot(residuals, residuals, count), 0.0));
        std::fill_n(jacobians[0], (count + 1) * count, 0.0);
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = i; j < count; ++j) jacobians[0][i * count + j] = lower(j, i);
        return true;
    }

private:
    const Problem& problem_;
    const DenseVector& unit_;
};

}  // namespace detail

/// Minimises with ceres::Solve (Levenberg-Marquardt, dense QR, one thread).
struct CeresBackend {
    /// As SmallStepsBackend::minimise.
    template <detail::DenseSquaresProblem Problem>
    detail::DenseSquaresResult minimise(const Problem& problem, detail::DenseVector& x,
                                        const detail::LeastSquaresOptions& options,
                                        detail::DenseNormalEquations& normal) const {
        detail::DenseSquaresResult result;
        problem.linearise(x, normal);
        if (!normal.finite()) return result;
        detail::DenseVector unit(x.size());
        std::vector<double> moved(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            unit[i] = 1 / std::sqrt(normal.hessian(i, i));
            moved[i] = x[i] / unit[i];
        }
        ceres::Problem::Options owned;
        owned.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
        ceres::Problem whole(owned);
        detail::CeresResiduals<Problem> residuals(problem, unit);
        whole.AddResidualBlock(&residuals, nullptr, moved.data());
        ceres::Solver::Options solver;
        solver.linear_solver_type = ceres::DENSE_QR;
        solver.num_threads = 1;
        solver.logging_type = ceres::SILENT;
        solver.max_num_iterations = std::max(1, options.max_iterations);
        // Ceres stops where a step changes the sum by less than this part of it.
        solver.function_tolerance = std::max(options.relative_tolerance,
                                             options.absolute_tolerance / std::max(normal.squares, 1e-300));
        solver.parameter_tolerance = 1e-12;
        solver.gradient_tolerance = 0;
        ceres::Solver::Summary summary;
        ceres::Solve(solver, &whole, &summary);
        result.iterations = std::max(0, static_cast<int>(summary.iterations.size()) - 1);
        result.status = summary.termination_type == ceres::CONVERGENCE ? FitStatus::converged
                                                                       : FitStatus::iteration_limit;
        if (!(summary.final_cost <= summary.initial_cost)) return result;
        detail::DenseVector found(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) found[i] = moved[i] * unit[i];
        if (!found.finite()) return result;
        x = found;
        problem.linearise(x, normal);
        return result;
    }
};

}  // namespace goodput

#endif
