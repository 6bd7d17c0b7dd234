// What the program says about mistakes: in few words it names what is wrong, where, and what was probably
// meant.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/round_lines.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_mistakes {

using support::Program;
using namespace support::rounds;

Json two_nodes() { return Json::array({node("aws", 0, 4), node("dgx", 0, 8)}); }

/// Returns a line for `goodput plan` with one field of a job spoilt.
Json with_job(const std::string& field, const Json& value) {
    Json one = job("cifar10-3");
    one["batch"]["local"] = {{"aws", {32, 1024}}, {"dgx", {32, 4096}}};
    one[field] = value;
    return round_of(60, two_nodes(), Json::array({one}));
}
Json with_batch(const std::string& field, const Json& value) {
    Json batch = with_job("x", 0)["jobs"][0]["batch"];
    batch[field] = value;
    Json line = with_job("batch", batch);
    return line;
}
Json with_line(const std::string& field, const Json& value) {
    Json line = with_job("kind", "k");
    line[field] = value;
    return line;
}
Json with_node(const std::string& field, const Json& value) {
    Json line = with_job("kind", "k");
    line["nodes"][0][field] = value;
    return line;
}
Json with_sample(const std::string& field, const Json& value) {
    Json second = sample("aws", {1, 2}, 64);
    second[field] = value;
    return with_job("samples", Json::array({sample("aws", {1, 1}, 64), second}));
}

Program run(std::vector<std::string> options) {
    options.insert(options.begin(), GOODPUT_PROGRAM);
    return Program(std::move(options));
}

long lines_in(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n') + (text.empty() || text.back() == '\n' ? 0 : 1);
}

struct Mistake {
    std::string line;
    std::vector<std::string> says;
};

