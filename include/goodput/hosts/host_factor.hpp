#ifndef GOODPUT_HOSTS_HOST_FACTOR_HPP
#define GOODPUT_HOSTS_HOST_FACTOR_HPP

// What cores and memory beside the GPUs make of a job's goodput.

#include <algorithm>
#include <utility>
#include <vector>

#include "goodput/core/host.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/schedule/goodput_factor.hpp"

namespace goodput {

/// Multiplies the goodput of what jobs with Job::host are offered beside a stated share of cores and memory
/// (HostShares) by the factor of HostNeeds::speed.
class HostFactor {
public:
    /// Whether any job of the round says what it needs.
    bool begin_round(const Round& round) {
        of_ = nullptr;
        return std::any_of(round.jobs.begin(), round.jobs.end(),
                           [](const Job& job) { return job.host.has_value(); });
    }
    /// An option of the round.
    void operator()(const Job& job, Option& option) {
        const HostShare share = option.configuration.host();
        if (!job.host || share.empty()) return;
        if (std::exchange(of_, &job) != &job) factors_.clear();
        // Few shares go with many GPUs: each is looked up once a job.
        const auto known =
            std::find_if(factors_.begin(), factors_.end(), [&](const auto& of) { return of.first == share; });
        option.goodput *= known != factors_.end()
                              ? known->second
                              : factors_.emplace_back(share, job.host->factor(share)).second;
    }

private:
    const Job* of_ = nullptr;
    std::vector<std::pair<HostShare, double>> factors_;  // of that job
};

static_assert(GoodputFactor<HostFactor>);

}  // namespace goodput

#endif
