#include "chart_files.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "courses.hpp"
#include "markup.hpp"

namespace cli {

namespace {

constexpr double width = 720, height = 360, left = 62, top = 34, bottom = 310, right = 540;
constexpr std::array colours{"#2f62c9", "#c8500a", "#14805c", "#b8288a", "#8a6d00", "#6b4bb0"};
constexpr std::array dashes{"", "7 3", "2 3", "9 3 2 3"};

/// 1, 2 or 5 times a power of ten: divides `range` into at most `count` parts.
double mark_distance(double range, int count) {
    const double power = std::pow(10, std::floor(std::log10(range / count)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power * count >= range * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more = "") {
    return "<text x=\"" + trimmed(x, 1) + "\" y=\"" + trimmed(y, 1) + "\" text-anchor=\"" +
           std::string(anchor) + "\"" + std::string(more) + ">" + escaped(text) + "</text>\n";
}

std::string grid_line(double x1, double y1, double x2, double y2) {
    return "<path class=\"grid\" d=\"M" + trimmed(x1, 1) + ' ' + trimmed(y1, 1) + 'L' + trimmed(x2, 1) + ' ' +
           trimmed(y2, 1) + "\"/>";
}

/// Where numbers are drawn between two ends of the chart.
struct Axis {
    double least = 0, most = 1;
    bool logarithmic = false;

    [[nodiscard]] double part(double value) const {
        const double inside = std::clamp(value, least, most);
        return logarithmic ? std::log(inside / least) / std::log(most / least)
                           : (inside - least) / (most - least);
    }
    [[nodiscard]] std::vector<double> marks() const {
        std::vector<double> marks;
        if (logarithmic) {
            for (int power = static_cast<int>(std::floor(std::log10(least))); std::pow(10, power) <= most;
                 ++power)
                if (std::pow(10, power) >= least) marks.push_back(std::pow(10, power));
            if (marks.size() > 1) return marks;
            return {least, most};
        }
        const double distance = mark_distance(most - least, 6);
        for (int mark = 0; least + mark * distance <= most * (1 + 1e-9); ++mark)
            marks.push_back(least + mark * distance);
        return marks;
    }
};

Axis axis_across(const StepChart& chart) {
    Axis axis{.most = 0, .logarithmic = chart.logarithmic};
    double least = 0;
    for (const Curve& curve : chart.curves)
        for (const auto& [at, value] : curve.steps) {
            axis.most = std::max(axis.most, at);
            if (at > 0) least = least > 0 ? std::min(least, at) : at;
        }
    if (!(axis.most > 0)) axis.most = 1;
    if (chart.logarithmic) axis.least = least > 0 ? std::min(least, axis.most / 10) : axis.most / 10;
    return axis;
}

Axis axis_up(const StepChart& chart) {
    double most = 0;
    for (const Curve& curve : chart.curves)
        for (const auto& [at, value] : curve.steps) most = std::max(most, value);
    if (!(most > 0)) most = 1;
    const double distance = mark_distance(most, 6);
    return {.most = distance * std::ceil(most / distance * (1 - 1e-9))};
}

Curve hours_of(const std::string& name, const Course& course, double end_seconds) {
    Curve curve{name, {}};
    for (const auto& [seconds, number] : course.steps) curve.steps.emplace_back(seconds / 3600, number);
    if (!curve.steps.empty()) curve.steps.emplace_back(end_seconds / 3600, curve.steps.back().second);
    return curve;
}

/// Hours from submission to completion, and which part of all jobs took no longer.
Curve completions_of(const PolicyReplay& replay) {
    std::vector<double> hours;
    for (const goodput::JobOutcome& job : replay.result.jobs)
        if (job.completed_seconds) hours.push_back((*job.completed_seconds - job.submitted_seconds) / 3600);
    std::sort(hours.begin(), hours.end());
    Curve curve{replay.policy, {}};
    for (std::size_t job = 0; job < hours.size(); ++job)
        curve.steps.emplace_back(
            hours[job], 100 * static_cast<double>(job + 1) / static_cast<double>(replay.result.jobs.size()));
    return curve;
}

StepChart prices_of(const PolicyReplay& replay, std::span<const std::string> gpu_types) {
    StepChart chart{.title = "Prices under " + replay.policy,
                    .across = "hours since the start of the trace",
                    .up = "price of a GPU"};
    for (const PoolPrices& pool : replay.rounds.prices) {
        Course course;
        for (const PriceStep& step : pool.steps) course.steps.emplace_back(step.seconds, step.price);
        chart.curves.push_back(hours_of((pool.spot ? "spot " : "") + gpu_types[pool.gpu_type] + " x " +
                                            std::to_string(pool.gpus_per_node),
                                        course, replay.result.end_seconds));
    }
    return chart;
}

/// A policy's name as part of a file's.
std::string file_part(const PolicyReplay& replay) {
    std::string part = replay.host.empty() ? replay.policy : replay.policy + "-" + replay.host;
    for (char& letter : part)
        if (letter == '/' || letter == '\\') letter = '_';
    return part;
}

}  // namespace

std::string svg_of(const StepChart& chart) {
    const Axis across = axis_across(chart), up = axis_up(chart);
    const auto x = [&](double value) { return left + (right - left) * across.part(value); };
    const auto y = [&](double value) { return bottom - (bottom - top) * up.part(value); };
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + trimmed(width, 0) + ' ' +
                      trimmed(height, 0) + "\" role=\"img\" aria-label=\"" + escaped(chart.title) +
                      "\">\n<style>text{font:12px sans-serif;fill:#343a40}.grid{stroke:#e3e3de}"
                      ".curve{fill:none;stroke-width:1.8}</style>\n";
    svg += text_at(left, top - 14, "start", chart.title, " font-weight=\"bold\"");
    for (const double mark : up.marks()) {
        svg += grid_line(left, y(mark), right, y(mark));
        svg += text_at(left - 7, y(mark) + 4, "end", trimmed(mark, 6));
    }
    for (const double mark : across.marks()) {
        svg += grid_line(x(mark), top, x(mark), bottom);
        svg += text_at(x(mark), bottom + 17, "middle", trimmed(mark, 6));
    }
    svg += text_at((left + right) / 2, bottom + 36, "middle", chart.across);
    svg += text_at(0, 0, "middle", chart.up,
                   " transform=\"translate(14 " + trimmed((top + bottom) / 2, 1) + ") rotate(-90)\"");
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        const Curve& curve = chart.curves[i];
        const std::string look = std::string("stroke=\"") + colours[i % colours.size()] +
                                 "\" stroke-dasharray=\"" + dashes[i / colours.size() % dashes.size()] + "\"";
        std::string path;
        for (const auto& [at, value] : curve.steps) {
            if (chart.logarithmic && !(at > 0)) continue;
            path += path.empty() ? "M" + trimmed(x(at), 1) + ' ' + trimmed(y(value), 1)
                                 : 'H' + trimmed(x(at), 1) + 'V' + trimmed(y(value), 1);
        }
        svg += "<path class=\"curve\" " + look + " d=\"" + path + "\"><title>" + escaped(curve.name) +
               "</title></path>\n";
        const double row = top + 8 + 17 * static_cast<double>(i);
        svg += "<path class=\"curve\" " + look + " d=\"M" + trimmed(right + 14, 1) + ' ' + trimmed(row, 1) +
               "h22\"/>";
        svg += text_at(right + 42, row + 4, "start", curve.name);
    }
    return svg + "</svg>\n";
}

void write_charts(const std::string& folder, std::span<const PolicyReplay> replays,
                  std::span<const std::string> gpu_types) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    const auto write = [&](const std::string& name, const StepChart& chart) {
        const fs::path path = fs::path(folder) / (name + ".svg");
        std::ofstream file(path);
        file << svg_of(chart);
        file.flush();
        if (!file) throw std::runtime_error(path.string() + ": cannot be written");
    };
    const std::string hours = "hours since the start of the trace";
    StepChart completions{"Jobs completed within a time", "hours from submission to completion",
                          "% of all jobs", true};
    StepChart waiting{"Jobs that wait", hours, "jobs"};
    StepChart held{"GPUs that are held", hours, "% of those that are there"};
    StepChart restarts{"Restarts so far", hours, "restarts"};
    for (const PolicyReplay& replay : replays) {
        const std::string name = replay.host.empty() ? replay.policy : replay.policy + ", " + replay.host;
        const double end = replay.result.end_seconds;
        completions.curves.push_back(completions_of(replay));
        completions.curves.back().name = name;
        waiting.curves.push_back(hours_of(name, waiting_jobs(replay), end));
        // From one decision to the next a job may stop and start: curves would cover each other.
        held.curves.push_back(
            hours_of(name, means_over(held_part(replay), std::max(end, 1.0) / 100, end), end));
        Course course{{{0, 0}}};
        for (const Restart& restart : replay.rounds.restarts)
            course.steps.emplace_back(restart.seconds, static_cast<double>(course.steps.size()));
        restarts.curves.push_back(hours_of(name, course, end));
        if (!replay.rounds.prices.empty()) write("prices-" + file_part(replay), prices_of(replay, gpu_types));
    }
    write("completions", completions);
    write("waiting", waiting);
    write("held", held);
    write("restarts", restarts);
}

}  // namespace cli
