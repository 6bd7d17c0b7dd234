#ifndef GOODPUT_PROGRAM_PLAN_PLAN_MODELS_HPP
#define GOODPUT_PROGRAM_PLAN_PLAN_MODELS_HPP

// How the jobs of a plan learn their speed, chosen at run time.

#include <functional>
#include <memory>
#include <utility>

#include "goodput/model/goodput_predictor.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/joints.hpp"

namespace cli {

/// A predictor of any type, with the object that it refers to.
struct OwnedPredictor {
    std::shared_ptr<void> part{};
    goodput::PredictorJoint joint{};
};

template <class Predictor>
[[nodiscard]] OwnedPredictor owned_predictor(Predictor predictor) {
    const auto part = std::make_shared<Predictor>(std::move(predictor));
    return {part, goodput::predictor_joint(*part)};
}

struct PlanModels {
    std::function<goodput::KindHistories()> histories{};  ///< makes the histories of a plan's jobs
    std::function<OwnedPredictor()> predictor{};          ///< makes the predictor of options
};

/// Models that cover all GPU types of a job together, shared by the jobs of a kind.
[[nodiscard]] inline PlanModels refined_models() {
    return {[] { return goodput::KindHistories(); },
            [] { return owned_predictor(goodput::GoodputPredictor()); }};
}

}  // namespace cli

#endif
