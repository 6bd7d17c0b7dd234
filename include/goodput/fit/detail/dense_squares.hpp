#ifndef GOODPUT_FIT_DETAIL_DENSE_SQUARES_HPP
#define GOODPUT_FIT_DETAIL_DENSE_SQUARES_HPP

// min sum_i r_i(x)^2 without bounds, where the number of parameters is known at run time only and every
// parameter has a prior, so that J^T J is never singular.
//
// Method: Gauss-Newton steps, halved up to twice, as long as they keep what they promise; where none does,
// Ceres' TinySolver (Levenberg-Marquardt) goes on from there.
//
// TinySolver is header-only (no link to Ceres, no glog), but trusts its caller; only this file knows it:
// - It sees few numbers, never the residuals: as Jacobian the triangular R with R^T R = J^T J, as residuals y
//   with R^T y = J^T r and one more that makes up the sum. It forms normal equations in any case, and so
//   takes the very same steps.
// - Its damping is relative to the diagonal of J^T J only above 1e-6. Parameters come in units in which that
//   diagonal is one, or those that matter little would hardly move.
// - Its tolerance is absolute. It is set from the sum of squares at its start.
// - It takes a problem that cannot be evaluated for a solved one, and may end at NaN. A point is taken only
//   if its sum is finite and less than before.
//
// A backend is a type with minimise(problem, x, options, normal): TinySolverBackend is here and links
// nothing, CeresBackend (fit/ceres_backend.hpp) hands the same sum of squares to the full solver.

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/fit_status.hpp"

namespace goodput::detail {

/// When a minimisation ends.
struct LeastSquaresOptions {
    int max_iterations = 60;
    double relative_tolerance =
        1e-8;                       ///< stop where a step changes the sum of squares by less than this part
    double absolute_tolerance = 0;  ///< or by less than this
};

inline constexpr int most_parameters = 36;
using DenseVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, most_parameters, 1>;
using DenseMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, most_parameters, most_parameters>;

/// J^T J (its lower triangle), J^T r and r^T r at one point.
struct DenseNormalEquations {
    DenseMatrix hessian;
    DenseVector gradient;
    double squares = 0;

    void clear(int parameters) {
        hessian.setZero(parameters, parameters);
        gradient.setZero(parameters);
        squares = 0;
    }
    [[nodiscard]] bool finite() const {
        return std::isfinite(squares) && gradient.allFinite() && hessian.allFinite();
    }
};

/// A sum of squares and its linearisation.
template <class Problem>
concept DenseSquaresProblem = requires(const Problem& problem, const DenseVector& x,
                                       DenseNormalEquations& normal) {
    { problem.squares(x) } -> std::convertible_to<double>;
    problem.linearise(x, normal);
};

struct DenseSquaresResult {
    /// prior_kept: the start is left as it is, because its sum of squares is no number; iteration_limit also
    /// where no further point can be evaluated.
    FitStatus status = FitStatus::prior_kept;
    int iterations = 0;
};

/// The same sum of squares as P + 1 residuals, R with R^T R = J^T J for a Jacobian, in units of `unit`.
struct CompressedSquares {
    DenseMatrix factor;    ///< R, upper triangular
    DenseVector residual;  ///< y with R^T y = J^T r
    double rest = 0;       ///< what y leaves of the sum, as a residual

    /// Into `residuals` and `jacobian`, arrays of P + 1 and (P + 1) x P.
    template <class Residuals, class Jacobian>
    void write(Residuals& residuals, Jacobian& jacobian) const {
        residuals << residual, rest;
        jacobian.setZero();
        jacobian.topRows(factor.rows()) = factor;
    }

    /// A template, so that only who fits compiles the factorisation.
    template <class = void>
    void compress(const DenseNormalEquations& normal, const DenseVector& unit) {
        const DenseMatrix scaled = unit.asDiagonal() * normal.hessian * unit.asDiagonal();
        const Eigen::LLT<DenseMatrix> cholesky(scaled);
        factor = cholesky.matrixU();
        residual = cholesky.matrixL().solve(unit.cwiseProduct(normal.gradient));
        rest = std::sqrt(std::max(normal.squares - residual.squaredNorm(), 0.0));
    }
};

struct TinySolverBackend {
    /// Moves `x` to a local minimum, with the normal equations there (up to a step that changed next to
    /// nothing).
    template <DenseSquaresProblem Problem>
    DenseSquaresResult minimise(const Problem& problem, DenseVector& x, const LeastSquaresOptions& options,
                                DenseNormalEquations& normal) const;
};

/// What TinySolver evaluates.
template <class Problem>
struct TinyResiduals {
    using Scalar = double;
    enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };
    const Problem& problem;
    const DenseVector& unit;

