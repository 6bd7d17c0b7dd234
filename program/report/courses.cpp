#include "report/courses.hpp"

#include <cstddef>

namespace cli {

namespace {

/// A number of which only the changes are known, in any order.
Course sum_of(std::vector<std::pair<double, double>> changes) {
    std::sort(changes.begin(), changes.end());
    Course course{{{0, 0}}};
    double number = 0;
    for (const auto& [seconds, change] : changes) {
        number += change;
        if (course.steps.back().first < seconds)
            course.steps.emplace_back(seconds, number);
        else
            course.steps.back().second = number;
    }
    return course;
}

}  // namespace

Course waiting_jobs(const PolicyReplay& replay) {
    const goodput::ReplayResult& result = replay.result;
    std::vector<std::vector<std::pair<double, double>>> held(result.jobs.size());
    for (const goodput::HeldPeriod& period : result.held_periods)
        held[period.job].emplace_back(period.begin_seconds, period.end_seconds);
    std::vector<std::pair<double, double>> changes;
    for (std::size_t j = 0; j < result.jobs.size(); ++j) {
        const goodput::JobOutcome& job = result.jobs[j];
        const double end = job.completed_seconds.value_or(result.end_seconds);
        changes.emplace_back(job.submitted_seconds, 1);
        changes.emplace_back(end, -1);
        // Parts on several GPU types may be held at the same time.
        std::sort(held[j].begin(), held[j].end());
        double until = 0;
        for (const auto& [from, to] : held[j]) {
            const double begins = std::max(from, until), ends = std::min(to, end);
            if (begins >= ends) continue;
            changes.emplace_back(begins, -1);
            changes.emplace_back(ends, 1);
            until = ends;
        }
    }
    return sum_of(std::move(changes));
}

Course held_part(const PolicyReplay& replay) {
    std::vector<std::pair<double, double>> changes;
    for (const goodput::HeldPeriod& period : replay.result.held_periods) {
        changes.emplace_back(period.begin_seconds, period.counted_gpus());
        changes.emplace_back(period.end_seconds, -period.counted_gpus());
    }
    const Course held = sum_of(std::move(changes));
    const std::vector<goodput::Capacity>& there = replay.result.capacity;
    std::vector<double> times;
    for (const auto& [seconds, gpus] : held.steps) times.push_back(seconds);
    for (const goodput::Capacity& capacity : there) times.push_back(capacity.seconds);
    std::sort(times.begin(), times.end());
    Course part;
    std::size_t h = 0, c = 0;
    for (const double seconds : times) {
        while (h + 1 < held.steps.size() && held.steps[h + 1].first <= seconds) ++h;
        while (c + 1 < there.size() && there[c + 1].seconds <= seconds) ++c;
        const int gpus = there.empty() ? 0 : there[c].gpus;
        part.steps.emplace_back(seconds, gpus > 0 ? std::min(100 * held.steps[h].second / gpus, 100.0) : 0);
    }
    return part;
}

Course means_over(const Course& course, double part_seconds, double end_seconds) {
    Course means;
    const auto& steps = course.steps;
    std::size_t s = 0;
    for (double begin = 0; begin < end_seconds; begin += part_seconds) {
        const double end = std::min(begin + part_seconds, end_seconds);
        double sum = 0;
        for (double at = begin; at < end;) {
            while (s + 1 < steps.size() && steps[s + 1].first <= at) ++s;
            const double until = s + 1 < steps.size() ? std::min(steps[s + 1].first, end) : end;
            sum += steps[s].second * (until - at);
            at = until;
        }
        means.steps.emplace_back(begin, sum / (end - begin));
    }
    return means;
}

}  // namespace cli
