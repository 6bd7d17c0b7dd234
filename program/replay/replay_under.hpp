#ifndef GOODPUT_PROGRAM_REPLAY_REPLAY_UNDER_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAY_UNDER_HPP

// The replay in Sia's world that replay_with_models.hpp declares.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "goodput/availability/node_renter.hpp"
#include "goodput/sim/sia_world.hpp"
#include "peers/pollux/pollux_band.hpp"
#include "replay/checkpoint_rule.hpp"
#include "replay/replay_in.hpp"
#include "replay/replay_with_models.hpp"

namespace cli {

/// Hides any renter behind one type, so that a replay is not compiled for each.
struct AnyRenter {
    std::function<std::span<const int>(const goodput::Snapshot&, std::span<const goodput::RentOffer>,
                                       std::span<const int>)>
        rent{};
};

template <class Predictor>
AnyRenter renter_for(const ReplayCommand& command, Predictor predictor) {
    const auto any = [](auto renter) {
        return AnyRenter{[kept = std::make_shared<decltype(renter)>(std::move(renter))](
                             const goodput::Snapshot& snapshot, std::span<const goodput::RentOffer> offers,
                             std::span<const int> rented) { return kept->rent(snapshot, offers, rented); }};
    };
    if (command.rent == "fixed") return any(goodput::RentEverything());
    if (command.rent == "pollux") return any(goodput::peers::PolluxBand<Predictor>(std::move(predictor)));
    return any(goodput::NodeRenter<Predictor>(command.hour_worth, std::move(predictor)));
}

template <class Modelling>
PolicyReplay replay_under(const goodput::ChosenPolicy& policy, const std::string& name, const Scene& scene,
                          const ReplayCommand& command) {
    goodput::SiaWorld<Modelling> world(
        scene.cluster, scene.applications, scene.submissions,
        {.rigid = policy.is_rigid() || command.sizes == "fixed",
         .checkpoint_seconds = command.checkpoint_seconds,
         .checkpoints = checkpoint_rule(command, scene),
         .work = name == "goodput-estimated" ? goodput::WorkReport::estimated : goodput::WorkReport::declared,
         .seed = command.interruptions_seed});
    const goodput::Cluster rented{.gpu_types = scene.cluster.gpu_types};
    return replay_in(world, policy, name, scene.offers.empty() ? scene.cluster : rented, scene.shares,
                     {.interval_seconds = command.interval_seconds,
                      .moves_restart = command.moves == "restart",
                      .events = scene.events,
                      .offers = scene.offers},
                     renter_for(command, world.predictor()));
}

}  // namespace cli

#endif
