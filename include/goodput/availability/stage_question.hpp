#ifndef GOODPUT_AVAILABILITY_STAGE_QUESTION_HPP
#define GOODPUT_AVAILABILITY_STAGE_QUESTION_HPP

// The question which checkpoint mechanism each stage of a job should use, and the answer with a proof of
// how good it is.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/availability/checkpointed_stage.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// A job's stages, the limits that their checkpoints share, and the job's interruptions.
struct StageCheckpointQuestion {
    std::vector<std::string> mechanisms{};    ///< names of the mechanisms
    std::vector<CheckpointedStage> stages{};  ///< in any order
    Interruptions interruptions{};            ///< interruptions of the job
    std::optional<double> memory_gib{};       ///< memory for the checkpoints of all stages; no value means
                                              ///< no limit
    std::optional<double> gib_per_second{};   ///< bandwidth for the checkpoints of all stages; no value
                                              ///< means no limit

    /// Throws std::invalid_argument, naming stage, field and value, for negative and infinite numbers, for
    /// stages that do not describe all mechanisms, and for stages without any mechanism.
    void validate() const;
};

/// A mechanism that is impossible for a stage.
struct ImpossibleMechanism {
    std::size_t stage = 0;      ///< index of the stage
    std::size_t mechanism = 0;  ///< index of the mechanism
    /// Seconds of the longest part that must fit into one live period (the time between two interruptions),
    /// including what is restored before it. This is the stage's longest part that cannot be interrupted.
    /// If that fits but no work is ever saved, it is the unsaved work.
    double part_seconds = 0;
};

/// One mechanism used for all stages.
struct SingleMechanism {
    std::size_t mechanism = 0;  ///< index of the mechanism
    double seconds = 0;         ///< expected seconds of all stages together
};

/// A mechanism for each stage, with a bound that shows how good the choice is.
struct StageCheckpoints {
    std::vector<std::size_t> mechanism{};  ///< by stage; empty if none was found
    double seconds = 0;                    ///< expected seconds of all stages together; 0 if none was found
    double bound = 0;                      ///< lower bound: no choice takes less, except for rounding
    /// optimal: within the requested gap. feasible: within the limits, but not proven to be within the gap;
    /// see `bound`. infeasible: no choice is within the limits, or a stage has no possible mechanism.
    /// unknown: the search ended before it found a choice.
    AllotStatus status = AllotStatus::optimal;
    StopReason stopped = StopReason::proven;  ///< why the search ended
    double memory_gib = 0;                    ///< memory that the choice takes
    double gib_per_second = 0;                ///< bandwidth that the choice takes
    /// Seconds that one more GiB would save (the dual price of the memory); 0 if none was found.
    double seconds_per_gib = 0;
    double seconds_per_bandwidth = 0;         ///< seconds that one more GiB/s would save: the bandwidth's
                                              ///< price
    std::optional<SingleMechanism> single{};  ///< the best one for all stages, if one is within the limits
    std::vector<ImpossibleMechanism> impossible{};  ///< by stage, then by mechanism
    double live_seconds = 0;                        ///< average length of a live period
    std::size_t nodes = 0;                          ///< states that the search examined

    /// Returns an upper bound on the seconds by which a better choice could shorten the job.
    [[nodiscard]] double gap() const { return seconds - bound; }
};

/// The result of choosing again after interruptions have changed.
struct StageCheckpointChange {
    StageCheckpoints
        answer{};  ///< choice under the new interruptions; the choice before, if that is good enough
    /// Expected seconds of the earlier choice under the new interruptions. No value if the job would never
    /// end or the choice exceeds the limits.
    std::optional<double> seconds_before{};
};

// ---------------------------------------------------------------------------------------------------------

inline void StageCheckpointQuestion::validate() const {
    goodput::validate(interruptions, "stage checkpoints");
    for (const auto& [field, limit] :
         {std::pair{"memory_gib", memory_gib}, std::pair{"gib_per_s", gib_per_second}})
        if (limit && !(*limit >= 0 && *limit <= most_of_stage))
            bad_input("stage checkpoints", field, *limit, "from 0 to " + text_of(most_of_stage));
    if (mechanisms.empty() && !stages.empty())
        bad_input("stage checkpoints", "number of mechanisms", mechanisms.size(), "at least 1");
    for (const CheckpointedStage& stage : stages) goodput::validate(stage, mechanisms.size());
}

}  // namespace goodput::inline v0_1

#endif
