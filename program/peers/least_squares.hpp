#ifndef GOODPUT_EXAMPLES_CLI_PEERS_LEAST_SQUARES_HPP
#define GOODPUT_EXAMPLES_CLI_PEERS_LEAST_SQUARES_HPP

// min sum_i r_i(x)^2 over a box lower <= x <= upper, for a handful of parameters and any number of residuals.
//
// Method: an active set about Ceres' TinySolver, which is a Levenberg-Marquardt method without bounds.
// (1) Identify: minimise 2 g d + d H d over the box (H = J^T J, g = J^T r; exact, by the classical active-set
//     method) and go there if the sum of squares falls. This finds out which parameters end on a bound, and
//     lets go of those that no longer should.
// (2) Unless that has done just what it promised, TinySolver moves the others. Beyond the box the residuals
//     go on as constants, so that a parameter that leaves the box stays on the bound that it crossed, and the
//     others are moved as if it were fixed there.
// (3) Again, until step (1) promises nothing.
//
// TinySolver is header-only (no link to Ceres, no glog), but trusts its caller:
// - Its damping is relative to the diagonal of J^T J only above 1e-6. Parameters come in units in which that
//   diagonal is one, or those that matter little would hardly move.
// - Its tolerance is absolute. It is set anew in each round, from the sum of squares at its start, and rounds
// go
//   on while the sum falls by more.
// - It takes a problem that cannot be evaluated for a solved one, and may end at NaN. A point is taken only
// if
//   its sum is finite and less than before; a start without a finite sum fails.
// Its storage has a fixed size here, so that nothing is allocated.
//
// Cost: two evaluations and O(P^3) an iteration. Finds a local minimum.

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/fit/fit_status.hpp"
#include "goodput/fit/least_squares.hpp"

namespace goodput::peers {

using goodput::LeastSquaresOptions;
using goodput::detail::square;

template <int P>
using Point = Eigen::Matrix<double, P, 1>;

/// J^T J, J^T r and r^T r of P parameters at one point.
template <int P>
struct NormalEquations {
    Eigen::Matrix<double, P, P> hessian = Eigen::Matrix<double, P, P>::Zero();
    Point<P> gradient = Point<P>::Zero();
    double squares = 0;
};

/// Where the parameters may be; a parameter whose bounds are equal is held.
template <int P>
struct Box {
    Point<P> lower = Point<P>::Constant(-std::numeric_limits<double>::infinity());
    Point<P> upper = Point<P>::Constant(std::numeric_limits<double>::infinity());

