// Tests `goodput parallel` through pipes. The data suite scores every published plan.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "report/pipeline_schedule.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_parallel {

using Json = nlohmann::ordered_json;
using support::Folder;
using support::Program;

/// Writes profiles of the model "small", six equal layers. "A100-40" takes 1 ms forward and 2 ms backward
/// per layer and sample, "V100-16" three times as long, and two GPUs take 0.6 of one's time. Both have
/// nodes of 4. Links of 1 GB/s connect the zones "east" and "west"; "moon" has none.
std::string write_profiles(const Folder& folder) {
    constexpr int layers = 6;
    const std::vector<std::string> zones{"east", "west", "moon"}, types{"A100-40", "V100-16"};
    Json sizes, times, links, traffic;
    for (const int degree : {1, 2, 8})
        for (int layer = 0; layer < layers; ++layer)
            sizes["small"][std::to_string(degree)][std::to_string(layer)] = {
                {"params_floats", 1e7 / degree},
                {"act_output_floats", 1e6},
                {"act_mem_floats", 2e8 / degree}};
    for (const std::string& type : types)
        for (const int samples : {1, 2, 4})
            for (const int degree : {1, 2, 8})
                for (int layer = 0; layer < layers; ++layer) {
                    const double seconds =
                        1e-3 * samples * (type == "V100-16" ? 3 : 1) * (degree == 1 ? 1 : 0.6);
                    times["small"][type][std::to_string(samples)][std::to_string(degree)]
                         [std::to_string(layer)] = {seconds, 2 * seconds, 0.5 * seconds};
                }
    for (const std::string& from : zones)
        for (const std::string& to : zones) {
            traffic[from][to] = from == to ? 0 : 0.01;
            if (from == "moon" || to == "moon") continue;
            for (const std::string& type : types)
                for (const int gpus : {1, 2})
                    for (const std::string& other : types)
                        for (const int others : {1, 2})
                            links[from][type][std::to_string(gpus)][to][other][std::to_string(others)] = {
                                {0.0, 0.0, 1.0}, 1e9};
        }
    folder.write("profiles/llm_info.json", sizes.dump());
    folder.write("profiles/profiles_tmp.json", times.dump());
    folder.write("profiles/multizone_bandwidths_het.json", links.dump());
    folder.write("profiles/communication_cost.json", traffic.dump());
    return folder.path("profiles");
}

Program parallel(const std::string& profiles, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{GOODPUT_PROGRAM, "parallel", "--profiles", profiles};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return Program(arguments);
}

Json ask(Program& program, const Json& question) { return Json::parse(program.ask(question.dump())); }

Json group(const std::string& type, int degree, const std::string& zone, int count) {
    return {{"gpu_type", type}, {"tensor_parallel", degree}, {"zone", zone}, {"count", count}};
}

/// Returns a question to evaluate two stages of three layers on these replicas.
Json two_stages(const Json& first, const Json& second) {
    const Json stages = {{{"layers", {0, 2}}, {"replicas", {first}}},
                         {{"layers", {3, 5}}, {"replicas", {second}}}};
    return {{"model", "small"}, {"plan", {{"microbatch", 2}, {"global_batch", 16}, {"stages", stages}}}};
}

Json question(const std::string& objective) {
    return {{"model", "small"},
            {"global_batch", 16},
            {"gpus", {{"east", {{"A100-40", 4}, {"V100-16", 4}}}}},
            {"objective", objective},
            {"deadline_ms", 10000}};
}

std::vector<std::string> names_in(const Json& answer) {
    std::vector<std::string> names;
    for (const auto& [name, value] : answer.items()) names.push_back(name);
    return names;
}

const std::vector<std::string> fields{
    "plan",      "iteration_s", "throughput", "usd",    "compute_usd", "traffic_usd", "memory_gib",  "fits",
    "objective", "bound",       "gap",        "status", "searched",    "why",         "milliseconds"};

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

constexpr double gib = 1024.0 * 1024 * 1024;

TEST_CASE(
    "an answer has the fields of the format in their order, and evaluating its plan gives its numbers") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    for (const char* objective : {"throughput", "cost"}) {
        CAPTURE(objective);
        Json asked = question(objective);
        if (std::string(objective) == "cost") asked["least_throughput"] = 2;
        const Json answer = ask(program, asked);
        CAPTURE(answer.dump());
        REQUIRE(names_in(answer) == fields);
        CHECK(answer["objective"] == answer[objective == std::string("cost") ? "usd" : "throughput"]);
        CHECK(answer["fits"] == true);
        const double best = answer["objective"], bound = answer["bound"];
        CHECK((objective == std::string("cost") ? bound <= best * (1 + 1e-9) : bound >= best * (1 - 1e-9)));
        CHECK(answer["why"].empty());

        Json again = answer;  // an answer is valid as a question
        again["model"] = "small";
        const Json evaluated = ask(program, again);
        CHECK(names_in(evaluated) == fields);
        CHECK(evaluated["status"] == "evaluated");
        for (const char* field : {"plan", "iteration_s", "throughput", "usd", "compute_usd", "traffic_usd",
                                  "memory_gib", "fits"}) {
            CAPTURE(field);
            CHECK(evaluated[field] == answer[field]);
        }
        for (const char* field : {"objective", "bound", "gap"}) CHECK(evaluated[field].is_null());
    }
    CHECK(program.finish().status == 0);
}

