#include "worlds/synergy_trace.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "goodput/core/host.hpp"
#include "json/csv.hpp"
#include "json/json_fields.hpp"
#include "json/json_files.hpp"

namespace cli {

namespace {

/// A profiled model, relative to the share of cores and memory that matches its GPUs.
goodput::SynergyJob read_profile(const Field& document, const std::string& model,
                                 const goodput::HostShare& share) {
    const std::string name = model + "_1";
    const Field profile = document["profiles"]["models"][name];
    const Field cores = document["cpu_values"], memory = document["mem_values_gb"], rows = profile["tput"];
    const auto positive = [](const Field& field) {
        const double number = field.number();
        if (!(number > 0)) field.refuse("above 0");
        return number;
    };
    goodput::SynergyJob job{.model = model};
    job.ideal = {positive(profile["cpu_per_gpu_ideal"]), positive(profile["mem_gb_per_gpu_ideal"])};
    job.ideal_factor = positive(profile["speedup_ideal_over_fair"]);
    job.iteration_seconds = positive(profile["iter_time_s_at_fair_share"]);
    rows.require_size(cores.size(), "a row for each of cpu_values");
    for (std::size_t c = 0; c < cores.size(); ++c) {
        rows[c].require_size(memory.size(), "a number for each of mem_values_gb");
        for (std::size_t m = 0; m < memory.size(); ++m)
            job.speed.push_back({positive(cores[c]), positive(memory[m]), rows[c][m].number_at_least(0)});
    }
    const double reference = goodput::HostNeeds{.speed = job.speed}.factor(share);
    if (!(reference > 0)) rows.refuse("above 0 with a GPU's part of a node");
    for (goodput::HostSpeed& point : job.speed) point.factor /= reference;
    job.ideal_factor /= reference;
    job.iteration_seconds /= reference;
    return job;
}

}  // namespace

std::vector<goodput::SynergyJob> read_synergy_jobs(const std::string& trace, const std::string& profiles,
                                                   const goodput::HostShare& share) {
    const CsvTable table(trace, {"name", "model", "arrival_s", "iterations", "gpus"});
    const Json document = read_json_file(profiles);
    std::map<std::string, goodput::SynergyJob> models;
    std::set<std::string> names;
    std::vector<goodput::SynergyJob> jobs;
    const bool has_header = table.rows() > 0 && table.text(0, 2) == "arrival_s";
    for (std::size_t row = has_header ? 1 : 0; row < table.rows(); ++row) {
        const std::string& model = table.text(row, 1);
        if (!models.contains(model)) {
            try {
                const Field known = Field(document, profiles)["profiles"]["models"];
                const std::string name = model + "_1";
                if (!known[name].given()) table.refuse(row, 1, "a model of " + profiles);
                models.emplace(model, read_profile(Field(document, profiles), model, share));
            } catch (const std::invalid_argument& error) {  // an error in a file, not in an option
                throw std::runtime_error(error.what());
            }
        }
        goodput::SynergyJob& job = jobs.emplace_back(models.at(model));
        job.name = table.text(row, 0);
        if (job.name.empty() || !names.insert(job.name).second) table.refuse(row, 0, "a name of its own");
        job.submitted_seconds = table.time(row, 2);
        job.iterations = static_cast<double>(table.integer(row, 3, 1, 1LL << 53));
        job.gpus = static_cast<int>(table.integer(row, 4, 1, 1 << 20));
    }
    std::ranges::stable_sort(jobs, {}, &goodput::SynergyJob::submitted_seconds);
    return jobs;
}

}  // namespace cli
