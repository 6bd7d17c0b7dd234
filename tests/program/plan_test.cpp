// Tests `goodput plan` through pipes.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/pairs/utilised_pairs.hpp"
#include "program/round_lines.hpp"
#include "support/certificate.hpp"
#include "support/folder.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace cli_plan {

using goodput::Shape;
using support::Program;
using namespace support::rounds;

/// A cluster that carries out the plans, with jobs that come, measure and go, and nodes that fail and
/// return.
class World {
public:
    explicit World(std::uint64_t seed) : random_(seed), all_(sixty_four_gpus()) {}

    Json next_round() {
        ++round_;
        Json nodes = Json::array();
        for (const Json& node : all_)
            if (!random_.chance(0.05) || keeps_someone(node["name"])) nodes.push_back(node);
        std::erase_if(jobs_, [&](const Json&) { return random_.chance(0.05); });
        for (int fresh = random_.integer(0, 4); fresh > 0; --fresh) jobs_.push_back(newcomer());
        Json jobs = Json::array();
        for (Json& job : jobs_) {
            measure(job);
            jobs.push_back(job);
            for (const char* of_ours : {"type", "local_batch"}) jobs.back().erase(of_ours);
            job["samples"] = Json::array();
        }
        return round_of(60.0 * round_, nodes, jobs);
    }

    void carry_out(const Json& answer) {
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            Json& job = jobs_[j];
            const Json& got = answer["plan"][j];
            const Json before = job["placement"].is_null() ? Json::array() : job["placement"]["nodes"];
            job["placement"] = nullptr;
            if (!got["nodes"].empty()) {
                job["placement"] = {{"nodes", got["nodes"]}};
                job["type"] = got["gpu_type"];
                job["local_batch"] = got["local_batch"];
                if (before != got["nodes"]) job["restarts"] = job["restarts"].get<int>() + 1;
            }
        }
    }

private:
    bool keeps_someone(const std::string& node) const {
        for (const Json& job : jobs_)
            if (job["preemptible"] == false && !job["placement"].is_null())
                for (const Json& share : job["placement"]["nodes"])
                    if (share[0] == node) return true;
        return false;
    }

    Json newcomer() {
        Json fresh = job("job-" + std::to_string(count_++), 60.0 * round_);
        if (random_.chance(0.2)) fresh["gradient"] = nullptr;
        if (random_.chance(0.2)) fresh["preemptible"] = false;
        if (random_.chance(0.15)) {
            fresh["adapt"] = random_.chance(0.5) ? "gpus" : "none";
            fresh["gpus"] = {2, fresh["adapt"] == "none" ? 4 : 16};
            fresh["batch"]["target"] = 512;
        }
        if (random_.chance(0.15)) fresh["gpus_per_replica"] = {{"aws", 4}, {"dgx", 2}};
        if (random_.chance(0.2)) fresh["batch"]["local"].erase("aws");
        return fresh;
    }

    void measure(Json& job) {
        if (job["placement"].is_null()) return;
        const Shape shape = shape_of(job["placement"]);
        const int batch = job["local_batch"].get<int>();
        job["attained_gpu_s"] = job["attained_gpu_s"].get<double>() + 60.0 * shape.gpus;
        for (int i = random_.integer(1, 3); i > 0; --i)
            job["samples"].push_back(sample(job["type"], shape, batch, random_.between(0.9, 1.1)));
    }

    support::Random random_;
    Json all_;
    std::vector<Json> jobs_;
    int round_ = 0, count_ = 0;
};

TEST_CASE("round after round no job gets GPUs that do not exist, under every policy") {
    const std::vector<std::vector<std::string>> policies{
        {},
        {"--policy-option", "p=1", "--policy-option", "lambda=-2"},
        {"--policy", "fifo", "--policy-option", "backfill=true"},
        {"--policy", "srtf"},
        {"--policy", "pollux"},
        {"--policy", "pollux", "--policy-option", "p=0", "--policy-option", "idle=0.1"},
        {"--policy", "optimus", "--policy-option", "assumed=600", "--policy-option", "restarts=true"},
        {"--policy", "optimus", "--models", "refined"},
        {"--policy", "tiresias", "--policy-option", "thresholds=600,3600.5"},
        {"--policy", "las", "--policy-option", "lead=600"},
        {"--policy", "goodput"},
        {"--policy", "goodput-declared", "--policy-option", "patience=1", "--policy-option", "order=1.5"},
        {"--models", "refined"},
        {"--models", "published"}};
    std::uint64_t seed = 1;
    for (const std::vector<std::string>& options : policies) {
        Program program = plan(options);
        World world(seed++);
        for (int round = 0; round < 60; ++round) {
            const Json line = world.next_round();
            const Json answer = ask(program, line);
            check_plan(line, answer);
            world.carry_out(answer);
        }
        const Program::End end = program.finish();
        CHECK(end.status == 0);
        CHECK(end.errors == "");
    }
}

TEST_CASE("--proof proves the bound of every round, with the rows that come from its nodes") {
    const support::Folder folder;
    for (const char* policy : {"sia", "goodput", "fifo"}) {
        Program program = plan({"--policy", policy, "--proof", folder.path("proof")});
        World world(48);
        for (int round = 1; round <= 15; ++round) {
            const Json answer = ask(program, world.next_round());
            const Json& proof = answer["proof"];
            CAPTURE(policy);
            CAPTURE(round);
            CHECK(support::Certificate::complaint(
                      folder.read(round == 1 ? "proof" : "proof." + std::to_string(round))) == "");
            CHECK(proof["closed"] == true);
            CHECK(answer["objective"] <= proof["bound"].get<double>() * (1 + 1e-9) + 1e-9);
            world.carry_out(answer);
        }
        CHECK(program.finish().status == 0);
    }
}

TEST_CASE("a program restarted with the memory of another one plans as that one would have") {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "goodput_plan_test.memory";
    for (const char* models : {"refined", "separate"}) {
        std::filesystem::remove(file);
        const std::vector<std::string> options{"--policy", "goodput", "--models", models};
        std::vector<std::string> remembering = options;
        remembering.insert(remembering.end(), {"--memory", file.string()});
        Program lasting = plan(options);
        World world(7);
        for (int round = 0; round < 30; ++round) {
            Program again = plan(remembering);
            const Json line = world.next_round();
            const Json answer = ask(lasting, line);
            CHECK(ask(again, line)["plan"] == answer["plan"]);
            CHECK(again.finish().status == 0);
            world.carry_out(answer);
        }
    }
    std::ofstream(file) << "something else";
    const Program::End end = plan({"--memory", file.string()}).finish();
    CHECK(end.status == 2);
    CHECK(end.errors.find(file.string() + ": saved memory: title is something else") != std::string::npos);
    std::filesystem::remove(file);
}

TEST_CASE("running jobs stay where they are if nothing changes") {
    for (const char* policy : {"sia", "fifo"}) {
        Program program = plan({"--policy", policy});
        Json jobs = Json::array();
        for (int i = 0; i < 20; ++i) jobs.push_back(job("job-" + std::to_string(i)));
        Json answer;
        for (int round = 0; round < 12; ++round) {
            const Json line = round_of(60.0 * round + 600, sixty_four_gpus(), jobs);
            const Json next = ask(program, line);
            check_plan(line, next);
            if (round > 8)
                for (std::size_t j = 0; j < jobs.size(); ++j)
                    CHECK(next["plan"][j]["nodes"] == answer["plan"][j]["nodes"]);
            answer = next;
            for (std::size_t j = 0; j < jobs.size(); ++j) {
                const Json& got = answer["plan"][j];
                const bool runs = !got["nodes"].empty();
                jobs[j]["placement"] = runs ? Json{{"nodes", got["nodes"]}} : Json();
                jobs[j]["samples"] = Json::array();
                if (runs)
                    jobs[j]["samples"].push_back(sample(got["gpu_type"], shape_of(got), got["local_batch"]));
            }
        }
    }
}

TEST_CASE("a new job starts small and grows as it is measured, and later lines need only its name") {
    // With models of kinds, the next job would inherit what the departed job was.
    Program program = plan({"--models", "separate"});
    const Json nodes = sixty_four_gpus();
    Json alone = job("a");
    const Json first = ask(program, round_of(60, nodes, Json::array({alone})));
    CHECK(shape_of(entry(first, "a")).gpus == 1);
    CHECK(entry(first, "a")["knowledge"] == "unknown");

    alone["samples"] = Json::array({sample("aws", {1, 1}, 128), sample("aws", {1, 1}, 256)});
    const Json second = ask(program, round_of(120, nodes, Json::array({alone})));
    CHECK(shape_of(entry(second, "a")).gpus == 2);
    CHECK(entry(second, "a")["knowledge"] != "unknown");

    SUBCASE("without new samples nothing is forgotten, and nothing is fitted") {
        alone["samples"] = Json::array();
        const Json third = ask(program, round_of(120, nodes, Json::array({alone})));
        CHECK(untimed(third) == untimed(second));
        alone.erase("samples");
        CHECK(untimed(ask(program, round_of(120, nodes, Json::array({alone})))) == untimed(second));
    }
    SUBCASE("a job that is missing from one round is forgotten") {
        ask(program, round_of(180, nodes, Json::array()));
        alone["samples"] = Json::array();
        CHECK(untimed(ask(program, round_of(240, nodes, Json::array({alone})))) == untimed(first));
    }
    SUBCASE("GPU types may come and go, and samples keep their meaning") {
        Json others = Json::array({node("rtx", 0, 8), node("new", 0, 8)});
        alone["samples"] = Json::array();
        const Json moved = ask(program, round_of(180, others, Json::array({alone})));
        CHECK(entry(moved, "a")["gpu_type"] == "rtx");
        CHECK(untimed(ask(program, round_of(240, nodes, Json::array({alone})))) == untimed(second));
    }
}

