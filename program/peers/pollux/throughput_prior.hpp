#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_THROUGHPUT_PRIOR_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_THROUGHPUT_PRIOR_HPP

// The assumed speed of a job on one GPU type, as long as only its computing times are known. These are the
// rules of the released code of Pollux (OSDI'21) and Sia (SOSP'23) for what samples leave open, applied to
// everything at once: half of the computing time is constant, synchronising is free, and nothing overlaps.
// A fit falls back to this if it finds nothing better and has no previous fit.

#include <cmath>
#include <span>

#include "goodput/core/sample.hpp"
#include "goodput/model/throughput.hpp"
#include "peers/pollux/pollux_start.hpp"

namespace goodput::peers {

/// Returns the prior around the geometric means of computing times and batches, which a single outlier
/// hardly moves. `samples` must be valid, and at least one. The result is always a valid model
/// (model/job_model.hpp). Takes O(samples).
[[nodiscard]] inline PolluxThroughput throughput_prior(std::span<const ThroughputSample> samples) {
    double log_seconds = 0, log_batch = 0;
    for (const ThroughputSample& sample : samples) {
        log_seconds += std::log(sample.step_seconds - sample.sync_seconds);
        log_batch += std::log(sample.plan.atomic_batch);
    }
    const double count = static_cast<double>(samples.size());
    constexpr double node = free_seconds, network = 1.1 * free_seconds;
    const double half = std::exp(log_seconds / count) / 2;
    return {half, half / std::exp(log_batch / count), network, network, node, node, 1};
}

}  // namespace goodput::peers

#endif
