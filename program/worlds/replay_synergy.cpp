#include "worlds/replay_synergy.hpp"

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/sim/synergy_world.hpp"
#include "replay/replay_in.hpp"
#include "replay/replay_options.hpp"
#include "replay/replay_rows.hpp"
#include "replay/sizes.hpp"
#include "replay/workload.hpp"
#include "worlds/synergy_goodput.hpp"
#include "worlds/synergy_trace.hpp"

namespace cli {

namespace {

using goodput::peers::SynergyAllocator;
using goodput::peers::SynergyPlacement;

goodput::Cluster cluster_of(const ReplayCommand& command) {
    goodput::Cluster cluster = plain_cluster(command, "gpu:16x8");
    const double cores = command.cores.value_or(24), memory_gib = command.memory_gib.value_or(500);
    goodput::require_positive("--cores", "number", cores);
    goodput::require_positive("--memory-gib", "size", memory_gib);
    if (cluster.gpu_types.size() > 1)
        goodput::bad_input("--cluster", "number of GPU types", cluster.gpu_types.size(),
                           "1 in the world synergy");
    for (goodput::Node& node : cluster.nodes) {
        if (node.gpus != cluster.nodes.front().gpus)
            goodput::bad_input("--cluster", "GPUs of node '" + node.name + "'", node.gpus,
                               "as many as of every other one, " +
                                   goodput::text_of(cluster.nodes.front().gpus) + ", in the world synergy");
        node.cores = cores;
        node.memory_gib = memory_gib;
    }
    return cluster;
}

SynergyPlacement placement_called(const std::string& name) {
    if (name.empty() || name == "synergy") return SynergyPlacement::fewest_free;
    if (name == "random") return SynergyPlacement::in_order;
    goodput::bad_input("--placement", "name", "'" + name + "'", "synergy or random");
}

/// Traces whose jobs are all submitted at once were published with decisions at 1 s, 301 s and so on.
std::optional<double> first_decision(const std::vector<goodput::SynergyJob>& jobs) {
    const bool at_once =
        std::all_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.submitted_seconds < 1; });
    return at_once ? std::optional(1.0) : std::nullopt;
}

PolicyReplay replay_host(const SynergyPolicy& policy, const SynergyHost& host,
                         const goodput::Cluster& cluster, const std::vector<goodput::SynergyJob>& jobs,
                         const ReplayCommand& command) {
    goodput::SynergyWorld world(cluster, jobs);
    const goodput::ReplayOptions options{.interval_seconds = command.interval_seconds,
                                         .first_decision_seconds = first_decision(jobs),
                                         .moves_restart = command.moves == "restart"};
    // Planners of this world other than the published ones go here.
    const std::string name(policy.name);
    PolicyReplay replay;
    const auto replay_with = [&](auto planner) {
        return replay_in(world, std::move(planner), name, cluster, world, options);
    };
    if (host.mode)
        replay = replay_with(
            SynergyAllocator(world, *policy.order, *host.mode, placement_called(command.placement)));
    else if (policy.order)
        replay = replay_with(synergy_scheduler(world, InSynergyOrder(world, *policy.order)));
    else if (policy.name == "goodput-declared")
        replay = replay_with(synergy_scheduler(world, goodput::DeclaredGoodputPolicy()));
    else
        replay = replay_with(synergy_scheduler(world, goodput::GoodputPolicy()));
    replay.host = host.name;
    return replay;
}

}  // namespace

std::string synergy_policy_names() { return names_of(synergy_policies); }
std::string synergy_host_names() { return names_of(synergy_hosts); }

int run_synergy_replay(const ReplayCommand& command, std::ostream& out) {
    require_files(command);
    const auto policies = chosen(synergy_policies, command.policies, "policy", "synergy");
    const auto hosts = chosen(synergy_hosts, command.hosts, "host", "synergy");
    placement_called(command.placement);
    const bool any = std::any_of(policies.begin(), policies.end(), [&](const SynergyPolicy& policy) {
        return policy.order ||
               std::any_of(hosts.begin(), hosts.end(), [](const SynergyHost& host) { return !host.mode; });
    });
    if (!any)
        goodput::bad_input("--policy", "name", "'" + std::string(policies.front().name) + "'",
                           "with --host goodput, the only one that it goes with");
    const goodput::Cluster cluster = cluster_of(command);
    std::vector<goodput::SynergyJob> jobs =
        read_synergy_jobs(command.workload, command.profiles, goodput::proportional_share(cluster));
    const std::vector<std::string> names = shuffle_and_squeeze(command, jobs);
    std::vector<std::string> kinds;
    for (const goodput::SynergyJob& job : jobs) kinds.push_back(job.model);

    ReplayRows rows(command, out, names, cluster.gpu_types,
                    warnings_of_sizes(kinds, goodput::SynergyWorld(cluster, jobs),
                                      "work counts in iterations, iter_time_s_at_fair_share in seconds"));
    for (const SynergyPolicy& policy : policies)
        for (const SynergyHost& host : hosts)
            if (policy.order || !host.mode) rows.add(replay_host(policy, host, cluster, jobs, command));
    return rows.finish();
}

}  // namespace cli
