// Tests what the Slurm controller reads: Slurm's JSON, comments of jobs, and reports of trainings.

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "job_request.hpp"
#include "state.hpp"
#include "training_files.hpp"

#include <doctest/doctest.h>

namespace slurm_files {

const std::string nodes = R"json({"nodes": [
    {"name": "n1", "state": "mixed", "state_flags": ["DRAIN", "COMPLETING"], "gres": "gpu:t4:4(S:0-1)"},
    {"name": "n0", "state": "idle", "state_flags": [], "gres": "gpu:t4:4,tmp:1G"},
    {"name": "n2", "state": "allocated", "state_flags": ["NOT_RESPONDING"], "gres": "gpu:8"},
    {"name": "n3", "state": "down", "state_flags": [], "gres": "gpu:t4:4"},
    {"name": "n4", "state": "idle", "state_flags": [], "gres": ""},
    {"name": "n5", "state": "idle", "state_flags": [], "gres": "gpu:t4:2,gpu:a100:2"}]})json";

/// Returns the one job in the output of `squeue --json`, with the state that plain squeue prints.
slurm::Job read_job(const std::string& fields, const std::string& full_state) {
    const std::string queue = R"({"jobs": [{"job_id": 7, "tres_per_node": "gres:gpu:1", )" + fields + "}]}";
    const slurm::State state = slurm::read_state(queue, nodes, "7 " + full_state + "\n", 100);
    REQUIRE(state.jobs.size() == 1);
    return state.jobs.front();
}

slurm::JobRequest read_comment(const std::string& comment, const std::string& gpu_type = "") {
    slurm::Job job;
    job.id = "7";
    job.comment = comment;
    job.asks_per_node = true;
    job.gpu_type = gpu_type;
    return slurm::read_request(job, {"t4", "a100"}, 30);
}

const std::string good = "goodput gpus=1-8 batch=128-4096 local=t4:1-64,a100:2-256,h100:4-512";

TEST_CASE("nodes are those that are up and have GPUs of one type, by name") {
    const slurm::State state = slurm::read_state(R"({"jobs": []})", nodes, "", 100);
    REQUIRE(state.nodes.size() == 3);
    CHECK(state.nodes[0].name == "n0");
    CHECK(state.nodes[0].gpu_type == "t4");
    CHECK(state.nodes[0].gpus == 4);
    CHECK((!state.nodes[0].drained && state.nodes[0].answers));
    CHECK((state.nodes[1].drained && state.nodes[1].answers));
    CHECK((state.nodes[1].ending && !state.nodes[0].ending));
    CHECK((!state.nodes[2].drained && !state.nodes[2].answers));
    CHECK(state.nodes[2].gpus == 8);
}

TEST_CASE("a job is held, released, running or ending by both of Slurm's answers") {
    const std::string waits = R"("job_state": "PENDING", "priority": )";
    CHECK(read_job(waits + "0", "PENDING").state == slurm::JobState::held);
    CHECK(read_job(waits + "9", "PENDING").state == slurm::JobState::pending);
    CHECK(read_job(waits + "0", "COMPLETING").state == slurm::JobState::ending);
    CHECK(read_job(R"("job_state": "RUNNING")", "RUNNING").state == slurm::JobState::running);
    CHECK(read_job(R"("job_state": "RUNNING")", "COMPLETING").state == slurm::JobState::ending);
    CHECK(!read_job(waits + "0", "PENDING").not_cleared);
    CHECK(read_job(R"("nodes": "n1", )" + waits + "0", "PENDING").not_cleared);
    const std::string over = R"({"jobs": [{"job_id": 7, "job_state": "COMPLETED"}]})";
    CHECK(slurm::read_state(over, nodes, "7 COMPLETED\n", 100).jobs.empty());
    for (const char* id : {"1e300", "-1", "null"}) {
        const std::string no_number =
            R"({"jobs": [{"job_state": "RUNNING", "job_id": )" + std::string(id) + "}]}";
        CHECK_THROWS_AS(slurm::read_state(no_number, nodes, "", 100), std::runtime_error);
    }
}

TEST_CASE("a job's GPUs are read node by node, and its request from its own fields") {
    const slurm::Job runs = read_job(
        R"json("job_state": "RUNNING", "gres_detail": ["gpu:t4:4(IDX:0-3)", "gpu:t4:2(IDX:0,3)"],
               "job_resources": {"allocated_nodes": [{"nodename": "n1"}, {"nodename": "n0"}]})json",
        "RUNNING");
    CHECK(runs.holds.nodes == std::vector<std::string>{"n0", "n1"});
    CHECK(runs.held_gpus == std::vector<int>{2, 4});
    const slurm::Job waits =
        read_job(R"("job_state": "PENDING", "priority": 9, "required_nodes": "n1,n0")", "PENDING");
    CHECK(waits.asks == slurm::Share{{"n0", "n1"}, 1});
}

