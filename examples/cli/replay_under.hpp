#ifndef GOODPUT_EXAMPLES_CLI_REPLAY_UNDER_HPP
#define GOODPUT_EXAMPLES_CLI_REPLAY_UNDER_HPP

// The replay in Sia's world behind replay_with_models.hpp.

#include <string>
#include <utility>

#include "goodput/sim/sia_world.hpp"
#include "replay_in.hpp"
#include "replay_with_models.hpp"

namespace cli {

template <class Modelling, goodput::Policy P>
PolicyReplay replay_under(P policy, const std::string& name, const Scene& scene,
                          const ReplayCommand& command) {
    goodput::SiaWorld<Modelling> world(
        scene.cluster, scene.applications, scene.submissions,
        {.rigid = goodput::runs_rigid_jobs<P>, .checkpoint_seconds = command.checkpoint_seconds});
    return replay_in(world, std::move(policy), name, scene.cluster, scene.shares,
                     {.interval_seconds = command.interval_seconds,
                      .moves_restart = command.moves == "restart",
                      .events = scene.events});
}

}  // namespace cli

#endif
