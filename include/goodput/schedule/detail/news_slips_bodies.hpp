#ifndef GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_BODIES_HPP
#define GOODPUT_SCHEDULE_DETAIL_NEWS_SLIPS_BODIES_HPP

// Implements detail/news_slips.hpp.

#include <string>
#include <vector>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/schedule/detail/news_slips.hpp"

namespace goodput::inline v0_1::detail {

GOODPUT_BODY void warn_of_news(const Job& job, const JobNews& news, const Cluster& cluster,
                               std::vector<std::string>& warnings) {
    constexpr double least_seconds = 1e-4, most_seconds = 3600, far = 100;
    if (news.wanted_batch && job.adaptivity != Adaptivity::batch)
        warnings.push_back("job '" + job.name +
                           "': a batch is wanted, but the job does not choose its batch");
    for (const NewSample& each : news.samples) {
        const TypeLimits& limits = job.types[each.gpu_type];
        const double seconds = each.sample.step_seconds / each.sample.microbatches();
        // `expected` is the time of one replica at its largest batch. A step with a smaller batch takes
        // less, but not less than in proportion to the batch.
        const double expected =
            limits.reference_rate > 0 ? limits.max_atomic_batch / limits.reference_rate : 0;
        const double part = double(each.sample.plan.atomic_batch) / limits.max_atomic_batch;
        std::string what;
        if (limits.max_atomic_batch == 0)
            what = "although it cannot run there by its limits";
        else if (!(seconds >= least_seconds && seconds <= most_seconds))
            what = "takes " + rounded_text_of(seconds) + " s: is that in seconds?";
        else if (expected > 0 && (seconds > far * expected || seconds * far < part * expected))
            what = "takes " + rounded_text_of(seconds) + " s, but by its declared rate about " +
                   rounded_text_of(part * expected) + " s: are both right?";
        if (what.empty()) continue;
        warnings.push_back("job '" + job.name + "': a step measured on " + cluster.gpu_types[each.gpu_type] +
                           " " + what);
        return;
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