/// Carries out a plan: every job holds what it was given. Returns how many jobs hold something new.
int carry_out(Json& jobs, const Json& answer) {
    int changed = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const Json& got = answer["plan"][j]["nodes"];
        const Json now = got.empty() ? Json() : Json{{"nodes", got}};
        changed += now != jobs[j]["placement"] ? 1 : 0;
        jobs[j]["placement"] = now;
    }
    return changed;
}

TEST_CASE("a quiet round is quiet: if only a minute passes, no job moves, under every policy") {
    Json nodes = Json::array();
    for (int i = 0; i < 6; ++i) nodes.push_back(node("aws", i, 4));
    for (int i = 0; i < 2; ++i) nodes.push_back(node("dgx", i, 8));
    for (int i = 0; i < 4; ++i) nodes.push_back(node("rtx", i, 8));
    for (const char* policy : {"sia", "goodput", "goodput-declared", "pollux", "fifo"}) {
        for (const bool rates : {false, true}) {
            CAPTURE(policy);
            CAPTURE(rates);
            Program program = plan({"--policy", policy});
            Json jobs = Json::array();
            for (int i = 0; i < 300; ++i) {
                Json asked = job("job-" + std::to_string(i), i);
                asked["gradient"] = nullptr;
                if (rates) asked["batch"]["rate"] = {{"aws", 1000}, {"dgx", 5000}, {"rtx", 1700}};
                jobs.push_back(std::move(asked));
            }
            int changed = 0;
            for (int round = 0; round < 20; ++round) {
                const Json line = round_of(600 + 60.0 * round, nodes, jobs);
                const Json answer = ask(program, line);
                if (round % 10 == 0) check_plan(line, answer);
                const int moves = carry_out(jobs, answer);
                if (round > 0) changed += moves;
            }
            // Published policies may find a better plan when the jobs are older; ours may not.
            CHECK(changed <= (policy[0] == 'g' || policy[0] == 'f' ? 0 : 20));
        }
    }
}

TEST_CASE("an unknown job starts small under our policy, and grows with rates that come later") {
    Program program = plan({"--policy", "goodput"});
    Json alone = job("a");
    const Json first = ask(program, round_of(60, sixty_four_gpus(), Json::array({alone})));
    CHECK(shape_of(entry(first, "a")).gpus == 1);
    CHECK(entry(first, "a")["knowledge"] == "unknown");
    alone["placement"] = {{"nodes", entry(first, "a")["nodes"]}};
    alone["batch"]["rate"] = {{"aws", 1000}, {"dgx", 5000}, {"rtx", 1700}};
    const Json second = ask(program, round_of(120, sixty_four_gpus(), Json::array({alone})));
    CHECK(shape_of(entry(second, "a")).gpus > 1);
    CHECK(entry(second, "a")["gpu_type"] == "dgx");
}

TEST_CASE("jobs of one kind learn from each other, others do not") {
    const Json nodes = sixty_four_gpus();
    Json veteran = job("veteran"), twin = job("twin", 60), stranger = job("stranger", 60);
    stranger["kind"] = "another program";
    veteran["samples"] = Json::array({sample("dgx", {1, 1}, 128), sample("dgx", {1, 4}, 512),
                                      sample("aws", {1, 1}, 128), sample("rtx", {1, 1}, 128)});
    Program program = plan({"--policy", "goodput"});
    const Json answer = ask(program, round_of(120, nodes, Json::array({veteran, twin, stranger})));
    CHECK(entry(answer, "twin")["knowledge"] == "projected");  // on more GPUs than were measured
    CHECK(shape_of(entry(answer, "twin")).gpus > 4);
    CHECK(entry(answer, "stranger")["knowledge"] == "unknown");
    CHECK(shape_of(entry(answer, "stranger")).gpus == 1);
}

TEST_CASE(
    "jobs that ended show how long others of their kind take; cancelled ones and refused lines do not") {
    const Json nodes = Json::array({node("aws", 0, 1)});
    const Json rate = {{"aws", 1000}};
    Json small = job("small"), large = job("large");
    small["kind"] = "small";
    large["kind"] = "large";
    for (Json* each : {&small, &large}) (*each)["batch"]["rate"] = rate;
    small["done_examples"] = 1e4;
    large["done_examples"] = 1e8;
    // Both kinds had a run. Then a new job of each kind comes; by name and time the large one is first.
    const auto who_runs = [&](bool refused_between) {
        Program program = plan({"--policy", "goodput"});
        ask(program, round_of(60, nodes, Json::array({small, large})));
        Json gone = round_of(120, nodes, Json::array());
        gone["cancelled"] = Json::array({"somebody else"});
        if (refused_between) {
            Json refused = round_of(90, nodes, Json::array({job("a"), job("b")}));
            refused["time_s"] = "noon";
            CHECK(Json::parse(program.ask(refused.dump())).contains("error"));
        }
        ask(program, gone);
        Json fresh_large = large, fresh_small = small;
        fresh_large["name"] = "fresh large";
        fresh_small["name"] = "fresh small";
        fresh_large.erase("done_examples");
        fresh_small.erase("done_examples");
        const Json answer = ask(program, round_of(180, nodes, Json::array({fresh_large, fresh_small})));
        return entry(answer, "fresh small")["nodes"].empty() ? "large" : "small";
    };
    CHECK(who_runs(false) == std::string("small"));
    CHECK(who_runs(true) == std::string("small"));
}

TEST_CASE("the order of nodes and jobs does not change how much each job gets") {
    Json jobs = Json::array();
    support::Random random(3);
    for (int i = 0; i < 12; ++i) {
        jobs.push_back(job("job-" + std::to_string(i), 7.0 * i));
        jobs.back()["kind"] = jobs.back()["name"];  // of one kind, earlier jobs contribute more
        for (const int gpus : {1, 2, 4})
            jobs.back()["samples"].push_back(sample("aws", {1, gpus}, 128, random.between(0.3, 3)));
    }
    Json reversed = jobs;
    std::reverse(reversed.begin(), reversed.end());
    Program forward = plan(), backward = plan();
    const Json a = ask(forward, round_of(600, sixty_four_gpus(), jobs)),
               b = ask(backward, round_of(600, sixty_four_gpus(), reversed));
    CHECK(a["objective"].get<double>() == doctest::Approx(b["objective"].get<double>()));
}

TEST_CASE("a job that lost a node starts anew elsewhere; one that may not be stopped is left as it is") {
    Program program = plan();
    Json nodes = Json::array({node("aws", 0, 4), node("aws", 1, 4)});
    Json lost = job("lost");
    lost["samples"] = Json::array({sample("aws", {1, 4}, 128), sample("aws", {2, 8}, 128)});
    lost["placement"] = placement({{"aws-0", 4}, {"aws-7", 4}});
    const Json line = round_of(60, nodes, Json::array({lost}));
    const Json answer = ask(program, line);
    check_plan(line, answer);
    CHECK(!entry(answer, "lost")["nodes"].empty());

    lost["preemptible"] = false;
    const Json kept = ask(program, round_of(120, nodes, Json::array({lost, job("other")})));
    REQUIRE(kept["warnings"].size() == 1);
    const auto text = kept["warnings"][0].get<std::string>();
    CHECK(text.find("job 'lost'") == 0);
    CHECK(text.find("aws-7") != std::string::npos);
    CHECK(entry(kept, "lost")["nodes"] == Json::array({Json::array({"aws-0", 4})}));
    CHECK(entry(kept, "lost")["starts"] == "stays");
    CHECK(entry(kept, "other")["nodes"][0][0] == "aws-1");
}

TEST_CASE("new GPU types in every round do not fill the memory: more than a thousand are refused") {
    Program program = plan();
    const auto types = [](int first, int end) {
        Json nodes = Json::array();
        for (int i = first; i < end; ++i) nodes.push_back(node("type" + std::to_string(i), i, 4));
        return nodes;
    };
    ask(program, round_of(60, types(0, 1000), Json::array()));
    const Json error = Json::parse(program.ask(round_of(120, types(1000, 1025), Json::array()).dump()));
    CHECK(error["error"].get<std::string>().find("'type1024'") != std::string::npos);
    ask(program, round_of(180, types(1000, 1024), Json::array()));
}

TEST_CASE("the answer distinguishes waiting from impossible") {
    Program program = plan();
    Json jobs = Json::array();
    for (int i = 0; i < 3; ++i) jobs.push_back(job("small-" + std::to_string(i)));
    Json large = job("large"), elsewhere = job("elsewhere");
    large["gpus"] = {64, 64};
    elsewhere["batch"]["local"] = {{"tpu", {1, 8}}};
    jobs.push_back(large);
    jobs.push_back(elsewhere);
    const Json answer = ask(program, round_of(60, Json::array({node("aws", 0, 2)}), jobs));
    int waiting = 0;
    for (int i = 0; i < 3; ++i)
        waiting += entry(answer, "small-" + std::to_string(i)).contains("outcome") ? 1 : 0;
    CHECK(waiting == 1);
    CHECK(entry(answer, "large")["outcome"] == "impossible");
    CHECK(entry(answer, "elsewhere")["outcome"] == "impossible");
    // One node of a rack of two is kept for now. A job that needs both waits; one that needs three in a
    // rack never runs.
    Json racks = Json::array({node("aws", 0, 2), node("aws", 1, 2), node("aws", 2, 2)});
    for (std::size_t n = 0; n < 3; ++n) racks[n]["rack"] = n < 2 ? "west" : "east";
    Json restarting = job("restarting"), pair = job("pair"), triple = job("triple");
    restarting["gpus"] = {2, 2};
    restarting["placement"] = placement({{"aws-0", 2}});
    restarting["restarting"] = true;
    pair["gpus"] = {4, 4};
    triple["gpus"] = {6, 6};
    pair["within"] = triple["within"] = "rack";
    const Json kept = ask(program, round_of(90, racks, Json::array({restarting, pair, triple})));
    CHECK(entry(kept, "pair")["outcome"] == "waits");
    CHECK(entry(kept, "triple")["outcome"] == "impossible");
    // A round may have no jobs, no nodes, or neither.
    CHECK(ask(program, round_of(120, Json::array({node("aws", 0, 2)}), Json::array()))["plan"].empty());
    CHECK(entry(ask(program, round_of(180, Json::array(), Json::array({job("a")}))), "a")["outcome"] ==
          "impossible");
    CHECK(ask(program, round_of(240, Json::array(), Json::array()))["objective"] == 0);
    CHECK(program.finish().status == 0);
}

