// Warnings about probable slips: each trap of the table in docs/program.md has its warning, the same round
// without the trap has none, and the table has a row per trap.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "program/round_lines.hpp"
#include "replay/scene.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_warnings {

using support::Program;
using namespace support::rounds;
using Warnings = std::vector<std::string>;

/// Returns a line with two jobs on two nodes that causes no warning.
Json sound_line() {
    Json jobs = Json::array({job("one"), job("two")});
    for (Json& each : jobs) each["batch"]["local"] = {{"aws", {32, 1024}}};
    return round_of(60, Json::array({node("aws", 0, 4), node("aws", 1, 4)}), jobs);
}

/// Returns the warnings for the last of some lines.
Warnings warnings_of(const std::vector<Json>& lines) {
    Program program = plan();
    Json answer;
    for (const Json& line : lines) answer = ask(program, line);
    return answer.value("warnings", Warnings());
}

/// A change that turns a sound line into a trap, and a similar change that does not.
struct Trap {
    std::string says;
    std::function<void(Json&line)> spoil, mend = [](Json&) {};
};

void set_in_nodes(Json& line, const char* field, const Json& value) {
    for (Json& each : line["nodes"]) each[field] = value;
}
void set_in_jobs(Json& line, const char* field, const Json& value) {
    for (Json& each : line["jobs"]) each[field] = value;
}
/// Sets a deadline of the first job, which was submitted a minute before `now`.
void set_deadline(Json& line, double now, double deadline) {
    line["time_s"] = now;
    set_in_jobs(line, "submitted_s", now - 60);
    line["jobs"][0]["remaining_examples"] = 1e5;
    line["jobs"][0]["deadline_s"] = deadline;
}
/// Returns a measured step of that many seconds.
Json step_of(double seconds, const char* type = "aws") {
    Json measured = sample(type, {1, 1}, 64);
    measured["step_s"] = seconds;
    measured["sync_s"] = 0;
    return Json::array({measured});
}