TEST_CASE("an evaluated plan has the time, cost and memory of the formulas") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    const Json answer =
        ask(program, two_stages(group("A100-40", 2, "east", 1), group("V100-16", 1, "west", 1)));
    const double first = 3 * 2 * 0.6 * 3e-3,
                 second = 3 * 2 * 3 * 3e-3;  // layers, samples, seconds forward and backward
    const double message = 1e6 * 4 * 2 / 1e9;
    const double straggler = std::max(first + message, second + 2 * message);
    const double seconds = 7 * straggler + first + second + 3 * message + 2 * 3 * 0.5e-3;
    CHECK(answer["iteration_s"].get<double>() == doctest::Approx(seconds).epsilon(1e-12));
    CHECK(answer["throughput"].get<double>() == doctest::Approx(1 / seconds).epsilon(1e-12));
    const double hourly = 2 * 3.673385 + 2.859998;  // Sailor's prices
    CHECK(answer["compute_usd"].get<double>() == doctest::Approx(hourly / 3600 * seconds).epsilon(1e-12));
    CHECK(answer["traffic_usd"].get<double>() == doctest::Approx(8 * 2 * 8e6 / 1e9 * 0.01).epsilon(1e-12));
    CHECK(answer["usd"].get<double>() ==
          doctest::Approx(answer["compute_usd"].get<double>() + answer["traffic_usd"].get<double>()));
    CHECK(answer["memory_gib"][0].get<double>() * gib ==
          doctest::Approx(3 * 5e6 * 24 + 3 * 1e8 * 2 * 4 * 2 + 3e9).epsilon(1e-12));
    CHECK(answer["memory_gib"][1].get<double>() * gib ==
          doctest::Approx(3 * 1e7 * 24 + 3 * 2e8 * 2 * 4 + 2e9).epsilon(1e-12));
    CHECK(answer["fits"] == true);
    CHECK(answer["why"].empty());
    CHECK(program.finish().status == 0);
}

TEST_CASE("SGD takes four bytes less per parameter, and a line may state its own prices") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    Json asked = two_stages(group("A100-40", 1, "east", 1), group("A100-40", 1, "east", 1));
    const Json adam = ask(program, asked);
    asked["optimizer"] = "SGD";
    asked["prices"] = {{"A100-40", 36}};
    const Json sgd = ask(program, asked);
    for (const std::size_t stage : {0u, 1u})
        CHECK((adam["memory_gib"][stage].get<double>() - sgd["memory_gib"][stage].get<double>()) * gib ==
              doctest::Approx(4 * 3e7));
    CHECK(sgd["iteration_s"] == adam["iteration_s"]);
    CHECK(sgd["usd"].get<double>() == doctest::Approx(2 * 0.01 * sgd["iteration_s"].get<double>()));
    asked.erase("optimizer");
    asked.erase("prices");
    for (const char* field : {"usd", "memory_gib"})  // a line leaves nothing behind
        CHECK(ask(program, asked)[field] == adam[field]);
    CHECK(program.finish().status == 0);
}

TEST_CASE("constants are fitted to measured runs of the model, for their line alone") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    Json asked = two_stages(group("A100-40", 2, "east", 1), group("V100-16", 1, "west", 1));
    const Json before = ask(program, asked);
    CHECK_FALSE(before.contains("errors"));
    const double seconds = 1.2 * before["iteration_s"].get<double>(),
                 memory = 1 + std::max(before["memory_gib"][0].get<double>(),
                                       before["memory_gib"][1].get<double>());
    Json run = {{"plan", asked["plan"]}, {"iteration_s", seconds}, {"memory_gib", memory}};
    asked["measured"] = {run, run, run};
    const Json after = ask(program, asked);
    CHECK(after["iteration_s"].get<double>() == doctest::Approx(seconds).epsilon(0.1));
    CHECK(after["iteration_s"].get<double>() > before["iteration_s"].get<double>());
    REQUIRE(after["errors"].size() == 3);
    CHECK(after["errors"][0]["iteration"].get<double>() ==
          doctest::Approx(after["iteration_s"].get<double>() / seconds - 1).epsilon(1e-9));
    CHECK(std::abs(after["errors"][0]["memory"].get<double>()) < 0.05);

    Json best = question("throughput");
    const double as_published = ask(program, best)["objective"].get<double>();
    run.erase("memory_gib");
    best["measured"] = {run};
    const Json slower = ask(program, best);
    CHECK(slower["objective"].get<double>() <= as_published);
    CHECK(slower["errors"][0]["memory"].is_null());
    best["measured"] = Json::array();
    CHECK(ask(program, best)["objective"].get<double>() == as_published);

    const auto refused = [&](const char* field, const Json& value) {
        Json bad = asked;
        bad["measured"][1][field] = value;
        return ask(program, bad)["error"].get<std::string>();
    };
    CHECK(refused("iteration_s", 0).find("measured[1].iteration_s") != std::string::npos);
    CHECK(refused("memory_gib", "much").find("measured[1].memory_gib") != std::string::npos);
    CHECK(refused("plan", nullptr).find("measured[1].plan") != std::string::npos);
    Json wide = run["plan"];
    wide["stages"][0]["replicas"][0]["tensor_parallel"] = 8;  // this degree was not measured
    CHECK(refused("plan", wide).find("measured run 1") != std::string::npos);
    CHECK(ask(program, two_stages(group("A100-40", 2, "east", 1),
                                  group("V100-16", 1, "west", 1)))["iteration_s"] == before["iteration_s"]);
    CHECK(program.finish().status == 1);
}

