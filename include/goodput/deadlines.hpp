#ifndef GOODPUT_DEADLINES_HPP
#define GOODPUT_DEADLINES_HPP

// Jobs with deadlines: whether all can be kept, with a plan over time or a proof.

#include "goodput/deadlines/admission.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"

#endif
