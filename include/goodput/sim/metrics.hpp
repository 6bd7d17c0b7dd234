#ifndef GOODPUT_SIM_METRICS_HPP
#define GOODPUT_SIM_METRICS_HPP

// What a replay comes down to: the figures by which schedulers are compared.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/sim/replay.hpp"

namespace goodput {

struct ReplayMetrics {
    std::size_t jobs = 0;
    std::size_t completed = 0;
    double average_hours = 0;  ///< completion time: from submission to completion
    double median_hours = 0;
    double p99_hours = 0;
    double makespan_hours = 0;  ///< from the first submission to the last completion
    double gpu_hours_per_job = 0;
    double restarts_per_job = 0;
};

/// The element at floor(fraction * size) of the sorted values (the last one for fraction 1); 0 of none.
[[nodiscard]] inline double quantile(std::vector<double> values, double fraction) {
    if (values.empty()) return 0;
    const auto index =
        std::min(static_cast<std::size_t>(fraction * static_cast<double>(values.size())), values.size() - 1);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
    return values[index];
}

/// Completion times are over completed jobs; GPU hours and restarts over all.
[[nodiscard]] inline ReplayMetrics metrics_of(const ReplayResult& result) {
    ReplayMetrics metrics;
    metrics.jobs = result.jobs.size();
    if (metrics.jobs == 0) return metrics;
    std::vector<double> hours;
    double first = result.jobs.front().submitted_seconds, last = first;
    for (const JobOutcome& job : result.jobs) {
        first = std::min(first, job.submitted_seconds);
        metrics.gpu_hours_per_job += job.gpu_seconds / 3600;
        metrics.restarts_per_job += job.restarts;
        if (!job.completed_seconds) continue;
        last = std::max(last, *job.completed_seconds);
        hours.push_back((*job.completed_seconds - job.submitted_seconds) / 3600);
        metrics.average_hours += hours.back();
    }
    const auto count = static_cast<double>(metrics.jobs);
    metrics.completed = hours.size();
    metrics.gpu_hours_per_job /= count;
    metrics.restarts_per_job /= count;
    if (!hours.empty()) metrics.average_hours /= static_cast<double>(hours.size());
    metrics.median_hours = quantile(hours, 0.5);
    metrics.p99_hours = quantile(hours, 0.99);
    metrics.makespan_hours = (last - first) / 3600;
    return metrics;
}

}  // namespace goodput

#endif
