#ifndef GOODPUT_HOSTS_WITH_HOSTS_HPP
#define GOODPUT_HOSTS_WITH_HOSTS_HPP

// The entry point for cores and memory: adds everything that a Scheduler needs to allocate them.

#include "goodput/hosts/divided_hosts.hpp"
#include "goodput/hosts/host_capacity.hpp"
#include "goodput/hosts/host_factor.hpp"
#include "goodput/hosts/host_shares.hpp"

namespace goodput::inline v0_1 {

/// Returns a scheduler that also allocates CPU cores and host memory. It offers variants of its maker's
/// options, counts the cores and memory of each variant, and respects first the sums of each pool and then
/// the amounts of each node.
template <class AnyScheduler>
[[nodiscard]] auto with_hosts(const AnyScheduler& scheduler) {
    return scheduler.limited_by(HostCapacity())
        .offering(HostShares(scheduler.maker()))
        .counting(HostFactor())
        .after_nodes(DividedHosts());
}

}  // namespace goodput::inline v0_1

#endif