TEST_CASE("times that were not measured are estimated if the line asks for it") {
    const Folder folder;
    const std::string profiles = write_profiles(folder);
    const std::string path = folder.path("profiles/profiles_tmp.json");
    Json times;
    std::ifstream(path) >> times;
    const Json complete = times;
    times["small"]["V100-16"].erase("2");
    folder.write("profiles/profiles_tmp.json", times.dump());
    Program program = parallel(profiles);

    const Json stages = group("V100-16", 1, "east", 2);
    Json asked = two_stages(group("A100-40", 1, "east", 2), stages);
    const Json without = ask(program, asked);
    CHECK(without["iteration_s"].is_null());
    CHECK(without["why"][0].get<std::string>().find("was measured") != std::string::npos);
    CHECK_FALSE(without.contains("estimated"));

    asked["estimate_times"] = true;
    const Json with = ask(program, asked);
    CHECK(with["why"].empty());
    REQUIRE(with["estimated"].size() == 1);
    CHECK(with["estimated"][0]["gpu_type"] == "V100-16");
    CHECK(with["estimated"][0]["microbatch"] == 2);
    CHECK(with["estimated"][0]["tensor_parallel"] == 1);
    const double deviation = with["estimated"][0]["deviation"];
    CHECK(deviation > 0);
    CHECK(deviation <= 0.15);

    // The measured time is within three standard deviations. The next line is judged without this one.
    folder.write("profiles/profiles_tmp.json", complete.dump());
    Program measured = parallel(profiles);
    const double ratio =
        with["iteration_s"].get<double>() / ask(measured, asked)["iteration_s"].get<double>();
    CHECK(std::abs(std::log(ratio)) <= 3 * deviation);
    CHECK(ask(measured, asked)["estimated"].empty());
    asked["estimate_times"] = false;
    CHECK(ask(program, asked)["why"] == without["why"]);

    // A search uses estimated times, too.
    Json search = question("throughput");
    search["gpus"] = {{"west", {{"V100-16", 4}}}};
    search["estimate_times"] = true;
    const Json found = ask(program, search);
    CHECK(found["estimated"].empty() == (found["plan"]["microbatch"] != 2));
    search["estimate_times"] = 1;
    CHECK(ask(program, search)["error"].get<std::string>().find("estimate_times") != std::string::npos);
}

TEST_CASE("the answer to a plan that cannot be run says why, and has the numbers that exist") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    struct Case {
        Json first, second;
        const char* why;
        bool known;  ///< whether its time can be computed
    };
    const std::vector<Case> cases{
        {group("A100-40", 1, "east", 1), group("A100-40", 1, "east", 2), "stage 2 has 2 replicas", true},
        {group("A100-40", 8, "east", 1), group("A100-40", 8, "east", 1), "nodes have 4 GPUs", false},
        {group("A100-40", 4, "east", 1), group("A100-40", 1, "east", 1), "nothing was measured", false},
        {group("A100-40", 1, "moon", 1), group("A100-40", 1, "east", 1), "", false},
    };
    for (const Case& bad : cases) {
        CAPTURE(bad.why);
        const Json answer = ask(program, two_stages(bad.first, bad.second));
        CAPTURE(answer.dump());
        REQUIRE(names_in(answer) == fields);
        const std::string why = answer["why"].dump();
        CHECK(why.find(bad.why) != std::string::npos);
        for (const char* field : {"iteration_s", "throughput", "usd", "compute_usd"}) {
            CAPTURE(field);
            CHECK(answer[field].is_number() == bad.known);
        }
        CHECK(answer["memory_gib"].size() == 2);
    }
    Json huge = two_stages(group("A100-40", 1, "east", 1 << 20), group("A100-40", 1, "east", 1 << 20));
    huge["plan"]["microbatch"] = 1 << 20;  // together more samples than an int can count
    CHECK(ask(program, huge)["memory_gib"].size() == 2);
    Json asked = two_stages(group("A100-40", 1, "east", 2), group("V100-16", 1, "east", 2));
    CHECK(ask(program, asked)["why"].empty());
    asked["gpus"] = {{"east", {{"A100-40", 2}, {"V100-16", 1}}}};
    CHECK(ask(program, asked)["why"][0] == "it takes 2 V100-16 in east, which has 1");
    asked.erase("gpus");
    asked["plan"]["stages"][1]["layers"] = {3, 4};
    CHECK(ask(program, asked)["why"][0] == "the last stage ends before layer 5");
    asked["plan"]["stages"][1]["layers"] = {2, 5};
    CHECK(ask(program, asked)["why"][0] == "stage 2 does not begin with layer 3");
    CHECK(program.finish().status == 0);
}

