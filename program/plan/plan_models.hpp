#ifndef GOODPUT_PROGRAM_PLAN_PLAN_MODELS_HPP
#define GOODPUT_PROGRAM_PLAN_PLAN_MODELS_HPP

// What `goodput plan --models` chooses at run time: the same names mean the same as in `goodput replay`.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "peers/sia/published_models.hpp"
#include "peers/sia/separate_models.hpp"

namespace cli {

enum class PlanModels {
    refined,   ///< models of all GPU types together
    separate,  ///< Pollux's seven parameters of each GPU type alone, fitted exactly
    published  ///< the same fitted, and batches and other GPU types reckoned with, as in Sia's public
               ///< simulator
};

/// The models of that name, refined ones if there is none: as JobMemory and the C interface have them, under
/// every policy. Refuses other names (std::invalid_argument).
[[nodiscard]] inline PlanModels plan_models(const std::string& name) {
    if (name.empty() || name == "refined") return PlanModels::refined;
    if (name == "separate") return PlanModels::separate;
    if (name == "published") return PlanModels::published;
    goodput::bad_input("plan", "--models", name, "separate, published or refined");
}

/// Fits the history of one GPU type of a job.
struct PlanHistoryFitter {
    goodput::SeparateFit operator()(std::span<const goodput::ThroughputSample> samples,
                                    const goodput::PolluxThroughput* last, std::string_view subject) {
        return models == PlanModels::published ? published(samples, last, subject)
                                               : separate(samples, last, subject);
    }

    PlanModels models = PlanModels::separate;
    goodput::peers::ExactHistoryFitter separate{};
    goodput::peers::PublishedHistoryFitter published{};
};

/// The histories of a plan's jobs: by kind where models are refined, and else of every job by itself.
[[nodiscard]] inline goodput::KindHistories plan_histories(PlanModels models) {
    if (models == PlanModels::refined) return {};
    return goodput::KindHistories(PlanHistoryFitter{.models = models}, false);
}

/// Says what options give. The published search may find a batch above the largest one, or, for a GPU type
/// on which the job has not run, one that fits only the type where it has: neither may a plan have. The best
/// batch by the job's exact models stands instead; where there is none the option gives nothing.
class PlanPredictor {
public:
    using DeclaresInputsOf = PlanPredictor;

    explicit PlanPredictor(PlanModels models = PlanModels::separate)
        : published_(models == PlanModels::published) {}

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
        if (!published_) {
            exact_(job, model, options, gradient);
            return;
        }
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

    /// As exact models do: what a job runs with is its own.
    static void keep_running_plan(const goodput::Job& job, const goodput::JobModel& model,
                                  goodput::Option& option) {
        goodput::GoodputPredictor::keep_running_plan(job, model, option);
    }

private:
    /// What the option gives stays as published, unless it gives nothing.
    void take_exact_plan(const goodput::Job& job, const goodput::JobModel& model, goodput::Option& option,
                         const std::optional<goodput::GradientStatistics>& gradient) {
        goodput::Option exact = option;
        exact_(job, model, std::span(&exact, 1), gradient);
        option.plan = exact.plan;
        if (!(exact.goodput > 0)) option.goodput = 0;
    }

    bool published_;
    goodput::GoodputPredictor exact_;
    goodput::peers::PublishedPredictor as_published_;
};

}  // namespace cli

#endif
