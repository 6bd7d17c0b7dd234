#ifndef GOODPUT_TESTS_AVAILABILITY_STAGE_RANDOM_HPP
#define GOODPUT_TESTS_AVAILABILITY_STAGE_RANDOM_HPP

// Random questions about checkpoint mechanisms by stage, some of them hard.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/stage_checkpoints.hpp"
#include "support/random.hpp"

namespace support {

/// The kind of a random question.
enum class StageKind {
    training,     ///< stages of different lengths; mechanisms from lean and wasteful to rich and quick
    correlated,   ///< richer mechanisms are faster, nearly in proportion: no option stands out
    alike,        ///< few kinds of stages, whole GiB
    tight,        ///< limits just above the use of the leanest mechanisms
    independent,  ///< times, memory and bandwidth are independent
    far_apart     ///< from microseconds to years, from bytes to terabytes, in one question
};

inline constexpr std::pair<StageKind, const char*> stage_kinds[] = {{StageKind::training, "training"},
                                                                    {StageKind::correlated, "correlated"},
                                                                    {StageKind::alike, "alike"},
                                                                    {StageKind::tight, "tight"},
                                                                    {StageKind::independent, "independent"},
                                                                    {StageKind::far_apart, "far apart"}};

inline double random_scale(Random& random, double low, double high) {
    return low * std::exp(random.unit() * std::log(high / low));
}

/// Returns how much of a limit a choice by stage uses.
template <class Choose>
double taken_by_stages(const goodput::StageCheckpointQuestion& question,
                       double goodput::StageMechanism::*amount, Choose choose) {
    double taken = 0;
    for (const goodput::CheckpointedStage& stage : question.stages) taken += choose(stage).*amount;
    return taken;
}

/// Puts limits at a fraction of the way from the use of the leanest mechanisms to that of the fastest ones.
inline void limit_stages(goodput::StageCheckpointQuestion& question, double memory, double bandwidth) {
    const auto at = [&](double goodput::StageMechanism::*amount, double part) {
        const double least = taken_by_stages(question, amount, [&](const goodput::CheckpointedStage& stage) {
            return *std::ranges::min_element(stage.mechanisms, {},
                                             [&](const auto& its) { return its.*amount; });
        });
        const double fastest =
            taken_by_stages(question, amount, [&](const goodput::CheckpointedStage& stage) {
                return *std::ranges::min_element(stage.mechanisms, {}, [&](const auto& its) {
                    return goodput::expected_stage_seconds(stage.work_seconds, its, question.interruptions);
                });
            });
        return least + part * (fastest - least);
    };
    question.memory_gib = at(&goodput::StageMechanism::memory_gib, memory);
    question.gib_per_second = at(&goodput::StageMechanism::gib_per_second, bandwidth);
}

/// A stage of a training job. Mechanisms go from slow storage without memory over host memory to replicas.
inline goodput::CheckpointedStage random_training_stage(Random& random, std::size_t mechanisms) {
    goodput::CheckpointedStage stage{.work_seconds = random_scale(random, 20, 2000)};
    const double state = random_scale(random, 0.5, 50);  // GiB
    for (std::size_t m = 0; m < mechanisms; ++m) {
        const double richness = static_cast<double>(m) / static_cast<double>(mechanisms);
        goodput::StageMechanism its;
        const double saves = std::floor(random_scale(random, 1, 2 + 40 * richness));
        its.extra_seconds = saves * state / random_scale(random, 5, 50);
        its.unsaved_seconds = (stage.work_seconds + its.extra_seconds) / saves;
        its.restore_seconds = state / random_scale(random, 1, 20);
        its.memory_gib = m == 0 ? 0 : state * richness * random.between(0.5, 2);
        its.gib_per_second = saves * state / stage.work_seconds * random.between(0.5, 1);
        stage.mechanisms.push_back(its);
    }
    return stage;
}

inline goodput::CheckpointedStage random_hard_stage(Random& random, std::size_t mechanisms, StageKind kind) {
    goodput::CheckpointedStage stage;
    if (kind == StageKind::far_apart) stage.work_seconds = random_scale(random, 1e-6, 1e8);
    for (std::size_t m = 0; m < mechanisms; ++m) {
        goodput::StageMechanism its;
        its.memory_gib = random.integer(1, 1000);
        its.gib_per_second = random.integer(1, 1000);
        const double sum = its.memory_gib + its.gib_per_second;
        its.extra_seconds =
            kind == StageKind::correlated ? 2100 - sum + random.integer(0, 20) : random.between(1, 1000);
        if (kind == StageKind::far_apart) {
            its.memory_gib = random_scale(random, 1e-9, 1e4);
            its.gib_per_second = random_scale(random, 1e-9, 1e4);
            its.unsaved_seconds = random_scale(random, 1e-6, 1e5);
        }
        stage.mechanisms.push_back(its);
    }
    return stage;
}

/// Makes some mechanisms impossible: not offered, or with a part that does not fit into a live period.
inline void forbid_some(Random& random, goodput::StageCheckpointQuestion& question) {
    const double part = random.chance(0.5) ? 0.1 : 0.0;
    const double live = goodput::live_seconds(question.interruptions);
    for (goodput::CheckpointedStage& stage : question.stages)
        for (goodput::StageMechanism& its : stage.mechanisms) {
            if (random.chance(part)) its.offered = false;
            if (random.chance(part)) its.atomic_seconds = live * random.between(0.5, 2);
        }
}

/// Makes a question of that kind, with random limits if both count.
inline goodput::StageCheckpointQuestion random_stages(Random& random, std::size_t stages,
                                                      std::size_t mechanisms, StageKind kind) {
    goodput::StageCheckpointQuestion question;
    for (std::size_t m = 0; m < mechanisms; ++m)
        question.mechanisms.push_back("mechanism " + std::to_string(m));
    question.interruptions = {.per_hour = random_scale(random, 0.2, 4),
                              .off_seconds = random.between(0, 600)};
    for (std::size_t s = 0; s < stages; ++s) {
        if (kind == StageKind::alike && s >= 8) {
            question.stages.push_back(question.stages[static_cast<std::size_t>(random.integer(0, 7))]);
            continue;
        }
        const bool hard =
            kind == StageKind::correlated || kind == StageKind::independent || kind == StageKind::far_apart;
        question.stages.push_back(hard ? random_hard_stage(random, mechanisms, kind)
                                       : random_training_stage(random, mechanisms));
        if (kind == StageKind::alike)
            for (goodput::StageMechanism& its : question.stages.back().mechanisms) {
                its.memory_gib = std::ceil(its.memory_gib);
                its.gib_per_second = std::ceil(its.gib_per_second);
            }
    }
    if (kind == StageKind::tight)
        limit_stages(question, random.between(0.05, 0.15), random.between(0.2, 0.4));
    else
        limit_stages(question, random.between(0.3, 0.9), random.between(0.6, 0.95));
    for (std::size_t s = 0; s < stages; ++s) question.stages[s].name = "stage " + std::to_string(s);
    return question;
}

}  // namespace support

#endif
