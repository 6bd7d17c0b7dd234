#include "report/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "goodput/version.hpp"
#include "replay/replay_rows.hpp"
#include "report/charts.hpp"
#include "report/gpu_lanes.hpp"
#include "report/markup.hpp"
#include "report/page.hpp"

namespace cli {

namespace {

std::string summary_of(const ReplayedTrace& trace, std::span<const PolicyReplay> replays) {
    const std::vector<int> gpus = gpus_by_type(trace.cluster);
    std::string text = counted(trace.submissions.size(), "job of ", "jobs of ") +
                       counted(trace.applications.size(), "application", "applications") + " on ";
    for (std::size_t type = 0; type < gpus.size(); ++type)
        text += (type == 0                ? ""
                 : type + 1 < gpus.size() ? ", "
                                          : " and ") +
                std::to_string(gpus[type]) + " " + trace.cluster.gpu_types[type];
    return text + " GPUs, under " + counted(replays.size(), "policy", "policies") + ".";
}

/// Orders replays from best to worst: more complete jobs first, then shorter average times.
std::vector<std::size_t> best_first(std::span<const PolicyReplay> replays) {
    std::vector<std::size_t> order;
    for (std::size_t p = 0; p < replays.size(); ++p) order.push_back(p);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const goodput::ReplayMetrics &first = replays[a].metrics, &second = replays[b].metrics;
        if (first.completed != second.completed) return first.completed > second.completed;
        return first.average_hours < second.average_hours;
    });
    return order;
}

/// Returns the two replays that are shown next to each other at first. The first is the best of our
/// policies, or else the best of all. The second is Sia's, or else the first of the others. A single replay
/// is both.
std::pair<std::size_t, std::size_t> compared(std::span<const PolicyReplay> replays) {
    const auto ours = [&](std::size_t p) { return replays[p].policy.starts_with("goodput"); };
    const std::vector<std::size_t> order = best_first(replays);
    const auto of_ours = std::find_if(order.begin(), order.end(), ours);
    const std::size_t best = of_ours == order.end() ? order.front() : *of_ours;
    std::size_t other = best;
    for (std::size_t p = replays.size(); p-- > 0;)
        if (p != best && (other == best || ours(other) || !ours(p))) other = p;
    for (std::size_t p = replays.size(); p-- > 0;)
        if (p != best && replays[p].policy == "sia") other = p;
    return {best, other};
}

/// Returns the result in a sentence: the policy with the shortest average completion time, and by how much.
/// A policy that completes fewer jobs than others does not compete.
std::string result_of(std::span<const PolicyReplay> replays) {
    if (replays.empty()) return "No policy was replayed.";
    const std::vector<std::size_t> order = best_first(replays);
    const PolicyReplay& first = replays[order.front()];
    const goodput::ReplayMetrics& best = first.metrics;
    if (best.completed == 0) return "No job completes under any policy.";
    const bool all = best.completed == best.jobs;
    const std::string part = std::to_string(best.completed) + " of " + counted(best.jobs, "job", "jobs");
    const std::string completes = best.completed == 1 ? " completes" : " complete";
    const std::string hours = ", on average " + fixed(best.average_hours, 2) + " hours after " +
                              (best.completed == 1 ? "its" : "their") + " submission";
    const std::string who = all ? (best.jobs == 1 ? "the job" : "jobs") : part;
    if (replays.size() == 1) return "Under " + first.policy + " " + who + completes + hours + ".";
    const PolicyReplay& second = replays[order[1]];
    if (second.metrics.completed < best.completed)
        return "Only " + first.policy + " completes " +
               (all ? "all " + counted(best.jobs, "job", "jobs") : part) + hours + "; " + second.policy +
               " completes " + std::to_string(second.metrics.completed) + ".";
    const auto less_than = [&](const PolicyReplay& other) {
        return other.metrics.average_hours > 0 ? 1 - best.average_hours / other.metrics.average_hours : 0;
    };
    const std::string soonest = all ? "Jobs complete soonest" : "At most " + part + completes + ", soonest";
    const std::string equally =
        all ? "Jobs complete equally soon" : "At most " + part + completes + ", equally soon";
    const PolicyReplay& baseline = replays[compared(replays).second];
    const bool names_baseline =
        &baseline != &first && &baseline != &second && baseline.metrics.completed == best.completed;
    const auto per_cent = [&](const PolicyReplay& other) { return fixed(100 * less_than(other), 0) + " %"; };
    const std::string than_baseline = " less than under " + baseline.policy;
    if (less_than(second) < 0.005)
        return equally + " under " + first.policy + " and " + second.policy + hours +
               (names_baseline ? ": in " + per_cent(baseline) + " less time than under " + baseline.policy
                               : "") +
               ".";
    return soonest + " under " + first.policy + hours + ": in " + per_cent(second) +
           " less time than under " + second.policy + ", the next" +
           (names_baseline ? ", and in " + per_cent(baseline) + than_baseline : "") + ".";
}

