#ifndef GOODPUT_CORE_INTERVAL_HPP
#define GOODPUT_CORE_INTERVAL_HPP

// Intervals, and the quantiles that make them.

#include <algorithm>
#include <cmath>

namespace goodput {

/// From `low` to `high`.
struct Interval {
    double low = 0;   ///< in the unit of what it is an interval of
    double high = 0;  ///< at least `low`
};

namespace detail {

/// z with P(|Z| < z) = coverage for a standard normal Z, coverage in (0, 1).
inline double normal_quantile(double coverage) {
    // Newton's method from zero: the distribution function is concave there, so that it rises to the root.
    double z = 0;
    for (int i = 0; i < 60; ++i) {
        const double step =
            (std::erf(z / std::sqrt(2.0)) - coverage) * std::sqrt(std::acos(-1.0) / 2) * std::exp(z * z / 2);
        z -= step;
        if (std::abs(step) < 1e-12) break;
    }
    return z;
}

/// The same for Student's t with at least two degrees of freedom (expansion in 1/freedom about the normal).
inline double student_quantile(double coverage, double freedom) {
    const double z = normal_quantile(coverage), n = std::max(freedom, 2.0), zz = z * z;
    return z * (1 + (zz + 1) / (4 * n) + ((5 * zz + 16) * zz + 3) / (96 * n * n) +
                (((3 * zz + 19) * zz + 17) * zz - 15) / (384 * n * n * n));
}

}  // namespace detail

}  // namespace goodput

#endif
