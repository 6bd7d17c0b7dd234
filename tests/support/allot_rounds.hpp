#ifndef GOODPUT_TESTS_SUPPORT_ALLOT_ROUNDS_HPP
#define GOODPUT_TESTS_SUPPORT_ALLOT_ROUNDS_HPP

// Reads recorded rounds from a gzip file. Each line is an allotment problem in the format of `goodput allot`,
// with the objective that a general solver reached.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/allot/problem.hpp"

namespace support {

struct RecordedRound {
    goodput::AllotmentProblem problem;
    double gap = 1e-4;
    double reference_objective = 0;
};

/// Returns the problem of one line.
inline goodput::AllotmentProblem problem_of(const nlohmann::json& line) {
    goodput::AllotmentProblem problem;
    problem.capacity = line.at("capacity").get<std::vector<double>>();
    std::vector<goodput::ResourceUse> uses;
    for (const auto& job : line.at("jobs")) {
        problem.add_job(job.value("must", false));
        for (const auto& option : job.at("options")) {
            uses.clear();
            for (const auto& use : option.at("use"))
                uses.push_back({use.at(0).get<std::uint32_t>(), use.at(1).get<double>()});
            problem.add_option(option.at("value").get<double>(), uses);
        }
    }
    return problem;
}

inline std::vector<RecordedRound> read_rounds(const std::string& path) {
    const std::string command = "gzip -dc '" + path + "'";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    if (!pipe) throw std::runtime_error("cannot run " + command);
    std::string text;
    char buffer[1 << 16];
    while (const std::size_t bytes = std::fread(buffer, 1, sizeof buffer, pipe.get()))
        text.append(buffer, bytes);
    std::vector<RecordedRound> rounds;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const auto line = nlohmann::json::parse(text.substr(begin, end - begin));
        begin = end + 1;
        rounds.push_back({problem_of(line), line.at("gap").get<double>(),
                          line.at("reference").at("objective").get<double>()});
    }
    if (rounds.empty()) throw std::runtime_error(path + " holds no round");
    return rounds;
}

}  // namespace support

#endif
