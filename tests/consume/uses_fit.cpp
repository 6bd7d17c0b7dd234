#include <goodput/fit/gradient_eigen.hpp>
#include <goodput/fit/refined_fitter.hpp>

// Ceres' headers come with refined_fitter.hpp. A fit takes longer to compile than all the rest of these
// programs: the consumer of goodput::ceres makes one.
int main() {
    const Eigen::VectorXd gradient = Eigen::VectorXd::Constant(3, 2);
    const goodput::RefinedFit nothing{};
    return goodput::as_span(gradient).size() == 3 && nothing.samples == 0 ? 0 : 1;
}
