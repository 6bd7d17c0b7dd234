#ifndef GOODPUT_AVAILABILITY_STAGE_QUESTION_HPP
#define GOODPUT_AVAILABILITY_STAGE_QUESTION_HPP

// The question of which checkpoint mechanism each stage uses, and the answer with its certificate.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/availability/checkpointed_stage.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput {

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
    /// The longest part that must fit into one live period, including what is restored before it. It is the
    /// stage's atomic unit, or, if that fits but no work is ever saved, the unsaved work.
    double part_seconds = 0;
};

/// One mechanism used for all stages.
struct SingleMechanism {
    std::size_t mechanism = 0;  ///< index of the mechanism
    double seconds = 0;         ///< expected seconds of all stages together
};

/// A mechanism for each stage, with its certificate.
struct StageCheckpoints {
    std::vector<std::size_t> mechanism{};  ///< by stage; empty if none was found
    double seconds = 0;                    ///< expected seconds of all stages together; 0 if none was found
    double bound = 0;                      ///< no choice takes less, up to rounding
    /// optimal: within the requested gap. feasible: within the limits, see `bound`. infeasible: no choice
    /// is within the limits, or a stage has no possible mechanism. unknown: the search was cut off before
    /// it found a choice.
    AllotStatus status = AllotStatus::optimal;
    StopReason stopped = StopReason::proven;  ///< why the search ended
    double memory_gib = 0;                    ///< memory that the choice takes
    double gib_per_second = 0;                ///< bandwidth that the choice takes
    /// Seconds that one more GiB would save: the memory's price; 0 if none was found.
    double seconds_per_gib = 0;
    double seconds_per_bandwidth = 0;         ///< seconds that one more GiB/s would save: the bandwidth's
                                              ///< price
    std::optional<SingleMechanism> single{};  ///< the best one for all stages, if one is within the limits
    std::vector<ImpossibleMechanism> impossible{};  ///< by stage, then by mechanism
    double live_seconds = 0;                        ///< average length of a live period
    std::size_t nodes = 0;                          ///< states that the search examined

    /// Returns the most seconds by which a better choice could be faster.
    [[nodiscard]] double gap() const { return seconds - bound; }
};

/// The reaction to a change of interruptions.
struct StageCheckpointChange {
    StageCheckpoints
        answer{};  ///< choice under the new interruptions; the choice before, if that is good enough
    /// Expected seconds of the choice before under the new interruptions. No value if it would never end or
    /// exceeds the limits.
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

}  // namespace goodput

#endif
