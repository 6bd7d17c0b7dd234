// Tests `goodput allot` through pipes.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/certificate.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace cli_allot {

using Json = nlohmann::ordered_json;
using support::Program;

Program allot(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {GOODPUT_PROGRAM, "allot"});
    return Program(std::move(options));
}

Json random_problem(support::Random& random) {
    Json problem;
    const int resources = random.integer(1, 4);
    problem["capacity"] = Json::array();
    for (int r = 0; r < resources; ++r) problem["capacity"].push_back(random.integer(4, 40));
    problem["jobs"] = Json::array();
    for (int j = random.integer(0, 40); j > 0; --j) {
        Json job;
        job["options"] = Json::array();
        for (int k = random.integer(0, 8); k > 0; --k) {
            Json use = Json::array({Json::array({random.integer(0, resources - 1), random.integer(1, 8)})});
            if (random.chance(0.2)) use.push_back(Json::array({random.integer(0, resources - 1), 1}));
            job["options"].push_back({{"value", random.between(-0.2, 2)}, {"use", use}});
        }
        if (random.chance(0.5)) job["must"] = random.chance(0.1) && !job["options"].empty();
        problem["jobs"].push_back(job);
    }
    return problem;
}

/// Returns (option, fraction) parts by job, whichever of the two forms the answer has.
std::vector<std::vector<std::pair<std::size_t, double>>> parts_of(const Json& answer) {
    std::vector<std::vector<std::pair<std::size_t, double>>> parts;
    for (const Json& choice : answer["choice"]) {
        auto& of_job = parts.emplace_back();
        if (choice.is_number())
            of_job.emplace_back(choice.get<std::size_t>(), 1.0);
        else if (choice.is_array())
            for (const Json& part : choice)
                of_job.emplace_back(part[0].get<std::size_t>(), part[1].get<double>());
    }
    return parts;
}

/// Checks that the answer keeps the problem's constraints, and that what it states about itself is true.
void check_certificate(const Json& problem, const Json& answer, double gap) {
    const auto parts = parts_of(answer);
    REQUIRE(parts.size() == problem["jobs"].size());
    const double objective = answer["objective"].get<double>(), bound = answer["bound"].get<double>();
    std::vector<double> used(problem["capacity"].size(), 0);
    double value = 0;
    for (std::size_t j = 0; j < parts.size(); ++j) {
        const Json& job = problem["jobs"][j];
        double sum = 0;
        for (const auto& [option, fraction] : parts[j]) {
            REQUIRE(option < job["options"].size());
            CHECK(fraction > 0);
            sum += fraction;
            value += fraction * job["options"][option]["value"].get<double>();
            for (const Json& use : job["options"][option]["use"])
                used[use[0].get<std::size_t>()] += fraction * use[1].get<double>();
        }
        CHECK(sum <= 1 + 1e-9);
        if (job.value("must", false)) CHECK(sum >= 1 - 1e-9);
    }
    for (std::size_t r = 0; r < used.size(); ++r)
        CHECK(used[r] <= problem["capacity"][r].get<double>() * (1 + 1e-9));
    CHECK(objective == doctest::Approx(value).epsilon(1e-9));
    CHECK(bound >= objective);
    CHECK((bound - objective <= gap * std::max(1.0, std::abs(bound))) == (answer["status"] == "optimal"));
    CHECK(answer["prices"].size() == used.size());
    CHECK(answer["milliseconds"].get<double>() >= 0);
    CHECK(answer["nodes"].is_number_unsigned());
}

TEST_CASE("an answer has the fields of the format, in their order") {
    Program program = allot();
    const Json answer = Json::parse(program.ask(
        R"({"capacity":[4,2],"jobs":[{"options":[{"value":1,"use":[[0,4]]},{"value":0.5,"use":[[1,2]]}]},)"
        R"({"options":[{"value":0.9,"use":[[0,3]]}],"must":false},{"options":[]}]})"));
    std::vector<std::string> names;
    for (const auto& [name, value] : answer.items()) names.push_back(name);
    CHECK(names == std::vector<std::string>{"choice", "objective", "bound", "status", "stopped", "prices",
                                            "milliseconds", "nodes"});
    CHECK(answer["choice"] == Json::parse("[1,0,null]"));
    CHECK(answer["objective"] == 1.4);
    CHECK(answer["status"] == "optimal");
    CHECK(answer["stopped"] == "proven");
    CHECK(program.finish().status == 0);
}