TEST_CASE("pipeline jobs get whole replicas, and measure in GPUs") {
    Program program = plan();
    Json pipeline = job("gpt");
    pipeline["gpus_per_replica"] = {{"rtx", 8}, {"dgx", 2}};
    pipeline["gpus"] = {2, 16};
    pipeline["batch"] = {{"initial", 12}, {"max", 384}, {"local", {{"rtx", {1, 1}}, {"dgx", {1, 1}}}}};
    Json measured = sample("dgx", {1, 2}, 1);
    measured["accumulation"] = 47;
    pipeline["samples"] = Json::array({measured});
    const Json line = round_of(60, sixty_four_gpus(), Json::array({pipeline}));
    const Json answer = ask(program, line);
    check_plan(line, answer);
    CHECK(shape_of(entry(answer, "gpt")).gpus <= 16);

    pipeline["samples"] = Json::array({sample("dgx", {1, 3}, 1)});
    const auto text = ask(program, round_of(60, sixty_four_gpus(), Json::array({pipeline})))["warnings"][0]
                          .get<std::string>();
    CHECK(text.find("gpus is 3") != std::string::npos);
    CHECK(text.find("gpus_per_replica, 2") != std::string::npos);
}

TEST_CASE("a line that cannot be used says why, changes nothing, and the next is served") {
    struct Case {
        Json line;
        std::vector<std::string> says;
    };
    const Json nodes = sixty_four_gpus();
    Json known = job("cifar10-3");
    known["samples"] = Json::array({sample("aws", {1, 1}, 128)});
    const auto with = [&](const char* field, const Json& value) {
        Json changed = known;
        // The program would remember these if it accepted the line.
        changed["samples"] = {sample("aws", {1, 2}, 64), sample("rtx", {2, 16}, 64)};
        changed[field] = value;
        return round_of(60, nodes, Json::array({changed}));
    };
    const auto without = [&](const char* field) {
        Json line = with("restarts", 0);
        line["jobs"][0].erase(field);
        return line;
    };
    const auto with_batch = [&](const char* field, const Json& value) {
        Json batch = known["batch"];
        batch[field] = value;
        return with("batch", batch);
    };
    const auto with_sample = [&](const char* field, const Json& value) {
        Json changed = sample("aws", {1, 2}, 64);
        changed[field] = value;
        return with("samples", {sample("aws", {1, 4}, 64), changed});
    };
    const auto with_node = [&](const Json& node) {
        Json line = with("restarts", 0);
        line["nodes"].push_back(node);
        return line;
    };
    Json no_time = with("restarts", 0);
    no_time.erase("time_s");
    Json twice = with("restarts", 0);
    twice["jobs"].push_back(known);
    Json crowded = with("placement", placement({{"aws-0", 3}}));
    crowded["jobs"].push_back(job("other"));
    crowded["jobs"][1]["placement"] = placement({{"aws-0", 2}});
    Json adapting = with("adapt", "gpus");  // without a target
    const std::string who = "job 'cifar10-3'";
    const std::vector<Case> cases{
        {Json::array(), {"array", "object"}},
        {no_time, {"time_s", "missing"}},
        {Json{{"time_s", "noon"}, {"nodes", nodes}, {"jobs", Json::array()}}, {"time_s", "noon", "number"}},
        {Json{{"time_s", 1}, {"jobs", Json::array()}}, {"nodes", "missing"}},
        {Json{{"time_s", 1}, {"nodes", nodes}}, {"jobs", "missing"}},
        {Json{{"time_s", 1}, {"nodes", nodes}, {"jobs", {1}}}, {"jobs[0]", "1", "object"}},
        {with_node({{"name", "x"}, {"gpu_type", "aws"}, {"gpus", 0}}), {"node 'x'", "gpus", "0"}},
        {with_node({{"name", "x"}, {"gpu_type", "aws"}, {"gpus", 2.5}}),
         {"node 'x'", "gpus", "2.5", "integer"}},
        {with_node({{"name", "x"}, {"gpus", 2}}), {"node 'x'", "gpu_type", "missing"}},
        {with_node({{"name", ""}, {"gpu_type", "aws"}, {"gpus", 4}}), {"nodes[11].name", "\"\""}},
        {with_node({{"name", "aws-0"}, {"gpu_type", "aws"}, {"gpus", 4}}), {"node 'aws-0'", "once"}},
        {twice, {who, "once"}},
        {with("name", 7), {"jobs[0].name", "7", "string"}},
        {with("submitted_s", nullptr), {who, "submitted_s", "null", "number"}},
        {without("submitted_s"), {who, "submitted_s", "missing"}},
        {with("restarts", "two"), {who + ": restarts is \"two\", but must be an integer"}},
        {with("restarts", -1), {who, "restarts", "-1"}},
        {with("restarts", 1e18), {who, "restarts", "1e+18", "integer"}},
        {with("restart_cost_s", -3), {who, "restart_cost_s", "-3"}},
        {with("restart_s", 20), {who, "restart_s", "20", "array"}},
        {with("restart_s", {20, -1}), {who, "restart_s[1]", "-1", "from 0 to 1e+07"}},
        {with("restart_s", {1e300}), {who, "restart_s[0]", "1e+300", "from 0 to 1e+07"}},
        {with("restart_s", {"soon"}), {who, "restart_s[0]", "soon", "number"}},
        {with("checkpoint_gib", -1), {who, "checkpoint_gib", "-1", "from 0 to 1e+06"}},
        {with("checkpoint_gib", 1e7), {who, "checkpoint_gib", "10000000", "from 0 to 1e+06"}},
        {with("checkpoint_gib", "big"), {who, "checkpoint_gib", "big", "number"}},
        {with("attained_gpu_s", "many"), {who, "attained_gpu_s", "many"}},
        {without("gpus"), {who, "gpus", "missing"}},
        {with("gpus", 4), {who, "gpus", "4", "pair"}},
        {with("gpus", {0, 4}), {who, "gpus[0]", "0"}},
        {with("gpus", {4, 2}), {who, "gpus[1]", "2", "4"}},
        {with("adapt", "both"), {who, "adapt", "both", "none"}},
        {adapting, {who, "batch.target", "missing"}},
        {without("batch"), {who, "batch", "missing"}},
        {with_batch("initial", 0), {who, "batch.initial", "0"}},
        {with_batch("max", 64), {who, "batch.max", "64"}},
        {with_batch("max", nullptr), {who, "batch.max", "null"}},
        {with_batch("local", nullptr), {who, "batch.local", "null", "object"}},
        {with_batch("local", {{"aws", 32}}), {who, "batch.local.aws", "32", "pair"}},
        {with_batch("local", {{"aws", {32, 16}}}), {who, "batch.local.aws[1]", "16"}},
        {with("gpus_per_replica", {{"aws", 0}}), {who, "gpus_per_replica.aws", "0"}},
        {with("gradient", {{"sqr", -1}, {"var", 1}}), {who, "gradient.sqr", "-1"}},
        {with("gradient", {{"sqr", 1}}), {who, "gradient.var", "missing"}},
        {with("gradient", {{"noise_scale", -1}}), {who, "gradient.noise_scale", "-1"}},
        {with("gradient", {{"noise_scale", 9}, {"sqr", 1}}),
         {who, "gradient.sqr", "left out", "noise_scale"}},
        {with("gradient", {{"noise_scale", 9}, {"var", 1}}),
         {who, "gradient.var", "left out", "noise_scale"}},
        {with("gradient", 3), {who, "gradient", "3", "object"}},
        {with("remaining_examples", -1), {who, "remaining_examples", "-1"}},
        {with("preemptible", "no"), {who, "preemptible", "no", "true or false"}},
        {with("placement", placement({{"aws-0", 5}})), {who, "placement.nodes[0][1]", "5", "4"}},
        {with("placement", placement({{"aws-0", 0}})), {who, "placement.nodes[0][1]", "0"}},
        {with("placement", placement({{"aws-0", 1}, {"aws-0", 1}})), {who, "aws-0", "twice"}},
        {with("placement", {{"nodes", Json::array({"aws-0"})}}), {who, "placement.nodes[0]", "pair"}},
        {with("placement", Json::array({"aws-0"})), {who, "placement", "object"}},
        {crowded, {"job 'other'", "aws-0"}},
        {with("samples", 1), {who, "samples", "1", "array"}},
        {with_sample("step_s", 0), {who, "step_s", "0"}},
        {with_sample("sync_s", 1e9), {who, "samples[1].sync_s", "1000000000.0"}},
        {with_sample("nodes", 4), {who, "samples[1].gpus"}},
        {with_sample("gpu_type", nullptr), {who, "samples[1].gpu_type", "null", "string"}},
        {with_sample("local_batch", "x"), {who, "samples[1].local_batch", "\"x\"", "integer"}},
    };
    Program program = plan({"--strict"});
    const Json good = round_of(120, nodes, {known, job("new", 30)});
    Json again = good;
    again["jobs"][0]["samples"] = Json::array();
    const Json first = untimed(ask(program, good));
    std::size_t line = 1;
    for (const Case& bad : cases) {
        CAPTURE(bad.line.dump());
        const Json error = Json::parse(program.ask(bad.line.dump()));
        CHECK(error["line"] == ++line);
        REQUIRE_MESSAGE(error.contains("error"), error.dump());
        const auto text = error["error"].get<std::string>();
        CAPTURE(text);
        for (const std::string& word : bad.says) CHECK(text.find(word) != std::string::npos);
        ++line;
        CHECK(untimed(ask(program, again)) == first);
    }
    CHECK(program.finish().status == 1);
}

