#ifndef GOODPUT_TESTS_HOSTS_HOSTED_ROUND_HPP
#define GOODPUT_TESTS_HOSTS_HOSTED_ROUND_HPP

// Random rounds in which nodes count cores and memory, and the checks that every plan of such a round has to
// pass. For tests: includes doctest.

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "goodput/core/host.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "hosts/host_use.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

namespace support {

/// The share that goes with each GPU on every node of hosted_round().
inline constexpr goodput::HostShare hosted_share{4, 16};

/// Makes a round with 4 cores and 16 GiB per GPU. More of them make some jobs faster, others not.
inline goodput::Snapshot hosted_round(Random& random, bool drained) {
    using namespace goodput;
    Snapshot snapshot = RandomRound(random, {.drained = drained ? 0.2 : 0, .packs = true}).snapshot;
    for (Node& node : snapshot.cluster.nodes) {
        node.cores = hosted_share.cores_per_gpu * node.gpus;
        node.memory_gib = hosted_share.memory_gib_per_gpu * node.gpus;
    }
    for (Job& job : snapshot.jobs) {
        if (random.chance(0.3)) continue;
        const double low = random.between(0.1, 1), high = random.between(1, 3);
        job.host = HostNeeds{{random.chance(0.5) ? 1.0 : 4.0, 4}, {16, 64}, {}};
        job.host->speed = {
            {1, 4, random.chance(0.2) ? 1 : low}, {4, 16, 1}, {8, 16, (1 + high) / 2}, {16, 32, high}};
    }
    return snapshot;
}

/// Checks that no node gives more cores or memory than it has, and that no job with host needs is slower than
/// with its share.
inline void check_hosts(const goodput::Snapshot& snapshot, const goodput::Plan& plan) {
    using namespace goodput;
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    const HostUse use = host_use(snapshot, plan);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        CHECK(use.cores[n] <= nodes[n].cores * (1 + 1e-6));
        CHECK(use.memory_gib[n] <= nodes[n].memory_gib * (1 + 1e-6));
    }
    for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
        const Decision& decision = plan.decisions[j];
        const HostShare said = decision.option.configuration.host();
        const std::optional<HostNeeds>& needs = snapshot.jobs[j].host;
        if (decision.placement.empty() || !needs || said.empty()) continue;
        CHECK(needs->factor(said) >= needs->factor(hosted_share) * (1 - 1e-9));
    }
}

}  // namespace support

#endif
