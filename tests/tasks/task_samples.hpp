#ifndef GOODPUT_TESTS_TASKS_TASK_SAMPLES_HPP
#define GOODPUT_TESTS_TASKS_TASK_SAMPLES_HPP

// Jobs of which some tasks have ended and some run.

#include <utility>
#include <vector>

#include "goodput/core/tasks.hpp"

namespace support {

/// A job of alike tasks, with the seconds of those that have ended and of those that run.
inline goodput::JobTasks tasks_of(int tasks, const std::vector<double>& finished,
                                  std::vector<double> running = {}) {
    goodput::JobTasks result{{goodput::TaskSample{.tasks = tasks}}, {}};
    for (const double seconds : finished) result.strata[0].finish(seconds);
    result.strata[0].running_seconds = std::move(running);
    return result;
}

}  // namespace support

#endif