TEST_CASE("drained nodes keep their jobs, take no new job, and open again") {
    for (const char* policy : {"sia", "fifo", "pollux"}) {
        Program program = plan({"--policy", policy});
        Json nodes = Json::array({node("aws", 0, 4), node("aws", 1, 4)});
        Json jobs = Json::array();
        for (int i = 0; i < 10; ++i) {
            jobs.push_back(job("job-" + std::to_string(i), i));
            jobs.back()["gpus"] = {1, 1};
            jobs.back()["samples"] = Json::array({sample("aws", {1, 1}, 128)});
        }
        jobs[0]["placement"] = placement({{"aws-0", 1}});
        jobs[1]["placement"] = placement({{"aws-0", 1}});
        const auto running = [&](const Json& answer) {
            std::map<std::string, int> jobs_on;
            for (const Json& entry : answer["plan"])
                for (const Json& share : entry["nodes"]) ++jobs_on[share[0]];
            return jobs_on;
        };
        nodes[0]["drained"] = true;
        Json line = round_of(600, nodes, jobs);
        Json answer = ask(program, line);
        check_plan(line, answer);
        CHECK(running(answer) == std::map<std::string, int>{{"aws-0", 2}, {"aws-1", 4}});
        nodes[0]["drained"] = false;
        answer = ask(program, line = round_of(660, nodes, jobs));
        check_plan(line, answer);
        CHECK(running(answer) == std::map<std::string, int>{{"aws-0", 4}, {"aws-1", 4}});
        nodes[0]["drained"] = "yes";
        answer = ask(program, round_of(720, nodes, jobs));
        CHECK(answer["warnings"][0] ==
              "node 'aws-0': drained is \"yes\", but must be true or false; it gets no new jobs");
        CHECK(running(answer) == std::map<std::string, int>{{"aws-0", 2}, {"aws-1", 4}});
    }
}

TEST_CASE("racks and zones: a job over several nodes gets close ones") {
    Program program = plan();
    Json nodes = Json::array();
    const char* zones[] = {"west", "east", "west", "east", "west", "east"};
    const char* racks[] = {"1", "1", "2", "2", "1", "2"};  // rack 1 of west is not rack 1 of east
    for (int i = 0; i < 6; ++i) {
        nodes.push_back(node("aws", i, 4));
        nodes.back()["zone"] = zones[i];
        nodes.back()["rack"] = racks[i];
    }
    const auto nodes_of = [&](const Json& answer, const char* name) {
        std::set<std::string> names;
        for (const Json& share : entry(answer, name)["nodes"]) names.insert(share[0].get<std::string>());
        return names;
    };
    Json wide = job("wide"), other = job("other");
    for (Json* of : {&wide, &other}) {
        (*of)["gpus"] = {8, 8};
        (*of)["samples"] = Json::array({sample("aws", {1, 4}, 128), sample("aws", {2, 8}, 128)});
    }
    const Json line = round_of(60, nodes, Json::array({wide, other}));
    const Json answer = ask(program, line);
    check_plan(line, answer);
    std::set<std::set<std::string>> chosen{nodes_of(answer, "wide"), nodes_of(answer, "other")};
    CHECK(chosen == std::set<std::set<std::string>>{{"aws-0", "aws-4"}, {"aws-3", "aws-5"}});

    for (Json& node : nodes) node.erase("rack");
    const Json by_zone = ask(program, round_of(120, nodes, Json::array({wide, other})));
    for (const char* name : {"wide", "other"}) {
        const std::set<std::string> names = nodes_of(by_zone, name);
        CHECK((*names.begin()).back() % 2 == (*names.rbegin()).back() % 2);
    }
    nodes[0]["rack"] = 7;
    const Json warned = ask(program, round_of(180, nodes, Json::array()));
    CHECK(warned["warnings"] ==
          Json::array({"node 'aws-0': rack is 7, but must be a string; it gets no new jobs"}));
}

TEST_CASE("with --explain every job says why, and nothing else is different") {
    std::set<std::string> words;
    for (const char* policy : {"sia", "pollux", "fifo"}) {
        Program plain = plan({"--policy", policy}), explained = plan({"--policy", policy, "--explain"});
        World world(5);
        for (int round = 0; round < 30; ++round) {
            const Json line = world.next_round();
            const Json answer = ask(plain, line);
            Json with_why = ask(explained, line);
            for (std::size_t j = 0; j < answer["plan"].size(); ++j) {
                Json& entry = with_why["plan"][j];
                const auto why = entry["why"].get<std::string>();
                words.insert(why.substr(0, why.find(' ')));
                CHECK(why.size() > 10);
                entry.erase("why");
                Json without = answer["plan"][j];
                without.erase("why");
                CHECK(entry == without);
            }
            world.carry_out(answer);
        }
    }
    CHECK(words.contains("waits:"));
    CHECK(words.contains("4"));
    Program program = plan({"--explain"});
    Json keeps = job("keeps");
    keeps["placement"] = placement({{"aws-0", 2}});
    keeps["restarting"] = true;
    const Json answer = ask(program, round_of(60, Json::array({node("aws", 0, 4)}), Json::array({keeps})));
    CHECK(entry(answer, "keeps")["why"] == "2 aws on 1 node: it keeps what it holds, being in a restart");
    Json starts = job("starts");
    starts["min_run_s"] = 600;
    const Json nodes = Json::array({node("aws", 0, 4)});
    starts["placement"] = {
        {"nodes", entry(ask(program, round_of(120, nodes, Json::array({starts}))), "starts")["nodes"]}};
    CHECK(entry(ask(program, round_of(180, nodes, Json::array({starts}))), "starts")["why"] ==
          "1 aws on 1 node: it keeps what it holds, being within its minimum run time");
    Json nowhere = job("nowhere");
    nowhere["batch"]["local"] = Json::object();
    const Json none = ask(program, round_of(60, Json::array({node("aws", 0, 4)}), Json::array({nowhere})));
    CHECK(entry(none, "nowhere")["why"].get<std::string>().find("it has no batch size on any GPU type") !=
          std::string::npos);
}

TEST_CASE("policies and their options are checked before anything is read") {
    struct Case {
        std::vector<std::string> options;
        std::vector<std::string> says;
    };
    const std::vector<Case> cases{
        {{"--policy", "best"}, {"best", "sia", "fifo", "srtf"}},
        {{"--models", "own"}, {"--models", "own", "separate, published or refined"}},
        {{"--policy-option", "q=1"}, {"'q'", "p, lambda, rounding, largest"}},
        {{"--policy-option", "p"}, {"'p'", "key=value"}},
        {{"--policy-option", "p=x"}, {"p", "'x'", "number"}},
        {{"--policy-option", "p=nan"}, {"p", "nan"}},
        {{"--policy-option", "p=0"}, {"p", "0"}},
        {{"--policy-option", "lambda=0.5"}, {"lambda", "0.5"}},
        {{"--policy", "fifo", "--policy-option", "backfill=perhaps"},
         {"backfill", "perhaps", "true or false"}},
        {{"--policy", "fifo", "--policy-option", "p=1"}, {"fifo", "'p'", "backfill"}},
        {{"--policy", "pollux", "--policy-option", "idle=0"}, {"pollux", "idle", "0"}},
        {{"--policy", "optimus", "--policy-option", "assumed=-1"}, {"optimus", "assumed", "-1"}},
        {{"--policy", "tiresias", "--policy-option", "thresholds=5,3"}, {"tiresias", "thresholds", "3"}},
        {{"--policy", "tiresias", "--policy-option", "thresholds=5,,7"}, {"tiresias", "thresholds", "''"}},
        {{"--policy", "las", "--policy-option", "lead=x"}, {"las", "lead", "'x'"}},
    };
    for (const Case& wrong : cases) {
        const Program::End end = plan(wrong.options).finish();
        CHECK(end.status == 2);
        CHECK(end.output == "");
        for (const std::string& word : wrong.says) CHECK(end.errors.find(word) != std::string::npos);
    }
}

