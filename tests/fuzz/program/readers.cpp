// Fuzzes what the programs read apart from their own lines: tables of the replay, clusters and settings of
// the command line, what Slurm prints, and what trainings report. Accepted input is valid, and the rest is
// refused with a message of the reader's own. The first byte chooses the reader.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "claims.hpp"
#include "job_request.hpp"
#include "json/csv.hpp"
#include "json/json_fields.hpp"
#include "json_mutation.hpp"
#include "plan/policies.hpp"
#include "replay/profiles.hpp"
#include "replay/workload.hpp"
#include "state.hpp"
#include "support/folder.hpp"
#include "training_files.hpp"

namespace {

using fuzz::Json;

void check(bool holds, const char* claim, const std::string& input) {
    if (!holds) fuzz::fail(claim, input, {});
}

/// Runs a reader. Returns false if it refuses the input, which it may do with this exception only.
template <class Refusal, class Read>
bool accepted(const std::string& input, Read read) {
    try {
        read();
        return true;
    } catch (const Refusal& refusal) {
        const std::string why = refusal.what();
        check(!why.empty() && (!fuzz::is_internal(why) || fuzz::is_internal(input)), why.c_str(), input);
        return false;
    }
}

void read_any_table(const std::string& text) {
    const support::Folder folder;
    const std::string path = folder.write("table.csv", text);
    accepted<std::runtime_error>(text, [&] {
        const cli::CsvTable table(path);
        const std::size_t column = table.column({"other", "a"});
        for (std::size_t row = 0; row < table.rows(); ++row) {
            accepted<std::runtime_error>(text, [&] {
                check(std::isfinite(table.number(row, column)), "a number is finite", text);
                const long long integer = table.integer(row, column, -5, 1 << 20);
                check(integer >= -5 && integer <= 1 << 20, "an integer is in its range", text);
            });
        }
    });
}

void read_any_workload(const std::string& text) {
    const support::Folder folder;
    const std::string path = folder.write("workload.csv", text);
    accepted<std::runtime_error>(text, [&] {
        const cli::Workload workload = cli::read_workload(path);
        std::set<std::string> names;
        double last = 0;
        for (const goodput::Submission& job : workload.submissions) {
            check(job.time_seconds >= last && std::isfinite(job.time_seconds), "in the order of time", text);
            last = job.time_seconds;
            check(names.insert(job.name).second, "each name once", text);
            check(job.application < workload.applications.size(), "applications are known", text);
            check(job.gpus >= 1 && job.batch >= 1, "counts are positive", text);
        }
    });
}

void read_any_events(const std::string& text) {
    const support::Folder folder;
    const std::string path = folder.write("events.csv", text);
    const std::vector<goodput::Submission> submissions{{"a", 0, 0, 1, 32}, {"b", 60, 0, 2, 64}};
    accepted<std::runtime_error>(text, [&] {
        goodput::Cluster cluster = cli::parse_cluster("T4:2x4,A100:1x8");
        for (const goodput::Event& event : cli::read_events(path, cluster, submissions)) {
            check(event.time_seconds >= 0 && std::isfinite(event.time_seconds), "times are times", text);
            check(!event.subject.empty(), "events have a subject", text);
            if (event.kind == goodput::EventKind::node_added)
                check(event.gpus >= 1 && event.gpu_type < cluster.gpu_types.size(), "nodes have GPUs", text);
        }
        validate(cluster);
    });
}

void read_any_profiles(const std::string& text) {
    const support::Folder folder;
    const std::vector<std::string> parts = fuzz::parts_of(text, 5);
    static constexpr std::array files{"placements-T4.csv", "scalability-T4.csv", "placements-A100.csv",
                                      "validation-64.csv", "validation-128.csv"};
    for (std::size_t i = 0; i < files.size(); ++i)
        if (!parts[i].empty()) folder.write(std::string("app/") + files[i], parts[i]);
    if (parts[0].empty()) folder.write("app/none", "");
    accepted<std::runtime_error>(text, [&] {
        const std::vector<std::string> names{"app"}, types{"T4", "A100"};
        const goodput::Application app = cli::read_applications(folder.path(), names, types).at(0);
        check(app.types.size() == types.size(), "an entry a GPU type", text);
        check(app.curve.epochs() >= 1 && app.curve.total_progress() > 0, "there is work to do", text);
        for (const goodput::ApplicationOnType& type : app.types) {
            if (type.max_atomic_batch == 0) continue;
            check(type.min_atomic_batch >= 1 && type.min_atomic_batch <= type.max_atomic_batch, "a range",
                  text);
            check(std::isfinite(type.reference_rate) && type.reference_rate > 0, "a rate", text);
            for (const goodput::Shape shape :
                 {goodput::Shape{1, 1}, goodput::Shape{1, 4}, goodput::Shape{3, 12}})
                for (const int batch : {type.min_atomic_batch, type.max_atomic_batch}) {
                    const goodput::StepSeconds seconds = type.seconds(shape, batch);
                    check(std::isfinite(seconds.step) && seconds.step > 0, "a step takes time", text);
                    check(seconds.sync >= 0 && seconds.sync <= seconds.step, "the rest of it is computing",
                          text);
                }
        }
    });
}

void read_any_cluster(const std::string& text) {
    std::size_t digits = 0;  // a cluster of a million nodes is valid, but slow
    for (const char each : text) {
        digits = each >= '0' && each <= '9' ? digits + 1 : 0;
        if (digits > 3) return;
    }
    accepted<std::invalid_argument>(text, [&] {
        const goodput::Cluster cluster = cli::parse_cluster(text);
        check(!cluster.nodes.empty(), "there are nodes", text);
        validate(cluster);
    });
}

void read_any_settings(const std::string& text) {
    std::vector<std::string> lines = fuzz::lines_of(text);
    if (lines.empty()) return;
    const std::string policy = lines.front();
    lines.erase(lines.begin());
    accepted<std::invalid_argument>(text, [&] {
        cli::with_policy(policy, lines, [](const auto& configured) {
            if constexpr (requires { configured.validate(); }) configured.validate();
            return 0;
        });
    });
}

void read_any_comment(const std::string& text) {
    std::vector<std::string> lines = fuzz::lines_of(text);
    lines.resize(3);
    slurm::Job job;
    job.id = "7";
    job.comment = lines[0];
    job.gpu_type = lines[1];
    job.asks_per_node = lines[2].empty();
    if (!slurm::is_elastic(job)) return;
    goodput::Cluster cluster;
    cluster.gpu_types = {"t4", "a100"};
    accepted<std::invalid_argument>(text, [&] {
        const slurm::JobRequest request = slurm::read_request(job, cluster.gpu_types, 30);
        check(request.job.types.size() == 2, "an entry a GPU type", text);
        validate(request.job, cluster);
    });
}

void read_any_state(const std::string& text) {
    const std::vector<std::string> parts = fuzz::parts_of(text, 3);
    try {
        const slurm::State state = slurm::read_state(parts[0], parts[1], parts[2], 100);
        for (const slurm::Node& node : state.nodes) check(node.gpus > 0, "nodes have GPUs", text);
        for (const slurm::Job& job : state.jobs) {
            check(job.holds.nodes.size() == job.held_gpus.size(), "GPUs by node", text);
            for (const int gpus : job.held_gpus) check(gpus > 0, "what is held is GPUs", text);
            check(job.restarts >= 0, "restarts are counted from 0", text);
            check(std::isfinite(job.submitted_seconds), "times are finite", text);
        }
    } catch (const std::exception&) {  // as state.hpp states
    }
}

void read_any_reports(const std::string& text) {
    const support::Folder folder;
    slurm::Job job;
    job.id = "7";
    job.folder = folder.path();
    slurm::ReportReader reader;
    std::size_t reports = 0;
    const std::size_t step = text.size() / 3 + 1;
    for (std::size_t begin = 0; begin < text.size(); begin += step) {
        std::ofstream(folder.path("goodput-7.reports"), std::ios::app | std::ios::binary)
            << text.substr(begin, step);
        for (const slurm::Report& report : reader.read_new(job)) {
            ++reports;
            validate(report.sample, "report");
            if (report.gradient) validate(*report.gradient, "report");
        }
    }
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    check(reports + reader.refused() == lines, "a line is a report or refused, once", text);
}

/// Calls every accessor on every value of a document.
void visit(const cli::Field& field, const std::string& text) {
    accepted<std::invalid_argument>(text, [&] { check(std::isfinite(field.number()), "finite", text); });
    accepted<std::invalid_argument>(text, [&] { check(field.number_at_least(1) >= 1, "at least 1", text); });
    accepted<std::invalid_argument>(text, [&] {
        const long long integer = field.integer(-3, 1LL << 40);
        check(integer >= -3 && integer <= 1LL << 40, "in its range", text);
        check(static_cast<double>(integer) == field.number(), "the number that is written", text);
    });
    accepted<std::invalid_argument>(text, [&] { check(field.count(1, 9) >= 1, "a count", text); });
    accepted<std::invalid_argument>(text, [&] { (void)field.boolean(); });
    accepted<std::invalid_argument>(text, [&] { (void)field.text(); });
    accepted<std::invalid_argument>(text, [&] { field.require_size(2, "a pair"); });
    accepted<std::invalid_argument>(text, [&] { (void)field["name"].text(); });
    accepted<std::invalid_argument>(text, [&] { (void)field[std::size_t{1}].text(); });
    accepted<std::invalid_argument>(
        text, [&] { field.for_each([&](const cli::Field& each) { visit(each, text); }); });
    accepted<std::invalid_argument>(text, [&] {
        for (const auto& [name, each] : field.fields()) visit(each.about(name), text);
    });
}

void read_any_fields(const std::string& text) {
    for (const std::string& line : fuzz::lines_of(text)) {
        const Json document = Json::parse(line, nullptr, false);
        if (!document.is_discarded()) visit(cli::Field(document, "document"), text);
    }
}

constexpr std::array readers{read_any_table,   read_any_workload, read_any_events,  read_any_profiles,
                             read_any_cluster, read_any_settings, read_any_comment, read_any_state,
                             read_any_reports, read_any_fields};

const fuzz::Format tables{
    {"name",      "time",     "application", "num_replicas", "batch_size",  "event",     "subject",
     "gpu_type",  "gpus",     "placement",   "local_bsz",    "local_batch", "step_time", "sync_time",
     "num_nodes", "progress", "grad_sqr",    "grad_var",     "a",           "other"},
    {"job_fails", "node_fails", "node_drains", "node_returns", "node_added", "T4-0", "T4-1", "A100-0", "T4",
     "A100", "H100", "new", "1", "11", "44", "4444", "\r", "%%"}};
const fuzz::Format documents{{"jobs",
                              "job_id",
                              "job_state",
                              "priority",
                              "comment",
                              "admin_comment",
                              "current_working_directory",
                              "state_reason",
                              "nodes",
                              "submit_time",
                              "start_time",
                              "restart_cnt",
                              "tres_per_node",
                              "required_nodes",
                              "job_resources",
                              "allocated_nodes",
                              "nodename",
                              "gres_detail",
                              "name",
                              "state",
                              "state_flags",
                              "gres",
                              "gpu_type",
                              "gpus",
                              "local_batch",
                              "accumulation",
                              "step_s",
                              "sync_s",
                              "gradient",
                              "sqr",
                              "var"},
                             {"PENDING",
                              "RUNNING",
                              "COMPLETED",
                              "BeginTime",
                              "JobHeldAdmin",
                              "gpu:t4:4",
                              "gpu:2",
                              "gpu:t4:4(IDX:0-3)",
                              "gres:gpu:1",
                              "gpu:-1",
                              "gpu:t4:2147483647,gpu:t4:2147483647",
                              "n0",
                              "n1",
                              "n0,n1",
                              "idle",
                              "mixed",
                              "allocated",
                              "DRAIN",
                              "NOT_RESPONDING",
                              "t4"}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    readers[data[0] % readers.size()](std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
    return size > 0 && data[0] % readers.size() >= 7
               ? fuzz::mutate_json_lines(data, size, most, seed, documents)
               : fuzz::mutate_table(data, size, most, seed, tables);
}
