#ifndef GOODPUT_TESTS_TASKS_TASK_SAMPLES_HPP
#define GOODPUT_TESTS_TASKS_TASK_SAMPLES_HPP

// Jobs with some ended and some running tasks.

#include <utility>
#include <vector>

#include "goodput/core/tasks.hpp"

namespace support {

/// Makes a job of equal tasks with the given seconds of its ended and running tasks.
inline goodput::JobTasks tasks_of(int tasks, const std::vector<double>& finished,
                                  std::vector<double> running = {}) {
    goodput::JobTasks result{{goodput::TaskSample{.tasks = tasks}}, {}};
    for (const double seconds : finished) result.strata[0].finish(seconds);
    result.strata[0].running_seconds = std::move(running);
    return result;
}

}  // namespace support

#endif
