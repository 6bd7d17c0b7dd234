#ifndef GOODPUT_HOSTS_WITH_HOSTS_HPP
#define GOODPUT_HOSTS_WITH_HOSTS_HPP

// The way into cores and memory: everything that a Scheduler needs to deal them out.

#include "goodput/hosts/divided_hosts.hpp"
#include "goodput/hosts/host_capacity.hpp"
#include "goodput/hosts/host_factor.hpp"
#include "goodput/hosts/host_shares.hpp"

namespace goodput {

/// A scheduler that deals out CPU cores and host memory as well: it offers variants of what its maker offers,
/// counts what goes with them, keeps to the sums of each pool and then to what each node has.
template <class AnyScheduler>
[[nodiscard]] auto with_hosts(const AnyScheduler& scheduler) {
    return scheduler.limited_by(HostCapacity())
        .offering(HostShares(scheduler.maker()))
        .counting(HostFactor())
        .after_nodes(DividedHosts());
}

}  // namespace goodput

#endif
