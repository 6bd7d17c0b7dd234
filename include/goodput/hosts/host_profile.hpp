#ifndef GOODPUT_HOSTS_HOST_PROFILE_HPP
#define GOODPUT_HOSTS_HOST_PROFILE_HPP

// With which CPU cores and memory beside a GPU should a job be measured next?
//
// Each surface of a fit (hosts/host_fit.hpp) says what a measurement at x would find, and what the speed is
// elsewhere. Surfaces that x would find alike, within the scatter of a measurement, stay together; what
// their ln f(z) still differ by is left uncertain after x:
//
//     left(x) = sum over z of  E[ var( ln f(z) | found at x ) ]
//
// The share that leaves least is next (Bayesian I-optimal design; Chaloner and Verdinelli 1995, by sums over
// the surfaces instead of a covariance, because where two measurements are alike all between them is known).
// With nothing measured it is the largest share, which no other exceeds. Synergy's optimistic profiling
// (OSDI'22, section 4.3) measures core counts with all memory and computes what memory does; for that, give
// shares with all memory only.
//
// It looks one measurement ahead. Cost: O(surfaces * shares^2), 256 surfaces: about 1 ms for 45 shares.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/hosts/host_fit.hpp"

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
    constexpr std::size_t alike_surfaces = 16;  // at least so many are one finding of a measurement
    HostProfile profile;
    std::vector<HostForecast> at;
    for (const HostShare& share : grid) {
        at.push_back(fit.forecast(share));
        profile.largest_error = std::max(profile.largest_error, at.back().expected_error);
    }
    if (profile.largest_error <= tolerance) return profile;
    std::vector<std::size_t> order(at.front().logarithms.size());
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t x = 0; x < grid.size(); ++x) {
        if (fit.has_measured(grid[x])) continue;
        double left = 0;
        if (fit.samples() == 0) {
            left = 1 / (grid[x].cores_per_gpu * grid[x].memory_gib_per_gpu);
        } else {
            const std::vector<double>& found = at[x].logarithms;
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::sort(order.begin(), order.end(),
                      [&](std::size_t a, std::size_t b) { return found[a] < found[b]; });
            for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
                while (to < order.size() && (to - from < alike_surfaces ||
                                             found[order[to]] < found[order[from]] + 2 * at[x].deviation))
                    ++to;
                for (std::size_t z = 0; z < grid.size(); ++z) {
                    double sum = 0, squares = 0;
                    const double level = at[z].logarithms[order[from]];
                    for (std::size_t i = from; i < to; ++i) {
                        const double off = at[z].logarithms[order[i]] - level;
                        sum += off;
                        squares += off * off;
                    }
                    left += squares - sum * sum / static_cast<double>(to - from);
                }
            }
            // What the form cannot explain is the same for all memories with one core count.
            for (std::size_t z = 0; z < grid.size(); ++z)
                if (grid[z].cores_per_gpu != grid[x].cores_per_gpu)
                    left += at[z].form_deviation * at[z].form_deviation * static_cast<double>(order.size());
        }
        if (left < least) {
            least = left;
            profile.next = grid[x];
        }
    }
    return profile;
}

}  // namespace goodput

#endif
