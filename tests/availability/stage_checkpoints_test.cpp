// A checkpoint mechanism for each stage: the best of all choices by brute force. Expected seconds
// agree with a simulation, the useful share of a job's time and MII's formula. What is impossible is
// named.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "availability/stage_oracle.hpp"
#include "availability/stage_random.hpp"
#include "goodput/availability/stage_checkpoints.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::best_stage_choice;
using support::Random;
using support::StageKind;

namespace {

/// Two stages, two mechanisms: 'none' loses much work, 'each' costs a second and a GiB.
StageCheckpointQuestion small_stage_question() {
    StageCheckpointQuestion question{.mechanisms = {"none", "each"},
                                     .interruptions = {.per_hour = 36, .off_seconds = 5},
                                     .memory_gib = 4.0,
                                     .gib_per_second = 4.0};
    for (const char* name : {"first", "second"})
        question.stages.push_back({.name = name,
                                   .work_seconds = 20,
                                   .mechanisms = {{.unsaved_seconds = 40, .restore_seconds = 1},
                                                  {.extra_seconds = 1,
                                                   .unsaved_seconds = 21,
                                                   .restore_seconds = 2,
                                                   .atomic_seconds = 21,
                                                   .memory_gib = 1,
                                                   .gib_per_second = 0.5}}});
    return question;
}

std::string refusal_of(const StageCheckpointQuestion& question) {
    try {
        (void)choose_stage_checkpoints(question);
    } catch (const std::invalid_argument& refused) {
        return refused.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("stages: of all choices within the limits the answer is one of the fastest, and proven to be") {
    int both_bind = 0, impossible = 0, infeasible = 0;
    for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
        Random random(seed);
        const auto kind = support::stage_kinds[static_cast<std::size_t>(random.integer(0, 5))].first;
        const auto stages = static_cast<std::size_t>(random.integer(1, 6)),
                   mechanisms = static_cast<std::size_t>(random.integer(1, 4));
        StageCheckpointQuestion question = support::random_stages(random, stages, mechanisms, kind);
        support::forbid_some(random, question);
        CAPTURE(seed);
        const StageCheckpoints answer = choose_stage_checkpoints(question, {.gap = 0});
        const support::StageOptimum best = best_stage_choice(question);
        REQUIRE((answer.status == AllotStatus::optimal) == best.seconds.has_value());
        impossible += answer.impossible.empty() ? 0 : 1;
        if (!best.seconds) {
            REQUIRE(answer.status == AllotStatus::infeasible);
            REQUIRE(answer.mechanism.empty());
            ++infeasible;
            continue;
        }
        REQUIRE(answer.seconds == doctest::Approx(*best.seconds).epsilon(1e-9));
        REQUIRE(answer.bound <= answer.seconds);
        REQUIRE(answer.bound >= *best.seconds * (1 - 1e-9));
        const std::optional<double> its = support::stage_choice_seconds(question, answer.mechanism);
        REQUIRE(its.has_value());
        REQUIRE(answer.seconds == doctest::Approx(*its).epsilon(1e-9));
        both_bind += best.both_limits_bind ? 1 : 0;
    }
    CHECK(both_bind >= 1000);
    CHECK(impossible >= 1000);
    CHECK(infeasible >= 300);
}

TEST_CASE("stages: the best single mechanism is the best of those that are within the limits") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        StageCheckpointQuestion question = support::random_stages(random, 5, 4, StageKind::training);
        support::forbid_some(random, question);
        std::optional<double> best;
        for (std::size_t m = 0; m < 4; ++m) {
            const std::vector<std::size_t> all(5, m);
            const std::optional<double> its = support::stage_choice_seconds(question, all);
            if (its && (!best || *its < *best)) best = its;
        }
        const StageCheckpoints answer = choose_stage_checkpoints(question, {.gap = 0});
        REQUIRE(answer.single.has_value() == best.has_value());
        if (best) REQUIRE(answer.single->seconds == doctest::Approx(*best).epsilon(1e-9));
        if (best) REQUIRE(answer.seconds <= *best * (1 + 1e-9));
    }
}

