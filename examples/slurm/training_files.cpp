#include "training_files.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "goodput/availability/restart_cost.hpp"
#include "json/json_fields.hpp"
#include "plan/samples.hpp"

namespace slurm {

namespace {

std::string file_of(const Job& job, const char* what) {
    return job.folder + "/goodput-" + job.id + "." + what;
}

Report read_report(const std::string& line) {
    const cli::Json document = cli::Json::parse(line);
    const cli::Field field(document, "report");
    Report report;
    report.gpu_type = field["gpu_type"].text();
    report.sample = cli::read_sample(field, "report");
    if (const cli::Field gradient = field["gradient"]; gradient.given()) {
        report.gradient = {gradient["sqr"].number(), gradient["var"].number()};
        validate(*report.gradient, "report");
    }
    if (const cli::Field done = field["done_examples"]; done.given())
        report.done_examples = done.number_at_least(0);
    if (const cli::Field start = field["start_s"]; start.given()) {
        report.start_seconds = start.number();
        validate(goodput::RestartReports{{*report.start_seconds}}, "report");
    }
    return report;
}

}  // namespace

std::vector<Report> ReportReader::read_new(const Job& job) {
    std::vector<Report> reports;
    std::ifstream file(file_of(job, "reports"), std::ios::binary);
    if (!file.seekg(static_cast<std::streamoff>(position_))) return reports;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        try {
            reports.push_back(read_report(text.substr(begin, end - begin)));
        } catch (const std::exception&) {
            ++refused_;
        }
    }
    position_ += begin;
    return reports;
}

void write_plan(const Job& job, goodput::BatchPlan plan) {
    const std::string name = file_of(job, "plan");
    const std::string text = "{\"local_batch\": " + std::to_string(plan.atomic_batch) +
                             ", \"accumulation\": " + std::to_string(plan.accumulation_steps) + "}\n";
    std::ifstream old(name);
    if (std::string{std::istreambuf_iterator<char>(old), {}} == text) return;
    // The training must never see half of the file.
    {
        std::ofstream file(name + ".new");
        file << text;
        if (!file.flush()) throw std::runtime_error("cannot write " + name + ".new");
    }
    std::filesystem::rename(name + ".new", name);
}

}  // namespace slurm
