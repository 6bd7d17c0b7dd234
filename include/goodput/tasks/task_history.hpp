#ifndef GOODPUT_TASKS_TASK_HISTORY_HPP
#define GOODPUT_TASKS_TASK_HISTORY_HPP

// What earlier jobs of one kind say of the tasks of the next one: the mean of their mean logarithms, over the
// window of last jobs that would have predicted best so far, and how far off that was each time. Such errors
// hold everything that history is off by: jobs that differ, and jobs that change. So a history that has
// become wrong is soon believed less, and a job's own tasks count for more (task_durations.hpp).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "goodput/core/tasks.hpp"

namespace goodput {

/// Earlier jobs of one kind, in the order of their ends.
class TaskHistory {
public:
    /// Jobs that are remembered, the last ones.
    static constexpr std::size_t most_jobs = 64;
    /// Over as many last jobs the mean may be taken.
    static constexpr std::array<std::size_t, 4> windows{4, 8, 16, 64};

    /// A job has ended. Its strata count as one: as of a kind that has no strata.
    void add(const JobTasks& tasks);
    /// What is to be expected of the next one; none before two jobs have ended.
    [[nodiscard]] std::optional<UsualTasks> usual() const;
    /// Jobs that are remembered.
    [[nodiscard]] std::size_t jobs() const { return jobs_.size(); }

private:
    struct Past {
        double mean_log = 0;
        double mean_log_variance = 0;  ///< of that mean, from its tasks
        double squares = 0, freedom = 0;
        double mean_factor = 1;
        double log_work = 0;
        std::array<double, windows.size()> squared_errors{};  ///< of what each window predicted
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
        // The first of those remembered may be the first of all, of which nothing was predicted.
        for (std::size_t w = 0; w < windows.size() && i > 0; ++w) errors[w] += job.squared_errors[w];
        sampling += job.mean_log_variance / count;
        squares += job.squares;
        freedom += job.freedom;
        factor += std::log(job.mean_factor) / count;
        work += job.log_work / count;
    }
    // Of equally good windows the longest.
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
    // A job's own variance differs from the pooled one by the scatter of a sample, 2 / (n - 1) relative to
    // its square, and by what jobs really differ: the latter says how many of a job's own tasks the pooled is
    // worth.
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

}  // namespace goodput

#endif
