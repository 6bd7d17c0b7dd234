#ifndef GOODPUT_FIT_CERES_BACKEND_HPP
#define GOODPUT_FIT_CERES_BACKEND_HPP

// The full Ceres Solver behind the fits of RefinedThroughput, for who links it anyway: RefinedFitter and
// JobFitter take CeresBackend for a template argument. The same sum of squares, and so the same answer as
// TinySolverBackend; some ten times slower (the problem is small, and set up anew each time), with more
// safeguards.
//
// Needs libceres (CMake target goodput::ceres). goodput.hpp leaves this header out, because ceres.h brings
// glog's macros LOG and CHECK along; include it before doctest.h.

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "goodput/fit/detail/dense_squares.hpp"

namespace goodput {

namespace detail {

/// The residuals of CompressedSquares as one block.
template <class Problem>
class CeresResiduals final : public ceres::CostFunction {
public:
    CeresResiduals(const Problem& problem, const DenseVector& unit) : problem_(problem), unit_(unit) {
        set_num_residuals(static_cast<int>(unit.size()) + 1);
        mutable_parameter_block_sizes()->push_back(static_cast<std::int32_t>(unit.size()));
    }

    bool Evaluate(const double* const* parameters, double* residuals, double** jacobians) const override {
        const Eigen::Index count = unit_.size();
        const DenseVector x = Eigen::Map<const Eigen::VectorXd>(parameters[0], count).cwiseProduct(unit_);
        Eigen::Map<Eigen::VectorXd> values(residuals, count + 1);
        values.setZero();
        if (jacobians == nullptr || jacobians[0] == nullptr) {
            const double squares = problem_.squares(x);
            values[0] = std::sqrt(squares);
            return std::isfinite(squares);
        }
        DenseNormalEquations normal;
        problem_.linearise(x, normal);
        if (!normal.finite()) return false;
        CompressedSquares compressed;
        compressed.compress(normal, unit_);
        using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        Eigen::Map<RowMajor> matrix(jacobians[0], count + 1, count);
        compressed.write(values, matrix);
        return true;
    }

private:
    const Problem& problem_;
    const DenseVector& unit_;
};

}  // namespace detail

/// Minimises with ceres::Solve (Levenberg-Marquardt, dense QR, one thread).
struct CeresBackend {
    /// As TinySolverBackend::minimise.
    template <detail::DenseSquaresProblem Problem>
    detail::DenseSquaresResult minimise(const Problem& problem, detail::DenseVector& x,
                                        const detail::LeastSquaresOptions& options,
                                        detail::DenseNormalEquations& normal) const {
        detail::DenseSquaresResult result;
        problem.linearise(x, normal);
        if (!normal.finite()) return result;
        const detail::DenseVector unit = normal.hessian.diagonal().cwiseSqrt().cwiseInverse();
        ceres::Problem::Options owned;
        owned.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
        ceres::Problem whole(owned);
        detail::CeresResiduals<Problem> residuals(problem, unit);
        Eigen::VectorXd moved = x.cwiseQuotient(unit);
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
        if (!moved.allFinite() || !(summary.final_cost <= summary.initial_cost)) return result;
        x = moved.cwiseProduct(unit);
        problem.linearise(x, normal);
        return result;
    }
};

}  // namespace goodput

#endif
