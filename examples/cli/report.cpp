#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ostream>
#include <string_view>
#include <tuple>

#include "goodput/core/error.hpp"

namespace cli {

namespace {

// Colours that people with any colour vision can tell apart (Okabe and Ito).
constexpr std::array<const char*, 8> colours{"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                             "#56B4E9", "#D55E00", "#B8A800", "#777777"};

constexpr double left = 96, right = 12, width = 1160, lane_gap = 16, axis_height = 40, lanes_height = 260;

constexpr std::string_view style = R"(
:root { --paper: #fff; --ink: #1b1b1b; --pale: #f1f1ee; --line: #c9c9c4; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e6e6e3; --pale: #24272b; --line: #44484d; } }
body { margin: 2rem auto; max-width: 1200px; padding: 0 1rem; font: 15px/1.45 system-ui, sans-serif;
       background: var(--paper); color: var(--ink); }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; }
table { border-collapse: collapse; margin: 1.2rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 12px; }
.lane { fill: var(--pale); } .grid { stroke: var(--line); stroke-width: .6; }
.held:hover { opacity: .6; }
.legend span { display: inline-block; margin-right: 1.4rem; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
)";

std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        switch (letter) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            default:
                result += letter;
        }
    }
    return result;
}

std::string fixed(double value, int digits) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
    return buffer;
}

/// The GPUs of one type as slots over each other, so that each segment of a job gets a place in the picture.
class Slots {
public:
    explicit Slots(int gpus) : free_from_(static_cast<std::size_t>(gpus), -1) {}

    /// Takes slots for [begin, end) and returns them in runs (first, length): side by side where possible.
    std::vector<std::pair<std::size_t, std::size_t>> take(int gpus, double begin, double end) {
        const auto wanted = static_cast<std::size_t>(gpus);
        std::vector<std::pair<std::size_t, std::size_t>> runs;
        for (std::size_t slot = 0; slot < free_from_.size(); ++slot) {
            if (free_from_[slot] > begin + 1e-6) continue;
            if (!runs.empty() && runs.back().first + runs.back().second == slot)
                ++runs.back().second;
            else
                runs.emplace_back(slot, 1);
        }
        const auto whole =
            std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.second >= wanted; });
        if (whole != runs.end()) runs = {{whole->first, wanted}};
        std::size_t missing = wanted;
        for (auto& [first, length] : runs) {
            length = std::min(length, missing);
            missing -= length;
            for (std::size_t slot = first; slot < first + length; ++slot) free_from_[slot] = end;
        }
        std::erase_if(runs, [](const auto& run) { return run.second == 0; });
        return runs;
    }

private:
    std::vector<double> free_from_;
};

/// Hours between two marks of the axis, so that there are about ten.
double mark_distance(double hours) {
    const double rough = std::max(hours, 1e-3) / 10, power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough) return factor * power;
    return 10 * power;
}

struct Lane {
    std::string name{};
    int gpus = 0;
    double top = 0, height = 0;
};

std::vector<Lane> lanes_of(const goodput::Cluster& cluster) {
    std::vector<Lane> lanes;
    for (const std::string& type : cluster.gpu_types) lanes.push_back({type});
    int all = 0;
    for (const goodput::Node& node : cluster.nodes) {
        lanes[node.gpu_type].gpus += node.gpus;
        all += node.gpus;
    }
    double top = 6;
    for (Lane& lane : lanes) {
        lane.top = top;
        lane.height = std::max(24.0, lanes_height * lane.gpus / std::max(all, 1));
        top += lane.height + lane_gap;
    }
    return lanes;
}

void write_axis(std::ostream& out, double hours, double bottom) {
    const double distance = mark_distance(hours);
    const int digits = distance >= 1 ? 0 : distance >= 0.1 ? 1 : 2;
    for (double hour = 0; hour <= hours * (1 + 1e-9); hour += distance) {
        const double x = left + hour / hours * (width - left - right);
        out << "<line class=\"grid\" x1=\"" << fixed(x, 1) << "\" x2=\"" << fixed(x, 1) << "\" y1=\"0\" y2=\""
            << fixed(bottom, 1) << "\"/><text x=\"" << fixed(x, 1) << "\" y=\"" << fixed(bottom + 14, 1)
            << "\" text-anchor=\"middle\">" << fixed(hour, digits) << "</text>\n";
    }
    out << "<text x=\"" << fixed((left + width - right) / 2, 1) << "\" y=\"" << fixed(bottom + 32, 1)
        << "\" text-anchor=\"middle\">hours since the start of the trace</text>\n";
}

