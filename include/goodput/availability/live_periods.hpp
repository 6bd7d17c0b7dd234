#ifndef GOODPUT_AVAILABILITY_LIVE_PERIODS_HPP
#define GOODPUT_AVAILABILITY_LIVE_PERIODS_HPP

// The Weibull distribution of a live period: how long something runs until it is interrupted.

#include <cmath>

#include "goodput/core/interruptions.hpp"
#include "goodput/statistics/distributions.hpp"

namespace goodput::inline v0_1 {

/// The length of a live period in seconds.
class LivePeriods {
public:
    /// Takes the rate and the shape of the interruptions. The rate must be above 0.
    explicit LivePeriods(const Interruptions& interruptions)
        : mean_(3600 / interruptions.per_hour),
          shape_(interruptions.shape),
          scale_(mean_ / std::tgamma(1 + 1 / interruptions.shape)) {}

    /// Returns the mean.
    [[nodiscard]] double mean() const { return mean_; }
    /// Returns the probability that a live period lasts at least `seconds` (which must be at least 0).
    [[nodiscard]] double survival(double seconds) const {
        // Allow for rounding: work may exceed the period by a tiny amount.
        if (std::isinf(shape_)) return seconds <= mean_ * (1 + 1e-9) ? 1 : 0;
        return std::exp(-hazard(seconds));
    }
    /// Returns the cumulative hazard of the first `seconds` (at least 0). It is the number of interruptions
    /// to expect in that time if an interruption did not end the period. The shape must be finite.
    [[nodiscard]] double hazard(double seconds) const {
        return shape_ == 1 ? seconds / mean_ : std::pow(seconds / scale_, shape_);
    }
    /// Returns the expected number of seconds, out of the first `seconds` (at least 0), for which the
    /// period lasts.
    [[nodiscard]] double within(double seconds) const {
        if (shape_ == 1) return -mean_ * std::expm1(-seconds / mean_);
        if (std::isinf(shape_)) return std::fmin(seconds, mean_);
        return mean_ * detail::lower_gamma_part(1 / shape_, std::pow(seconds / scale_, shape_));
    }

private:
    double mean_, shape_, scale_;
};

}  // namespace goodput::inline v0_1

#endif
