#ifndef GOODPUT_HOSTS_HOST_SPEED_HPP
#define GOODPUT_HOSTS_HOST_SPEED_HPP

// Models how long an iteration takes with given CPU cores and host memory per GPU.
//
// While the GPU computes, cores prepare the next batch, and data that is not in the cache is read from
// storage. The three happen at the same time, so the slowest of them decides. With c cores and m GiB per
// GPU:
//
//     T(c, m) = max( computing,  preparing / c^power,  reading max(1 - m / cached, 0) )
//
// A cache that never evicts (MinIO; Mohan et al., "Analyzing and mitigating data stalls", VLDB'21) has a
// hit rate equal to the fraction of the data set that it holds. Therefore the reading time is linear in m.
// The power is below 1 if preparing does not scale perfectly. Source: Synergy (OSDI'22), section 3, except
// for the power. The maximum is sharp, not smooth: in the published tables, the effects of too few cores
// and of too little memory never add up.
//
// The model does not cover a minimum of memory without which a job cannot run, storage that other jobs use
// as well, or speeds that rise in several steps. If measurements contradict the model, the fit of
// hosts/host_fit.hpp still passes through them.

#include <algorithm>
#include <cmath>
#include <limits>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// The parts of an iteration's time that depend on the cores and memory per GPU, in seconds.
struct HostSpeedModel {
    double compute_seconds = 1;      ///< time that cores and memory cannot change; above 0
    double preparation_seconds = 0;  ///< preparation time of one core; at least 0
    double core_power = 1;           ///< n cores prepare n^core_power times as fast as one; in (0, 2]
    double storage_seconds = 0;      ///< reading time if nothing is cached; at least 0
    double cached_gib = 1;           ///< memory per GPU that holds the whole data set; above 0

    /// Returns the seconds per iteration with this share. An amount of 0 means that the job has none. The
    /// seconds never rise with more cores or memory. They are infinite without cores if there is something
    /// to prepare.
    [[nodiscard]] double seconds(const HostShare& share) const {
        double seconds = compute_seconds;
        if (preparation_seconds > 0)
            seconds = std::max(seconds, share.cores_per_gpu > 0
                                            ? preparation_seconds / std::pow(share.cores_per_gpu, core_power)
                                            : std::numeric_limits<double>::infinity());
        const double missed = 1 - share.memory_gib_per_gpu / cached_gib;
        return missed > 0 ? std::max(seconds, storage_seconds * missed) : seconds;
    }
    /// Returns the iterations per second with this share. They never fall with more cores or memory.
    [[nodiscard]] double speed(const HostShare& share) const { return 1 / seconds(share); }
};

/// Throws std::invalid_argument for parameters outside the ranges above, including NaN and infinity.
template <MessageSubject Subject>
void validate(const HostSpeedModel& model, const Subject& subject) {
    require_positive(subject, "compute_seconds", model.compute_seconds);
    require_at_least(subject, "preparation_seconds", model.preparation_seconds, 0);
    if (!(model.core_power > 0 && model.core_power <= 2))
        bad_input(detail::text_of_subject(subject), "core_power", model.core_power, "above 0 and at most 2");
    require_at_least(subject, "storage_seconds", model.storage_seconds, 0);
    require_positive(subject, "cached_gib", model.cached_gib);
}

}  // namespace goodput::inline v0_1

#endif
