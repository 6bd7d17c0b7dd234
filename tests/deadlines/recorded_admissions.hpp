#ifndef GOODPUT_TESTS_DEADLINES_RECORDED_ADMISSIONS_HPP
#define GOODPUT_TESTS_DEADLINES_RECORDED_ADMISSIONS_HPP

// States in which ElasticFlow's simulator decided whom to admit, recorded job by job.

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/deadlines.hpp"

namespace support {

/// Where states were recorded.
struct AdmissionTrace {
    std::string name{}, gpu_type{};
    int gpus_per_node = 1;
    double slot_seconds = 0;
};

inline const AdmissionTrace evp{"evp", "T4", 4, 60}, t195{"t195", "A100", 8, 240};

/// A recorded state: running jobs first, then the newcomers, both as they are listed.
struct AdmissionState {
    goodput::ClusterOverTime cluster{};
    std::vector<goodput::DeadlineJob> jobs{};
    std::size_t running = 0;
    bool greedy_admits_all = false;
    std::size_t exact_admits = 0;  ///< newcomers whom a published exact program admits
};

/// States of a kind, "admissions" or "refusals", from the folder of the recorded data.
inline std::vector<AdmissionState> read_admission_states(const std::string& folder,
                                                         const AdmissionTrace& trace,
                                                         const std::string& kind) {
    const auto read = [&](const std::string& file) {
        return nlohmann::json::parse(std::ifstream(folder + "/" + file));
    };
    const nlohmann::json speeds = read("throughputs.json").at(trace.gpu_type);
    std::vector<AdmissionState> states;
    for (const auto& row : read(trace.name + "_" + kind + ".json")) {
        AdmissionState& state = states.emplace_back();
        state.cluster = {{trace.gpu_type},
                         {{0, row.at("gpus").get<int>() / trace.gpus_per_node, trace.gpus_per_node}}};
        state.greedy_admits_all = row.value("greedy_admits_all", false);
        if (row.contains("exact_admits") && !row.at("exact_admits").is_null())
            state.exact_admits = row.at("exact_admits").size();
        for (const int is_new : {0, 1})
            for (const auto& its : row.at("jobs")) {
                if (its.at(6) != is_new) continue;
                goodput::DeadlineJob job{
                    .name = its.at(0).dump(),
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

}  // namespace support

#endif
