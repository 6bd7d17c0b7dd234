#ifndef GOODPUT_DEADLINES_DEADLINE_JOB_HPP
#define GOODPUT_DEADLINES_DEADLINE_JOB_HPP

// A job that must end before its deadline.

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// GPUs of one type that a job holds.
struct HeldGpus {
    std::size_t gpu_type = 0;                          ///< index into ClusterOverTime::gpu_types
    int gpus = 1;                                      ///< at least 1
    bool operator==(const HeldGpus&) const = default;  ///< whether both fields are equal
};

/// The work per second on a number of GPUs.
struct SpeedWith {
    HeldGpus held{};   ///< the GPUs
    double speed = 0;  ///< work per second
};

/// A job with a deadline. Its work is counted in any unit, such as iterations; its speeds use the same
/// unit.
struct DeadlineJob {
    std::string name{};           ///< name for messages
    double work_left = 0;         ///< at least 0
    double deadline_seconds = 0;  ///< seconds from now; the deadline has passed if this is 0 or less
    /// Work per second by GPU type, then on 1, 2, 4, ... GPUs; 0 if the job cannot run there. Speeds need
    /// be neither increasing nor concave.
    std::vector<std::vector<double>> speed{};
    /// Seconds without progress at each start and each change of GPUs. A plan reserves them.
    double restart_seconds = 0;
    /// How many seconds later than planned a start may happen, unless it is planned for now. At least 0.
    double late_seconds = 0;
    /// The GPUs that the job holds now. It continues on them without a restart.
    std::optional<HeldGpus> holds{};
    /// Seconds from now, above 0, until the first of the job's present nodes leaves. The job then continues
    /// elsewhere, after a restart.
    double held_until_seconds = std::numeric_limits<double>::infinity();
    /// Speeds on numbers of GPUs that are not powers of two, which `speed` cannot express.
    std::vector<SpeedWith> other_sizes{};
    /// Seconds left of the restart that the job is in now, if it continues on its GPUs.
    double restart_left_seconds = 0;
    /// Seconds from now for which the job keeps its GPUs because it cannot be moved. ClusterOverTime must
    /// not count these GPUs as free for that time. 0 means that the job can be moved now, infinity that it
    /// never can.
    double from_seconds = 0;
    bool movable = true;  ///< if false, the job keeps the GPUs that it starts with until it ends
    double weight = 1;    ///< weight of its promise if promises go by weight; at least 0

    /// Returns the work per second on these GPUs, or 0 if no speed is given for them.
    [[nodiscard]] double speed_on(const HeldGpus& held) const {
        for (const SpeedWith& other : other_sizes)
            if (other.held == held) return other.speed;
        if (held.gpu_type >= speed.size()) return 0;
        std::size_t power = 0;
        while (power < 30 && (1 << power) < held.gpus) ++power;
        if ((1 << power) != held.gpus || power >= speed[held.gpu_type].size()) return 0;
        return speed[held.gpu_type][power];
    }
};

/// Throws std::invalid_argument, with the job, the field and the value, for values that are not finite
/// (only held_until_seconds and from_seconds may be infinite), for negative values except deadlines, for
/// held_until_seconds of 0, for speeds on unknown GPU types or on less than one GPU, and for more than 31
/// powers of two.
inline void validate(const DeadlineJob& job, std::size_t gpu_types) {
    const std::string subject = "job '" + job.name + "'";
    const auto amount = [&](const std::string& field, double value) {
        if (!(std::isfinite(value) && value >= 0))
            bad_input(subject, field, value, "a finite number of at least 0");
    };
    amount("work_left", job.work_left);
    amount("restart_seconds", job.restart_seconds);
    amount("late_seconds", job.late_seconds);
    amount("restart_left_seconds", job.restart_left_seconds);
    if (!(job.held_until_seconds > 0))
        bad_input(subject, "held_until_seconds", job.held_until_seconds, "above 0");
    if (!(job.from_seconds >= 0)) bad_input(subject, "from_seconds", job.from_seconds, "at least 0");
    amount("weight", job.weight);
    for (const SpeedWith& other : job.other_sizes) {
        if (other.held.gpu_type >= gpu_types)
            bad_input(subject, "other_sizes.gpu_type", other.held.gpu_type,
                      "below the number of GPU types, " + text_of(gpu_types));
        if (other.held.gpus < 1) bad_input(subject, "other_sizes.gpus", other.held.gpus, "at least 1");
        amount("other_sizes.speed", other.speed);
    }
    if (!std::isfinite(job.deadline_seconds))
        bad_input(subject, "deadline_seconds", job.deadline_seconds, "finite");
    if (job.speed.size() > gpu_types)
        bad_input(subject, "speed.size()", job.speed.size(),
                  "at most the number of GPU types, " + text_of(gpu_types));
    for (std::size_t type = 0; type < job.speed.size(); ++type) {
        const std::string field = "speed[" + text_of(type) + "]";
        if (job.speed[type].size() > 31)
            bad_input(subject, field + ".size()", job.speed[type].size(), "at most 31");
        for (std::size_t power = 0; power < job.speed[type].size(); ++power)
            amount(field + "[" + text_of(power) + "]", job.speed[type][power]);
    }
}

}  // namespace goodput::inline v0_1

#endif
