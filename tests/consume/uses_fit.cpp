#include <goodput/fit/job_fit.hpp>

// Makes a fit with goodput::ceres.
int main() {
    const goodput::RefinedFit nothing{};
    return nothing.samples == 0 ? 0 : 1;
}
