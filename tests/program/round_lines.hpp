#ifndef GOODPUT_TESTS_PROGRAM_ROUND_LINES_HPP
#define GOODPUT_TESTS_PROGRAM_ROUND_LINES_HPP

// Lines for `goodput plan`, and checks that every answer must pass. For tests: includes doctest.

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/core/configuration.hpp"
#include "goodput/model/throughput.hpp"
#include "support/program.hpp"

#include <doctest/doctest.h>

namespace support::rounds {

using goodput::PolluxThroughput;
using goodput::Shape;
using Json = nlohmann::ordered_json;

/// Starts `goodput plan` with these options.
inline Program plan(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {GOODPUT_PROGRAM, "plan"});
    return Program(std::move(options));
}

/// Returns the answer to a line, which must not be an error.
inline Json ask(Program& program, const Json& line) {
    const Json answer = Json::parse(program.ask(line.dump()));
    REQUIRE_MESSAGE(!answer.contains("error"), answer.dump());
    return answer;
}

inline Json node(const std::string& type, int index, int gpus) {
    return {{"name", type + "-" + std::to_string(index)}, {"gpu_type", type}, {"gpus", gpus}};
}

/// 6 nodes of 4 aws, 2 of 8 dgx, 3 of 8 rtx: 64 GPUs.
inline Json sixty_four_gpus() {
    Json nodes = Json::array();
    for (int i = 0; i < 6; ++i) nodes.push_back(node("aws", i, 4));
    for (int i = 0; i < 2; ++i) nodes.push_back(node("dgx", i, 8));
    for (int i = 0; i < 3; ++i) nodes.push_back(node("rtx", i, 8));
    return nodes;
}

inline Json job(const std::string& name, double submitted = 0) {
    return {{"name", name},
            {"submitted_s", submitted},
            {"restarts", 0},
            {"restart_cost_s", 30},
            {"attained_gpu_s", 0},
            {"gpus", {1, 64}},
            {"adapt", "batch"},
            {"batch",
             {{"initial", 128},
              {"max", 4096},
              {"local", {{"aws", {32, 1024}}, {"dgx", {32, 4096}}, {"rtx", {32, 1024}}}}}},
            {"gradient", {{"sqr", 1.2}, {"var", 3.4}}},
            {"samples", Json::array()},
            {"preemptible", true},
            {"placement", nullptr}};
}

inline Json round_of(double time, const Json& nodes, const Json& jobs) {
    return {{"time_s", time}, {"nodes", nodes}, {"jobs", jobs}};
}

inline Json placement(std::initializer_list<std::pair<const char*, int>> shares) {
    Json nodes = Json::array();
    for (const auto& [node, gpus] : shares) nodes.push_back(Json::array({node, gpus}));
    return {{"nodes", nodes}};
}

inline Json sample(const std::string& type, Shape shape, int batch, double speed = 1) {
    const PolluxThroughput truth{0.01, 5e-4, 0.03, 0.002, 0.01, 0.001, 1.4};
    static const std::map<std::string, double> seconds{{"aws", 1}, {"dgx", 0.2}, {"rtx", 0.6}};
    const auto known = seconds.find(type);
    const double factor = (known == seconds.end() ? 0.5 : known->second) / speed,
                 compute = truth.compute_seconds(batch);
    const double step = truth.step_seconds(compute, truth.sync_seconds(shape));
    return {{"gpu_type", type},
            {"nodes", shape.nodes},
            {"gpus", shape.gpus},
            {"local_batch", batch},
            {"accumulation", 0},
            {"step_s", step * factor},
            {"sync_s", (step - compute) * factor}};
}

/// Returns the answer without what differs from run to run.
inline Json untimed(Json answer) {
    answer.erase("milliseconds");
    return answer;
}

inline const Json& entry(const Json& answer, const std::string& name) {
    for (const Json& of_job : answer["plan"])
        if (of_job["name"] == name) return of_job;
    throw std::runtime_error("no job " + name);
}

