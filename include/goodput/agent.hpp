#ifndef GOODPUT_AGENT_HPP
#define GOODPUT_AGENT_HPP

// The training job's side: step times, gradients, learning rates, and what a job reports.

#include "goodput/agent/gradient_meter.hpp"
#include "goodput/agent/learning_rate.hpp"
#include "goodput/agent/step_times.hpp"
#include "goodput/agent/training_agent.hpp"
#include "goodput/agent/training_settings.hpp"

#endif
