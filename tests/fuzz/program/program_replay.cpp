// Fuzzes `goodput replay`: any trace and events give finite figures or are refused in the program's own
// words. Every job is accounted for, and neither a second run nor another order of the events changes
// anything. The first byte chooses the contender, the interval and the report. Then come the cluster, the
// trace, and the events, separated by lines "%%".

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "claims.hpp"
#include "json_mutation.hpp"
#include "replay/contenders.hpp"
#include "replay/replay.hpp"
#include "replay/workload.hpp"
#include "support/folder.hpp"

namespace {

using fuzz::Exchange;
using fuzz::Json;

const fuzz::Format format{
    {"name", "time", "application", "num_replicas", "batch_size", "event", "subject", "gpu_type", "gpus"},
    {"job_fails", "node_fails", "node_drains", "node_returns", "node_added", "T4-0",     "T4-1",
     "A100-0",    "T4",         "A100",        "2080Ti",       "new",        "cifar10",  "resnet18",
     "bert",      "a",          "b",           "T4:2x4",       "T4:1x4",     "A100:1x8", "%%"}};

/// Whether a replay is quick whatever happens: few jobs on a small cluster, few rounds.
bool is_short(const std::string& workload, const std::string& cluster, double interval) {
    try {
        if (cluster.size() > 40 || cli::parse_cluster(cluster).nodes.size() > 12) return false;
        const std::vector<goodput::Submission> jobs = cli::read_workload(workload).submissions;
        return jobs.size() <= 6 &&
               (jobs.empty() || jobs.back().time_seconds - jobs.front().time_seconds < 400 * interval);
    } catch (const std::exception&) {
        return true;  // the command itself refuses it
    }
}

/// Returns the figures that do not differ from run to run; nothing if the replay is refused.
std::optional<Json> replayed(const cli::ReplayCommand& command, const std::string& input) {
    std::ostringstream out;
    try {
        if (cli::run_replay(command, out) != 0)
            fuzz::fail("a replay that is not refused succeeds", input, out.str());
    } catch (const std::exception& refusal) {
        const std::string why = refusal.what();
        if (why.empty() || (fuzz::is_internal(why) && !fuzz::is_internal(input)))
            fuzz::fail("a refusal is in the program's own words", input, why);
        return std::nullopt;
    }
    const std::vector<std::string> lines = fuzz::lines_of(out.str());
    if (lines.size() != 1) fuzz::fail("one line a policy", input, out.str());
    Json figures = Json::parse(lines.front(), nullptr, false);
    if (!figures.is_object()) fuzz::fail("figures are JSON", input, out.str());
    for (const char* name : {"policy_ms_median", "policy_ms_p99", "policy_s"}) figures.erase(name);
    return figures;
}

void check_figures(const Exchange& exchange, std::size_t jobs) {
    const Json& figures = exchange.answer;
    fuzz::check_no_null(exchange, figures, "", {"completion_h"});
    std::size_t completed = 0;
    for (const Json& job : figures["completions"]) {
        exchange.check(job["restarts"].get<long long>() >= 0, "restarts are counted from 0");
        if (job["completion_h"].is_null()) continue;
        ++completed;
        exchange.check(job["completion_h"].get<double>() >= 0, "who completes was submitted before");
    }
    exchange.check(figures["completions"].size() == jobs && figures["jobs"] == jobs, "every job is told of");
    exchange.check(figures["completed"] == completed, "who completes is counted");
    const double utilisation = figures["utilisation"].get<double>();
    exchange.check(utilisation >= 0 && utilisation <= 1 + 1e-9, "a part of the GPUs is in use");
    for (const char* name :
         {"average_jct_h", "median_jct_h", "p99_jct_h", "makespan_h", "gpu_hours_per_job", "restarts_per_job",
          "queueing_h", "rho_mean", "effective_gpus", "migrations_per_job", "failures_per_job"})
        exchange.check(figures[name].get<double>() >= 0, "figures are not negative");
}

std::string in_reverse(const std::string& events) {
    std::vector<std::string> lines = fuzz::lines_of(events);
    if (lines.size() > 1) std::reverse(lines.begin() + 1, lines.end());
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    std::vector<std::string> parts = fuzz::parts_of(text, 3);
    parts.resize(3);
    if (!parts[0].empty()) parts[0].pop_back();

    const support::Folder folder;
    cli::ReplayCommand command;
    const std::size_t choice = data[0];
    command.policies = {std::string(cli::contenders[choice % cli::contenders.size()].name)};
    command.interval_seconds = choice / 10 % 2 == 0 ? 86400 : 3600;
    command.moves = choice / 20 % 2 == 0 ? "free" : "restart";
    if (choice / 40 % 3 == 0) command.models = "separate";
    command.json = command.jobs = true;
    command.seed = choice / 120;
    command.cluster = parts[0];
    command.workload = folder.write("workload.csv", parts[1]);
    if (!parts[2].empty()) command.events = folder.write("events.csv", parts[2]);
    if (choice / 120 == 1) command.report = folder.path("report.html");
    if (!is_short(command.workload, command.cluster, command.interval_seconds)) return -1;

    Exchange exchange;
    exchange.line = text;
    const std::optional<Json> figures = replayed(command, text);
    if (!figures) return -1;  // not worth keeping
    exchange.answer = *figures;
    check_figures(exchange, cli::read_workload(command.workload).submissions.size());

    // GPU types that only appear with added nodes are numbered in the order of the rows.
    if (parts[2].find("node_added") == std::string::npos && !parts[2].empty())
        folder.write("events.csv", in_reverse(parts[2]));
    exchange.check(replayed(command, text) == figures, "the order of the events does not matter");
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
    return fuzz::mutate_table(data, size, most, seed, format);
}
