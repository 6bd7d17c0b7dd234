#ifndef GOODPUT_FIT_DETAIL_DENSE_SQUARES_HPP
#define GOODPUT_FIT_DETAIL_DENSE_SQUARES_HPP

// min sum_i r_i(x)^2 without bounds, where the number of parameters is known at run time only and every
// parameter has a prior, so that J^T J is never singular.
//
// Method: Gauss-Newton steps, halved up to twice, as long as they keep what they promise; where none does,
// a step of Levenberg and Marquardt's method, whose damping is relative to the diagonal of J^T J and grows
// until the sum falls (Marquardt 1963; factors as in Nielsen 1999).
//
// A backend is a type with minimise(problem, x, options, normal): SmallStepsBackend is here and needs the
// standard library alone, CeresBackend (fit/ceres_backend.hpp) hands the same sum of squares to Ceres Solver.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "goodput/fit/detail/cholesky.hpp"
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

inline constexpr std::size_t most_parameters = 36;

/// At most most_parameters numbers; never allocates.
class DenseVector {
public:
    DenseVector() = default;
    /// So many zeros.
    explicit DenseVector(std::size_t size) : size_(size) {}

    void assign(std::size_t size, double value) {
        size_ = size;
        std::fill_n(values_.begin(), size, value);
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] double& operator[](std::size_t i) { return values_[i]; }
    [[nodiscard]] double operator[](std::size_t i) const { return values_[i]; }
    [[nodiscard]] std::span<double> all() { return {values_.data(), size_}; }
    [[nodiscard]] std::span<const double> all() const { return {values_.data(), size_}; }
    [[nodiscard]] bool finite() const {
        return std::ranges::all_of(all(), [](double value) { return std::isfinite(value); });
    }
    /// x + part * step.
    [[nodiscard]] DenseVector moved(const DenseVector& step, double part) const {
        DenseVector sum = *this;
        for (std::size_t i = 0; i < size_; ++i) sum[i] += part * step[i];
        return sum;
    }

private:
    std::array<double, most_parameters> values_{};
    std::size_t size_ = 0;
};

/// A square matrix of at most most_parameters rows, row by row; never allocates, and copies what is used.
class DenseMatrix {
public:
    DenseMatrix() = default;
    DenseMatrix(const DenseMatrix& other) { *this = other; }
    DenseMatrix& operator=(const DenseMatrix& other) {
        rows_ = other.rows_;
        std::copy_n(other.values_.begin(), rows_ * rows_, values_.begin());
        return *this;
    }

    /// Sets size and zeros.
    void clear(std::size_t rows) {
        rows_ = rows;
        std::fill_n(values_.begin(), rows * rows, 0.0);
    }
    [[nodiscard]] std::size_t rows() const { return rows_; }
    [[nodiscard]] double& operator()(std::size_t i, std::size_t j) { return values_[i * rows_ + j]; }
    [[nodiscard]] double operator()(std::size_t i, std::size_t j) const { return values_[i * rows_ + j]; }
    [[nodiscard]] std::span<double> all() { return {values_.data(), rows_ * rows_}; }
    [[nodiscard]] std::span<const double> all() const { return {values_.data(), rows_ * rows_}; }

private:
    std::array<double, most_parameters * most_parameters> values_;
    std::size_t rows_ = 0;
};

/// J^T J (its lower triangle), J^T r and r^T r at one point.
struct DenseNormalEquations {
    DenseMatrix hessian{};
    DenseVector gradient{};
    double squares = 0;

