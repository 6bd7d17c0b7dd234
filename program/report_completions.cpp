// How long jobs took: one cumulative curve a policy, and boxes by application.

#include <algorithm>
#include <ostream>

#include "charts.hpp"
#include "goodput/sim/metrics.hpp"
#include "markup.hpp"

namespace cli {

namespace {

constexpr double row_height = 11, group_gap = 12;

void write_curves(std::ostream& out, std::span<const PolicyReplay> replays, const LogAxis& axis) {
    const Frame frame{.height = 280};
    begin_picture(out, 1160, frame.bottom() + 40, "part of the jobs completed within a time, by policy",
                  " data-low=\"" + trimmed(axis.low, 9) + "\" data-high=\"" + trimmed(axis.high, 9) +
                      "\" id=\"completions\"");
    write_scale(out, frame, {{0, 20, 40, 60, 80, 100}, 0}, " %");
    write_log_axis(out, frame, axis, "time from submission to completion");
    out << "<g class=\"curves\">\n";
    for (std::size_t p = 0; p < replays.size(); ++p) {
        std::vector<double> hours = completion_hours(replays[p].result);
        const auto all = static_cast<double>(hours.size());
        std::erase_if(hours, [](double value) { return value < 0; });
        std::sort(hours.begin(), hours.end());
        out << "<path class=\"" << policy_class(p) << "\" d=\"M" << trimmed(frame.left, 1) << ' '
            << trimmed(frame.bottom(), 1);
        for (std::size_t i = 0; i < hours.size(); ++i)
            out << 'H' << trimmed(frame.left + axis.fraction(hours[i]) * frame.width, 1) << 'V'
                << trimmed(frame.bottom() - static_cast<double>(i + 1) / all * frame.height, 1);
        out << 'H' << trimmed(frame.right(), 1) << "\"><title>" << escaped(replays[p].policy)
            << "</title></path>\n";
    }
    out << "</g>\n";
    end_picture(out);
}

void write_box(std::ostream& out, const std::vector<double>& hours, const Frame& frame, const LogAxis& axis,
               double y, const std::string& style, const std::string& title) {
    const auto x = [&](double fraction) {
        return frame.left + axis.fraction(goodput::quantile(hours, fraction)) * frame.width;
    };
    constexpr double thickness = row_height - 3;
    const double low = x(0.25), width = x(0.75) - low, drawn = std::max(width, 4.0),
                 middle = y + row_height / 2;
    out << "<g class=\"box " << style << "\"><title>" << title << "</title><path d=\"M" << trimmed(x(0), 1)
        << ' ' << trimmed(middle, 1) << 'H' << trimmed(x(1), 1) << "\"/><rect x=\""
        << trimmed(low - (drawn - width) / 2, 1) << "\" y=\"" << trimmed(y + 1.5, 1) << "\" width=\""
        << trimmed(drawn, 1) << "\" height=\"" << trimmed(thickness, 1) << "\"/><path class=\"median\" d=\"M"
        << trimmed(x(0.5), 1) << ' ' << trimmed(y + 1.5, 1) << 'v' << trimmed(thickness, 1) << "\"/></g>\n";
}

void write_boxes(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays,
                 const LogAxis& axis) {
    std::vector<std::size_t> jobs(trace.applications.size());
    for (const goodput::Submission& job : trace.submissions) ++jobs[job.application];
    const auto groups = static_cast<double>(
        std::count_if(jobs.begin(), jobs.end(), [](std::size_t count) { return count > 0; }));
    const double group = std::max(row_height * static_cast<double>(replays.size()), 28.0) + group_gap;
    const Frame frame{.height = groups * group};
    begin_picture(out, 1160, frame.bottom() + 40, "completion times by application and policy");
    write_log_axis(out, frame, axis, "time from submission to completion");
    double top = frame.top;
    for (std::size_t a = 0; a < trace.applications.size(); ++a) {
        if (jobs[a] == 0) continue;
        const double centre = top + group / 2;
        out << "<text class=\"row\" x=\"" << trimmed(frame.left - 8, 1) << "\" y=\"" << trimmed(centre, 1)
            << "\">" << escaped(shortened(trace.applications[a], 14)) << "<title>"
            << escaped(trace.applications[a]) << "</title></text><text class=\"row pale\" x=\""
            << trimmed(frame.left - 8, 1) << "\" y=\"" << trimmed(centre + 14, 1) << "\">" << jobs[a]
            << (jobs[a] == 1 ? " job" : " jobs") << "</text>\n<path class=\"rule\" d=\"M0 "
            << trimmed(top + group, 1) << "H1160\"/>\n";
        double y = centre - row_height * static_cast<double>(replays.size()) / 2;
        for (std::size_t p = 0; p < replays.size(); ++p, y += row_height) {
            std::vector<double> hours = completion_hours(replays[p].result);
            std::size_t kept = 0;
            for (std::size_t job = 0; job < hours.size(); ++job)
                if (trace.submissions[job].application == a && hours[job] >= 0) hours[kept++] = hours[job];
            hours.resize(kept);
            if (hours.empty()) continue;
            std::string title = escaped(trace.applications[a] + " under " + replays[p].policy) + ": median " +
                                fixed(goodput::quantile(hours, 0.5), 2) + " h, half of the jobs from " +
                                fixed(goodput::quantile(hours, 0.25), 2) + " to " +
                                fixed(goodput::quantile(hours, 0.75), 2) + " h, all from " +
                                fixed(goodput::quantile(hours, 0), 2) + " to " +
                                fixed(goodput::quantile(hours, 1), 2) + " h";
            if (kept < jobs[a]) title += "; " + std::to_string(jobs[a] - kept) + " not completed";
            write_box(out, hours, frame, axis, y, policy_class(p), title);
        }
        top += group;
    }
    end_picture(out);
}

}  // namespace

void write_completions(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays) {
    if (std::none_of(replays.begin(), replays.end(),
                     [](const PolicyReplay& replay) { return replay.metrics.completed > 0; })) {
        out << "<p>No job was completed.</p>\n";
        return;
    }
    const LogAxis axis = log_axis_of(replays);
    write_legend(out, replays);
    out << "<h3>Jobs completed within a time</h3>\n";
    write_curves(out, replays, axis);
    out << "<h3>By application</h3>\n<p class=\"hint\">Box: the middle half of the jobs, with the median; "
           "line: "
           "from the shortest to the longest.</p>\n";
    write_boxes(out, trace, replays, axis);
}

}  // namespace cli
