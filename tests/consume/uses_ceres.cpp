// Uses goodput::ceres: makes a fit with the library of Ceres Solver.

#include <goodput/fit/ceres_backend.hpp>
#include <goodput/fit/job_fit.hpp>

#include <cmath>

int main() {
    const goodput::ThroughputSample samples[] = {{{1, 1}, {128, 0}, 0.31, 0.00},
                                                 {{1, 2}, {128, 0}, 0.34, 0.03}};
    const goodput::RefinedFit fit = goodput::JobFitter({}, goodput::minimise_with_ceres).fit(samples);
    return std::abs(fit.model.iteration_seconds({1, 1}, {128, 0}) - 0.31) < 0.05 ? 0 : 1;
}
