#include <utility>

#include "goodput/sim/modelling.hpp"
#include "replay_under.hpp"

namespace cli {

PolicyReplay replay_with_refined_models(AdaptivePolicy policy, const std::string& name, const Scene& scene,
                                        const ReplayCommand& command) {
    return replay_under<goodput::RefinedModels>(std::move(policy), name, scene, command);
}

PolicyReplay replay_with_refined_models(RigidPolicy policy, const std::string& name, const Scene& scene,
                                        const ReplayCommand& command) {
    return replay_under<goodput::RefinedModels>(std::move(policy), name, scene, command);
}

}  // namespace cli
