#ifndef GOODPUT_TESTS_HOSTS_UNLIKE_HOSTS_HPP
#define GOODPUT_TESTS_HOSTS_UNLIKE_HOSTS_HPP

// Random rounds on nodes of one size with different cores and memory, some of them not counted. Jobs may have
// 0 of either, and pinned jobs may need more than their share. With the checks that every plan of such a
// round has to pass. For tests: includes doctest.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/core/host.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "hosts/host_use.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace support {

/// Counts the cases met, so that a test knows that it checks something.
struct UnlikeHostCounts {
    int hosted = 0, keep_more_than_a_share = 0, wait = 0;
};

inline double node_host(const goodput::Node& node, int resource) {
    return resource == 0 ? node.cores : node.memory_gib;
}
inline double share_host(const goodput::HostShare& share, int resource) {
    return resource == 0 ? share.cores_per_gpu : share.memory_gib_per_gpu;
}

inline goodput::Snapshot unlike_hosts(Random& random) {
    using namespace goodput;
    Snapshot snapshot;
    snapshot.time_seconds = 100;
    snapshot.cluster.gpu_types = {"A100"};
    const int size = random.chance(0.5) ? 8 : 4, nodes = random.integer(1, 6);
    const bool counts_memory = random.chance(0.6), some_uncounted = random.chance(0.2);
    std::vector<int> free;
    for (int n = 0; n < nodes; ++n) {
        Node node{.name = "node-" + std::to_string(n), .gpus = size};
        node.cores =
            size * std::vector<double>{2, 4, 4, 8, 16}[static_cast<std::size_t>(random.integer(0, 4))];
        if (counts_memory) node.memory_gib = size * (random.chance(0.5) ? 16.0 : 32.0);
        if (some_uncounted && random.chance(0.4)) node.cores = 0;
        snapshot.cluster.nodes.push_back(node);
        free.push_back(size);
    }
    const int jobs = random.integer(1, 10);
    for (int j = 0; j < jobs; ++j) {
        Job job{.name = "job-" + std::to_string(j), .submitted_seconds = 1.0 * j};
        job.restart_cost_seconds = random.chance(0.3) ? 0 : 30;
        job.adaptivity = Adaptivity::gpus;
        job.initial_batch = job.target_batch = 64;
        job.max_batch = 4096;  // it can use any number of GPUs
        job.types = {{.max_atomic_batch = 64, .reference_rate = 100}};
        const int gpus = 1 << random.integer(0, size == 8 ? 3 : 2);
        job.max_gpus = gpus;
        job.min_gpus = random.chance(0.5) ? gpus : 1;
        if (nodes > 1 && random.chance(0.1)) job.min_gpus = job.max_gpus = 2 * size;
        if (random.chance(0.85)) {
            HostNeeds needs;
            const double cores = random.chance(0.3) ? 0 : 1 << random.integer(0, 3);
            needs.least.set_cores(cores);
            needs.most.set_cores(random.chance(0.3) ? cores : cores + 8);
            const double memory = random.chance(0.5) ? 0 : 8 << random.integer(0, 1);
            const bool counts = random.chance(0.7);
            if (counts) needs.least.set_memory(memory);
            if (counts) needs.most.set_memory(memory + random.integer(0, 2) * 16);
            const double low = random.between(0.2, 1), high = random.between(1, 3);
            if (random.chance(0.8))
                needs.speed = {
                    {0, 0, low / 2}, {2, 0, low}, {4, 16, 1}, {8, 16, (1 + high) / 2}, {16, 32, high}};
            job.host = needs;
        }
        const auto at = static_cast<std::size_t>(random.integer(0, nodes - 1));
        if (random.chance(0.5) && gpus <= free[at] && job.max_gpus <= size) {
            job.placement = {{at, gpus}};
            free[at] -= gpus;
            job.preemptible = random.chance(0.5);
        }
        snapshot.jobs.push_back(job);
    }
    return snapshot;
}

