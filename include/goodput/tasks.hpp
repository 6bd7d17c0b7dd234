#ifndef GOODPUT_TASKS_HPP
#define GOODPUT_TASKS_HPP

// Predicts how much longer a job takes, from its own tasks, from similar jobs, or from its learning curve.

#include "goodput/tasks/forecast.hpp"
#include "goodput/tasks/learning_curve.hpp"
#include "goodput/tasks/pilots.hpp"
#include "goodput/tasks/task_durations.hpp"
#include "goodput/tasks/task_history.hpp"

#endif
