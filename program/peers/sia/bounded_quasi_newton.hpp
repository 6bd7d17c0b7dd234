#ifndef GOODPUT_PROGRAM_PEERS_SIA_BOUNDED_QUASI_NEWTON_HPP
#define GOODPUT_PROGRAM_PEERS_SIA_BOUNDED_QUASI_NEWTON_HPP

// Minimises a function of seven variables within bounds with L-BFGS-B 3.0 (Byrd, Lu, Nocedal and Zhu, SIAM
// Journal on Scientific Computing 16, 1995; Morales and Nocedal, ACM Transactions on Mathematical Software
// 38, 2011). This is its authors' own code with ten pairs, for callers that need not just a minimum but the
// point at which this method stops. scipy uses the same code.
//
// Needs liblbfgsb (Debian's liblbfgsb-dev, CMake target goodput_peers).

#include <array>
#include <functional>

namespace goodput::peers {

using QuasiNewtonVector = std::array<double, 7>;

struct QuasiNewtonOptions {
    double decrease = 1e-5;  ///< least fall of the value in an iteration, as a part of max(|value|, 1)
    double gradient = 1e-5;  ///< largest component of the projected gradient
    int max_evaluations = 15000;
};

struct QuasiNewtonResult {
    QuasiNewtonVector point{};
    double value = 0;
    int iterations = 0;
    int evaluations = 0;
    bool converged = false;  ///< stopped by one of the options, neither by the limit nor because no step
                             ///< helps
};

/// `evaluate(point, gradient)` returns the value and writes the gradient. `start` is moved into the bounds,
/// with lower <= upper; infinite means no bound.
[[nodiscard]] QuasiNewtonResult minimise_within(
    const QuasiNewtonVector& lower, const QuasiNewtonVector& upper, const QuasiNewtonVector& start,
    const std::function<double(const QuasiNewtonVector& point, QuasiNewtonVector& gradient)>& evaluate,
    const QuasiNewtonOptions& options = {});

}  // namespace goodput::peers

#endif
