#include "worlds/elasticflow_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "json/json_fields.hpp"
#include "json/json_files.hpp"

namespace cli {

namespace {

using goodput::peers::ElasticflowJob;
using goodput::peers::ElasticflowSpeeds;

constexpr int most_gpus = 1 << 20;

/// Returns the column of each name.
std::map<std::string, std::size_t> columns_of(const Field& names) {
    std::map<std::string, std::size_t> columns;
    names.for_each([&](const Field& name) { columns.emplace(name.text(), columns.size()); });
    for (const char* needed : {"i", "submit", "iterations", "model", "batch", "deadline"})
        if (!columns.contains(needed)) names.refuse("a list with '" + std::string(needed) + "'");
    return columns;
}

ElasticflowJob job_of(const Field& row, const std::map<std::string, std::size_t>& columns) {
    const auto at = [&](const char* name) { return row[columns.at(name)]; };
    ElasticflowJob job;
    job.name = goodput::text_of(at("i").count());
    job.model = at("model").text();
    job.batch = at("batch").count(1, 1 << 24);
    job.submitted_seconds = at("submit").number_at_least(0);
    job.iterations = static_cast<double>(at("iterations").integer(1, 1LL << 53));
    const bool best_effort = columns.contains("best_effort") && at("best_effort").count(0, 1) == 1;
    if (!best_effort) job.deadline_seconds = at("deadline").number();
    return job;
}

ElasticflowSpeeds speeds_of(const Field& table) {
    ElasticflowSpeeds speeds;
    const Field gpus = table["gpus"], rates = table["iterations_per_s"];
    rates.require_size(gpus.size(), "a rate for each of gpus");
    int last = 0;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const int size = gpus[i].count(last + 1, most_gpus);
        last = size;
        if (!rates[i].given()) continue;
        const double rate = rates[i].number_at_least(0);
        if (rate == 0) continue;
        speeds.sizes.push_back(size);
        speeds.rates.push_back(rate);
    }
    if (speeds.sizes.empty()) rates.refuse("a rate for at least one size");
    speeds.most_gpus_elastic = table["max_gpu_ef"].count(speeds.sizes.front(), most_gpus);
    speeds.most_gpus_other = table["max_gpu_other"].count(speeds.sizes.front(), most_gpus);
    return speeds;
}

}  // namespace

ElasticflowTrace read_elasticflow_trace(const std::string& path) {
    const Json document = read_json_file(path);
    const Field root(document, path);
    ElasticflowTrace trace;
    read_checked([&] {
        const auto columns = columns_of(root["job_columns"]);
        root["jobs"].for_each([&](const Field& row) {
            row.require_size(columns.size(), "as many values as job_columns");
            trace.jobs.push_back(job_of(row, columns));
        });
        trace.gpu_type = root["gpu_type"].text();
        trace.nodes = root["cluster"]["nodes"].count(1, most_gpus);
        trace.gpus_per_node = root["cluster"]["gpus_per_node"].count(1, most_gpus);
        trace.slot_seconds = root["slot_s"].number_at_least(1);
    });
    std::ranges::stable_sort(trace.jobs, {}, &ElasticflowJob::submitted_seconds);
    return trace;
}

void read_elasticflow_speeds(const std::string& path, const std::string& gpu_type,
                             std::vector<ElasticflowJob>& jobs) {
    const Json document = read_json_file(path);
    const Field root(document, path);
    read_checked([&] {
        std::map<std::pair<std::string, int>, ElasticflowSpeeds> known;
        for (ElasticflowJob& job : jobs) {
            const auto [at, is_new] = known.try_emplace({job.model, job.batch});
            const std::string batch = goodput::text_of(job.batch);
            if (is_new) at->second = speeds_of(root[gpu_type][job.model][batch]);
            job.speeds = at->second;
        }
    });
}

}  // namespace cli
