#ifndef GOODPUT_TESTS_HOSTS_HOST_USE_HPP
#define GOODPUT_TESTS_HOSTS_HOST_USE_HPP

// Counts from placements how many cores and how much memory a plan takes of every node.

#include <cstddef>
#include <vector>

#include "goodput/schedule/snapshot.hpp"

namespace support {

/// Cores and memory used on each node.
struct HostUse {
    std::vector<double> cores{}, memory_gib{};
};

/// A job without a stated share has the share of the node that goes with its GPUs.
inline HostUse host_use(const goodput::Snapshot& snapshot, const goodput::Plan& plan) {
    const std::vector<goodput::Node>& nodes = snapshot.cluster.nodes;
    HostUse use{std::vector<double>(nodes.size()), std::vector<double>(nodes.size())};
    for (const goodput::Decision& decision : plan.decisions) {
        const goodput::HostShare said = decision.option.configuration.host();
        for (const goodput::NodeShare& held : decision.placement) {
            const goodput::Node& node = nodes[held.node];
            use.cores[held.node] += held.gpus * (said.empty() ? node.cores / node.gpus : said.cores_per_gpu);
            use.memory_gib[held.node] +=
                held.gpus * (said.empty() ? node.memory_gib / node.gpus : said.memory_gib_per_gpu);
        }
    }
    return use;
}

}  // namespace support

#endif
