#include "worlds/shockwave_trace.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "json/json_fields.hpp"
#include "json/json_files.hpp"

namespace cli {

namespace {

using goodput::peers::CriticalEpochs;
using goodput::peers::ShockwaveMode;
using goodput::peers::ShockwaveModel;

constexpr int most_epochs = 1 << 20;

ShockwaveMode mode_of(const Field& field) {
    if (field.is("static")) return ShockwaveMode::constant;
    if (field.is("accordion")) return ShockwaveMode::accordion;
    if (field.is("gns")) return ShockwaveMode::gns;
    field.refuse("static, accordion or gns");
}

std::vector<CriticalEpochs::Span> spans_of(const Field& field) {
    std::vector<CriticalEpochs::Span> spans;
    if (field.given())
        field.for_each([&](const Field& span) {
            span.require_size(2, "first epoch and end");
            spans.push_back({span[0].count(0, most_epochs), span[1].count(0, most_epochs)});
        });
    return spans;
}

CriticalEpochs critical_of(const Field& field) {
    CriticalEpochs critical;
    if (field["period"].given()) {
        critical.period = field["period"].count(1, most_epochs);
        critical.head = field["head"].count(0, most_epochs);
        return critical;
    }
    for (const auto& [batch, head] : field["head_by_start_batch"].fields())
        critical.head_of_batch[integer_of_name(batch, head, 1)] = head.count(0, most_epochs);
    critical.later = spans_of(field["later"]);
    critical.later_of_profile_only = spans_of(field["later_profile_only"]);
    return critical;
}

}  // namespace

std::vector<goodput::peers::ShockwaveJob> read_shockwave_jobs(const std::string& trace) {
    std::vector<goodput::peers::ShockwaveJob> jobs;
    read_json_lines_of(trace, [&](const Field& line) {
        goodput::peers::ShockwaveJob& job = jobs.emplace_back();
        job.name = goodput::text_of(line["job"].count());
        job.model = line["model"].text();
        job.batch = line["batch"].count(1, 1 << 24);
        job.gpus = line["gpus"].count(1, 1 << 20);
        job.mode = mode_of(line["mode"]);
        job.steps = static_cast<double>(line["steps"].integer(1, 1LL << 53));
        job.submitted_seconds = line["arrival"].number_at_least(0);
    });
    std::ranges::stable_sort(jobs, {}, &goodput::peers::ShockwaveJob::submitted_seconds);
    return jobs;
}

goodput::peers::ShockwaveModels read_shockwave_models(const std::string& folder, const std::string& table) {
    const std::string speeds_path = folder + "/throughputs.json", schedules_path = folder + "/dynamic.json";
    const Json speeds_document = read_json_file(speeds_path),
               schedules_document = read_json_file(schedules_path);
    const Field tables(speeds_document, speeds_path), schedules(schedules_document, schedules_path);
    goodput::peers::ShockwaveModels models;
    const Field speeds = tables[table];
    if (!speeds.given()) goodput::bad_input("--table", "name", "'" + table + "'", "one of " + speeds_path);
    read_checked([&] {
        for (const auto& [name, examples] : schedules["dataset_examples"].fields()) {
            ShockwaveModel& model = models[name];
            model.examples = examples.number_at_least(1);
            model.smallest_batch = schedules["smallest_batch"][name].count(1, 1 << 24);
            model.largest_batch = schedules["largest_batch"][name].count(1, 1 << 24);
            for (const auto& [gpus, by_batch] : speeds[name].fields())
                for (const auto& [batch, rate] : by_batch.fields())
                    model.rates[{integer_of_name(gpus, by_batch, 1), integer_of_name(batch, rate, 1)}] =
                        rate.number_at_least(0);
            if (const Field critical = schedules["accordion_critical"][name]; critical.given())
                model.critical = critical_of(critical);
            const Field stages = schedules["gns_stages"][name];
            if (!stages.given()) continue;
            for (const auto& [gpus, by_batch] : stages.fields())
                for (const auto& [batch, list] : by_batch.fields())
                    list.for_each([&, key = std::pair(integer_of_name(gpus, by_batch, 1),
                                                      integer_of_name(batch, list, 1))](const Field& stage) {
                        stage.require_size(2, "first epoch and factor");
                        model.stages[key].push_back(
                            {stage[0].count(0, most_epochs), stage[1].count(1, 1 << 20)});
                    });
        }
    });
    return models;
}

}  // namespace cli