    [[nodiscard]] int NumParameters() const { return static_cast<int>(unit.size()); }
    [[nodiscard]] int NumResiduals() const { return static_cast<int>(unit.size()) + 1; }

    bool operator()(const double* parameters, double* residuals, double* jacobian) const {
        const Eigen::Index count = unit.size();
        const DenseVector x = Eigen::Map<const Eigen::VectorXd>(parameters, count).cwiseProduct(unit);
        Eigen::Map<Eigen::VectorXd> values(residuals, count + 1);
        values.setZero();
        if (jacobian == nullptr) {
            const double squares = problem.squares(x);
            // A point that cannot be evaluated must look bad, or it would be taken for a solution.
            values[0] = std::isfinite(squares) ? std::sqrt(squares) : 1e150;
            return true;
        }
        DenseNormalEquations normal;
        problem.linearise(x, normal);
        if (!normal.finite()) return false;
        CompressedSquares compressed;
        compressed.compress(normal, unit);
        Eigen::Map<Eigen::MatrixXd> matrix(jacobian, count + 1, count);
        compressed.write(values, matrix);
        return true;
    }
};

template <DenseSquaresProblem Problem>
DenseSquaresResult TinySolverBackend::minimise(const Problem& problem, DenseVector& x,
                                               const LeastSquaresOptions& options,
                                               DenseNormalEquations& normal) const {
    DenseSquaresResult result;
    problem.linearise(x, normal);
    DenseNormalEquations next;
    for (;;) {
        if (!normal.finite()) return result;
        const double tolerance =
            std::max(options.relative_tolerance * normal.squares, options.absolute_tolerance);
        DenseMatrix factor = normal.hessian;
        Eigen::LLT<Eigen::Ref<DenseMatrix>> cholesky(factor);
        const DenseVector step = cholesky.solve(-normal.gradient);
        const double promised = -step.dot(normal.gradient);
        // Rounding has made the matrix indefinite.
        if (cholesky.info() != Eigen::Success || !std::isfinite(promised)) return result;
        result.status = FitStatus::converged;
        if (!(promised > tolerance)) return result;
        if (result.iterations >= options.max_iterations) {
            result.status = FitStatus::iteration_limit;
            return result;
        }
        ++result.iterations;
        // Most steps are good, and then the next one starts from what was computed to see it. Half of a step
        // that goes too far is nearly always enough: residuals bend most by the overlap.
        bool moved_on = false;
        double part = 1;
        for (int halved = 0; halved < 3 && !moved_on; ++halved, part /= 2) {
            const DenseVector candidate = x + part * step;
            problem.linearise(candidate, next);
            moved_on = normal.squares - next.squares > 0.2 * part * promised && next.finite();
            if (moved_on) x = candidate;
        }
        if (moved_on) {
            std::swap(normal, next);
            result.status = FitStatus::iteration_limit;
            continue;
        }
        const DenseVector unit = normal.hessian.diagonal().cwiseSqrt().cwiseInverse();
        const TinyResiduals<Problem> residuals{problem, unit};
        ceres::TinySolver<TinyResiduals<Problem>> solver;
        solver.options.cost_threshold = 0;
        solver.options.gradient_tolerance = 0;
        solver.options.parameter_tolerance = 1e-12;
        solver.options.function_tolerance = tolerance;
        solver.options.max_num_iterations = std::max(1, options.max_iterations - result.iterations);
        Eigen::VectorXd moved = x.cwiseQuotient(unit);
        const auto& summary = solver.Solve(residuals, &moved);
        result.iterations += summary.iterations;
        if (!moved.allFinite() || !(2 * summary.final_cost < normal.squares - tolerance)) return result;
        const DenseVector candidate = moved.cwiseProduct(unit);
        problem.linearise(candidate, next);
        if (!next.finite()) return result;
        x = candidate;
        std::swap(normal, next);
        result.status = FitStatus::iteration_limit;
    }
}

}  // namespace goodput::detail

#endif
