#ifndef GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_HPP
#define GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_HPP

// Finds measurements that are possible but implausible: milliseconds in place of seconds, or a batch in
// place of a rate.

#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"

namespace goodput::inline v0_1::detail {

/// Appends at most one sentence about the measurements of a job. It names a step below a ten-thousandth of
/// a second or above an hour, one that takes over a hundred times longer or less than the job's declared
/// rate implies, or one on a GPU type on which the job cannot run by its limits. Appends another sentence
/// if the news contain a wanted batch but the job's batch is not tuned.
void warn_of_news(const Job& job, const JobNews& news, const Cluster& cluster,
                  std::vector<std::string>& warnings);

}  // namespace goodput::inline v0_1::detail

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/news_slips_bodies.hpp"
#endif

#endif
