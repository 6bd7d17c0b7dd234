#ifndef GOODPUT_FIT_DETAIL_LAUNCH_FLOOR_HPP
#define GOODPUT_FIT_DETAIL_LAUNCH_FLOOR_HPP

// What launch_evidence.hpp reads and concludes: whether small batches keep the GPU waiting for the host.

#include <array>
#include <limits>

namespace goodput::inline v0_1::detail {

/// The computing time of a batch on one replica, in logarithms, and its weight (less than 1 for stragglers).
struct ComputingTime {
    double batch = 1, log_seconds = 0, weight = 1;
};

/// The prior of a job whose small batches wait for the host.
struct LaunchPrior {
    double seconds_by_floor = 2;                  ///< s: b_1 e^k is this many times b_1 / h
    double knee_deviation = 1.5;                  ///< standard deviation of k
    double share_logit = 0.3;                     ///< mean of ln(r / (1 - r))
    double floor_scatter = 0.08;                  ///< scatter on the floor
    double line_scatter = 0.03;                   ///< scatter on the line
    static constexpr double line_freedom = 2;     ///< number of times that line_scatter is worth
    static constexpr double floor_freedom = 1.5;  ///< number of times that floor_scatter is worth
};

/// The conclusion about a floor.
struct LaunchFloor {
    /// ln of the probability with a floor over that without one. Negative infinity if there are too few
    /// batches.
    double log_odds = -std::numeric_limits<double>::infinity();
    double split = 0;                  ///< the largest batch that most probably lies on the floor
    std::array<double, 3> mean{};      ///< means of ln h, ln alpha and ln beta
    std::array<double, 3> variance{};  ///< their variances
};

}  // namespace goodput::inline v0_1::detail

#endif
