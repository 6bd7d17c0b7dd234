// What changes from round to round: jobs that wait, GPUs that are held, prices and restarts.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

#include "charts.hpp"
#include "courses.hpp"
#include "markup.hpp"

namespace cli {

namespace {

constexpr double units = 1000;  ///< height of a view

/// A time in quanta and a height in units, downwards.
using Point = std::pair<long, long>;

long height_of(double value, double most) { return std::lround(units * (1 - value / most)); }

/// A course in steps up to `end`; of the points of one quantum the last counts.
void write_steps(std::ostream& out, std::span<const Point> points, long end) {
    long time = -1, height = -1;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (i + 1 < points.size() && points[i + 1].first == points[i].first) continue;
        if (points[i].second == height) continue;
        if (time < 0)
            out << 'M' << points[i].first << ' ' << points[i].second;
        else
            out << 'H' << points[i].first << 'V' << points[i].second;
        std::tie(time, height) = points[i];
    }
    if (time >= 0 && time < end) out << 'H' << end;
}

void write_restarts_over_time(std::ostream& out, std::span<const PolicyReplay> replays, const TimeAxis& axis,
                              const Frame& frame) {
    std::size_t most = 4;  // whole numbers at the marks
    for (const PolicyReplay& replay : replays) most = std::max(most, replay.rounds.restarts.size());
    const Scale scale = scale_to(static_cast<double>(most), 4);
    write_scale(out, frame, scale);
    write_time_axis(out, frame, axis);
    begin_time_view(out, frame, axis, units);
    out << "<g class=\"curves\">\n";
    for (std::size_t p = 0; p < replays.size(); ++p) {
        std::vector<Point> points{{0, height_of(0, 1)}};
        for (const Restart& restart : replays[p].rounds.restarts)
            points.emplace_back(axis.at(restart.seconds),
                                height_of(static_cast<double>(points.size()), scale.most()));
        out << "<path class=\"" << policy_class(p) << "\" d=\"";
        write_steps(out, points, axis.at(replays[p].result.end_seconds));
        out << "\"><title>" << escaped(replays[p].policy) << ": " << points.size() - 1
            << " restarts</title></path>\n";
    }
    out << "</g>\n";
    end_time_view(out);
}

void write_restarts_by_job(std::ostream& out, std::span<const PolicyReplay> replays, const Frame& frame) {
    int most = 1;
    for (const PolicyReplay& replay : replays)
        for (const goodput::JobOutcome& job : replay.result.jobs) most = std::max(most, job.restarts);
    write_scale(out, frame, {{0, 20, 40, 60, 80, 100}, 0}, " %");
    const Scale scale = scale_to(most, 8);
    const auto x = [&](double restarts) {
        return trimmed(frame.left + restarts / scale.most() * frame.width, 1);
    };
    out << "<g class=\"axis\">";
    for (const double mark : scale.marks)
        if (mark == std::floor(mark))
            out << "<path d=\"M" << x(mark) << ' ' << trimmed(frame.top, 1) << 'V'
                << trimmed(frame.bottom(), 1) << "\"/><text x=\"" << x(mark) << "\" y=\""
                << trimmed(frame.bottom() + 15, 1) << "\">" << fixed(mark, 0) << "</text>";
    out << "</g>\n<text class=\"name\" x=\"" << trimmed(frame.left + frame.width / 2, 1) << "\" y=\""
        << trimmed(frame.bottom() + 31, 1) << "\">restarts of a job</text>\n<g class=\"curves\">\n";
    for (std::size_t p = 0; p < replays.size(); ++p) {
        const std::vector<goodput::JobOutcome>& jobs = replays[p].result.jobs;
        std::vector<std::size_t> jobs_with(static_cast<std::size_t>(most) + 1);
        for (const goodput::JobOutcome& job : jobs) ++jobs_with[static_cast<std::size_t>(job.restarts)];
        std::size_t up_to = 0;
        out << "<path class=\"" << policy_class(p) << "\" d=\"M" << trimmed(frame.left, 1) << ' '
            << trimmed(frame.bottom(), 1);
        for (std::size_t restarts = 0; restarts < jobs_with.size(); ++restarts) {
            if (jobs_with[restarts] == 0) continue;
            up_to += jobs_with[restarts];
            const double part = static_cast<double>(up_to) / static_cast<double>(jobs.size());
            out << 'H' << x(static_cast<double>(restarts)) << 'V'
                << trimmed(frame.bottom() - part * frame.height, 1);
        }
        out << 'H' << trimmed(frame.right(), 1) << "\"><title>" << escaped(replays[p].policy) << ": "
            << jobs_with[0] << " of " << jobs.size() << " jobs never restart</title></path>\n";
    }
    out << "</g>\n";
}

/// One of two pictures beside each other.
constexpr Frame half{.left = 60, .width = 500, .height = 180};

void write_courses(std::ostream& out, std::span<const PolicyReplay> replays, const TimeAxis& axis,
                   const Frame& frame, const Scale& scale, const std::string& unit, const char* what,
                   const std::function<Course(const PolicyReplay&)>& course_of) {
    write_scale(out, frame, scale, unit);
    write_time_axis(out, frame, axis);
    begin_time_view(out, frame, axis, units);
    out << "<g class=\"curves\">\n";
    for (std::size_t p = 0; p < replays.size(); ++p) {
        std::vector<Point> points;
        for (const auto& [seconds, number] : course_of(replays[p]).steps)
            points.emplace_back(axis.at(seconds), height_of(number, scale.most()));
        out << "<path class=\"" << policy_class(p) << "\" d=\"";
        write_steps(out, points, axis.at(replays[p].result.end_seconds));
        out << "\"><title>" << escaped(replays[p].policy) << ": " << what << "</title></path>\n";
    }
    out << "</g>\n";
    end_time_view(out);
}

/// The highest price that is not exceeded for 99 % of the time that its pool has one, and the highest.
std::pair<double, double> highest_prices(const PolicyReplay& replay) {
    struct Stretch {
        double price, seconds;
    };
    std::vector<Stretch> stretches;
    double usual = 0, most = 0;
    for (const PoolPrices& pool : replay.rounds.prices) {
        stretches.clear();
        double all = 0, below = 0;
        for (std::size_t i = 0; i < pool.steps.size(); ++i) {
            const double end =
                i + 1 < pool.steps.size() ? pool.steps[i + 1].seconds : replay.result.end_seconds;
            if (!(pool.steps[i].price > 0)) continue;
            stretches.push_back({pool.steps[i].price, end - pool.steps[i].seconds});
            all += stretches.back().seconds;
        }
        std::sort(stretches.begin(), stretches.end(),
                  [](const Stretch& a, const Stretch& b) { return a.price < b.price; });
        for (const Stretch& stretch : stretches) {
            most = std::max(most, stretch.price);
            if (below < 0.99 * all) usual = std::max(usual, stretch.price);
            below += stretch.seconds;
        }
    }
    return {usual > 0 ? usual : most, most};
}

}  // namespace

