// Fuzzes checkpoint mechanisms by stage. A question is refused with a reason or gets an answer within the
// limits, with no impossible mechanism, and a bound below it. The order of the stages makes no difference,
// and a new choice under other interruptions is such an answer, too.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "goodput/availability/stage_checkpoints.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

constexpr std::size_t most_stages = 30;

Interruptions interruptions_from(fuzz::Bytes& record) {
    Interruptions read{.per_hour = record.scale(1e-2, 1e3), .off_seconds = record.number(0, 600)};
    if (record.flag()) read.shape = std::numeric_limits<double>::infinity();
    return read;
}

/// Decodes records. The first two describe what is shared and how it is interrupted. Each further one is a
/// stage, a mechanism of the last stage, or repeats the last stage a few times.
class Decoder {
public:
    explicit Decoder(fuzz::Bytes bytes) : bytes_(bytes) {
        fuzz::Bytes head = bytes_.record();
        bytes_.let_in_hostile(head.integer(0, 3) == 3);
        const std::size_t mechanisms = 1 + head.index(6);
        for (std::size_t m = 0; m < mechanisms; ++m) question.mechanisms.push_back("m" + std::to_string(m));
        options.gap = head.pick(std::array{1e-6, 0.0, 1e-3, 0.5});
        options.most_states = std::size_t{1} << head.index(12);
        if (head.flag()) question.memory_gib = head.number(0, 64);
        if (head.flag()) question.gib_per_second = head.number(0, 64);
        fuzz::Bytes power = bytes_.record();
        question.interruptions = interruptions_from(power);
        observed = interruptions_from(power);
        while (!bytes_.empty() && question.stages.size() < most_stages) add(bytes_.record());
    }

    StageCheckpointQuestion question{};
    Interruptions observed{};
    AllotOptions options{};

private:
    void add(fuzz::Bytes record) {
        const std::size_t kind = record.index(8);
        if (kind < 2 || question.stages.empty()) {
            question.stages.push_back({.name = "stage " + std::to_string(question.stages.size()),
                                       .work_seconds = record.scale(1e-3, 1e5)});
            question.stages.back().mechanisms.resize(question.mechanisms.size() -
                                                     (kind == 1 && record.flag()));
        } else if (kind < 7) {
            std::vector<StageMechanism>& its = question.stages.back().mechanisms;
            if (its.empty()) return;
            StageMechanism& one = its[record.index(its.size())];
            one.offered = record.index(16) != 15;
            one.extra_seconds = record.number(0, 100);
            one.unsaved_seconds = record.number(0, 1000);
            one.atomic_seconds = kind == 6 ? record.number(0, 1000) : 0;
            one.restore_seconds = record.number(0, 100);
            one.memory_gib = record.number(0, 16);
            one.gib_per_second = record.number(0, 16);
        } else {
            const CheckpointedStage copy = question.stages.back();
            for (std::size_t more = record.index(6); more > 0 && question.stages.size() < most_stages; --more)
                question.stages.push_back(copy);
        }
    }

    fuzz::Bytes bytes_;
};

void check_answer(const StageCheckpointQuestion& question, const StageCheckpoints& answer,
                  const AllotOptions& options) {
    check(!explain_stage_checkpoints(question, answer).empty(), "a sentence says something");
    check(std::isfinite(answer.seconds) && std::isfinite(answer.bound), "seconds are numbers", answer.seconds,
          answer.bound);
    check(answer.seconds_per_gib >= 0 && answer.seconds_per_bandwidth >= 0, "prices", answer.seconds_per_gib,
          answer.seconds_per_bandwidth);
    if (!found_allotment(answer.status)) {
        check(answer.mechanism.empty(), "no answer, no choice");
        check(!answer.single, "a single mechanism would be an answer");
        return;
    }
    check(answer.mechanism.size() == question.stages.size(), "a mechanism for every stage");
    check(answer.bound <= answer.seconds, "the bound", answer.bound, answer.seconds);
    if (answer.status == AllotStatus::optimal)
        check(answer.gap() <= (options.gap + 1e-9) * answer.seconds, "what is proven is so", answer.gap(),
              answer.seconds);
    double memory = 0, bandwidth = 0, seconds = 0;
    for (std::size_t s = 0; s < question.stages.size(); ++s) {
        const StageMechanism& its = question.stages[s].mechanisms[answer.mechanism[s]];
        check(its.offered && fits_live_period(its, question.interruptions), "what is chosen is possible");
        memory += its.memory_gib;
        bandwidth += its.gib_per_second;
        seconds += expected_stage_seconds(question.stages[s].work_seconds, its, question.interruptions);
    }
    check(std::abs(seconds - answer.seconds) <= 1e-9 * seconds, "seconds add up", seconds, answer.seconds);
    check(!question.memory_gib || memory <= *question.memory_gib * (1 + 1e-9), "memory", memory);
    check(!question.gib_per_second || bandwidth <= *question.gib_per_second * (1 + 1e-9), "bandwidth",
          bandwidth);
    if (answer.single)
        check(answer.single->seconds >= answer.bound * (1 - 1e-9),
              "a single mechanism is no better than the bound", answer.single->seconds, answer.bound);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Decoder asked(fuzz::Bytes(data, size));
    const StageCheckpointQuestion& question = asked.question;
    if (!fuzz::accepted([&] { question.validate(); })) {
        check(!fuzz::accepted([&] { (void)choose_stage_checkpoints(question, asked.options); }),
              "what is refused once is refused everywhere");
        return 0;
    }
    const StageCheckpoints answer = choose_stage_checkpoints(question, asked.options);
    check_answer(question, answer, asked.options);
    StageCheckpointQuestion turned = question;
    std::ranges::reverse(turned.stages);
    const StageCheckpoints other = choose_stage_checkpoints(turned, asked.options);
    check(other.seconds == answer.seconds && other.bound == answer.bound, "the order of stages says nothing",
          other.seconds, answer.seconds);
    if (answer.mechanism.empty()) return 0;
    fuzz::accepted([&] {
        const StageCheckpointChange change =
            choose_stage_checkpoints_again(question, answer.mechanism, asked.observed, asked.options);
        StageCheckpointQuestion now = question;
        now.interruptions = asked.observed;
        check_answer(now, change.answer, asked.options);
        if (change.seconds_before)
            check(change.answer.seconds <= *change.seconds_before * (1 + 1e-9), "a new choice is no worse",
                  change.answer.seconds, *change.seconds_before);
    });
    return 0;
}
