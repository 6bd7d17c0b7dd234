#ifndef GOODPUT_TESTS_AVAILABILITY_STAGE_ORACLE_HPP
#define GOODPUT_TESTS_AVAILABILITY_STAGE_ORACLE_HPP

// Computes the seconds of a choice of mechanisms by stage with formulas of its own, finds the best choice by
// trying all, and simulates a job that runs through its stages.

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/availability/stage_checkpoints.hpp"
#include "support/random.hpp"

namespace support {

/// Returns the expected seconds of a stage with random interruptions (Daly 2006, equation 20, plus time off),
/// or infinity if the mechanism is impossible.
inline double stage_seconds_at_random(const goodput::CheckpointedStage& stage, std::size_t m,
                                      const goodput::Interruptions& interruptions) {
    const goodput::StageMechanism& its = stage.mechanisms[m];
    const double rate = interruptions.per_hour / 3600, live = 1 / rate;
    if (!its.offered || its.restore_seconds + its.atomic_seconds > live * (1 + 1e-12))
        return std::numeric_limits<double>::infinity();
    const double running = stage.work_seconds + its.extra_seconds;
    const double tries = std::exp(rate * its.restore_seconds) * (live + interruptions.off_seconds) * running;
    return its.unsaved_seconds == 0 ? tries * rate
                                    : tries * std::expm1(rate * its.unsaved_seconds) / its.unsaved_seconds;
}

/// Returns the expected seconds of a choice, or nothing if it is impossible or beyond the limits.
inline std::optional<double> stage_choice_seconds(const goodput::StageCheckpointQuestion& question,
                                                  std::span<const std::size_t> choice,
                                                  bool with_memory_limit = true,
                                                  bool with_bandwidth_limit = true) {
    double seconds = 0, memory = 0, bandwidth = 0;
    for (std::size_t s = 0; s < question.stages.size(); ++s) {
        const goodput::StageMechanism& its = question.stages[s].mechanisms[choice[s]];
        seconds += stage_seconds_at_random(question.stages[s], choice[s], question.interruptions);
        memory += its.memory_gib;
        bandwidth += its.gib_per_second;
    }
    constexpr double rounding = 1 + 1e-12;
    if (!(seconds < 1e140)) return std::nullopt;
    if (with_memory_limit && question.memory_gib && memory > *question.memory_gib * rounding)
        return std::nullopt;
    if (with_bandwidth_limit && question.gib_per_second && bandwidth > *question.gib_per_second * rounding)
        return std::nullopt;
    return seconds;
}

struct StageOptimum {
    std::optional<double> seconds{};  ///< empty if no choice is within the limits
    bool both_limits_bind = false;    ///< true if dropping either limit would lower the seconds
};

/// Finds the least seconds of all choices.
inline StageOptimum best_stage_choice(const goodput::StageCheckpointQuestion& question) {
    StageOptimum best;
    std::optional<double> without_memory, without_bandwidth;
    const auto take = [](std::optional<double>& least, std::optional<double> seconds) {
        if (seconds && (!least || *seconds < *least)) least = seconds;
    };
    std::vector<std::size_t> choice(question.stages.size(), 0);
    for (;;) {
        take(best.seconds, stage_choice_seconds(question, choice));
        take(without_memory, stage_choice_seconds(question, choice, false, true));
        take(without_bandwidth, stage_choice_seconds(question, choice, true, false));
        std::size_t s = 0;
        while (s < choice.size() && ++choice[s] == question.mechanisms.size()) choice[s++] = 0;
        if (s == choice.size()) break;
    }
    best.both_limits_bind = best.seconds && without_memory && without_bandwidth &&
                            *without_memory < *best.seconds && *without_bandwidth < *best.seconds;
    return best;
}

/// Simulates one run through all stages, each with its first mechanism, and returns its seconds.
inline double simulated_stage_seconds(Random& random, std::span<const goodput::CheckpointedStage> stages,
                                      const goodput::Interruptions& interruptions) {
    double now = 0;
    double left = 0;  // rest of the live period
    const auto next_live = [&] { left = -std::log1p(-random.unit()) * 3600 / interruptions.per_hour; };
    next_live();
    // Time off, then restoring, which may be interrupted again.
    const auto restore = [&](double seconds) {
        for (;;) {
            now += interruptions.off_seconds;
            next_live();
            if (left >= seconds) break;
            now += left;
        }
        now += seconds;
        left -= seconds;
    };
    for (const goodput::CheckpointedStage& stage : stages) {
        const goodput::StageMechanism& its = stage.mechanisms[0];
        double to_do = stage.work_seconds + its.extra_seconds;
        while (to_do > 1e-9) {
            const double part = its.unsaved_seconds > 0 ? std::min(its.unsaved_seconds, to_do) : to_do;
            if (left >= part) {
                now += part;
                left -= part;
                to_do -= part;
                continue;
            }
            now += left;
            if (its.unsaved_seconds == 0) to_do -= left;
            restore(its.restore_seconds);
        }
    }
    return now;
}

}  // namespace support

#endif