TEST_CASE("if no plan fits, the plan is null, and \"why\" says so") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    Json asked = question("throughput");
    std::vector<Json> impossible(3, asked);
    impossible[0]["gpus"] = Json::object();
    impossible[1]["most_usd"] = 1e-9;
    impossible[2]["least_throughput"] = 1e9;
    for (const Json& none : impossible) {
        CAPTURE(none.dump());
        const Json answer = ask(program, none);
        CAPTURE(answer.dump());
        REQUIRE(names_in(answer) == fields);
        CHECK(answer["plan"].is_null());
        CHECK(answer["status"] == "none");
        CHECK(answer["fits"] == false);
        CHECK(!answer["why"].empty());
        for (const char* field : {"iteration_s", "throughput", "usd", "objective", "bound", "gap"})
            CHECK(answer[field].is_null());
    }
    CHECK(!ask(program, asked)["plan"].is_null());
    CHECK(program.finish().status == 0);
}

TEST_CASE("limits hold, and each objective is at its best without them") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    const Json fastest = ask(program, question("throughput")), cheapest = ask(program, question("cost"));
    CHECK(cheapest["usd"].get<double>() <= fastest["usd"].get<double>());
    CHECK(cheapest["throughput"].get<double>() <= fastest["throughput"].get<double>());
    Json limited = question("throughput");
    const double budget = (cheapest["usd"].get<double>() + fastest["usd"].get<double>()) / 2;
    limited["most_usd"] = budget;
    const Json within = ask(program, limited);
    CHECK(within["usd"].get<double>() <= budget);
    CHECK(within["throughput"].get<double>() <= fastest["throughput"].get<double>());
    CHECK(within["throughput"].get<double>() >= cheapest["throughput"].get<double>());
    limited["most_usd"] = 0;
    CHECK(ask(program, limited)["status"] == "none");
    limited["prices"] = {{"V100-16", 0}};
    const Json free = ask(program, limited);
    CAPTURE(free.dump());
    CHECK(free["status"] == "optimal");
    CHECK(free["usd"] == 0);
    CHECK(program.finish().status == 0);
}

TEST_CASE("with stages of mixed replicas allowed, no plan is worse") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    Json asked = question("throughput");
    asked["gpus"] = {{"east", {{"A100-40", 2}, {"V100-16", 2}}}};
    const double pure = ask(program, asked)["throughput"];
    asked["mixed_stages"] = true;
    const Json mixed = ask(program, asked);
    CHECK(mixed["throughput"].get<double>() >= pure * (1 - 1e-9));
    CHECK(mixed["why"].empty());
    CHECK(program.finish().status == 0);
}

TEST_CASE("a deadline ends the search, which answers with what it has by then") {
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    Json asked = question("throughput");
    asked["deadline_ms"] = 0;
    const Json answer = ask(program, asked);
    CAPTURE(answer.dump());
    REQUIRE(names_in(answer) == fields);
    if (answer["plan"].is_null()) {
        CHECK(answer["status"] == "unknown");
        CHECK(answer["why"].size() == 1);
    } else {
        CHECK(answer["bound"].get<double>() >= answer["objective"].get<double>());
    }
    CHECK(program.finish().status == 0);
}

TEST_CASE("a refined model differs from the published one") {
    const Folder folder;
    const std::string profiles = write_profiles(folder);
    const Json asked = two_stages(group("A100-40", 2, "east", 2), group("A100-40", 2, "east", 2));
    Program published = parallel(profiles, {"--time-model", "published"}), plain = parallel(profiles),
            refined = parallel(profiles, {"--time-model", "refined"});
    const Json answer = ask(plain, asked), other = ask(refined, asked);
    CHECK(ask(published, asked)["iteration_s"] == answer["iteration_s"]);
    for (const char* field : {"iteration_s", "memory_gib"}) {
        CAPTURE(field);
        CHECK(other[field] != answer[field]);
    }
    CHECK(refined.finish().status == 0);
}