/// A block with a gap to its neighbours where it is large enough for one.
void write_block(std::ostream& out, double x, double y, double block_width, double height) {
    const auto shrunk = [](double size) { return size > 2 ? size - 0.4 : size; };
    out << "<rect x=\"" << fixed(x, 2) << "\" y=\"" << fixed(y, 2) << "\" width=\""
        << fixed(shrunk(block_width), 2) << "\" height=\"" << fixed(shrunk(height), 2) << "\"/>";
}

void write_panel(std::ostream& out, const goodput::Cluster& cluster,
                 std::span<const goodput::Submission> submissions, const PolicyReplay& replay, double hours) {
    const std::vector<Lane> lanes = lanes_of(cluster);
    const double bottom = lanes.empty() ? 0 : lanes.back().top + lanes.back().height + 6;
    out << "<h2>" << escaped(replay.policy) << "</h2>\n<p>" << replay.metrics.completed << " of "
        << replay.metrics.jobs << " jobs completed, on average after "
        << fixed(replay.metrics.average_hours, 2) << " hours; all done after "
        << fixed(replay.metrics.makespan_hours, 2) << " hours.</p>\n"
        << "<svg viewBox=\"0 0 " << width << " " << fixed(bottom + axis_height, 0)
        << "\" role=\"img\" aria-label=\"GPUs held by each job over time under " << escaped(replay.policy)
        << "\">\n";
    for (const Lane& lane : lanes)
        out << "<rect class=\"lane\" x=\"" << left << "\" y=\"" << fixed(lane.top, 1) << "\" width=\""
            << width - left - right << "\" height=\"" << fixed(lane.height, 1) << "\"/><text x=\"" << left - 8
            << "\" y=\"" << fixed(lane.top + lane.height / 2, 1) << "\" text-anchor=\"end\">"
            << escaped(lane.name) << "</text><text x=\"" << left - 8 << "\" y=\""
            << fixed(lane.top + lane.height / 2 + 14, 1) << "\" text-anchor=\"end\">" << lane.gpus
            << " GPUs</text>\n";
    write_axis(out, hours, bottom);

    std::vector<goodput::Segment> segments = replay.result.segments;
    std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) {
        return std::tie(a.begin_seconds, a.job) < std::tie(b.begin_seconds, b.job);
    });
    std::vector<Slots> slots;
    for (const Lane& lane : lanes) slots.emplace_back(lane.gpus);
    const double per_second = (width - left - right) / (hours * 3600);
    for (const goodput::Segment& segment : segments) {
        const goodput::Allotment& allotment = segment.allotment;
        const Lane& lane = lanes[allotment.gpu_type];
        const double unit = lane.height / lane.gpus;
        const goodput::Submission& job = submissions[segment.job];
        out << "<g class=\"held\" fill=\"" << colours[std::min(job.application, colours.size() - 1)]
            << "\"><title>" << escaped(job.name) << ": " << allotment.shape.gpus << " " << escaped(lane.name)
            << " on " << allotment.shape.nodes << (allotment.shape.nodes == 1 ? " node, " : " nodes, ")
            << fixed(segment.begin_seconds / 3600, 2) << " h to " << fixed(segment.end_seconds / 3600, 2)
            << " h</title>";
        for (const auto& [first, length] :
             slots[allotment.gpu_type].take(allotment.shape.gpus, segment.begin_seconds, segment.end_seconds))
            write_block(out, left + segment.begin_seconds * per_second,
                        lane.top + unit * static_cast<double>(first),
                        (segment.end_seconds - segment.begin_seconds) * per_second,
                        unit * static_cast<double>(length));
        out << "</g>\n";
    }
    out << "</svg>\n";
}

}  // namespace

