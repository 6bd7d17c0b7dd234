#ifndef GOODPUT_AVAILABILITY_STAGE_CHECKPOINTS_HPP
#define GOODPUT_AVAILABILITY_STAGE_CHECKPOINTS_HPP

// Chooses a checkpoint mechanism for each stage (or layer) of a job, so that a job that is interrupted ends
// as soon as possible. The checkpoints of all stages share an amount of memory and the bandwidth of a
// storage.
//
// Let t_lm be the expected seconds of stage l under mechanism m (checkpointed_stage.hpp), and x_lm be 1 if
// the stage uses it, else 0. The problem is
//
//     min sum t_lm x_lm   s.t.   sum memory_lm x_lm <= memory,   sum bandwidth_lm x_lm <= bandwidth,
//     one mechanism per stage,
//
// which is a multiple-choice knapsack with two rows. It is solved as an allotment problem whose jobs are
// the stages, each of which must run. An option's value is minus the time that it loses compared with the
// stage's best option, so that nothing depends on the total length of the stages. MII (IEEE TCAD 43(11),
// 2024) searches the same choices exhaustively offline, and again when the available energy changes. This
// header does not decide which job to run next so that a shutdown of the device loses little.
//
// Times may differ by hundreds of orders of magnitude between mechanisms, because expected seconds grow
// exponentially. An option that loses more time than a known answer cannot be part of a better answer. It
// is left out, and the rest is solved again, so that rounding errors are relative to the remaining times.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/availability/detail/stage_choice.hpp"
#include "goodput/availability/stage_question.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// Chooses the mechanism of each stage with the least expected seconds in total. `options` are those of the
/// allotment solver; its gap is relative to the expected seconds. A deadline or limit holds for each call
/// of the solver; one call suffices unless numbers differ by many orders of magnitude. The order of stages
/// makes no difference. StageCheckpointQuestion::validate() says which input is rejected. Problems that are
/// only hard or infeasible do not throw.
[[nodiscard]] StageCheckpoints choose_stage_checkpoints(const StageCheckpointQuestion& question,
                                                        const AllotOptions& options = {.gap = 1e-6});

/// Chooses again under the `observed` interruptions instead of those of the question, for a job that now
/// runs with the mechanisms `before` (by stage). Keeps these mechanisms if they are proven to be within the
/// requested gap. A test for changes, such as InterruptionWatch, decides when to call this. Throws
/// std::invalid_argument if `before` has the wrong length or unknown mechanisms.
[[nodiscard]] StageCheckpointChange choose_stage_checkpoints_again(
    const StageCheckpointQuestion& question, std::span<const std::size_t> before,
    const Interruptions& observed, const AllotOptions& options = {.gap = 1e-6});

/// Explains the choice in a sentence: how often each mechanism is used, the seconds compared with the best
/// single mechanism, what is proven, and what more memory or bandwidth would save. If there is no answer,
/// says what prevents it.
[[nodiscard]] std::string explain_stage_checkpoints(const StageCheckpointQuestion& question,
                                                    const StageCheckpoints& answer);

