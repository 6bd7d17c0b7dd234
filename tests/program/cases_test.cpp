// Inputs that failed once, and what `goodput plan` must answer to them (../shared/data/cases/README.md
// describes each).

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/round_lines.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_cases {

using support::Program;
using namespace support::rounds;

/// Returns the last answer to a case, of which only the first `lines` are asked.
/// `free_restarts`: jobs that do not state what a restart costs pay nothing, as they did when
/// the case was found.
Json answer_to(const std::string& name, const std::string& policy = "goodput", int lines = 1 << 10,
               bool free_restarts = false) {
    const std::string path = std::string(GOODPUT_DATA_DIR) + "/cases/" + name;
    const bool rounds = std::filesystem::exists(path + ".jsonl");
    std::ifstream file(path + (rounds ? ".jsonl" : ".json"));
    REQUIRE_MESSAGE(file, path);
    Program program = plan({"--policy", policy});
    Json answer;
    std::string line;
    while (lines-- > 0 && std::getline(file, line)) {
        if (line.empty()) continue;
        Json question = Json::parse(line);
        for (Json& job : question["jobs"])
            if (free_restarts && !job.contains("restart_cost_s")) job["restart_cost_s"] = 0;
        answer = ask(program, question);
    }
    return answer;
}

std::set<std::string> nodes_of(const Json& answer, const char* job) {
    std::set<std::string> nodes;
    for (const Json& share : entry(answer, job)["nodes"]) nodes.insert(share[0].get<std::string>());
    return nodes;
}

int gpus_given(const Json& answer) {
    int gpus = 0;
    for (const Json& job : answer["plan"])
        for (const Json& share : job["nodes"]) gpus += share[1].get<int>();
    return gpus;
}

void check_kept(const Json& answer, const char* job, double deadline) {
    const Json& given = entry(answer, job);
    CHECK_MESSAGE(given["promise"] == "kept", given.dump());
    CHECK(given.value("done_by_s", 1e300) <= deadline);
}

TEST_SUITE("data") {
    TEST_CASE(
        "promises to jobs that follow the plan are kept through restarts and slips, and the jobs end in "
        "time") {
        check_kept(answer_to("kept_and_late"), "j0", 1e9);
        CHECK(answer_to("d6_deadline_within_round")["plan"][1]["nodes"][0][1] == 2);
        check_kept(answer_to("d5_restart_longer_than_rounds"), "w0j2", 1e9);
        check_kept(answer_to("long_restart_breaks"), "x", 650);
        check_kept(answer_to("promise_against_a_restart", "fifo"), "j1", 2399);
        check_kept(answer_to("slip_loses_promise"), "x", 2400);
        check_kept(answer_to("d3_pinned_12_gpus", "srtf"), "w30j2", 1e9);
        check_kept(answer_to("c67_promise_kept"), "dl", 1e9);
        CHECK(entry(answer_to("d12_name_again"), "x")["promise"] != "broken");
    }
    TEST_CASE(
        "a job that cannot move again takes nothing that a promise needs, and its parts are not planned "
        "with") {
        const Json newcomer = answer_to("d1_pinned_newcomer", "goodput", 2);
        CHECK(entry(newcomer, "w4j8")["promise"] == "kept");
        CHECK(entry(newcomer, "w4j11")["nodes"].empty());
        const Json part = answer_to("d4_partly_pinned_nodes", "pollux", 1);
        CHECK(entry(part, "w8j11")["promise"] == "kept");
        CHECK(nodes_of(part, "w8j11").size() == 1);
    }
    TEST_CASE("more nodes and odd sizes are promised, and the answer says what is not counted") {
        for (const char* name : {"more_nodes_less_promise", "more_nodes_less_promise_b"})
            CHECK(entry(answer_to(name), "x")["promise"] == "kept");
        for (const char* name : {"c66_size24_of_8", "c66_size3_of_8", "c66_size6_of_6_never"})
            CHECK(entry(answer_to(name), "g")["promise"] == "kept");
        CHECK(entry(answer_to("u1_three_gpus"), "o")["promise"] == "kept");
        const Json host = entry(answer_to("d10_host_one_line"), "h");
        CHECK(host["promise"] == "refused");
        CHECK(host["why"].get<std::string>().find("CPU cores or memory") != std::string::npos);
        CHECK(entry(answer_to("c62_past"), "late")["why"] == "no promise: its deadline passed 10 s ago");
        CHECK(answer_to("c62_relative")["warnings"].size() == 1);
        CHECK(entry(answer_to("c62b_refused_then_free", "goodput", 2), "second").value("outcome", "") !=
              "impossible");
    }
    TEST_CASE("jobs keep the GPUs they hold, on parts of nodes and on nodes of different sizes") {
        for (const char* name : {"c76_6plus6_leftover", "c76_8plus4", "c70_held", "c70_gpu_broke"}) {
            const Json answer = answer_to(name);
            for (const Json& job : answer["plan"])
                CHECK_MESSAGE(job["starts"] == "stays", name << ": " << job.dump());
        }
    }
    TEST_CASE("jobs get the fewest nodes, those that stay; a job blocked only for now is not impossible") {
        CHECK(nodes_of(answer_to("c69_sixteen"), "w16") == std::set<std::string>{"a0", "a1"});
        CHECK(nodes_of(answer_to("c69_four_norate"), "w4") == std::set<std::string>{"a0"});
        const Json restarting = answer_to("c75_restarting_rack", "goodput", 1);
        for (const Json& job : restarting["plan"])
            if (job["nodes"].empty()) CHECK_MESSAGE(job["outcome"] == "waits", job.dump());
        CHECK(entry(answer_to("c65_cpu_taken"), "g8")["why"].get<std::string>().starts_with(
            "1 node has the cores"));
        CHECK(answer_to("c67_window_reversed")["warnings"].size() == 1);
    }
    TEST_CASE("pairs start together elsewhere, leave no GPU idle in a queue, and more of them are no loss") {
        const Json crash = answer_to("crash_pinned_pair_small");
        CHECK(crash["warnings"][0].get<std::string>().starts_with("job 'a' and 1 other"));
        const Json lost = answer_to("c68_pair_lost");
        for (const char* job : {"p", "q"}) CHECK(entry(lost, job)["nodes"].size() == 1);
        CHECK(answer_to("c56_pair_partner_ended")["warnings"].size() == 1);
        CHECK(gpus_given(answer_to("pairs_queue_idle", "tiresias")) >= 5);
        CHECK(answer_to("pairs_ring_26", "goodput", 1, true)["objective"].get<double>() > 211.1);
    }
    TEST_CASE("with racks, no job that fits next to all others waits if a plan is called optimal") {
        for (const auto& [name, job] :
             {std::pair("racks_optimal_955", "j4"), std::pair("racks_optimal_15279", "j1")}) {
            const Json answer = answer_to(name);
            CHECK((answer["status"] != "optimal" || !entry(answer, job)["nodes"].empty()));
        }
    }
}

}  // namespace cli_cases
