#ifndef GOODPUT_TESTS_SIM_TASK_SLOTS_HPP
#define GOODPUT_TESTS_SIM_TASK_SLOTS_HPP

// Simulates jobs of many tasks on equal GPUs event by event, independently of TaskWorld: without rounds,
// configurations or options. A rule ranks each job's next task.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/tasks.hpp"
#include "goodput/sim/task_world.hpp"
#include "goodput/tasks/pilots.hpp"
#include "goodput/tasks/task_history.hpp"

namespace support {

using namespace goodput;

/// What a rule knows about a job.
struct SlotJob {
    const TaskJob* truth = nullptr;
    JobTasks tasks{};
    std::size_t begun = 0;
    double left_seconds = 0;                             ///< true seconds of tasks that have not begun
    std::vector<std::pair<double, std::size_t>> runs{};  ///< start and task of each run
};

/// Returns when each job completes. `rule(SlotJob)` returns a TaskPriority; GPUs are given one by one.

template <class Rule>
std::vector<double> complete_slots(const std::vector<TaskJob>& trace, int gpus, Rule rule,
                                   std::map<std::string, TaskHistory> histories = {}) {
    std::map<std::string, std::optional<UsualTasks>> usual;
    for (const auto& [kind, history] : histories) usual[kind] = history.usual();
    std::vector<SlotJob> jobs(trace.size());
    std::vector<TaskPriority> priorities(trace.size());
    std::vector<char> stale(trace.size(), 1);
    std::vector<double> completed(trace.size(), std::numeric_limits<double>::infinity());
    for (std::size_t j = 0; j < trace.size(); ++j) {
        jobs[j].truth = &trace[j];
        jobs[j].tasks.strata.resize(1);
        jobs[j].tasks.strata[0].tasks = static_cast<int>(trace[j].task_seconds.size());
        for (const double seconds : trace[j].task_seconds) jobs[j].left_seconds += seconds;
    }
    using End = std::tuple<double, std::size_t, std::size_t>;  // time, job, task
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::vector<std::size_t> active;
    std::size_t submitted = 0;
    int free = gpus;
    while (submitted < trace.size() || !ends.empty()) {
        double now = ends.empty() ? std::numeric_limits<double>::infinity() : std::get<0>(ends.top());
        if (submitted < trace.size()) now = std::min(now, trace[submitted].submitted_seconds);
        while (!ends.empty() && std::get<0>(ends.top()) <= now) {
            const auto [time, j, task] = ends.top();
            ends.pop();
            ++free;
            SlotJob& job = jobs[j];
            const double seconds = job.truth->task_seconds[task];
            std::erase_if(job.runs, [&, t = task](const auto& run) { return run.second == t; });
            job.tasks.strata[0].finish(seconds);
            stale[j] = 1;
            if (job.begun < job.truth->task_seconds.size() || !job.runs.empty()) continue;
            completed[j] = now;
            std::erase(active, j);
            job.tasks.strata[0].running_seconds.clear();
            TaskHistory& history = histories[job.truth->kind];
            history.add(job.tasks);
            usual[job.truth->kind] = history.usual();
            std::fill(stale.begin(), stale.end(), char{1});
        }
        while (submitted < trace.size() && trace[submitted].submitted_seconds <= now)
            active.push_back(submitted++);
        while (free > 0) {
            std::size_t best = trace.size();
            const auto before = [&](std::size_t a, std::size_t b) {
                const TaskPriority &first = priorities[a], &second = priorities[b];
                if ((first.pilots > 0) != (second.pilots > 0)) return first.pilots > 0;
                if (first.pilots > 0) return false;
                if (first.queue != second.queue) return first.queue < second.queue;
                return first.work_seconds < second.work_seconds;
            };
            for (const std::size_t j : active) {
                SlotJob& job = jobs[j];
                if (job.begun == job.truth->task_seconds.size()) continue;
                if (stale[j] || !job.runs.empty()) {
                    job.tasks.usual = usual[job.truth->kind];
                    std::vector<double>& running = job.tasks.strata[0].running_seconds;
                    running.clear();
                    for (const auto& [since, task] : job.runs) running.push_back(now - since);
                    priorities[j] = rule(std::as_const(job));
                    stale[j] = 0;
                }
                if (best == trace.size() || before(j, best)) best = j;
            }
            if (best == trace.size()) break;
            SlotJob& job = jobs[best];
            const double seconds = job.truth->task_seconds[job.begun];
            ends.emplace(now + seconds, best, job.begun);
            job.runs.emplace_back(now, job.begun++);
            job.left_seconds -= seconds;
            stale[best] = 1;
            --free;
        }
    }
    return completed;
}

}  // namespace support

#endif
