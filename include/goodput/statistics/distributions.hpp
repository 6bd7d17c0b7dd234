#ifndef GOODPUT_STATISTICS_DISTRIBUTIONS_HPP
#define GOODPUT_STATISTICS_DISTRIBUTIONS_HPP

// Distribution functions and quantiles that the standard library lacks. Boost.Math has all of them, but
// parsing it takes longer than parsing the rest of a header that needs one of them
// (benchmarks/experiments.md).

#include <algorithm>
#include <cmath>
#include <numbers>

#include "goodput/core/detail/log_gamma.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// e^exponent, limited to positive finite numbers. It never falls as the exponent rises.
inline double bounded_exp(double exponent) { return std::exp(std::clamp(exponent, -600.0, 600.0)); }

/// Returns z with P(|Z| < z) = coverage for a standard normal Z. `coverage` must be in (0, 1).
inline double normal_quantile(double coverage) {
    // Newton's method from zero. The distribution function is concave there, so the steps rise to the root.
    double z = 0;
    for (int i = 0; i < 60; ++i) {
        const double step =
            (std::erf(z / std::sqrt(2.0)) - coverage) * std::sqrt(std::numbers::pi / 2) * std::exp(z * z / 2);
        z -= step;
        if (std::abs(step) < 1e-12) break;
    }
    return z;
}

/// Returns the regularised incomplete beta function I_x(a, b) for x at most (a + 1) / (a + b + 2), by its
/// continued fraction (Abramowitz and Stegun 26.5.8, with Lentz' method). `log_beta` is ln B(a, b).
inline double lower_beta_part(double a, double b, double x, double log_beta) {
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), fraction = d;
    for (int m = 1; m < 1000; ++m) {
        const double n = m;
        double part = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
        d = 1 / (1 + part * d);
        c = 1 + part / c;
        fraction *= c * d;
        part = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
        d = 1 / (1 + part * d);
        c = 1 + part / c;
        fraction *= c * d;
        if (std::abs(c * d - 1) < 1e-15) break;
    }
    return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta) * fraction / a;
}

/// Returns t with P(|T| < t) = coverage for Student's t distribution with `freedom` degrees of freedom,
/// which need not be a whole number. Values below one are treated as one.
inline double student_quantile(double coverage, double freedom) {
    const double z = normal_quantile(coverage), n = std::max(freedom, 1.0), zz = z * z;
    // The distribution is so close to the normal one that an expansion around it is exact.
    if (n > 500)
        return z * (1 + (zz + 1) / (4 * n) + ((5 * zz + 16) * zz + 3) / (96 * n * n) +
                    (((3 * zz + 19) * zz + 17) * zz - 15) / (384 * n * n * n));
    const double a = n / 2, b = 0.5;
    const double log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
    // Newton's method from below the root. P(|T| < t) is concave in t, so the steps rise to the root.
    double t = z;
    for (int i = 0; i < 200; ++i) {
        const double x = n / (n + t * t), other = t * t / (n + t * t);
        const double short_of = x * (a + b + 2) <= a + 1 ? lower_beta_part(a, b, x, log_beta) - (1 - coverage)
                                                         : coverage - lower_beta_part(b, a, other, log_beta);
        const double density = 2 / std::sqrt(n) * std::exp((a + b) * std::log(x) - log_beta);
        const double step = short_of / density;
        t += step;
        if (!(step > 1e-13 * t)) break;
    }
    return t;
}

/// Returns the regularised lower incomplete gamma function P(a, x) for a > 0 and x >= 0: the probability
/// that a gamma variable of shape a is below x. Uses the series below a + 1 and the continued fraction
/// above (Abramowitz and Stegun 6.5.29 and 6.5.31).
inline double lower_gamma_part(double a, double x) {
    if (!(x > 0)) return 0;
    if (std::isinf(x)) return 1;
    // x^a e^-x / Gamma(a). For large a, Stirling's formula avoids the difference of nearly equal numbers.
    const double off = (x - a) / a;
    const double front = a < 10 ? std::exp(a * std::log(x) - x - log_gamma(a))
                                : std::exp(a * (std::log1p(off) - off) - stirling_rest(a)) *
                                      std::sqrt(a / (2 * std::numbers::pi));
    // Both methods take about ten times sqrt(a) terms if x is near a.
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double n = 1; term > 1e-17 * sum; ++n) sum += term *= x / (a + n);
        return std::fmin(sum * front, 1);
    }
    // Lentz' method.
    constexpr double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, fraction = d;
    for (double n = 1, most = 500 + 20 * std::sqrt(a); n < most; ++n) {
        const double an = -n * (n - a);
        b += 2;
        d = an * d + b;
        if (std::abs(d) < tiny) d = tiny;
        c = b + an / c;
        if (std::abs(c) < tiny) c = tiny;
        d = 1 / d;
        fraction *= d * c;
        if (std::abs(d * c - 1) < 1e-15) break;
    }
    return std::fmax(1 - front * fraction, 0);
}

}  // namespace detail

}  // namespace goodput::inline v0_1

#endif
