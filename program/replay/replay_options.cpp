#include "replay/replay_options.hpp"

#include <utility>

#include "goodput/core/error.hpp"
#include "replay/contenders.hpp"
#include "replay/workload.hpp"
#include "worlds/replay_elasticflow.hpp"
#include "worlds/replay_fixed.hpp"
#include "worlds/replay_synergy.hpp"
#include "worlds/replay_tasks.hpp"
#include "worlds/replay_time_shared.hpp"

namespace cli {

namespace {

/// Options that only one world has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> world_options{{
    {"--policy-option", "sia"},
    {"--models", "sia"},
    {"--events", "sia"},
    {"--checkpoint", "sia"},
    {"--node-mtbf-h", "sia"},
    {"--checkpoints", "sia"},
    {"--availability", "sia"},
    {"--rent", "sia"},
    {"--offers", "sia"},
    {"--sizes", "sia"},
    {"--rates", "sia"},
    {"--seed", "sia"},
    {"--report", "sia"},
    {"--host", "synergy"},
    {"--cores", "synergy"},
    {"--memory-gib", "synergy"},
    {"--placement", "synergy"},
    {"--table", "shockwave"},
}};

std::string sia_policy_names() { return contender_names() + ", " + fixed_policy_names(); }

constexpr std::array worlds{
    ReplayWorld{"sia", 60, sia_policy_names, run_sia_replay},
    ReplayWorld{"gavel", 360, gavel_policy_names, run_gavel_replay},
    ReplayWorld{"synergy", 300, synergy_policy_names, run_synergy_replay},
    ReplayWorld{"shockwave", 120, shockwave_policy_names, run_shockwave_replay},
    ReplayWorld{"elasticflow", 60, elasticflow_policy_names, run_elasticflow_replay},
    ReplayWorld{"tasks", 3600, tasks_policy_names, run_tasks_replay},
};

}  // namespace

std::span<const ReplayWorld> replay_worlds() { return worlds; }

const ReplayWorld& world_called(std::string_view name) {
    const auto found = std::ranges::find(worlds, name, &ReplayWorld::name);
    if (found == worlds.end()) goodput::bad_input("--world", "world", name, "one of " + names_of(worlds));
    return *found;
}

void refuse_options_of_other_worlds(const ReplayCommand& command) {
    for (const auto& [option, world] : world_options)
        if (world != command.world && std::ranges::find(command.given, option) != command.given.end())
            goodput::bad_input(option, "world", command.world,
                               std::string(world) + ", the only one with that option");
}

std::string worlds_with(const std::string& policy) {
    std::vector<std::string_view> others;
    for (const ReplayWorld& world : worlds)
        if ((", " + world.policy_names() + ",").find(", " + policy + ",") != std::string::npos)
            others.push_back(world.name);
    return others.empty() ? "" : "; it runs in " + joined(others);
}

void require_files(const ReplayCommand& command) {
    const auto require = [&](std::string_view option, const std::string& file) {
        if (file.empty())
            goodput::bad_input(option, "file", "missing", "given in the world " + command.world);
    };
    require("--workload", command.workload);
    require("--profiles", command.profiles);
}

goodput::Cluster plain_cluster(const ReplayCommand& command, const std::string& usual) {
    goodput::Cluster cluster = parse_cluster(command.cluster.empty() ? usual : command.cluster);
    for (const goodput::Node& node : cluster.nodes)
        if (node.spot || node.interruptions_per_hour > 0)
            goodput::bad_input("--cluster", "node", "'" + node.name + "'",
                               "of the form TYPE:NODESxGPUS in the world " + command.world +
                                   ": only the world sia has nodes that are lost");
    return cluster;
}

}  // namespace cli
