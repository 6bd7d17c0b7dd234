#ifndef GOODPUT_PARALLEL_DETAIL_STAGE_SENTENCES_HPP
#define GOODPUT_PARALLEL_DETAIL_STAGE_SENTENCES_HPP

// Sentences about the choice of mechanisms by stage (parallel/stage_checkpoints.hpp).

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/parallel/stage_question.hpp"

namespace goodput::detail {

inline std::string quoted(const std::string& name) { return "'" + name + "'"; }

/// "'per tile' at 12 of 20 stages, 'none' at 8", the most frequent first.
inline std::string stage_mechanism_counts(const StageCheckpointQuestion& question,
                                          const StageCheckpoints& answer) {
    std::vector<std::size_t> count(question.mechanisms.size(), 0), order(count.size());
    for (const std::size_t m : answer.mechanism) ++count[m];
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return count[a] > count[b]; });
    std::string text;
    for (const std::size_t m : order) {
        if (count[m] == 0) break;
        text += (text.empty() ? "" : ", ") + quoted(question.mechanisms[m]) + " at " + text_of(count[m]);
        if (m == order.front())
            text += " of " + text_of(question.stages.size()) +
                    (question.stages.size() == 1 ? " stage" : " stages");
    }
    return text.empty() ? "no stages" : text;
}

/// What more of a limit would save, if anything: a part of it, because its size is the device's.
inline std::string stage_limit_text(std::string_view what, std::string_view unit,
                                    const std::optional<double>& limit, double price) {
    if (!limit || !(price > 0)) return {};
    const bool none = *limit == 0;
    return "; " + (none ? "the first " + std::string(unit) + " of " : std::string("1 % more ")) +
           std::string(what) + " would save about " + rounded_text_of(price * (none ? 1 : *limit / 100)) +
           " s";
}

/// ": 34.5 s expected (proven to be the least), 12 % less than with 'per layer' everywhere; ...".
inline std::string stage_seconds_text(const StageCheckpointQuestion& question,
                                      const StageCheckpoints& answer) {
    std::string text = ": " + rounded_text_of(answer.seconds) + " s expected (";
    text += answer.gap() <= 1e-9 * answer.seconds
                ? "proven to be the least"
                : "at most " + rounded_text_of(answer.gap()) + " s above the least";
    text += ")";
    if (question.stages.empty()) return text;
    if (!answer.single)
        text += ", and no single mechanism would do for all stages";
    else if (answer.single->seconds > answer.seconds)
        text += ", " + rounded_text_of(100 * (1 - answer.seconds / answer.single->seconds)) +
                " % less than with " + quoted(question.mechanisms[answer.single->mechanism]) + " everywhere";
    return text + stage_limit_text("memory", "GiB", question.memory_gib, answer.seconds_per_gib) +
           stage_limit_text("bandwidth", "GiB/s", question.gib_per_second, answer.seconds_per_bandwidth);
}

/// Why a stage cannot be done, if it cannot; empty else.
inline std::string why_no_stage_mechanism(const StageCheckpointQuestion& question,
                                          const StageCheckpoints& answer, std::size_t stage) {
    const auto offered = std::ranges::count_if(question.stages[stage].mechanisms,
                                               [](const StageMechanism& its) { return its.offered; });
    const auto is_its = [&](const ImpossibleMechanism& one) { return one.stage == stage; };
    if (offered == 0) return "stage " + quoted(question.stages[stage].name) + " is offered no mechanism";
    if (std::ranges::count_if(answer.impossible, is_its) < offered) return {};
    const ImpossibleMechanism* least = nullptr;
    for (const ImpossibleMechanism& one : answer.impossible)
        if (is_its(one) && (!least || one.part_seconds < least->part_seconds)) least = &one;
    return "stage " + quoted(question.stages[stage].name) + " would never be done: even with " +
           quoted(question.mechanisms[least->mechanism]) + " " + rounded_text_of(least->part_seconds) +
           " s have to fit into a live period of " + rounded_text_of(answer.live_seconds) + " s";
}

/// What the leanest mechanisms that are possible take of a limit, if that is more than there is; empty else.
inline std::string why_beyond_limit(const StageCheckpointQuestion& question, const StageCheckpoints& answer,
                                    std::string_view what, std::string_view unit,
                                    const std::optional<double>& limit, double StageMechanism::*amount) {
    double sum = 0;
    auto impossible = answer.impossible.begin();
    for (std::size_t s = 0; s < question.stages.size(); ++s) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t m = 0; m < question.mechanisms.size(); ++m) {
            const bool skipped =
                impossible != answer.impossible.end() && impossible->stage == s && impossible->mechanism == m;
            if (skipped)
                ++impossible;
            else if (question.stages[s].mechanisms[m].offered)
                least = std::min(least, question.stages[s].mechanisms[m].*amount);
        }
        sum += least;
    }
    if (!limit || sum <= *limit) return {};
    return "even the leanest mechanisms take " + rounded_text_of(sum) + " " + std::string(unit) + " of " +
           std::string(what) + ", and the limit is " + rounded_text_of(*limit);
}

/// What stands in the way of an answer.
inline std::string why_no_stage_checkpoints(const StageCheckpointQuestion& question,
                                            const StageCheckpoints& answer) {
    for (std::size_t s = 0; s < question.stages.size(); ++s)
        if (std::string why = why_no_stage_mechanism(question, answer, s); !why.empty()) return why;
    if (std::string why = why_beyond_limit(question, answer, "memory", "GiB", question.memory_gib,
                                           &StageMechanism::memory_gib);
        !why.empty())
        return why;
    if (std::string why = why_beyond_limit(question, answer, "bandwidth", "GiB/s", question.gib_per_second,
                                           &StageMechanism::gib_per_second);
        !why.empty())
        return why;
    if (answer.status == AllotStatus::infeasible)
        return "the limits of memory and bandwidth cannot both be kept";
    return "no choice within the limits was found before the search ended, and none was excluded";
}

}  // namespace goodput::detail

#endif
