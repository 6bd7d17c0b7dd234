#ifndef GOODPUT_TESTS_PARALLEL_SAILOR_DATA_HPP
#define GOODPUT_TESTS_PARALLEL_SAILOR_DATA_HPP

// Reads the data that Sailor's authors published: profiles by layer, sizes, bandwidths and measured runs.
// Throws an exception if anything is missing or unreadable.

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/parallel_fit.hpp"

namespace support {

inline nlohmann::json read_json(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    return nlohmann::json::parse(file);
}

/// GPU types in the order of LayeredModel::times and ParallelCluster::types.
inline const std::vector<std::string>& sailor_types() {
    static const std::vector<std::string> types{"A100-40",  "A100-80",  "V100-16",  "GH-96",
                                                "RTX-2080", "RTX-3090", "Titan-RTX"};
    return types;
}

/// Returns all models with their profiles, by name. `folder` is the one that holds profiles/.
inline std::map<std::string, goodput::LayeredModel> read_sailor_models(const std::string& folder) {
    const nlohmann::json sizes = read_json(folder + "/profiles/llm_info.json"),
                         profiles = read_json(folder + "/profiles/profiles_tmp.json");
    std::map<std::string, goodput::LayeredModel> models;
    for (const auto& [name, by_degree] : sizes.items()) {
        goodput::LayeredModel model;
        model.name = name;
        for (const auto& [degree, by_layer] : by_degree.items()) {
            auto& list = model.sizes[std::stoi(degree)];
            list.resize(by_layer.size());
            for (const auto& [layer, size] : by_layer.items())
                list.at(std::stoul(layer)) = {size.at("params_floats"), size.at("act_output_floats"),
                                              size.at("act_mem_floats")};
        }
        if (model.sizes.empty() || model.sizes.begin()->first != 1 || !profiles.contains(name)) continue;
        model.layers = model.sizes.at(1).size();
        model.times.resize(sailor_types().size());
        for (std::size_t t = 0; t < sailor_types().size(); ++t) {
            if (!profiles.at(name).contains(sailor_types()[t])) continue;
            for (const auto& [batch, by_tensor] : profiles.at(name).at(sailor_types()[t]).items())
                for (const auto& [degree, by_layer] : by_tensor.items()) {
                    if (by_layer.size() != model.layers) continue;
                    auto& list = model.times[t][{std::stoi(batch), std::stoi(degree)}];
                    list.resize(model.layers);
                    for (const auto& [layer, time] : by_layer.items())
                        list.at(std::stoul(layer)) = {time.at(0), time.at(1), time.at(2)};
                }
        }
        models[name] = std::move(model);
    }
    return models;
}

/// Returns the zone of the measured runs, with as many GPUs as the largest run takes.
inline goodput::ParallelCluster read_sailor_cluster(const std::string& folder) {
    const std::string zone = "us-central1-a";
    const std::map<std::string, std::pair<int, double>> nodes{
        {"A100-40", {4, 40}},  {"A100-80", {4, 80}},  {"V100-16", {4, 16}},  {"GH-96", {4, 96}},
        {"RTX-2080", {8, 11}}, {"RTX-3090", {8, 24}}, {"Titan-RTX", {8, 24}}};
    goodput::ParallelCluster cluster;
    cluster.zones = {zone};
    cluster.usd_per_gigabyte = {{0}};
    cluster.gpus = {{}};
    for (const std::string& name : sailor_types()) {
        cluster.types.push_back({name, nodes.at(name).first, nodes.at(name).second, 0});
        cluster.gpus[0].push_back(1 << 12);
    }
    const auto index_of = [](const std::string& name) {
        std::size_t t = 0;
        while (t < sailor_types().size() && sailor_types()[t] != name) ++t;
        return t;
    };
    const nlohmann::json links = read_json(folder + "/profiles/multizone_bandwidths_het.json");
    for (const auto& [from, from_counts] : links.at(zone).items())
        for (const auto& [from_count, to_zones] : from_counts.items()) {
            if (!to_zones.contains(zone)) continue;
            for (const auto& [to, to_counts] : to_zones.at(zone).items())
                for (const auto& [to_count, curve] : to_counts.items()) {
                    const std::size_t a = index_of(from), b = index_of(to);
                    if (a == sailor_types().size() || b == sailor_types().size()) continue;
                    cluster.links[{{0, a, std::stoi(from_count)}, {0, b, std::stoi(to_count)}}] = {
                        curve.at(0).at(0), curve.at(0).at(1), curve.at(0).at(2)};
                }
        }
    return cluster;
}

/// Measured runs and what they refer to. Platform 0 is the nodes with GH200, platform 1 those with consumer
/// GPUs.
struct SailorRuns {
    std::map<std::string, goodput::LayeredModel> models{};
    std::unique_ptr<goodput::ParallelCluster> cluster{};
    std::vector<goodput::ParallelRun> runs{};
    std::vector<double> published_seconds{}, published_bytes{};  ///< estimates of the authors' simulator
};

inline SailorRuns read_sailor_runs(const std::string& folder) {
    SailorRuns all;
    all.models = read_sailor_models(folder);
    all.cluster = std::make_unique<goodput::ParallelCluster>(read_sailor_cluster(folder));
    std::ifstream file(folder + "/measured/plans.jsonl");
    if (!file) throw std::runtime_error(folder + "/measured/plans.jsonl: cannot be read");
    for (std::string line; std::getline(file, line);) {
        const nlohmann::json entry = nlohmann::json::parse(line), &plan = entry.at("plan");
        goodput::ParallelRun run;
        run.name = entry.at("name");
        run.model = &all.models.at(plan.at("model"));
        run.cluster = all.cluster.get();
        run.platform = run.name.rfind("clariden", 0) == 0 ? 0 : 1;
        run.plan.microbatch = plan.at("microbatch");
        run.plan.global_batch = plan.at("global_batch");
        for (const auto& stage : plan.at("stages")) {
            goodput::PlanStage made{stage.at("layers").at(0), stage.at("layers").at(1), {}};
            for (const auto& replica : stage.at("replicas")) {
                std::size_t type = 0;
                while (sailor_types().at(type) != replica.at("gpu_type")) ++type;
                made.replicas.push_back({type, replica.at("tensor_parallel"), 0, replica.at("count")});
            }
            run.plan.stages.push_back(made);
        }
        run.iteration_seconds = entry.at("measured").at("iteration_s");
        run.most_bytes = entry.at("measured").at("worst_gpu_bytes");
        all.published_seconds.push_back(entry.at("published_estimate").at("iteration_s"));
        all.published_bytes.push_back(entry.at("published_estimate").at("worst_gpu_bytes"));
        all.runs.push_back(run);
    }
    return all;
}

/// What looks wrong about a measured run, judged without any model of ours.
struct SailorDoubt {
    bool seconds = false, bytes = false;
    std::string why{};
};

inline SailorDoubt sailor_doubt(const std::string& name) {
    if (name.find("GPT-NEO/N4/") != std::string::npos)
        return {true, true, "one number for iteration and reduction; the memory that OPT-350 would take"};
    if (name.find("GPT-NEO/N8/") != std::string::npos)
        return {false, true, "the stages of GPT-NEO/N32, which took 9 GB more"};
    if (name.find("mit/N2/") != std::string::npos)
        return {false, true, "less than parameters and activations at the degree that it states"};
    return {};
}

/// Errors of runs left out of the fit, as predicted / measured - 1.
struct LeftOut {
    std::vector<double> time_errors{}, bytes_errors{};
};

/// Leaves each run out of the fit in turn, together with all runs that are `alike`.
template <class Alike>
LeftOut leave_out(const std::vector<goodput::ParallelRun>& runs, Alike alike,
                  const goodput::ParallelFitOptions& options = {}) {
    LeftOut errors;
    for (const goodput::ParallelRun& run : runs) {
        std::vector<goodput::ParallelRun> others;
        for (const goodput::ParallelRun& other : runs)
            if (&other != &run && !alike(run, other)) others.push_back(other);
        const goodput::ParallelFit fit = goodput::fit_parallel_constants(others, options);
        // A platform without other runs gets the software constants of the prior.
        const std::size_t platform = std::min(run.platform, fit.constants.size() - 1);
        const bool known = std::any_of(others.begin(), others.end(), [&](const goodput::ParallelRun& other) {
            return other.platform == run.platform;
        });
        const auto [seconds, bytes] = goodput::predict_run(
            run, known ? fit.on(platform)
                       : goodput::detail::with_fixed_bytes(fit.on(0), options.start.fixed_bytes_parallel));
        errors.time_errors.push_back(seconds / *run.iteration_seconds - 1);
        errors.bytes_errors.push_back(bytes / *run.most_bytes - 1);
    }
    return errors;
}

inline LeftOut leave_one_out(const std::vector<goodput::ParallelRun>& runs,
                             const goodput::ParallelFitOptions& options = {}) {
    return leave_out(
        runs, [](const goodput::ParallelRun&, const goodput::ParallelRun&) { return false; }, options);
}
/// Leaves out all runs of one model at a time.
inline LeftOut leave_one_model_out(const std::vector<goodput::ParallelRun>& runs,
                                   const goodput::ParallelFitOptions& options = {}) {
    return leave_out(
        runs, [](const goodput::ParallelRun& a, const goodput::ParallelRun& b) { return a.model == b.model; },
        options);
}

}  // namespace support

#endif
