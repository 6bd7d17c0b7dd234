// Tests `goodput replay --world tasks` with traces that can be computed by hand.

#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_tasks {

using support::Program;

Program::End replay_tasks(std::vector<std::string> options) {
    options.insert(options.begin(), {GOODPUT_PROGRAM, "replay", "--world", "tasks", "--json"});
    return Program(std::move(options)).finish();
}

TEST_CASE("tasks: a job of equal tasks takes as many turns as the cluster needs, whatever the estimates") {
    const support::Folder folder;
    const std::string trace = folder.write(
        "tasks.jsonl", R"({"name": "a", "kind": "sweep", "tasks": [60, 60, 60, 60, 60, 60, 60, 60]})"
                       "\n");
    const Program::End end = replay_tasks({"--workload", trace, "--cluster", "gpu:4x1"});
    REQUIRE_MESSAGE(end.status == 0, end.errors);
    std::istringstream lines(end.output);
    std::vector<std::string> policies;
    for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        policies.push_back(row["policy"]);
        CHECK(row["completed"] == 1);
        CHECK(row["average_jct_h"].get<double>() * 3600 == doctest::Approx(120));
    }
    CHECK(policies == std::vector<std::string>{"history", "own", "combined"});
}

TEST_CASE("tasks: after its pilot the shorter of two jobs goes first") {
    const support::Folder folder;
    std::string text;
    for (const auto& [name, seconds] : {std::pair{"long", "600"}, {"short", "60"}}) {
        text += std::string(R"({"name": ")") + name + R"(", "tasks": [)";
        for (int task = 0; task < 20; ++task) text += (task > 0 ? "," : "") + std::string(seconds);
        text += "]}\n";
    }
    const std::string trace = folder.write("tasks.jsonl", text);
    const Program::End end =
        replay_tasks({"--workload", trace, "--cluster", "gpu:2x1", "--policy", "own", "--jobs"});
    REQUIRE_MESSAGE(end.status == 0, end.errors);
    const auto row = nlohmann::json::parse(end.output);
    double longer = 0, shorter = 0;
    for (const auto& job : row["completions"])
        (job["name"] == "long" ? longer : shorter) = job["completion_h"].get<double>() * 3600;
    // There are 13,200 seconds of work on two GPUs. The short job waits only for the other's pilot.
    CHECK(longer >= 6600);
    CHECK(longer <= 7200);
    CHECK(shorter <= 60 * 20 + 60);
}

TEST_CASE("tasks: bad traces and options of other worlds are refused by name") {
    const support::Folder folder;
    const auto refused = [&](const std::string& text, const std::string& word,
                             std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"--workload", folder.write("tasks.jsonl", text)});
        const Program::End end = replay_tasks(std::move(more));
        INFO(text, ": ", end.errors);
        CHECK(end.status != 0);
        CHECK(end.errors.find(word) != std::string::npos);
    };
    const std::string good = R"({"name": "a", "tasks": [60]})";
    refused(R"({"name": "a"})", "tasks");
    refused(R"({"name": "a", "tasks": []})", "tasks");
    refused(R"({"name": "a", "tasks": [-1]})", "tasks");
    refused(R"({"tasks": [60]})", "name");
    refused(good + "\n" + good, "a");
    refused(good, "shortest", {"--policy", "shortest"});
    refused(good, "--checkpoints", {"--checkpoints", "free"});
    const Program::End none = replay_tasks({});
    CHECK(none.status != 0);
    CHECK(none.errors.find("--workload") != std::string::npos);
}

}  // namespace cli_tasks