TEST_CASE("plan: a job that does not say what a restart costs gets an estimate from starts and checkpoint") {
    // Returns the fields of an answer that depend on the cost of a restart: whether the running job moves
    // from the slow node to the fast one, what interruptions take, and how often the job saves.
    const auto answer = [](const Json& more, const char* policy) {
        Json of_job = job("one");
        for (const char* known : {"restart_cost_s", "checkpoints"}) of_job.erase(known);
        of_job["restarts"] = 3;
        of_job["attained_gpu_s"] = 3600;
        of_job["remaining_examples"] = 1e6;
        of_job.update(more);
        Json flaky = Json::array({node("aws", 0, 4), node("aws", 1, 4)});
        for (Json& each : flaky) each["interruptions_h"] = 0.2;
        Program program = plan({"--policy", policy});
        return untimed(ask(program, round_of(4000, flaky, Json::array({of_job}))));
    };
    for (const char* policy : {"goodput", "sia", "optimus"}) {
        CAPTURE(policy);
        const auto as_if = [&](const Json& more, double seconds) {
            return answer(more, policy) == answer({{"restart_cost_s", seconds}}, policy);
        };
        CHECK(as_if(Json::object(), 30));
        CHECK(as_if({{"restart_cost_s", nullptr}, {"restart_s", nullptr}}, 30));
        CHECK(as_if({{"restart_s", Json::array()}}, 30));
        CHECK(as_if({{"checkpoint_gib", 10}}, 50));
        CHECK(as_if({{"restart_s", {63}}}, 66.0 / 1.1));
        CHECK(as_if({{"restart_s", {20, 22}}, {"checkpoint_gib", 8.5}}, 45 / 2.1 + 17));
        CHECK(!as_if(Json::object(), 31));
        // A cost stated in the line is used as it is, even 0.
        CHECK(as_if({{"restart_cost_s", 0}, {"restart_s", {63}}, {"checkpoint_gib", 10}}, 0));
        CHECK(as_if({{"restart_cost_s", 7}, {"restart_s", {63}}}, 7));
        CHECK(!as_if(Json::object(), 0));
    }
}

TEST_CASE("the answer says which jobs start, restart, move, stay, stop and wait, and what costs a restart") {
    const Json nodes = Json::array({node("aws", 0, 4), node("aws", 1, 4), node("aws", 2, 4)});
    const auto fixed = [&](const std::string& name, int gpus, const Json& held) {
        Json one = job(name);
        one["gpus"] = {gpus, gpus};
        one["batch"]["local"] = {{"aws", {8, 1024}}};
        one["placement"] = held;
        return one;
    };
    Program program = plan({"--policy", "fifo"});
    const auto starts = [&](const Json& jobs, const Json& on) {
        std::string all;
        const Json answer = ask(program, round_of(60, on, jobs));
        for (const Json& of_job : answer["plan"])
            all += of_job["starts"].get<std::string>() + (of_job["costs_restart"] == true ? "! " : " ");
        return all;
    };
    CHECK(starts(Json::array({fixed("a", 4, nullptr), fixed("b", 8, nullptr), fixed("c", 4, nullptr)}),
                 nodes) == "start start waits ");
    const Json a = placement({{"aws-0", 4}}), b = placement({{"aws-1", 4}, {"aws-2", 4}});
    CHECK(starts(Json::array({fixed("a", 4, a), fixed("b", 8, b)}), nodes) == "stays stays ");
    Json too_large = fixed("b", 8, b);
    too_large["gpus"] = {16, 16};
    CHECK(starts(Json::array({fixed("a", 4, nullptr), too_large}), nodes) == "start stops ");
    CHECK(starts(Json::array({fixed("a", 8, a)}), nodes) == "restart! ");
    Json drained = nodes;
    drained.erase(1);
    // Two halves of two nodes are held. A job needs a whole node, so one half must move.
    CHECK(starts(Json::array({fixed("w", 4, nullptr), fixed("x", 2, placement({{"aws-0", 2}})),
                              fixed("y", 2, placement({{"aws-2", 2}}))}),
                 drained) == "start move! stays ");
    Json before = fixed("a", 4, nullptr);
    before["attained_gpu_s"] = 60;
    CHECK(starts(Json::array({before}), nodes) == "start! ");
    // Spot nodes with the same GPUs count as different nodes.
    Json spot = nodes;
    spot[0]["spot"] = true;
    Json off_spot = fixed("a", 4, a);
    off_spot["spot_allowed"] = false;
    CHECK(starts(Json::array({off_spot}), spot) == "move! ");
}

TEST_CASE("a gradient noise scale in examples says the same as the statistics that have it") {
    Json one = job("a");
    one["batch"]["initial"] = 128;
    one["gpus"] = {4, 4};
    one["samples"] = Json::array({sample("aws", {1, 4}, 64), sample("aws", {1, 4}, 128)});
    const auto planned = [&](const Json& gradient) {
        one["gradient"] = gradient;
        Program program = plan({"--explain"});
        return untimed(ask(program, round_of(60, sixty_four_gpus(), Json::array({one}))));
    };
    const Json small = planned({{"noise_scale", 64}}), large = planned({{"noise_scale", 12800}});
    CHECK(small == planned({{"sqr", 1}, {"var", 0.5}}));
    CHECK(large == planned({{"sqr", 1}, {"var", 100}, {"noise_scale", nullptr}}));
    CHECK(small != large);
}

TEST_CASE("a job's own largest batch is a limit, its owner's wish one until the job is seen beyond it") {
    Json one = job("a");
    one["gpus"] = {4, 4};
    one["adapt"] = "batch";
    one["gradient"] = {{"sqr", 1e-9}, {"var", 1}};  // a larger batch is always better
    const auto batch_of = [&](Program& program) {
        const Json got = entry(ask(program, round_of(60, sixty_four_gpus(), Json::array({one}))), "a");
        return got["local_batch"].get<int>() * (got["accumulation"].get<int>() + 1) * 4;
    };
    one["samples"] = Json::array({sample("aws", {1, 4}, 64), sample("aws", {1, 4}, 128)});  // 512 in total
    for (const char* models : {"separate", "published", "refined"}) {
        CAPTURE(models);
        Program program = plan({"--models", models});
        one["batch"]["wanted"] = nullptr;
        const int free = batch_of(program);
        CHECK(free > 2048);
        CHECK(free <= 4096);
        one["batch"]["wanted"] = 1024;
        const int wanted = batch_of(program);
        CHECK(wanted <= 1024);
        CHECK(wanted > 512);
        one["batch"]["wanted"] = 256;  // but 512 was seen, in this line and before
        const Json samples = std::exchange(one["samples"], Json::array());
        const int seen = batch_of(program);
        CHECK(seen <= 512);
        CHECK(seen > 256);
        one["samples"] = samples;
    }
}

TEST_CASE("a batch fits the GPU type that is given, wherever the job was measured") {
    Json nodes = Json::array();
    for (int i = 0; i < 6; ++i) nodes.push_back(node("aws", i, 4));
    Json one = job("a");
    one["samples"] = Json::array({sample("dgx", {1, 8}, 64), sample("dgx", {1, 8}, 256)});
    for (const char* models : {"separate", "published", "refined"})
        for (const int most : {32, 40, 200})
            for (const int gpus : {2, 4, 16}) {
                CAPTURE(models);
                CAPTURE(most);
                CAPTURE(gpus);
                one["batch"]["local"]["aws"] = {24, most};
                one["gpus"] = {gpus, gpus};
                Program program = plan({"--models", models});
                // The earlier line has dgx, this one does not.
                ask(program, round_of(0, sixty_four_gpus(), Json::array({})));
                const Json got = entry(ask(program, round_of(60, nodes, Json::array({one}))), "a");
                REQUIRE(got["gpu_type"] == "aws");
                const int local = got["local_batch"].get<int>();
                CHECK(local >= 24);
                CHECK(local <= most);
                CHECK(local * (got["accumulation"].get<int>() + 1) * gpus <= 4096);
            }
}

TEST_CASE("a job with GPUs has a batch that fits, even if nothing is known about its gradient yet") {
    Json one = job("a");
    one["gradient"] = nullptr;
    one["samples"] = Json::array({sample("aws", {1, 1}, 64), sample("aws", {1, 1}, 256)});
    for (const char* models : {"separate", "published", "refined"})
        for (const auto& numbers :
             {std::array{33, 33, 1000, 2}, {33, 33, 1000, 16}, {16, 512, 500, 16}, {100, 120, 1000, 4}}) {
            const int least = numbers[0], most = numbers[1], largest = numbers[2], gpus = numbers[3];
            CAPTURE(models);
            CAPTURE(least);
            CAPTURE(gpus);
            one["gpus"] = {1, gpus};
            one["batch"] = {{"initial", 500}, {"max", largest}, {"local", {{"aws", {least, most}}}}};
            Program program = plan({"--policy", "goodput-declared", "--models", models});
            const Json line = round_of(60, sixty_four_gpus(), Json::array({one}));
            const Json got = ask(program, line);
            check_plan(line, got);
            CHECK(!entry(got, "a")["nodes"].empty());
        }
}

TEST_CASE("limits on nodes, accumulation on one GPU and racks are kept") {
    Json nodes = Json::array();
    for (int i = 0; i < 6; ++i) {
        nodes.push_back(node("aws", i, 4));
        nodes.back()["rack"] = i % 2 == 0 ? "even" : "odd";
    }
    Json wide = job("wide");
    wide["batch"]["local"] = {{"aws", {8, 64}}};
    wide["batch"]["rate"] = {{"aws", 1000}};
    wide["gradient"] = {{"sqr", 1e-9}, {"var", 1}};
    wide["gpus"] = {24, 24};
    const auto got = [&](const Json& changes) {
        Json changed = wide;
        changed.update(changes);
        Program program = plan({"--policy", "fifo"});
        return entry(ask(program, round_of(60, nodes, Json::array({changed}))), "wide");
    };
    CHECK(got(Json::object())["nodes"].size() == 6);
    CHECK(got({{"max_nodes", 5}})["outcome"] == "impossible");
    CHECK(got({{"max_nodes", {{"aws", 6}}}})["nodes"].size() == 6);
    CHECK(got({{"within", "rack"}})["outcome"] == "impossible");  // a rack has three nodes
    CHECK(got({{"within", "zone"}})["nodes"].size() == 6);
    CHECK(got({{"within", "rack"}, {"gpus", {12, 12}}})["nodes"].size() == 3);
    std::set<std::string> racks;
    const Json gang = got({{"within", "rack"}, {"gpus", {8, 8}}});
    for (const Json& share : gang["nodes"])
        for (const Json& node : nodes)
            if (node["name"] == share[0]) racks.insert(node["rack"].get<std::string>());
    CHECK(racks.size() == 1);

    const Json one = {{"gpus", {1, 1}}, {"samples", {sample("aws", {1, 1}, 32), sample("aws", {1, 1}, 64)}}};
    Json fits = one;
    fits["batch"] = wide["batch"];
    fits["batch"]["initial"] = 16;
    fits["batch"]["max"] = 64;
    CHECK(got(fits)["accumulation"] == 0);
    fits["single_gpu_accumulates"] = true;
    CHECK(got(fits)["accumulation"] >= 1);
}

