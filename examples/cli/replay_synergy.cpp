#include "replay_synergy.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/core/error.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/sim/synergy_world.hpp"
#include "json_lines.hpp"
#include "replay_in.hpp"
#include "replay_rows.hpp"
#include "synergy_goodput.hpp"
#include "synergy_trace.hpp"
#include "workload.hpp"

namespace cli {

namespace {

using goodput::peers::SynergyAllocator;
using goodput::peers::SynergyPlacement;

template <class List>
std::string names_of(const List& list) {
    std::string names;
    for (const auto& entry : list) names.append(names.empty() ? "" : ", ").append(entry.name);
    return names;
}

/// Those of the given names, all if there are none.
template <class List>
std::vector<typename List::value_type> chosen(const List& list, const std::vector<std::string>& names,
                                              std::string_view kind) {
    if (names.empty()) return {list.begin(), list.end()};
    std::vector<typename List::value_type> found;
    for (const std::string& name : names) {
        const auto at =
            std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.name == name; });
        if (at == list.end())
            throw std::invalid_argument("there is no " + std::string(kind) + " '" + name +
                                        "' in the world synergy; known are " + names_of(list));
        found.push_back(*at);
    }
    return found;
}

/// What a command says of Sia's world, which this one has nothing of.
void refuse_sia_options(const ReplayCommand& command) {
    const auto refuse = [](bool given, std::string_view option) {
        if (given) goodput::bad_input(option, "world", "synergy", "sia, the only one with that option");
    };
    refuse(!command.policy_options.empty(), "--policy-option");
    refuse(!command.models.empty(), "--models");
    refuse(!command.events.empty(), "--events");
    refuse(command.checkpoint_seconds != ReplayCommand().checkpoint_seconds, "--checkpoint");
    refuse(command.rates != ReplayCommand().rates, "--rates");
    refuse(command.seed != ReplayCommand().seed, "--seed");
    refuse(!command.report.empty(), "--report");
}

goodput::Cluster cluster_of(const ReplayCommand& command) {
    goodput::Cluster cluster = parse_cluster(command.cluster.empty() ? "gpu:16x8" : command.cluster);
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

/// Traces whose jobs are all there at once were published with decisions at 1 s, 301 s and so on.
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
    // The place for other planners of this world than the published ones.
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
    std::size_t complete = 0, unfair = 0;
    for (const double rho : goodput::finish_time_fairness(replay.result, world)) {
        if (std::isnan(rho)) continue;
        replay.rho_worst = std::max(replay.rho_worst, rho);
        ++complete;
        if (rho > 1.05) ++unfair;
    }
    if (complete > 0) replay.unfair = static_cast<double>(unfair) / static_cast<double>(complete);
    return replay;
}

}  // namespace

std::string synergy_policy_names() { return names_of(synergy_policies); }
std::string synergy_host_names() { return names_of(synergy_hosts); }

int run_synergy_replay(const ReplayCommand& command, std::ostream& out) {
    refuse_sia_options(command);
    for (const auto& [option, file] :
         {std::pair("--workload", &command.workload), std::pair("--profiles", &command.profiles)})
        if (file->empty()) goodput::bad_input(option, "file", "missing", "given in the world synergy");
    const auto policies = chosen(synergy_policies, command.policies, "policy");
    const auto hosts = chosen(synergy_hosts, command.hosts, "host");
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
    std::vector<std::string> names;
    for (goodput::SynergyJob& job : jobs) {
        job.submitted_seconds /= command.load;
        names.push_back(job.name);
    }

    std::vector<PolicyReplay> replays;
    for (const SynergyPolicy& policy : policies)
        for (const SynergyHost& host : hosts) {
            if (!policy.order && host.mode) continue;
            replays.push_back(replay_host(policy, host, cluster, jobs, command));
            if (!command.json) continue;
            Json json = json_of(replays.back());
            if (command.jobs) json["completions"] = completions_of(replays.back(), names);
            write_line(out, json);
        }
    if (!command.json) write_tables(out, replays);
    out.flush();
    return out ? 0 : 1;
}

void refuse_synergy_options(const ReplayCommand& command) {
    const auto refuse = [](bool given, std::string_view option) {
        if (given) goodput::bad_input(option, "world", "sia", "synergy, the only one with that option");
    };
    refuse(!command.hosts.empty(), "--host");
    refuse(command.cores.has_value(), "--cores");
    refuse(command.memory_gib.has_value(), "--memory-gib");
    refuse(!command.placement.empty(), "--placement");
}

}  // namespace cli