TEST_CASE("stages: expected seconds are those of a simulation, stage after stage") {
    const Interruptions interruptions{.per_hour = 30, .off_seconds = 40};
    const std::vector<CheckpointedStage> stages{
        {"whole", 90, {{.extra_seconds = 6, .unsaved_seconds = 96, .restore_seconds = 11}}},
        {"parts", 80, {{.extra_seconds = 10, .unsaved_seconds = 15, .restore_seconds = 5}}},
        {"in time", 50, {{.extra_seconds = 2, .unsaved_seconds = 0, .restore_seconds = 20}}}};
    double expected = 0;
    for (const CheckpointedStage& stage : stages)
        expected += expected_stage_seconds(stage.work_seconds, stage.mechanisms[0], interruptions);
    Random random(7);
    constexpr int runs = 60'000;
    double sum = 0, squares = 0;
    for (int run = 0; run < runs; ++run) {
        const double seconds = support::simulated_stage_seconds(random, stages, interruptions);
        sum += seconds;
        squares += seconds * seconds;
    }
    const double mean = sum / runs, deviation = std::sqrt((squares / runs - mean * mean) / runs);
    CHECK(std::abs(mean - expected) < 4 * deviation);
    CHECK(deviation < 0.01 * expected);
}

TEST_CASE("stages: a stage that repeats takes its work over the useful share of its time") {
    for (const double pause : {0.0, 1.0, 30.0})
        for (const double restore : {0.0, 20.0}) {
            const Interruptions interruptions{.per_hour = 5, .off_seconds = 100};
            const CheckpointMechanism saves{.pause_seconds = pause, .restore_seconds = restore};
            const double share = useful_share(interruptions, saves, 60);
            const StageMechanism stage{
                .extra_seconds = 10 * pause, .unsaved_seconds = 60 + pause, .restore_seconds = restore};
            CHECK(expected_stage_seconds(600, stage, interruptions) ==
                  doctest::Approx(600 / share).epsilon(1e-12));
        }
}

TEST_CASE("stages: where live periods are long, it is MII's formula") {
    const StageMechanism mechanism{.extra_seconds = 3, .unsaved_seconds = 20, .restore_seconds = 4};
    const double running = 50 + 3, lost = 20.0 / 2, off = 7;
    double before = 1;
    for (const double live : {1e4, 1e5, 1e6, 1e7}) {
        const double published = running + running / live * (4 + lost + off);
        const double ours =
            expected_stage_seconds(50, mechanism, {.per_hour = 3600 / live, .off_seconds = off});
        const double error = std::abs((ours - running) / (published - running) - 1);
        CHECK(error < before / 9);
        before = error;
    }
    CHECK(before < 1e-5);
    CHECK(expected_stage_seconds(50, mechanism, {}) == running);
}

TEST_CASE("stages: what does not fit into a live period is named, and never chosen") {
    StageCheckpointQuestion question = small_stage_question();
    question.stages[1].mechanisms[1].atomic_seconds = 98.5;  // plus 2 s to restore, out of 100 s
    StageCheckpoints answer = choose_stage_checkpoints(question);
    REQUIRE(answer.impossible.size() == 1);
    CHECK(answer.impossible[0].stage == 1);
    CHECK(answer.impossible[0].mechanism == 1);
    CHECK(answer.impossible[0].part_seconds == 100.5);
    CHECK(answer.live_seconds == 100);
    CHECK(answer.mechanism[1] == 0);
    question.stages[1].mechanisms[1].atomic_seconds = 98;
    CHECK(choose_stage_checkpoints(question).impossible.empty());

    question.stages[1].mechanisms[0].atomic_seconds = 120;
    question.stages[1].mechanisms[1].atomic_seconds = 110;
    answer = choose_stage_checkpoints(question);
    CHECK(answer.status == AllotStatus::infeasible);
    CHECK(answer.mechanism.empty());
    CHECK(answer.impossible.size() == 2);
    CHECK(explain_stage_checkpoints(question, answer) ==
          "stage 'second' would never be done: even with 'each' 112 s have to fit into a live period of 100 "
          "s");
    for (StageMechanism& its : question.stages[1].mechanisms) its.offered = false;
    answer = choose_stage_checkpoints(question);
    CHECK(explain_stage_checkpoints(question, answer) == "stage 'second' is offered no mechanism");
}

