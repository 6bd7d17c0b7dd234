#ifndef GOODPUT_PAIRS_HPP
#define GOODPUT_PAIRS_HPP

// Pairs of jobs on the same GPUs at the same time: their shares of time, the speed of both, and rounds with
// pairs.

#include "goodput/pairs/job_pair.hpp"
#include "goodput/pairs/pair_fit.hpp"
#include "goodput/pairs/pair_model.hpp"
#include "goodput/pairs/paired_problem.hpp"
#include "goodput/pairs/paired_scheduler.hpp"
#include "goodput/pairs/share_pairs.hpp"
#include "goodput/pairs/utilised_pairs.hpp"

#endif
