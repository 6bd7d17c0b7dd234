#ifndef GOODPUT_TASKS_PILOTS_HPP
#define GOODPUT_TASKS_PILOTS_HPP

// Serves jobs of many tasks by shortest remaining work, although task durations are not known (SLearn,
// NSDI'22). A few tasks of each job, its pilots, run before all other tasks, and their durations show how
// long the job is. A task that has begun is never stopped, so only GPUs whose task has finished can be
// given to other jobs.
//
// There are three queues, each served before the next:
//
//     1  pilots, job by job in the order of submission
//     2  jobs with too few tasks for pilots, in the order of submission                    (as published)
//     3  jobs with an estimate, least estimated remaining task seconds first, then jobs without an estimate
//
// The published rule (TaskEstimates::own) uses a fixed fraction of the tasks as pilots, and relies on them
// alone once all have ended. This library's own rule (combined) weighs pilots and earlier jobs by their
// variances, uses running tasks as well, and asks for as many pilots as are worth their delay: none if
// earlier jobs already give a good estimate (tasks/task_durations.hpp).

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/tasks.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/tasks/task_durations.hpp"

namespace goodput::inline v0_1 {

/// The source of the estimate of a job's remaining work.
enum class TaskEstimates {
    own,      ///< its pilots (the published rule)
    usual,    ///< earlier jobs of its kind; shortest first by history, without pilots
    combined  ///< both, weighted by their variances
};

/// The position of a job's next tasks in the line for GPUs.
struct TaskPriority {
    int pilots = 0;           ///< number of additional tasks that go before all others
    int queue = 0;            ///< queue of its other tasks; lower queues go first
    double work_seconds = 0;  ///< order within a queue; less work goes first
};

/// A job that wants to begin tasks.
struct TaskClaim {
    TaskPriority priority{};       ///< priority of its tasks
    double submitted_seconds = 0;  ///< submission time; earlier jobs go first among equals
    int waiting = 0;               ///< number of tasks that it could begin, at least 0
};

/// Returns how many tasks each claim begins if `free` GPUs (at least 0) are free. Pilots go first, then
/// lower queues, then less work. Takes O(claims log claims).
[[nodiscard]] std::vector<int> share_free_gpus(std::span<const TaskClaim> claims, int free);

/// A RoundPolicy that serves pilots first, then the shortest estimated remaining work. It is for jobs with
/// Job::tasks that are offered any number of GPUs of one pool, as TaskWorld does. In a job without tasks,
/// each GPU that it may hold is treated as a task of unknown length. No job gets fewer GPUs than it has
/// running tasks, as long as there is room for all of them.
struct Pilots {
    static constexpr bool weights_count = false;  ///< false: values only say which jobs are served

    TaskEstimates estimates = TaskEstimates::combined;  ///< source of the estimate of remaining work
    /// Fraction of a job's tasks that are pilots if there are no earlier jobs or if they are not used, 0 to
    /// 1.
    double pilot_part = 0.03;
    int few_tasks = 4;  ///< a job with fewer tasks has no such pilots

    /// Throws std::invalid_argument if pilot_part is not in [0, 1] or few_tasks is negative.
    void validate() const {
        if (!(pilot_part >= 0 && pilot_part <= 1))
            bad_input("policy pilots", "part of the tasks", pilot_part, "from 0 to 1");
        require_between("policy pilots", "few tasks", few_tasks, 0, most_tasks);
    }

    /// Returns the priority of the next tasks of a job.
    [[nodiscard]] TaskPriority priority(const JobTasks& tasks) const;

    /// Sets values so that the allotment gives each job the GPUs for its next tasks.
    void value_round(const Round& round, std::span<const OptionRow> rows) const;

private:
    static constexpr int few = 1, estimated = 2, unknown = 3;
};

// ---------------------------------------------------------------------------------------------------------

inline std::vector<int> share_free_gpus(std::span<const TaskClaim> claims, int free) {
    std::vector<int> given(claims.size(), 0);
    std::vector<std::size_t> order(claims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto give = [&](std::size_t job, int most) {
        const int more = std::clamp(std::min(most, claims[job].waiting - given[job]), 0, free);
        given[job] += more;
        free -= more;
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return claims[a].submitted_seconds < claims[b].submitted_seconds;
    });
    for (const std::size_t job : order) give(job, claims[job].priority.pilots);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const TaskPriority &first = claims[a].priority, &second = claims[b].priority;
        if (first.queue != second.queue) return first.queue < second.queue;
        return first.work_seconds < second.work_seconds;
    });
    for (const std::size_t job : order) give(job, claims[job].waiting);
    return given;
}

