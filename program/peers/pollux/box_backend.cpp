#include "peers/pollux/box_backend.hpp"

#include <cmath>
#include <iterator>
#include <vector>

#include "goodput/fit/ceres_backend.hpp"

namespace goodput::peers {

Minimisation BoxBackend::minimise(const PolluxResiduals& residuals, const PolluxBox& box, PolluxPoint& x,
                                  const LeastSquaresOptions& options) const {
    Minimisation result;
    x = x.cwiseMax(box.lower).cwiseMin(box.upper);
    ceres::Problem::Options owned;
    owned.cost_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
    ceres::Problem problem(owned);
    CeresResiduals block(residuals);
    PolluxPoint point = x;
    problem.AddResidualBlock(&block, nullptr, point.data());
    for (int i = 0; i < residuals.parameters(); ++i) {
        if (box.lower[i] == box.upper[i]) continue;  // held below, because bounds of Ceres need room
        problem.SetParameterLowerBound(point.data(), i, box.lower[i]);
        problem.SetParameterUpperBound(point.data(), i, box.upper[i]);
    }
    // Ceres cuts its steps off at bounds, and one parameter at a bound hinders the others. So a parameter
    // that wants to leave the box is held while the others move on, until no further parameter wants to
    // leave and the sum no longer falls.
    for (;;) {
        Linearisation here;
        here.find(residuals, x.data());
        const double squares = here.residuals.squaredNorm();
        const PolluxPoint gradient = here.jacobian.transpose() * here.residuals;
        if (!std::isfinite(squares) || !gradient.allFinite()) return result;
        std::vector<int> held;
        for (int i = 0; i < residuals.parameters(); ++i)
            if ((x[i] <= box.lower[i] && gradient[i] >= 0) || (x[i] >= box.upper[i] && gradient[i] <= 0) ||
                box.lower[i] == box.upper[i])
                held.push_back(i);
        if (std::ssize(held) == residuals.parameters()) {
            result.status = FitStatus::converged;
            return result;
        }
        problem.SetManifold(point.data(),
                            held.empty() ? nullptr : new ceres::SubsetManifold(residuals.parameters(), held));
        ceres::Solver::Options solver = ceres_options(options, squares);
        solver.max_num_iterations -= result.iterations;
        solver.parameter_tolerance = 1e-14;
        ceres::Solver::Summary summary;
        ceres::Solve(solver, &problem, &summary);
        const Minimisation last = minimisation_of(summary);
        result = {last.status, result.iterations + last.iterations};
        if (!(2 * summary.final_cost <= squares) || !point.allFinite()) return result;
        x = point;
        if (result.status != FitStatus::converged ||
            2 * summary.final_cost >= (1 - solver.function_tolerance) * squares)
            return result;
    }
}

}  // namespace goodput::peers
