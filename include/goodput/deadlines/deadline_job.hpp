#ifndef GOODPUT_DEADLINES_DEADLINE_JOB_HPP
#define GOODPUT_DEADLINES_DEADLINE_JOB_HPP

// A job that has to end before its deadline.

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// GPUs of one type that a job holds.
struct HeldGpus {
    std::size_t gpu_type = 0;                          ///< index into the names of types
    int gpus = 1;                                      ///< at least 1
    bool operator==(const HeldGpus&) const = default;  ///< the same in both
};

/// Work a second with a number of GPUs.
struct SpeedWith {
    HeldGpus held{};   ///< the GPUs
    double speed = 0;  ///< work a second
};

/// A job with a deadline. Work is counted in any unit, such as iterations, that its speeds are given in.
struct DeadlineJob {
    std::string name{};           ///< for messages
    double work_left = 0;         ///< at least 0
    double deadline_seconds = 0;  ///< from now; 0 or less: it has passed
    /// By GPU type, then on 1, 2, 4, ... GPUs: work a second, 0 where the job cannot run. Speeds need neither
    /// rise nor be concave.
    std::vector<std::vector<double>> speed{};
    /// Seconds without progress at every start and at every change of GPUs, which a plan reserves.
    double restart_seconds = 0;
    /// How much later than planned a start may come that is planned for later than now, at least 0.
    double late_seconds = 0;
    /// What the job holds now: it goes on with the same GPUs without a restart.
    std::optional<HeldGpus> holds{};
    /// When a node leaves that it holds, above 0: from then on it is elsewhere, after a restart.
    double held_until_seconds = std::numeric_limits<double>::infinity();
    /// Speeds on other numbers of GPUs, which `speed` has no place for.
    std::vector<SpeedWith> other_sizes{};
    /// What is left of the restart that the job is in, where it goes on with what it holds.
    double restart_left_seconds = 0;
    /// Until then it keeps what it holds, because it cannot be moved now. The cluster's nodes must not count
    /// these GPUs for that time. 0: it can be moved now; infinity: never.
    double from_seconds = 0;
    bool movable = true;  ///< false: it keeps the GPUs that it starts with to its end
    double weight = 1;    ///< of its promise, where these are given by weight: at least 0

    /// Work a second with these GPUs: 0 where none is given.
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

/// Refuses work, deadlines, speeds and restarts that are not finite, negative ones but for deadlines, speeds
/// of unknown GPU types, and more than 31 powers of two (std::invalid_argument with job, field and value).
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

}  // namespace goodput

#endif
