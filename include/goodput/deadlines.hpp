#ifndef GOODPUT_DEADLINES_HPP
#define GOODPUT_DEADLINES_HPP

// Jobs with deadlines: a plan over time that keeps all deadlines or a proof that none exists, and promises
// that hold over rounds.

#include "goodput/deadlines/admission.hpp"
#include "goodput/deadlines/admission_change.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/deadlines/promised_scheduler.hpp"
#include "goodput/deadlines/promises.hpp"

#endif
