#include "gavel_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "csv.hpp"
#include "goodput/core/error.hpp"
#include "json_fields.hpp"
#include "json_files.hpp"

namespace cli {

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
        const std::string name = "('" + job.program + "', " + goodput::text_of(job.gpus) + ")";
        read_checked([&] {
            for (const std::string& type : cluster.gpu_types) {
                const Field speed = Field(document, profiles)[type][name];
                if (!speed.given()) table.refuse(row, program, "a program of " + profiles + ", on " + type);
                job.rates.push_back(speed["null"].number_at_least(0));
            }
        });
    }
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const auto& a, const auto& b) { return a.submitted_seconds < b.submitted_seconds; });
    return jobs;
}

}  // namespace cli
