#include <goodput/fit/refined_fitter.hpp>

// Ceres' headers come with refined_fitter.hpp. A fit takes longer to compile than all the rest of these
// programs: the consumer of goodput::ceres makes one.
int main() {
    const goodput::RefinedFit nothing{};
    return nothing.samples == 0 ? 0 : 1;
}
