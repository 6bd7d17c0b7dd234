#ifndef GOODPUT_PROGRAM_REPLAY_REPLAY_WITH_MODELS_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAY_WITH_MODELS_HPP

// Replays one policy. Each modelling has a source file of its own (replay_published.cpp and so on), because
// each compiles its own fit.

#include <string>

#include "goodput/schedule/chosen_scheduler.hpp"
#include "replay/scene.hpp"
#include "report/figures.hpp"

namespace cli {

PolicyReplay replay_with_published_models(const goodput::ChosenPolicy& policy, const std::string& name,
                                          const Scene& scene, const ReplayCommand& command);
PolicyReplay replay_with_separate_models(const goodput::ChosenPolicy& policy, const std::string& name,
                                         const Scene& scene, const ReplayCommand& command);
PolicyReplay replay_with_refined_models(const goodput::ChosenPolicy& policy, const std::string& name,
                                        const Scene& scene, const ReplayCommand& command);

}  // namespace cli

#endif
