#ifndef GOODPUT_CORE_HOST_HPP
#define GOODPUT_CORE_HOST_HPP

// CPU cores and host memory per GPU: how much a job may get, and how fast it is with that amount (called
// the sensitivity profile of a job in the Synergy paper).

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"

namespace goodput::inline v0_1 {

/// One measured point of a job's speed.
struct HostSpeed {
    double cores_per_gpu = 0;       ///< CPU cores per GPU during the measurement
    double memory_gib_per_gpu = 0;  ///< host memory per GPU during the measurement
    double factor = 1;              ///< measured throughput divided by that with plenty of both, at least 0
};

/// The CPU cores and host memory that a job may get per GPU.
struct HostNeeds {
    HostShare least{};  ///< lower limits per GPU; the job may get none of a resource whose limit is 0
    HostShare most{};   ///< upper limits per GPU; the job ignores a resource that is not counted here
    /// Measured points in any order; if empty, the throughput does not depend on cores and memory.
    std::vector<HostSpeed> speed{};

    /// Returns the factor by which this share changes the throughput. The measured amounts of cores and of
    /// memory span a grid, and the factor is bilinear between the grid points. Above the grid it keeps the
    /// value at the edge. Below the smallest measured amount it falls in proportion to the amount. A grid
    /// point that was not measured takes the largest factor of the points with no more cores and no more
    /// memory, because more of a resource never harms, or the smallest factor of all if there is no such
    /// point. A resource that the share does not count is taken as plentiful. If it counts the resource, an
    /// amount of 0 means none of it.
    [[nodiscard]] double factor(const HostShare& share) const;

    /// Calls `input(number)` with every number that the needs consist of.
    template <class Input>
    void for_each_input(Input& input) const {
        for (const HostShare& share : {least, most}) {
            input(share.cores_per_gpu);
            input(share.memory_gib_per_gpu);
            input(share.counts_cores());
            input(share.counts_memory());
        }
        input(speed.size());
        for (const HostSpeed& point : speed) {
            input(point.cores_per_gpu);
            input(point.memory_gib_per_gpu);
            input(point.factor);
        }
    }
};

/// Throws std::invalid_argument if a number is not finite, or if `most` is below `least`.
template <MessageSubject Subject>
void validate(const HostNeeds& needs, const Subject& subject) {
    require_at_least(subject, "host.cores_per_gpu (least)", needs.least.cores_per_gpu, 0);
    require_at_least(subject, "host.cores_per_gpu (most)", needs.most.cores_per_gpu,
                     needs.least.cores_per_gpu);
    require_at_least(subject, "host.memory_gib_per_gpu (least)", needs.least.memory_gib_per_gpu, 0);
    require_at_least(subject, "host.memory_gib_per_gpu (most)", needs.most.memory_gib_per_gpu,
                     needs.least.memory_gib_per_gpu);
    for (const HostSpeed& speed : needs.speed) {
        require_at_least(subject, "host.speed (cores)", speed.cores_per_gpu, 0);
        require_at_least(subject, "host.speed (memory_gib)", speed.memory_gib_per_gpu, 0);
        require_at_least(subject, "host.speed (factor)", speed.factor, 0);
    }
}

namespace detail {

/// Returns the factor at a point of the grid.
inline double factor_at(const std::vector<HostSpeed>& points, double cores, double memory) {
    double with_no_more = -1, least = std::numeric_limits<double>::infinity();
    for (const HostSpeed& point : points) {
        least = std::min(least, point.factor);
        if (point.cores_per_gpu == cores && point.memory_gib_per_gpu == memory) return point.factor;
        if (point.cores_per_gpu <= cores && point.memory_gib_per_gpu <= memory)
            with_no_more = std::max(with_no_more, point.factor);
    }
    return with_no_more >= 0 ? with_no_more : least;
}

}  // namespace detail

inline double HostNeeds::factor(const HostShare& share) const {
    if (speed.empty()) return 1;
    constexpr double far = std::numeric_limits<double>::infinity();
    double below = 1;  // requested amount over the smallest measured one, if it is smaller; else 1
    // Returns the measured amounts on both sides of `wanted`, and its relative position between the two. A
    // resource that is not counted does not limit.
    const auto between = [&](double HostSpeed::*amount, bool counts, double wanted) {
        const double at = counts ? wanted : far;
        double low = -far, high = far;
        for (const HostSpeed& point : speed) {
            if (point.*amount <= at) low = std::max(low, point.*amount);
            if (point.*amount >= at) high = std::min(high, point.*amount);
        }
        if (low == -far) {
            low = high;
            if (high > 0) below *= at / high;
        }
        if (high == far) high = low;
        return std::tuple{low, high, high > low ? (at - low) / (high - low) : 0};
    };
    const auto [few, many, cores] =
        between(&HostSpeed::cores_per_gpu, share.counts_cores(), share.cores_per_gpu);
    const auto [little, much, memory] =
        between(&HostSpeed::memory_gib_per_gpu, share.counts_memory(), share.memory_gib_per_gpu);
    const auto along_cores = [&, few = few, many = many, cores = cores](double gib) {
        const double low = detail::factor_at(speed, few, gib);
        return low + cores * (detail::factor_at(speed, many, gib) - low);
    };
    const double low = along_cores(little);
    return (low + memory * (along_cores(much) - low)) * below;
}

/// Scales a measurement to factor 1, so that samples with different shares fit one model: multiplies the
/// step and the synchronisation by the factor of the share that they were measured with. Returns the times
/// unchanged if the sample states no share, if no needs are known, or if the scaled time would be outside
/// the range of valid step times.
[[nodiscard]] inline ThroughputSample at_factor_one(ThroughputSample sample,
                                                    const std::optional<HostNeeds>& needs) {
    const HostShare share = sample.host;
    sample.host = {};
    if (!needs || share.empty()) return sample;
    const double factor = needs->factor(share), step = sample.step_seconds * factor;
    if (!(step >= least_step_seconds && step <= most_step_seconds)) return sample;
    sample.step_seconds = step;
    // Keep synchronisation below the step despite rounding.
    sample.sync_seconds = std::min(sample.sync_seconds * factor, std::nextafter(step, 0.0));
    return sample;
}

}  // namespace goodput::inline v0_1

#endif
