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

/// An option that only one world has.
struct WorldOption {
    std::string_view name{};
    std::string_view world{};
    bool (*given)(const ReplayCommand& command) = nullptr;
};

constexpr std::array world_options{
    WorldOption{"--policy-option", "sia", [](const ReplayCommand& c) { return !c.policy_options.empty(); }},
    WorldOption{"--models", "sia", [](const ReplayCommand& c) { return !c.models.empty(); }},
    WorldOption{"--events", "sia", [](const ReplayCommand& c) { return !c.events.empty(); }},
    WorldOption{
        "--checkpoint", "sia",
        [](const ReplayCommand& c) { return c.checkpoint_seconds != ReplayCommand().checkpoint_seconds; }},
    WorldOption{"--node-mtbf-h", "sia", [](const ReplayCommand& c) { return c.node_mtbf_hours != 0; }},
    WorldOption{"--checkpoints", "sia", [](const ReplayCommand& c) { return !c.checkpoints.empty(); }},
    WorldOption{"--availability", "sia",
                [](const ReplayCommand& c) { return c.availability != ReplayCommand().availability; }},
    WorldOption{"--rent", "sia", [](const ReplayCommand& c) { return !c.rent.empty(); }},
    WorldOption{"--offers", "sia", [](const ReplayCommand& c) { return !c.offers.empty(); }},
    WorldOption{"--sizes", "sia", [](const ReplayCommand& c) { return c.sizes != ReplayCommand().sizes; }},
    WorldOption{"--rates", "sia", [](const ReplayCommand& c) { return c.rates != ReplayCommand().rates; }},
    WorldOption{"--seed", "sia", [](const ReplayCommand& c) { return c.seed != ReplayCommand().seed; }},
    WorldOption{"--report", "sia", [](const ReplayCommand& c) { return !c.report.empty(); }},
    WorldOption{"--host", "synergy", [](const ReplayCommand& c) { return !c.hosts.empty(); }},
    WorldOption{"--cores", "synergy", [](const ReplayCommand& c) { return c.cores.has_value(); }},
    WorldOption{"--memory-gib", "synergy", [](const ReplayCommand& c) { return c.memory_gib.has_value(); }},
    WorldOption{"--placement", "synergy", [](const ReplayCommand& c) { return !c.placement.empty(); }},
    WorldOption{"--table", "shockwave", [](const ReplayCommand& c) { return !c.table.empty(); }},
};

}  // namespace

void refuse_options_of_other_worlds(const ReplayCommand& command) {
    for (const WorldOption& option : world_options)
        if (option.world != command.world && option.given(command))
            goodput::bad_input(option.name, "world", command.world,
                               std::string(option.world) + ", the only one with that option");
}

std::string worlds_with(const std::string& policy) {
    const std::array policies_by_world{std::pair{"sia", contender_names() + ", " + fixed_policy_names()},
                                       std::pair{"gavel", gavel_policy_names()},
                                       std::pair{"synergy", synergy_policy_names()},
                                       std::pair{"shockwave", shockwave_policy_names()},
                                       std::pair{"elasticflow", elasticflow_policy_names()},
                                       std::pair{"tasks", tasks_policy_names()}};
    std::string worlds;
    for (const auto& [world, names] : policies_by_world)
        if ((", " + names + ",").find(", " + policy + ",") != std::string::npos)
            worlds.append(worlds.empty() ? "" : ", ").append(world);
    return worlds.empty() ? worlds : "; it runs in " + worlds;
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
