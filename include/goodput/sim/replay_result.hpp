#ifndef GOODPUT_SIM_REPLAY_RESULT_HPP
#define GOODPUT_SIM_REPLAY_RESULT_HPP

// The result of a replay: which job held which GPUs when, and the outcome of each job.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1 {

/// A period in which a job holds the same GPUs, with the same partner or alone.
struct HeldPeriod {
    std::size_t job = 0;            ///< index into the submissions
    Configuration configuration{};  ///< GPUs that the job holds
    double begin_seconds = 0;       ///< from the start of the trace
    double end_seconds = 0;         ///< after begin_seconds
    /// The job that shares these GPUs at the same time, if any.
    std::optional<std::size_t> beside{};

    /// Returns the GPUs that count as this job's, such that each GPU counts once: half of those that two
    /// jobs share.
    [[nodiscard]] double counted_gpus() const { return configuration.gpus() * (beside ? 0.5 : 1); }
};

/// The outcome of one job.
struct JobOutcome {
    double submitted_seconds = 0;               ///< as in the trace
    std::optional<double> completed_seconds{};  ///< empty if the job was not complete when the replay ended
    int restarts = 0;                           ///< restarts, including those after failures
    double gpu_seconds = 0;  ///< allotted, including restarts and idle time at the end of rounds; each
                             ///< of two jobs that share GPUs counts half of them
    int migrations = 0;  ///< restarts of a running job because a decision gave it a node that it was not on
    int failures = 0;    ///< number of times that it went back to its last checkpoint
    double done = 0;     ///< part of its work done at the end, from 0 to 1
    double lost_gpu_seconds = 0;  ///< part of gpu_seconds spent on starts, checkpoints, and repeated work

    /// Returns the hours from submission to completion; empty if the job is not complete.
    [[nodiscard]] std::optional<double> completion_hours() const {
        if (!completed_seconds) return std::nullopt;
        return (*completed_seconds - submitted_seconds) / 3600;
    }
};

/// The number of GPUs from `seconds` on.
struct Capacity {
    double seconds = 0;  ///< from the start of the trace
    int gpus = 0;        ///< GPUs of all types
};

/// A period in which a node was rented and paid.
struct RentedPeriod {
    std::size_t offer = 0;     ///< index into ReplayOptions::offers
    double begin_seconds = 0;  ///< time of the order
    double end_seconds = 0;    ///< time when it was returned or lost, or the replay ended
    double dollars = 0;        ///< price paid for it, by the minute
};

/// Everything that happened in a replay, for metrics_of() and reports.
struct ReplayResult {
    std::vector<JobOutcome> jobs{};          ///< outcomes by submission
    std::vector<HeldPeriod> held_periods{};  ///< in the order in which they end, round by round
    std::vector<Capacity> capacity{};        ///< by time, from 0 on
    std::vector<RentedPeriod> rented{};      ///< in the order in which they end
    std::size_t rounds = 0;                  ///< number of decisions with at least one active job
    double end_seconds = 0;                  ///< end of the last round
    std::size_t faults = 0;     ///< faults of the policy, see Plan::faults; each costs some job a choice
    std::string first_fault{};  ///< description; empty if there was no fault
};

}  // namespace goodput::inline v0_1

#endif
