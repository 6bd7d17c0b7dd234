// Properties of mechanisms by stage: more memory or bandwidth is never worse, more interruptions are never
// better, units and useless further mechanisms make no difference, and the certificate holds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "availability/stage_random.hpp"
#include "goodput/availability/stage_checkpoints.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;

namespace {

StageCheckpointQuestion random_stage_question(Case& one) {
    const auto kind = support::stage_kinds[static_cast<std::size_t>(one.random.integer(0, 5))].first;
    const auto stages = static_cast<std::size_t>(one.random.integer(1, 30)),
               mechanisms = static_cast<std::size_t>(one.random.integer(1, 6));
    StageCheckpointQuestion question = support::random_stages(one.random, stages, mechanisms, kind);
    support::forbid_some(one.random, question);
    return question;
}

StageCheckpoints choice_of(Case& one, const StageCheckpointQuestion& question) {
    const StageCheckpoints answer =
        choose_stage_checkpoints(question, {.gap = 1e-6, .most_states = std::size_t{1} << 14});
    if (answer.status == AllotStatus::unknown) throw properties::NoVerdict{"without an answer in time"};
    if (answer.status == AllotStatus::infeasible) one.count("infeasible");
    return answer;
}

/// Whether the first is proven to be no better than the second, up to rounding.
bool no_better(const StageCheckpoints& first, const StageCheckpoints& second) {
    if (first.status == AllotStatus::infeasible) return true;
    return second.status != AllotStatus::infeasible && first.seconds >= second.bound * (1 - 1e-9);
}

}  // namespace

TEST_CASE("stage checkpoints: an answer is within the limits, and its bound is below it") {
    for_all(5, [](Case& one) {
        const StageCheckpointQuestion question = random_stage_question(one);
        const StageCheckpoints answer = choice_of(one, question);
        REQUIRE(!explain_stage_checkpoints(question, answer).empty());
        REQUIRE(answer.bound <= answer.seconds);
        if (answer.status == AllotStatus::infeasible) return;
        double seconds = 0, memory = 0, bandwidth = 0, least = 0;
        for (std::size_t s = 0; s < question.stages.size(); ++s) {
            const CheckpointedStage& stage = question.stages[s];
            const StageMechanism& its = stage.mechanisms[answer.mechanism[s]];
            REQUIRE(its.offered);
            REQUIRE(fits_live_period(its, question.interruptions));
            seconds += expected_stage_seconds(stage.work_seconds, its, question.interruptions);
            memory += its.memory_gib;
            bandwidth += its.gib_per_second;
            double best = seconds;
            for (const StageMechanism& other : stage.mechanisms)
                if (other.offered && fits_live_period(other, question.interruptions))
                    best = std::min(
                        best, expected_stage_seconds(stage.work_seconds, other, question.interruptions));
            least += best;
        }
        REQUIRE(std::abs(seconds - answer.seconds) <= 1e-9 * seconds);
        REQUIRE(memory <= *question.memory_gib * (1 + 1e-9));
        REQUIRE(bandwidth <= *question.gib_per_second * (1 + 1e-9));
        REQUIRE(answer.bound >= least * (1 - 1e-9));
        if (answer.status == AllotStatus::optimal) REQUIRE(answer.gap() <= 1e-6 * answer.seconds);
        if (answer.single) REQUIRE(answer.single->seconds >= answer.bound * (1 - 1e-9));
    });
}

TEST_CASE("stage checkpoints: more of a limit is never worse, and more interruptions are never better") {
    for_all(5, [](Case& one) {
        StageCheckpointQuestion question = random_stage_question(one);
        const StageCheckpoints answer = choice_of(one, question);
        StageCheckpointQuestion roomy = question, rough = question;
        (one.random.chance(0.5) ? roomy.memory_gib : roomy.gib_per_second).value() *=
            one.random.between(1, 3);
        REQUIRE(no_better(answer, choice_of(one, roomy)));
        rough.interruptions.per_hour *= one.random.between(1, 3);
        rough.interruptions.off_seconds *= one.random.between(1, 3);
        REQUIRE(no_better(choice_of(one, rough), answer));
    });
}

TEST_CASE("stage checkpoints: a mechanism that is never better than another one changes nothing") {
    for_all(5, [](Case& one) {
        const StageCheckpointQuestion question = random_stage_question(one);
        StageCheckpointQuestion more = question;
        more.mechanisms.push_back("worse");
        for (CheckpointedStage& stage : more.stages) {
            StageMechanism worse = stage.mechanisms[static_cast<std::size_t>(
                one.random.integer(0, static_cast<int>(question.mechanisms.size()) - 1))];
            worse.extra_seconds *= one.random.between(1, 2);
            worse.restore_seconds *= one.random.between(1, 2);
            worse.memory_gib *= one.random.between(1, 2);
            stage.mechanisms.push_back(worse);
        }
        const StageCheckpoints answer = choice_of(one, question), other = choice_of(one, more);
        REQUIRE(no_better(answer, other));
        REQUIRE(no_better(other, answer));
    });
}

TEST_CASE("stage checkpoints: seconds in another unit, a power of two, are the same choice") {
    for_all(5, [](Case& one) {
        const StageCheckpointQuestion question = random_stage_question(one);
        StageCheckpointQuestion scaled = question;
        const double factor = std::ldexp(1.0, one.random.integer(-40, 40));
        scaled.interruptions.per_hour /= factor;
        scaled.interruptions.off_seconds *= factor;
        for (CheckpointedStage& stage : scaled.stages) {
            stage.work_seconds *= factor;
            for (StageMechanism& its : stage.mechanisms)
                for (double StageMechanism::*const seconds :
                     {&StageMechanism::extra_seconds, &StageMechanism::unsaved_seconds,
                      &StageMechanism::restore_seconds, &StageMechanism::atomic_seconds})
                    its.*seconds *= factor;
        }
        const StageCheckpoints answer = choice_of(one, question), other = choice_of(one, scaled);
        REQUIRE(other.mechanism == answer.mechanism);
        REQUIRE(other.seconds == factor * answer.seconds);
        REQUIRE(other.bound == factor * answer.bound);
        REQUIRE(other.seconds_per_gib == factor * answer.seconds_per_gib);
    });
}
