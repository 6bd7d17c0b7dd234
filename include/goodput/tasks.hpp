#ifndef GOODPUT_TASKS_HPP
#define GOODPUT_TASKS_HPP

// How much longer a job takes: from tasks of its own, jobs of its kind, or its learning curve.

#include "goodput/tasks/forecast.hpp"
#include "goodput/tasks/learning_curve.hpp"
#include "goodput/tasks/pilots.hpp"
#include "goodput/tasks/task_durations.hpp"
#include "goodput/tasks/task_history.hpp"

#endif