TEST_CASE("a search that is cut off says why, and says infeasible only if that is proven") {
    // Jobs that must run and leave almost nothing over even if each takes the least that it can.
    support::Random random(3);
    Json problem;
    problem["capacity"] = Json::array();
    problem["jobs"] = Json::array();
    int needed = 0;
    for (int j = 0; j < 40; ++j) {
        int least = 1000;
        Json options = Json::array();
        for (int r = 0; r < 4; ++r) {
            const int units = random.integer(100, 999);
            least = std::min(least, units);
            options.push_back({{"value", random.integer(-50, -10)}, {"use", {{r, units}}}});
        }
        needed += least;
        problem["jobs"].push_back({{"options", options}, {"must", true}});
    }
    for (int r = 0; r < 4; ++r) problem["capacity"].push_back(needed / 4 + 120);
    Program program = allot();
    for (const char* limit : {"most_states", "memory_states", "deadline_ms"}) {
        CAPTURE(limit);
        Json limited = problem;
        limited[limit] = 0;
        const Json answer = Json::parse(program.ask(limited.dump()));
        CHECK(answer["status"] == "unknown");
        CHECK(answer["stopped"] == std::map<std::string, std::string>{{"most_states", "states"},
                                                                      {"memory_states", "memory"},
                                                                      {"deadline_ms", "deadline"}}[limit]);
        CHECK(answer["objective"] == 0);
        CHECK(answer["bound"].get<double>() < 0);
        CHECK(!answer.contains("conflict"));
        for (const Json& choice : answer["choice"]) CHECK(choice.is_null());
        limited["jobs"] = {{{"options", {{{"value", 1}, {"use", {{0, 1e9}}}}}}, {"must", true}}};
        const Json impossible = Json::parse(program.ask(limited.dump()));
        CHECK(impossible["status"] == "infeasible");
        CHECK(impossible["stopped"] == "proven");
    }
    Json wrong = problem;
    wrong["most_states"] = -1;
    CHECK(Json::parse(program.ask(wrong.dump())).contains("error"));
    CHECK(program.finish().status == 1);
}

TEST_CASE("every answer keeps the constraints, and warm and cold agree to the gap") {
    support::Random random(7);
    Program warm = allot({"--warm"}), cold = allot({"--cold"}), relaxed = allot({"--relax"});
    for (int round = 0; round < 150; ++round) {
        const Json problem = random_problem(random);
        CAPTURE(problem.dump());
        const Json a = Json::parse(warm.ask(problem.dump())), b = Json::parse(cold.ask(problem.dump())),
                   c = Json::parse(relaxed.ask(problem.dump()));
        if (a["status"] == "infeasible") {
            CHECK(b["status"] == "infeasible");
            CHECK(a["objective"] == 0);
            for (const Json& choice : a["choice"]) CHECK(choice.is_null());
            continue;
        }
        constexpr double gap = 1e-4;
        check_certificate(problem, a, gap);
        check_certificate(problem, b, gap);
        check_certificate(problem, c, 1e-9);
        CHECK(a["status"] == "optimal");
        CHECK(c["status"] == "optimal");
        const double scale = std::max(1.0, std::abs(a["bound"].get<double>()));
        CHECK(std::abs(a["objective"].get<double>() - b["objective"].get<double>()) <= gap * scale);
        CHECK(c["objective"].get<double>() >= a["objective"].get<double>() - 1e-9 * scale);
        CHECK(c["bound"].get<double>() >= a["bound"].get<double>() - 1e-9 * scale);
    }
    for (Program* program : {&warm, &cold, &relaxed}) {
        const Program::End end = program->finish();
        CHECK(end.status == 0);
        CHECK(end.errors == "");
    }
}

