#ifndef GOODPUT_CORE_SHORT_NAMES_HPP
#define GOODPUT_CORE_SHORT_NAMES_HPP

// What the JSON formats and the C interface call the members of the library's types, where they call them
// otherwise: for messages to those who know nothing of C++.

#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "goodput/core/error.hpp"

namespace goodput {

/// The short name of a field of BadInput; the field itself where it has no other.
[[nodiscard]] inline std::string_view short_name_of(std::string_view field) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 26> names{
        {{"sample.shape.nodes", "samples.nodes"},
         {"sample.shape.gpus", "samples.gpus"},
         {"sample.plan.atomic_batch", "samples.local_batch"},
         {"sample.plan.accumulation_steps", "samples.accumulation"},
         {"sample.step_seconds", "samples.step_s"},
         {"sample.sync_seconds", "samples.sync_s"},
         {"sample.host.cores_per_gpu", "samples.cores_per_gpu"},
         {"sample.host.memory_gib_per_gpu", "samples.memory_gib_per_gpu"},
         {"gradient.squared_norm", "gradient.sqr"},
         {"gradient.variance", "gradient.var"},
         {"submitted_seconds", "submitted_s"},
         {"restart_cost_seconds", "restart_cost_s"},
         {"attained_gpu_seconds", "attained_gpu_s"},
         {"checkpoint_seconds", "checkpoint_s"},
         {"pause_seconds", "pause_s"},
         {"write_seconds", "write_s"},
         {"restore_seconds", "restore_s"},
         {"dollars_per_hour", "price_h"},
         {"interruptions_per_hour", "interruptions_h"},
         {"start_seconds", "start_s"},
         {"most_nodes", "most"},
         {"time_seconds", "time_s"},
         {"interruptions.per_hour", "interruptions_h"},
         {"interruptions.off_seconds", "off_s"},
         {"work_seconds", "work_s"},
         {"extra_seconds", "extra_s"}}};
    for (const auto& [ours, theirs] : names)
        if (field == ours) return theirs;
    return field;
}

/// What an exception says, with the short name of the field where it is a BadInput.
[[nodiscard]] inline std::string text_in_short_names(const std::exception& error) {
    const auto* bad = dynamic_cast<const BadInput*>(&error);
    if (!bad) return error.what();
    return BadInput(bad->subject, short_name_of(bad->field), bad->value, bad->expected).what();
}

}  // namespace goodput

#endif
