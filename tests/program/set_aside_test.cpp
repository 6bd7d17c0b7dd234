// An invalid job or node of a line is set aside and named, and the rest is planned. The same holds for
// names that occur twice in an object. With --strict, the program refuses such lines.

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/round_lines.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_set_aside {

using support::Program;
using namespace support::rounds;

Program run(std::vector<std::string> options) {
    options.insert(options.begin(), {GOODPUT_PROGRAM, "plan"});
    return Program(std::move(options));
}

/// Returns a line with a running job, which a test spoils, and a waiting one.
Json two_jobs() {
    Json bad = job("bad");
    bad["placement"] = placement({{"aws-0", 2}});
    Json other = job("other");
    for (Json* each : {&bad, &other}) (*each)["batch"]["local"] = {{"aws", {32, 1024}}};
    return round_of(60, Json::array({node("aws", 0, 4), node("aws", 1, 4)}), Json::array({bad, other}));
}

bool runs_elsewhere(const Json& answer, const char* name) {
    for (const Json& share : entry(answer, name)["nodes"])
        if (share[0] == "aws-1") return true;
    return false;
}

TEST_CASE("a job with a field that makes no sense keeps what it holds, and the others are planned") {
    const std::vector<std::pair<std::string, Json>> spoiled{
        {"gradient", {{"sqr", -0.1}, {"var", 1}}},
        {"gpus", {0, 4}},
        {"batch", nullptr},
        {"submitted_s", "noon"},
        {"weight", -1},
        {"weight", 1e12},
        {"preemptible", "no"},
        {"adapt", 7},
        {"checkpoints", {{{"name", "full"}, {"pause_s", -1}}}},
        {"host", {{"cores_per_gpu", {4, 2}}}},
        {"samples", Json::array({sample("aws", {2, 1}, 64)})},
        {"placement", placement({{"aws-0", 2}, {"aws-9", 1}})}};
    for (const auto& [field, value] : spoiled) {
        Json line = two_jobs();
        line["jobs"][0][field] = value;
        if (field == "placement") line["jobs"][0]["preemptible"] = false;
        CAPTURE(line["jobs"][0].dump());
        Program program = run({"--explain"}), strict = run({"--strict"});
        const Json answer = Json::parse(program.ask(line.dump()));
        CAPTURE(answer.dump());
        REQUIRE(answer.contains("plan"));
        REQUIRE(answer["warnings"].size() == 1);
        const auto warning = answer["warnings"][0].get<std::string>();
        CHECK(warning.find("job 'bad'") == 0);
        CHECK(warning.ends_with("; it is left as it is"));
        CHECK(entry(answer, "bad")["nodes"] == Json::array({Json::array({"aws-0", 2})}));
        CHECK(entry(answer, "bad")["starts"] == "stays");
        CHECK(entry(answer, "bad")["why"].get<std::string>().find("set aside: ") != std::string::npos);
        CHECK(!entry(answer, "bad").contains("local_batch"));
        CHECK(!entry(answer, "other")["nodes"].empty());
        const Program::End end = program.finish();
        CHECK(end.status == 0);
        CHECK(end.errors.find("goodput: line 1: job 'bad'") == 0);
        const Json refused = Json::parse(strict.ask(line.dump()));
        REQUIRE(refused.contains("error"));
        CHECK(warning.find(refused["error"].get<std::string>()) == 0);
        CHECK(strict.finish().errors == "");
    }
}

TEST_CASE("NaN and infinity cost their job the round, and not the line") {
    Program program = run({});
    for (const char* number : {"NaN", "Infinity", "-Infinity"}) {
        std::string line = two_jobs().dump();
        line.insert(line.find(R"("name":"bad")"), R"("weight":)" + std::string(number) + ",");
        line.insert(line.find(R"("name":"other")"), R"("kind":"\"NaN\\","team":"Infinity",)");
        const Json answer = Json::parse(program.ask(line));
        REQUIRE_MESSAGE(answer.contains("plan"), answer.dump());
        CHECK(entry(answer, "bad")["why"].get<std::string>().find("weight is \"" + std::string(number) +
                                                                  "\"") != std::string::npos);
        CHECK_FALSE(entry(answer, "other")["nodes"].empty());
    }
    const std::string time = R"({"time_s": NaN, "nodes": [], "jobs": []})";
    CHECK(program.ask(time).find("time_s is \\\"NaN\\\"") != std::string::npos);
}

TEST_CASE("a job that was set aside continues unchanged once it is valid again") {
    Json line = two_jobs();
    line["jobs"][0]["samples"] = Json::array({sample("aws", {1, 2}, 64), sample("aws", {1, 1}, 64)});
    for (const char* models : {"separate", "refined"}) {
        Program program = run({"--models", models}), other = run({"--models", models});
        (void)program.ask(line.dump());
        (void)other.ask(line.dump());
        Json next = two_jobs();
        next["time_s"] = 120;
        Json bad = next;
        bad["jobs"][0]["gradient"] = {{"sqr", -0.1}, {"var", 1}};
        CHECK(Json::parse(program.ask(bad.dump())).contains("warnings"));
        next["time_s"] = 180;
        const Json after = Json::parse(program.ask(next.dump()));
        CHECK(after["plan"] == Json::parse(other.ask(next.dump()))["plan"]);
        CHECK(entry(after, "bad")["knowledge"] != "unknown");
    }
}

TEST_CASE("no new job comes to a node that makes no sense; a node or job without its own name is left out") {
    for (const auto& [field, value] : std::vector<std::pair<std::string, Json>>{
             {"gpus", 0}, {"gpus", "four"}, {"gpu_type", 7}, {"drained", "yes"}, {"cores", -1}}) {
        Json line = two_jobs();
        line["nodes"][0][field] = value;
        CAPTURE(line["nodes"][0].dump());
        Program program = run({});
        const Json answer = Json::parse(program.ask(line.dump()));
        CAPTURE(answer.dump());
        REQUIRE(answer["warnings"].size() == 2);
        CHECK(answer["warnings"][0].get<std::string>().find("node 'aws-0': " + field) == 0);
        CHECK(answer["warnings"][1].get<std::string>().find("job 'bad'") == 0);
        CHECK(entry(answer, "bad")["nodes"] == Json::array({Json::array({"aws-0", 2})}));
        CHECK(runs_elsewhere(answer, "other"));
    }
    Json line = two_jobs();
    line["nodes"].push_back(node("aws", 1, 8));
    line["jobs"].push_back(job("other"));
    line["jobs"].push_back(7);
    line["jobs"].push_back(Json{{"name", ""}});
    Program program = run({});
    const Json answer = Json::parse(program.ask(line.dump()));
    CAPTURE(answer.dump());
    CHECK(answer["warnings"].size() == 4);
    CHECK(answer["plan"].size() == 2);
    for (const Json& share : entry(answer, "other")["nodes"]) CHECK(share[1].get<int>() <= 4);
}

TEST_CASE("a name that occurs twice causes a warning, and is refused with --strict") {
    const std::string line = two_jobs().dump();
    const std::string twice = line.substr(0, line.size() - 1) + R"(,"jobs":[]})";
    Program program = run({}), strict = run({"--strict"});
    CHECK(Json::parse(program.ask(twice))["plan"].empty());
    CHECK(program.finish().errors ==
          "goodput: line 1: jobs is given twice, but must be given once: only the last one counts\n");
    CHECK(Json::parse(strict.ask(twice))["error"] ==
          "jobs is given twice, but must be given once: only the last one counts");
    CHECK(Json::parse(strict.ask(line)).contains("plan"));
    for (const auto& [command, text] : std::vector<std::pair<std::string, std::string>>{
             {"allot", R"({"capacity":[4],"capacity":[5],"jobs":[]})"},
             {"fit", R"({"samples":[],"samples":[]})"},
             {"share", R"({"objective":"max_min","gpus":{"a":1,"a":2},"jobs":[]})"}}) {
        Program other({GOODPUT_PROGRAM, command, "--strict"});
        CHECK(Json::parse(other.ask(text))["error"].get<std::string>().find("is given twice") !=
              std::string::npos);
    }
}

TEST_SUITE("data") {
    TEST_CASE("recorded lines: a node that shrank under a job, and a second list of jobs") {
        const auto last_line_of = [](const char* name) {
            std::ifstream file(std::string(GOODPUT_DATA_DIR "/cases/") + name);
            std::string line, last;
            while (std::getline(file, line)) last = line;
            return last;
        };
        Program program = run({}), strict = run({"--strict"});
        const std::string shrunk = last_line_of("c06_shrunk_node_True.jsonl");
        const Json answer = Json::parse(program.ask(shrunk));
        CHECK(answer["warnings"].size() == 1);
        CHECK(entry(answer, "e0")["nodes"] == Json::array({Json::array({"a", 8})}));
        CHECK(entry(answer, "e1")["nodes"][0][0] == "b");
        CHECK(Json::parse(strict.ask(shrunk)).contains("error"));
        const std::string twice = last_line_of("c10_dup_strict.jsonl");
        CHECK(Json::parse(strict.ask(twice)).contains("error"));
        CHECK(Json::parse(program.ask(twice)).contains("plan"));
        CHECK(program.finish().errors.find("jobs is given twice") != std::string::npos);
    }

    TEST_CASE("a quoted workload is replayed") {
        Program program({GOODPUT_PROGRAM, "replay", "--workload", GOODPUT_DATA_DIR "/cases/c11_rquoted.csv",
                         "--policy", "fifo", "--json"});
        const Program::End end = program.finish();
        CHECK(end.errors == "");
        CHECK(Json::parse(end.output)["completed"] == 1);
    }
}

TEST_CASE("without a completed job there is no average, and the output says so") {
    const support::Folder folder;
    const std::string workload = folder.write("huge.csv",
                                              "name,time,application,num_replicas,batch_size\n"
                                              "a,0,cifar10,16,256\n");
    const auto replay = [&](std::vector<std::string> more) {
        std::vector<std::string> options{GOODPUT_PROGRAM, "replay", "--workload", workload,
                                         "--policy",      "fifo",   "--cluster",  "aws:1x4"};
        options.insert(options.end(), more.begin(), more.end());
        return Program(options).finish();
    };
    const Json figures = Json::parse(replay({"--json"}).output);
    REQUIRE(figures["completed"] == 0);
    for (const char* name : {"average_jct_h", "median_jct_h", "p99_jct_h", "makespan_h", "rho_mean",
                             "rho_p99", "rho_above_1", "rho_worst", "unfair"})
        CHECK(figures[name].is_null());
    const std::string text = replay({}).output;
    CAPTURE(text);
    CHECK(text.find("none") != std::string::npos);
    CHECK(text.find("not complete are 1 of 1 under fifo.") != std::string::npos);
    const std::string page = folder.path("page.html");
    (void)replay({"--report", page});
    const std::string html = folder.read("page.html");
    CHECK(html.find("No job completes under any policy.</p>") != std::string::npos);
    CHECK(html.find("not complete are 1 of 1 under fifo.") != std::string::npos);
}

}  // namespace cli_set_aside