    [[nodiscard]] Point<P> nearest(const Point<P>& x) const { return x.cwiseMax(lower).cwiseMin(upper); }
};

/// Residuals of P parameters: their sum of squares, and that with derivatives; evaluated within the box only.
template <class Problem, int P>
concept LeastSquaresProblem = requires(const Problem& problem, const Point<P>& x) {
    { problem.squares(x) } -> std::convertible_to<double>;
    { problem.linearise(x) } -> std::same_as<NormalEquations<P>>;
};

enum class LeastSquaresStatus {
    converged,
    iteration_limit,  ///< or no further point that can be evaluated; the best so far
    failed            ///< the start is left as it is: no finite sum of squares there
};

inline FitStatus status_of(LeastSquaresStatus found) {
    return found == LeastSquaresStatus::converged         ? FitStatus::converged
           : found == LeastSquaresStatus::iteration_limit ? FitStatus::iteration_limit
                                                          : FitStatus::prior_kept;
}

template <int P>
struct LeastSquaresResult {
    LeastSquaresStatus status = LeastSquaresStatus::failed;
    double squares = std::numeric_limits<double>::quiet_NaN();  ///< at the point found
    int iterations = 0;
    NormalEquations<P> normal;  ///< there, up to a step that changed next to nothing
};

/// The step d that minimises g d + d (H + damping diag H) d / 2 with lower <= x + d <= upper, by an active
/// set.
template <int P>
Point<P> box_step(const NormalEquations<P>& normal, double damping, const Point<P>& x, const Box<P>& box) {
    Eigen::Matrix<double, P, P> hessian = normal.hessian;
    // A direction that no residual sees must not make the matrix singular.
    hessian.diagonal() *= 1 + damping;
    hessian.diagonal().array() += 1e-24 * normal.hessian.trace() + std::numeric_limits<double>::min();
    const Point<P> low = box.lower - x, high = box.upper - x;
    Point<P> step = Point<P>::Zero();
    std::array<bool, P> fixed{};
    for (std::size_t i = 0; i < P; ++i) fixed[i] = !(low[static_cast<int>(i)] < high[static_cast<int>(i)]);
    for (int change = 0; change < 4 * P; ++change) {
        Eigen::Matrix<double, P, P> reduced = hessian;
        Point<P> target = -normal.gradient;
        for (int i = 0; i < P; ++i) {
            if (!fixed[static_cast<std::size_t>(i)]) continue;
            target -= hessian.col(i) * step[i];
            reduced.row(i).setZero();
            reduced.col(i).setZero();
            reduced(i, i) = 1;
        }
        for (int i = 0; i < P; ++i)
            if (fixed[static_cast<std::size_t>(i)]) target[i] = step[i];
        target = reduced.llt().solve(target).eval();
        if (!target.allFinite()) return step;
        double part = 1;
        int blocking = -1;
        for (int i = 0; i < P; ++i) {
            if (fixed[static_cast<std::size_t>(i)]) continue;
            const double bound = std::clamp(target[i], low[i], high[i]);
            if (bound == target[i]) continue;
            const double reach = std::max((bound - step[i]) / (target[i] - step[i]), 0.0);
            if (reach < part || blocking < 0) {
                part = std::min(reach, 1.0);
                blocking = i;
            }
        }
        if (blocking >= 0) {
            const double bound = target[blocking] < low[blocking] ? low[blocking] : high[blocking];
            step += part * (target - step);
            step[blocking] = bound;
            fixed[static_cast<std::size_t>(blocking)] = true;
            continue;
        }
        step = target;
        const Point<P> slope = normal.gradient + hessian * step;
        int release = -1;
        double most = 1e-10 * normal.squares;
        for (int i = 0; i < P; ++i) {
            if (!fixed[static_cast<std::size_t>(i)] || !(low[i] < high[i])) continue;
            const bool inwards = step[i] <= low[i] ? slope[i] < 0 : slope[i] > 0;
            const double gain = slope[i] * slope[i] / hessian(i, i);
            if (inwards && gain > most) {
                most = gain;
                release = i;
            }
        }
        if (release < 0) break;
        fixed[static_cast<std::size_t>(release)] = false;
    }
    return step;
}

/// Minimises over a box as minimise_squares(): what a fit takes for a backend, so that tests can give it a
/// worse one.
struct BoxBackend {
    template <int P, class Problem>
    LeastSquaresResult<P> minimise(const Problem& problem, const Box<P>& box, Point<P>& x,
                                   const LeastSquaresOptions& options) const;
};

/// The problem as TinySolver wants to see it: P + 1 residuals, constant beyond the box, of x / unit.
template <class Problem, int P>
struct CompressedResiduals {
    using Scalar = double;
    enum { NUM_RESIDUALS = P + 1, NUM_PARAMETERS = P };
    const Problem& problem;
    const Box<P>& box;
    const std::array<bool, P>& on_bound;
    const Point<P>& unit;

