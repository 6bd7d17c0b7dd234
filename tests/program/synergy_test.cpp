// Tests `goodput replay --world synergy` with traces that can be computed by hand, and the published results.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/replays.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace cli_synergy {

using Json = nlohmann::ordered_json;
using support::answers_of;
using support::lines_of;
using support::Program;

Program::End replay(const std::vector<std::string>& options) {
    return support::replay({"--world", "synergy"}, options);
}

/// Two models: one is twice as fast with three cores per GPU as with two, the other needs only one core.
const std::string profiles = R"({
    "cpu_values": [1, 2, 3], "mem_values_gb": [25, 50],
    "profiles": {"models": {
        "hungry_1": {"cpu_per_gpu_ideal": 3, "mem_gb_per_gpu_ideal": 25, "iter_time_s_at_fair_share": 1,
                     "speedup_ideal_over_fair": 2, "tput": [[0.5, 0.5], [1, 1], [2, 2]]},
        "frugal_1": {"cpu_per_gpu_ideal": 1, "mem_gb_per_gpu_ideal": 20, "iter_time_s_at_fair_share": 1,
                     "speedup_ideal_over_fair": 1, "tput": [[1, 1], [1, 1], [1, 1]]}}}})";

/// One node with two GPUs, four cores and 100 GiB.
struct Files : support::Folder {
    std::string trace(const std::string& text) const { return write("trace.csv", text); }
    std::vector<std::string> options(const std::string& text, std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"--workload", trace(text), "--profiles", write("profiles.json", profiles),
                                   "--cluster", "gpu:1x2", "--cores", "4", "--memory-gib", "100"});
        return more;
    }
};

/// Returns the whole seconds from submission to completion of every job, by host.
std::map<std::string, std::vector<double>> seconds_by_host(const Files& files, const std::string& trace,
                                                           const std::string& policy = "fifo") {
    std::map<std::string, std::vector<double>> seconds;
    for (const Json& answer :
         answers_of(replay(files.options(trace, {"--policy", policy, "--json", "--jobs"}))))
        for (const Json& job : answer["completions"])
            seconds[answer["host"]].push_back(std::round(job["completion_h"].get<double>() * 3600));
    return seconds;
}

using Seconds = std::vector<double>;

TEST_CASE("a job with more cores than its share completes in fewer rounds if the cores are free") {
    const Files files;
    const auto seconds = seconds_by_host(files, "a,hungry,0,600,1\nb,frugal,0.001,600,1\n");
    // The first decision is at 1 s, and jobs complete at the end of a round.
    CHECK(seconds.at("proportional") == Seconds{601, 601});
    CHECK(seconds.at("greedy") == Seconds{301, 601});
    CHECK(seconds.at("tune") == Seconds{301, 601});
    CHECK(seconds.at("opt") == Seconds{301, 601});
}

TEST_CASE(
    "two jobs that want three of four cores: greedy lets one wait, tune cuts both, opt finds no better") {
    const Files files;
    const auto seconds = seconds_by_host(files, "a,hungry,0,600,1\nb,hungry,0.001,600,1\n");
    CHECK(seconds.at("proportional") == Seconds{601, 601});
    CHECK(seconds.at("greedy") == Seconds{301, 601});
    CHECK(seconds.at("tune") == Seconds{601, 601});
    CHECK(seconds.at("opt") == Seconds{601, 601});
}

TEST_CASE("a demand larger than any node is cut to the node, and its speed is interpolated") {
    const Files files;
    // Two of four cores per GPU equal the proportional share, so the job is not faster.
    const auto seconds = seconds_by_host(files, "a,hungry,0,600,2\n");
    for (const auto& times : seconds) {
        CAPTURE(times.first);
        CHECK(times.second == Seconds{601});
    }
}

TEST_CASE("rounds have whole iterations, and decisions fall at the end of the round in which jobs come") {
    const Files files;
    const auto seconds = seconds_by_host(files, "a,frugal,10,301,1\nb,frugal,310.5,300,1\n");
    for (const auto& times : seconds) {
        CAPTURE(times.first);
        CHECK(times.second == Seconds{890, 590});  // decisions at 300 and 600
    }
}

TEST_CASE("orders differ in which job is served first") {
    const Files files;
    const std::string trace = "long,frugal,0,900,2\nshort,frugal,0.5,300,2\n";
    CHECK(seconds_by_host(files, trace, "fifo").at("tune") == Seconds{901, 1201});
    CHECK(seconds_by_host(files, trace, "srtf").at("tune") == Seconds{1201, 301});
    CHECK(seconds_by_host(files, trace, "las").at("tune") == Seconds{1201, 601});
    CHECK(seconds_by_host(files, trace, "tetris").at("tune") == Seconds{1201, 301});
    CHECK(seconds_by_host(files, trace, "drf").at("tune") == Seconds{901, 1201});
    CHECK(seconds_by_host(files, trace, "ftf").at("tune") == Seconds{901, 1201});
}

