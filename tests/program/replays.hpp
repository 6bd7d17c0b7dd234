#ifndef GOODPUT_TESTS_PROGRAM_REPLAYS_HPP
#define GOODPUT_TESTS_PROGRAM_REPLAYS_HPP

// Runs `goodput replay`.

#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/program.hpp"

#include <doctest/doctest.h>

namespace support {

inline Program::End replay(const std::vector<std::string>& first, const std::vector<std::string>& options) {
    std::vector<std::string> all{GOODPUT_PROGRAM, "replay"};
    all.insert(all.end(), first.begin(), first.end());
    all.insert(all.end(), options.begin(), options.end());
    return Program(std::move(all)).finish();
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Returns the answers of --json, without what differs from run to run.
inline std::vector<nlohmann::ordered_json> answers_of(const Program::End& end) {
    REQUIRE_MESSAGE(end.status == 0, end.errors);
    std::vector<nlohmann::ordered_json> answers;
    for (const std::string& line : lines_of(end.output)) {
        answers.push_back(nlohmann::ordered_json::parse(line));
        for (const char* timed : {"policy_ms_median", "policy_ms_p99", "policy_s"})
            answers.back().erase(timed);
    }
    return answers;
}

}  // namespace support

#endif
