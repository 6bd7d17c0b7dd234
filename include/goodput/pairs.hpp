#ifndef GOODPUT_PAIRS_HPP
#define GOODPUT_PAIRS_HPP

// Two jobs on the same GPUs at the same time: their shares of time, how fast both are, and rounds with them.

#include "goodput/pairs/job_pair.hpp"
#include "goodput/pairs/pair_fit.hpp"
#include "goodput/pairs/pair_model.hpp"
#include "goodput/pairs/paired_problem.hpp"
#include "goodput/pairs/paired_scheduler.hpp"
#include "goodput/pairs/share_pairs.hpp"

#endif
