#include "replay_options.hpp"

#include "goodput/core/error.hpp"

namespace cli {

namespace {

/// An option that one world only has.
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

void require_files(const ReplayCommand& command) {
    const auto require = [&](std::string_view option, const std::string& file) {
        if (file.empty())
            goodput::bad_input(option, "file", "missing", "given in the world " + command.world);
    };
    require("--workload", command.workload);
    require("--profiles", command.profiles);
}

}  // namespace cli