TEST_CASE("one row for each pair of policy and host, with both names") {
    const Files files;
    const std::string trace = "a,hungry,0,600,1\nb,frugal,0.001,600,1\n";
    const std::vector<Json> answers = answers_of(
        replay(files.options(trace, {"--policy", "srtf,fifo", "--host", "tune,greedy", "--json"})));
    std::vector<std::string> pairs;
    for (const Json& answer : answers) {
        pairs.push_back(answer["policy"].get<std::string>() + " " + answer["host"].get<std::string>());
        CHECK(answer["completed"] == 2);
        CHECK(answer["rho_worst"].get<double>() >= answer["rho_mean"].get<double>());
        CHECK(answer["unfair"].get<double>() <= answer["rho_above_1"].get<double>());
        CHECK(answer["faults"] == 0);
    }
    CHECK(pairs == std::vector<std::string>{"srtf tune", "srtf greedy", "fifo tune", "fifo greedy"});

    const Program::End table = replay(files.options(trace));
    CHECK(table.status == 0);
    CHECK(table.errors == "");
    const std::vector<std::string> lines = lines_of(table.output);
    // Six orders under five host mechanisms, and two of our policies under one.
    CHECK(lines.size() == 3 * (1 + 6 * 5 + 2) + 2);
    CHECK(lines.at(0).starts_with("policy            host "));
    CHECK(lines.at(1).starts_with("fifo              proportional "));
    CHECK(lines.at(30).starts_with("tetris            goodput "));
    CHECK(lines.at(32).starts_with("goodput-declared  goodput "));
}

TEST_CASE("speeds are relative to a GPU's proportional share, even on nodes other than the profiled ones") {
    const Files files;
    std::vector<std::string> options =
        files.options("a,hungry,0,600,1\n", {"--policy", "fifo", "--host", "proportional,greedy", "--json"});
    options[7] = "6";  // three cores per GPU
    for (const Json& answer : answers_of(replay(options)))
        CHECK(answer["average_jct_h"].get<double>() == doctest::Approx(301 / 3600.0));
}

TEST_CASE("options and files that make no sense are refused with option or line, field and value") {
    const Files files;
    const auto error_of = [&](const std::string& trace, std::vector<std::string> more, int status) {
        const Program::End end = replay(files.options(trace, std::move(more)));
        CHECK(end.status == status);
        CHECK(end.output == "");
        return end.errors;
    };
    const std::string good = "a,hungry,0,600,1\n", path = files.path("trace.csv");
    CHECK(error_of(good, {"--host", "tune,best"}, 2) ==
          "goodput: there is no host 'best' in the world synergy; known are proportional, greedy, tune, opt, "
          "goodput\n");
    CHECK(error_of(good, {"--policy", "sia"}, 2) ==
          "goodput: there is no policy 'sia' in the world synergy; known are fifo, srtf, las, ftf, drf, "
          "tetris, goodput, goodput-declared; it runs in sia, gavel\n");
    CHECK(error_of(good, {"--policy", "goodput", "--host", "tune,opt"}, 2) ==
          "goodput: --policy: name is 'goodput', but must be with --host goodput, the only one that it goes "
          "with\n");
    CHECK(error_of(good, {"--models", "refined"}, 2) ==
          "goodput: --models: world is synergy, but must be sia, the only one with that option\n");
    CHECK(error_of(good, {"--placement", "best"}, 2) ==
          "goodput: --placement: name is 'best', but must be synergy or random\n");
    CHECK(error_of("a,thirsty,0,600,1\n", {}, 1) ==
          "goodput: " + path + ", line 1: model is 'thirsty', but must be a model of " +
              files.path("profiles.json") + "\n");
    CHECK(error_of(good + "b,hungry,x,600,1\n", {}, 1) ==
          "goodput: " + path + ", line 2: arrival_s is 'x', but must be a finite number\n");
    CHECK(error_of("a,hungry,0,0,1\n", {}, 1).find("iterations is '0', but must be an integer from 1 to ") !=
          std::string::npos);
    CHECK(error_of(good + good, {}, 1) ==
          "goodput: " + path + ", line 2: name is 'a', but must be a name of its own\n");
    CHECK(error_of("a,hungry,0,600\n", {}, 1) ==
          "goodput: " + path + ", line 1: number of cells is 4, but must be that of the columns, 5\n");

    const auto without_files = [&](std::vector<std::string> options) {
        const Program::End end = replay(std::move(options));
        CHECK(end.output == "");
        return end.errors;
    };
    CHECK(without_files({}) ==
          "goodput: --workload: file is missing, but must be given in the world synergy\n");
    const std::string workload = files.trace(good), no_json = files.write("none.json", "no JSON");
    CHECK(without_files({"--workload", workload, "--profiles", no_json}) ==
          "goodput: " + no_json + ": is not JSON\n");
    const std::string empty = files.write("empty.json", R"({"profiles": {"models": {"hungry_1": {}}}})");
    CHECK(without_files({"--workload", workload, "--profiles", empty}) ==
          "goodput: " + empty +
              ": profiles.models.hungry_1.cpu_per_gpu_ideal is missing, but must be a number\n");
    CHECK(without_files({"--workload", workload, "--profiles", empty, "--cluster", "a:1x2,b:1x2"}) ==
          "goodput: --cluster: number of GPU types is 2, but must be 1 in the world synergy\n");
    CHECK(without_files({"--workload", workload, "--profiles", empty, "--cores", "0"}) ==
          "goodput: --cores: number is 0, but must be a finite number above 0\n");

    const Program::End sia = Program({GOODPUT_PROGRAM, "replay", "--host", "tune"}).finish();
    CHECK(sia.status == 2);
    CHECK(sia.errors ==
          "goodput: --host: world is sia, but must be synergy, the only one with that option\n");
}

