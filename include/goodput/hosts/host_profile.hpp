#ifndef GOODPUT_HOSTS_HOST_PROFILE_HPP
#define GOODPUT_HOSTS_HOST_PROFILE_HPP

// Decides with which CPU cores and memory per GPU a job should be measured next.
//
// A share is an amount of cores and memory per GPU. A surface is one possible speed as a function of the
// share. Each surface of a fit (hosts/host_fit.hpp) predicts what a measurement at share x would find, and
// what the speed is elsewhere. A measurement at x cannot distinguish surfaces that predict the same there,
// within the scatter of a measurement. Let f(z) be the speed at share z. The variance of ln f(z) among such
// surfaces is the uncertainty that is left after measuring at x:
//
//     left(x) = sum over z of  E[ var( ln f(z) | found at x ) ]
//
// The share that leaves the least uncertainty is measured next (Bayesian I-optimal design; Chaloner and
// Verdinelli 1995). The expectation and the variance are sums over surfaces, not taken from a covariance
// matrix. A covariance cannot express that two equal measurements determine the speed everywhere between
// them, since speed never falls with more cores or memory. If there is no measurement yet, the largest
// share comes first, because no other share is faster. Synergy's optimistic profiling (OSDI'22, section
// 4.3) measures core counts with all memory and computes the effect of memory. To do the same, pass only
// shares with all memory.
//
// The search looks one measurement ahead. Cost: O(surfaces * shares^2) with 256 surfaces, about 1 ms for 45
// shares.

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

namespace goodput::inline v0_1 {

/// The share to measure next, and how good the fit is already.
struct HostProfile {
    std::optional<HostShare> next{};  ///< empty if the fit is good enough, or everything is measured
    double largest_error = 0;         ///< largest expected relative error of HostForecast::speed
};

/// Returns which of these shares to measure next, so that the speed becomes known for all of them. Returns
/// no share if the expected relative error is within `tolerance` for each. Throws std::invalid_argument for
/// an empty grid, for shares that no sample can have, and for a tolerance that is not above 0.
[[nodiscard]] inline HostProfile next_host_share(const HostFit& fit, std::span<const HostShare> grid,
                                                 double tolerance = 0.03) {
    require_positive("host profile", "tolerance", tolerance);
    if (grid.empty()) bad_input("host profile", "shares", grid.size(), "at least 1");
    constexpr std::size_t alike_surfaces = 16;  // least number of surfaces that form one possible outcome of
                                                // a measurement
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
            // All memory sizes with the same core count share one deviation from the model's formula.
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

}  // namespace goodput::inline v0_1

#endif