TEST_CASE("stages: limits that cannot be kept are named") {
    StageCheckpointQuestion question = small_stage_question();
    for (CheckpointedStage& stage : question.stages) stage.mechanisms[0].offered = false;
    question.memory_gib = 1.5;
    StageCheckpoints answer = choose_stage_checkpoints(question);
    CHECK(answer.status == AllotStatus::infeasible);
    CHECK(explain_stage_checkpoints(question, answer) ==
          "even the leanest mechanisms take 2 GiB of memory, and the limit is 1.5");
    question.memory_gib = std::nullopt;
    question.gib_per_second = 0;
    answer = choose_stage_checkpoints(question);
    CHECK(explain_stage_checkpoints(question, answer) ==
          "even the leanest mechanisms take 1 GiB/s of bandwidth, and the limit is 0");
    for (CheckpointedStage& stage : question.stages) {
        stage.mechanisms[0].offered = true;
        stage.mechanisms[0].memory_gib = 4;
    }
    question.memory_gib = 5;
    question.gib_per_second = 0.7;
    answer = choose_stage_checkpoints(question);
    CHECK(answer.status == AllotStatus::optimal);
    question.gib_per_second = 0.4;
    answer = choose_stage_checkpoints(question);
    CHECK(answer.status == AllotStatus::infeasible);
    CHECK(explain_stage_checkpoints(question, answer) ==
          "the limits of memory and bandwidth cannot both be kept");
}

TEST_CASE("stages: without limits each stage takes its fastest mechanism") {
    Random random(3);
    StageCheckpointQuestion question = support::random_stages(random, 50, 5, StageKind::training);
    question.memory_gib = question.gib_per_second = std::nullopt;
    const StageCheckpoints answer = choose_stage_checkpoints(question, {.gap = 0});
    CHECK(answer.seconds_per_gib == 0);
    CHECK(answer.seconds_per_bandwidth == 0);
    for (std::size_t s = 0; s < 50; ++s) {
        const auto seconds = [&](std::size_t m) {
            return expected_stage_seconds(question.stages[s].work_seconds, question.stages[s].mechanisms[m],
                                          question.interruptions);
        };
        for (std::size_t m = 0; m < 5; ++m) CHECK(seconds(answer.mechanism[s]) <= seconds(m));
    }
    CHECK(choose_stage_checkpoints({}).status == AllotStatus::optimal);
    CHECK(explain_stage_checkpoints({}, choose_stage_checkpoints({})) ==
          "no stages: 0 s expected (proven to be the least)");
}

TEST_CASE("stages: numbers of very different sizes do not blur each other") {
    // The first stage takes e^100 times as long with its second mechanism; the others differ by microseconds.
    StageCheckpointQuestion question{
        .mechanisms = {"a", "b"}, .interruptions = {.per_hour = 3600}, .memory_gib = 2.0};
    question.stages.push_back(
        {"huge", 100, {{.unsaved_seconds = 1, .memory_gib = 1}, {.unsaved_seconds = 100}}});
    for (const double saved : {1e-6, 3e-6, 2e-6})
        question.stages.push_back({"tiny", 1e-5, {{.memory_gib = 1}, {.extra_seconds = saved}}});
    const StageCheckpoints answer = choose_stage_checkpoints(question, {.gap = 0});
    CHECK(answer.status == AllotStatus::optimal);
    CHECK(answer.mechanism == std::vector<std::size_t>{0, 1, 0, 1});
}

TEST_CASE("stages: the order of stages and their names do not matter") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Random random(seed);
        const auto kind = support::stage_kinds[seed % 6].first;
        const StageCheckpointQuestion question = support::random_stages(random, 40, 4, kind);
        StageCheckpointQuestion turned = question;
        std::ranges::reverse(turned.stages);
        for (CheckpointedStage& stage : turned.stages) stage.name += "'";
        const AllotOptions options{.gap = 1e-5, .most_states = 1 << 12};
        const StageCheckpoints answer = choose_stage_checkpoints(question, options);
        StageCheckpoints other = choose_stage_checkpoints(turned, options);
        REQUIRE(other.seconds == answer.seconds);
        REQUIRE(other.bound == answer.bound);
        REQUIRE(other.memory_gib == answer.memory_gib);
        REQUIRE(other.seconds_per_gib == answer.seconds_per_gib);
        if (kind == StageKind::alike) continue;  // equal stages may swap mechanisms
        std::ranges::reverse(other.mechanism);
        REQUIRE(other.mechanism == answer.mechanism);
    }
}

