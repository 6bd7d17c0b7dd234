#include "json/agent_lines.hpp"

#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "json/json_parse.hpp"
#include "json/names.hpp"

namespace cli {

using goodput::text_of;

std::string json_text(std::string_view text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string line_of(const goodput::TrainingReport& report) {
    const goodput::ThroughputSample& sample = report.sample;
    const goodput::GradientStatistics& gradient = report.gradient;
    std::string line = "{\"gpu_type\": " + json_text(report.gpu_type);
    const auto add = [&line](std::string_view field, const std::string& value) {
        line.append(", \"").append(field).append("\": ").append(value);
    };
    add("nodes", text_of(sample.shape.nodes));
    add("gpus", text_of(sample.shape.gpus));
    add("local_batch", text_of(sample.plan.atomic_batch));
    add("accumulation", text_of(sample.plan.accumulation_steps));
    add(sample.whole_iteration ? "iteration_s" : "step_s", text_of(sample.step_seconds));
    if (sample.sync_known) add("sync_s", text_of(sample.sync_seconds));
    if (goodput::measured_gradient(gradient))
        add("gradient",
            "{\"sqr\": " + text_of(gradient.squared_norm) + ", \"var\": " + text_of(gradient.variance) + "}");
    if (report.start_seconds) add("start_s", text_of(*report.start_seconds));
    if (report.gpu_utilisation) add("gpu_utilisation", text_of(*report.gpu_utilisation));
    return line + "}";
}

std::optional<goodput::BatchPlan> read_plan(std::string_view text) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return std::nullopt;
    constexpr std::string_view subject = "plan file";
    std::vector<std::string> twice;
    Json document;
    try {
        document = parse_json(text, twice);
    } catch (const Json::exception&) {
        goodput::bad_input(subject, "text", std::string_view(shortened(std::string(text), 80)), "JSON");
    }
    const Field field(document, subject);
    goodput::BatchPlan plan{.atomic_batch = field["local_batch"].count(1, 1 << 30)};
    field["accumulation"].into(plan.accumulation_steps, 0, 1 << 20);
    return plan;
}

}  // namespace cli
