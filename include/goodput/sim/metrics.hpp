#ifndef GOODPUT_SIM_METRICS_HPP
#define GOODPUT_SIM_METRICS_HPP

// Summarises a replay in the figures by which schedulers are compared. They are the same in every world
// (the part that says how jobs progress). Finish-time fairness needs the time that a job would have taken
// alone with its share of the cluster. A world may provide these IsolatedTimes; those of Sia's world are
// FairShares (fair_share.hpp).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/sim/replay_result.hpp"
#include "goodput/sim/world.hpp"

namespace goodput::inline v0_1 {

/// Averages and percentiles of one replay, with times in hours. Averages over completed jobs are 0 if there
/// are none, which means nothing: look at `completed`.
struct ReplayMetrics {
    std::size_t jobs = 0;           ///< jobs submitted
    std::size_t completed = 0;      ///< jobs completed by the end of the replay
    double average_hours = 0;       ///< average time from submission to completion
    double median_hours = 0;        ///< median of completion times
    double p99_hours = 0;           ///< 99th percentile of completion times
    double makespan_hours = 0;      ///< from the first submission to the last completion
    double gpu_hours_per_job = 0;   ///< GPU hours held, including restarts
    double restarts_per_job = 0;    ///< the first start does not count
    double migrations_per_job = 0;  ///< see JobOutcome
    double failures_per_job = 0;    ///< times that a job went back to its last checkpoint
    double queueing_hours = 0;      ///< average time that a job has no GPUs between submission and completion
    /// The part of the existing GPU hours that jobs hold, from the first submission to the end: the last
    /// completion, or the end of the replay if jobs are left.
    double utilisation = 0;

    /// The useful part of the GPU hours that jobs held: without starts, checkpoints, and work that had to
    /// be repeated after a failure. Idle time at the end of rounds is not subtracted.
    double availability = 1;

    double dollars = 0;          ///< paid for rented nodes
    double dollars_per_job = 0;  ///< paid per job submitted
    double node_hours = 0;       ///< hours for which these nodes were rented

    // Only if isolated times are given:
    double rho_mean = 0;       ///< finish-time fairness of the completed jobs: see finish_time_fairness()
    double rho_p99 = 0;        ///< its 99th percentile
    double rho_above_one = 0;  ///< part of the completed jobs that would have been better off with an equal
                               ///< share
    double rho_worst = 0;      ///< the largest rho
    double unfair = 0;         ///< part of the completed jobs with rho above 1.05
    /// How many GPUs, each the fastest for its job and working on one job without a break, would have done
    /// the same work in the same time; 0 if one_gpu_seconds() is not given.
    double effective_gpus = 0;
};

/// Returns the element at floor(fraction * size) of the sorted values (the last one for fraction 1); 0 if
/// there are none.
[[nodiscard]] inline double quantile(std::vector<double> values, double fraction) {
    if (values.empty()) return 0;
    const auto index =
        std::min(static_cast<std::size_t>(fraction * static_cast<double>(values.size())), values.size() - 1);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
    return values[index];
}

/// Returns the figures of a replay. Completion times are over completed jobs. GPU hours, restarts and
/// queueing are over all jobs until the end of the replay.
[[nodiscard]] ReplayMetrics metrics_of(const ReplayResult& result);

/// Returns these figures with fairness and effective GPUs. `alone` gives the isolated times of the replayed
/// jobs. Jobs that cannot run alone have no rho, and do not count as work.
template <IsolatedTimes Times>
[[nodiscard]] ReplayMetrics metrics_of(const ReplayResult& result, const Times& alone);

/// Returns rho of each job: its completion time divided by the time that it would have taken alone with 1/N
/// of the cluster, where N is the average number of jobs in the cluster during its life. NaN for jobs that
/// are not complete or cannot run alone.
template <IsolatedTimes Times>
[[nodiscard]] std::vector<double> finish_time_fairness(const ReplayResult& result, const Times& alone);

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The time from the first submission to the end, in seconds.
struct Span {
    double begin = 0, end = 0;
};

inline Span span_of(const ReplayResult& result) {
    Span span{result.jobs.front().submitted_seconds, 0};
    for (const JobOutcome& job : result.jobs) {
        span.begin = std::min(span.begin, job.submitted_seconds);
        span.end = std::max(span.end, job.completed_seconds.value_or(result.end_seconds));
    }
    return span;
}

/// Returns the GPU seconds that existed during the span.
inline double available_gpu_seconds(const ReplayResult& result, Span span) {
    double sum = 0;
    for (std::size_t i = 0; i < result.capacity.size(); ++i) {
        const double begin = std::max(result.capacity[i].seconds, span.begin);
        const double end =
            i + 1 < result.capacity.size() ? std::min(result.capacity[i + 1].seconds, span.end) : span.end;
        if (end > begin) sum += (end - begin) * result.capacity[i].gpus;
    }
    return sum;
}

/// The integral over time of how many of some moments have passed.
class Passed {
public:
    explicit Passed(std::vector<double> moments) : moments_(std::move(moments)) {
        std::sort(moments_.begin(), moments_.end());
        sums_.push_back(0);
        for (const double moment : moments_) sums_.push_back(sums_.back() + moment);
    }
    [[nodiscard]] double until(double time) const {
        const auto count = static_cast<std::size_t>(std::upper_bound(moments_.begin(), moments_.end(), time) -
                                                    moments_.begin());
        return static_cast<double>(count) * time - sums_[count];
    }

private:
    std::vector<double> moments_, sums_;
};

}  // namespace detail