inline TaskPriority Pilots::priority(const JobTasks& tasks) const {
    const auto by = [&](const std::optional<DurationEstimate>& estimate, int pilots) -> TaskPriority {
        const int begun = tasks.finished() + tasks.running();
        pilots = std::max(pilots - begun, 0);
        if (estimate) return {pilots, estimated, estimate->remaining_seconds};
        return {pilots, unknown, 0};
    };
    if (estimates == TaskEstimates::usual) return by(estimate_usual(tasks), 0);
    if (estimates == TaskEstimates::combined && tasks.usual)
        return by(estimate_combined(tasks), best_pilots(tasks.tasks(), *tasks.usual));
    const int pilots = published_pilots(tasks.tasks(), pilot_part, few_tasks);
    if (pilots == 0) return {0, few, 0};
    if (estimates == TaskEstimates::combined) return by(estimate_combined(tasks), pilots);
    return by(tasks.finished() < pilots ? std::nullopt : estimate_own(tasks), pilots);
}

inline void Pilots::value_round(const Round& round, std::span<const OptionRow> rows) const {
    std::vector<double> left(round.capacity.begin(), round.capacity.end());
    const auto fits = [&](const OptionRow& row, std::size_t option) {
        for (const ResourceUse& use : row.uses(option))
            if (use.units > left[use.resource] + 1e-9 * round.capacity[use.resource]) return false;
        return true;
    };
    const auto take = [&](const OptionRow& row, std::size_t option, double sign) {
        if (option == no_index) return;
        for (const ResourceUse& use : row.uses(option)) left[use.resource] -= sign * use.units;
    };
    // Whether `option` has more GPUs (sign 1) or fewer GPUs (sign -1) than `other`. If both have the same
    // number, the GPU type whose name comes first is better, so that the order in which a cluster lists its
    // types makes no difference.
    const auto better = [&](const OptionRow& row, std::size_t option, std::size_t other, int sign) {
        const Configuration &first = row.options[option].configuration,
                            &second = row.options[other].configuration;
        if (first.gpus() != second.gpus()) return (first.gpus() - second.gpus()) * sign > 0;
        const auto& names = round.cluster.gpu_types;
        return names[first.first().gpu_type] < names[second.first().gpu_type];
    };
    // Each job keeps its smallest option with a GPU for every running task.
    std::vector<std::size_t> chosen(rows.size(), no_index);
    const auto by_submission = detail::ordered(rows, [](const OptionRow&) { return 0; });
    std::vector<TaskClaim> claims(rows.size());
    const auto kept_gpus = [&](const OptionRow& row) {
        return row.job.tasks ? row.job.tasks->running() : round.held_by(row.job).gpus();
    };
    for (const std::size_t r : by_submission) {
        const OptionRow& row = rows[r];
        std::fill(row.values.begin(), row.values.end(), 0.0);
        const int kept = kept_gpus(row);
        int most = 0;
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            const int gpus = row.options[k].configuration.gpus();
            if (row.options[k].goodput <= 0) continue;
            most = std::max(most, gpus);
            if (kept > 0 && gpus >= kept && fits(row, k) &&
                (chosen[r] == no_index || better(row, k, chosen[r], -1)))
                chosen[r] = k;
        }
        if (row.job.keeps_what_it_holds() && chosen[r] == no_index && !row.options.empty()) chosen[r] = 0;
        take(row, chosen[r], 1);
        claims[r].submitted_seconds = row.job.submitted_seconds;
        claims[r].priority = row.job.tasks ? priority(*row.job.tasks) : TaskPriority{0, unknown, 0};
        const int wanted = row.job.tasks ? row.job.tasks->running() + row.job.tasks->waiting() : most;
        claims[r].waiting = row.job.keeps_what_it_holds() ? 0 : std::max(std::min(wanted, most) - kept, 0);
    }
    double free = 0;
    for (std::size_t p = 0; p < round.pools.size(); ++p) free += std::max(left[p], 0.0);
    const std::vector<int> given = share_free_gpus(claims, static_cast<int>(std::min(free, 1e9)));
    for (const std::size_t r : by_submission) {
        const OptionRow& row = rows[r];
        const int gpus = kept_gpus(row) + given[r];
        if (given[r] > 0) {
            take(row, chosen[r], -1);
            std::size_t best = chosen[r];
            for (std::size_t k = 0; k < row.options.size(); ++k) {
                const int offered = row.options[k].configuration.gpus();
                if (row.options[k].goodput > 0 && offered <= gpus && fits(row, k) &&
                    (best == no_index || better(row, k, best, 1)))
                    best = k;
            }
            chosen[r] = best;
            take(row, chosen[r], 1);
        }
        if (chosen[r] != no_index) row.values[chosen[r]] = 1;
    }
}

static_assert(RoundPolicy<Pilots>);

}  // namespace goodput::inline v0_1

#endif