std::span<const std::span<const Figure>> figure_tables() {
    using Of = const PolicyReplay&;
    static constexpr Figure policy{"policy", [](Of of) { return of.policy; }};
    static constexpr Figure times[]{
        policy,
        {"jobs", [](Of of) { return goodput::text_of(of.metrics.jobs); }},
        {"completed", [](Of of) { return goodput::text_of(of.metrics.completed); }},
        {"average JCT h", [](Of of) { return fixed(of.metrics.average_hours, 3); }},
        {"median JCT h", [](Of of) { return fixed(of.metrics.median_hours, 3); }},
        {"99 % JCT h", [](Of of) { return fixed(of.metrics.p99_hours, 3); }},
        {"makespan h", [](Of of) { return fixed(of.metrics.makespan_hours, 2); }},
        {"GPU h/job", [](Of of) { return fixed(of.metrics.gpu_hours_per_job, 3); }},
        {"restarts/job", [](Of of) { return fixed(of.metrics.restarts_per_job, 2); }},
        {"policy ms median", [](Of of) { return fixed(of.milliseconds_median, 3); }},
        {"policy ms 99 %", [](Of of) { return fixed(of.milliseconds_p99, 3); }},
    };
    static constexpr Figure uses[]{
        policy,
        {"queueing h", [](Of of) { return fixed(of.metrics.queueing_hours, 3); }},
        {"rho mean", [](Of of) { return fixed(of.metrics.rho_mean, 2); }},
        {"rho 99 %", [](Of of) { return fixed(of.metrics.rho_p99, 2); }},
        {"rho > 1", [](Of of) { return fixed(100 * of.metrics.rho_above_one, 1) + " %"; }},
        {"utilisation", [](Of of) { return fixed(100 * of.metrics.utilisation, 1) + " %"; }},
        {"effective GPUs", [](Of of) { return fixed(of.metrics.effective_gpus, 2); }},
        {"migrations/job", [](Of of) { return fixed(of.metrics.migrations_per_job, 2); }},
        {"failures/job", [](Of of) { return fixed(of.metrics.failures_per_job, 2); }},
        {"policy s", [](Of of) { return fixed(of.policy_seconds, 3); }},
    };
    static constexpr std::span<const Figure> tables[]{times, uses};
    return tables;
}

void write_report(std::ostream& out, const std::string& title, const goodput::Cluster& cluster,
                  std::span<const std::string> applications, std::span<const goodput::Submission> submissions,
                  std::span<const PolicyReplay> replays) {
    out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n<title>" << escaped(title)
        << "</title>\n<style>" << style << "</style></head>\n<body>\n<h1>" << escaped(title)
        << "</h1>\n<p>Who held which GPUs when. Point at a block to see whose it is. JCT: hours from "
           "submission to "
           "completion. rho: that over the time with an equal share of the cluster.</p>\n";
    for (const std::span<const Figure> table : figure_tables()) {
        out << "<table>\n<tr>";
        for (const Figure& figure : table) out << "<th>" << escaped(figure.name) << "</th>";
        out << "</tr>\n";
        for (const PolicyReplay& replay : replays) {
            out << "<tr>";
            for (const Figure& figure : table) out << "<td>" << escaped(figure.text(replay)) << "</td>";
            out << "</tr>\n";
        }
        out << "</table>\n";
    }
    out << "<p class=\"legend\">";
    std::vector<std::size_t> count(applications.size());
    for (const goodput::Submission& job : submissions) ++count[job.application];
    for (std::size_t a = 0; a < applications.size(); ++a)
        out << "<span><i style=\"background:" << colours[std::min(a, colours.size() - 1)] << "\"></i>"
            << escaped(applications[a]) << " (" << count[a] << (count[a] == 1 ? " job" : " jobs")
            << ")</span>";
    out << "</p>\n";
    double last = 0;
    for (const PolicyReplay& replay : replays)
        for (const goodput::Segment& segment : replay.result.segments)
            last = std::max(last, segment.end_seconds);
    const double hours = std::max(last / 3600, 0.1);
    for (const PolicyReplay& replay : replays) write_panel(out, cluster, submissions, replay, hours);
    out << "</body>\n</html>\n";
}

}  // namespace cli