/// Checks that no node gives more than it has; that pinned jobs have what they need if their nodes can give
/// that to all of them; that no job is slower than with its share while enough is idle; that no job is
/// impossible that fits a node; and that no job waits next to enough GPUs, cores and memory.
inline void check_unlike_hosts(const goodput::Snapshot& snapshot, const goodput::Plan& plan,
                               UnlikeHostCounts& counts) {
    using namespace goodput;
    constexpr double none = std::numeric_limits<double>::infinity();
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    REQUIRE(plan.faults.empty());
    CHECK(plan.objective <= plan.bound + 1e-9 * (1 + std::abs(plan.bound)));
    const HostUse use = host_use(snapshot, plan);
    std::vector<int> free;
    std::vector<char> more(nodes.size(), 0);  // true if a job there needs more than its share
    std::vector<double> needed[2];            // needs of the pinned jobs on each node
    for (const Node& node : nodes) free.push_back(node.gpus);
    for (auto& of : needed) of.assign(nodes.size(), 0);
    const auto left = [&](std::size_t n, int r) {
        const double all = node_host(nodes[n], r);
        return all > 0 ? all - (r == 0 ? use.cores : use.memory_gib)[n] : none;
    };
    const auto least_of = [&](const Job& job, std::size_t n, int r) {
        return job.host ? share_host(job.host->least, r) : node_host(nodes[n], r) / nodes[n].gpus;
    };
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        for (const NodeShare& held : plan.decisions[j].placement) {
            free[held.node] -= held.gpus;
            for (int r = 0; r < 2; ++r)
                if (const double all = node_host(nodes[held.node], r); all > 0 && job.host)
                    more[held.node] |= share_host(job.host->least, r) > all / nodes[held.node].gpus;
        }
        if (!job.keeps_what_it_holds()) continue;
        CHECK(plan.decisions[j].placement == job.placement);
        for (const NodeShare& held : job.placement)
            for (int r = 0; r < 2; ++r) {
                needed[r][held.node] += held.gpus * least_of(job, held.node, r);
            }
    }
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        CHECK(free[n] >= 0);
        for (int r = 0; r < 2; ++r) CHECK(left(n, r) >= -1e-6 * node_host(nodes[n], r));
    }
    // Returns what a job may have if these amounts go with each of its GPUs.
    const auto clamped = [&](const HostNeeds& needs, double cores, double memory) {
        HostShare share;
        if (needs.most.counts_cores())
            share.set_cores(std::clamp(cores, needs.least.cores_per_gpu, needs.most.cores_per_gpu));
        if (needs.most.counts_memory())
            share.set_memory(
                std::clamp(memory, needs.least.memory_gib_per_gpu, needs.most.memory_gib_per_gpu));
        return share;
    };
    const auto usual = [&](const HostNeeds& needs, const Node& node) {
        return clamped(needs, node.cores > 0 ? node.cores / node.gpus : none,
                       node.memory_gib > 0 ? node.memory_gib / node.gpus : none);
    };
    const bool no_nodes = std::any_of(plan.decisions.begin(), plan.decisions.end(), [](const Decision& of) {
        return of.verdict.reason.find("wholly free") != std::string::npos ||
               of.verdict.reason.find("largest free block") != std::string::npos;
    });
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        const Decision& decision = plan.decisions[j];
        CAPTURE(job.name);
        CAPTURE(decision.verdict.reason);
        const HostShare said = decision.option.configuration.host();
        if (!decision.placement.empty()) {
            if (!job.host || said.empty() || decision.placement.size() > 1) continue;
            ++counts.hosted;
            const NodeShare held = decision.placement.front();
            const Node& node = nodes[held.node];
            for (int r = 0; r < 2; ++r) {
                const double all = node_host(node, r);
                if (all <= 0) continue;
                if (job.keeps_what_it_holds() && least_of(job, held.node, r) > all / node.gpus)
                    ++counts.keep_more_than_a_share;
                const bool enough = needed[0][held.node] <= nodes[held.node].cores * (1 + 1e-9) &&
                                    needed[1][held.node] <= nodes[held.node].memory_gib * (1 + 1e-9);
                if (!job.keeps_what_it_holds() || enough)
                    CHECK(share_host(said, r) >= share_host(job.host->least, r) * (1 - 1e-9));
            }
            const HostShare share = usual(*job.host, node);
            if (job.host->factor(said) >= job.host->factor(share) * (1 - 1e-6)) continue;
            CHECK(more[held.node]);  // otherwise there is always enough
            bool idle = true;
            for (int r = 0; r < 2; ++r)
                if (node_host(node, r) > 0)
                    idle &= held.gpus * (share_host(share, r) - share_host(said, r)) <=
                            left(held.node, r) + 1e-9 * node_host(node, r);
            CHECK_FALSE(idle);
            continue;
        }
        if (!job.host || job.host->most.empty() || job.max_gpus > nodes[0].gpus) continue;
        // Jobs that the policy does not want, and GPUs that do not pack, do not concern this check.
        const std::string& why = decision.verdict.reason;
        if (no_nodes || why.find("the policy offers it nothing") != std::string::npos) continue;
        ++counts.wait;
        // A node must make the job at least as fast as with the smallest share.
        double least = none;
        for (const Node& node : nodes) least = std::min(least, job.host->factor(usual(*job.host, node)));
        for (std::size_t n = 0; n < nodes.size(); ++n)
            for (int gpus = job.min_gpus; gpus <= job.max_gpus; gpus *= 2)
                for (const HostShare& share : {job.host->least, usual(*job.host, nodes[n])}) {
                    bool has = true, has_left = free[n] >= gpus;
                    for (int r = 0; r < 2; ++r) {
                        const double all = node_host(nodes[n], r), units = gpus * share_host(share, r);
                        if (all <= 0 ||
                            !(r == 0 ? job.host->most.counts_cores() : job.host->most.counts_memory()))
                            continue;
                        has &= units <= all;
                        has_left &= units <= left(n, r);
                    }
                    if (job.host->factor(share) < least * (1 - 1e-9) || job.host->factor(share) <= 0)
                        continue;
                    CAPTURE(nodes[n].name);
                    CAPTURE(gpus);
                    if (has) CHECK(decision.verdict.outcome != Outcome::impossible);
                    CHECK_FALSE(has_left);
                    if (has_left) return;
                }
    }
}

}  // namespace support

#endif
