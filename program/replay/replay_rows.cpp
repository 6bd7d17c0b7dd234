#include "replay/replay_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "json/csv.hpp"
#include "json/json_lines.hpp"
#include "report/chart_files.hpp"

namespace cli {

namespace {

/// Whether these replays also differ by how cores and memory are divided.
bool have_hosts(std::span<const PolicyReplay> replays) {
    return std::any_of(replays.begin(), replays.end(),
                       [](const PolicyReplay& replay) { return !replay.host.empty(); });
}

/// Returns the cells of a table, row by row. The first row has the names of the columns.
std::vector<std::vector<std::string>> cells_of(std::span<const PolicyReplay> replays,
                                               std::span<const Figure> figures) {
    std::vector<std::vector<std::string>> rows(1 + replays.size());
    for (const Figure& figure : figures) {
        rows[0].emplace_back(figure.name);
        for (std::size_t i = 0; i < replays.size(); ++i) rows[i + 1].push_back(figure.text(replays[i]));
        if (figure.value || !have_hosts(replays)) continue;
        rows[0].emplace_back("host");
        for (std::size_t i = 0; i < replays.size(); ++i) rows[i + 1].push_back(replays[i].host);
    }
    return rows;
}

/// Writes aligned columns: names to the left, figures to the right.
void write_table(std::ostream& out, std::span<const PolicyReplay> replays, std::span<const Figure> figures) {
    const std::vector<std::vector<std::string>> rows = cells_of(replays, figures);
    std::vector<std::size_t> widths(rows[0].size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    const std::size_t names = have_hosts(replays) ? 2 : 1;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            out << (i == 0 ? "" : "  ") << (i < names ? row[i] + padding : padding + row[i]);
        }
        out << '\n';
    }
}

/// Escapes a text for LaTeX.
std::string latex_of(const std::string& text) {
    std::string latex;
    for (const char letter : text) {
        if (letter == '\\')
            latex += "\\textbackslash{}";
        else if (letter == '<' || letter == '>')
            latex += std::string("$") + letter + "$";
        else if (letter == '^' || letter == '~')
            latex += std::string("\\") + letter + "{}";
        else if (std::string_view("&%$#_{}").find(letter) != std::string_view::npos)
            latex += std::string("\\") + letter;
        else
            latex += letter;
    }
    return latex;
}

/// Writes the same table as a tabular, with the best figure of each column in bold.
void write_latex(std::ostream& out, std::span<const PolicyReplay> replays, std::span<const Figure> figures) {
    const std::vector<std::vector<std::string>> rows = cells_of(replays, figures);
    const std::size_t names = have_hosts(replays) ? 2 : 1;
    std::vector<std::string> best(names);
    for (const Figure& figure : figures)
        if (figure.value) best.push_back(best_text(figure, replays));
    out << "\\begin{tabular}{" << std::string(names, 'l') << std::string(rows[0].size() - names, 'r')
        << "}\n\\hline\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const std::string cell = latex_of(rows[r][i]);
            const bool bold = r > 0 && !best[i].empty() && rows[r][i] == best[i];
            out << (i == 0 ? "" : " & ") << (bold ? "\\textbf{" + cell + "}" : cell);
        }
        out << " \\\\\n" << (r == 0 || r + 1 == rows.size() ? "\\hline\n" : "");
    }
    out << "\\end{tabular}\n";
}

/// Returns the outcome of every job, by submission. `names` are those of the jobs.
Json completions_of(const PolicyReplay& replay, std::span<const std::string> names) {
    Json jobs = Json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const goodput::JobOutcome& outcome = replay.result.jobs[i];
        Json job;
        job["name"] = names[i];
        const auto completion = outcome.completion_hours();
        job["completion_h"] = completion ? Json(*completion) : Json();
        job["restarts"] = outcome.restarts;
        if (replay.deadlines) {
            job["admitted"] = replay.deadlines->jobs[i].admitted;
            job["deadline_met"] = replay.deadlines->jobs[i].met;
        }
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
    // Without completed jobs there is no average.
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
    if (replay.deadlines) {
        json["admitted"] = replay.deadlines->admitted;
        json["deadlines_met"] = replay.deadlines->met;
        json["deadlines_work_done"] = replay.deadlines->work_done;
    }
    if (rents) {
        json["dollars"] = metrics.dollars;
        json["dollars_per_job"] = metrics.dollars_per_job;
        json["node_hours"] = metrics.node_hours;
    }
    return json;
}

