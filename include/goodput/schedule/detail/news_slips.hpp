#ifndef GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_HPP
#define GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_HPP

// Finds measurements that are possible but hardly meant: milliseconds for seconds, a batch for a rate.

#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"

namespace goodput::detail {

/// Appends at most one sentence about the measurements of a job: a step below a ten-thousandth of a second
/// or above an hour, one that takes a hundred times longer or less than the job's declared rate says, or
/// one on a GPU type on which the job cannot run by its limits. Appends another one if a job that does not
/// choose its batch reports a wanted batch.
void warn_of_news(const Job& job, const JobNews& news, const Cluster& cluster,
                  std::vector<std::string>& warnings);

}  // namespace goodput::detail

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/news_slips_bodies.hpp"
#endif

#endif