void write_restarts(std::ostream& out, std::span<const PolicyReplay> replays, const TimeAxis& axis) {
    write_legend(out, replays);
    out << "<div class=\"pair\"><div><h3>Restarts so far, over time</h3>\n";
    begin_picture(out, half.right() + 12, half.bottom() + 40, "restarts over time");
    write_restarts_over_time(out, replays, axis, half);
    end_picture(out);
    out << "</div><div><h3>Jobs with at most so many restarts</h3>\n";
    begin_picture(out, half.right() + 12, half.bottom() + 40, "restarts by job");
    write_restarts_by_job(out, replays, half);
    end_picture(out);
    out << "</div></div>\n";
}

void write_load(std::ostream& out, std::span<const PolicyReplay> replays, const TimeAxis& axis) {
    double most = 4;  // whole numbers at the marks
    for (const PolicyReplay& replay : replays) most = std::max(most, waiting_jobs(replay).most());
    write_legend(out, replays);
    out << "<div class=\"pair\"><div><h3>Jobs that wait</h3>\n";
    begin_picture(out, half.right() + 12, half.bottom() + 40, "jobs that wait, over time");
    write_courses(out, replays, axis, half, scale_to(most, 4), "", "jobs that wait", waiting_jobs);
    end_picture(out);
    // From one decision to the next a job may stop and start: the lines would cover each other.
    const double part_seconds = static_cast<double>(axis.end) * axis.quantum_seconds / 100;
    out << "</div><div><h3>GPUs that are held, of those that are there (means over "
        << trimmed(part_seconds / 60, 1) << " min)</h3>\n";
    begin_picture(out, half.right() + 12, half.bottom() + 40, "GPUs that are held, over time");
    write_courses(out, replays, axis, half, {{0, 20, 40, 60, 80, 100}, 0}, " %", "GPUs that are held",
                  [&](const PolicyReplay& replay) {
                      return means_over(held_part(replay), part_seconds, replay.result.end_seconds);
                  });
    end_picture(out);
    out << "</div></div>\n";
}

void write_prices(std::ostream& out, const ReplayedTrace& trace, const PolicyReplay& replay,
                  const TimeAxis& axis) {
    const auto [usual, most] = highest_prices(replay);
    out << "<h3>Prices</h3>\n";
    if (!(most > 0)) {
        out << "<p class=\"hint\">No price was ever above 0: the policy works without them, or GPUs were "
               "never "
               "short.</p>\n";
        return;
    }
    // A few peaks would leave the rest flat.
    const bool cut = most > 2 * usual;
    const Scale scale = scale_to(cut ? usual : most, 4);
    out << "<p class=\"legend\"><span class=\"hint\">Price of a GPU, in the policy's own units"
        << (cut ? "; peaks, cut off here, reach " + trimmed(most, 3) : "") << ":</span>\n";
    std::vector<std::string> names;
    for (const PoolPrices& pool : replay.rounds.prices) {
        names.push_back((pool.spot ? "spot " : "") + trace.cluster.gpu_types[pool.gpu_type] + ", nodes of " +
                        std::to_string(pool.gpus_per_node));
        out << "<span><i class=\"l" << colour_of(names.size() - 1) << "\"></i>" << escaped(names.back())
            << "</span> ";
    }
    out << "</p>\n";
    const Frame frame{.height = 130};
    begin_picture(out, 1160, frame.bottom() + 40, "prices of the pools over time under " + replay.policy);
    write_scale(out, frame, scale);
    write_time_axis(out, frame, axis);
    begin_time_view(out, frame, axis, units);
    out << "<g class=\"curves\">\n";
    for (std::size_t i = 0; i < names.size(); ++i) {
        std::vector<Point> points;
        for (const PriceStep& step : replay.rounds.prices[i].steps)
            points.emplace_back(axis.at(step.seconds),
                                height_of(std::min(step.price, 1.1 * scale.most()), scale.most()));
        out << "<path class=\"l" << colour_of(i) << "\" d=\"";
        write_steps(out, points, axis.at(replay.result.end_seconds));
        out << "\"><title>" << escaped(names[i]) << "</title></path>\n";
    }
    out << "</g>\n";
    end_time_view(out);
    end_picture(out);
}

}  // namespace cli
