// The output of `squeue --json`, `sinfo --json` and `scontrol --json show nodes` differs between versions
// of Slurm. Every form is read alike, and an unknown one is refused with the field and the version.

#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "state.hpp"

#include <doctest/doctest.h>

namespace slurm_versions {

using Json = nlohmann::ordered_json;

const std::vector<std::string> versions{"21.08.8", "22.05.8", "23.02.7", "23.11.10",
                                        "24.05.4", "24.11.5", "25.05.3", "25.11.1"};

bool since(const std::string& version, const char* first) { return version >= first; }

Json meta_of(const std::string& version) {
    if (since(version, "23.11")) return {{"slurm", {{"release", version}, {"version", {{"major", "24"}}}}}};
    return {{"Slurm", {{"release", version}, {"version", {{"major", 22}}}}}};
}

/// Returns a number, which may be unset.
Json number_of(const std::string& version, long long number, const char* object_since) {
    if (!since(version, object_since)) return number;
    return {{"set", true}, {"infinite", false}, {"number", number}};
}

Json node_of(const std::string& version, const char* name, const char* state, std::vector<std::string> flags,
             const char* gres) {
    Json node{{"name", name}, {"gres", gres}};
    if (since(version, "23.02")) {
        std::string capitals = state;
        for (char& c : capitals) c = static_cast<char>(c - 'a' + 'A');
        flags.insert(flags.begin(), capitals);
        node["state"] = flags;
    } else {
        node["state"] = state;
        node["state_flags"] = flags;
    }
    return node;
}

Json nodes_of(const std::string& version) {
    Json nodes = Json::array();
    nodes.push_back(node_of(version, "n01", "mixed", {}, "gpu:a100:8(S:0-1)"));
    nodes.push_back(node_of(version, "n02", "allocated", {"DRAIN"}, "gpu:a100:8(S:0-1)"));
    nodes.push_back(node_of(version, "n03", "idle", {"NOT_RESPONDING"}, "gpu:t4:4"));
    nodes.push_back(node_of(version, "n04", "down", {}, "gpu:t4:4"));
    return {{"meta", meta_of(version)}, {"nodes", std::move(nodes)}};
}

Json runs(const std::string& version) {
    Json job{{"job_id", 12},
             {"job_state", "RUNNING"},
             {"priority", number_of(version, 100, "23.02")},
             {"state_reason", "None"},
             {"comment", "goodput gpus=1-8"},
             {"admin_comment", ""},
             {"current_working_directory", "/home/user"},
             {"nodes", "n[01-02]"},
             {"required_nodes", ""},
             {"tres_per_node", since(version, "23.11") ? "gres/gpu:a100:4" : "gres:gpu:a100:4"},
             {"submit_time", number_of(version, 1000, "23.11")},
             {"start_time", number_of(version, 2000, "23.11")},
             {"restart_cnt", 3},
             {"gres_detail", {"gpu:a100:4(IDX:0-3)", "gpu:a100:2(IDX:0,2)"}}};
    if (since(version, "23.11")) job["job_state"] = {"RUNNING"};
    Json& resources = job["job_resources"];
    if (since(version, "24.05"))
        resources = {{"nodes", {{"count", 2}, {"list", "n[01-02]"}}}};
    else
        resources = {{"nodes", "n[01-02]"}, {"allocated_hosts", 2}};
    for (const char* name : {"n01", "n02"}) {
        if (since(version, "24.05"))
            resources["nodes"]["allocation"].push_back({{"name", name}, {"cpus", {{"count", 1}}}});
        else if (since(version, "22.05"))
            resources["allocated_nodes"].push_back({{"nodename", name}});
        else
            resources["allocated_nodes"][std::to_string(name[2] - '1')] = {{"cpus", 1}};
    }
    return job;
}

Json waits(const std::string& version) {
    Json job = runs(version);
    job["job_id"] = 13;
    job["job_state"] = "PENDING";
    if (since(version, "23.11")) job["job_state"] = {"PENDING"};
    job["nodes"] = "";
    job["required_nodes"] = "n[01-02]";
    job["gres_detail"] = Json::array();
    job["job_resources"] = since(version, "23.02") ? Json() : Json::object();
    return job;
}

Json queue_of(const std::string& version) {
    return {{"meta", meta_of(version)}, {"jobs", {runs(version), waits(version)}}};
}

const std::string in_full = "12 RUNNING\n13 PENDING\n";

slurm::State read(const Json& queue, const Json& nodes, const std::string& states = in_full) {
    return slurm::read_state(queue.dump(), nodes.dump(), states, 5000);
}

std::string refusal_of(const Json& queue, const Json& nodes) {
    try {
        read(queue, nodes);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

bool names(const std::string& refusal, const std::string& what) {
    return refusal.find(what) != std::string::npos;
}

TEST_CASE("every version of Slurm gives the same nodes and jobs") {
    for (const std::string& version : versions) {
        CAPTURE(version);
        const slurm::State state = read(queue_of(version), nodes_of(version));
        REQUIRE(state.nodes.size() == 3);
        CHECK(state.nodes[0].name == "n01");
        CHECK(state.nodes[0].gpu_type == "a100");
        CHECK(state.nodes[0].gpus == 8);
        CHECK((!state.nodes[0].drained && state.nodes[0].answers));
        CHECK((state.nodes[1].drained && state.nodes[1].answers));
        CHECK((!state.nodes[2].drained && !state.nodes[2].answers));
        REQUIRE(state.jobs.size() == 2);
        const slurm::Job& job = state.jobs[0];
        CHECK(job.state == slurm::JobState::running);
        CHECK(job.holds.nodes == std::vector<std::string>{"n01", "n02"});
        CHECK(job.held_gpus == std::vector<int>{4, 2});
        CHECK(job.unclear == "");
        CHECK(job.gpu_type == "a100");
        CHECK(job.asks_per_node);
        CHECK(job.gres_word == (since(version, "23.11") ? "gres/" : "gres:"));
        CHECK(job.submitted_seconds == 1000);
        CHECK(job.started_seconds == 2000);
        CHECK(job.restarts == 3);
        CHECK(state.jobs[1].state == slurm::JobState::pending);
        CHECK(state.jobs[1].asks == slurm::Share{{"n01", "n02"}, 4});
    }
}

TEST_CASE("a waiting job is held if its priority is 0, in every form of the number") {
    for (const std::string& version : versions) {
        CAPTURE(version);
        Json queue = queue_of(version);
        queue["jobs"][1]["priority"] = number_of(version, 0, "23.02");
        CHECK(read(queue, nodes_of(version)).jobs[1].state == slurm::JobState::held);
    }
    Json queue = queue_of("24.05.4");
    queue["jobs"][1]["priority"] = {{"set", false}, {"infinite", true}, {"number", 0}};
    CHECK(read(queue, nodes_of("24.05.4")).jobs[1].state == slurm::JobState::pending);
}

TEST_CASE("a job on its way to another state is ending, whether the flags are in a list or not") {
    Json queue = queue_of("24.11.5");
    queue["jobs"][0]["job_state"] = {"RUNNING", "COMPLETING"};
    CHECK(read(queue, nodes_of("24.11.5"), "12 COMPLETING\n13 PENDING\n").jobs[0].state ==
          slurm::JobState::ending);
    for (const Json& state : {Json("COMPLETED"), Json({"FAILED", "LAUNCH_FAILED"}), Json({"SUSPENDED"})}) {
        queue["jobs"][0]["job_state"] = state;
        CHECK(read(queue, nodes_of("24.11.5")).jobs.size() == 1);
    }
}

TEST_CASE("lists of nodes that Slurm shortens are expanded") {
    const auto asks = [](const char* list) {
        Json queue = queue_of("24.05.4");
        queue["jobs"][1]["required_nodes"] = list;
        return read(queue, nodes_of("24.05.4")).jobs[1].asks.nodes;
    };
    using Names = std::vector<std::string>;
    CHECK(asks("a") == Names{"a"});
    CHECK(asks("b,a") == Names{"a", "b"});
    CHECK(asks("n[08-10,12]-ib,m") == Names{"m", "n08-ib", "n09-ib", "n10-ib", "n12-ib"});
    CHECK(asks("r[1-2]n[09-10]") == Names{"r1n09", "r1n10", "r2n09", "r2n10"});
    CHECK(asks("") == Names{});
    for (const char* list : {"n[", "n[1-", "n]1", "n[2-1]", "n[a-b]", "n[1-999999999]"}) {
        Json queue = queue_of("24.05.4");
        queue["jobs"][1]["required_nodes"] = list;
        const std::string refusal = refusal_of(queue, nodes_of("24.05.4"));
        CAPTURE(refusal);
        CHECK(names(refusal, "job 13: required_nodes is"));
    }
}

TEST_CASE("a field in an unknown form is refused with its name and the version") {
    const std::string form = R"({"nobody": ["knows"]})";
    for (const std::string& version : versions) {
        const Json job = runs(version), node = nodes_of(version)["nodes"][0];
        for (const auto& [name, ignored] : job.items()) {
            if (name == "job_resources") continue;
            Json queue = queue_of(version);
            queue["jobs"][0][name] = Json::parse(form);
            const std::string refusal = refusal_of(queue, nodes_of(version));
            CAPTURE(refusal);
            CHECK(names(refusal, "squeue of Slurm " + version));
            CHECK(names(refusal, name));
        }
        for (const auto& [name, ignored] : node.items()) {
            Json nodes = nodes_of(version);
            nodes["nodes"][0][name] = Json::parse(form);
            const std::string refusal = refusal_of(queue_of(version), nodes);
            CAPTURE(refusal);
            CHECK(names(refusal, "Slurm " + version));
            CHECK(names(refusal, name));
        }
        for (const char* name : {"name", "state", "gres"}) {
            Json nodes = nodes_of(version);
            nodes["nodes"][0].erase(name);
            CHECK(names(refusal_of(queue_of(version), nodes), std::string(name) + " is missing"));
        }
        for (const char* name : {"job_id", "job_state", "priority"}) {
            Json queue = queue_of(version);
            queue["jobs"][1].erase(name);
            CHECK(names(refusal_of(queue, nodes_of(version)), std::string(name) + " is missing"));
        }
        // Groups of nodes, as sinfo has printed them since 23.02.
        const Json groups{{"meta", meta_of(version)}, {"sinfo", Json::array()}};
        CHECK(names(refusal_of(queue_of(version), groups), "Slurm " + version + ": nodes is missing"));
        CHECK(names(refusal_of(groups, nodes_of(version)), "Slurm " + version + ": jobs is missing"));
    }
    Json nodes = nodes_of("25.05.3");
    for (const Json& state : {Json("SPLENDID"), Json({"DRAIN"}), Json::array(), Json(7)}) {
        nodes["nodes"][0]["state"] = state;
        CHECK(names(refusal_of(queue_of("25.05.3"), nodes), "Slurm 25.05.3, node n01: state"));
    }
    Json queue = queue_of("25.05.3");
    queue["jobs"][0]["job_state"] = "GLORIOUS";
    CHECK(names(refusal_of(queue, nodes_of("25.05.3")), "squeue of Slurm 25.05.3, job 12: job_state"));
}

TEST_CASE("it is known if Slurm does not say what a running job holds") {
    for (const std::string& version : versions) {
        CAPTURE(version);
        Json queue = queue_of(version);
        queue["jobs"][0]["gres_detail"] = Json::array();
        CHECK(read(queue, nodes_of(version)).jobs[0].unclear != "");
        queue["jobs"][0]["gres_detail"] = {"gpu:a100:4(IDX:0-3)"};
        CHECK(read(queue, nodes_of(version)).jobs[0].unclear != "");
        // The shortened list replaces resources that are left out.
        queue = queue_of(version);
        queue["jobs"][0]["job_resources"] = nullptr;
        CHECK(read(queue, nodes_of(version)).jobs[0].held_gpus == std::vector<int>{4, 2});
    }
}

TEST_CASE("a request with something in addition to GPUs cannot be changed") {
    Json queue = queue_of("24.05.4");
    queue["jobs"][1]["tres_per_node"] = "gres/gpu:2,gres/nvme:1";
    CHECK(!read(queue, nodes_of("24.05.4")).jobs[1].asks_per_node);
    queue["jobs"][1]["tres_per_node"] = "gres/gpu=2";
    CHECK(read(queue, nodes_of("24.05.4")).jobs[1].asks == slurm::Share{{"n01", "n02"}, 2});
}

}  // namespace slurm_versions
