#include <utility>

#include "peers/separate_models.hpp"
#include "replay_under.hpp"

namespace cli {

PolicyReplay replay_with_separate_models(AdaptivePolicy policy, const std::string& name, const Scene& scene,
                                         const ReplayCommand& command) {
    return replay_under<goodput::peers::SeparateModels>(std::move(policy), name, scene, command);
}

PolicyReplay replay_with_separate_models(RigidPolicy policy, const std::string& name, const Scene& scene,
                                         const ReplayCommand& command) {
    return replay_under<goodput::peers::SeparateModels>(std::move(policy), name, scene, command);
}

}  // namespace cli