const std::vector<Trap>& traps_of_lines() {
    static const std::vector<Trap> traps{
        {"job 'one': batch.max is 64, but must be an integer of at least batch.initial, 128; it is left as "
         "it is",
         [](Json& line) { line["jobs"][0]["batch"]["max"] = 64; }},
        {"node 'aws-0': gpus is 0, but must be an integer from 1 to 1048576; it gets no new jobs",
         [](Json& line) { line["nodes"][0]["gpus"] = 0; }},
        {"job 'one': name is \"one\", but must be given only once; it is left out",
         [](Json& line) { line["jobs"][1]["name"] = "one"; }},
        {"job 'one': there is no field \"restart_costs\" (did you mean restart_cost_s?)",
         [](Json& line) { line["jobs"][0]["restart_costs"] = 4; }},
        {"job 'one': it cannot share GPUs with job 'tow', which is not in this line (did you mean two?)",
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "tow"}, {"part", {{"aws", {0.7, 0.6}}}}}};
         },
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"part", {{"aws", {0.7, 0.6}}}}}};
         }},
        {"jobs 'one' and 'two': with says that they share GPUs, but their placements differ",
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"part", {{"aws", {0.7, 0.6}}}}}};
             line["jobs"][0]["with"] = "two";
             line["jobs"][0]["placement"] = placement({{"aws-0", 1}});
             line["jobs"][1].erase("placement");
         },
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"part", {{"aws", {0.7, 0.6}}}}}};
             line["jobs"][0]["placement"] = placement({{"aws-0", 1}});
             line["jobs"][1].erase("placement");
         }},
        {"job 'one': its samples are left out, because it shares its GPUs",
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"part", {{"aws", {0.7, 0.6}}}}}};
             line["jobs"][0]["with"] = "two";
             line["jobs"][0]["samples"] = step_of(0.1);
             for (Json& each : line["jobs"]) each["placement"] = placement({{"aws-0", 1}});
         },
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"part", {{"aws", {0.7, 0.6}}}}}};
             line["jobs"][0]["with"] = "two";
             for (Json& each : line["jobs"]) each["placement"] = placement({{"aws-0", 1}});
         }},
        {"pair of jobs 'one' and 'two' on aws: part is 60, but must be between 0 and 2; the pair is left "
         "out",
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"part", {{"aws", {60, 60}}}}}};
         },
         [](Json& line) {  // measured, and slightly faster than alone
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"part", {{"aws", {1.05, 0.6}}}}}};
         }},
        {"job 'one': its speed alone on aws is not known, and so is what it loses while it shares with job "
         "'two'",
         [](Json& line) {
             line["jobs"][0]["shares_with"] = {{{"job", "two"}, {"rate", {{"aws", {300, 200}}}}}};
             line["jobs"][1]["batch"]["rate"] = {{"aws", 1000}};
         }},
        {"job 'one': no node is of GPU type \"asw\"",
         [](Json& line) {
             line["jobs"][0]["batch"]["rate"] = {{"asw", 1000}};
         },
         [](Json& line) {
             line["jobs"][0]["batch"]["rate"] = {{"aws", 1000}};
         }},
        {"job 'one': placement names node 'asw-0', which neither this line nor the one before has",
         [](Json& line) {
             line["jobs"][0]["placement"] = placement({{"asw-0", 1}});
         },
         [](Json& line) {
             line["jobs"][0]["placement"] = placement({{"aws-0", 1}});
         }},
        {"job 'one': team 'red' has no quota (did you mean Red?)",
         [](Json& line) {
             line["teams"] = {{"Red", {{"gpus", 4}}}, {"blue", {{"gpus", 4}}}};
             line["jobs"][0]["team"] = "red";
             line["jobs"][1]["team"] = "blue";
         },
         [](Json& line) {
             line["teams"] = {{"Red", {{"gpus", 4}}}, {"blue", {{"gpus", 4}}}};
             line["jobs"][0]["team"] = "speech";
             line["jobs"][1]["team"] = "blue";
         }},
        {"the quotas of teams: no job is of a team that has one",
         [](Json& line) {
             line["teams"] = {{"vision", {{"gpus", 4}}}};
         },
         [](Json& line) {
             line["teams"] = {{"vision", {{"gpus", 4}}}};
             line["jobs"][1]["team"] = "vision";
         }},
        {"job 'one': the fewest GPUs that it may have are more than the quota of team vision",
         [](Json& line) {
             line["teams"] = {{"vision", {{"gpus", 2}}}};
             set_in_jobs(line, "team", "vision");
             line["jobs"][0]["gpus"] = {4, 4};
         },
         [](Json& line) {
             line["teams"] = {{"vision", {{"gpus", 4}}}};
             set_in_jobs(line, "team", "vision");
             line["jobs"][0]["gpus"] = {4, 4};
         }},
        {"the budget: no node has a price", [](Json& line) { line["budget_h"] = 20; },
         [](Json& line) {
             line["budget_h"] = 20;
             set_in_nodes(line, "price_h", 2);
         }},
        {"the budget of teams: no node has a price",
         [](Json& line) {
             line["teams"] = {{"vision", {{"budget_h", 20}}}};
             line["jobs"][0]["team"] = "vision";
         },
         [](Json& line) {
             line["teams"] = {{"vision", {{"budget_h", 20}}}};
             line["jobs"][0]["team"] = "vision";
             set_in_nodes(line, "price_h", 2);
         }},
        {"node 'aws-0': no price, although others of the kind have one",
         [](Json& line) {
             line["budget_h"] = 20;
             line["nodes"][1]["price_h"] = 2;
         },
         [](Json& line) {  // own nodes next to rented ones
             line["budget_h"] = 20;
             line["nodes"][1]["price_h"] = 2;
             line["nodes"][1]["gpus"] = 8;
         }},
        {"the cap on spot GPUs: no node is a spot node", [](Json& line) { line["spot_gpus"] = 2; },
         [](Json& line) {
             line["spot_gpus"] = 2;
             line["nodes"][0]["spot"] = true;
         }},
        {"the quota of teams on spot nodes: no node is a spot node",
         [](Json& line) {
             line["teams"] = {{"vision", {{"spot_gpus", 2}}}};
             line["jobs"][0]["team"] = "vision";
         },
         [](Json& line) {
             line["teams"] = {{"vision", {{"spot_gpus", 2}}}};
             line["jobs"][0]["team"] = "vision";
             line["nodes"][0]["spot"] = true;
         }},
        {"job 'one' and 1 other: needs CPU cores, but no node says how much it has",
         [](Json& line) {
             set_in_jobs(line, "host", {{"cores_per_gpu", {1, 2}}});
         },
         [](Json& line) {
             set_in_jobs(line, "host", {{"cores_per_gpu", {1, 2}}});
             line["nodes"][0]["cores"] = 16;
         }},
        {"job 'one': has to stay within one rack, but no node says its rack",
         [](Json& line) { line["jobs"][0]["within"] = "rack"; },
         [](Json& line) {
             line["jobs"][0]["within"] = "rack";
             set_in_nodes(line, "rack", "r1");
         }},
        {"job 'one': submitted later than now", [](Json& line) { line["jobs"][0]["submitted_s"] = 1e9; },
         [](Json& line) { line["jobs"][0]["submitted_s"] = 90; }},
        {"job 'one': its deadline_s is not after its submitted_s: is it on the clock of time_s?",
         [](Json& line) { set_deadline(line, 1'790'000'000, 3600); },
         [](Json& line) { set_deadline(line, 1'790'000'000, 1'790'003'600); }},
        {"job 'one': its deadline_s is more than ten years away: is it in seconds?",
         [](Json& line) { set_deadline(line, 1'790'000'000, 1'790'003'600'000); },
         [](Json& line) { set_deadline(line, 1'790'000'000, 1'789'999'990); }},  // it has passed
        {"node 'aws-0': until_s is 50, but must be after from_s, 70; it gets no new jobs",
         [](Json& line) {
             line["nodes"][0]["from_s"] = 70;
             line["nodes"][0]["until_s"] = 50;
         },
         [](Json& line) {
             line["nodes"][0]["from_s"] = 50;
             line["nodes"][0]["until_s"] = 70;
         }},
        {"job 'one' and 1 other: submitted more than ten years ago",
         [](Json& line) { line["time_s"] = 1.7e9; }, [](Json& line) { line["time_s"] = 3e8; }},
        {"job 'one': a step measured on aws takes 5000 s: is that in seconds?",
         [](Json& line) { line["jobs"][0]["samples"] = step_of(5000); },
         [](Json& line) { line["jobs"][0]["samples"] = step_of(0.1); }},
        {"job 'one': a step measured on aws takes 103 s, but by its declared rate about 0.064 s",
         [](Json& line) {
             line["jobs"][0]["batch"]["rate"] = {{"aws", 1000}};
             line["jobs"][0]["samples"] = step_of(103);
         },
         [](Json& line) {
             line["jobs"][0]["batch"]["rate"] = {{"aws", 1000}};
             line["jobs"][0]["samples"] = step_of(0.1);
         }},
        {"job 'one': a step measured on dgx although it cannot run there by its limits",
         [](Json& line) {
             line["nodes"].push_back(node("dgx", 0, 8));
             line["jobs"][0]["samples"] = step_of(0.1, "dgx");
         },
         [](Json& line) {
             line["nodes"].push_back(node("dgx", 0, 8));
             line["jobs"][0]["samples"] = step_of(0.1);
         }},
        {"job 'one': a batch is wanted, but the job does not choose its batch",
         [](Json& line) {
             line["jobs"][0]["adapt"] = "gpus";
             line["jobs"][0]["batch"]["target"] = line["jobs"][0]["batch"]["wanted"] = 256;
         },
         [](Json& line) { line["jobs"][0]["batch"]["wanted"] = 256; }},
        {"job 'one': has run for a GPU hour and reports no gradient statistics",
         [](Json& line) {
             line["jobs"][0]["attained_gpu_s"] = 4000;
             set_in_jobs(line, "gradient", nullptr);
         },
         [](Json& line) { set_in_jobs(line, "gradient", nullptr); }},
        {"job 'two': weighs 1e+07 times as much as job 'one'",
         [](Json& line) { line["jobs"][1]["weight"] = 1e7; },
         [](Json& line) { set_in_jobs(line, "weight", 1e7); }},
        {"job 'one': has restarts that cost nothing and no way to save its state",
         [](Json& line) {
             set_in_nodes(line, "interruptions_h", 0.1);
             line["jobs"][0]["restart_cost_s"] = 0;
         },
         [](Json& line) { line["jobs"][0]["restart_cost_s"] = 0; }},
        {"job 'one': named as cancelled, and still among the jobs",
         [](Json& line) { line["cancelled"] = {"one"}; }, [](Json& line) { line["cancelled"] = {"zero"}; }},
        {"round: offers are only looked at with --advise", [](Json& line) {
             line["offers"] = Json::array(
                 {{{"name", "more"}, {"gpu_type", "aws"}, {"gpus", 4}, {"most", 2}, {"price_h", 3}}});
         }}};
    return traps;
}

/// Warnings that no single line can cause: by trap, what is said with and without it.
struct Said {
    std::string says;
    Warnings with, without;
};

/// Returns a limit's warnings for two jobs of kind "matlab" on T4 and A100.
template <goodput::Limit L>
Warnings said_under(L limit) {
    using namespace goodput;
    Snapshot now{.cluster = {{"T4", "A100"}, {{"a", 0, 4}, {"b", 1, 4}}}};
    for (const char* name : {"one", "two"}) {
        Job& job = now.jobs.emplace_back(Job{.name = name, .kind = "matlab", .max_gpus = 4});
        job.initial_batch = job.max_batch = 64;
        job.types = {{.max_atomic_batch = 64}, {.max_atomic_batch = 64}};
    }
    return Scheduler<>().limited_by(std::move(limit)).plan(now).warnings;
}

/// Returns the warnings for a job with a rate, through a memory or without one.
Warnings said_of_rate(bool through_memory) {
    using namespace goodput;
    Snapshot now{.cluster = {{"T4"}, {{"a", 0, 4}}}};
    Job& job = now.jobs.emplace_back(Job{.name = "one", .initial_batch = 64, .max_batch = 64});
    job.types = {{.max_atomic_batch = 64, .reference_rate = 400}};
    JobMemory memory;
    if (through_memory) memory.take_in(now);
    return plan(now).warnings;
}

/// Returns warnings for a replay of jobs with these times, each asking for `gpus` GPUs of a cluster of 8.
Warnings warnings_of_trace(const std::vector<double>& times, int gpus = 1) {
    const support::Folder folder;
    std::string trace = "name,time,application,num_replicas,batch_size\n";
    for (std::size_t j = 0; j < times.size(); ++j)
        trace += "j" + std::to_string(j) + "," + std::to_string(times[j]) + ",cifar10," +
                 std::to_string(gpus) + ",128\n";
    cli::ReplayCommand command;
    command.workload = folder.write("trace.csv", trace);
    command.cluster = "T4:2x4";
    return cli::make_scene(command).warnings;
}

std::vector<Said> other_traps() {
    using namespace goodput;
    std::vector<Said> traps{
        {"the power cap: GPUs of type A100 take 0 watts", said_under(PowerCap(4000, {70, 0})),
         said_under(PowerCap(4000, {70, 400}))},
        {"the licences of MATLAB: they are for no kind of job", said_under(Licences("MATLAB", 4, {})),
         said_under(Licences("MATLAB", 4, {"matlab"}))},
        {"the licences of MATLAB: no job is of kind 'Matlab' (did you mean matlab?)",
         said_under(Licences("MATLAB", 4, {"Matlab"})), said_under(Licences("MATLAB", 4, {"R"}))},
        {"job 'one': has a reference rate but no model", said_of_rate(false), said_of_rate(true)}};
    std::vector<double> seconds, hours, milliseconds;
    for (int j = 0; j < 12; ++j) {
        seconds.push_back(1800 * j);
        hours.push_back(0.5 * j);
        milliseconds.push_back(1.8e6 * j);
    }
    traps.push_back({"--workload: from the first time to the last there are only 5.5 s: is time in seconds?",
                     warnings_of_trace(hours), warnings_of_trace(seconds)});
    // Submitting all jobs at once is no slip, and neither are few jobs.
    traps.push_back(
        {"--workload: from the first time to the last there are 229.167 days: is time in seconds?",
         warnings_of_trace(milliseconds), warnings_of_trace(std::vector<double>(12, 0))});
    traps.push_back({"--workload: job 'j0' and 2 others: num_replicas is more GPUs than there ever are, 8",
                     warnings_of_trace({0, 5, 9}, 100), warnings_of_trace({0, 5, 9}, 8)});
    Json early = sound_line(), late = sound_line();
    late["time_s"] = 120;
    traps.push_back({"time goes back: it is 60 s, and was 120 s in the round before",
                     warnings_of({late, early}), warnings_of({early, late})});
    Program program = plan();
    const std::string line = early.dump();
    const auto said = [&](const std::string& text) {
        return Json::parse(program.ask(text)).value("warnings", Warnings());
    };
    traps.push_back(
        {"jobs is given twice", said(line.substr(0, line.size() - 1) + R"(,"jobs":[]})"), said(line)});
    return traps;
}

bool any_says(const Warnings& warnings, const std::string& what) {
    return std::any_of(warnings.begin(), warnings.end(),
                       [&](const std::string& warning) { return warning.find(what) != std::string::npos; });
}

TEST_CASE("each trap has its warning, once, and the same round without the trap has none") {
    for (const Trap& trap : traps_of_lines()) {
        CAPTURE(trap.says);
        Json spoiled = sound_line(), sound = sound_line();
        trap.spoil(spoiled);
        trap.mend(sound);
        const Warnings with = warnings_of({spoiled}), without = warnings_of({sound});
        CAPTURE(Json(with).dump());
        CHECK(with.size() == 1);
        CHECK(any_says(with, trap.says));
        CHECK_MESSAGE(without.empty(), Json(without).dump());
    }
    for (const Said& trap : other_traps()) {
        CAPTURE(trap.says);
        CAPTURE(Json(trap.with).dump());
        CHECK(trap.with.size() == 1);
        CHECK(any_says(trap.with, trap.says));
        CHECK_MESSAGE(trap.without.empty(), Json(trap.without).dump());
    }
}

TEST_CASE("a node of the line before is lost, and an unknown node is refused with --strict") {
    Json line = sound_line(), lost = sound_line();
    line["jobs"][0]["placement"] = lost["jobs"][0]["placement"] = placement({{"aws-1", 2}});
    lost["nodes"].erase(1);
    CHECK(warnings_of({line, lost}).empty());
    CHECK(warnings_of({lost}).size() == 1);
    Program strict = plan({"--strict"});
    CHECK(ask(strict, line).contains("plan"));
    CHECK(ask(strict, lost).contains("plan"));
    const Json refused = Json::parse(strict.ask(lost.dump()));
    CHECK(refused.value("error", "").find("placement names node 'aws-1'") != std::string::npos);
}

TEST_CASE("a probable slip does not make --strict refuse a line") {
    Json line = sound_line();
    line["budget_h"] = 20;
    Program strict = plan({"--strict"});
    CHECK(any_says(ask(strict, line).value("warnings", Warnings()), "the budget: no node has a price"));
}

/// Returns the first cells of the table of warnings.
std::vector<std::string> rows_of_table() {
    std::ifstream page(std::filesystem::path(__FILE__).parent_path() / "../../docs/program.md");
    std::vector<std::string> rows;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) inside = line == "## Warnings";
        if (!inside || !line.starts_with("| ") || line.starts_with("| warning |")) continue;
        std::string cell = line.substr(2, line.find(" | ") - 2);
        std::erase(cell, '*');
        for (std::size_t next; (next = cell.find("; the ")) != std::string::npos;) {  // two with one cause
            rows.push_back(cell.substr(0, next));
            cell.erase(0, next + 2);
        }
        rows.push_back(std::move(cell));
    }
    return rows;
}

