#include <goodput/fit/refined_fitter.hpp>

// The consumer of goodput::ceres makes a fit.
int main() {
    const goodput::RefinedFit nothing{};
    return nothing.samples == 0 ? 0 : 1;
}