namespace {

/// Returns the figures of each table.
std::vector<std::span<const Figure>> tables_of(std::span<const PolicyReplay> replays,
                                               const ReplayCommand& command) {
    const auto usual = figure_tables();
    std::vector<std::span<const Figure>> tables(usual.begin(), usual.end());
    if (!command.offers.empty()) tables.push_back(renting_figures());
    if (!replays.empty() && replays.front().deadlines) tables.push_back(deadline_figures());
    // In a world whose jobs cannot be made faster, fairness is what counts.
    if (command.world != "sia") tables.push_back(fairness_figures());
    return tables;
}

/// Writes all tables for LaTeX.
void write_all_latex(std::ostream& out, std::span<const PolicyReplay> replays, const ReplayCommand& command) {
    const char* between = "";
    for (const std::span<const Figure> figures : tables_of(replays, command)) {
        out << std::exchange(between, "\n");
        write_latex(out, replays, figures);
    }
}

/// Writes all replays as CSV: one row each, with the fields of --json except its jobs.
void write_csv(std::ostream& out, std::span<const PolicyReplay> replays, bool rents) {
    bool first = true;
    for (const PolicyReplay& replay : replays) {
        const Json json = json_of(replay, rents);
        std::string header, row;
        for (const auto& [name, value] : json.items()) {
            const char* comma = header.empty() ? "" : ",";
            header += comma + name;
            row += comma + (value.is_null()     ? ""
                            : value.is_string() ? csv_cell(value.get<std::string>())
                                                : value.dump());
        }
        if (std::exchange(first, false)) out << header << '\n';
        out << row << '\n';
    }
}

}  // namespace

ReplayRows::ReplayRows(const ReplayCommand& command, std::ostream& out, std::span<const std::string> names,
                       std::span<const std::string> gpu_types, std::vector<std::string> warnings)
    : command_(&command),
      out_(&out),
      names_(names),
      gpu_types_(gpu_types),
      warnings_(std::move(warnings)),
      csv_(command.csv),
      latex_(command.latex) {
    for (const std::string& warning : warnings_) std::cerr << "goodput: " << warning << '\n';
}

void ReplayRows::add(PolicyReplay replay) {
    replays_.push_back(std::move(replay));
    csv_.save([&](std::ostream& file) { write_csv(file, replays_, !command_->offers.empty()); });
    latex_.save([&](std::ostream& file) { write_all_latex(file, replays_, *command_); });
    if (!command_->json) return;
    Json json = json_of(replays_.back(), !command_->offers.empty());
    if (!warnings_.empty()) json["warnings"] = warnings_;
    if (command_->jobs) json["completions"] = completions_of(replays_.back(), names_);
    write_line(*out_, json);
}

int ReplayRows::finish() {
    if (!command_->json) {
        const char* between = "";
        for (const std::span<const Figure> figures : tables_of(replays_, *command_)) {
            *out_ << std::exchange(between, "\n");
            write_table(*out_, replays_, figures);
        }
        if (const std::string text = incomplete_text(replays_); !text.empty()) *out_ << '\n' << text << '\n';
    }
    out_->flush();
    csv_.finish([&](std::ostream& file) { write_csv(file, replays_, !command_->offers.empty()); });
    latex_.finish([&](std::ostream& file) { write_all_latex(file, replays_, *command_); });
    if (!command_->charts.empty()) write_charts(command_->charts, replays_, gpu_types_);
    return *out_ ? 0 : 1;
}

}  // namespace cli