/// Whether a sentence matches a row, in which words in capitals and "..." stand for anything.
bool is_of(const std::string& row, const std::string& sentence) {
    std::string rest = row;
    for (const char* any : {"NAME", "FIELD", "TEAM", "TYPE", "NUMBER", "..."})
        for (std::size_t at = 0; (at = rest.find(any)) != std::string::npos;)
            rest.replace(at, std::string(any).size(), "\n");
    std::size_t at = 0;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        at = sentence.find(rest.substr(0, end), at);
        if (at == std::string::npos) return false;
        at += end;
        rest.erase(0, end + 1);
    }
    return true;
}

TEST_CASE("the table in docs/program.md has a row for each trap, and no other") {
    const std::vector<std::string> rows = rows_of_table();
    REQUIRE(rows.size() >= 20);
    std::vector<std::string> sentences;
    for (const Trap& trap : traps_of_lines()) {
        Json line = sound_line();
        trap.spoil(line);
        for (std::string& warning : warnings_of({line})) sentences.push_back(std::move(warning));
    }
    for (Said& trap : other_traps())
        for (std::string& warning : trap.with) sentences.push_back(std::move(warning));
    for (const std::string& row : rows)
        CHECK_MESSAGE(std::any_of(sentences.begin(), sentences.end(),
                                  [&](const std::string& sentence) { return is_of(row, sentence); }),
                      row);
    for (const std::string& sentence : sentences)
        CHECK_MESSAGE(std::any_of(rows.begin(), rows.end(),
                                  [&](const std::string& row) { return is_of(row, sentence); }),
                      sentence);
}

}  // namespace cli_warnings