TEST_CASE("jobs that must run and do not fit together are infeasible, not an error") {
    for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--relax"}}) {
        Program program = allot(options);
        const Json answer = Json::parse(program.ask(
            R"({"capacity":[4],"jobs":[{"options":[{"value":1,"use":[[0,3]]}],"must":true},{"options":[{"value":1,"use":[[0,3]]}],"must":true}]})"));
        CHECK(answer["status"] == "infeasible");
        CHECK(answer["objective"] == 0);
        CHECK(answer["bound"] == 0);
        CHECK(program.finish().status == 0);
    }
}

TEST_CASE("if jobs do not fit together, the conflict names them and what they lack") {
    const std::string line =
        R"({"capacity":[9,4,8],"jobs":[{"options":[{"value":1,"use":[[0,1]]}],"must":true},)"
        R"({"options":[{"value":1,"use":[[1,3]]}],"must":true},{"options":[{"value":1,"use":[[1,3]]}]},)"
        R"({"options":[{"value":1,"use":[[1,2]]},{"value":1,"use":[[1,4],[2,1]]}],"must":true}]})";
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{}, {"--warm"}, {"--explain"}, {"--relax"}}) {
        Program program = allot(options);
        const Json answer = Json::parse(program.ask(line));
        CHECK(answer["status"] == "infeasible");
        CHECK(answer["conflict"].dump() == R"({"jobs":[1,3],"resources":[1]})");
        CHECK(!answer.contains("explanations"));
        CHECK(program.finish().status == 0);
    }
}

TEST_CASE("explanations come on demand, by job and by resource, and do not change the answer") {
    const std::string line =
        R"({"capacity":[3,5,2],"jobs":[{"options":[{"value":4,"use":[[0,1]]},{"value":7,"use":[[0,2]]}]},)"
        R"({"options":[{"value":3.5,"use":[[0,1]]},{"value":5,"use":[[0,2]]}]},{"options":[]},)"
        R"({"options":[{"value":1,"use":[[1,6]]}]},)"
        R"({"options":[{"value":1,"use":[[2,2]]}],"must":true},{"options":[{"value":1,"use":[[2,2]]}]}]})";
    Program plain = allot(), explaining = allot({"--explain"});
    Json expected = Json::parse(plain.ask(line)), answer = Json::parse(explaining.ask(line));
    CHECK(!expected.contains("explanations"));
    const Json explanations = answer["explanations"];
    answer.erase("explanations");
    answer["milliseconds"] = expected["milliseconds"];
    CHECK(answer.dump() == expected.dump());

    REQUIRE(explanations["jobs"].size() == 6);
    REQUIRE(explanations["resources"].size() == 3);
    std::vector<std::string> reasons;
    for (const Json& job : explanations["jobs"]) reasons.push_back(job["reason"].get<std::string>());
    CHECK(std::vector<std::string>(reasons.begin(), reasons.begin() + 5) ==
          std::vector<std::string>{"got_wanted", "priced_out", "nothing_offered", "too_large", "got_wanted"});
    CHECK((reasons[5] == "no_room" || reasons[5] == "priced_out"));
    const double price = answer["prices"][0].get<double>();
    const Json& second = explanations["jobs"][1];
    CHECK(second["got"] == 0);
    CHECK(second["wanted"] == 1);
    CHECK(second["resource"] == 0);
    CHECK(second["pays"].get<double>() == doctest::Approx(price));
    CHECK(second["worth_needed"].get<double>() == doctest::Approx(3.5 + price));
    CHECK(explanations["jobs"][2]["got"].is_null());
    CHECK(explanations["jobs"][3]["resource"] == 1);
    CHECK(explanations["jobs"][3]["options_too_large"] == 1);
    CHECK(explanations["jobs"][3]["short_of"] == 1);
    const Json& idle = explanations["resources"][1];
    CHECK(idle["price"] == 0);
    CHECK(idle["idle"] == 5);
    CHECK(idle["worth_of_more"] == 0);
    CHECK(idle["loss_of_fewer"] == 0);
    CHECK(explanations["resources"][0]["idle"] == 0);
    CHECK(explanations["resources"][0]["worth_of_more"].get<double>() == doctest::Approx(1.5));
    CHECK(explanations["resources"][0]["loss_of_fewer"].get<double>() == doctest::Approx(3));
    CHECK(explanations["resources"][2]["loss_of_fewer"].is_null());  // a job that must run needs all of it
    CHECK(plain.finish().status == 0);
    CHECK(explaining.finish().status == 0);
}

