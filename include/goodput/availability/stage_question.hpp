#ifndef GOODPUT_AVAILABILITY_STAGE_QUESTION_HPP
#define GOODPUT_AVAILABILITY_STAGE_QUESTION_HPP

// What is asked of a job's checkpoint mechanisms by stage, and the answer with its certificate.

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

/// A job's stages, what their checkpoints share, and how they are interrupted.
struct StageCheckpointQuestion {
    std::vector<std::string> mechanisms{};    ///< their names, by mechanism
    std::vector<CheckpointedStage> stages{};  ///< in any order
    Interruptions interruptions{};            ///< of what runs them
    std::optional<double> memory_gib{};       ///< for the checkpoints of all stages; none: no limit
    std::optional<double> gib_per_second{};   ///< for the checkpoints of all stages; none: no limit

    /// Refuses negative and infinite numbers, stages that do not know all mechanisms, and stages where there
    /// is no mechanism (std::invalid_argument naming stage, field and value).
    void validate() const;
};

/// A mechanism that a stage cannot have.
struct ImpossibleMechanism {
    std::size_t stage = 0;      ///< index of the stage
    std::size_t mechanism = 0;  ///< index of the mechanism
    /// The longest part that has to fit into one live period, what is restored before it included: its atomic
    /// unit, or where that does fit but no work ever lasts, what is unsaved.
    double part_seconds = 0;
};

/// The same mechanism for all stages.
struct SingleMechanism {
    std::size_t mechanism = 0;  ///< index of the mechanism
    double seconds = 0;         ///< expected for all stages together
};

/// A mechanism for each stage, with its certificate.
struct StageCheckpoints {
    std::vector<std::size_t> mechanism{};  ///< by stage; empty where none was found
    double seconds = 0;                    ///< expected for all stages together; 0 where none was found
    double bound = 0;                      ///< no choice takes less, up to rounding
    /// optimal: to the gap asked for; feasible: within the limits, see bound; infeasible: no choice is within
    /// the limits, or a stage has no possible mechanism; unknown: cut off before one was found.
    AllotStatus status = AllotStatus::optimal;
    StopReason stopped = StopReason::proven;  ///< why the search ended
    double memory_gib = 0;                    ///< that the choice takes
    double gib_per_second = 0;                ///< that the choice takes
    double seconds_per_gib = 0;  ///< that a GiB more would save: the memory's price; 0 where none was found
    double seconds_per_bandwidth = 0;         ///< that a GiB/s more would save: the bandwidth's price
    std::optional<SingleMechanism> single{};  ///< the best one for all stages, if one is within the limits
    std::vector<ImpossibleMechanism> impossible{};  ///< by stage, then by mechanism
    double live_seconds = 0;                        ///< an average live period
    std::size_t nodes = 0;                          ///< states that the search looked at

    /// By how many seconds a better choice could be faster, at most.
    [[nodiscard]] double gap() const { return seconds - bound; }
};

/// What to do when interruptions are not what was believed.
struct StageCheckpointChange {
    StageCheckpoints
        answer{};  ///< under the new interruptions; what was chosen before, if that is good enough
    /// Expected of what was chosen before under the new interruptions; none where that would never end or is
    /// beyond the limits.
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
