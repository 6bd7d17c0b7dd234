#include "report/charts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "report/courses.hpp"

namespace cli {

namespace {

/// Rounds to six digits, which are all that a chart can show.
double significant(double value) {
    if (value == 0) return 0;
    const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
    return std::round(value * scale) / scale;
}

/// Adds a point. Among several points with the same x, the last one counts. Equal values make one step.
void add_step(Line& line, double x, double y) {
    x = rounded(x), y = significant(y);
    if (!line.points.empty() && line.points.back().first >= x) line.points.pop_back();
    if (line.points.empty() || line.points.back().second != y) line.points.emplace_back(x, y);
}

Line line_of(const Course& course) {
    Line line;
    for (const auto& [seconds, number] : course.steps) add_step(line, seconds / 3600, number);
    return line;
}

std::string name_of(const PolicyReplay& replay) {
    return replay.host.empty() ? replay.policy : replay.policy + ", " + replay.host;
}

/// Returns the sorted hours from submission to completion of the complete jobs.
std::vector<double> completion_hours(const PolicyReplay& replay) {
    std::vector<double> hours;
    for (const goodput::JobOutcome& job : replay.result.jobs)
        if (const auto completion = job.completion_hours()) hours.push_back(*completion);
    std::sort(hours.begin(), hours.end());
    return hours;
}

Chart completions(std::span<const PolicyReplay> replays) {
    Chart chart{"completions",
                "Jobs that are complete within a time",
                "time from submission to completion",
                "% of the jobs",
                false,
                true};
    constexpr double second = 1 / 3600.0;
    double least = 1e9, most = second;
    for (const PolicyReplay& replay : replays) {
        Line& line = chart.lines.emplace_back(Line{name_of(replay)});
        const std::vector<double> hours = completion_hours(replay);
        for (std::size_t i = 0; i < hours.size(); ++i)
            add_step(line, std::max(hours[i], second),
                     100 * static_cast<double>(i + 1) / static_cast<double>(replay.result.jobs.size()));
        if (hours.empty()) continue;
        least = std::min(least, std::max(hours.front(), second));
        most = std::max(most, hours.back());
    }
    chart.x_least = std::min(least, most) / 1.15;
    chart.x_most = most * 1.15;
    chart.y_most = 100;
    for (Line& line : chart.lines) {
        line.points.insert(line.points.begin(), {chart.x_least, 0});
        line.end = chart.x_most;
    }
    return chart;
}

Line restarts_so_far(const PolicyReplay& replay) {
    Line line{.points = {{0, 0}}};
    double count = 0;
    for (const Restart& restart : replay.rounds.restarts) add_step(line, restart.seconds / 3600, ++count);
    return line;
}

/// Returns the per cent of jobs that have at most that many restarts.
Line restarts_by_job(const goodput::ReplayResult& result) {
    std::vector<int> restarts;
    for (const goodput::JobOutcome& job : result.jobs) restarts.push_back(job.restarts);
    std::sort(restarts.begin(), restarts.end());
    Line line{.points = {{0, 0}}};
    for (std::size_t i = 0; i < restarts.size(); ++i)
        add_step(line, restarts[i], 100 * static_cast<double>(i + 1) / static_cast<double>(restarts.size()));
    return line;
}

double highest(const Chart& chart, double least) {
    double most = least;
    for (const Line& line : chart.lines)
        for (const auto& [x, y] : line.points) most = std::max(most, y);
    return most;
}

/// Draws one line per policy over time, up to the policy's end.
template <class LineOf>
Chart over_time(std::string name, std::string title, std::string y_title, double hours,
                std::span<const PolicyReplay> replays, LineOf line_of) {
    Chart chart{std::move(name),
                std::move(title),
                "hours since the start of the trace",
                std::move(y_title),
                true,
                false,
                0,
                hours};
    for (const PolicyReplay& replay : replays) {
        Line& line = chart.lines.emplace_back(line_of(replay));
        line.name = name_of(replay);
        line.end = rounded(replay.result.end_seconds / 3600);
    }
    chart.y_most = highest(chart, 4);  // whole numbers at the marks
    return chart;
}

/// Returns the highest price that is not exceeded in 99 % of the time in which its pool has a price, and
/// the highest price.
std::pair<double, double> highest_prices(const PolicyReplay& replay) {
    double usual = 0, most = 0;
    for (const PoolPrices& pool : replay.rounds.prices) {
        std::vector<std::pair<double, double>> stretches;  // price and seconds
        double all = 0, below = 0;
        for (std::size_t i = 0; i < pool.steps.size(); ++i) {
            const double end =
                i + 1 < pool.steps.size() ? pool.steps[i + 1].seconds : replay.result.end_seconds;
            if (!(pool.steps[i].price > 0)) continue;
            stretches.emplace_back(pool.steps[i].price, end - pool.steps[i].seconds);
            all += stretches.back().second;
        }
        std::sort(stretches.begin(), stretches.end());
        for (const auto& [price, seconds] : stretches) {
            most = std::max(most, price);
            if (below < 0.99 * all) usual = std::max(usual, price);
            below += seconds;
        }
    }
    return {usual > 0 ? usual : most, most};
}

}  // namespace

double rounded(double hours) { return std::round(hours * 1e4) / 1e4; }

double shown_hours(std::span<const PolicyReplay> replays) {
    double last = 0.1, second = 0;
    for (const PolicyReplay& replay : replays) {
        double end = 0;
        for (const goodput::HeldPeriod& period : replay.result.held_periods)
            end = std::max(end, period.end_seconds);
        for (const goodput::JobOutcome& job : replay.result.jobs)
            end = std::max(end, job.completed_seconds.value_or(replay.result.end_seconds));
        second = std::max(second, std::min(last, end / 3600));
        last = std::max(last, end / 3600);
    }
    return replays.size() > 1 && last > 1.05 * second && second > 0 ? second : last;
}

std::vector<Chart> charts_of(std::span<const PolicyReplay> replays) {
    const double hours = shown_hours(replays);
    std::vector<Chart> charts;
    charts.push_back(completions(replays));
    charts.push_back(over_time("waiting", "Jobs that wait", "jobs", hours, replays,
                               [](const PolicyReplay& replay) { return line_of(waiting_jobs(replay)); }));
    // A job may stop and start between two decisions, so the lines would cover each other.
    charts.push_back(over_time("held", "GPUs that are held, of those that are there", "% of the GPUs", hours,
                               replays, [&](const PolicyReplay& replay) {
                                   return line_of(means_over(held_part(replay), 36 * hours,
                                                             std::max(replay.result.end_seconds, 1.0)));
                               }));
    charts.back().y_most = 100;
    charts.push_back(over_time("restarts", "Restarts so far", "restarts", hours, replays, restarts_so_far));
    Chart by_job{"restarts-by-job", "Jobs with at most this many restarts", "restarts of a job",
                 "% of the jobs"};
    for (const PolicyReplay& replay : replays) {
        by_job.lines.push_back(restarts_by_job(replay.result));
        by_job.lines.back().name = name_of(replay);
        by_job.x_most = std::max(by_job.x_most, by_job.lines.back().points.back().first);
    }
    for (Line& line : by_job.lines) line.end = by_job.x_most;
    by_job.y_most = 100;
    charts.push_back(std::move(by_job));
    return charts;
}

Chart price_chart(std::span<const std::string> gpu_types, const PolicyReplay& replay, double hours) {
    const auto [usual, most] = highest_prices(replay);
    Chart chart{"prices",
                "What a GPU was worth under " + replay.policy,
                "hours since the start of the trace",
                "price, in the policy's own units",
                true,
                false,
                0,
                hours,
                most > 2 * usual ? usual : most};  // otherwise a few peaks would make the rest flat
    if (!(most > 0)) return chart;
    for (const PoolPrices& pool : replay.rounds.prices) {
        Line& line = chart.lines.emplace_back();
        line.name = (pool.spot ? "spot " : "") + gpu_types[pool.gpu_type] + ", nodes of " +
                    std::to_string(pool.gpus_per_node);
        for (const PriceStep& step : pool.steps) add_step(line, step.seconds / 3600, step.price);
        line.end = rounded(replay.result.end_seconds / 3600);
    }
    return chart;
}

}  // namespace cli