namespace detail {

inline std::string quoted(const std::string& name) { return "'" + name + "'"; }

/// Returns a text such as "'per tile' at 12 of 20 stages, 'none' at 8", the most frequent first.
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

/// Says how much time a larger limit would save, if any. The increase is given as a fraction of the limit,
/// because useful amounts depend on the device.
inline std::string stage_limit_text(std::string_view what, std::string_view unit,
                                    const std::optional<double>& limit, double price) {
    if (!limit || !(price > 0)) return {};
    const bool is_zero = *limit == 0;
    return "; " + (is_zero ? "the first " + std::string(unit) + " of " : std::string("1 % more ")) +
           std::string(what) + " would save about " + rounded_text_of(price * (is_zero ? 1 : *limit / 100)) +
           " s";
}

/// Returns a text such as ": 34.5 s expected (proven to be the least), 12 % less than with 'per layer'
/// everywhere; ...".
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

/// Returns the reason why a stage cannot be done, or an empty text if it can.
inline std::string why_no_stage_mechanism(const StageCheckpointQuestion& question,
                                          const StageCheckpoints& answer, std::size_t stage) {
    const std::string name = "stage " + quoted(question.stages[stage].name);
    auto offered = std::ranges::count_if(question.stages[stage].mechanisms,
                                         [](const StageMechanism& effects) { return effects.offered; });
    if (offered == 0) return name + " is offered no mechanism";
    const ImpossibleMechanism* least = nullptr;
    for (const ImpossibleMechanism& one : answer.impossible) {
        if (one.stage != stage) continue;
        --offered;
        if (!least || one.part_seconds < least->part_seconds) least = &one;
    }
    if (offered > 0) return {};
    return name + " would never be done: even with " + quoted(question.mechanisms[least->mechanism]) + " " +
           rounded_text_of(least->part_seconds) + " s have to fit into a live period of " +
           rounded_text_of(answer.live_seconds) + " s";
}

/// If the smallest possible mechanisms together exceed a limit, says how much they take of it; otherwise
/// returns an empty text.
inline std::string why_beyond_limit(const StageCheckpointQuestion& question, const StageCheckpoints& answer,
                                    std::string_view what, std::string_view unit,
                                    const std::optional<double>& limit, double StageMechanism::*amount) {
    double sum = 0;
    auto impossible = answer.impossible.begin();
    for (std::size_t s = 0; s < question.stages.size(); ++s) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t m = 0; m < question.mechanisms.size(); ++m) {
            const StageMechanism& effects = question.stages[s].mechanisms[m];
            if (impossible != answer.impossible.end() && impossible->stage == s && impossible->mechanism == m)
                ++impossible;
            else if (effects.offered)
                least = std::min(least, effects.*amount);
        }
        sum += least;
    }
    if (!limit || sum <= *limit) return {};
    return "even the leanest mechanisms take " + rounded_text_of(sum) + " " + std::string(unit) + " of " +
           std::string(what) + ", and the limit is " + rounded_text_of(*limit);
}

/// Returns what prevents an answer.
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

}  // namespace detail

inline StageCheckpoints choose_stage_checkpoints(const StageCheckpointQuestion& question,
                                                 const AllotOptions& options) {
    question.validate();
    return detail::StageChoice(question).solve(options);
}

inline StageCheckpointChange choose_stage_checkpoints_again(const StageCheckpointQuestion& question,
                                                            std::span<const std::size_t> before,
                                                            const Interruptions& observed,
                                                            const AllotOptions& options) {
    StageCheckpointQuestion now = question;
    now.interruptions = observed;
    now.validate();
    if (before.size() != now.stages.size())
        bad_input("stage checkpoints", "number of mechanisms before", before.size(),
                  "the number of stages, " + text_of(now.stages.size()));
    for (std::size_t s = 0; s < before.size(); ++s)
        if (before[s] >= now.mechanisms.size())
            bad_input("stage '" + now.stages[s].name + "'", "mechanism before", before[s],
                      "below the number of mechanisms, " + text_of(now.mechanisms.size()));
    detail::StageChoice choice(now);
    StageCheckpointChange change{choice.solve(options), choice.seconds_of(before)};
    if (change.seconds_before &&
        (change.answer.mechanism.empty() ||
         *change.seconds_before - change.answer.bound <= options.gap * change.answer.bound ||
         *change.seconds_before <= change.answer.seconds))
        choice.put(before, *change.seconds_before, change.answer);
    return change;
}

inline std::string explain_stage_checkpoints(const StageCheckpointQuestion& question,
                                             const StageCheckpoints& answer) {
    if (answer.mechanism.empty() && !question.stages.empty())
        return detail::why_no_stage_checkpoints(question, answer);
    return detail::stage_mechanism_counts(question, answer) + detail::stage_seconds_text(question, answer);
}

}  // namespace goodput::inline v0_1

#endif
