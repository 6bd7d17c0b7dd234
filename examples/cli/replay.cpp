#include "replay.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "embedded.hpp"
#include "goodput/core/error.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "json_lines.hpp"
#include "policies.hpp"
#include "profiles.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "stopwatch.hpp"
#include "ties.hpp"
#include "workload.hpp"

namespace cli {

namespace {

/// Everything that a replay is made of but the policy.
struct Scene {
    goodput::Cluster cluster{};
    std::vector<std::string> names{};  ///< of the applications
    std::vector<goodput::Application> applications{};
    std::vector<goodput::Submission> submissions{};
    std::vector<goodput::Event> events{};
    std::vector<goodput::FairShare> shares{};  ///< by application, of the cluster as it is at first
    std::string title{};
};

/// The embedded GPU type that goes by that name; the measurements published with Sia name machines.
std::string type_behind(const std::string& name) {
    if (name == "aws") return "T4";
    if (name == "dgx-ext") return "A100";
    if (name == "rtx") return "2080Ti";
    return name;
}

/// The embedded applications of those names, with the cluster's GPU types in its order.
std::vector<goodput::Application> embedded_models(std::span<const std::string> names,
                                                  const goodput::Cluster& cluster) {
    const std::vector<goodput::Application> all = embedded_applications();
    const std::vector<std::string> types = embedded_cluster().gpu_types;
    std::string known;
    for (const std::string& type : types) known += (known.empty() ? "" : ", ") + type;
    std::vector<std::size_t> type_indices;
    for (const std::string& type : cluster.gpu_types) {
        const auto found = std::find(types.begin(), types.end(), type_behind(type));
        if (found == types.end())
            goodput::bad_input("cluster", "GPU type", "'" + type + "'",
                               "one of " + known + " (or give --profiles)");
        type_indices.push_back(static_cast<std::size_t>(found - types.begin()));
    }
    std::vector<goodput::Application> applications;
    for (const std::string& name : names) {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const goodput::Application& a) { return a.name == name; });
        if (found == all.end())
            throw std::runtime_error("there is no embedded application '" + name + "': give --profiles");
        goodput::Application application = *found;
        application.types.clear();
        for (const std::size_t type : type_indices) application.types.push_back(found->types[type]);
        applications.push_back(std::move(application));
    }
    return applications;
}

Scene make_scene(const ReplayCommand& command) {
    Scene scene;
    if (!command.cluster.empty())
        scene.cluster = parse_cluster(command.cluster);
    else if (!command.profiles.empty())
        scene.cluster = parse_cluster("aws:6x4,dgx-ext:2x8,rtx:3x8");
    else
        scene.cluster = embedded_cluster();
    if (command.workload.empty()) {
        scene.submissions = embedded_workload();
        for (const goodput::Application& application : embedded_applications())
            scene.names.push_back(application.name);
    } else {
        Workload workload = read_workload(command.workload);
        scene.submissions = std::move(workload.submissions);
        scene.names = std::move(workload.applications);
    }
    const std::size_t types = scene.cluster.gpu_types.size();
    if (!command.events.empty()) scene.events = read_events(command.events, scene.cluster, scene.submissions);
    scene.applications = command.profiles.empty()
                             ? embedded_models(scene.names, scene.cluster)
                             : read_applications(command.profiles, scene.names, scene.cluster.gpu_types);
    for (std::size_t type = types; type < scene.cluster.gpu_types.size(); ++type)
        if (std::all_of(scene.applications.begin(), scene.applications.end(), [&](const auto& application) {
                return application.types[type].max_atomic_batch == 0;
            }))
            throw std::runtime_error(command.events + ": gpu_type is '" + scene.cluster.gpu_types[type] +
                                     "', but must be one that an application was measured on");
    scene.shares = goodput::fair_shares(scene.applications, scene.cluster);
    const std::size_t slash = command.workload.find_last_of('/') + 1;
    scene.title =
        "Replay of " + (command.workload.empty() ? "the embedded workload" : command.workload.substr(slash));
    return scene;
}

