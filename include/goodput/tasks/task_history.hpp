#ifndef GOODPUT_TASKS_TASK_HISTORY_HPP
#define GOODPUT_TASKS_TASK_HISTORY_HPP

// Predicts the tasks of the next job of a kind from earlier jobs. The prediction is the mean of the jobs'
// mean logarithms over a window of the latest jobs. Among several windows it uses the one that would have
// predicted best so far. The errors of the past predictions show how far the next one can be trusted. They
// include all weaknesses of history: jobs that differ, and jobs that change over time. So a history that no
// longer fits soon gets less weight, and a job's own tasks get more (task_durations.hpp).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "goodput/core/tasks.hpp"

namespace goodput::inline v0_1 {

/// The earlier jobs of one kind, in the order in which they ended.
class TaskHistory {
public:
    /// The number of latest jobs that are remembered.
    static constexpr std::size_t most_jobs = 64;
    /// The numbers of latest jobs over which the mean may be taken.
    static constexpr std::array<std::size_t, 4> windows{4, 8, 16, 64};

    /// Adds a finished job. If it has several strata, they are merged into one.
    void add(const JobTasks& tasks);
    /// Returns what to expect of the next job, or nothing before two jobs have ended.
    [[nodiscard]] std::optional<UsualTasks> usual() const;
    /// Number of remembered jobs.
    [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

private:
    struct Past {
        double mean_log = 0;
        double mean_log_variance = 0;  ///< variance of mean_log, from the job's tasks
        double squares = 0, freedom = 0;
        double mean_factor = 1;
        double log_work = 0;
        std::array<double, windows.size()> squared_errors{};  ///< squared error of each window's prediction
    };

    [[nodiscard]] double predicted(std::size_t window) const {
        const std::size_t count = std::min(window, jobs_.size());
        double sum = 0;
        for (std::size_t i = jobs_.size() - count; i < jobs_.size(); ++i) sum += jobs_[i].mean_log;
        return sum / static_cast<double>(count);
    }

    std::vector<Past> jobs_;
};

// ---------------------------------------------------------------------------------------------------------

inline void TaskHistory::add(const JobTasks& tasks) {
    validate(tasks, "history of tasks");
    Past past;
    double seconds = 0, count = 0;
    for (const TaskSample& sample : tasks.strata) {
        count += sample.finished;
        seconds += sample.finished * sample.mean_seconds;
        past.mean_log += sample.finished * sample.mean_log_seconds;
    }
    if (count == 0) return;
    past.mean_log /= count;
    for (const TaskSample& sample : tasks.strata) {
        const double from_mean = sample.mean_log_seconds - past.mean_log;
        past.squares += sample.squared_log_deviations + sample.finished * from_mean * from_mean;
    }
    past.freedom = count - 1;
    past.mean_factor = seconds / count / std::exp(past.mean_log);
    past.log_work = std::log(seconds);
    if (past.freedom > 0) past.mean_log_variance = past.squares / past.freedom / count;
    if (!jobs_.empty())
        for (std::size_t w = 0; w < windows.size(); ++w) {
            const double off = past.mean_log - predicted(windows[w]);
            past.squared_errors[w] = off * off;
        }
    if (jobs_.size() == most_jobs) jobs_.erase(jobs_.begin());
    jobs_.push_back(past);
}

inline std::optional<UsualTasks> TaskHistory::usual() const {
    if (jobs_.size() < 2) return std::nullopt;
    constexpr double least_variance = 1e-9;
    const auto count = static_cast<double>(jobs_.size());
    std::array<double, windows.size()> errors{};
    double sampling = 0, squares = 0, freedom = 0, factor = 0, work = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const Past& job = jobs_[i];
        // No prediction was made for the very first job, which may be the first one remembered.
        for (std::size_t w = 0; w < windows.size() && i > 0; ++w) errors[w] += job.squared_errors[w];
        sampling += job.mean_log_variance / count;
        squares += job.squares;
        freedom += job.freedom;
        factor += std::log(job.mean_factor) / count;
        work += job.log_work / count;
    }
    // Among equally good windows, take the longest.
    std::size_t best = windows.size() - 1;
    for (std::size_t w = windows.size(); w-- > 0;)
        if (errors[w] < errors[best]) best = w;
    UsualTasks usual;
    usual.mean_log_seconds = predicted(windows[best]);
    usual.between = std::max(errors[best] / (count - 1) - sampling, least_variance);
    usual.within = std::max(freedom > 0 ? squares / freedom : 0, least_variance);
    usual.mean_factor = std::exp(factor);
    usual.work = 0;
    for (const Past& job : jobs_) usual.work += (job.log_work - work) * (job.log_work - work) / (count - 1);
    usual.work = std::max({usual.work, usual.between, least_variance});
    // A job's own variance differs from the pooled one for two reasons: the scatter of a sample, 2 / (n -
    // 1) relative to its square, and true differences between jobs. These differences determine how many of
    // a job's own tasks outweigh the pooled variance.
    constexpr double most_freedom = 100;
    double differ = 0, jobs_with_variance = 0;
    for (const Past& job : jobs_)
        if (job.freedom > 0 && usual.within > least_variance) {
            const double off = job.squares / job.freedom / usual.within - 1;
            differ += off * off - 2 / job.freedom;
            ++jobs_with_variance;
        }
    const double excess = jobs_with_variance > 0 ? differ / jobs_with_variance : 0;
    usual.within_freedom = excess > 2 / most_freedom ? std::max(2 / excess, 1.0) : most_freedom;
    return usual;
}

}  // namespace goodput::inline v0_1

#endif