TEST_CASE("impossible numbers count as missing, and none exceeds the range of an int") {
    const auto nodes_with = [](const std::string& gres) {
        return slurm::read_state(R"({"jobs": []})",
                                 R"({"nodes": [{"name": "n", "state": "idle", "gres": ")" + gres + "\"}]}",
                                 "", 0)
            .nodes;
    };
    CHECK(nodes_with("gpu:t4:1048576").size() == 1);
    for (const char* gres : {"gpu:t4:-4", "gpu:t4:1048577", "gpu:t4:2147483647,gpu:t4:2147483647"})
        CHECK(nodes_with(gres).empty());
    const std::string runs = R"("job_state": "RUNNING", "restart_cnt": )";
    CHECK(read_job(runs + "1e300", "RUNNING").restarts == 1'000'000'000);
    CHECK(read_job(runs + "-3", "RUNNING").restarts == 0);
    std::string many = "gpu:1048576";
    for (int i = 0; i < 2100; ++i) many += ",gpu:1048576";
    const slurm::Job holds = read_job(
        R"("job_state": "RUNNING", "job_resources": {"allocated_nodes": [{"nodename": "n1"}]}, "gres_detail": [")" +
            many + "\"]",
        "RUNNING");
    CHECK(holds.held_gpus == std::vector<int>{1 << 20});
}

TEST_CASE("a comment says what a job may get") {
    const goodput::Job job = read_comment(good + " rate=t4:400,a100:2500 restart=12.5").job;
    CHECK(job.min_gpus == 1);
    CHECK(job.max_gpus == 8);
    CHECK(job.initial_batch == 128);
    CHECK(job.max_batch == 4096);
    CHECK(job.restart_cost_seconds == 12.5);
    CHECK(read_comment(good + " restart=0").restart_known);
    CHECK(!read_comment(good).restart_known);
    REQUIRE(job.types.size() == 2);
    CHECK(job.types[0].max_atomic_batch == 64);
    CHECK(job.types[1].min_atomic_batch == 2);
    CHECK(job.types[1].reference_rate == 2500);
    CHECK(read_comment(good).job.restart_cost_seconds == 30);
    CHECK(read_comment(good + " pause").pause);
    // Submitted with --gres=gpu:a100:1, so no other type will do.
    CHECK(read_comment(good, "a100").job.types[0].max_atomic_batch == 0);
}

TEST_CASE("an invalid comment is refused with its key, its value and what it should be") {
    const auto refusal = [](const std::string& comment) -> std::string {
        try {
            read_comment(comment);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    CHECK(refusal("goodput batch=128-4096 local=t4:1-64").find("gpus is missing") != std::string::npos);
    CHECK(refusal("goodput gpus=many batch=128-4096 local=t4:1-64").find("gpus is many") !=
          std::string::npos);
    CHECK(refusal("goodput gpus=1-8 batch=128 local=t4:1-64").find("batch is 128") != std::string::npos);
    CHECK(refusal("goodput gpus=8-1 batch=128-4096 local=t4:1-64").find("gpus is 8-1") != std::string::npos);
    CHECK(refusal("goodput gpus=1-8 batch=1-9 local=t4").find("local=t4:1-64,a100:1-256") !=
          std::string::npos);
    CHECK(refusal(good + " gpus=2-4").find("given twice") != std::string::npos);
    CHECK(refusal(good + " color=red").find("key is color") != std::string::npos);
    CHECK(refusal(good + " restart=1e").find("restart is 1e") != std::string::npos);
    slurm::Job other;
    other.comment = "goodputs gpus=1";
    CHECK(!slurm::is_elastic(other));
}

TEST_CASE("reports are read once, whole lines only, and bad ones are left out") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "goodput-slurm-files-test";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    slurm::Job job;
    job.id = "7";
    job.folder = folder.string();
    slurm::ReportReader reader;
    CHECK(reader.read_new(job).empty());  // no file yet
    const auto append = [&](const std::string& text) {
        std::ofstream(folder / "goodput-7.reports", std::ios::app) << text;
    };
    const std::string line =
        R"({"gpu_type": "t4", "nodes": 1, "gpus": 2, "local_batch": 8, "accumulation": 0, "step_s": 0.5, "sync_s": 0.1)";
    append(line +
           R"(, "gradient": {"sqr": 1, "var": 4}})"
           "\n" +
           line);
    const std::vector<slurm::Report> first = reader.read_new(job);
    REQUIRE(first.size() == 1);
    CHECK(first[0].sample.shape.gpus == 2);
    CHECK(first[0].gradient.value().variance == 4);
    append(
        "}\nnonsense\n"
        R"({"gpu_type": "t4"})"
        "\n");
    CHECK(reader.read_new(job).size() == 1);
    CHECK(reader.refused() == 2);
    CHECK(reader.read_new(job).empty());
    CHECK(!first[0].start_seconds);
    for (const char* start : {"21.5", "-1", "1e9", "\"soon\""})
        append(line + ", \"start_s\": " + start + "}\n");
    const std::vector<slurm::Report> started = reader.read_new(job);
    REQUIRE(started.size() == 1);
    CHECK(started[0].start_seconds == 21.5);
    CHECK(reader.refused() == 5);

    write_plan(job, {16, 3});
    std::string plan;
    std::getline(std::ifstream(folder / "goodput-7.plan"), plan);
    CHECK(plan == R"({"local_batch": 16, "accumulation": 3})");
    std::filesystem::remove_all(folder);
}

}  // namespace slurm_files
