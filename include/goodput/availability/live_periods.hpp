#ifndef GOODPUT_AVAILABILITY_LIVE_PERIODS_HPP
#define GOODPUT_AVAILABILITY_LIVE_PERIODS_HPP

// How long something runs until it is interrupted: the Weibull distribution of a live period.

#include <cmath>
#include <limits>
#include <numbers>

#include "goodput/core/interruptions.hpp"
#include "goodput/core/interval.hpp"

namespace goodput {

namespace detail {

/// The regularised lower incomplete gamma function P(a, x), a > 0, x >= 0: the part of a gamma distribution
/// of shape a that lies below x. By its series below a + 1 and by its continued fraction above (Abramowitz
/// and Stegun 6.5.29 and 6.5.31).
inline double lower_gamma_part(double a, double x) {
    if (!(x > 0)) return 0;
    if (std::isinf(x)) return 1;
    // x^a e^-x / Gamma(a); where a is large, Stirling's formula leaves a difference of nearly equal numbers.
    const double off = (x - a) / a;
    const double front = a < 10 ? std::exp(a * std::log(x) - x - log_gamma(a))
                                : std::exp(a * (std::log1p(off) - off) - stirling_rest(a)) *
                                      std::sqrt(a / (2 * std::numbers::pi));
    // Both sums take some ten times the root of a terms where x is near a.
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

/// The length of a live period, seconds.
class LivePeriods {
public:
    /// Of what is interrupted so; the rate has to be above 0.
    explicit LivePeriods(const Interruptions& of)
        : mean_(3600 / of.per_hour), shape_(of.shape), scale_(mean_ / std::tgamma(1 + 1 / of.shape)) {}

    /// On average.
    [[nodiscard]] double mean() const { return mean_; }
    /// The probability that one lasts at least so long, at least 0.
    [[nodiscard]] double survival(double seconds) const {
        // Work that just fits, but for rounding, fits.
        if (std::isinf(shape_)) return seconds <= mean_ * (1 + 1e-9) ? 1 : 0;
        return std::exp(-hazard(seconds));
    }
    /// The cumulative hazard of the first so many seconds, at least 0, for a finite shape: how many
    /// interruptions are to be expected if one that comes did not end it.
    [[nodiscard]] double hazard(double seconds) const {
        return shape_ == 1 ? seconds / mean_ : std::pow(seconds / scale_, shape_);
    }
    /// How much of the first so many seconds, at least 0, it lasts on average.
    [[nodiscard]] double within(double seconds) const {
        if (shape_ == 1) return -mean_ * std::expm1(-seconds / mean_);
        if (std::isinf(shape_)) return std::fmin(seconds, mean_);
        return mean_ * detail::lower_gamma_part(1 / shape_, std::pow(seconds / scale_, shape_));
    }

private:
    double mean_, shape_, scale_;
};

}  // namespace goodput

#endif
