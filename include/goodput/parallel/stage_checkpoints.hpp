#ifndef GOODPUT_PARALLEL_STAGE_CHECKPOINTS_HPP
#define GOODPUT_PARALLEL_STAGE_CHECKPOINTS_HPP

// Which checkpoint mechanism for each stage (or layer) of a job, so that the job is done soonest where it is
// interrupted, while the checkpoints of all stages share a memory and a storage's bandwidth?
//
// With t_lm the expected seconds of stage l under mechanism m (checkpointed_stage.hpp) it is
//
//     min sum t_lm x_lm   s.t.   sum memory_lm x_lm <= memory,   sum bandwidth_lm x_lm <= bandwidth,
//     one mechanism a stage,
//
// a multiple-choice knapsack with two rows: an allotment problem whose jobs are the stages, each of which
// must run. What an option is worth is what it loses, in seconds, against the stage's best, so that nothing
// depends on how long the stages take in all. MII (IEEE TCAD 43(11), 2024) searches the same choices
// exhaustively offline, and again when its energy is not what it was. Not here: which job to run next, so as
// to lose little when the device shuts down.
//
// Mechanisms may be apart by hundreds of orders of magnitude, since expected seconds grow exponentially. An
// option that loses more than an answer that is known cannot be part of a better one; it is left out, and
// what remains is solved anew with roundings of its own size.

#include <cstddef>
#include <span>
#include <string>

#include "goodput/allot/result.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/parallel/detail/stage_choice.hpp"
#include "goodput/parallel/detail/stage_sentences.hpp"
#include "goodput/parallel/stage_question.hpp"

namespace goodput {

/// The mechanism of each stage with the least expected seconds in all. `options` are the allotment solver's,
/// with the gap relative to the expected seconds; a deadline or limit holds for each of its calls, of which
/// there is one but for numbers many orders of magnitude apart. The order of stages does not matter. Bad
/// input: see StageCheckpointQuestion::validate(). Nothing that is merely hard or impossible throws.
[[nodiscard]] StageCheckpoints choose_stage_checkpoints(const StageCheckpointQuestion& question,
                                                        const AllotOptions& options = {.gap = 1e-6});

/// The same under `observed` interruptions instead of those of the question, for a job that runs with the
/// mechanisms `before` (by stage). It keeps them where they are proven to be within the gap asked for. When
/// interruptions have changed is for a test of change to say. `before` of another length or of unknown
/// mechanisms: std::invalid_argument.
[[nodiscard]] StageCheckpointChange choose_stage_checkpoints_again(
    const StageCheckpointQuestion& question, std::span<const std::size_t> before,
    const Interruptions& observed, const AllotOptions& options = {.gap = 1e-6});

/// What was chosen and why, in a sentence: how often each mechanism, the seconds against those of the best
/// single mechanism, what is proven, and what more memory or bandwidth would save. Where there is no answer,
/// what stands in its way.
[[nodiscard]] std::string explain_stage_checkpoints(const StageCheckpointQuestion& question,
                                                    const StageCheckpoints& answer);

// ---------------------------------------------------------------------------------------------------------

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

}  // namespace goodput

#endif
