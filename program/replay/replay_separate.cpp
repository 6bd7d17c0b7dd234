#include "peers/sia/separate_models.hpp"
#include "replay/replay_under.hpp"

namespace cli {

PolicyReplay replay_with_separate_models(const goodput::ChosenPolicy& policy, const std::string& name,
                                         const Scene& scene, const ReplayCommand& command) {
    return replay_under<goodput::peers::SeparateModels>(policy, name, scene, command);
}

}  // namespace cli
