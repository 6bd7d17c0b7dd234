#ifndef GOODPUT_HADAR_HPP
#define GOODPUT_HADAR_HPP

// Hadar and HadarE, two published schedulers: utilities of completion times, prices that rise with use,
// jobs with GPUs of several types, and jobs that run as several copies.

#include "goodput/hadar/hadar.hpp"
#include "goodput/hadar/job_copies.hpp"
#include "goodput/hadar/mixed_types.hpp"
#include "goodput/hadar/posted_prices.hpp"

#endif
