#include "report/chart_files.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "report/markup.hpp"

namespace cli {

namespace {

constexpr double width = 720, height = 360, left = 62, top = 34, bottom = 310, right = 540;
constexpr std::array colours{"#2f62c9", "#c8500a", "#14805c", "#b8288a", "#8a6d00", "#6b4bb0"};
constexpr std::array dashes{"", "7 3", "2 3", "9 3 2 3"};

/// Returns 1, 2 or 5 times a power of ten that divides `range` into at most `count` parts.
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

/// Maps numbers to positions between two ends of the chart.
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

/// Returns a policy's name as part of a file name.
std::string file_part(const PolicyReplay& replay) {
    std::string part = replay.host.empty() ? replay.policy : replay.policy + "-" + replay.host;
    for (char& letter : part)
        if (letter == '/' || letter == '\\') letter = '_';
    return part;
}

}  // namespace

std::string svg_of(const Chart& chart) {
    const Axis across{chart.x_least, chart.x_most, chart.logarithmic};
    const double distance = mark_distance(chart.y_most, 6);
    const Axis up{.most = distance * std::ceil(chart.y_most / distance * (1 - 1e-9))};
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
    svg += text_at((left + right) / 2, bottom + 36, "middle",
                   chart.x_title + (chart.logarithmic ? ", hours" : ""));
    svg += text_at(0, 0, "middle", chart.y_title,
                   " transform=\"translate(14 " + trimmed((top + bottom) / 2, 1) + ") rotate(-90)\"");
    for (std::size_t i = 0; i < chart.lines.size(); ++i) {
        const Line& line = chart.lines[i];
        const std::string look = std::string("stroke=\"") + colours[i % colours.size()] +
                                 "\" stroke-dasharray=\"" + dashes[i / colours.size() % dashes.size()] + "\"";
        std::string path;
        for (const auto& [at, value] : line.points)
            if (at <= chart.x_most)
                path += path.empty() ? "M" + trimmed(x(at), 1) + ' ' + trimmed(y(value), 1)
                                     : 'H' + trimmed(x(at), 1) + 'V' + trimmed(y(value), 1);
        if (!path.empty()) path += 'H' + trimmed(x(line.end), 1);
        svg += "<path class=\"curve\" " + look + " d=\"" + path + "\"><title>" + escaped(line.name) +
               "</title></path>\n";
        const double row = top + 8 + 17 * static_cast<double>(i);
        svg += "<path class=\"curve\" " + look + " d=\"M" + trimmed(right + 14, 1) + ' ' + trimmed(row, 1) +
               "h22\"/>";
        svg += text_at(right + 42, row + 4, "start", line.name);
    }
    return svg + "</svg>\n";
}

void write_charts(const std::string& folder, std::span<const PolicyReplay> replays,
                  std::span<const std::string> gpu_types) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    const auto write = [&](const std::string& name, const Chart& chart) {
        const fs::path path = fs::path(folder) / (name + ".svg");
        std::ofstream file(path);
        file << svg_of(chart);
        file.flush();
        if (!file) throw std::runtime_error(path.string() + ": cannot be written");
    };
    for (const Chart& chart : charts_of(replays)) write(chart.name, chart);
    for (const PolicyReplay& replay : replays)
        if (const Chart chart = price_chart(gpu_types, replay, shown_hours(replays)); !chart.lines.empty())
            write("prices-" + file_part(replay), chart);
}

}  // namespace cli
