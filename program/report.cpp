#include "report.hpp"

#include <algorithm>
#include <locale>
#include <ostream>

#include "charts.hpp"
#include "csv.hpp"
#include "goodput/version.hpp"
#include "markup.hpp"

namespace cli {

namespace {

void write_summary(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays) {
    out << "<p>" << trace.submissions.size() << (trace.submissions.size() == 1 ? " job of " : " jobs of ")
        << trace.applications.size() << (trace.applications.size() == 1 ? " application" : " applications")
        << " on ";
    std::vector<int> gpus(trace.cluster.gpu_types.size());
    for (const goodput::Node& node : trace.cluster.nodes) gpus[node.gpu_type] += node.gpus;
    for (std::size_t type = 0; type < gpus.size(); ++type)
        out << (type == 0                ? ""
                : type + 1 < gpus.size() ? ", "
                                         : " and ")
            << gpus[type] << ' ' << escaped(trace.cluster.gpu_types[type]);
    out << " GPUs, under " << replays.size() << (replays.size() == 1 ? " policy" : " policies") << ".</p>\n";
    out << "<p class=\"hint\">";
    if (!trace.command.empty()) out << "<code>" << escaped(trace.command) << "</code>, ";
    out << "seed " << trace.seed << ", goodput " << goodput::version << ".</p>\n";
}

/// The result in a sentence: whose jobs complete first on average, and by how much. Policies that complete
/// fewer jobs than others are no match for them.
std::string result_of(std::span<const PolicyReplay> replays) {
    if (replays.empty()) return "No policy was replayed.";
    std::vector<const PolicyReplay*> order;
    for (const PolicyReplay& replay : replays) order.push_back(&replay);
    std::stable_sort(order.begin(), order.end(), [](const PolicyReplay* a, const PolicyReplay* b) {
        if (a->metrics.completed != b->metrics.completed) return a->metrics.completed > b->metrics.completed;
        return a->metrics.average_hours < b->metrics.average_hours;
    });
    const PolicyReplay& first = *order.front();
    const std::string hours = fixed(first.metrics.average_hours, 2) + " hours after its submission";
    if (first.metrics.completed == 0) return "No job completes under any policy.";
    const std::string who = first.metrics.completed == first.metrics.jobs
                                ? "a job completes"
                                : std::to_string(first.metrics.completed) + " of " +
                                      std::to_string(first.metrics.jobs) + " jobs complete, each";
    if (replays.size() == 1) return "Under " + first.policy + " " + who + " on average " + hours + ".";
    const PolicyReplay& second = *order[1];
    if (second.metrics.completed < first.metrics.completed)
        return "Only " + first.policy + " completes " + std::to_string(first.metrics.completed) + " of " +
               std::to_string(first.metrics.jobs) + " jobs, a job on average " + hours + "; " +
               second.policy + " completes " + std::to_string(second.metrics.completed) + ".";
    const double part =
        second.metrics.average_hours > 0 ? 1 - first.metrics.average_hours / second.metrics.average_hours : 0;
    if (part < 0.005)
        return "Jobs complete equally soon under " + first.policy + " and " + second.policy +
               ", on average " + hours + ".";
    return "Jobs complete soonest under " + first.policy + ", on average " + hours + ": " +
           fixed(100 * part, 0) + " % sooner than under " + second.policy + ", the next.";
}

/// A file that the page carries in itself.
void write_download(std::ostream& out, const std::string& file, const std::string& text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    out << "<a download=\"" << file << "\" href=\"data:text/csv;charset=utf-8,";
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if ((letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
            (letter >= 'a' && letter <= 'z') || letter == '-' || letter == '_' || letter == '.')
            out << letter;
        else
            out << '%' << digits[byte / 16] << digits[byte % 16];
    }
    out << "\">" << file << "</a>";
}

void write_downloads(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays) {
    std::string figures, jobs = "policy,job,application,submitted_s,completed_s,restarts,gpu_s\n";
    bool first = true;
    for (const std::span<const Figure> table : figure_tables())
        for (const Figure& figure : table)
            if ((figure.value && !figure.by_the_clock) || first) {
                figures += (first ? "" : ",") + csv_cell(figure.name);
                first = false;
            }
    figures += '\n';
    for (const PolicyReplay& replay : replays) {
        figures += csv_cell(replay.policy);
        for (const std::span<const Figure> table : figure_tables())
            for (const Figure& figure : table)
                if (figure.value && !figure.by_the_clock)
                    figures += "," + (figure.says(replay) ? trimmed(figure.value(replay), 9) : std::string());
        figures += '\n';
        for (std::size_t j = 0; j < replay.result.jobs.size() && j < trace.submissions.size(); ++j) {
            const goodput::JobOutcome& job = replay.result.jobs[j];
            jobs += csv_cell(replay.policy) + ',' + csv_cell(trace.submissions[j].name) + ',' +
                    csv_cell(trace.applications[trace.submissions[j].application]) + ',' +
                    trimmed(job.submitted_seconds, 3) + ',' +
                    (job.completed_seconds ? trimmed(*job.completed_seconds, 3) : "") + ',' +
                    std::to_string(job.restarts) + ',' + trimmed(job.gpu_seconds, 3) + '\n';
        }
    }
    out << "<p class=\"hint\">To download: ";
    write_download(out, "figures.csv", figures);
    out << ", ";
    write_download(out, "jobs.csv", jobs);
    out << ".</p>\n";
}

void write_contents(std::ostream& out, std::span<const PolicyReplay> replays) {
    out << "<nav><a href=\"#figures\">Figures</a> <a href=\"#times\">Completion times</a> "
           "<a href=\"#load\">Load</a> <a href=\"#restarts\">Restarts</a> "
           "<a href=\"#timelines\">Who held which GPUs</a>";
    if (replays.size() > 1) out << " <a href=\"#compare\">Side by side</a>";
    for (std::size_t p = 0; p < replays.size(); ++p)
        out << " <a href=\"#policy" << p << "\"><i class=\"" << policy_class(p) << "\"></i>"
            << escaped(replays[p].policy) << "</a>";
    out << "</nav>\n";
}

void write_figures(std::ostream& out, std::span<const PolicyReplay> replays) {
    for (const std::span<const Figure> table : figure_tables()) {
        out << "<div class=\"wide\"><table>\n<tr>";
        for (const Figure& figure : table) out << "<th>" << escaped(figure.name) << "</th>";
        out << "</tr>\n";
        std::vector<std::string> best;
        for (const Figure& figure : table) best.push_back(best_text(figure, replays));
        for (const PolicyReplay& replay : replays) {
            out << "<tr>";
            for (std::size_t i = 0; i < table.size(); ++i) {
                const std::string text = table[i].text(replay);
                std::string style = table[i].by_the_clock ? "clock" : "";
                if (!best[i].empty() && text == best[i]) style += style.empty() ? "best" : " best";
                out << (style.empty() ? "<td>" : "<td class=\"" + style + "\">") << escaped(text) << "</td>";
            }
            out << "</tr>\n";
        }
        out << "</table></div>\n";
    }
    if (const std::string text = incomplete_text(replays); !text.empty())
        out << "<p><strong>" << escaped(text) << "</strong></p>\n";
    out << "<p class=\"hint\">"
        << (replays.size() > 1 ? "The best of each column is marked, where more or less of it is better. "
                               : "")
        << "JCT: job completion time, hours from submission to completion. rho: that over the time with an "
           "equal share of the cluster. Effective GPUs: how many, each the fastest for its job and never "
           "idle, would have done the same.</p>\n";
}

/// What the script reads: times in hours, by job and policy.
void write_data(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays,
                const TimeAxis& axis) {
    const auto list = [&](std::size_t count, auto write_one) {
        out << '[';
        for (std::size_t i = 0; i < count; ++i) {
            if (i > 0) out << ',';
            write_one(i);
        }
        out << ']';
    };
    out << "<script type=\"application/json\" id=\"data\">{\"quantum\":" << trimmed(axis.quantum_seconds, 0)
        << ",\"end\":" << axis.end << ",\"applications\":";
    list(trace.applications.size(), [&](std::size_t a) { out << quoted(trace.applications[a]); });
    out << ",\n\"names\":";
    list(trace.submissions.size(), [&](std::size_t job) { out << quoted(trace.submissions[job].name); });
    out << ",\n\"application\":";
    list(trace.submissions.size(), [&](std::size_t job) { out << trace.submissions[job].application; });
    out << ",\n\"submitted\":";
    list(trace.submissions.size(),
         [&](std::size_t job) { out << trimmed(trace.submissions[job].time_seconds / 3600, 3); });
    out << ",\n\"policies\":";
    list(replays.size(), [&](std::size_t p) {
        out << "\n{\"name\":" << quoted(replays[p].policy) << ",\"hours\":";
        const std::vector<double> hours = completion_hours(replays[p].result);
        list(hours.size(),
             [&](std::size_t job) { out << (hours[job] < 0 ? "null" : trimmed(hours[job], 4)); });
        out << ",\"restarts\":";
        list(hours.size(), [&](std::size_t job) { out << replays[p].result.jobs[job].restarts; });
        out << '}';
    });
    out << "}</script>\n";
}

void write_bar(std::ostream& out, const ReplayedTrace& trace) {
    out << "<div class=\"bar\">";
    write_legend(out, trace.applications);
    out << "<p class=\"tools\" hidden><label><input type=\"checkbox\" id=\"marks\" checked> mark "
           "restarts</label> "
           "<button id=\"earlier\">&#9664;</button><button id=\"later\">&#9654;</button>"
           "<button id=\"whole\">whole time</button></p></div>\n";
}

void write_comparison(std::ostream& out, std::span<const PolicyReplay> replays) {
    out << "<section id=\"compare\" hidden><h2>Side by side</h2>\n<p>";
    for (std::size_t side = 0; side < 2; ++side) {
        out << (side == 0 ? "<select>" : " and <select>");
        for (std::size_t p = 0; p < replays.size(); ++p)
            out << "<option value=\"" << p << '"' << (p == side ? " selected" : "") << '>'
                << escaped(replays[p].policy) << "</option>";
        out << "</select>";
    }
    out << "</p>\n<div class=\"side\"></div><div class=\"side\"></div>\n"
           "<div class=\"differences\"><div><h3>Completion time of every job</h3><div "
           "class=\"scatter\"></div></div><div><h3>Jobs that differ most</h3><div class=\"wide "
           "most\"></div></div></div></section>\n";
}

}  // namespace

void write_report(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays) {
    const std::locale before = out.imbue(std::locale::classic());
    const TimeAxis axis = time_axis_of(replays);
    out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
           "content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>"
        << escaped(trace.title) << "</title>\n<style>" << report_style << "</style></head>\n<body>\n<h1>"
        << escaped(trace.title) << "</h1>\n";
    out << "<p class=\"result\">" << escaped(result_of(replays)) << "</p>\n";
    write_summary(out, trace, replays);
    write_contents(out, replays);
    out << "<section id=\"figures\"><h2>Figures</h2>\n";
    write_figures(out, replays);
    write_downloads(out, trace, replays);
    out << "</section>\n<section id=\"times\"><h2>Completion times</h2>\n";
    write_completions(out, trace, replays);
    out << "</section>\n<section id=\"load\"><h2>Load over time</h2>\n";
    write_load(out, replays, axis);
    out << "</section>\n<section id=\"restarts\"><h2>Restarts</h2>\n";
    write_restarts(out, replays, axis);
    out << "</section>\n<div id=\"timelines\"><h2>Who held which GPUs when</h2>\n<p class=\"hint\">Every "
           "block "
           "is GPUs that a job held, coloured by application. <span class=\"script\" hidden>Point at one to "
           "see "
           "whose it is, click to keep that job in view. Drag across any axis of time to see a part of it; "
           "all "
           "pictures follow, a double click shows the whole again.</span></p>\n";
    write_bar(out, trace);
    if (replays.size() > 1) write_comparison(out, replays);
    for (std::size_t p = 0; p < replays.size(); ++p) {
        const PolicyReplay& replay = replays[p];
        out << "<section id=\"policy" << p << "\"><h2>" << escaped(replay.policy) << "</h2>\n<p>"
            << replay.metrics.completed << " of " << replay.metrics.jobs << " jobs completed";
        if (replay.metrics.completed > 0)
            out << ", on average after " << fixed(replay.metrics.average_hours, 2) << " hours; "
                << (replay.metrics.completed < replay.metrics.jobs ? "the last of them" : "all done")
                << " after " << fixed(replay.metrics.makespan_hours, 2) << " hours";
        out << ".</p>\n";
        write_gpus(out, trace, replay, axis, p);
        write_prices(out, trace, replay, axis);
        out << "</section>\n";
    }
    out << "</div>\n";
    write_data(out, trace, replays, axis);
    out << "<script>" << report_script << "</script>\n</body>\n</html>\n";
    out.imbue(before);
}

}  // namespace cli
