#include "charts.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "markup.hpp"

namespace cli {

namespace {

constexpr long finest = 20000;  ///< quanta of a page: some twenty a pixel

/// The round distance (1, 2 or 5 times a power of ten) that divides `range` into at most about `count` parts.
double mark_distance(double range, int count) {
    const double rough = range / count, power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

int digits_for(double distance) {
    return std::max(0, static_cast<int>(-std::floor(std::log10(distance) + 1e-9)));
}

struct Duration {
    double hours;
    const char* text;
};
constexpr Duration durations[]{
    {1 / 3600.0, "1 s"},
    {2 / 3600.0, "2 s"},
    {5 / 3600.0, "5 s"},
    {10 / 3600.0, "10 s"},
    {30 / 3600.0, "30 s"},
    {1 / 60.0, "1 min"},
    {2 / 60.0, "2 min"},
    {3 / 60.0, "3 min"},
    {5 / 60.0, "5 min"},
    {10 / 60.0, "10 min"},
    {15 / 60.0, "15 min"},
    {20 / 60.0, "20 min"},
    {30 / 60.0, "30 min"},
    {1, "1 h"},
    {2, "2 h"},
    {3, "3 h"},
    {5, "5 h"},
    {10, "10 h"},
    {24, "1 day"},
    {48, "2 days"},
    {120, "5 days"},
    {240, "10 days"},
    {720, "30 days"},
    {2400, "100 days"},
    {8760, "1 year"},
    {87600, "10 years"},
};

}  // namespace

long TimeAxis::at(double seconds) const { return std::lround(seconds / quantum_seconds); }

TimeAxis time_axis_of(std::span<const PolicyReplay> replays) {
    double last = 360;
    for (const PolicyReplay& replay : replays) {
        for (const goodput::HeldPeriod& period : replay.result.held_periods)
            last = std::max(last, period.end_seconds);
        for (const goodput::JobOutcome& job : replay.result.jobs)
            last = std::max(last, job.submitted_seconds);
    }
    TimeAxis axis;
    axis.quantum_seconds = std::ceil(last / static_cast<double>(finest));
    axis.end = static_cast<long>(std::ceil(last / axis.quantum_seconds));
    return axis;
}

void begin_picture(std::ostream& out, double width, double height, const std::string& label,
                   const std::string& attributes) {
    out << "<div class=\"scroll\"><svg class=\"picture\" viewBox=\"0 0 " << trimmed(width, 1) << ' '
        << trimmed(height, 1) << "\" role=\"img\" aria-label=\"" << escaped(label) << '"' << attributes
        << ">\n";
}
void end_picture(std::ostream& out) { out << "</svg></div>\n"; }

void begin_time_view(std::ostream& out, const Frame& frame, const TimeAxis& axis, double units,
                     const std::string& attributes, const std::string& style) {
    out << "<svg class=\"view" << style << "\" x=\"" << trimmed(frame.left, 1) << "\" y=\""
        << trimmed(frame.top, 1) << "\" width=\"" << trimmed(frame.width, 1) << "\" height=\""
        << trimmed(frame.height, 1) << "\" viewBox=\"0 0 " << axis.end << ' ' << trimmed(units, 1)
        << "\" preserveAspectRatio=\"none\"" << attributes << ">\n";
}
void end_time_view(std::ostream& out) { out << "</svg>\n"; }

void write_time_axis(std::ostream& out, const Frame& frame, const TimeAxis& axis) {
    out << "<g class=\"axis time\" data-left=\"" << trimmed(frame.left, 1) << "\" data-width=\""
        << trimmed(frame.width, 1) << "\" data-top=\"" << trimmed(frame.top, 1) << "\" data-bottom=\""
        << trimmed(frame.bottom(), 1) << "\">";
    const double hours = axis.hours(axis.end), distance = mark_distance(hours, frame.width > 700 ? 12 : 6);
    for (int i = 0; i * distance <= hours; ++i) {
        const std::string x = trimmed(frame.left + i * distance / hours * frame.width, 1);
        out << "<path d=\"M" << x << ' ' << trimmed(frame.top, 1) << 'V' << trimmed(frame.bottom(), 1)
            << "\"/><text x=\"" << x << "\" y=\"" << trimmed(frame.bottom() + 15, 1) << "\">"
            << fixed(i * distance, digits_for(distance)) << "</text>";
    }
    out << "</g>\n<text class=\"name\" x=\"" << trimmed(frame.left + frame.width / 2, 1) << "\" y=\""
        << trimmed(frame.bottom() + 31, 1) << "\">hours since the start of the trace</text>\n";
}

Scale scale_to(double most, int count) {
    Scale scale;
    const double distance = mark_distance(most > 0 ? most : 1, count);
    scale.digits = digits_for(distance);
    scale.marks.push_back(0);
    while (scale.marks.back() < most * (1 - 1e-9) || scale.marks.size() < 2)
        scale.marks.push_back(static_cast<double>(scale.marks.size()) * distance);
    return scale;
}

void write_scale(std::ostream& out, const Frame& frame, const Scale& scale, const std::string& unit) {
    out << "<g class=\"axis scale\">";
    for (const double mark : scale.marks) {
        const double y = frame.bottom() - mark / scale.most() * frame.height;
        out << "<path d=\"M" << trimmed(frame.left, 1) << ' ' << trimmed(y, 1) << 'H'
            << trimmed(frame.right(), 1) << "\"/><text x=\"" << trimmed(frame.left - 8, 1) << "\" y=\""
            << trimmed(y + 4, 1) << "\">" << fixed(mark, scale.digits) << unit << "</text>";
    }
    out << "</g>\n";
}

double LogAxis::fraction(double hours) const {
    return std::log(std::clamp(hours, low, high) / low) / std::log(high / low);
}

LogAxis log_axis_of(std::span<const PolicyReplay> replays) {
    double least = 1e9, most = 1 / 3600.0;
    for (const PolicyReplay& replay : replays)
        for (const double hours : completion_hours(replay.result))
            if (hours >= 0) {
                least = std::min(least, std::max(hours, 1 / 3600.0));
                most = std::max(most, hours);
            }
    return {std::min(least, most) / 1.15, most * 1.15};
}

void write_log_axis(std::ostream& out, const Frame& frame, const LogAxis& axis, const std::string& label) {
    out << "<g class=\"axis\">";
    double last = -1e9;
    for (const Duration& duration : durations) {
        if (duration.hours < axis.low || duration.hours > axis.high) continue;
        const double x = frame.left + axis.fraction(duration.hours) * frame.width;
        out << "<path d=\"M" << trimmed(x, 1) << ' ' << trimmed(frame.top, 1) << 'V'
            << trimmed(frame.bottom(), 1) << "\"/>";
        if (x - last < 52) continue;
        last = x;
        out << "<text x=\"" << trimmed(x, 1) << "\" y=\"" << trimmed(frame.bottom() + 15, 1) << "\">"
            << duration.text << "</text>";
    }
    out << "</g>\n<text class=\"name\" x=\"" << trimmed(frame.left + frame.width / 2, 1) << "\" y=\""
        << trimmed(frame.bottom() + 31, 1) << "\">" << label << "</text>\n";
}

std::vector<double> completion_hours(const goodput::ReplayResult& result) {
    std::vector<double> hours;
    for (const goodput::JobOutcome& job : result.jobs)
        hours.push_back(job.completed_seconds ? (*job.completed_seconds - job.submitted_seconds) / 3600 : -1);
    return hours;
}

namespace {

void write_name(std::ostream& out, const std::string& style, const std::string& name) {
    out << "<span><i class=\"" << style << "\"></i>" << escaped(name) << "</span> ";
}

}  // namespace

void write_legend(std::ostream& out, std::span<const std::string> applications) {
    out << "<p class=\"legend\">";
    for (std::size_t a = 0; a < applications.size(); ++a)
        write_name(out, "a" + std::to_string(colour_of(a)), applications[a]);
    out << "</p>\n";
}

void write_legend(std::ostream& out, std::span<const PolicyReplay> replays) {
    out << "<p class=\"legend\">";
    for (std::size_t p = 0; p < replays.size(); ++p) write_name(out, policy_class(p), replays[p].policy);
    out << "</p>\n";
}

}  // namespace cli
