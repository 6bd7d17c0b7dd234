// States in which ElasticFlow's simulator decided, recorded job by job.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "goodput/deadlines.hpp"
#include "support/deadline_oracle.hpp"

using namespace goodput;
using support::wrong_with;

namespace {

const std::string folder = std::string(GOODPUT_DATA_DIR) + "/elasticflow/";

struct Trace {
    std::string name, gpu_type;
    int gpus_per_node;
    double slot_seconds;
};
const Trace evp{"evp", "T4", 4, 60}, t195{"t195", "A100", 8, 240};

/// A recorded state: running jobs first, then the newcomers, both as they are listed.
struct State {
    ClusterOverTime cluster{};
    std::vector<DeadlineJob> jobs{};
    std::size_t running = 0;
    bool greedy_admits_all = false;
    std::size_t exact_admits = 0;
};

nlohmann::json read(const std::string& file) { return nlohmann::json::parse(std::ifstream(folder + file)); }

std::vector<State> read_states(const Trace& trace, const std::string& kind) {
    const nlohmann::json speeds = read("throughputs.json").at(trace.gpu_type);
    std::vector<State> states;
    for (const auto& row : read(trace.name + "_" + kind + ".json")) {
        State& state = states.emplace_back();
        state.cluster = {{trace.gpu_type},
                         {{0, row.at("gpus").get<int>() / trace.gpus_per_node, trace.gpus_per_node}}};
        state.greedy_admits_all = row.value("greedy_admits_all", false);
        if (row.contains("exact_admits") && !row.at("exact_admits").is_null())
            state.exact_admits = row.at("exact_admits").size();
        for (const int is_new : {0, 1})
            for (const auto& its : row.at("jobs")) {
                if (its.at(6) != is_new) continue;
                DeadlineJob job{.name = its.at(0).dump(),
                                .work_left = its.at(3),
                                .deadline_seconds = its.at(4).get<double>() - row.at("time").get<double>()};
                const auto& table = speeds.at(its.at(1).get<std::string>()).at(its.at(2).dump());
                job.speed.emplace_back();
                for (std::size_t k = 0; k < table.at("gpus").size(); ++k)
                    if (table.at("gpus").at(k) <= its.at(5)) {
                        const auto& speed = table.at("iterations_per_s").at(k);
                        job.speed[0].push_back(speed.is_null() ? 0.0 : speed.get<double>());
                    }
                state.jobs.push_back(std::move(job));
                if (is_new == 0) ++state.running;
            }
    }
    return states;
}

/// Newcomers whom the program admits one after the other, none of the running jobs being dropped that can be
/// kept.
std::size_t newcomers_admitted(const State& state, const Trace& trace, double slot_seconds) {
    const OrderedAdmission answer = admit_in_order(state.cluster, state.jobs, {.slot_seconds = slot_seconds});
    std::vector<DeadlineJob> kept;
    std::size_t newcomers = 0;
    for (const std::size_t j : answer.admitted) {
        kept.push_back(state.jobs[j]);
        if (j >= state.running) ++newcomers;
    }
    CAPTURE(trace.name);
    CHECK(wrong_with(state.cluster, kept, answer.admission.plan, slot_seconds) == "");
    // Nobody who runs is refused but for who is late already, alone as well.
    for (const std::size_t j : answer.refused)
        if (j < state.running)
            CHECK(admit(state.cluster, std::vector{state.jobs[j]}).status == AdmissionStatus::impossible);
    return newcomers;
}

}  // namespace

TEST_SUITE("data") {
    TEST_CASE("Whatever the greedy admits is admitted, in whole slots too, within 5 ms in the median") {
        for (const Trace& trace : {evp, t195}) {
            std::size_t greedy = 0;
            for (const double slot : {0.0, trace.slot_seconds}) {
                std::vector<double> milliseconds;
                for (const State& state : read_states(trace, "admissions")) {
                    const auto start = std::chrono::steady_clock::now();
                    const Admission answer = admit(state.cluster, state.jobs, {.slot_seconds = slot});
                    milliseconds.push_back(
                        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                            .count());
                    if (!state.greedy_admits_all) continue;
                    ++greedy;
                    REQUIRE(answer.status == AdmissionStatus::possible);
                    CHECK(wrong_with(state.cluster, state.jobs, answer.plan, slot) == "");
                }
                std::sort(milliseconds.begin(), milliseconds.end());
                MESSAGE(trace.name << ", slots of " << slot << " s: median "
                                   << milliseconds[milliseconds.size() / 2] << " ms, longest "
                                   << milliseconds.back() << " ms");
                CHECK(milliseconds[milliseconds.size() / 2] < 5);
            }
            CHECK(greedy == 2u * (trace.name == "evp" ? 57 : 47));
        }
    }

    TEST_CASE("Of the newcomers that were refused all are admitted that the published exact program admits") {
        for (const Trace& trace : {evp, t195})
            for (const double slot : {0.0, trace.slot_seconds}) {
                std::size_t ours = 0;
                for (const State& state : read_states(trace, "admissions")) {
                    if (state.greedy_admits_all) continue;
                    const std::size_t newcomers = newcomers_admitted(state, trace, slot);
                    CHECK(newcomers >= state.exact_admits);
                    ours += newcomers;
                }
                CHECK(ours >= (trace.name == "evp" ? 25 : 36));
            }
    }

    TEST_CASE("Refusals of the corrected greedy: a plan in whole slots, or a job that is impossible alone") {
        for (const Trace& trace : {evp, t195}) {
            std::size_t possible = 0;
            for (const State& state : read_states(trace, "refusals")) {
                const Admission answer =
                    admit(state.cluster, state.jobs, {.slot_seconds = trace.slot_seconds});
                if (answer.status == AdmissionStatus::possible) {
                    ++possible;
                    CHECK(wrong_with(state.cluster, state.jobs, answer.plan, trace.slot_seconds) == "");
                } else {
                    CHECK(answer.status == AdmissionStatus::impossible);
                    CHECK(answer.impossible_alone == state.running);
                }
            }
            CHECK(possible == (trace.name == "evp" ? 2 : 6));
        }
    }
}
