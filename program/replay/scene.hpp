#ifndef GOODPUT_PROGRAM_REPLAY_SCENE_HPP
#define GOODPUT_PROGRAM_REPLAY_SCENE_HPP

#include <string>
#include <vector>

#include "goodput/availability/renting.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/sim/application.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/fair_share.hpp"
#include "replay/replay.hpp"

namespace cli {

/// Everything that a replay is made of but the policy.
struct Scene {
    goodput::Cluster cluster{};                ///< where there are offers, what fairness is relative to
    std::vector<goodput::RentOffer> offers{};  ///< if not empty, the nodes that there are are rented
    std::vector<std::string> names{};          ///< of the applications
    std::vector<goodput::Application> applications{};
    std::vector<goodput::Submission> submissions{};
    std::vector<goodput::Event> events{};
    goodput::FairShares shares{};  ///< of the cluster as it is at first
    std::string title{};
    std::vector<std::string> warnings{};  ///< what may not be meant as it is given
};

/// What --cluster is where it is left out, with and without --profiles.
inline constexpr const char* usual_cluster = "T4:6x4,A100:2x8,2080Ti:3x8";
inline constexpr const char* usual_measured_cluster = "aws:6x4,dgx-ext:2x8,rtx:3x8";

/// What the command names, read from files or embedded. std::invalid_argument for options that make no sense,
/// std::runtime_error for files that do not.
Scene make_scene(const ReplayCommand& command);

}  // namespace cli

#endif