template <goodput::Policy P>
PolicyReplay replay_under(P policy, const std::string& name, const Scene& scene,
                          const ReplayCommand& command) {
    goodput::ReplayOptions options;
    options.interval_seconds = command.interval_seconds;
    options.checkpoint_seconds = command.checkpoint_seconds;
    options.events = scene.events;
    // A year after the last submission whoever waits would wait for ever.
    options.last_second =
        (scene.submissions.empty() ? 0 : scene.submissions.back().time_seconds) + 365 * 86400.0;
    PolicyReplay replay;
    replay.policy = name;
    std::vector<double> milliseconds;
    ProgressBar progress(name);
    replay.result = goodput::replay(
        scene.cluster, scene.applications, scene.submissions,
        WithTiesBroken<P>{.policy = std::move(policy), .seed = command.seed}, options,
        [&](double now, const goodput::Snapshot& snapshot, auto make_plan) {
            const Stopwatch stopwatch;
            make_plan();
            milliseconds.push_back(stopwatch.milliseconds());
            replay.policy_seconds += milliseconds.back() / 1000;
            const auto submitted =
                std::upper_bound(scene.submissions.begin(), scene.submissions.end(), now,
                                 [](double time, const auto& job) { return time < job.time_seconds; });
            progress.show(
                static_cast<std::size_t>(submitted - scene.submissions.begin()) - snapshot.jobs.size(),
                scene.submissions.size());
        });
    replay.metrics = goodput::metrics_of(replay.result, scene.submissions, scene.shares);
    replay.milliseconds_median = goodput::quantile(milliseconds, 0.5);
    replay.milliseconds_p99 = goodput::quantile(milliseconds, 0.99);
    return replay;
}

Json json_of(const PolicyReplay& replay) {
    const goodput::ReplayMetrics& metrics = replay.metrics;
    Json json;
    json["policy"] = replay.policy;
    json["average_jct_h"] = metrics.average_hours;
    json["median_jct_h"] = metrics.median_hours;
    json["p99_jct_h"] = metrics.p99_hours;
    json["makespan_h"] = metrics.makespan_hours;
    json["gpu_hours_per_job"] = metrics.gpu_hours_per_job;
    json["restarts_per_job"] = metrics.restarts_per_job;
    json["policy_ms_median"] = replay.milliseconds_median;
    json["policy_ms_p99"] = replay.milliseconds_p99;
    json["jobs"] = metrics.jobs;
    json["completed"] = metrics.completed;
    json["queueing_h"] = metrics.queueing_hours;
    json["rho_mean"] = metrics.rho_mean;
    json["rho_p99"] = metrics.rho_p99;
    json["rho_above_1"] = metrics.rho_above_one;
    json["utilisation"] = metrics.utilisation;
    json["effective_gpus"] = metrics.effective_gpus;
    json["migrations_per_job"] = metrics.migrations_per_job;
    json["failures_per_job"] = metrics.failures_per_job;
    json["policy_s"] = replay.policy_seconds;
    return json;
}

/// Aligned columns: names to the left, figures to the right.
void write_table(std::ostream& out, std::span<const PolicyReplay> replays, std::span<const Figure> figures) {
    std::vector<std::vector<std::string>> rows(1 + replays.size());
    std::vector<std::size_t> widths;
    for (const Figure& figure : figures) {
        rows[0].emplace_back(figure.name);
        for (std::size_t i = 0; i < replays.size(); ++i) rows[i + 1].push_back(figure.text(replays[i]));
        std::size_t& width = widths.emplace_back(0);
        for (const auto& row : rows) width = std::max(width, row.back().size());
    }
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            out << (i == 0 ? row[i] + padding : "  " + padding + row[i]);
        }
        out << '\n';
    }
}

void write_tables(std::ostream& out, std::span<const PolicyReplay> replays) {
    bool first = true;
    for (const std::span<const Figure> figures : figure_tables()) {
        if (!std::exchange(first, false)) out << '\n';
        write_table(out, replays, figures);
    }
}

/// The cluster with all nodes that are there at some time.
goodput::Cluster with_added_nodes(const Scene& scene) {
    goodput::Cluster cluster = scene.cluster;
    for (const goodput::Event& event : scene.events)
        if (event.kind == goodput::EventKind::node_added)
            cluster.nodes.push_back({event.subject, event.gpu_type, event.gpus});
    return cluster;
}

}  // namespace

int run_replay(const ReplayCommand& command) {
    goodput::require_positive("--interval", "seconds", command.interval_seconds);
    goodput::require_positive("--checkpoint", "seconds", command.checkpoint_seconds);
    std::vector<std::string> policies = command.policies;
    if (policies.empty()) policies = all_policy_names();
    for (const std::string& policy : policies)
        with_policy(policy, {}, [](auto) {});  // known, before anything runs
    const Scene scene = make_scene(command);
    std::ofstream report;
    if (!command.report.empty()) {
        report.open(command.report);
        if (!report) throw std::runtime_error(command.report + ": cannot be written");
    }

    std::vector<PolicyReplay> replays;
    for (const std::string& name : policies) {
        replays.push_back(with_policy(
            name, {}, [&](auto policy) { return replay_under(std::move(policy), name, scene, command); }));
        if (command.json) write_line(std::cout, json_of(replays.back()));
    }
    if (!command.json) write_tables(std::cout, replays);
    std::cout.flush();
    if (report.is_open()) {
        write_report(report, scene.title, with_added_nodes(scene), scene.names, scene.submissions, replays);
        report.flush();
        if (!report) throw std::runtime_error(command.report + ": cannot be written");
    }
    return std::cout ? 0 : 1;
}

}  // namespace cli
