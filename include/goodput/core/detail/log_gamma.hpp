#ifndef GOODPUT_CORE_DETAIL_LOG_GAMMA_HPP
#define GOODPUT_CORE_DETAIL_LOG_GAMMA_HPP

#include <cmath>
#include <numbers>

namespace goodput::inline v0_1::detail {

/// Returns the remainder of Stirling's formula for ln Gamma(a). `a` must be at least 10 (Abramowitz and
/// Stegun 6.1.41).
inline double stirling_rest(double a) {
    const double inverse = 1 / a, square = inverse * inverse;
    return inverse * (1.0 / 12 + square * (-1.0 / 360 + square * (1.0 / 1260 - square / 1680)));
}

/// ln Gamma(a) for a > 0. std::lgamma is not used, because it writes the sign to a global variable, so
/// threads would race.
inline double log_gamma(double a) {
    if (a < 10) return std::log(std::tgamma(a));
    return (a - 0.5) * std::log(a) - a + 0.5 * std::log(2 * std::numbers::pi) + stirling_rest(a);
}

}  // namespace goodput::inline v0_1::detail

#endif