inline ReplayMetrics metrics_of(const ReplayResult& result) {
    ReplayMetrics metrics;
    metrics.jobs = result.jobs.size();
    if (metrics.jobs == 0) return metrics;
    std::vector<double> hours;
    double first = result.jobs.front().submitted_seconds, last = first, waited = 0, held = 0;
    double lost = 0, allotted = 0;
    for (const JobOutcome& job : result.jobs) {
        first = std::min(first, job.submitted_seconds);
        lost += job.lost_gpu_seconds;
        allotted += job.gpu_seconds;
        metrics.gpu_hours_per_job += job.gpu_seconds / 3600;
        metrics.restarts_per_job += job.restarts;
        metrics.migrations_per_job += job.migrations;
        metrics.failures_per_job += job.failures;
        waited += std::max(job.completed_seconds.value_or(result.end_seconds) - job.submitted_seconds, 0.0);
        if (!job.completed_seconds) continue;
        last = std::max(last, *job.completed_seconds);
        hours.push_back(*job.completion_hours());
        metrics.average_hours += hours.back();
    }
    for (const HeldPeriod& period : result.held_periods) {
        const double seconds = period.end_seconds - period.begin_seconds;
        waited -= seconds;
        held += seconds * period.counted_gpus();
    }
    if (allotted > 0) metrics.availability = 1 - lost / allotted;
    const auto count = static_cast<double>(metrics.jobs);
    for (const RentedPeriod& period : result.rented) {
        metrics.dollars += period.dollars;
        metrics.node_hours += (period.end_seconds - period.begin_seconds) / 3600;
    }
    metrics.dollars_per_job = metrics.dollars / count;
    metrics.completed = hours.size();
    metrics.gpu_hours_per_job /= count;
    metrics.restarts_per_job /= count;
    metrics.migrations_per_job /= count;
    metrics.failures_per_job /= count;
    metrics.queueing_hours = std::max(waited, 0.0) / count / 3600;  // negative only by rounding
    if (!hours.empty()) metrics.average_hours /= static_cast<double>(hours.size());
    metrics.median_hours = quantile(hours, 0.5);
    metrics.p99_hours = quantile(hours, 0.99);
    metrics.makespan_hours = (last - first) / 3600;
    const double available = detail::available_gpu_seconds(result, detail::span_of(result));
    if (available > 0) metrics.utilisation = held / available;
    return metrics;
}

template <IsolatedTimes Times>
std::vector<double> finish_time_fairness(const ReplayResult& result, const Times& alone) {
    std::vector<double> begins, ends;
    for (const JobOutcome& job : result.jobs) {
        begins.push_back(job.submitted_seconds);
        if (job.completed_seconds) ends.push_back(*job.completed_seconds);
    }
    const detail::Passed submitted(begins), completed(ends);
    std::vector<double> rho;
    for (std::size_t j = 0; j < result.jobs.size(); ++j) {
        const JobOutcome& job = result.jobs[j];
        rho.push_back(std::numeric_limits<double>::quiet_NaN());
        if (!job.completed_seconds) continue;
        const double begin = job.submitted_seconds, end = *job.completed_seconds;
        const double job_seconds =
            submitted.until(end) - submitted.until(begin) - completed.until(end) + completed.until(begin);
        const double sharers = std::max(job_seconds / (end - begin), 1.0);
        const double isolated = alone.isolated_seconds(j, sharers);
        if (std::isfinite(isolated) && isolated > 0) rho.back() = (end - begin) / isolated;
    }
    return rho;
}

template <IsolatedTimes Times>
ReplayMetrics metrics_of(const ReplayResult& result, const Times& alone) {
    ReplayMetrics metrics = metrics_of(result);
    if (metrics.jobs == 0) return metrics;
    std::vector<double> rho = finish_time_fairness(result, alone);
    std::erase_if(rho, [](double value) { return std::isnan(value); });
    // Sort, so that the order of the jobs does not change the last digit of a sum.
    std::sort(rho.begin(), rho.end());
    if (!rho.empty()) {
        const auto count = static_cast<double>(rho.size());
        for (const double value : rho) metrics.rho_mean += value / count;
        const auto part_above = [&](double limit) {
            return static_cast<double>(rho.end() - std::upper_bound(rho.begin(), rho.end(), limit)) / count;
        };
        metrics.rho_above_one = part_above(1);
        metrics.unfair = part_above(1.05);
        metrics.rho_worst = rho.back();
        metrics.rho_p99 = quantile(rho, 0.99);
    }
    if constexpr (requires { alone.one_gpu_seconds(std::size_t{0}); }) {
        double seconds = 0;
        for (std::size_t j = 0; j < result.jobs.size(); ++j)
            if (const double on_one = alone.one_gpu_seconds(j); std::isfinite(on_one))
                seconds += result.jobs[j].done * on_one;
        const detail::Span span = detail::span_of(result);
        if (span.end > span.begin) metrics.effective_gpus = seconds / (span.end - span.begin);
    }
    return metrics;
}

}  // namespace goodput::inline v0_1

#endif