TEST_CASE("stages: under other interruptions the choice is made again, and kept where it is as good") {
    const StageCheckpointQuestion question = small_stage_question();
    const StageCheckpoints answer = choose_stage_checkpoints(question);
    CHECK(answer.mechanism == std::vector<std::size_t>{1, 1});
    StageCheckpointChange change =
        choose_stage_checkpoints_again(question, answer.mechanism, question.interruptions);
    CHECK(change.answer.mechanism == answer.mechanism);
    CHECK(change.seconds_before == answer.seconds);

    change = choose_stage_checkpoints_again(question, answer.mechanism, {.per_hour = 0.1});
    CHECK(change.answer.mechanism == std::vector<std::size_t>{0, 0});
    REQUIRE(change.seconds_before.has_value());
    CHECK(change.answer.seconds < *change.seconds_before);
    StageCheckpointQuestion calm = question;
    calm.interruptions = {.per_hour = 0.1};
    CHECK(change.answer.seconds == choose_stage_checkpoints(calm).seconds);

    // A difference within the gap of a tenth is no reason to change.
    change = choose_stage_checkpoints_again(question, answer.mechanism, {.per_hour = 0.1}, {.gap = 0.1});
    CHECK(change.answer.mechanism == answer.mechanism);
    CHECK(change.answer.seconds == change.seconds_before);
    CHECK(change.answer.gap() <= 0.1 * change.answer.seconds);

    // Live periods of 22 s: 21 s of work and 2 s to restore no longer fit.
    change = choose_stage_checkpoints_again(question, answer.mechanism, {.per_hour = 3600.0 / 22});
    CHECK(!change.seconds_before.has_value());
    CHECK(change.answer.impossible.size() == 2);

    CHECK_THROWS_WITH_AS((void)choose_stage_checkpoints_again(question, {}, {}),
                         "stage checkpoints: number of mechanisms before is 0, but must be the number of "
                         "stages, 2",
                         std::invalid_argument);
    const std::vector<std::size_t> unknown{0, 7};
    CHECK_THROWS_WITH_AS((void)choose_stage_checkpoints_again(question, unknown, {}),
                         "stage 'second': mechanism before is 7, but must be below the number of mechanisms, "
                         "2",
                         std::invalid_argument);
}

TEST_CASE("stages: a sentence says what was chosen, what it gains, and what more of a limit would save") {
    StageCheckpointQuestion question = small_stage_question();
    question.memory_gib = 1.0;
    const StageCheckpoints answer = choose_stage_checkpoints(question, {.gap = 0});
    const std::string text = explain_stage_checkpoints(question, answer);
    CHECK(text.starts_with("'none' at 1 of 2 stages, 'each' at 1: "));
    CHECK(text.find("s expected (proven to be the least), ") != std::string::npos);
    CHECK(text.find("% less than with 'none' everywhere; 1 % more memory would save about ") !=
          std::string::npos);
    CHECK(text.find("bandwidth") == std::string::npos);
}

TEST_CASE("stages: bad input is refused with stage, mechanism, field and value") {
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();
    for (const auto& [field, name] : {std::pair{&StageMechanism::extra_seconds, "extra_seconds"},
                                      std::pair{&StageMechanism::unsaved_seconds, "unsaved_seconds"},
                                      std::pair{&StageMechanism::restore_seconds, "restore_seconds"},
                                      std::pair{&StageMechanism::atomic_seconds, "atomic_seconds"},
                                      std::pair{&StageMechanism::memory_gib, "memory_gib"},
                                      std::pair{&StageMechanism::gib_per_second, "gib_per_s"}})
        for (const double bad : {nan, infinity, -1.0, 1e101}) {
            StageCheckpointQuestion question = small_stage_question();
            question.stages[1].mechanisms[1].*field = bad;
            CHECK(refusal_of(question) == "stage 'second', mechanism 1: " + std::string(name) + " is " +
                                              text_of(bad) + ", but must be from 0 to 1e+100");
        }
    StageCheckpointQuestion question = small_stage_question();
    question.stages[0].work_seconds = nan;
    CHECK(refusal_of(question) == "stage 'first': work_seconds is nan, but must be from 0 to 1e+100");
    question = small_stage_question();
    question.stages[0].mechanisms.pop_back();
    CHECK(refusal_of(question) ==
          "stage 'first': number of mechanisms is 1, but must be that of the question, 2");
    question = small_stage_question();
    question.memory_gib = -1;
    CHECK(refusal_of(question) == "stage checkpoints: memory_gib is -1, but must be from 0 to 1e+100");
    question = small_stage_question();
    question.gib_per_second = infinity;
    CHECK(refusal_of(question) == "stage checkpoints: gib_per_s is inf, but must be from 0 to 1e+100");
    question = small_stage_question();
    question.interruptions.per_hour = nan;
    CHECK(refusal_of(question).starts_with("stage checkpoints: interruptions.per_hour is nan"));
    question = small_stage_question();
    question.mechanisms.clear();
    CHECK(refusal_of(question) == "stage checkpoints: number of mechanisms is 0, but must be at least 1");
    CHECK_THROWS_AS((void)choose_stage_checkpoints(small_stage_question(), {.gap = nan}),
                    std::invalid_argument);
}
