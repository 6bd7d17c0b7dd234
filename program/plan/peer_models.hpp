#ifndef GOODPUT_PROGRAM_PLAN_PEER_MODELS_HPP
#define GOODPUT_PROGRAM_PLAN_PEER_MODELS_HPP

// The models of `goodput plan --models` that only the program has, because they need the published fits in
// program/peers. The names mean the same as in `goodput replay`.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "peers/sia/published_models.hpp"
#include "peers/sia/separate_models.hpp"
#include "plan/plan_models.hpp"

namespace cli {

/// Predicts options in the same way as Sia's public simulator. Its search may find a batch above the
/// largest one. For a GPU type on which the job has not run, it may find a batch that fits only the type
/// where the job has run. A plan may have neither. In these cases the best batch by the job's exact models
/// replaces it; if there is none, the option gives nothing.
class PublishedPlanPredictor {
public:
    using DeclaresInputsOf = PublishedPlanPredictor;

    template <class Input>
    static void for_each_input(const goodput::Job& job, const goodput::JobModel& model, Input& input) {
        goodput::GoodputPredictor::for_each_input(job, model, input);
    }

    void operator()(const goodput::Job& job, const goodput::JobModel& model,
                    std::span<goodput::Option> options) {
        (*this)(job, model, options, job.gradient);
    }
    void operator()(const goodput::Job& job, const goodput::JobModel& model,
                    std::span<goodput::Option> options,
                    const std::optional<goodput::GradientStatistics>& gradient) {
        as_published_(job, model, options, gradient);
        if (job.adaptivity != goodput::Adaptivity::batch) return;
        for (goodput::Option& option : options) {
            const goodput::PoolShare& part = option.configuration.first();
            const goodput::TypeLimits& limits = job.types[part.gpu_type];
            const goodput::BatchPlan& plan = option.plan;
            if (option.goodput > 0 &&
                (plan.atomic_batch < limits.min_atomic_batch || plan.atomic_batch > limits.max_atomic_batch ||
                 plan.total(part.shape.gpus / limits.gpus_per_replica) > job.largest_batch()))
                take_exact_plan(job, model, option, gradient);
        }
    }

    /// Keeps the running plan as exact models do.
    static void keep_running_plan(const goodput::Job& job, const goodput::JobModel& model,
                                  goodput::Option& option) {
        goodput::GoodputPredictor::keep_running_plan(job, model, option);
    }

private:
    /// Keeps the option's published goodput, unless the exact plan gives nothing.
    void take_exact_plan(const goodput::Job& job, const goodput::JobModel& model, goodput::Option& option,
                         const std::optional<goodput::GradientStatistics>& gradient) {
        goodput::Option exact = option;
        exact_(job, model, std::span(&exact, 1), gradient);
        option.plan = exact.plan;
        if (!(exact.goodput > 0)) option.goodput = 0;
    }

    goodput::GoodputPredictor exact_;
    goodput::peers::PublishedPredictor as_published_;
};

/// Returns the models of that name: "refined" (also if the name is empty), "separate" (Pollux's seven
/// parameters for each GPU type separately, fitted exactly) or "published" (the same as in Sia's public
/// simulator, with its choice of batches and its projection to other GPU types). Throws
/// std::invalid_argument for other names.
[[nodiscard]] inline PlanModels plan_models(const std::string& name) {
    using namespace goodput;
    if (name.empty() || name == "refined") return refined_models();
    if (name == "separate")
        return {[] { return KindHistories(peers::ExactHistoryFitter(), false); },
                [] { return owned_predictor(GoodputPredictor()); }};
    if (name == "published")
        return {[] { return KindHistories(peers::PublishedHistoryFitter(), false); },
                [] { return owned_predictor(PublishedPlanPredictor()); }};
    bad_input("plan", "--models", name, "separate, published or refined");
}

}  // namespace cli

#endif
