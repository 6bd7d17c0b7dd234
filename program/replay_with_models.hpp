#ifndef GOODPUT_EXAMPLES_CLI_REPLAY_WITH_MODELS_HPP
#define GOODPUT_EXAMPLES_CLI_REPLAY_WITH_MODELS_HPP

// One replay under one policy. There is a source file for each modelling (replay_published.cpp and so on),
// because each compiles a scheduler and a fit of its own.

#include <string>

#include "any_policy.hpp"
#include "figures.hpp"
#include "scene.hpp"

namespace cli {

using AdaptivePolicy = AnyPolicy<false>;
using RigidPolicy = AnyPolicy<true>;

PolicyReplay replay_with_published_models(AdaptivePolicy policy, const std::string& name, const Scene& scene,
                                          const ReplayCommand& command);
PolicyReplay replay_with_published_models(RigidPolicy policy, const std::string& name, const Scene& scene,
                                          const ReplayCommand& command);
PolicyReplay replay_with_separate_models(AdaptivePolicy policy, const std::string& name, const Scene& scene,
                                         const ReplayCommand& command);
PolicyReplay replay_with_separate_models(RigidPolicy policy, const std::string& name, const Scene& scene,
                                         const ReplayCommand& command);
PolicyReplay replay_with_refined_models(AdaptivePolicy policy, const std::string& name, const Scene& scene,
                                        const ReplayCommand& command);
PolicyReplay replay_with_refined_models(RigidPolicy policy, const std::string& name, const Scene& scene,
                                        const ReplayCommand& command);

}  // namespace cli

#endif
