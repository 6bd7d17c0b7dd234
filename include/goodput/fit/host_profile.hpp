#ifndef GOODPUT_FIT_HOST_PROFILE_HPP
#define GOODPUT_FIT_HOST_PROFILE_HPP

// With which CPU cores and memory beside a GPU should a job be measured next?
//
// Each surface of a fit (fit/host_fit.hpp) says what a measurement would show there and what the speed is
// elsewhere. A measurement at x takes from the variance of ln f at z
//
//     cov(f(z), f(x))^2 / (var f(x) + deviation^2)
//
// and is worth the sum over the grid (Bayesian I-optimal design; Chaloner and Verdinelli 1995). With nothing
// measured it is the largest share, which no other exceeds: the same first step as Synergy's optimistic
// profiling (OSDI'22, section 4.3), which measures all core counts with all memory.
//
// Cost: O(surfaces * points^2), 256 surfaces: about 1 ms for 45 points.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/fit/host_fit.hpp"

namespace goodput {

/// What to measure next, and how good the fit is already.
struct HostProfile {
    std::optional<HostShare> next{};  ///< none: good enough, or everything is measured
    double largest_error = 0;         ///< expected relative error of HostForecast::speed, at worst
};

/// Which of these shares should be measured next, to know the speed with all of them? None where the expected
/// relative error is within `tolerance` with each. Refuses no shares, shares that no sample can have, and a
/// tolerance that is not above 0 (std::invalid_argument).
[[nodiscard]] inline HostProfile next_host_share(const HostFit& fit, std::span<const HostShare> grid,
                                                 double tolerance = 0.03) {
    require_positive("host profile", "tolerance", tolerance);
    if (grid.empty()) bad_input("host profile", "shares", grid.size(), "at least 1");
    HostProfile profile;
    std::vector<HostForecast> at;
    for (const HostShare& share : grid) {
        at.push_back(fit.forecast(share));
        profile.largest_error = std::max(profile.largest_error, at.back().expected_error);
        std::vector<double>& off = at.back().logarithms;  // from their mean, from here on
        const double mean = std::accumulate(off.begin(), off.end(), 0.0) / static_cast<double>(off.size());
        for (double& value : off) value -= mean;
    }
    if (profile.largest_error <= tolerance) return profile;
    // What the form cannot explain is the same for all memories with one core count.
    const auto covariance = [&](std::size_t z, std::size_t x) {
        const auto &a = at[z].logarithms, &b = at[x].logarithms;
        const bool same_cores = grid[z].cores_per_gpu == grid[x].cores_per_gpu;
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / static_cast<double>(a.size()) +
               (same_cores ? at[z].form_deviation * at[x].form_deviation : 0);
    };
    double most = -1;
    for (std::size_t x = 0; x < grid.size(); ++x) {
        if (fit.has_measured(grid[x])) continue;
        double gain = 0;
        if (fit.samples() == 0)
            gain = grid[x].cores_per_gpu * grid[x].memory_gib_per_gpu;
        else
            for (std::size_t z = 0; z < grid.size(); ++z) {
                const double shared = covariance(z, x);
                gain += shared * shared / (covariance(x, x) + at[x].deviation * at[x].deviation);
            }
        if (gain > most) {
            most = gain;
            profile.next = grid[x];
        }
    }
    return profile;
}

}  // namespace goodput

#endif