Json json_of(const Chart& chart) {
    Json lines = Json::array();
    for (const Line& line : chart.lines) {
        Json points = Json::array();  // x and y alternate
        for (const auto& [x, y] : line.points) {
            points.push_back(x);
            points.push_back(y);
        }
        lines.push_back({{"name", line.name}, {"points", std::move(points)}, {"end", line.end}});
    }
    return {{"name", chart.name},       {"title", chart.title},         {"x_title", chart.x_title},
            {"y_title", chart.y_title}, {"over_time", chart.over_time}, {"logarithmic", chart.logarithmic},
            {"x_least", chart.x_least}, {"x_most", chart.x_most},       {"y_most", chart.y_most},
            {"lines", std::move(lines)}};
}

/// Returns one policy: its figures as in --json, the outcome of every job by submission, and what the job
/// held.
Json json_of(const ReplayedTrace& trace, const PolicyReplay& replay, double shown, double quantum_seconds) {
    Json hours = Json::array(), restarts = Json::array(), gpu_hours = Json::array();
    for (const goodput::JobOutcome& job : replay.result.jobs) {
        const auto completion = job.completion_hours();
        hours.push_back(completion ? Json(rounded(*completion)) : Json());
        restarts.push_back(job.restarts);
        gpu_hours.push_back(rounded(job.gpu_seconds / 3600));
    }
    Json starts = Json::array();  // job and quantum alternate
    for (const Restart& restart : replay.rounds.restarts) {
        starts.push_back(restart.job);
        starts.push_back(std::lround(restart.seconds / quantum_seconds));
    }
    Json lanes = Json::array();
    const std::vector<int> gpus = gpus_by_type(trace.cluster);
    for (std::size_t type = 0; type < gpus.size(); ++type) {
        std::span<const goodput::Capacity> capacity;
        if (type < replay.rounds.capacity.size()) capacity = replay.rounds.capacity[type];
        Json there = Json::array(), blocks = Json::array();
        for (const goodput::Capacity& step : capacity) {
            there.push_back(std::lround(step.seconds / quantum_seconds));
            there.push_back(step.gpus);
        }
        for (const GpuBlock& block :
             gpu_lane(replay.result.held_periods, type, gpus[type], capacity, quantum_seconds))
            for (const long number : {static_cast<long>(block.job), block.begin, block.end,
                                      static_cast<long>(block.first), static_cast<long>(block.gpus)})
                blocks.push_back(number);
        lanes.push_back({{"capacity", std::move(there)}, {"blocks", std::move(blocks)}});
    }
    return {{"name", replay.policy},
            {"figures", json_of(replay, trace.rents)},
            {"hours", std::move(hours)},
            {"restarts", std::move(restarts)},
            {"gpu_hours", std::move(gpu_hours)},
            {"restart_times", std::move(starts)},
            {"lanes", std::move(lanes)},
            {"prices", json_of(price_chart(trace.cluster.gpu_types, replay, shown))}};
}

}  // namespace

void write_report(std::ostream& out, const ReplayedTrace& trace, std::span<const PolicyReplay> replays) {
    constexpr double finest = 20000;  // most quanta of a page: about twenty per pixel
    double last = 360;
    for (const PolicyReplay& replay : replays) last = std::max(last, replay.result.end_seconds);
    for (const PolicyReplay& replay : replays)
        for (const goodput::HeldPeriod& period : replay.result.held_periods)
            last = std::max(last, period.end_seconds);
    const double quantum = std::ceil(last / finest);
    const double shown = replays.empty() ? last / 3600 : shown_hours(replays);

    Json data{{"summary", summary_of(trace, replays)},
              {"command", trace.command},
              {"seed", trace.seed},
              {"version", goodput::version},
              {"incomplete", incomplete_text(replays)},
              {"shown_h", rounded(shown)},
              {"end_h", rounded(last / 3600)},
              {"quantum_s", quantum},
              {"applications", trace.applications}};
    if (!replays.empty()) {
        const auto [best, other] = compared(replays);
        data["compare"] = {best, other};
    }
    Json types = Json::array(), names = Json::array(), applications = Json::array(),
         submitted = Json::array();
    const std::vector<int> gpus = gpus_by_type(trace.cluster);
    for (std::size_t type = 0; type < gpus.size(); ++type)
        types.push_back({{"name", trace.cluster.gpu_types[type]}, {"gpus", gpus[type]}});
    for (const goodput::Submission& job : trace.submissions) {
        names.push_back(job.name);
        applications.push_back(job.application);
        submitted.push_back(rounded(job.time_seconds / 3600));
    }
    data["gpu_types"] = std::move(types);
    data["jobs"] = {{"names", std::move(names)},
                    {"application", std::move(applications)},
                    {"submitted_h", std::move(submitted)}};
    data["charts"] = Json::array();
    for (const Chart& chart : charts_of(replays)) data["charts"].push_back(json_of(chart));
    data["policies"] = Json::array();
    for (const PolicyReplay& replay : replays)
        data["policies"].push_back(json_of(trace, replay, shown, quantum));
    write_page(out, {trace.title, result_of(replays), "report.js", std::move(data)});
}

}  // namespace cli
