#ifndef GOODPUT_HOSTS_DETAIL_HOST_POSTERIOR_HPP
#define GOODPUT_HOSTS_DETAIL_HOST_POSTERIOR_HPP

// Draws equally likely surfaces that explain the measurements: functions of the form of
// hosts/host_speed.hpp, each with its own parameters.
//
// With c cores and m GiB per GPU, and a = ln of the speed that computing alone allows, the form is
//
//     ln f(c, m) = a + min(0, p(c), q(m)),   p = power ln(c / knee),   q = -ln stall - ln(1 - m / cached)
//
// The knee is the number of cores beyond which preparing does not slow the iteration. The stall is the time
// for reading everything divided by the time of computing. Knee, power, cached and stall form a grid with a
// prior. A measurement has a normal error in ln f, and ln f is linear in a, so the best a, the sum of
// squares and the weight of each grid point have closed forms. Surfaces are drawn at equal steps of the
// cumulative weights, without random numbers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/hosts/host_speed.hpp"
#include "goodput/statistics/distributions.hpp"

namespace goodput::inline v0_1::detail {

/// The grid, ordered by knee and power, then by memory and stall. The prior uses round values of common
/// jobs: four cores and 64 GiB per GPU within a factor of 4.5 (1.5 in ln), reading as long as computing
/// within a factor of 7.4 (2 in ln), and powers from 0.7 to 1 with equal weight.
struct HostGrid {
    static constexpr std::size_t knees = 64, powers = 4, sizes = 24, stalls = 17;
    static constexpr std::size_t by_cores = knees * powers, by_memory = sizes * stalls;

    static double at(std::size_t i, std::size_t count, double low, double high) {
        return low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1);
    }
    /// Returns ln of the knee, from 1/4 to 256 cores.
    static double knee(std::size_t i) { return at(i / powers, knees, std::log(0.25), std::log(256)); }
    static double power(std::size_t i) { return at(i % powers, powers, 0.7, 1.0); }
    /// Returns ln of the memory that holds everything, from 4 GiB to 4 TiB.
    static double cached(std::size_t i) { return at(i / stalls, sizes, std::log(4), std::log(4096)); }
    /// Returns ln of the stall.
    static double stall(std::size_t i) { return at(i % stalls, stalls, -4, 4); }

    static double p(std::size_t i, const HostShare& share) {
        return std::min(0.0, power(i) * (std::log(share.cores_per_gpu) - knee(i)));
    }
    static double q(std::size_t i, const HostShare& share) {
        const double missed = 1 - share.memory_gib_per_gpu / std::exp(cached(i));
        return missed > 0 ? -stall(i) - std::log(missed) : 0;
    }
    /// Returns minus ln of the prior, except for a constant.
    static double against_cores(std::size_t i) { return square((knee(i) - std::log(4)) / 1.5) / 2; }
    static double against_memory(std::size_t i) {
        return square((cached(i) - std::log(64)) / 1.5) / 2 + square(stall(i) / 2) / 2;
    }
    static double square(double x) { return x * x; }
};

/// The surfaces, and how far the true speed is assumed to deviate from them.
struct HostPosterior {
    std::vector<HostSpeedModel> surfaces{};
    double form_deviation = 0;  ///< standard deviation in ln, including the mean square that no surface
                                ///< explains
};

/// Returns `count` surfaces from `y`, the logarithms of the speeds measured with these shares. If there are
/// no measurements, the speed of computing is assumed to be 1 within a factor of e.
inline HostPosterior host_posterior(std::span<const HostShare> shares, std::span<const double> y,
                                    double deviation, double form_deviation, std::size_t count) {
    using Grid = HostGrid;
    const auto measured = static_cast<double>(y.size());
    std::vector<double> squares(Grid::by_cores * Grid::by_memory, 0), level(squares.size(), 0);
    std::vector<double> q(y.size() * Grid::by_memory);
    for (std::size_t j = 0; j < y.size(); ++j)
        for (std::size_t k = 0; k < Grid::by_memory; ++k) q[j * Grid::by_memory + k] = Grid::q(k, shares[j]);
    double least = y.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < Grid::by_cores && !y.empty(); ++i) {
        double* const sum = &level[i * Grid::by_memory];
        double* const sum_of_squares = &squares[i * Grid::by_memory];
        for (std::size_t j = 0; j < y.size(); ++j) {
            const double above = y[j] - y[0], p = Grid::p(i, shares[j]);
            for (std::size_t k = 0; k < Grid::by_memory; ++k) {
                const double off = above - std::min(p, q[j * Grid::by_memory + k]);
                sum[k] += off;
                sum_of_squares[k] += off * off;
            }
        }
        for (std::size_t k = 0; k < Grid::by_memory; ++k) {
            sum_of_squares[k] = std::max(sum_of_squares[k] - sum[k] * sum[k] / measured, 0.0);
            sum[k] = y[0] + sum[k] / measured;
            least = std::min(least, sum_of_squares[k]);
        }
    }

    HostPosterior posterior;
    posterior.form_deviation = std::hypot(form_deviation, y.empty() ? 0 : std::sqrt(least / measured));
    const double variance = Grid::square(deviation) + Grid::square(posterior.form_deviation);
    double total = 0;
    for (std::size_t i = 0; i < Grid::by_cores; ++i)
        for (std::size_t k = 0; k < Grid::by_memory; ++k) {
            double& weight = squares[i * Grid::by_memory + k];
            const double exponent =
                (least - weight) / (2 * variance) - Grid::against_cores(i) - Grid::against_memory(k);
            weight = exponent > -40 ? std::exp(exponent) : 0;  // smaller weights are treated as 0
            total += weight;
        }
    const double level_deviation = y.empty() ? 1 : std::sqrt(variance / measured);
    std::size_t at = 0;
    double before = squares[0];
    for (std::size_t s = 0; s < count; ++s) {
        const double step = static_cast<double>(s) + 0.5;
        while (before * static_cast<double>(count) < step * total && at + 1 < squares.size())
            before += squares[++at];
        // Steps of the golden section spread the levels evenly over any range of surfaces. The level is a.
        const double part = 2 * std::fmod(step * std::numbers::phi, 1.0) - 1;
        const double off = std::copysign(normal_quantile(std::abs(part)), part) * level_deviation;
        const std::size_t i = at / Grid::by_memory, k = at % Grid::by_memory;
        const double computing = std::exp(-level[at] - off);
        posterior.surfaces.push_back({computing, computing * std::exp(Grid::power(i) * Grid::knee(i)),
                                      Grid::power(i), computing * std::exp(Grid::stall(k)),
                                      std::exp(Grid::cached(k))});
    }
    return posterior;
}

}  // namespace goodput::inline v0_1::detail

#endif
