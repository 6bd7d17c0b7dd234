// Uses the component fit.

#include <goodput/fit/job_fit.hpp>

// Only includes the header: uses_ceres.cpp makes a fit.
int main() {
    const goodput::RefinedFit nothing{};
    return nothing.samples == 0 ? 0 : 1;
}