    void clear(std::size_t parameters) {
        hessian.clear(parameters);
        gradient.assign(parameters, 0);
        squares = 0;
    }
    [[nodiscard]] bool finite() const {
        return std::isfinite(squares) && gradient.finite() &&
               std::ranges::all_of(hessian.all(), [](double value) { return std::isfinite(value); });
    }
    /// Sets `step` to the minimum of |J step + r|^2 + damping |D step|^2 with D^2 the diagonal of J^T J; what
    /// |J step + r|^2 promises to fall by, or no number where rounding has made the matrix indefinite.
    [[nodiscard]] double solve(double damping, DenseVector& step) const {
        const std::size_t count = gradient.size();
        DenseMatrix factor = hessian;
        for (std::size_t i = 0; i < count; ++i) factor(i, i) *= 1 + damping;
        if (!factorise(factor.all(), count)) return std::nan("");
        step = gradient;
        for (double& value : step.all()) value = -value;
        solve_lower(factor.all(), step.all());
        solve_upper(factor.all(), step.all());
        double promised = 0;
        for (std::size_t i = 0; i < count; ++i)
            promised += step[i] * (damping * hessian(i, i) * step[i] - gradient[i]);
        return promised;
    }
};

/// A sum of squares and its linearisation.
template <class Problem>
concept DenseSquaresProblem = requires(const Problem& problem, const DenseVector& x,
                                       DenseNormalEquations& normal) {
    { problem.squares(x) } -> std::convertible_to<double>;
    problem.linearise(x, normal);
};

/// x + part * step; a problem may know a curve with that direction along which its sum bends less.
template <DenseSquaresProblem Problem>
DenseVector moved(const Problem& problem, const DenseVector& x, const DenseVector& step, double part) {
    if constexpr (requires { problem.moved(x, step, part); })
        return problem.moved(x, step, part);
    else
        return x.moved(step, part);
}

struct DenseSquaresResult {
    /// prior_kept: the start is left as it is, because its sum of squares is no number; iteration_limit also
    /// where no further point can be evaluated.
    FitStatus status = FitStatus::prior_kept;
    int iterations = 0;
};

struct SmallStepsBackend {
    /// Moves `x` to a local minimum, with the normal equations there (up to a step that changed next to
    /// nothing).
    template <DenseSquaresProblem Problem>
    DenseSquaresResult minimise(const Problem& problem, DenseVector& x, const LeastSquaresOptions& options,
                                DenseNormalEquations& normal) const;
};

/// One step of Levenberg and Marquardt's method from x, with ever more damping until the sum falls by more
/// than the tolerance; whether it does.
template <DenseSquaresProblem Problem>
bool damped_step(const Problem& problem, DenseVector& x, const DenseNormalEquations& normal,
                 DenseNormalEquations& next, double tolerance, double& damping) {
    DenseVector step;
    for (double factor = 4; damping < 1e20; damping *= factor, factor *= 2) {
        const double promised = normal.solve(damping, step);
        if (!std::isfinite(promised)) continue;
        if (!(promised > tolerance)) return false;
        const DenseVector candidate = moved(problem, x, step, 1);
        problem.linearise(candidate, next);
        const double fallen = normal.squares - next.squares;
        if (!(fallen > tolerance && fallen > 1e-3 * promised) || !next.finite()) continue;
        x = candidate;
        damping = std::max(damping / 5, 1e-10);
        return true;
    }
    return false;
}

template <DenseSquaresProblem Problem>
DenseSquaresResult SmallStepsBackend::minimise(const Problem& problem, DenseVector& x,
                                               const LeastSquaresOptions& options,
                                               DenseNormalEquations& normal) const {
    DenseSquaresResult result;
    problem.linearise(x, normal);
    DenseNormalEquations next;
    DenseVector step;
    double damping = 1e-4;
    for (;;) {
        if (!normal.finite()) return result;
        const double tolerance =
            std::max(options.relative_tolerance * normal.squares, options.absolute_tolerance);
        const double promised = normal.solve(0, step);
        if (!std::isfinite(promised)) return result;
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
            const DenseVector candidate = moved(problem, x, step, part);
            problem.linearise(candidate, next);
            moved_on = normal.squares - next.squares > 0.2 * part * promised && next.finite();
            if (moved_on) x = candidate;
        }
        result.status = FitStatus::iteration_limit;
        if (!moved_on && !damped_step(problem, x, normal, next, tolerance, damping)) return result;
        std::swap(normal, next);
    }
}

}  // namespace goodput::detail

#endif
