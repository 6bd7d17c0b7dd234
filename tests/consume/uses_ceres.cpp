#include <goodput/fit/ceres_backend.hpp>
#include <goodput/fit/refined_fitter.hpp>

#include <cmath>

int main() {
    const goodput::ThroughputSample samples[] = {{{1, 1}, {128, 0}, 0.31, 0.00},
                                                 {{1, 2}, {128, 0}, 0.34, 0.03}};
    const goodput::RefinedFit fit = goodput::fit_refined<goodput::CeresBackend>(samples);
    return std::abs(fit.model.iteration_seconds({1, 1}, {128, 0}) - 0.31) < 0.05 ? 0 : 1;
}