TEST_CASE("a line that cannot be used says why, and the next is served") {
    const auto changed = [](Json line, const char* pointer, const Json& value) {
        line[Json::json_pointer(pointer)] = value;
        return line.dump();
    };
    const Json asked = question("throughput"),
               plan = two_stages(group("A100-40", 1, "east", 1), group("A100-40", 1, "east", 1));
    struct Case {
        std::string line;
        std::vector<std::string> says;
    };
    const std::vector<Case> cases{
        {"", {"empty"}},
        {"x", {"JSON"}},
        {"[]", {"object"}},
        {"{}", {"model", "missing"}},
        {changed(asked, "/model", "GPT-5"), {"model", "GPT-5", "small"}},
        {changed(asked, "/global_batch", nullptr), {"global_batch", "null"}},
        {changed(asked, "/global_batch", 0), {"global_batch", "0"}},
        {changed(asked, "/global_batch", 2.5), {"global_batch", "2.5"}},
        {changed(asked, "/objective", nullptr), {"objective", "cost", "plan"}},
        {changed(asked, "/objective", "speed"), {"objective", "speed", "throughput"}},
        {changed(asked, "/gpus", nullptr), {"gpus"}},
        {changed(asked, "/gpus", 4), {"gpus", "4"}},
        {changed(asked, "/gpus/mars", {{"A100-40", 4}}), {"gpus.mars", "east, west, moon"}},
        {changed(asked, "/gpus/east/K80", 4), {"gpus.east.K80", "V100-16"}},
        {changed(asked, "/gpus/east/V100-16", -1), {"gpus.east.V100-16", "-1"}},
        {changed(asked, "/most_usd", -1), {"most_usd", "-1", "at least 0"}},
        {changed(asked, "/most_usd", "much"), {"most_usd", "much"}},
        {changed(asked, "/least_throughput", -1), {"least_throughput", "-1"}},
        {changed(asked, "/mixed_stages", 1), {"mixed_stages", "true or false"}},
        {changed(asked, "/gap", -1), {"gap", "-1"}},
        {changed(asked, "/deadline_ms", -1), {"deadline_ms", "-1"}},
        {changed(asked, "/optimizer", "LAMB"), {"optimizer", "LAMB", "SGD"}},
        {changed(asked, "/prices", {{"K80", 1}}), {"prices.K80", "A100-40"}},
        {changed(asked, "/prices", {{"V100-16", -1}}), {"prices.V100-16", "-1"}},
        {changed(plan, "/plan", 7), {"plan", "7"}},
        {changed(plan, "/plan/microbatch", 0), {"plan.microbatch", "0"}},
        {changed(plan, "/plan/global_batch", nullptr), {"global_batch", "missing"}},
        {changed(plan, "/plan/stages", Json::array()), {"plan.stages", "at least one"}},
        {changed(plan, "/plan/stages/1/layers", {3}), {"plan.stages[1].layers", "[first, last]"}},
        {changed(plan, "/plan/stages/1/layers", {3, 6}), {"plan.stages[1].layers[1]", "6", "5"}},
        {changed(plan, "/plan/stages/1/layers", {5, 3}), {"plan.stages[1].layers[1]", "3"}},
        {changed(plan, "/plan/stages/0/replicas", Json::array()),
         {"plan.stages[0].replicas", "at least one"}},
        {changed(plan, "/plan/stages/0/replicas/0/gpu_type", "K80"), {"replicas[0].gpu_type", "K80"}},
        {changed(plan, "/plan/stages/0/replicas/0/zone", "mars"), {"replicas[0].zone", "mars", "east"}},
        {changed(plan, "/plan/stages/0/replicas/0/count", 0), {"replicas[0].count", "0"}},
        {changed(plan, "/plan/stages/0/replicas/0", group("A100-40", 1024, "east", 1 << 20)),
         {"GPUs", "16777216"}},
        {changed(plan, "/plan/stages/0/replicas/0/tensor_parallel", 0), {"tensor_parallel", "0"}},
    };
    const Folder folder;
    Program program = parallel(write_profiles(folder));
    std::size_t line = 0;
    for (const Case& bad : cases) {
        CAPTURE(bad.line);
        const Json error = Json::parse(program.ask(bad.line));
        CAPTURE(error.dump());
        REQUIRE(error.contains("error"));
        CHECK(error["line"] == line + 1);
        const auto text = error["error"].get<std::string>();
        for (const std::string& word : bad.says) {
            CAPTURE(word);
            CHECK(text.find(word) != std::string::npos);
        }
        CHECK(ask(program, plan)["status"] == "evaluated");
        line += 2;
    }
    CHECK(program.finish().status == 1);
}

TEST_CASE("profiles that are missing or make no sense end the program with the file's name") {
    const Folder folder;
    const std::string profiles = write_profiles(folder);
    const Program::End without = Program({GOODPUT_PROGRAM, "parallel"}).finish();
    CHECK(without.status == 2);
    CHECK(without.errors.find("--profiles") != std::string::npos);
    const Program::End unknown = parallel(profiles, {"--time-model", "guess"}).finish();
    CHECK(unknown.status == 2);
    CHECK(unknown.errors.find("published") != std::string::npos);
    for (const char* name :
         {"llm_info.json", "profiles_tmp.json", "multizone_bandwidths_het.json", "communication_cost.json"}) {
        CAPTURE(name);
        const std::string text = folder.read(std::string("profiles/") + name);
        for (const char* wrong : {"", "[]", R"({"small": 7})"}) {
            CAPTURE(wrong);
            folder.write(std::string("profiles/") + name, wrong);
            const Program::End end = parallel(profiles).finish();
            CHECK(end.status == 1);
            CHECK(end.output.empty());
            CHECK(end.errors.find(name) != std::string::npos);
        }
        folder.write(std::string("profiles/") + name, text);
    }
    CHECK(parallel(profiles).finish().status == 0);
}

