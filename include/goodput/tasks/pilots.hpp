#ifndef GOODPUT_TASKS_PILOTS_HPP
#define GOODPUT_TASKS_PILOTS_HPP

// Jobs of many tasks, shortest remaining work first, where nobody knows how long tasks take (SLearn,
// NSDI'22). A few tasks of each job, its pilots, run before all else; what they take says how long the job
// is. A task that has begun is never stopped, so what there is to give are the GPUs of tasks that have ended.
//
// Three queues, each served before the next:
//
//     1  pilots, job by job in the order of submission
//     2  jobs of so few tasks that pilots are not worth it, in the order of submission      (as published)
//     3  jobs with an estimate, least estimated task seconds left first; behind them those without
//
// The published rule (TaskEstimates::own) has a fixed part of the tasks as pilots and believes them alone,
// once all have ended. Ours (combined) weighs them with earlier jobs by their variances, looks at tasks that
// run, and asks for as many pilots as pay: none where earlier jobs already say enough
// (tasks/task_durations.hpp).

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

namespace goodput {

/// Where a job's remaining work is estimated from.
enum class TaskEstimates {
    own,      ///< its pilots: the published rule
    usual,    ///< earlier jobs of its kind: shortest first by history, no pilots
    combined  ///< both, by their variances
};

/// Where a job's next tasks stand in the line for GPUs.
struct TaskPriority {
    int pilots = 0;           ///< further tasks of it that go before all else
    int queue = 0;            ///< of its other tasks: lower ones first
    double work_seconds = 0;  ///< that decide within a queue: less first
};

/// A job that would begin tasks.
struct TaskClaim {
    TaskPriority priority{};       ///< of its tasks
    double submitted_seconds = 0;  ///< earlier ones first among equals
    int waiting = 0;               ///< tasks that it could begin, at least 0
};

/// How many tasks each of the claims begins, if so many GPUs (at least 0) are free: pilots first, then by
/// queue and work. O(claims log claims).
[[nodiscard]] std::vector<int> share_free_gpus(std::span<const TaskClaim> claims, int free);

/// Pilots first, then the shortest estimated remaining work; a RoundPolicy for jobs with Job::tasks, offered
/// any number of GPUs of one pool (TaskWorld does that). A job without tasks counts each GPU that it may hold
/// as a task of unknown length. No job falls below one GPU for each task that runs, while that fits.
struct Pilots {
    static constexpr bool weights_count = false;  ///< its values only say who is served

    TaskEstimates estimates = TaskEstimates::combined;  ///< what a job's remaining work is judged by
    double pilot_part = 0.03;  ///< of a job's tasks, where earlier jobs say nothing or are not asked; 0 to 1
    int few_tasks = 4;         ///< jobs of fewer tasks have no such pilots

    /// Refuses a part that is none and a negative number (std::invalid_argument).
    void validate() const {
        if (!(pilot_part >= 0 && pilot_part <= 1))
            bad_input("policy pilots", "part of the tasks", pilot_part, "from 0 to 1");
        require_between("policy pilots", "few tasks", few_tasks, 0, most_tasks);
    }

    /// Where the next tasks of a job with these stand.
    [[nodiscard]] TaskPriority priority(const JobTasks& tasks) const;

    /// Values that give each job its GPUs.
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
    // Has more GPUs (sign 1) or fewer (-1) than another option, or as many of a type that comes first by
    // name: what makes no difference must not depend on the order in which a cluster lists its types.
    const auto better = [&](const OptionRow& row, std::size_t option, std::size_t other, int sign) {
        const Configuration &its = row.options[option].configuration,
                            &others = row.options[other].configuration;
        if (its.gpus() != others.gpus()) return (its.gpus() - others.gpus()) * sign > 0;
        const auto& names = round.cluster.gpu_types;
        return names[its.first().gpu_type] < names[others.first().gpu_type];
    };
    // What each keeps: the smallest option that has a GPU for all tasks that run.
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
                const int its = row.options[k].configuration.gpus();
                if (row.options[k].goodput > 0 && its <= gpus && fits(row, k) &&
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

}  // namespace goodput

#endif
