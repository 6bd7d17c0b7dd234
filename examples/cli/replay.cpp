#include "replay.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <ostream>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "any_policy.hpp"
#include "contenders.hpp"
#include "goodput/core/error.hpp"
#include "json_lines.hpp"
#include "policies.hpp"
#include "replay_with_models.hpp"
#include "report.hpp"
#include "scene.hpp"
#include "ties.hpp"

namespace cli {

namespace {

template <class Policy>
PolicyReplay replay_with(Models models, const Policy& policy, const std::string& name, const Scene& scene,
                         const ReplayCommand& command) {
    switch (models) {
        case Models::separate:
            return replay_with_separate_models(policy, name, scene, command);
        case Models::refined:
            return replay_with_refined_models(policy, name, scene, command);
        case Models::published:
            break;
    }
    return replay_with_published_models(policy, name, scene, command);
}

PolicyReplay replay_contender(const Contender& contender, const Scene& scene, const ReplayCommand& command) {
    return with_policy(contender.policy, command.policy_options, [&]<class P>(P policy) {
        const WithTiesBroken<P> with_ties{.policy = std::move(policy), .seed = command.seed};
        return replay_with(contender.models, any_policy(with_ties), std::string(contender.name), scene,
                           command);
    });
}

/// How every job fared, by submission.
Json jobs_of(const PolicyReplay& replay, const Scene& scene) {
    Json jobs = Json::array();
    for (std::size_t i = 0; i < scene.submissions.size(); ++i) {
        const goodput::JobOutcome& outcome = replay.result.jobs[i];
        Json job;
        job["name"] = scene.submissions[i].name;
        if (outcome.completed_seconds)
            job["completion_h"] = (*outcome.completed_seconds - outcome.submitted_seconds) / 3600;
        else
            job["completion_h"] = nullptr;
        job["restarts"] = outcome.restarts;
        jobs.push_back(std::move(job));
    }
    return jobs;
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

int run_replay(const ReplayCommand& command, std::ostream& out) {
    goodput::require_at_least("--interval", "seconds", command.interval_seconds,
                              1e-3);  // or time stands still
    goodput::require_at_least("--load", "factor", command.load, 1e-6);
    goodput::require_positive("--checkpoint", "seconds", command.checkpoint_seconds);
    const std::vector<Contender> chosen = chosen_contenders(command.policies, command.models);
    if (!command.policy_options.empty() && chosen.size() != 1)
        goodput::bad_input("--policy-option", "number of policies", chosen.size(), "1");
    const Scene scene = make_scene(command);
    std::ofstream report;
    if (!command.report.empty()) {
        report.open(command.report);
        if (!report) throw std::runtime_error(command.report + ": cannot be written");
    }

    std::vector<PolicyReplay> replays;
    for (const Contender& contender : chosen) {
        replays.push_back(replay_contender(contender, scene, command));
        if (!command.json) continue;
        Json json = json_of(replays.back());
        if (command.jobs) json["completions"] = jobs_of(replays.back(), scene);
        write_line(out, json);
    }
    if (!command.json) write_tables(out, replays);
    out.flush();
    if (report.is_open()) {
        write_report(report, {scene.title, with_added_nodes(scene), scene.names, scene.submissions}, replays);
        report.flush();
        if (!report) throw std::runtime_error(command.report + ": cannot be written");
    }
    return out ? 0 : 1;
}

}  // namespace cli