TEST_CASE("a node that does not count cores gives none, and its job is not limited there") {
    Json nodes = Json::array({node("aws", 0, 4), node("aws", 1, 4)});
    nodes[0]["cores"] = 32;
    Json one = job("a");
    one["gpus"] = {8, 8};
    one["batch"]["local"] = {{"aws", {8, 1024}}};
    one["host"] = {{"cores_per_gpu", {2, 3}}};
    Program program = plan({"--policy", "fifo"});
    const Json answer = ask(program, round_of(60, nodes, Json::array({one})));
    const Json got = entry(answer, "a");
    for (std::size_t i = 0; i < 2; ++i) {
        const double cores = got["cores"][i].get<double>();
        CHECK(cores <= (got["nodes"][i][0] == "aws-0" ? 4 * 3 : 0));
        CHECK(cores >= (got["nodes"][i][0] == "aws-0" ? 4 * 2 : 0));
    }
    CHECK(!answer.contains("limits"));
}

TEST_CASE("a job that saves nothing has no seconds between two checkpoints") {
    Json nodes = Json::array({node("aws", 0, 4)});
    nodes[0]["interruptions_h"] = 0.5;
    Json one = job("a");
    Program program = plan({"--explain"});
    const auto got = [&](bool saves) {
        one["checkpoints"] = {{{"name", "way"}, {"pause_s", 5}, {"saves", saves}}};
        return entry(ask(program, round_of(60, nodes, Json::array({one}))), "a");
    };
    const Json saved = got(true), unsaved = got(false);
    CHECK(saved["checkpoint_s"].get<double>() > 0);
    CHECK(!unsaved.contains("checkpoint_s"));
    CHECK(unsaved["checkpoint"] == "way");
    CHECK(unsaved["availability"].get<double>() < saved["availability"].get<double>());
    CHECK(unsaved["why"].get<std::string>().ends_with("best without checkpoints, way"));
}

TEST_CASE("a plan keeps to its deadline") {
    Json jobs = Json::array();
    for (int i = 0; i < 300; ++i) jobs.push_back(job("job-" + std::to_string(i), i));
    Program program = plan();
    Json line = round_of(600, sixty_four_gpus(), jobs);
    line["deadline_ms"] = 0;
    const Json cut = ask(program, line);
    check_plan(line, cut);
    line.erase("deadline_ms");
    const Json full = ask(program, line);
    CHECK(full["status"] == "optimal");
    CHECK(cut["objective"].get<double>() <= full["bound"].get<double>());
    CHECK(cut["bound"].get<double>() >= full["objective"].get<double>());
}

namespace {

/// Returns two jobs of one GPU whose speed is known, and a node with one GPU.
Json two_that_share() {
    Json jobs = Json::array();
    for (const char* name : {"images", "ranking"}) {
        Json each = job(name);
        each["gpus"] = {1, 1};
        each["adapt"] = "none";
        each["batch"] = {
            {"initial", 128}, {"target", 128}, {"local", {{"aws", {32, 1024}}}}, {"rate", {{"aws", 400}}}};
        jobs.push_back(std::move(each));
    }
    return round_of(100, Json::array({node("aws", 0, 1)}), jobs);
}

}  // namespace

TEST_CASE("plan: two jobs have the same GPU, each at its speed while sharing") {
    for (const char* policy : {"sia", "goodput", "goodput-declared", "optimus"}) {
        CAPTURE(std::string(policy));
        Program program = plan({"--policy", policy});
        Json line = two_that_share();
        const Json alone = ask(program, line);
        double speed = 0;
        for (const Json& each : alone["plan"]) {
            CHECK(!each.contains("with"));
            if (!each["nodes"].empty()) speed = each["goodput"];
        }
        REQUIRE(speed > 0);
        line["jobs"][1]["shares_with"] = {{{"job", "images"}, {"part", {{"aws", {0.95, 0.9}}}}}};
        const Json together = ask(program, line);
        CHECK(together["plan"][0]["with"] == "ranking");
        CHECK(together["plan"][1]["with"] == "images");
        CHECK(together["plan"][0]["nodes"] == together["plan"][1]["nodes"]);
        CHECK(together["plan"][0]["part"] == 0.9);
        CHECK(together["plan"][1]["part"] == 0.95);
        CHECK(together["plan"][0]["goodput"].get<double>() == doctest::Approx(0.9 * speed));
        CHECK(together["plan"][1]["goodput"].get<double>() == doctest::Approx(0.95 * speed));
        CHECK(together["plan"][0]["starts"] == "start");
        // The same rates in examples/s, stated by both jobs: the first statement counts.
        line["jobs"][1]["shares_with"][0] = {{"job", "images"},
                                             {"rate", {{"aws", {0.95 * speed, 0.9 * speed}}}}};
        line["jobs"][0]["shares_with"] = {
            {{"job", "ranking"}, {"rate", {{"aws", {0.9 * speed, 0.95 * speed}}}}}};
        const Json by_rate = ask(program, line);
        CHECK(by_rate["plan"][0]["part"].get<double>() == doctest::Approx(0.9));
        CHECK(by_rate["plan"][1]["part"].get<double>() == doctest::Approx(0.95));
        // Jobs that run together stay together.
        for (Json& each : line["jobs"]) each["placement"] = placement({{"aws-0", 1}});
        line["jobs"][0]["with"] = "ranking";
        line["time_s"] = 160;
        const Json later = ask(program, line);
        for (const Json& each : later["plan"]) {
            CHECK(each["starts"] == "stays");
            CHECK(each.contains("with"));
        }
        CHECK(!later.contains("warnings"));
    }
}

TEST_CASE("plan: partners that do not exist, and pairs that make no sense, are named") {
    Json line = two_that_share();
    line["jobs"][0]["shares_with"] = {{{"job", "rankin"}, {"part", {{"aws", {0.75, 0.7}}}}}};
    Program program = plan();
    const Json answer = ask(program, line);
    CHECK(answer["warnings"].dump().find(
              "job 'images': it cannot share GPUs with job 'rankin', which is not in this "
              "line (did you mean") != std::string::npos);
    CHECK(!answer["plan"][0].contains("with"));
    Program strict = plan({"--strict"});
    CHECK(strict.ask(line.dump()).find("rankin") != std::string::npos);
    line["jobs"][0]["shares_with"][0]["job"] = "images";
    CHECK(ask(program, line)["warnings"].dump().find("another job; they are no pair") != std::string::npos);
    line["jobs"][0]["shares_with"][0]["job"] = "ranking";
    line["jobs"][0]["shares_with"][0]["part"]["aws"] = {0.5};
    CHECK(ask(program, line)["warnings"].dump().find("a pair [its own, the other's]; they are no pair") !=
          std::string::npos);
    // They run together, but on different GPUs.
    line["jobs"][0]["shares_with"][0]["part"]["aws"] = {0.7, 0.7};
    line["jobs"][0]["with"] = "ranking";
    line["jobs"][0]["placement"] = placement({{"aws-0", 1}});
    CHECK(ask(program, line)["warnings"].dump().find(
              "jobs 'images' and 'ranking': with says that they share GPUs, but their placements differ") !=
          std::string::npos);
}

TEST_CASE("plan: the answer says once that a partner that has ended is not there") {
    Json line = two_that_share();
    line["jobs"].erase(1);
    line["jobs"][0]["name"] = "p";
    line["jobs"][0]["shares_with"] = {{{"job", "q"}, {"part", {{"aws", {0.9, 0.9}}}}}};
    line["jobs"][0]["with"] = "q";
    line["jobs"][0]["placement"] = placement({{"aws-0", 1}});
    Program program = plan();
    const Json answer = ask(program, line);
    CHECK(answer["warnings"] ==
          Json::array({"job 'p': it cannot share GPUs with job 'q', which is not in this line"}));
    CHECK(answer["plan"][0]["starts"] == "stays");
}

TEST_CASE("plan: a pair that has lost its node starts together on another one") {
    Json line = two_that_share();
    line["jobs"][0]["shares_with"] = {{{"job", "ranking"}, {"part", {{"aws", {0.9, 0.9}}}}}};
    line["jobs"][0]["with"] = "ranking";
    for (Json& each : line["jobs"]) {
        each["placement"] = placement({{"aws-0", 1}});
        each["attained_gpu_s"] = 3600;
    }
    Program program = plan({"--policy", "goodput"});
    REQUIRE(ask(program, line)["plan"][0]["starts"] == "stays");
    line["time_s"] = line["time_s"].get<double>() + 60;
    line["nodes"][0]["name"] = "aws-9";
    const Json after = ask(program, line);
    CHECK(!after.contains("warnings"));
    for (const Json& each : after["plan"]) {
        CHECK(each["starts"] == "start");
        CHECK(each["nodes"] == Json::array({Json::array({"aws-9", 1})}));
        CHECK(each.contains("with"));
    }
}

