#include <goodput/fit/job_fit.hpp>

// The consumer of goodput::ceres makes a fit.
int main() {
    const goodput::RefinedFit nothing{};
    return nothing.samples == 0 ? 0 : 1;
}
