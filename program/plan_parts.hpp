#ifndef GOODPUT_EXAMPLES_CLI_PLAN_PARTS_HPP
#define GOODPUT_EXAMPLES_CLI_PLAN_PARTS_HPP

// What the schedulers of `goodput plan` have in common.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "goodput/hosts/host_capacity.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/team_quotas.hpp"
#include "round.hpp"

namespace cli {

using PlanLimits =
    goodput::Limits<goodput::TeamQuotas, goodput::Budget, goodput::SpotCap, goodput::HostCapacity>;

/// Tells a scheduler what a line says besides its jobs and nodes: racks, limits, the deadline.
template <class S>
void set_up(S& scheduler, const Round& round) {
    scheduler.placer().set_topology(round.topology);
    scheduler.limits() = PlanLimits(goodput::TeamQuotas(round.teams), goodput::Budget(round.budget_h),
                                    goodput::SpotCap(round.spot_gpus), goodput::HostCapacity());
    scheduler.options().deadline.reset();
    if (!round.deadline_ms) return;
    constexpr double longest_ms = 1e12;  // thirty years, and far from overflowing nanoseconds
    scheduler.options().deadline =
        std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(*round.deadline_ms, longest_ms) * 1e6));
}

}  // namespace cli

#endif
