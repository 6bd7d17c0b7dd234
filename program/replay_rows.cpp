#include "replay_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "json_lines.hpp"

namespace cli {

namespace {

/// Whether these replays are told apart by what goes with a GPU, too.
bool have_hosts(std::span<const PolicyReplay> replays) {
    return std::any_of(replays.begin(), replays.end(),
                       [](const PolicyReplay& replay) { return !replay.host.empty(); });
}

/// Aligned columns: names to the left, figures to the right.
void write_table(std::ostream& out, std::span<const PolicyReplay> replays, std::span<const Figure> figures) {
    std::vector<std::vector<std::string>> rows(1 + replays.size());
    std::vector<std::size_t> widths;
    const auto end_column = [&] {
        std::size_t& width = widths.emplace_back(0);
        for (const auto& row : rows) width = std::max(width, row.back().size());
    };
    for (const Figure& figure : figures) {
        rows[0].emplace_back(figure.name);
        for (std::size_t i = 0; i < replays.size(); ++i) rows[i + 1].push_back(figure.text(replays[i]));
        end_column();
        if (figure.value || !have_hosts(replays)) continue;
        rows[0].emplace_back("host");
        for (std::size_t i = 0; i < replays.size(); ++i) rows[i + 1].push_back(replays[i].host);
        end_column();
    }
    const std::size_t names = have_hosts(replays) ? 2 : 1;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            out << (i == 0 ? "" : "  ") << (i < names ? row[i] + padding : padding + row[i]);
        }
        out << '\n';
    }
}

/// How every job fared, by submission; `names`: of the jobs.
Json completions_of(const PolicyReplay& replay, std::span<const std::string> names) {
    Json jobs = Json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const goodput::JobOutcome& outcome = replay.result.jobs[i];
        Json job;
        job["name"] = names[i];
        if (outcome.completed_seconds)
            job["completion_h"] = (*outcome.completed_seconds - outcome.submitted_seconds) / 3600;
        else
            job["completion_h"] = nullptr;
        job["restarts"] = outcome.restarts;
        jobs.push_back(std::move(job));
    }
    return jobs;
}

}  // namespace

Json json_of(const PolicyReplay& replay, bool rents) {
    const goodput::ReplayMetrics& metrics = replay.metrics;
    Json json;
    json["policy"] = replay.policy;
    if (!replay.host.empty()) json["host"] = replay.host;
    // Of no completed job there is no average.
    const auto of_completed = [&](double value) { return metrics.completed > 0 ? Json(value) : Json(); };
    json["average_jct_h"] = of_completed(metrics.average_hours);
    json["median_jct_h"] = of_completed(metrics.median_hours);
    json["p99_jct_h"] = of_completed(metrics.p99_hours);
    json["makespan_h"] = of_completed(metrics.makespan_hours);
    json["gpu_hours_per_job"] = metrics.gpu_hours_per_job;
    json["restarts_per_job"] = metrics.restarts_per_job;
    json["policy_ms_median"] = replay.milliseconds_median;
    json["policy_ms_p99"] = replay.milliseconds_p99;
    json["jobs"] = metrics.jobs;
    json["completed"] = metrics.completed;
    json["queueing_h"] = metrics.queueing_hours;
    json["rho_mean"] = of_completed(metrics.rho_mean);
    json["rho_p99"] = of_completed(metrics.rho_p99);
    json["rho_above_1"] = of_completed(metrics.rho_above_one);
    json["utilisation"] = metrics.utilisation;
    json["effective_gpus"] = metrics.effective_gpus;
    json["migrations_per_job"] = metrics.migrations_per_job;
    json["failures_per_job"] = metrics.failures_per_job;
    json["policy_s"] = replay.policy_seconds;
    json["rho_worst"] = of_completed(metrics.rho_worst);
    json["unfair"] = of_completed(metrics.unfair);
    json["faults"] = replay.result.faults;
    json["availability"] = metrics.availability;
    if (rents) {
        json["dollars"] = metrics.dollars;
        json["dollars_per_job"] = metrics.dollars_per_job;
        json["node_hours"] = metrics.node_hours;
    }
    return json;
}

void ReplayRows::add(PolicyReplay replay) {
    replays_.push_back(std::move(replay));
    if (!command_->json) return;
    Json json = json_of(replays_.back(), !command_->offers.empty());
    if (command_->jobs) json["completions"] = completions_of(replays_.back(), names_);
    write_line(*out_, json);
}

int ReplayRows::finish() {
    if (!command_->json) {
        bool first = true;
        for (const std::span<const Figure> figures : figure_tables()) {
            if (!std::exchange(first, false)) *out_ << '\n';
            write_table(*out_, replays_, figures);
        }
        if (!command_->offers.empty()) {
            *out_ << '\n';
            write_table(*out_, replays_, renting_figures());
        }
        // A world of jobs that nobody can make faster is about fairness.
        if (command_->world != "sia") {
            *out_ << '\n';
            write_table(*out_, replays_, fairness_figures());
        }
        if (const std::string text = incomplete_text(replays_); !text.empty()) *out_ << '\n' << text << '\n';
    }
    out_->flush();
    return *out_ ? 0 : 1;
}

}  // namespace cli
