#ifndef GOODPUT_DEADLINES_HPP
#define GOODPUT_DEADLINES_HPP

// Jobs with deadlines: whether all deadlines can be met, with a plan over time or a proof; and promises
// over rounds.

#include "goodput/deadlines/admission.hpp"
#include "goodput/deadlines/admission_change.hpp"
#include "goodput/deadlines/admission_order.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/deadlines/promised_scheduler.hpp"
#include "goodput/deadlines/promises.hpp"

#endif
