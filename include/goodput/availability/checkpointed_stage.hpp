#ifndef GOODPUT_AVAILABILITY_CHECKPOINTED_STAGE_HPP
#define GOODPUT_AVAILABILITY_CHECKPOINTED_STAGE_HPP

// Computes how long one stage (or layer) of a job takes if it is interrupted, depending on how it saves its
// state.
//
// A stage does e = work + extra seconds, where the extra seconds are those of saving. Without
// interruptions, e is its duration. Let live periods (the times between interruptions) last T seconds on
// average, with time off between them. MII (IEEE TCAD 43(11), 2024) charges each stage for the
// interruptions that fall into it:
//
//     e + e / T (restore + lost + off),
//
// This cost adds up over stages, so each stage can be chosen separately except for what the stages share.
// But it is only the first term of a series in e / T, because repeated work may be interrupted again. This
// header uses
//
//     e / s,        s = useful_share() of a job that restores as this stage does and saves as often
//
// It equals MII's formula with lost = unsaved / 2 if live periods are long. It is exact for a stage that
// repeats without end, whatever the distribution of live periods. It is an approximation in two cases.
// First, stages may follow each other so that an interruption in one discards work of another (no saves in
// between): `unsaved_seconds` says how much, without knowledge of what the neighbouring stages chose.
// Second, all live periods may be equally long and a few stages may pass through few periods, so that
// periods always end in the same places.

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/availability/availability.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// The effect of one checkpoint mechanism on one stage.
struct StageMechanism {
    bool offered = true;         ///< whether this stage can use it at all
    double extra_seconds = 0;    ///< seconds that saving adds to the stage's work
    double unsaved_seconds = 0;  ///< seconds from one save to the next: the most that an interruption can
                                 ///< undo; half of it is undone on average; 0 if everything is saved just
                                 ///< in time
    double restore_seconds = 0;  ///< seconds from the start of a live period until work continues
    double atomic_seconds = 0;   ///< the longest part that cannot be interrupted and resumed
    double memory_gib = 0;       ///< memory that its checkpoints take
    double gib_per_second = 0;   ///< storage bandwidth that its checkpoints take
};

/// A stage of a job, or a layer of its model.
struct CheckpointedStage {
    std::string name{};                        ///< name in explanations
    double work_seconds = 0;                   ///< seconds of its work, if nothing is saved and nothing
                                               ///< interrupts it
    std::vector<StageMechanism> mechanisms{};  ///< by mechanism
};

/// Returns the average length of a live period, the time between two interruptions, in seconds; infinity if
/// there are no interruptions.
[[nodiscard]] inline double live_seconds(const Interruptions& interruptions) {
    return interruptions.per_hour > 0 ? 3600 / interruptions.per_hour
                                      : std::numeric_limits<double>::infinity();
}

/// Returns whether the longest part of a stage that cannot be interrupted fits into an average live period,
/// after the state is restored. This is MII's rule. If live periods are all equally long, a longer stage
/// would never end; otherwise it would have to wait for a long period.
[[nodiscard]] inline bool fits_live_period(const StageMechanism& mechanism,
                                           const Interruptions& interruptions) {
    return mechanism.restore_seconds + mechanism.atomic_seconds <= live_seconds(interruptions);
}

/// Returns the expected seconds until a stage of `work_seconds` is done, including time off; infinity if
/// its work is never saved. The numbers must be valid: see validate().
[[nodiscard]] inline double expected_stage_seconds(double work_seconds, const StageMechanism& mechanism,
                                                   const Interruptions& interruptions) {
    const double running = work_seconds + mechanism.extra_seconds;
    if (interruptions.per_hour == 0 || running == 0) return running;
    // If a job saves all work at every interruption, all intervals are equally good.
    const bool just_in_time = mechanism.unsaved_seconds == 0;
    const CheckpointMechanism saves{.restore_seconds = mechanism.restore_seconds,
                                    .caught = just_in_time ? 1.0 : 0.0};
    const double share = useful_share(interruptions, saves,
                                      just_in_time ? live_seconds(interruptions) : mechanism.unsaved_seconds);
    return share > 0 ? running / share : std::numeric_limits<double>::infinity();
}

/// Larger times and amounts are rejected, so that every sum of them is finite.
inline constexpr double most_of_stage = 1e100;

/// Throws std::invalid_argument for numbers that are negative, not finite or above most_of_stage, and for
/// stages that do not describe each of `mechanisms` mechanisms.
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
        const StageMechanism& effects = stage.mechanisms[m];
        require(m, "extra_seconds", effects.extra_seconds);
        require(m, "unsaved_seconds", effects.unsaved_seconds);
        require(m, "restore_seconds", effects.restore_seconds);
        require(m, "atomic_seconds", effects.atomic_seconds);
        require(m, "memory_gib", effects.memory_gib);
        require(m, "gib_per_s", effects.gib_per_second);
    }
}

}  // namespace goodput::inline v0_1

#endif
