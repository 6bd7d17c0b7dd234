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

/// Everything in a replay except the policy.
struct Scene {
    goodput::Cluster cluster{};                ///< with offers, fairness is relative to this cluster
    std::vector<goodput::RentOffer> offers{};  ///< if not empty, all nodes are rented
    std::vector<std::string> names{};          ///< names of the applications
    std::vector<goodput::Application> applications{};
    std::vector<goodput::Submission> submissions{};
    std::vector<goodput::Event> events{};
    goodput::FairShares shares{};  ///< shares of the cluster as it is at first
    std::string title{};
    std::vector<std::string> warnings{};  ///< inputs that are probably mistakes
};

/// The default of --cluster, with embedded and with measured applications.
inline constexpr const char* usual_cluster = "T4:6x4,A100:2x8,2080Ti:3x8";
inline constexpr const char* usual_measured_cluster = "aws:6x4,dgx-ext:2x8,rtx:3x8";

/// Makes the scene that the command names, from files or embedded. Throws std::invalid_argument for invalid
/// options and std::runtime_error for invalid files.
Scene make_scene(const ReplayCommand& command);

}  // namespace cli

#endif
