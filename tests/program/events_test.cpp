// Tests `goodput replay --events`, which reads from a file what happens to a cluster.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/replays.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_events {

using Json = nlohmann::ordered_json;
using support::Program;

const std::string header = "time,event,subject,gpu_type,gpus\n";

Program::End replay(const std::vector<std::string>& options) {
    return support::replay({"--policy", "sia", "--json"}, options);
}

/// Returns the answer for a file of events, without what differs from run to run.
Json answer_of(const std::string& events, std::vector<std::string> options = {}) {
    const support::Folder folder;
    options.insert(options.end(), {"--events", folder.write("events.csv", events)});
    const Program::End end = replay(options);
    REQUIRE_MESSAGE(end.status == 0, end.errors);
    Json answer = Json::parse(end.output);
    for (const char* time : {"policy_ms_median", "policy_ms_p99", "policy_s"}) answer.erase(time);
    return answer;
}

TEST_CASE("failures cost time, and a file without events changes nothing") {
    Json usual = Json::parse(replay({}).output);
    for (const char* time : {"policy_ms_median", "policy_ms_p99", "policy_s"}) usual.erase(time);
    CHECK(answer_of(header) == usual);
    // The columns may be in another order.
    CHECK(answer_of("subject,event,gpus,gpu_type,time\nT4-0,node_returns,,,100\n") == usual);

    std::string failures = header;
    for (int hour = 1; hour < 6; ++hour)
        for (int node = 0; node < 2; ++node) {
            const std::string name = "A100-" + std::to_string(node);
            failures += std::to_string(3600 * hour) + ",node_fails," + name + ",,\n";
            failures += std::to_string(3600 * hour + 1800) + ",node_returns," + name + ",,\n";
        }
    const Json failing = answer_of(failures);
    CHECK(failing["completed"] == 160);
    CHECK(failing["failures_per_job"].get<double>() > 0.05);
    CHECK(failing["average_jct_h"].get<double>() > 1.05 * usual["average_jct_h"].get<double>());
}

TEST_CASE("GPUs that come later are used, even those of a new type") {
    const std::vector<std::string> cluster{"--cluster", "T4:4x4"};
    const double usual = answer_of(header, cluster)["average_jct_h"].get<double>();
    const double more = answer_of(header + "7200,node_added,new-0,A100,8\n7200,node_added,new-1,A100,8\n",
                                  cluster)["average_jct_h"]
                            .get<double>();
    CHECK(more < 0.5 * usual);
}

TEST_CASE("events that make no sense are named with line, column and value, and the status is 1") {
    struct Case {
        std::string text;
        std::vector<std::string> says;
    };
    const std::vector<Case> cases{
        {"", {"events.csv", "empty"}},
        {"time,event,subject,gpu_type\n1,node_fails,T4-0,\n", {"events.csv", "gpus"}},
        {header + "1,node_fails,T4-0\n", {"line 2", "cells"}},
        {header + "soon,node_fails,T4-0,,\n", {"line 2", "time is 'soon'"}},
        {header + "-1,node_fails,T4-0,,\n", {"line 2", "time is '-1'"}},
        {header + "1e300,node_fails,T4-0,,\n", {"line 2", "time is '1e300'", "at most"}},
        {header + "1,node_fails,T4-0,,\n\n2,node_explodes,T4-0,,\n", {"line 4", "event is 'node_explodes'"}},
        {header + "1,node_fails,T4-9,,\n", {"line 2", "subject is 'T4-9'", "node"}},
        {header + "1,job_fails,T4-0,,\n", {"line 2", "subject is 'T4-0'", "job"}},
        {header + "1,node_drains,T4-0,T4,\n", {"line 2", "gpu_type is 'T4'", "empty"}},
        {header + "1,job_fails,cifar10-0,,4\n", {"line 2", "gpus is '4'", "empty"}},
        {header + "1,node_added,new,T4,\n", {"line 2", "gpus is ''"}},
        {header + "1,node_added,new,T4,0\n", {"line 2", "gpus is '0'"}},
        {header + "1,node_added,new,,4\n", {"line 2", "gpu_type is ''"}},
        {header + "1,node_added,,T4,4\n", {"line 2", "subject is ''"}},
        {header + "1,node_added,T4-0,T4,4\n", {"line 2", "subject is 'T4-0'", "of its own"}},
        {header + "5,node_added,new,T4,4\n5,node_fails,new,,\n", {"line 3", "time is '5'", "after"}},
        {header + "0,node_added,new,T4,4\n0,node_fails,new,,\n", {"line 3", "time is '0'", "after"}},
    };
    for (const Case& bad : cases) {
        CAPTURE(bad.text);
        const support::Folder folder;
        const Program::End end = replay({"--events", folder.write("events.csv", bad.text)});
        CHECK(end.status == 1);
        CHECK(end.output == "");
        CAPTURE(end.errors);
        for (const std::string& word : bad.says) CHECK(end.errors.find(word) != std::string::npos);
    }
    const support::Folder folder;
    const Program::End type =
        replay({"--events", folder.write("events.csv", header + "1,node_added,new,TPU,4\n")});
    CHECK(type.status != 0);
    CHECK(type.errors.find("TPU") != std::string::npos);
    CHECK(replay({"--events", "/no/such/file.csv"}).status == 1);
    for (const char* seconds : {"0", "-5", "often", "nan"})
        CHECK(replay({"--checkpoint", seconds}).status == 2);
}

TEST_SUITE("data") {
    TEST_CASE("a published trace is replayed with events, and without any as if there were no such option") {
        const std::string folder = GOODPUT_DATA_DIR "/sia/";
        const std::vector<std::string> trace{"--workload", folder + "workloads/saturn/workload-1.csv",
                                             "--profiles", folder + "profiles"};
        Json usual = Json::parse(replay(trace).output);
        for (const char* time : {"policy_ms_median", "policy_ms_p99", "policy_s"}) usual.erase(time);
        CHECK(answer_of(header, trace) == usual);
        const Json answer = answer_of(header +
                                          "3600,node_fails,dgx-ext-0,,\n10800,node_returns,dgx-ext-0,,\n"
                                          "7200,node_drains,aws-1,,\n900,job_fails,cifar10-0,,\n"
                                          "14400,node_added,rtx-3,rtx,8\n",
                                      trace);
        CHECK(answer["completed"] == 160);
        CHECK(answer != usual);
    }
}

}  // namespace cli_events