TEST_CASE("a GPU type that only the profiles know has nodes of 4, and the memory that its name says") {
    const Folder folder;
    const std::string profiles = write_profiles(folder);
    for (const char* file : {"profiles/profiles_tmp.json", "profiles/multizone_bandwidths_het.json"}) {
        std::string text = folder.read(file);
        for (std::size_t at = 0; (at = text.find("V100-16", at)) != std::string::npos;)
            text.replace(at, 7, "NEW-7");
        folder.write(file, text);
    }
    Program program = parallel(profiles);
    Json asked = question("throughput");
    asked["gpus"] = {{"east", {{"NEW-7", 8}}}};
    const Json best = ask(program, asked);
    CHECK(best["status"] == "optimal");
    CHECK(best["fits"] == true);
    for (const Json& gib : best["memory_gib"]) CHECK(gib.get<double>() <= 7);
    CHECK(best["usd"] == 0);  // no price is known
    const Json large = ask(program, two_stages(group("NEW-7", 8, "east", 1), group("NEW-7", 8, "east", 1)));
    CHECK(large["why"].dump().find("nodes have 4 GPUs") != std::string::npos);
    CHECK(program.finish().status == 0);
}

TEST_CASE("the cluster's file next to the profiles sets the nodes; memory stays that of the type") {
    const Folder folder;
    const std::string profiles = write_profiles(folder);
    Json asked = two_stages(group("A100-40", 8, "east", 1), group("A100-40", 8, "east", 1));
    const auto why = [&] {
        Program program = parallel(profiles);
        return ask(program, asked)["why"].dump();
    };
    CHECK(why().find("nodes have 4 GPUs") != std::string::npos);
    folder.write("configs/basic_cluster_config.json",
                 R"({"A100-40": {"gpus_per_node": 8, "mem_per_gpu": 1}, "zone": "east"})");
    CHECK(why().find("nodes have") == std::string::npos);
    CHECK(why().find("memory") == std::string::npos);
}

TEST_CASE(
    "one forward, one backward: nothing overlaps, nothing comes early, and no stage keeps more than those "
    "behind") {
    for (const std::size_t stages : {1u, 2u, 3u, 7u})
        for (const int microbatches : {1, 2, 5, 20}) {
            CAPTURE(stages);
            CAPTURE(microbatches);
            std::vector<cli::PipelineStage> uneven, even(stages, {.forward = 1, .backward = 2});
            for (std::size_t s = 0; s < stages; ++s) {
                const double more = static_cast<double>(s * 5 % 3);
                uneven.push_back({1 + more, s + 1 < stages ? 0.25 : 0, 2 + more, s > 0 ? 0.5 : 0});
            }
            double longest = 0;
            for (const cli::PipelineStep& step : cli::pipeline_schedule(even, microbatches))
                longest = std::max(longest, step.end);
            CHECK(longest == doctest::Approx(3 * (microbatches - 1 + static_cast<double>(stages))));

            const auto steps = cli::pipeline_schedule(uneven, microbatches);
            REQUIRE(steps.size() == 2 * stages * static_cast<std::size_t>(microbatches));
            std::vector<std::vector<double>> forward(stages), backward(stages);
            std::vector<double> free_at(stages, 0);
            for (const cli::PipelineStep& step : steps) {
                const cli::PipelineStage& stage = uneven[step.stage];
                auto& ends = (step.forward ? forward : backward)[step.stage];
                CHECK(step.microbatch == static_cast<int>(ends.size()));
                CHECK(step.begin >= free_at[step.stage]);
                CHECK(step.computed - step.begin ==
                      doctest::Approx(step.forward ? stage.forward : stage.backward));
                CHECK(step.end - step.computed ==
                      doctest::Approx(step.forward ? stage.send_forward : stage.send_backward));
                free_at[step.stage] = step.end;
                ends.push_back(step.end);
                CHECK(forward[step.stage].size() - backward[step.stage].size() <= stages - step.stage);
            }
            for (const cli::PipelineStep& step : steps) {
                const auto m = static_cast<std::size_t>(step.microbatch);
                if (step.forward && step.stage > 0) CHECK(step.begin >= forward[step.stage - 1][m]);
                if (!step.forward) CHECK(step.begin >= forward[step.stage][m]);
                if (!step.forward && step.stage + 1 < stages)
                    CHECK(step.begin >= backward[step.stage + 1][m]);
            }
        }
}

TEST_CASE("the report has each plan: every micro-batch on every stage twice, and the memory of its GPUs") {
    const Folder folder;
    const std::string profiles = write_profiles(folder), page_path = folder.write("page.html", "old");
    Program program = parallel(profiles, {"--report", page_path});
    const Json plan = two_stages(group("A100-40", 2, "east", 1), group("V100-16", 1, "west", 1));
    ask(program, plan);
    Json unknown = two_stages(group("A100-40", 1, "moon", 1), group("A100-40", 1, "east", 1));
    ask(program, unknown);
    ask(program, question("throughput"));
    CHECK(folder.read("page.html") == "old");  // stays if the program is interrupted
    REQUIRE(program.finish().status == 0);
    const std::string page = folder.read("page.html");
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(page.ends_with("</html>\n"));
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t at = page.find(begin) + begin.size();
    const Json plans = Json::parse(page.substr(at, page.find("</script>", at) - at))["plans"];
    REQUIRE(plans.size() == 3);
    std::map<std::string, int> blocks;
    for (const Json& block : plans[0]["timeline"]["blocks"]) {
        CHECK(block["end_s"].get<double>() > block["begin_s"].get<double>());
        CHECK(block["end_s"].get<double>() <= plans[0]["timeline"]["end_s"].get<double>() * (1 + 1e-9));
        const std::string what = block["what"];
        ++blocks[what.substr(0, what.find(" in stage "))];
    }
    for (const char* direction : {"forward of micro-batch ", "backward of micro-batch "})
        for (int m = 1; m <= 8; ++m) CHECK(blocks[direction + std::to_string(m)] == 2);
    CHECK(plans[0]["stages"][0]["limit_gib"] == 40);
    CHECK(plans[0]["stages"][1]["limit_gib"] == 16);
    CHECK(plans[0]["stages"][1]["memory"].get<std::string>().find(" of 16 GiB") != std::string::npos);
    CHECK(plans[1]["timeline"].is_null());
    CHECK(plans[1]["summary"].get<std::string>().find("cannot be told") != std::string::npos);
    CHECK(page.find("<p class=\"result\">The shortest iteration takes ") != std::string::npos);
    CHECK(parallel(profiles, {"--report", folder.path("no/such/page.html")}).finish().status == 1);
}

