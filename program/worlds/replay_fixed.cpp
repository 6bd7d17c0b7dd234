#include "worlds/replay_fixed.hpp"

#include <algorithm>
#include <array>

#include "goodput/core/error.hpp"
#include "peers/sia/fixed_sia_world.hpp"
#include "replay/checkpoint_rule.hpp"
#include "replay/contenders.hpp"
#include "replay/replay_in.hpp"
#include "replay/replay_options.hpp"
#include "worlds/time_shared_policies.hpp"

namespace cli {

namespace {

using goodput::peers::FixedSiaWorld;

const std::array fixed_policies = concatenated(
    gavel_programs<FixedSiaWorld>,
    std::array{
        gavel_isolated<FixedSiaWorld>,
        TimeSharedPolicy<FixedSiaWorld>{"hadar", [](auto& world, auto) { return at_posted_prices(world); }},
        in_turns<FixedSiaWorld, goodput::MaxMin>("time_shares"),
        in_turns<FixedSiaWorld, goodput::NashWelfare>("nash")});

/// The length of Gavel's rounds, which Hadar uses too.
constexpr double round_seconds = 360, reset_seconds = 1920;

}  // namespace

std::string fixed_policy_names() { return names_of(fixed_policies); }

std::optional<std::string_view> fixed_policy(std::string_view name) {
    for (const auto& policy : fixed_policies)
        if (policy.name == name) return policy.name;
    return std::nullopt;
}

PolicyReplay replay_fixed(std::string_view name, const Scene& scene, const ReplayCommand& command) {
    const auto policy = std::find_if(fixed_policies.begin(), fixed_policies.end(),
                                     [&](const auto& known) { return known.name == name; });
    const auto refuse = [&](std::string_view option, bool given) {
        if (given)
            goodput::bad_input(option, "policy", "'" + std::string(name) + "'",
                               "one of " + contender_names() + ", which have that option");
    };
    refuse("--policy-option", !command.policy_options.empty());
    refuse("--offers", !command.offers.empty());
    FixedSiaWorld world(scene.cluster, scene.applications, scene.submissions,
                        {.checkpoint_seconds = command.checkpoint_seconds,
                         .checkpoints = checkpoint_rule(command, scene),
                         .seed = command.interruptions_seed});
    const double seconds = command.own_rounds ? round_seconds : command.interval_seconds;
    return replay_in(
        world, policy->planner(world, {seconds, reset_seconds}), std::string(name), scene.cluster,
        scene.shares,
        {.interval_seconds = seconds, .moves_restart = command.moves == "restart", .events = scene.events});
}

}  // namespace cli
