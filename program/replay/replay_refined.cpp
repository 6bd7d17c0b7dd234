#include "goodput/sim/modelling.hpp"
#include "replay/replay_under.hpp"

namespace cli {

PolicyReplay replay_with_refined_models(const goodput::ChosenPolicy& policy, const std::string& name,
                                        const Scene& scene, const ReplayCommand& command) {
    return replay_under<goodput::RefinedModels>(policy, name, scene, command);
}

}  // namespace cli
