#ifndef GOODPUT_CORE_TASKS_HPP
#define GOODPUT_CORE_TASKS_HPP

// A job that consists of many tasks, such as the runs of a sweep, trials, or epochs that can run apart: how
// many tasks it has, how long the finished ones took, and how long the others have been running.

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// The shortest accepted task: a nanosecond.
inline constexpr double least_task_seconds = 1e-9;
/// The longest accepted task: about 30,000 years.
inline constexpr double most_task_seconds = 1e12;
/// The most tasks of one job.
inline constexpr int most_tasks = 1 << 28;

/// Tasks of one job that are expected to be alike, and statistics of the durations of the finished ones.
struct TaskSample {
    int tasks = 0;                          ///< number of all tasks, at least 1
    int finished = 0;                       ///< number of finished tasks
    double mean_seconds = 0;                ///< mean seconds of the finished tasks
    double squared_deviations = 0;          ///< sum of the squared deviations from mean_seconds
    double mean_log_seconds = 0;            ///< mean natural logarithm of the finished tasks' seconds
    double squared_log_deviations = 0;      ///< sum of the squared deviations from mean_log_seconds
    std::vector<double> running_seconds{};  ///< for each running task, how long it has been running

    /// Adds a task that finished after `seconds` (Welford's update). The caller removes it from the running
    /// tasks. Throws std::invalid_argument if `seconds` is outside [least_task_seconds, most_task_seconds],
    /// or if there are more than most_tasks.
    void finish(double seconds) {
        require_between("task", "seconds", seconds, least_task_seconds, most_task_seconds);
        require_between("task", "number", finished, 0, most_tasks - 1);
        ++finished;
        const double log_seconds = std::log(seconds), count = finished;
        const double from_mean = seconds - mean_seconds, from_mean_log = log_seconds - mean_log_seconds;
        mean_seconds += from_mean / count;
        squared_deviations += from_mean * (seconds - mean_seconds);
        mean_log_seconds += from_mean_log / count;
        squared_log_deviations += from_mean_log * (log_seconds - mean_log_seconds);
    }
    /// Number of running tasks.
    [[nodiscard]] int running() const { return static_cast<int>(running_seconds.size()); }
    /// Number of tasks that have not begun.
    [[nodiscard]] int waiting() const { return tasks - finished - running(); }
};

/// Statistics of earlier jobs that predict the tasks of the next job of the kind (tasks/task_history.hpp).
/// Logarithms are natural logarithms of seconds.
struct UsualTasks {
    double mean_log_seconds = 0;  ///< expected mean logarithm of a job's tasks
    /// Variance of a job's mean logarithm around mean_log_seconds, from one job to another, above 0.
    double between = 1;
    double within = 1;  ///< variance of logarithms among the tasks of one job, above 0
    /// Weight of `within` against a job's own finished tasks, as a number of degrees of freedom, above 0.
    double within_freedom = 1;
    /// Mean seconds of a job's tasks, divided by the exponential of their mean logarithm.
    double mean_factor = 1;
    double work = 1;  ///< variance of the logarithm of a job's total task seconds, above 0
};

/// The tasks of a job, in one or more strata. A stratum is a group of tasks that are expected to be alike.
struct JobTasks {
    std::vector<TaskSample> strata{};   ///< at least one
    std::optional<UsualTasks> usual{};  ///< empty if no earlier job of the kind is known

    /// Number of tasks of all strata.
    [[nodiscard]] int tasks() const {
        return sum([](const TaskSample& sample) { return sample.tasks; });
    }
    /// Number of finished tasks.
    [[nodiscard]] int finished() const {
        return sum([](const TaskSample& sample) { return sample.finished; });
    }
    /// Number of running tasks.
    [[nodiscard]] int running() const {
        return sum([](const TaskSample& sample) { return sample.running(); });
    }
    /// Number of tasks that have not begun.
    [[nodiscard]] int waiting() const {
        return sum([](const TaskSample& sample) { return sample.waiting(); });
    }

private:
    template <class Count>
    int sum(Count count) const {
        int total = 0;
        for (const TaskSample& sample : strata) total += count(sample);
        return total;
    }
};

/// Throws std::invalid_argument if counts contradict each other or numbers are not finite. The message
/// names subject, field and value.
template <MessageSubject Subject>
void validate(const JobTasks& tasks, const Subject& subject) {
    if (tasks.strata.empty())
        bad_input(detail::text_of_subject(subject), "number of strata of tasks", 0, "at least 1");
    long long all = 0;
    for (const TaskSample& sample : tasks.strata) {
        require_between(subject, "tasks", sample.tasks, 1, most_tasks);
        all += sample.tasks;
        require_between(subject, "tasks of all strata", all, 1, most_tasks);
        require_between(subject, "tasks that run", static_cast<long long>(sample.running_seconds.size()), 0,
                        sample.tasks);
        require_between(subject, "tasks that have ended", sample.finished, 0,
                        sample.tasks - sample.running());
        for (const double seconds : sample.running_seconds)
            require_between(subject, "seconds of a running task", seconds, 0, most_task_seconds);
        // No possible tasks add up to more than this.
        constexpr double most_squares = most_task_seconds * most_task_seconds * most_tasks;
        require_between(subject, "squared deviations of tasks", sample.squared_deviations, 0, most_squares);
        require_between(subject, "squared log deviations of tasks", sample.squared_log_deviations, 0,
                        most_squares);
        if (sample.finished == 0) {
            if (sample.mean_seconds != 0 || sample.squared_deviations != 0 || sample.mean_log_seconds != 0 ||
                sample.squared_log_deviations != 0)
                bad_input(detail::text_of_subject(subject), "tasks that have ended", 0,
                          "above 0 where something is said of them");
            continue;
        }
        require_between(subject, "mean seconds of tasks", sample.mean_seconds, least_task_seconds,
                        most_task_seconds);
        require_between(subject, "mean log seconds of tasks", sample.mean_log_seconds, -100, 100);
    }
    if (!tasks.usual) return;
    const UsualTasks& usual = *tasks.usual;
    require_between(subject, "usual mean log seconds", usual.mean_log_seconds, -100, 100);
    constexpr double most = 1e60;  // more than any accepted jobs can imply, and its square is finite
    for (const auto& [field, value] : {std::pair{"usual variance between jobs", usual.between},
                                       std::pair{"usual variance within a job", usual.within},
                                       std::pair{"usual degrees of freedom", usual.within_freedom},
                                       std::pair{"usual mean factor", usual.mean_factor},
                                       std::pair{"usual variance of work", usual.work}}) {
        require_positive(subject, field, value);
        require_between(subject, field, value, 0, most);
    }
}

}  // namespace goodput::inline v0_1

#endif