TEST_SUITE("data") {
    const std::filesystem::path sailor = GOODPUT_DATA_DIR "/sailor";

    Json read_json(const std::filesystem::path& path) {
        std::ifstream file(path);
        return Json::parse(file);
    }

    /// Returns a stored plan as a question to the program. Equal neighbouring replicas form a group.
    Json stored_plan(const Json& entry, int global_batch) {
        const Json& pipeline = entry["plan"]["pipelines"][0];
        Json stages = Json::array();
        for (std::size_t s = 0; s < pipeline["layers_per_stage"].size(); ++s) {
            const Json& layers = pipeline["layers_per_stage"][s];
            Json groups = Json::array();
            for (const Json& replica : pipeline["tmp_stages"][s]) {
                const Json& gpu = replica[0][0];
                Json one = group(gpu[0], replica[1], gpu[2], 1);
                if (!groups.empty()) one["count"] = groups.back()["count"];
                if (!groups.empty() && groups.back() == one) {
                    groups.back()["count"] = one["count"].get<int>() + 1;
                } else {
                    one["count"] = 1;
                    groups.push_back(one);
                }
            }
            stages.push_back({{"layers", {layers.front(), layers.back()}}, {"replicas", groups}});
        }
        return {{"model", "OPT-350"},
                {"plan",
                 {{"microbatch", entry["plan"]["mbs"]}, {"global_batch", global_batch}, {"stages", stages}}}};
    }

    TEST_CASE("stored plans of Sailor and its rivals score what its simulator says") {
        const int global_batch =
            read_json(sailor / "configs/training_config_opt_350.json")["global_batch_size"];
        Program program = parallel((sailor / "profiles").string());
        int scored = 0, unequal = 0;
        for (const auto& file : std::filesystem::recursive_directory_iterator(sailor / "results")) {
            if (file.path().extension() != ".json") continue;
            CAPTURE(file.path().string());
            for (const Json& entry : read_json(file.path())) {
                if (!entry["plan"].is_object()) continue;  // the rival found no plan
                REQUIRE(entry["plan"]["pipelines"].size() == 1);
                const Json answer = ask(program, stored_plan(entry, global_batch));
                REQUIRE_MESSAGE(!answer.contains("error"), answer.dump());
                CHECK(answer["throughput"].get<double>() ==
                      doctest::Approx(entry["throughput"].get<double>()).epsilon(1e-6));
                CHECK(answer["usd"].get<double>() ==
                      doctest::Approx(entry["cost_per_iteration"].get<double>()).epsilon(1e-6));
                CHECK(answer["traffic_usd"].get<double>() ==
                      doctest::Approx(entry["communication_cost"].get<double>()).epsilon(1e-6));
                CHECK(answer["fits"] == true);
                // A rival's plans may have stages with unequal replicas and no schedule, which is a fault
                // here.
                if (!answer["why"].empty()) {
                    CHECK(answer["why"].dump().find("nothing says which micro-batch goes where") !=
                          std::string::npos);
                    ++unequal;
                }
                ++scored;
            }
        }
        CHECK(scored == 18);
        CHECK(unequal == 3);
        CHECK(program.finish().status == 0);
    }

    // Model, micro-batch, global batch, seconds, dollars of traffic and whether it fits, by the published
    // simulator. Then the stages: first layer, last layer, replicas.
    constexpr const char* mixed_plans = R"([
      ["OPT-350", 2, 64, 9.619290159759995, 0.08691864917333333, true, [
        [0, 25, ["A100-40", 2, "us-central1-a", 1],
          ["A100-40", 1, "us-central1-a", 1],
          ["V100-16", 4, "us-west1-b", 1]]]],
      ["OPT-350", 4, 64, 13.331531344307937, 0.05694480384, false, [
        [0, 24, ["V100-16", 4, "us-central1-f", 3],
          ["V100-16", 1, "us-central1-c", 1]],
        [25, 25, ["V100-16", 4, "us-central1-c", 1],
          ["V100-16", 4, "us-central1-c", 1],
          ["V100-16", 1, "us-central1-f", 1],
          ["V100-16", 4, "us-central1-f", 1]]]],
      ["OPT-350", 1, 64, 2.533758812448326, 0.06476763136, true, [
        [0, 3, ["V100-16", 1, "us-central1-c", 4]],
        [4, 13, ["A100-40", 1, "us-central1-c", 2],
          ["A100-40", 2, "us-central1-c", 1],
          ["A100-40", 1, "us-central1-a", 1]],
        [14, 14, ["A100-40", 2, "us-central1-a", 3],
          ["V100-16", 1, "us-central1-c", 1]],
        [15, 18, ["A100-40", 1, "us-central1-c", 1],
          ["V100-16", 1, "us-central1-a", 1],
          ["V100-16", 1, "us-central1-c", 2]],
        [19, 25, ["A100-40", 2, "us-central1-c", 2],
          ["A100-40", 1, "us-central1-a", 1],
          ["A100-40", 2, "us-central1-a", 1]]]],
      ["GPT-Neo-2.7", 2, 2, 43.350892048424896, 0.6397558784000001, false, [
        [0, 32, ["V100-16", 2, "us-central1-b", 2],
          ["A100-40", 1, "us-west1-b", 1],
          ["V100-16", 2, "us-west1-b", 1]],
        [33, 33, ["V100-16", 2, "us-central1-b", 3],
          ["V100-16", 2, "us-central1-b", 1]]]],
      ["OPT-350", 4, 2, 0.9053943180832429, 0.00201326592, true, [
        [0, 1, ["A100-40", 2, "us-central1-f", 1],
          ["A100-40", 2, "us-central1-f", 1]],
        [2, 5, ["A100-40", 4, "us-central1-f", 1]],
        [6, 25, ["A100-40", 2, "us-west1-b", 2]]]],
      ["OPT-350", 1, 2, 1.6788959538221686, 0.04345932458666667, true, [
        [0, 25, ["V100-16", 4, "us-central1-f", 1],
          ["A100-40", 1, "us-central1-a", 2]]]]
    ])";

    TEST_CASE("plans of mixed types, degrees and zones score what the published simulator says") {
        Program program = parallel((sailor / "profiles").string());
        const Json plans = Json::parse(mixed_plans);
        CHECK(plans.size() == 6);
        for (const Json& entry : plans) {
            CAPTURE(entry.dump());
            Json stages = Json::array();
            for (const Json& stage : entry[6]) {
                Json replicas = Json::array();
                for (std::size_t r = 2; r < stage.size(); ++r)
                    replicas.push_back(group(stage[r][0], stage[r][1], stage[r][2], stage[r][3]));
                stages.push_back({{"layers", {stage[0], stage[1]}}, {"replicas", replicas}});
            }
            const Json answer =
                ask(program,
                    {{"model", entry[0]},
                     {"plan", {{"microbatch", entry[1]}, {"global_batch", entry[2]}, {"stages", stages}}}});
            REQUIRE_MESSAGE(!answer.contains("error"), answer.dump());
            CHECK(answer["iteration_s"].get<double>() ==
                  doctest::Approx(entry[3].get<double>()).epsilon(1e-12));
            CHECK(answer["traffic_usd"].get<double>() ==
                  doctest::Approx(entry[4].get<double>()).epsilon(1e-12));
            CHECK(answer["fits"] == entry[5]);
        }
        const std::filesystem::path cases = GOODPUT_DATA_DIR "/cases";
        Json answer = ask(program, read_json(cases / "parallel_traffic_OPT-350_25.json"));
        CHECK(answer["iteration_s"].get<double>() == doctest::Approx(54.47614798222055).epsilon(1e-12));
        CHECK(answer["traffic_usd"].get<double>() == doctest::Approx(0.02147483648).epsilon(1e-12));
        answer = ask(program, read_json(cases / "parallel_eval_1_155.json"));
        CHECK(answer["iteration_s"].get<double>() == doctest::Approx(6.536792353978392).epsilon(1e-12));
        CHECK(answer["traffic_usd"].get<double>() == doctest::Approx(0.10864831146666667).epsilon(1e-12));
        CHECK(program.finish().status == 0);
    }

    TEST_CASE("measured plans take the time and memory that the published simulator estimates") {
        Program program = parallel((sailor / "profiles").string());
        std::ifstream file(sailor / "measured/plans.jsonl");
        int scored = 0;
        for (std::string line; std::getline(file, line);) {
            const Json entry = Json::parse(line);
            CAPTURE(entry["name"].dump());
            const Json& plan = entry["plan"];
            const Json answer = ask(program, {{"model", plan["model"]}, {"plan", plan}});
            REQUIRE_MESSAGE(!answer.contains("error"), answer.dump());
            CHECK(answer["iteration_s"].get<double>() ==
                  doctest::Approx(entry["published_estimate"]["iteration_s"].get<double>()).epsilon(1e-6));
            // The published validation uses another constant than the planner.
            const int degree = plan["stages"][0]["replicas"][0]["tensor_parallel"];
            double most = 0;
            for (const Json& stage : answer["memory_gib"]) most = std::max(most, stage.get<double>() * gib);
            CHECK(
                most - (degree > 1 ? 3e9 : 2e9) + 4.76e9 + 3e8 ==
                doctest::Approx(entry["published_estimate"]["worst_gpu_bytes"].get<double>()).epsilon(1e-6));
            ++scored;
        }
        CHECK(scored == 12);
        CHECK(program.finish().status == 0);
    }
}

}  // namespace cli_parallel
