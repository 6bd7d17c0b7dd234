#ifndef GOODPUT_AVAILABILITY_RESTART_COST_HPP
#define GOODPUT_AVAILABILITY_RESTART_COST_HPP

// Estimates what a restart costs a job, from the starts that its runs report and from the size of its
// checkpoint:
//
//     start = (w 30 s + sum of the reported starts) / (w + number of reports)         w = 0.1
//     cost  = start + 2 s per GiB of checkpoint
//
// The constants come from trainings on one H100. A start takes 13 to 34 s up to the end of the first step,
// mostly for imports and building, and a restart 15 to 52 s. So 30 s stand for an unknown job. Two starts of
// one model differ by 1 to 18 %, those of different models by a factor of 2.6. The variance within a model is
// at most a tenth of the variance between models, so the prior weighs a tenth of a report. Saving takes 0.3 s
// for 0.19 GiB, 2.6 to 4.1 s for 1.2 GiB and 15 s for 8.7 GiB. Least squares give 1.7 s per GiB with a
// constant of 0.6 s. Network disks take longer.

#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// What is known of a job's starts.
struct RestartReports {
    /// Seconds from the start of a run to the end of its first step, by run.
    std::vector<double> start_seconds{};
    double checkpoint_gib = 0;  ///< size of a checkpoint; 0: unknown or nothing to save
};

inline constexpr double usual_start_seconds = 30;   ///< start of a job that has reported none
inline constexpr double usual_start_weight = 0.1;   ///< number of reports that it counts for
inline constexpr double save_seconds_per_gib = 2;   ///< time to save a GiB
inline constexpr double most_start_seconds = 1e7;   ///< longest start that can be reported
inline constexpr double most_checkpoint_gib = 1e6;  ///< largest checkpoint

/// Throws std::invalid_argument if a start or the size is negative, not a number or too large.
inline void validate(const RestartReports& reports, std::string_view subject = "restart") {
    for (const double seconds : reports.start_seconds)
        if (!(seconds >= 0 && seconds <= most_start_seconds))
            bad_input(subject, "start_seconds", seconds, "0 to " + text_of(most_start_seconds));
    if (!(reports.checkpoint_gib >= 0 && reports.checkpoint_gib <= most_checkpoint_gib))
        bad_input(subject, "checkpoint_gib", reports.checkpoint_gib, "0 to " + text_of(most_checkpoint_gib));
}

/// Returns the seconds that a restart is expected to cost, for Job::restart_cost_seconds. Throws
/// std::invalid_argument if validate() rejects the reports.
[[nodiscard]] inline double estimated_restart_seconds(const RestartReports& reports) {
    validate(reports);
    const std::vector<double>& starts = reports.start_seconds;
    const double sum =
        std::accumulate(starts.begin(), starts.end(), usual_start_weight * usual_start_seconds);
    return sum / (usual_start_weight + static_cast<double>(starts.size())) +
           save_seconds_per_gib * reports.checkpoint_gib;
}

}  // namespace goodput::inline v0_1

#endif
