#ifndef GOODPUT_HOSTS_HOST_FACTOR_HPP
#define GOODPUT_HOSTS_HOST_FACTOR_HPP

// Adjusts a job's goodput to the cores and memory that go with its GPUs.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/host.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

/// Multiplies the goodput of options by the factor that HostNeeds::speed gives for their cores and memory,
/// for jobs with Job::host. Options that state no share of cores and memory (HostShares) are not changed.
class HostFactor {
public:
    /// Returns whether any job of the round says what it needs.
    bool begin_round(const Round& round) {
        of_ = nullptr;
        return std::any_of(round.jobs.begin(), round.jobs.end(),
                           [](const Job& job) { return job.host.has_value(); });
    }
    /// Adjusts an option of the round.
    void operator()(const Job& job, Option& option) {
        const HostShare share = option.configuration.host();
        if (!job.host || share.empty()) return;
        if (std::exchange(of_, &job) != &job) factors_.clear();
        // Many GPU counts share a few host shares, so each share is evaluated once per job.
        const auto known = std::find_if(factors_.begin(), factors_.end(),
                                        [&](const auto& known_share) { return known_share.first == share; });
        option.goodput *= known != factors_.end()
                              ? known->second
                              : factors_.emplace_back(share, job.host->factor(share)).second;
    }

    /// Returns a note such as "it would run 1.8 times as fast with 12 cores a GPU; 96 of 96 cores of ...
    /// are taken, price 0.004". The note is for a job that would be clearly faster with another share and
    /// the same GPUs. It names what is in the way: of the resources that the job would take more of, the
    /// most expensive one.
    [[nodiscard]] std::string note(const GivenOption& given) const {
        const Option& got = given.options[given.index];
        std::size_t best = given.index;
        for (std::size_t k = 0; k < given.options.size(); ++k)
            if (given.options[k].configuration.same_gpus(got.configuration) &&
                given.options[k].goodput > given.options[best].goodput)
                best = k;
        const double times = given.options[best].goodput / got.goodput;
        if (!(got.goodput > 0) || times < 1.005) return {};
        std::string text =
            "it would run " + rounded_text_of(std::round(times * 100) / 100) + " times as fast with ";
        append_description(text, given.options[best].configuration.host());
        const ResourceUse* dearest = nullptr;
        double most = 0, price = -1;
        for (const ResourceUse& use : given.uses(best)) {
            double more = use.units;
            for (const ResourceUse& given_use : given.uses(given.index))
                if (given_use.resource == use.resource) more -= given_use.units;
            if (!(more > 0) || more * given.prices[use.resource] <= price) continue;
            dearest = &use;
            most = more;
            price = more * given.prices[use.resource];
        }
        if (!dearest || dearest->resource < given.pools) return text;
        const std::size_t row = dearest->resource;
        const LimitRow limit = given.row(row);
        text += "; " + rounded_text_of(given.taken[row]) + " of " + rounded_text_of(given.capacity[row]) +
                " " + limit.unit + " of " + limit.name + " are taken";
        if (given.prices[row] > 0) text += ", price " + rounded_text_of(given.prices[row]);
        const bool on_node =
            given.capacity[row] - given.taken[row] >= most && given.values[best] > given.values[given.index];
        return text + (on_node ? ", but its nodes have too few left" : "");
    }

private:
    const Job* of_ = nullptr;
    std::vector<std::pair<HostShare, double>> factors_;  // factors of the job whose options came last
};

static_assert(NotingFactor<HostFactor>);

}  // namespace goodput::inline v0_1

#endif
