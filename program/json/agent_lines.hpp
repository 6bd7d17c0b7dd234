#ifndef GOODPUT_PROGRAM_JSON_AGENT_LINES_HPP
#define GOODPUT_PROGRAM_JSON_AGENT_LINES_HPP

// The two lines of JSON by which a training run and a scheduler communicate: what the training run reports,
// and the batch plan that it gets.
//
//     {"gpu_type": "t4", "nodes": 1, "gpus": 4, "local_batch": 64, "accumulation": 0, "step_s": 0.21,
//      "sync_s": 0.05, "gradient": {"sqr": 1.2, "var": 40.1}, "start_s": 21.5, "gpu_utilisation": 0.74}
//     {"local_batch": 128, "accumulation": 1}

#include <optional>
#include <string>
#include <string_view>

#include "goodput/agent/training_agent.hpp"
#include "goodput/core/configuration.hpp"

namespace cli {

/// Returns a text as JSON writes it, in quotes. Replaces bytes that are not UTF-8.
[[nodiscard]] std::string json_text(std::string_view text);

/// Returns a report without the end of its line. It has sync_s, start_s and gpu_utilisation only if they are
/// known, and the gradient only if there is one.
[[nodiscard]] std::string line_of(const goodput::TrainingReport& report);

/// Reads a plan file, and skips unknown fields. Returns nothing for a blank text, because no plan has been
/// made yet. Throws std::invalid_argument for anything but a JSON object, for one without local_batch, and
/// for numbers out of range. Without "accumulation", it is 0.
[[nodiscard]] std::optional<goodput::BatchPlan> read_plan(std::string_view text);

}  // namespace cli

#endif
