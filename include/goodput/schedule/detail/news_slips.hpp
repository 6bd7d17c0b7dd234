#ifndef GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_HPP
#define GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_HPP

// Measurements that are possible and yet hardly meant: milliseconds for seconds, a batch for a rate.

#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"

namespace goodput::detail {

/// Adds at most one sentence about the measurements of a job: a step below a ten-thousandth of a second or
/// above an hour, one that takes a hundred times longer or less than the job's declared rate says, or one on
/// a GPU type on which the job cannot run by its limits. And one where a batch is wanted of a job that does
/// not choose its batch.
void warn_of_news(const Job& job, const JobNews& news, const Cluster& cluster,
                  std::vector<std::string>& warnings);

}  // namespace goodput::detail

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/news_slips_bodies.hpp"
#endif

#endif