TEST_CASE("plan: a job with a promise shares its GPU as long as it ends in time") {
    for (const double seconds : {900.0, 500.0}) {
        CAPTURE(seconds);
        Json line = two_that_share();
        line["interval_s"] = 60;
        line["jobs"][0]["shares_with"] = {{{"job", "ranking"}, {"part", {{"aws", {0.9, 0.6}}}}}};
        for (Json& each : line["jobs"]) {
            each["remaining_examples"] = 1e5;  // 468 s alone, as a promise counts them
            each["restart_cost_s"] = 0;
        }
        line["jobs"][1]["deadline_s"] = line["time_s"].get<double>() + seconds;
        line["jobs"][1]["deadline"] = "or_never";
        Program program = plan({"--policy", "goodput"});
        const Json answer = ask(program, line);
        CHECK(answer["plan"][1]["promise"] == "kept");
        CHECK(answer["plan"][1]["done_by_s"] <= line["jobs"][1]["deadline_s"]);
        CHECK(!answer["plan"][1]["nodes"].empty());
        CHECK(answer["plan"][1].contains("with") == (seconds > 600));
    }
}

TEST_CASE("plan: times of a job that shares its GPUs do not count for its speed alone") {
    Json line = two_that_share();
    line["jobs"][0]["shares_with"] = {{{"job", "ranking"}, {"part", {{"aws", {0.9, 0.9}}}}}};
    line["jobs"][0]["with"] = "ranking";
    for (Json& each : line["jobs"]) each["placement"] = placement({{"aws-0", 1}});
    Program without = plan();
    const Json expected = ask(without, line);
    Json slow = sample("aws", {1, 1}, 128);
    slow["step_s"] = 128 / 400.0 / 0.9;
    slow["sync_s"] = 0;
    line["jobs"][1]["samples"] = Json::array({slow});
    Program with = plan();
    const Json answer = ask(with, line);
    CHECK(answer["plan"] == expected["plan"]);
    CHECK(answer["warnings"].dump().find(
              "job 'ranking': its samples are left out, because it shares its GPUs") != std::string::npos);
    CHECK(answer["warnings"].size() == 1);
}

TEST_CASE("plan: a limit that a pair exceeds by what it keeps names the pair's two jobs") {
    Json line = two_that_share();
    line["jobs"][0]["preemptible"] = false;
    line["jobs"][0]["with"] = "ranking";
    for (Json& each : line["jobs"]) {
        each["placement"] = placement({{"aws-0", 1}});
        each["team"] = "red";
    }
    line["teams"] = {{"red", {{"gpus", 0}}}};
    for (const char* policy : {"sia", "goodput", "fifo", "tiresias"}) {
        CAPTURE(std::string(policy));
        Program program = plan({"--policy", policy});
        const Json answer = ask(program, line);
        REQUIRE(answer["conflicts"].size() == 1);
        CHECK(answer["conflicts"][0]["jobs"] == Json::array({"images", "ranking"}));
        CHECK(answer["conflicts"][0]["kept"] == 1);
    }
}

TEST_CASE("plan: rates while sharing do not count if the speed alone is unknown") {
    Json line = two_that_share();
    for (Json& each : line["jobs"]) each["batch"].erase("rate");
    line["jobs"][0]["shares_with"] = {{{"job", "ranking"}, {"rate", {{"aws", {300, 300}}}}}};
    Program program = plan({"--explain"});
    const Json answer = ask(program, line);
    CHECK(answer["warnings"].dump().find("its speed alone on aws is not known") != std::string::npos);
    for (const Json& each : answer["plan"]) CHECK(!each.contains("with"));
}

TEST_CASE("plan: speeds of an unmeasured pair follow from how busy each job keeps the GPU") {
    Json line = two_that_share();
    line["jobs"][1]["shares_with"] = {{{"job", "images"}}};
    line["jobs"][0]["gpu_utilisation"] = 0.3;
    line["jobs"][1]["gpu_utilisation"] = {{"aws", 0.9}};
    Program program = plan({"--policy", "goodput"});
    const Json answer = ask(program, line);
    CHECK(!answer.contains("warnings"));
    CHECK(answer["plan"][0]["with"] == "ranking");
    REQUIRE(answer["pairs"].size() == 1);
    const Json& pair = answer["pairs"][0];
    CHECK(pair["jobs"] == Json({"ranking", "images"}));  // in the order of the job that names the other
    CHECK(pair["offered"] == Json({"aws"}));
    CHECK(pair["part"]["aws"][0] == answer["plan"][1]["part"]);
    CHECK(pair["part"]["aws"][1] == answer["plan"][0]["part"]);
    const auto expected = goodput::parts_by_utilisation({0.9, 0.3}, goodput::GpuSharing::time_slicing);
    for (std::size_t i = 0; i < 2; ++i)
        CHECK(pair["part"]["aws"][i].get<double>() == doctest::Approx(expected[i]));
    CHECK(pair["why"].get<std::string>().find("on aws the two are expected to do 1.") == 0);

    // With MPS they keep more of their speed.
    line["sharing"] = "mps";
    const Json at_once = ask(program, line);
    for (std::size_t i = 0; i < 2; ++i)
        CHECK(at_once["pairs"][0]["part"]["aws"][i].get<double>() > pair["part"]["aws"][i].get<double>());
    line.erase("sharing");

    // If speeds are stated, the answer ignores utilisation.
    line["jobs"][1]["shares_with"][0]["part"] = {{"aws", {0.6, 0.9}}};
    const Json measured = ask(program, line);
    CHECK(!measured.contains("pairs"));
    CHECK(measured["plan"][0]["part"] == 0.9);
    for (Json& each : line["jobs"]) each.erase("gpu_utilisation");
    CHECK(ask(program, line)["plan"] == measured["plan"]);
}

TEST_CASE("plan: a pair whose gain is not likely is not offered, and the answer says why") {
    Json line = two_that_share();
    line["jobs"][0]["shares_with"] = {{{"job", "ranking"}}};
    for (Json& each : line["jobs"]) each["gpu_utilisation"] = 0.97;
    Program program = plan({"--policy", "goodput"});
    const Json answer = ask(program, line);
    for (const Json& each : answer["plan"]) CHECK(!each.contains("with"));
    CHECK(answer["pairs"][0]["offered"] == Json::array());
    const auto why = answer["pairs"][0]["why"].get<std::string>();
    CHECK(why.find("a gain is not likely, so they are not offered") != std::string::npos);
    // They stay together where they are, at the speeds expected there.
    for (Json& each : line["jobs"]) each["placement"] = placement({{"aws-0", 1}});
    line["jobs"][0]["with"] = "ranking";
    line["jobs"][0]["preemptible"] = line["jobs"][1]["preemptible"] = false;
    const Json stays = ask(program, line);
    CHECK(stays["plan"][0]["with"] == "ranking");
    CHECK(stays["plan"][0]["part"] == answer["pairs"][0]["part"]["aws"][0]);
    CHECK(stays["pairs"][0]["why"].get<std::string>().find("but they share GPUs now") != std::string::npos);
}

TEST_CASE("plan: unknown values of a pair are assumed, and the answer says so") {
    Json line = two_that_share();
    line["jobs"][0]["shares_with"] = {{{"job", "ranking"}}};
    Program program = plan();
    // Nothing is known, so full utilisation is assumed.
    const Json nothing = ask(program, line);
    CHECK(nothing["pairs"][0]["offered"] == Json::array());
    CHECK(
        nothing["pairs"][0]["why"].get<std::string>().find(
            "gpu_utilisation of job 'images' is not known, 1 is assumed; gpu_utilisation of job 'ranking'") !=
        std::string::npos);
    // One utilisation is known: the other is the mean of the known ones.
    line["jobs"][0]["gpu_utilisation"] = 0.2;
    const Json one = ask(program, line);
    CHECK(one["pairs"][0]["why"].get<std::string>().find(
              "gpu_utilisation of job 'ranking' is not known, 0.2 is assumed") != std::string::npos);
    CHECK(one["pairs"][0]["part"]["aws"][0] == one["pairs"][0]["part"]["aws"][1]);
    // A measured pair says more about its jobs.
    line["jobs"][1]["gpu_utilisation"] = 0.9;
    Json third = line["jobs"][1];
    third["name"] = "third";
    third["shares_with"] = {{{"job", "ranking"}, {"part", {{"aws", {0.35, 0.35}}}}}};
    const Json before = ask(program, line);
    line["jobs"].push_back(third);
    const Json after = ask(program, line);
    CHECK(after["pairs"].size() == 1);
    for (std::size_t i = 0; i < 2; ++i)
        CHECK(after["pairs"][0]["part"]["aws"][i].get<double>() <
              before["pairs"][0]["part"]["aws"][i].get<double>());
}

TEST_CASE("plan: a utilisation that makes no sense is named with its job") {
    for (const Json& bad : {Json(1.5), Json(-0.1), Json(74.2), Json("0.5"), Json({{"aws", 2}})}) {
        Json line = two_that_share();
        line["jobs"][1]["gpu_utilisation"] = bad;
        Program program = plan();
        const auto why = ask(program, line)["plan"][1]["why"].get<std::string>();
        CHECK(why.find("set aside: job 'ranking': gpu_utilisation") == 0);
        CHECK(why.find((bad.is_object() ? bad["aws"] : bad).dump()) != std::string::npos);
        Program strict = plan({"--strict"});
        CHECK(strict.ask(line.dump()).find("gpu_utilisation") != std::string::npos);
    }
    Json line = two_that_share();
    line["sharing"] = "mig";
    Program program = plan();
    CHECK(program.ask(line.dump()).find("sharing is \\\"mig\\\", but must be") != std::string::npos);
    // If a partner's speeds cannot be read, there is no pair, and none is estimated.
    line.erase("sharing");
    line["jobs"][0]["shares_with"] = {{{"job", "ranking"}, {"part", {{"aws", {0.5}}}}}};
    CHECK(!ask(program, line).contains("pairs"));
}

