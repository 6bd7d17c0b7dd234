#ifndef GOODPUT_STATISTICS_HPP
#define GOODPUT_STATISTICS_HPP

// Shared statistics: quantiles, the coordinates of a fit on which a time depends, efficiency from gradient
// statistics at several batch sizes, and which runs to measure next.

#include "goodput/statistics/distributions.hpp"
#include "goodput/statistics/fitted_slopes.hpp"
#include "goodput/statistics/gradient_by_batch.hpp"
#include "goodput/statistics/profile_runs.hpp"

#endif