TEST_CASE("a deadline of zero still gets an allotment that keeps the constraints") {
    support::Random random(11);
    Program program = allot();
    for (int round = 0; round < 20; ++round) {
        Json problem = random_problem(random);
        problem["deadline_ms"] = 0;
        problem["gap"] = 0;
        for (Json& job : problem["jobs"]) job.erase("must");
        check_certificate(problem, Json::parse(program.ask(problem.dump())), 0);
    }
    CHECK(program.finish().status == 0);
}

TEST_CASE("a line that cannot be used says why, and the next is served") {
    struct Case {
        std::string line;
        std::vector<std::string> says;
    };
    const auto with_option = [](const std::string& option) {
        return R"({"capacity":[4],"jobs":[{"options":[)" + option + "]}]}";
    };
    const std::string good = with_option(R"({"value":1,"use":[[0,4]]})");
    const std::vector<Case> cases{
        {"", {"empty"}},
        {"   ", {"empty"}},
        {"x", {"JSON"}},
        {good + good, {"JSON"}},
        {good.substr(0, good.size() - 1), {"JSON"}},
        {"[]", {"array", "object"}},
        {"null", {"null", "object"}},
        {"{}", {"capacity", "missing"}},
        {R"({"capacity":[4]})", {"jobs", "missing"}},
        {R"({"capacity":4,"jobs":[]})", {"capacity", "4", "array"}},
        {R"({"capacity":[-1],"jobs":[]})", {"capacity[0]", "-1"}},
        {R"({"capacity":[null],"jobs":[]})", {"capacity[0]", "null"}},
        {R"({"capacity":[1e999],"jobs":[]})", {"capacity[0]", "1e999"}},
        {R"({"capacity":[1],"jobs":[7]})", {"jobs[0]", "7", "object"}},
        {R"({"capacity":[1],"jobs":[{}]})", {"jobs[0].options", "missing"}},
        {R"({"capacity":[1],"jobs":[{"options":[],"must":1}]})", {"jobs[0].must", "1", "true or false"}},
        {R"({"capacity":[1],"jobs":[],"gap":-0.5})", {"gap", "-0.5"}},
        {R"({"capacity":[1],"jobs":[],"gap":"small"})", {"gap", "small", "number"}},
        {R"({"capacity":[1],"jobs":[],"deadline_ms":-1})", {"deadline_ms", "-1"}},
        {with_option(R"({"value":NaN,"use":[[0,4]]})"), {"value is \"NaN\"", "jobs[0].options[0].value"}},
        {with_option(R"({"value":-1e400,"use":[[0,4]]})"), {"jobs[0].options[0].value", "-1e400"}},
        {with_option(R"({"value":"1","use":[[0,4]]})"), {"jobs[0].options[0].value", "\"1\"", "number"}},
        {with_option(R"({"use":[[0,4]]})"), {"jobs[0].options[0].value", "missing"}},
        {with_option(R"({"value":1})"), {"jobs[0].options[0].use", "missing"}},
        {with_option(R"({"value":1,"use":[[1,4]]})"), {"use[0][0]", "is 1"}},
        {with_option(R"({"value":1,"use":[[-1,4]]})"), {"use[0][0]", "-1", "integer"}},
        {with_option(R"({"value":1,"use":[[4294967296,4]]})"), {"use[0][0]", "4294967296", "integer"}},
        {with_option(R"({"value":1,"use":[[0.5,4]]})"), {"use[0][0]", "0.5", "integer"}},
        {with_option(R"({"value":1,"use":[[0,-4]]})"), {"use[0][1]", "-4"}},
        {with_option(R"({"value":1,"use":[[0]]})"), {"use[0]", "pair"}},
        {with_option(R"({"value":1,"use":[0,4]})"), {"use[0]", "pair"}},
        {"{\"capacity\":[\"\xff\"]}", {"JSON"}},
        {std::string(100'000, '['), {"JSON"}},
    };
    for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--relax"}, {"--warm"}}) {
        Program program = allot(options);
        std::size_t line = 0;
        for (const Case& bad : cases) {
            CAPTURE(bad.line.substr(0, 200));
            const Json error = Json::parse(program.ask(bad.line));
            ++line;
            CHECK(error.size() == 2);
            CHECK(error["line"] == line);
            const auto text = error["error"].get<std::string>();
            for (const std::string& word : bad.says) {
                CAPTURE(word);
                CAPTURE(text);
                CHECK(text.find(word) != std::string::npos);
            }
            CHECK(text.size() < 600);
            ++line;
            CHECK(Json::parse(program.ask(good))["objective"] == 1);
        }
        CHECK(program.finish().status == 1);
    }
}

TEST_CASE("unknown fields and integers written as 4.0 are fine") {
    Program program = allot();
    const Json answer = Json::parse(program.ask(
        R"({"x":{"y":[1]},"capacity":[4.0],"jobs":[{"name":"a","options":[{"value":1,"use":[[0.0,4]],"z":null}]}]})"));
    CHECK(answer["objective"] == 1);
    CHECK(program.finish().status == 0);
}

TEST_CASE("a last line without an end is served, and no input is no error") {
    Program program = allot();
    const Program::End end = program.finish(R"({"capacity":[4],"jobs":[]})");
    CHECK(end.status == 0);
    CHECK(Json::parse(end.output)["objective"] == 0);
    CHECK(end.output.back() == '\n');
    Program silent = allot();
    const Program::End nothing = silent.finish();
    CHECK(nothing.status == 0);
    CHECK(nothing.output == "");
}

TEST_CASE("--proof writes a certificate for each line") {
    support::Random random(48);
    const support::Folder folder;
    Program program = allot({"--proof", folder.path("proof")});
    for (int line = 1; line <= 12; ++line) {
        const Json problem = random_problem(random);
        const Json answer = Json::parse(program.ask(problem.dump()));
        const Json& proof = answer["proof"];
        const std::string name = line == 1 ? "proof" : "proof." + std::to_string(line);
        const std::string text = folder.read(name);
        CAPTURE(line);
        CHECK(proof["file"] == folder.path(name));
        CHECK(proof["closed"] == true);
        CHECK(proof["bytes"] == text.size());
        CHECK(support::Certificate::complaint(text) == "");
        if (answer["status"] == "infeasible") continue;
        CHECK(std::abs(proof["objective"].get<double>() - answer["objective"].get<double>()) < 1e-9);
        CHECK(proof["bound"] <=
              1e-9 + std::max(answer["bound"].get<double>(), (1 + 1e-4) * answer["objective"].get<double>()));
    }
    CHECK(program.finish().status == 0);
    CHECK(allot({"--proof", folder.path("proof"), "--relax"}).finish().status == 2);
    CHECK(allot({"--proof", folder.path("no/such/folder")}).finish().status != 0);
}

TEST_CASE("unknown options end with status 2 and no output") {
    for (const std::vector<std::string>& options : {std::vector<std::string>{"allot", "--hot"},
                                                    {"allot", "--explain", "--relax"},
                                                    {"allocate"},
                                                    {},
                                                    {"plan", "--policy", "best"}}) {
        std::vector<std::string> arguments{GOODPUT_PROGRAM};
        arguments.insert(arguments.end(), options.begin(), options.end());
        Program program(arguments);
        const Program::End end = program.finish();
        CHECK(end.status == 2);
        CHECK(end.output == "");
        CHECK(end.errors != "");
    }
    for (const char* option : {"--help", "--version"}) {
        Program program({GOODPUT_PROGRAM, option});
        const Program::End end = program.finish();
        CHECK(end.status == 0);
        CHECK(end.output != "");
    }
}

}  // namespace cli_allot
