#ifndef GOODPUT_CORE_DETAIL_NORMAL_DISTRIBUTION_HPP
#define GOODPUT_CORE_DETAIL_NORMAL_DISTRIBUTION_HPP

#include <cmath>
#include <numbers>

namespace goodput::inline v0_1::detail {

/// The density of the standard normal distribution.
inline double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

/// P(Z < z) of a standard normal Z.
inline double normal_below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

}  // namespace goodput::inline v0_1::detail

#endif