TEST_SUITE("data") {
    TEST_CASE(
        "cores and memory by prices: never clearly slower than tune under the same order, mostly faster") {
        const std::string folder = GOODPUT_DATA_DIR "/synergy";
        double logarithms = 0;
        int pairs = 0;
        for (const char* trace : {"static100_multi", "static100_repo", "dynamic200_image_single_4srv"}) {
            CAPTURE(trace);
            const std::vector<Json> answers = answers_of(replay(
                {"--workload", folder + "/traces/" + trace + ".csv", "--profiles",
                 folder + "/profiles/profiles.json", "--cluster", "gpu:4x8", "--cores", "24", "--memory-gib",
                 "500", "--policy", "fifo,srtf,las", "--host", "tune,goodput", "--json"}));
            REQUIRE(answers.size() == 6);
            for (std::size_t a = 0; a < answers.size(); a += 2) {
                CHECK(answers[a + 1]["completed"] == answers[a]["completed"]);
                CHECK(answers[a + 1]["faults"] == 0);
                const double ratio =
                    answers[a + 1]["average_jct_h"].get<double>() / answers[a]["average_jct_h"].get<double>();
                CHECK(ratio < 1.005);
                logarithms += std::log(ratio);
                ++pairs;
            }
        }
        CHECK(std::exp(logarithms / pairs) < 0.98);
    }

    TEST_CASE("every published result: job by job, or nearly so if opt chooses among equals") {
        const std::string folder = GOODPUT_DATA_DIR "/synergy";
        const std::map<std::string, std::string> hosts{
            {"fair", "proportional"}, {"greedy", "greedy"}, {"tune", "tune"}, {"opt", "opt"}};
        std::size_t results = 0;
        for (const auto& file : std::filesystem::directory_iterator(folder + "/results")) {
            CAPTURE(file.path());
            std::ifstream stream(file.path());
            const Json published = Json::parse(stream);
            std::string policy = published["scheduler"];
            for (char& letter : policy)
                if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
            const std::string mode = published["mode"],
                              nodes = published["config"] == "static_trace.ini" ? "4" : "16";
            const std::vector<Json> answers = answers_of(replay(
                {"--workload", folder + "/traces/" + published["trace"].get<std::string>(), "--profiles",
                 folder + "/profiles/profiles.json", "--cluster", "gpu:" + nodes + "x8", "--cores", "24",
                 "--memory-gib", "500", "--policy", policy, "--host", hosts.at(mode), "--placement",
                 published["placement"].get<bool>() ? "synergy" : "random", "--json", "--jobs"}));
            REQUIRE(answers.size() == 1);
            const Json& ours = answers[0];
            const double tolerance = mode == "opt" ? 0.01 : 1e-9;
            CHECK(ours["average_jct_h"].get<double>() * 3600 ==
                  doctest::Approx(published["avg_jct_s"].get<double>()).epsilon(tolerance));
            CHECK(ours["completed"] == published["finished"]);
            CHECK(ours["faults"] == 0);
            double first = 1e300;
            std::size_t others = 0;
            for (const Json& job : ours["completions"]) {
                const Json& times = published["per_job"][job["name"].get<std::string>()];
                first = std::min(first, times[0].get<double>());
                const double seconds = times[1].get<double>() - times[0].get<double>();
                if (!(std::abs(job["completion_h"].get<double>() * 3600 - seconds) < 1e-3)) ++others;
            }
            CHECK(ours["makespan_h"].get<double>() * 3600 ==
                  doctest::Approx(published["makespan_s"].get<double>() - first)
                      .epsilon(mode == "opt" ? 0.02 : 1e-9));
            if (mode != "opt") CHECK(others == 0);
            ++results;
        }
        CHECK(results >= 100);
    }
}

}  // namespace cli_synergy
