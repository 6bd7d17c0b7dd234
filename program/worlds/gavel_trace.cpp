#include "worlds/gavel_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "json/csv.hpp"
#include "json/json_fields.hpp"
#include "json/json_files.hpp"

namespace cli {

namespace {

/// Returns a program with its number of GPUs, in the form of the speeds.
std::string name_of(const std::string& program, int gpus) {
    return "('" + program + "', " + goodput::text_of(gpus) + ")";
}

}  // namespace

std::vector<goodput::GavelJob> read_gavel_jobs(const std::string& trace, const std::string& profiles,
                                               const goodput::Cluster& cluster) {
    enum Column : std::size_t { program, steps = 5, gpus, weight, submitted = 9 };
    const CsvTable table(trace,
                         {"program", "command", "folder", "argument", "data flag", "number of steps",
                          "number of GPUs", "weight", "deadline", "time of submission"},
                         '\t');
    std::string known;
    const Json document = read_json_file(profiles, false, [&](int depth, std::string_view name) {
        if (depth == 1) known.append(known.empty() ? "" : ", ").append(name);
        if (depth == 1)
            return std::find(cluster.gpu_types.begin(), cluster.gpu_types.end(), name) !=
                   cluster.gpu_types.end();
        return depth != 3 || name == "null";
    });
    for (const std::string& type : cluster.gpu_types)
        if (!Field(document, profiles)[type].given())
            goodput::bad_input("--cluster", "GPU type", "'" + type + "'",
                               "one of " + profiles + ": " + known);
    std::vector<goodput::GavelJob> jobs;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        goodput::GavelJob& job = jobs.emplace_back();
        job.name = goodput::text_of(row);
        job.program = table.text(row, program);
        job.steps = static_cast<double>(table.integer(row, steps, 1, 1LL << 53));
        job.gpus = static_cast<int>(table.integer(row, gpus, 1, 1 << 20));
        job.weight = table.number(row, weight);
        if (!(job.weight >= 1e-9 && job.weight <= 1e9)) table.refuse(row, weight, "from 1e-9 to 1e9");
        job.submitted_seconds = table.time(row, submitted);
        const std::string name = name_of(job.program, job.gpus);
        read_checked([&] {
            for (const std::string& type : cluster.gpu_types) {
                const Field speed = Field(document, profiles)[type][name];
                if (!speed.given()) table.refuse(row, program, "a program of " + profiles + ", on " + type);
                job.rates.push_back(speed["null"].number_at_least(0));
            }
        });
    }
    std::ranges::stable_sort(jobs, {}, &goodput::GavelJob::submitted_seconds);
    return jobs;
}

std::vector<goodput::GavelPair> read_gavel_pairs(const std::string& profiles, const goodput::Cluster& cluster,
                                                 std::span<const goodput::GavelJob> jobs) {
    std::set<std::pair<int, std::string>> kinds;
    std::set<std::string, std::less<>> names;
    for (const goodput::GavelJob& job : jobs)
        if (kinds.emplace(job.gpus, job.program).second) names.insert(name_of(job.program, job.gpus));
    const Json document = read_json_file(profiles, false, [&](int depth, std::string_view name) {
        if (depth == 1)
            return std::find(cluster.gpu_types.begin(), cluster.gpu_types.end(), name) !=
                   cluster.gpu_types.end();
        return names.find(name) != names.end();
    });
    std::vector<goodput::GavelPair> pairs;
    for (auto first = kinds.begin(); first != kinds.end(); ++first)
        for (auto second = first; second != kinds.end() && second->first == first->first; ++second) {
            goodput::GavelPair pair{.programs = {first->second, second->second}, .gpus = first->first};
            const std::string name = name_of(first->second, first->first);
            const std::string other = name_of(second->second, second->first);
            bool together = false;
            read_checked([&] {
                for (const std::string& type : cluster.gpu_types) {
                    std::array<double, 2>& rates = pair.rates.emplace_back();
                    const Field speeds = Field(document, profiles)[type][name][other];
                    if (!speeds.given()) continue;
                    speeds.require_size(2, "two numbers");
                    rates = {speeds[0].number_at_least(0), speeds[1].number_at_least(0)};
                    together = together || (rates[0] > 0 && rates[1] > 0);
                }
            });
            if (together) pairs.push_back(std::move(pair));
        }
    return pairs;
}

}  // namespace cli
