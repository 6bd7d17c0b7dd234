// Tests `goodput replay --world elasticflow`: what it prints, what it refuses, and that it agrees with the
// published simulator.

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_elasticflow {

using Json = nlohmann::ordered_json;
using support::Program;
using Options = std::vector<std::string>;

Program::End replay(const Options& options) {
    Options command{GOODPUT_PROGRAM, "replay", "--world", "elasticflow"};
    command.insert(command.end(), options.begin(), options.end());
    return Program(std::move(command)).finish();
}

std::map<std::string, Json> answers_of(Options options) {
    options.insert(options.end(), {"--json", "--jobs"});
    const Program::End end = replay(options);
    REQUIRE_MESSAGE(end.status == 0, end.errors);
    std::map<std::string, Json> answers;
    std::istringstream stream(end.output);
    for (std::string line; std::getline(stream, line);) {
        const Json answer = Json::parse(line);
        answers[answer["policy"]] = answer;
    }
    return answers;
}

/// Three jobs. No cluster could end the second one in time, and the third has no deadline.
struct Files : support::Folder {
    std::string trace = write("trace.json", R"({"job_columns": ["i", "submit", "iterations", "model", "batch",
        "deadline", "best_effort"], "gpu_type": "A100", "cluster": {"nodes": 1, "gpus_per_node": 4}, "slot_s": 60,
        "jobs": [[0, 0, 3600, "m", 8, 3000, 0], [1, 100, 36000, "m", 8, 400, 0], [2, 1000, 3600, "m", 8, 0, 1]]})");
    std::string speeds = write("throughputs.json", R"({"A100": {"m": {"8": {"gpus": [1, 2, 4, 8],
        "iterations_per_s": [1, 2, 3, null], "max_gpu_ef": 4, "max_gpu_other": 4}}}})");

    Options options(Options more = {}) const {
        more.insert(more.begin(), {"--workload", trace, "--profiles", speeds});
        return more;
    }
};

TEST_CASE("separate fields say which jobs are admitted and which deadlines are met") {
    const Files files;
    const auto answers = answers_of(files.options());
    REQUIRE(answers.size() == 4);
    for (const auto& [policy, answer] : answers) {
        const std::string& of = policy;  // clang++ 14 captures no structured bindings
        CAPTURE(of);
        const bool admission = policy.find("-accessctrl") != std::string::npos;
        CHECK(answer["admitted"] == (admission ? 2 : 3));
        CHECK(answer["completed"] == answer["admitted"]);
        CHECK(answer["completions"][1]["admitted"] == !admission);
        CHECK(answer["completions"][1]["deadline_met"] == false);
        CHECK(answer["completions"][2]["deadline_met"] == false);
    }
    CHECK(answers.at("ef-accessctrl")["deadlines_met"] == 1);
    CHECK(answers.at("ef-accessctrl")["deadlines_work_done"] == 1);
    CHECK(answers.at("edf")["deadlines_met"] == 0);
}

TEST_CASE("the folder of the speeds suffices, and other policies run if they are named") {
    const Files files;
    const auto answers =
        answers_of({"--workload", files.trace, "--profiles", files.path(), "--policy",
                    "goodput,ef-accessctrl-fixed,ef-accessctrl-margin,ef-accessctrl-fixed-margin"});
    CHECK(answers.size() == 4);
    CHECK(answers.at("goodput")["completed"] == 2);
    CHECK(replay(files.options()).output.find("deadlines met") != std::string::npos);
}

TEST_CASE("another load moves deadlines with submissions") {
    const Files files;
    const auto answers = answers_of(files.options({"--load", "4", "--policy", "ef-accessctrl"}));
    CHECK(answers.at("ef-accessctrl")["completions"][0]["deadline_met"] == true);
    CHECK(answers.at("ef-accessctrl")["admitted"] == 2);
}

TEST_CASE("invalid input is refused in a sentence") {
    const Files files;
    const auto refused = [](const Options& options, const std::string& sentence) {
        const Program::End end = replay(options);
        CHECK(end.status != 0);
        CHECK_MESSAGE(end.errors.find(sentence) != std::string::npos, end.errors);
    };
    refused({"--workload", files.trace}, "--profiles");
    refused(files.options({"--cluster", "A100:1x4,T4:1x4"}), "number of GPU types is 2, but must be 1");
    refused(files.options({"--interval", "0.5"}), "seconds is 0.5");
    refused(files.options({"--policy", "ef?"}), "there is no policy 'ef?' in the world elasticflow");
    refused({"--workload", files.write("none.json", R"({"job_columns": ["i"], "jobs": []})"), "--profiles",
             files.speeds},
            "a list with 'submit'");
    refused(files.options({"--cluster", "T4:1x4"}), "throughputs.json");
}

TEST_SUITE_BEGIN("data");

TEST_CASE("the program counts as the published simulator does") {
    const std::string folder = std::string(GOODPUT_DATA_DIR) + "/elasticflow/";
    const auto answers = answers_of({"--workload", folder + "t195.json", "--profiles", folder});
    std::ifstream file(folder + "t195.json");
    const Json published = Json::parse(file);
    int compared = 0;
    for (const Json& result : published["results"]) {
        const auto answer = answers.find(result["policy"]);
        if (answer == answers.end()) continue;
        const Json& totals = result["totals"];
        CAPTURE(answer->first);
        CHECK(answer->second["deadlines_met"] == totals["met"]);
        CHECK(answer->second["admitted"] == totals["of"].get<int>() - totals["refused"].get<int>());
        CHECK(answer->second["deadlines_work_done"] == totals["work_done_by_deadline"]);
        CHECK(answer->second["average_jct_h"].get<double>() * 3600 ==
              doctest::Approx(totals["average_jct_s"].get<double>()).epsilon(1e-6));
        ++compared;
    }
    CHECK(compared == 4);
}

TEST_SUITE_END();

}  // namespace cli_elasticflow
