#ifndef GOODPUT_FIT_DETAIL_LOG_STEP_HPP
#define GOODPUT_FIT_DETAIL_LOG_STEP_HPP

#include <cmath>

namespace goodput::inline v0_1::detail {

inline double square(double value) { return value * value; }

/// ln T - ln C of a step, and the share of S in it: d ln T = (1 - share) d ln C + share d ln S.
struct LogStep {
    double excess = 0, sync_share = 0;

    LogStep(double log_ratio, double gamma) {
        // Use only powers of the smaller part over the larger, because the inverse powers overflow.
        const double power = std::exp(-gamma * std::abs(log_ratio));
        const double softplus = std::log(1 + power) / gamma;
        const bool sync_longer = log_ratio > 0;
        excess = sync_longer ? log_ratio + softplus : softplus;
        sync_share = (sync_longer ? 1 : power) / (1 + power);
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
