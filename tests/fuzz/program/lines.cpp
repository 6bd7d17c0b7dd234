// Fuzzes LineService. It either refuses the options or answers every line with one document, and a second
// service with the same options gives the same answers. The first line holds the options.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "claims.hpp"
#include "goodput/line_service.hpp"
#include "json_mutation.hpp"

namespace {

using fuzz::Json;

const fuzz::Format format{
    {"command",     "policy",      "policy_options", "explain", "advise", "strict",   "warm",
     "relax",       "p",           "time_s",         "nodes",   "name",   "gpu_type", "gpus",
     "jobs",        "submitted_s", "batch",          "initial", "max",    "local",    "rate",
     "capacity",    "options",     "value",          "use",     "must",   "samples",  "step_s",
     "local_batch", "predict"},
    {"plan", "allot", "fit", "share", "sia", "goodput", "fifo", "T4"}};

/// Returns the answers without what differs from run to run; none if the options are refused.
std::vector<Json> answers_to(const std::vector<std::string>& lines) {
    std::vector<Json> answers;
    try {
        goodput::LineService service(lines.front());
        for (std::size_t i = 1; i < lines.size(); ++i)
            answers.push_back(fuzz::untimed(Json::parse(service.answer(lines[i]))));
    } catch (const std::invalid_argument&) {
        if (!answers.empty()) fuzz::fail("only options are refused by an exception", lines, answers);
    }
    return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::vector<std::string> lines = fuzz::lines_of(text);
    // A fuzz target must not write files.
    if (lines.empty() || lines.front().find("memory") != std::string::npos ||
        lines.front().find("proof") != std::string::npos)
        return -1;
    const std::vector<Json> answers = answers_to(lines);
    for (const Json& answer : answers)
        if (!answer.is_object()) fuzz::fail("every answer is an object", lines, answer);
    if (answers_to(lines) != answers) fuzz::fail("the same lines get the same answers", lines, answers);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
    return fuzz::mutate_json_lines(data, size, most, seed, format);
}