inline Shape shape_of(const Json& entry) {
    Shape shape;
    for (const Json& share : entry["nodes"]) {
        ++shape.nodes;
        shape.gpus += share[1].get<int>();
    }
    return shape;
}

/// Returns what a job holds, sorted.
inline std::set<std::pair<std::string, int>> shares_of(const Json& nodes) {
    std::set<std::pair<std::string, int>> shares;
    for (const Json& share : nodes) shares.emplace(share[0].get<std::string>(), share[1].get<int>());
    return shares;
}

/// No job gets more than exists, or anything new on drained nodes, and every job gets what it may hold.
inline void check_plan(const Json& round, const Json& answer) {
    std::map<std::string, int> left, size;
    std::map<std::string, std::string> type_of;
    std::set<std::string> types, drained;
    for (const Json& node : round["nodes"]) {
        left[node["name"]] = size[node["name"]] = node["gpus"];
        type_of[node["name"]] = node["gpu_type"];
        types.insert(node["gpu_type"].get<std::string>());
        if (node.value("drained", false)) drained.insert(node["name"].get<std::string>());
    }
    REQUIRE(answer["plan"].size() == round["jobs"].size());
    for (std::size_t j = 0; j < round["jobs"].size(); ++j) {
        const Json &wish = round["jobs"][j], &got = answer["plan"][j];
        CAPTURE(wish.dump());
        CAPTURE(got.dump());
        const Json held =
            wish.value("placement", Json()).is_null() ? Json::array() : wish["placement"]["nodes"];
        CHECK(got["name"] == wish["name"]);
        if (got["nodes"].empty()) {
            CHECK((got["outcome"] == "waits" || got["outcome"] == "impossible"));
            CHECK(got["why"] != "");
            CHECK((wish["preemptible"] == true || held.empty()));
            continue;
        }
        const bool stays = shares_of(got["nodes"]) == shares_of(held);
        const bool keeps = !held.empty() && (wish["preemptible"] == false || wish.value("restarting", false));
        std::set<std::string> distinct, sizes, of_types;
        for (const Json& share : got["nodes"]) {
            REQUIRE(left.contains(share[0]));
            // A job that stays may have nodes of several types and sizes if another system placed it.
            if (!keeps && !stays) CHECK(type_of[share[0]] == got["gpu_type"]);
            of_types.insert(type_of[share[0]]);
            CHECK(share[1].get<int>() >= 1);
            CHECK((left[share[0]] -= share[1].get<int>()) >= 0);
            if (drained.contains(share[0])) CHECK(stays);
            distinct.insert(share[0].get<std::string>());
            sizes.insert(std::to_string(size[share[0]]));
        }
        CHECK(distinct.size() == got["nodes"].size());
        if (!keeps && !stays) CHECK(sizes.size() == 1);
        if (keeps && (stays || wish["preemptible"] == false)) {
            CHECK(stays);
            continue;
        }
        const int gpus = shape_of(got).gpus;
        CHECK(gpus >= wish["gpus"][0].get<int>());
        CHECK(gpus <= wish["gpus"][1].get<int>());
        if (wish.contains("gpus_per_replica"))
            CHECK(gpus % wish["gpus_per_replica"].value(got["gpu_type"].get<std::string>(), 1) == 0);
        if (of_types.size() == 1) {
            const Json& local = wish["batch"]["local"][got["gpu_type"].get<std::string>()];
            CHECK(got["local_batch"] >= local[0]);
            CHECK(got["local_batch"] <= local[1]);
        }
        CHECK(got["goodput"].get<double>() > 0);
    }
    CHECK(answer["objective"].get<double>() <= answer["bound"].get<double>() + 1e-9);
    CHECK(answer["prices"].size() == types.size());
    for (const auto& [type, price] : answer["prices"].items()) {
        CHECK(types.contains(type));
        CHECK(price.get<double>() >= 0);
    }
    for (const char* step : {"fit", "value", "allot", "place"})
        CHECK(answer["milliseconds"][step].get<double>() >= 0);
}

}  // namespace support::rounds

#endif
