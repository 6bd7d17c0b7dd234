#ifndef GOODPUT_HOSTS_HOST_SPEED_HPP
#define GOODPUT_HOSTS_HOST_SPEED_HPP

// How long an iteration takes with so many CPU cores and so much host memory beside a GPU.
//
// While the GPU computes, cores prepare the next batch, and what the cache does not hold is read from
// storage. The three overlap, so the slowest of them decides:
//
//     T(c, m) = max( computing,  preparing / c^power,  reading max(1 - m / cached, 0) )
//
// A cache that never evicts (MinIO; Mohan et al., "Analyzing and mitigating data stalls", VLDB'21) hits in
// proportion to the part of the data set that it holds, hence the straight line in m. The power is below 1
// where preparing does not scale perfectly. Source: Synergy (OSDI'22), section 3, but for the power. A
// maximum, not a smooth one: in the published tables what cores allow and what memory allows never slow each
// other.
//
// What it does not know: memory that a job needs to run at all, storage that others use, and curves that end
// in several steps. A fit keeps to the measurements there (hosts/host_fit.hpp).

#include <algorithm>
#include <cmath>
#include <limits>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"

namespace goodput {

/// Parts of an iteration's time that depend on what goes with a GPU, in seconds.
struct HostSpeedModel {
    double compute_seconds = 1;      ///< whatever cores and memory cannot change; above 0
    double preparation_seconds = 0;  ///< of one core; at least 0
    double core_power = 1;           ///< cores prepare cores^power times as fast as one; in (0, 2]
    double storage_seconds = 0;      ///< where nothing is cached; at least 0
    double cached_gib = 1;           ///< memory a GPU that holds the whole data set; above 0

    /// Seconds of an iteration with that share, in which 0 is none at all. Never rises with cores or memory;
    /// infinite without cores where there is something to prepare.
    [[nodiscard]] double seconds(const HostShare& share) const {
        double seconds = compute_seconds;
        if (preparation_seconds > 0)
            seconds = std::max(seconds, share.cores_per_gpu > 0
                                            ? preparation_seconds / std::pow(share.cores_per_gpu, core_power)
                                            : std::numeric_limits<double>::infinity());
        const double missed = 1 - share.memory_gib_per_gpu / cached_gib;
        return missed > 0 ? std::max(seconds, storage_seconds * missed) : seconds;
    }
    /// Iterations a second with that share. Never falls with cores or memory.
    [[nodiscard]] double speed(const HostShare& share) const { return 1 / seconds(share); }
};

/// Refuses parameters outside the ranges above, NaN and infinity among them (std::invalid_argument).
template <MessageSubject Subject>
void validate(const HostSpeedModel& model, const Subject& subject) {
    require_positive(subject, "compute_seconds", model.compute_seconds);
    require_at_least(subject, "preparation_seconds", model.preparation_seconds, 0);
    if (!(model.core_power > 0 && model.core_power <= 2))
        bad_input(detail::text_of_subject(subject), "core_power", model.core_power, "above 0 and at most 2");
    require_at_least(subject, "storage_seconds", model.storage_seconds, 0);
    require_positive(subject, "cached_gib", model.cached_gib);
}

}  // namespace goodput

#endif
