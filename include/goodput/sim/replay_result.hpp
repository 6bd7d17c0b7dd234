#ifndef GOODPUT_SIM_REPLAY_RESULT_HPP
#define GOODPUT_SIM_REPLAY_RESULT_HPP

// What comes out of a replay: who held what from when to when, and how it ended for every job.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace goodput {

/// GPUs that a job holds without change, with the same partner or alone, from `begin` to `end`.
struct HeldPeriod {
    std::size_t job = 0;            ///< index into the submissions
    Configuration configuration{};  ///< what it holds
    double begin_seconds = 0;       ///< from the start of the trace
    double end_seconds = 0;         ///< after begin_seconds
    /// The job that has the same GPUs at the same time; mostly none.
    std::optional<std::size_t> beside{};

    /// How many GPUs count as this job's, so that each GPU counts once: half of those that two jobs have.
    [[nodiscard]] double counted_gpus() const { return configuration.gpus() * (beside ? 0.5 : 1); }
};

/// How one job fared.
struct JobOutcome {
    double submitted_seconds = 0;               ///< as in the trace
    std::optional<double> completed_seconds{};  ///< none: it was not complete when the replay ended
    int restarts = 0;                           ///< after failures, too
    double gpu_seconds = 0;       ///< allotted, restarts and idle rests of rounds included; of GPUs that two
                                  ///< jobs have at the same time each has half
    int migrations = 0;           ///< restarts of a running job by a decision, on a node that it was not on
    int failures = 0;             ///< times that it went back to its last checkpoint
    double done = 0;              ///< part of its work done at the end, from 0 to 1
    double lost_gpu_seconds = 0;  ///< of those allotted: starts, checkpoints, and work that was done again
};

/// From `seconds` on there are that many GPUs.
struct Capacity {
    double seconds = 0;  ///< from the start of the trace
    int gpus = 0;        ///< of all types
};

/// A node that was rented and paid from `begin` to `end`.
struct RentedPeriod {
    std::size_t offer = 0;     ///< index into ReplayOptions::offers
    double begin_seconds = 0;  ///< of the order
    double end_seconds = 0;    ///< when it was given back or lost, or the replay ended
    double dollars = 0;        ///< paid for it, by the minute
};

/// Everything that a replay did, for metrics_of() and reports.
struct ReplayResult {
    std::vector<JobOutcome> jobs{};          ///< by submission
    std::vector<HeldPeriod> held_periods{};  ///< as they end, round by round
    std::vector<Capacity> capacity{};        ///< by time, from 0 on
    std::vector<RentedPeriod> rented{};      ///< as they end
    std::size_t rounds = 0;                  ///< decisions with at least one active job
    double end_seconds = 0;                  ///< of the last round
    std::size_t faults = 0;     ///< of the policy, see Plan::faults; all of them cost somebody a choice
    std::string first_fault{};  ///< in words; empty if there was none
};

}  // namespace goodput

#endif