TEST_CASE("plan: an explanation says who shares with whom") {
    Json line = two_that_share();
    line["jobs"][0]["shares_with"] = {{{"job", "ranking"}, {"part", {{"aws", {0.7, 0.75}}}}}};
    Program program = plan({"--explain", "--policy", "goodput"});
    const Json answer = ask(program, line);
    CHECK(answer["plan"][0]["why"].get<std::string>().find(
              "shares 1 aws on 1 node with 'ranking': 0.7 of its speed alone, 1.45 together") !=
          std::string::npos);
}

/// Returns two jobs that want a whole node, and can both end in time only by taking turns.
Json two_with_deadlines(double first_s, double second_s) {
    Json line = two_that_share();
    line["nodes"] = Json::array({{{"name", "aws-0"}, {"gpu_type", "aws"}, {"gpus", 1}}});
    for (Json& each : line["jobs"]) {
        each["gpus"] = {1, 1};
        each["batch"]["local"] = {{"aws", {32, 128}}};
        each["batch"]["rate"] = {{"aws", 100}};
        each["remaining_examples"] = 1e5;
        each["restart_cost_s"] = 0;
        each.erase("shares_with");
    }
    line["jobs"][0]["deadline_s"] = line["time_s"].get<double>() + first_s;
    line["jobs"][1]["deadline_s"] = line["time_s"].get<double>() + second_s;
    return line;
}

TEST_CASE("plan: an end in time is promised if there is a plan for it, whatever the policy prefers") {
    // 1e5 examples at 95 per second, as a promise counts them, take 1053 s: too long after a round's wait.
    for (const char* policy : {"goodput", "sia", "fifo", "srtf"}) {
        INFO(policy);
        Program program = plan({"--policy", policy});
        const Json answer = ask(program, two_with_deadlines(2700, 1065));
        for (const Json& each : answer["plan"]) CHECK(each["promise"] == "kept");
        CHECK(answer["plan"][0]["nodes"].empty());
        CHECK(!answer["plan"][1]["nodes"].empty());
        CHECK(answer["plan"][0]["done_by_s"].get<double>() > answer["plan"][1]["done_by_s"].get<double>());
    }
}

TEST_CASE("plan: a refusal says what would have to change, and a job may run or not without a promise") {
    Json line = two_with_deadlines(1125, 1125);
    Program program = plan({"--policy", "goodput"});
    const Json refused = ask(program, line);
    CHECK(refused["plan"][0]["promise"] == "kept");
    CHECK(!refused["plan"][0]["nodes"].empty());
    CHECK(refused["plan"][1]["promise"] == "refused");
    const std::string why = refused["plan"][1]["why"];
    CHECK(why.find("1 more aws for the next") != std::string::npos);
    CHECK(why.find("a deadline") != std::string::npos);
    CHECK(why.find("no promise to job") != std::string::npos);
    // With one node more the job runs, and its end is promised.
    line["nodes"].push_back({{"name", "aws-1"}, {"gpu_type", "aws"}, {"gpus", 1}});
    line["time_s"] = line["time_s"].get<double>() + 1;
    CHECK(ask(program, line)["plan"][1]["promise"] == "kept");
    // A job that no node can end in time runs nevertheless, unless it must not.
    line["jobs"][1]["remaining_examples"] = 1e9;
    Program other = plan({"--policy", "goodput"});
    CHECK(!ask(other, line)["plan"][1]["nodes"].empty());
    line["jobs"][1]["deadline"] = "or_never";
    const Json never = ask(other, line);
    CHECK(never["plan"][1]["promise"] == "refused");
    CHECK(never["plan"][1]["nodes"].empty());
}

TEST_CASE("plan: promises outlive rounds and restarts of the program, and announced nodes count") {
    Json line = two_with_deadlines(1065, 1065);
    std::swap(line["jobs"][0], line["jobs"][1]);
    line["jobs"][1]["promise"] = "kept";  // as the program said before its restart
    Program program = plan({"--policy", "goodput"});
    const Json answer = ask(program, line);
    CHECK(answer["plan"][0]["promise"] == "refused");
    CHECK(answer["plan"][1]["promise"] == "kept");
    // A second node announced in time suffices for both jobs; one that leaves too early does not.
    const double now = line["time_s"];
    line["jobs"][0]["deadline_s"] = now + 2000;
    line["nodes"].push_back(
        {{"name", "aws-1"}, {"gpu_type", "aws"}, {"gpus", 1}, {"from_s", now + 300}, {"until_s", now + 350}});
    CHECK(ask(program, line)["plan"][0]["promise"] == "refused");
    line["nodes"][1]["until_s"] = now + 1900;
    const Json both = ask(program, line);
    CHECK(both["plan"][0]["promise"] == "kept");
    CHECK(both["plan"][0]["nodes"].empty());
    // If nodes leave, promises break, and the reason is given.
    line["nodes"].erase(1);
    line["nodes"][0]["drained"] = true;
    line["time_s"] = now + 60;
    for (const Json& each : ask(program, line)["plan"]) {
        CHECK(each["promise"] == "broken");
        CHECK(each["why"].get<std::string>().find("nodes are not those") != std::string::npos);
    }
}

TEST_CASE("plan: a promise outlives a slip in the line of the job that shares the GPUs") {
    const auto job = [](const char* name, const char* with, double left) {
        Json described{
            {"name", name},
            {"submitted_s", 0},
            {"gpus", {4, 4}},
            {"adapt", "gpus"},
            {"restart_cost_s", 30},
            {"batch",
             {{"initial", 256}, {"target", 256}, {"local", {{"A", {1, 256}}}}, {"rate", {{"A", 100}}}}},
            {"remaining_examples", left},
            {"with", with}};
        described["placement"]["nodes"] = Json::array({Json::array({"n", 4})});
        return described;
    };
    Json due = job("due", "slips", 240000), slips = job("slips", "due", 1e7);
    // The job takes ten minutes alone, and 33 while sharing with the other one.
    due["deadline_s"] = 1000 + 4 * 600;
    due["promise"] = "kept";
    slips["shares_with"] = Json::array({{{"job", "due"}, {"part", {{"A", {0.9, 0.3}}}}}});
    Json line{{"time_s", 1000}, {"nodes", Json::array()}, {"jobs", {due, slips}}};
    for (const char* node : {"n", "m"})
        line["nodes"].push_back({{"name", node}, {"gpu_type", "A"}, {"gpus", 4}});
    Program program = plan({"--policy", "goodput"});
    CHECK(ask(program, line)["plan"][0]["promise"] == "kept");
    line["time_s"] = 1060;
    line["jobs"][1]["weight"] = -1;
    const Json answer = ask(program, line);
    CHECK(answer["plan"][0]["why"].get<std::string>().find("set aside") != std::string::npos);
    CHECK(answer["plan"][0]["starts"] == "stays");
    CHECK(answer["plan"][0]["promise"] == "kept");
    // A partner that must not be stopped breaks the promise.
    line["jobs"][1]["weight"] = 1;
    line["jobs"][1]["preemptible"] = false;
    CHECK(ask(program, line)["plan"][0]["promise"] == "broken");
}

TEST_CASE("plan: a queue stops no running job for one without room in cores and memory") {
    const auto node = [](const char* name) {
        return Json{{"name", name}, {"gpu_type", "A"}, {"gpus", 4}, {"cores", 16}, {"memory_gib", 64}};
    };
    const auto job = [](const char* name, double left) {
        return Json{
            {"name", name},
            {"submitted_s", 0},
            {"gpus", {4, 4}},
            {"adapt", "gpus"},
            {"batch",
             {{"initial", 256}, {"target", 256}, {"local", {{"A", {1, 256}}}}, {"rate", {{"A", 100}}}}},
            {"remaining_examples", left}};
    };
    Json runs = job("runs", 1e6), restarts = job("restarts", 1e7), shortest = job("shortest", 1e4);
    runs["placement"]["nodes"] = Json::array({Json::array({"n0", 4})});
    restarts["placement"]["nodes"] = Json::array({Json::array({"n1", 4})});
    restarts["restarting"] = true;
    // Only the second node has room for the job, because its cores and memory are not counted. The job in a
    // restart keeps that node.
    shortest["host"] = {{"cores_per_gpu", {2, 2}}, {"memory_gib_per_gpu", {40, 40}}};
    Json line{{"time_s", 100}, {"nodes", {node("n0"), node("n1")}}, {"jobs", {runs, restarts, shortest}}};
    line["nodes"][1].erase("cores");
    line["nodes"][1].erase("memory_gib");
    for (const char* policy : {"srtf", "goodput"}) {
        CAPTURE(policy);
        Program program = plan({"--policy", policy});
        const Json answer = ask(program, line);
        CHECK(answer["plan"][0]["starts"] == "stays");
        CHECK(answer["plan"][2]["nodes"].empty());
        // If the shorter job fits, the queue does stop the running one.
        line["nodes"][0]["memory_gib"] = 256;
        if (std::string_view(policy) == "srtf") CHECK(ask(program, line)["plan"][0]["starts"] == "stops");
        line["nodes"][0]["memory_gib"] = 64;
    }
}

}  // namespace cli_plan