TEST_CASE("broken lines of plan get a short message that names what is wrong") {
    const std::string good = with_job("kind", "k").dump();
    const std::string many(200'000, '['), long_name(300'000, 'n');
    Json crowded = with_job("placement", placement({{"aws-0", 3}}));
    crowded["jobs"].push_back(job("other"));
    crowded["jobs"][1]["batch"] = crowded["jobs"][0]["batch"];
    crowded["jobs"][1]["placement"] = placement({{"aws-0", 2}});
    const std::string who = "job 'cifar10-3': ";
    const std::vector<Mistake> mistakes{
        {"", {"the line is empty"}},
        {"plan", {"not JSON"}},
        {many, {"not JSON", "One document a line", "jq -c ."}},
        {many + "]", {"not JSON"}},
        {good.substr(0, good.find("\"jobs\"")), {"not JSON", "does not end in this line"}},
        {good.substr(0, 40) + "NaN" + good.substr(40), {"not JSON"}},
        {"[]", {"an array of 0", "an object"}},
        {with_line("time_s", "noon").dump(), {"round: time_s is \"noon\"", "a number"}},
        {with_line("time_s", nullptr).dump(), {"time_s is null"}},
        {with_line("nodes", 4).dump(), {"nodes is 4", "an array"}},
        {with_line("deadline_ms", -1).dump(), {"deadline_ms is -1", "at least 0"}},
        {with_line("budget_h", "20 dollars").dump(), {"budget_h is \"20 dollars\"", "a number"}},
        {with_line("teams", {{"vision", {{"gpus", -1}}}}).dump(), {"team 'vision': gpus is -1"}},
        {with_line("teams", {{"vision", nullptr}}).dump(), {"round: teams.vision is null", "an object"}},
        {with_node("interruptions_h", 1e16).dump(),
         {"node 'aws-0': interruptions_h is 1e+16", "between 0 and 1e+15"}},
        {with_node("interruptions_h", -1).dump(), {"node 'aws-0': interruptions_h is -1"}},
        {with_job("name", long_name).dump() + "}", {"not JSON"}},
        {with_job("gpus", {8, 4}).dump(), {who + "gpus[1] is 4", "at least gpus[0], 8"}},
        {with_job("gpus", {0, 4}).dump(), {who + "gpus[0] is 0"}},
        {with_job("gpus", {2, 1 << 21}).dump(), {who + "gpus[1] is 2097152", "from 2 to 1048576"}},
        {with_job("gpus", {1, 1e300}).dump(), {who + "gpus[1] is 1e+300", "an integer"}},
        {with_batch("max", 64).dump(), {who + "batch.max is 64", "at least batch.initial, 128"}},
        {with_batch("wanted", 64).dump(), {who + "batch.wanted is 64", "at least batch.initial, 128"}},
        {with_batch("local", {{"aws", {64, 32}}}).dump(),
         {who + "batch.local.aws[1] is 32", "the first number, 64"}},
        {with_batch("initial", 1e18).dump(), {who + "batch.initial is 1e+18", "from 1 to"}},
        {with_sample("sync_s", 1e9).dump(), {who + "samples[1].sync_s is 1000000000.0", "below step_s"}},
        {with_sample("step_s", -1).dump(), {who + "samples[1].step_s is -1"}},
        {with_sample("nodes", 4).dump(), {who + "samples[1].gpus is 2", "the number of nodes, 4"}},
        {with_job("max_nodes", 0).dump(), {who + "max_nodes is 0"}},
        {with_job("max_nodes", {{"aws", "two"}}).dump(), {who + "max_nodes.aws is \"two\""}},
        {with_job("single_gpu_accumulates", 1).dump(), {who + "single_gpu_accumulates is 1"}},
        {with_job("within", "row").dump(), {who + "within is \"row\"", "\"rack\" or \"zone\""}},
        {with_job("adapt", long_name).dump(), {who + "adapt is \"nnn", "..."}},
        {with_job("name", long_name).dump(), {"job 'nnn", "...", "but must be"}},
        {with_job("checkpoint_s", 0).dump(), {who + "checkpoint_s is 0"}},
        {with_job("checkpoints", {{{"name", "full"}, {"pause_s", 1e300}}}).dump(),
         {"checkpoint mechanism 'full': pause_s is 1e+300"}},
        {with_job("weight", 1e12).dump(), {who + "weight is 1e+12", "between 1e-09 and 1e+09"}},
        {crowded.dump(), {"job 'other': placement on node 'aws-0' is 2", "at most the 1 GPUs"}},
    };
    Program program = run({"plan", "--strict"});
    for (const Mistake& mistake : mistakes) {
        std::string line = mistake.line;
        // A long name is valid, so this line needs another mistake.
        if (mistake.says.front() == "job 'nnn")
            line.replace(line.find("\"submitted_s\":0.0"), 17, "\"submitted_s\":[]");
        const Json answer = Json::parse(program.ask(line));
        CAPTURE(line.substr(0, 300));
        REQUIRE(answer.contains("error"));
        const auto text = answer["error"].get<std::string>();
        CAPTURE(text);
        for (const std::string& word : mistake.says) {
            CAPTURE(word);
            CHECK(text.find(word) != std::string::npos);
        }
        CHECK(text.size() <= 500);
        CHECK(lines_in(text) <= 3);
    }
    CHECK(Json::parse(program.ask(good)).contains("plan"));
    CHECK(program.finish().status == 1);
}

TEST_CASE("a document over several lines is one mistake, and the next document is served") {
    const Json line = with_job("kind", "k");
    Program program = run({"plan"});
    const Program::End end = program.finish(line.dump(2) + "\n" + line.dump() + "\n" + line.dump(1) + "\n\n");
    std::vector<Json> answers;
    for (std::size_t at = 0; at < end.output.size();) {
        const std::size_t next = end.output.find('\n', at);
        answers.push_back(Json::parse(end.output.substr(at, next - at)));
        at = next + 1;
    }
    const long height = lines_in(line.dump(2));
    REQUIRE(answers.size() == 4);
    CHECK(answers[0]["line"] == 1);
    CHECK(answers[0]["error"].get<std::string>().find("One document a line; `jq -c .` makes one") !=
          std::string::npos);
    CHECK(answers[1].contains("plan"));
    CHECK(answers[2]["line"] == height + 2);
    CHECK(answers[3]["error"] == "the line is empty");
    CHECK(end.status == 1);
}

TEST_CASE("unknown fields and GPU types are named once each, with what was probably meant") {
    Json line = with_job("sample", Json::array());
    line["jobs"][0]["batch"]["locall"] = 1;
    line["jobs"][0]["batch"]["rate"] = {{"L40", 100}, {"dxg", 10}};
    line["jobs"][0]["gpus_per_replica"] = {{"L40", 2}};  // already named
    line["nodes"][0]["racks"] = "r1";
    line["nodes"][1]["racks"] = "r2";
    line["bugdet_h"] = 4;
    line["jobs"].push_back(job("other"));
    line["jobs"][1]["sample"] = 1;
    line["jobs"][1]["batch"]["local"].erase("rtx");
    Program program = run({"plan"});
    CHECK(Json::parse(program.ask(line.dump())).contains("plan"));
    CHECK(Json::parse(program.ask(line.dump())).contains("plan"));
    const Program::End end = program.finish();
    CHECK(end.status == 0);
    CAPTURE(end.errors);
    CHECK(lines_in(end.errors) == 6);
    for (const char* said :
         {"goodput: line 1: round: there is no field \"bugdet_h\" (did you mean budget_h?)\n",
          "goodput: line 1: node 'aws-0': there is no field \"racks\" (did you mean rack?)\n",
          "goodput: line 1: job 'cifar10-3': there is no field \"sample\" (did you mean samples?)\n",
          "goodput: line 1: job 'cifar10-3': there is no field \"locall\" in batch (did you mean local?)\n",
          "goodput: line 1: job 'cifar10-3': no node is of GPU type \"L40\", in this line or before\n",
          "no node is of GPU type \"dxg\", in this line or before (did you mean dgx?)\n"})
        CHECK_MESSAGE(end.errors.find(said) != std::string::npos, said);
}

TEST_CASE("options without effect are named") {
    const auto said = [](const Json& line, std::vector<std::string> options = {}) {
        options.insert(options.begin(), "plan");
        Program program = run(options);
        CHECK(Json::parse(program.ask(line.dump())).contains("plan"));
        return program.finish().errors;
    };
    CHECK(said(with_line("budget_h", 20)) ==
          "goodput: line 1: the budget: no node has a price, so it limits nothing\n");
    CHECK(said(with_line("cancelled", {"gone", "cifar10-3"})) ==
          "goodput: line 1: job 'cifar10-3': named as cancelled, and still among the jobs\n");
    Json misspelt = with_job("team", "visoin");
    misspelt["teams"] = {{"vision", {{"gpus", 4}}}};
    CHECK(said(misspelt).find("team 'visoin' has no quota (did you mean vision?)") != std::string::npos);
    const Json offer = {{"name", "more"}, {"gpu_type", "aws"}, {"gpus", 4}, {"most", 2}, {"price_h", 3}};
    CHECK(said(with_line("offers", Json::array({offer}))).find("only looked at with --advise") !=
          std::string::npos);
    CHECK(said(with_line("offers", Json::array({offer})), {"--advise"}) == "");
}

TEST_CASE("with --strict they refuse the line, and the next is served") {
    const Json good = with_job("kind", "k");
    for (const auto& [field, value] : std::vector<std::pair<std::string, Json>>{
             {"sample", Json::array()}, {"gpus_per_replica", Json{{"L40", 2}}}}) {
        Program program = run({"plan", "--strict"});
        const Json answer = Json::parse(program.ask(with_job(field, value).dump()));
        REQUIRE(answer.contains("error"));
        CHECK(answer["error"].get<std::string>().find("job 'cifar10-3': ") == 0);
        CHECK(Json::parse(program.ask(good.dump())).contains("plan"));
        const Program::End end = program.finish();
        CHECK(end.status == 1);
        CHECK(end.errors.empty());
    }
    struct Case {
        std::string command, line, says;
    };
    for (const Case& bad : std::vector<Case>{
             {"allot", R"({"capacity":[4],"jobs":[{"option":[],"options":[]}]})",
              "no field \"option\" in jobs[0]"},
             {"allot", R"({"capacity":[4],"jobs":[],"deadline":5})", "no field \"deadline\""},
             {"fit", R"({"samples":[],"predictions":[]})", "did you mean predict?"},
             {"share", R"({"objective":"max_min","gpus":{"a":1},"jobs":[{"rate":{"a":1,"b":2}}]})",
              "GPU type \"b\" is not among gpus"},
             {"share", R"({"objective":"max_min","gpus":{"a":1},"job":[],"jobs":[]})",
              "did you mean jobs?"}}) {
        Program strict = run({bad.command, "--strict"});
        const std::string answer = Json::parse(strict.ask(bad.line)).value("error", "");
        CAPTURE(answer);
        CHECK(answer.find(bad.says) != std::string::npos);
        Program lenient = run({bad.command});
        CHECK(!Json::parse(lenient.ask(bad.line)).contains("error"));
        CHECK(lenient.finish().errors.find(bad.says) != std::string::npos);
    }
}

TEST_CASE("the command line: unknown commands, options and numbers out of range are named in a line or two") {
    struct Case {
        std::vector<std::string> options;
        std::vector<std::string> says;
    };
    for (const Case& wrong : std::vector<Case>{
             {{"foo"}, {"no command 'foo'", "allot, fit, plan, share, parallel, replay"}},
             {{"replya"}, {"no command 'replya'", "did you mean replay?"}},
             {{std::string(100'000, 'x')}, {"no command 'xxx", "..."}},
             {{}, {"A subcommand is required"}},
             {{"plan", "--polcy", "sia"}, {"plan has no option '--polcy'", "did you mean --policy?"}},
             {{"replay", "--polcy=sia"}, {"replay has no option '--polcy'", "did you mean --policy?"}},
             {{"plan", "--nothing-like-it"},
              {"plan has no option '--nothing-like-it'; see goodput plan --help"}},
             {{"plan", "line.json"}, {"line.json"}},
             {{"plan", "/dev/null"}, {"plan reads standard input: goodput plan < /dev/null"}},
             {{"plan", "--policy", "sia", "--policy", "fifo"}, {"--policy may be given only once"}},
             {{"plan", "--policy", "siea"}, {"siea", "sia"}},
             {{"plan", "--policy", std::string(100'000, 'x')}, {"xxx", "..."}},
             {{"plan", "--models", "best"}, {"--models", "best", "separate, published or refined"}},
             {{"plan", "--policy", "sia", "--policy-option", "q=1"}, {"q"}},
             {{"replay", "--seed", "-1"}, {"--seed", "-1 is not a number of at least 0"}},
             {{"replay", "--seed", "one"}, {"--seed", "one"}},
             {{"replay", "--node-mtbf-h", "-0.5"}, {"--node-mtbf-h", "-0.5 is not a number of at least 0"}},
             {{"replay", "--hour-worth", "0"}, {"--hour-worth", "0 is not a number above 0"}},
             {{"replay", "--hour-worth", "1e999"}, {"--hour-worth", "1e999"}},
             {{"replay", "--moves", "cheap"}, {"--moves", "cheap"}}}) {
        Program program = run(wrong.options);
        const Program::End end = program.finish();
        CAPTURE(end.errors);
        CHECK(end.status == 2);
        CHECK(end.output.empty());
        CHECK(end.errors.starts_with("goodput: "));
        for (const std::string& word : wrong.says) CHECK(end.errors.find(word) != std::string::npos);
        CHECK(end.errors.size() < 520);
        CHECK(lines_in(end.errors) <= 3);
    }
}

}  // namespace cli_mistakes