    bool operator()(const double* parameters, double* residuals, double* jacobian) const {
        const Point<P> x = Eigen::Map<const Point<P>>(parameters).cwiseProduct(unit);
        const Point<P> inside = box.nearest(x);
        Eigen::Map<Eigen::Matrix<double, P + 1, 1>> rest(residuals);
        rest.setZero();
        if (jacobian == nullptr) {
            rest[0] = std::sqrt(problem.squares(inside));
            return true;
        }
        NormalEquations<P> normal = problem.linearise(inside);
        for (int i = 0; i < P; ++i) {
            const bool moves = x[i] == inside[i] && !on_bound[static_cast<std::size_t>(i)];
            const double by = moves ? unit[i] : 0;
            normal.gradient[i] *= by;
            normal.hessian.row(i) *= by;
            normal.hessian.col(i) *= by;
        }
        Eigen::Map<Eigen::Matrix<double, P + 1, P>> factor(jacobian);
        factor.setZero();
        double remaining = normal.squares;
        // Cholesky by rows. A direction that the residuals do not see (pivot at rounding level) is left out,
        // and the solver's damping keeps it where it is.
        for (int i = 0; i < P; ++i) {
            double pivot = normal.hessian(i, i);
            for (int k = 0; k < i; ++k) pivot -= factor(k, i) * factor(k, i);
            if (!(pivot > 1e-14 * normal.hessian(i, i))) continue;
            const double diagonal = std::sqrt(pivot);
            factor(i, i) = diagonal;
            for (int j = i + 1; j < P; ++j) {
                double entry = normal.hessian(i, j);
                for (int k = 0; k < i; ++k) entry -= factor(k, i) * factor(k, j);
                factor(i, j) = entry / diagonal;
            }
            double right = normal.gradient[i];
            for (int k = 0; k < i; ++k) right -= factor(k, i) * rest[k];
            rest[i] = right / diagonal;
            remaining -= rest[i] * rest[i];
        }
        rest[P] = std::sqrt(std::max(remaining, 0.0));
        return true;
    }
};

/// Moves `x` to a local minimum of the problem's sum of squares over the box, starting from what it holds.
template <int P, class Problem>
requires LeastSquaresProblem<Problem, P> LeastSquaresResult<P> minimise_squares(
    const Problem& problem, const Box<P>& box, Point<P>& x, const LeastSquaresOptions& options) {
    using Residuals = CompressedResiduals<Problem, P>;
    using Solver = ceres::TinySolver<Residuals>;
    LeastSquaresResult<P> result;
    x = box.nearest(x);
    Solver solver;
    solver.options.cost_threshold = 0;
    solver.options.gradient_tolerance = 0;
    solver.options.parameter_tolerance = 1e-14;
    Point<P> trusted = x;
    for (;;) {
        NormalEquations<P> next_normal = problem.linearise(x);
        if (!std::isfinite(next_normal.squares) || !next_normal.gradient.allFinite() ||
            !next_normal.hessian.allFinite()) {
            if (result.status == LeastSquaresStatus::failed) return result;
            x = trusted;
            result.squares = result.normal.squares;
            result.status = LeastSquaresStatus::iteration_limit;
            return result;
        }
        trusted = x;
        const NormalEquations<P>& normal = result.normal = next_normal;
        result.squares = normal.squares;
        result.status = LeastSquaresStatus::converged;
        const double tolerance =
            std::max(options.relative_tolerance * normal.squares, options.absolute_tolerance);
        // (1) Far from the minimum the full step may fail; a damped one then still finds the bounds.
        double promised = 0;
        bool damped = false;
        for (const double damping : {1e-8, 0.03, 3.0}) {
            const Point<P> step = box_step(normal, damping, x, box);
            promised = -step.dot(2 * normal.gradient + normal.hessian * step);
            if (promised <= tolerance) break;
            if (result.iterations == options.max_iterations) {
                result.status = LeastSquaresStatus::iteration_limit;
                return result;
            }
            ++result.iterations;
            const Point<P> candidate = box.nearest(x + step);
            const double squares = problem.squares(candidate);
            if (squares < result.squares) {
                x = candidate;
                result.squares = squares;
                break;
            }
            damped = true;
        }
        const double gain = normal.squares - result.squares;
        if (gain <= tolerance && (gain > 0 || promised <= tolerance)) return result;
        // As long as steps keep what they promise, there is nothing to damp.
        if ((!damped && gain > 0.8 * promised) || result.iterations == options.max_iterations) continue;
        // (2)
        std::array<bool, P> on_bound{};
        Point<P> unit;
        for (int i = 0; i < P; ++i) {
            on_bound[static_cast<std::size_t>(i)] = x[i] <= box.lower[i] || x[i] >= box.upper[i];
            unit[i] = normal.hessian(i, i) > 0 ? 1 / std::sqrt(normal.hessian(i, i)) : 1;
        }
        const Residuals residuals{problem, box, on_bound, unit};
        Point<P> next = x.cwiseQuotient(unit);
        solver.options.function_tolerance = tolerance;
        solver.options.max_num_iterations = options.max_iterations - result.iterations + 1;
        const auto& summary = solver.Solve(residuals, &next);
        result.iterations += std::min(summary.iterations, options.max_iterations - result.iterations);
        next = box.nearest(next.cwiseProduct(unit));
        if (next.allFinite() && 2 * summary.final_cost < result.squares)
            x = next;
        else if (gain <= 0)
            return result;
    }
}

template <int P, class Problem>
LeastSquaresResult<P> BoxBackend::minimise(const Problem& problem, const Box<P>& box, Point<P>& x,
                                           const LeastSquaresOptions& options) const {
    return minimise_squares<P>(problem, box, x, options);
}

}  // namespace goodput::peers

#endif
