#ifndef GOODPUT_GOODPUT_HPP
#define GOODPUT_GOODPUT_HPP

// Everything, in the order in which data flows.

#include "goodput/allot/allot.hpp"
#include "goodput/allot/conflict.hpp"
#include "goodput/allot/explain.hpp"
#include "goodput/fit/noise_scale.hpp"
#include "goodput/fit/prediction_interval.hpp"
#include "goodput/fit/throughput_fit.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/pipeline.hpp"
#include "goodput/model/pollux.hpp"
#include "goodput/model/tabulated.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/job_history.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/version.hpp"

#endif
