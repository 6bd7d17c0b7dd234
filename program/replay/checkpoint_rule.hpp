#ifndef GOODPUT_PROGRAM_REPLAY_CHECKPOINT_RULE_HPP
#define GOODPUT_PROGRAM_REPLAY_CHECKPOINT_RULE_HPP

#include <algorithm>
#include <string>

#include "goodput/sim/sia_world.hpp"
#include "replay/scene.hpp"

namespace cli {

/// Returns the rule that --checkpoints names. Without it, checkpoints are free, or chosen if nodes are lost
/// at random.
inline goodput::CheckpointRule checkpoint_rule(const ReplayCommand& command, const Scene& scene) {
    if (command.checkpoints == "fixed") return goodput::CheckpointRule::fixed;
    const bool lost = command.offers.find('/') != std::string::npos ||
                      std::any_of(scene.cluster.nodes.begin(), scene.cluster.nodes.end(),
                                  [](const auto& node) { return node.interruptions_per_hour > 0; });
    const bool chosen = command.checkpoints == "chosen" || (command.checkpoints.empty() && lost);
    return chosen ? goodput::CheckpointRule::chosen : goodput::CheckpointRule::free;
}

}  // namespace cli

#endif
