#ifndef GOODPUT_AVAILABILITY_LIVE_PERIODS_HPP
#define GOODPUT_AVAILABILITY_LIVE_PERIODS_HPP

// How long something runs until it is interrupted: the Weibull distribution of a live period.

#include <cmath>

#include "goodput/core/interruptions.hpp"
#include "goodput/statistics/distributions.hpp"

namespace goodput {

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
