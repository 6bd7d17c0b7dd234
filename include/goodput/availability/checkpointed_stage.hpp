#ifndef GOODPUT_AVAILABILITY_CHECKPOINTED_STAGE_HPP
#define GOODPUT_AVAILABILITY_CHECKPOINTED_STAGE_HPP

// How long one stage (or layer) of a job takes where it is interrupted, by the way in which it saves its
// state.
//
// A stage does e = work + extra seconds. Without interruptions these are all. With live periods of T seconds
// on average and time off in between, MII (IEEE TCAD 43(11), 2024) charges every stage for the interruptions
// that fall into it,
//
//     e + e / T (restore + lost + off),
//
// which adds up over stages, so that each can be chosen by itself but for what they share. That is the first
// term of a series in e / T: what is done anew may be interrupted again. Here
//
//     e / s,        s = useful_share() of a job that restores as this stage does and saves as often
//
// which is MII's with lost = unsaved / 2 where live periods are long, and exact for a stage that repeats
// without end, whatever the distribution of live periods. It is an approximation where stages follow each
// other and an interruption in one throws work of another away (no saves in between): `unsaved_seconds` says
// how much, and does not know what the neighbours chose; and, of live periods that are all equally long,
// where a few stages pass through few periods and so always meet their ends in the same place.

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/availability/availability.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput {

/// What one checkpoint mechanism would mean for one stage.
struct StageMechanism {
    bool offered = true;         ///< whether this stage can use it at all
    double extra_seconds = 0;    ///< that saving adds to the work of the stage
    double unsaved_seconds = 0;  ///< from one save to the next: what an interruption can undo at most, and
                                 ///< half of it on average; 0: everything is saved just in time
    double restore_seconds = 0;  ///< from the start of a live period until work goes on
    double atomic_seconds = 0;   ///< the longest part that cannot be left and taken up again
    double memory_gib = 0;       ///< that its checkpoints take up
    double gib_per_second = 0;   ///< of the storage's bandwidth that its checkpoints take up
};

/// A stage of a job, or a layer of its model.
struct CheckpointedStage {
    std::string name{};                        ///< what it is called in explanations
    double work_seconds = 0;                   ///< of its work, nothing saved and never interrupted
    std::vector<StageMechanism> mechanisms{};  ///< by mechanism
};

/// Seconds that a live period lasts on average; infinity: it is never interrupted.
[[nodiscard]] inline double live_seconds(const Interruptions& interruptions) {
    return interruptions.per_hour > 0 ? 3600 / interruptions.per_hour
                                      : std::numeric_limits<double>::infinity();
}

/// Whether the longest part of a stage that cannot be left fits into a live period of average length, after
/// what has to be restored. MII's rule: where live periods are all equally long the stage would never be
/// done, elsewhere it would wait for a long one.
[[nodiscard]] inline bool fits_live_period(const StageMechanism& mechanism,
                                           const Interruptions& interruptions) {
    return mechanism.restore_seconds + mechanism.atomic_seconds <= live_seconds(interruptions);
}

/// Expected seconds until a stage of `work_seconds` is done, time off included; infinity where its work never
/// lasts. For valid numbers only: see validate().
[[nodiscard]] inline double expected_stage_seconds(double work_seconds, const StageMechanism& mechanism,
                                                   const Interruptions& interruptions) {
    const double running = work_seconds + mechanism.extra_seconds;
    if (interruptions.per_hour == 0 || running == 0) return running;
    // A job whose every interruption finds all work saved is as good with any interval.
    const bool just_in_time = mechanism.unsaved_seconds == 0;
    const CheckpointMechanism saves{.restore_seconds = mechanism.restore_seconds,
                                    .caught = just_in_time ? 1.0 : 0.0};
    const double share = useful_share(interruptions, saves,
                                      just_in_time ? live_seconds(interruptions) : mechanism.unsaved_seconds);
    return share > 0 ? running / share : std::numeric_limits<double>::infinity();
}

/// Larger times and amounts are refused, so that no sum of them is infinite.
inline constexpr double most_of_stage = 1e100;

/// Refuses numbers that are negative, not finite or above most_of_stage, and stages that do not say something
/// of each of `mechanisms` mechanisms (std::invalid_argument).
inline void validate(const CheckpointedStage& stage, std::size_t mechanisms) {
    const auto require = [&](std::size_t m, const char* field, double value) {
        if (value >= 0 && value <= most_of_stage) return;
        std::string subject = "stage '" + stage.name + "'";
        if (m < mechanisms) subject += ", mechanism " + text_of(m);
        bad_input(subject, field, value, "from 0 to " + text_of(most_of_stage));
    };
    require(mechanisms, "work_seconds", stage.work_seconds);
    if (stage.mechanisms.size() != mechanisms)
        bad_input("stage '" + stage.name + "'", "number of mechanisms", stage.mechanisms.size(),
                  "that of the question, " + text_of(mechanisms));
    for (std::size_t m = 0; m < mechanisms; ++m) {
        const StageMechanism& its = stage.mechanisms[m];
        require(m, "extra_seconds", its.extra_seconds);
        require(m, "unsaved_seconds", its.unsaved_seconds);
        require(m, "restore_seconds", its.restore_seconds);
        require(m, "atomic_seconds", its.atomic_seconds);
        require(m, "memory_gib", its.memory_gib);
        require(m, "gib_per_s", its.gib_per_second);
    }
}

}  // namespace goodput

#endif
