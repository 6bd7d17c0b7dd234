#ifndef GOODPUT_PARALLEL_PLANNED_GOODPUT_HPP
#define GOODPUT_PARALLEL_PLANNED_GOODPUT_HPP

// How good configurations are for large models: what their plans reach.

#include <optional>
#include <span>
#include <utility>

#include "goodput/model/efficiency.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/parallel/large_models.hpp"
#include "goodput/schedule/concepts.hpp"

namespace goodput {

/// Predicts large models by their plans: iterations/s * samples an iteration * what a sample is worth at that
/// batch (NoiseScaleEfficiency, 1 without gradient statistics). Other jobs are the inner predictor's.
template <PlanFinder Finder = PlanSearcher, OptionPredictor Inner = GoodputPredictor>
class PlannedGoodput {
public:
    /// Shares the book.
    explicit PlannedGoodput(LargeModels<Finder> large, Inner inner = {})
        : large_(std::move(large)), inner_(std::move(inner)) {}

    /// Fills in all options of a job.
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        if (large_.find(job.name))
            fill(job, options, job.gradient);
        else
            inner_(job, model, options);
    }
    /// The same with other gradient statistics than the job's.
    void operator()(const Job& job, const JobModel& model, std::span<Option> options,
                    const std::optional<GradientStatistics>& gradient) requires ForecastPredictor<Inner> {
        if (large_.find(job.name))
            fill(job, options, gradient);
        else
            inner_(job, model, options, gradient);
    }

    /// As the inner predictor does; a large model's plan is not a batch alone.
    void keep_running_plan(const Job& job, const JobModel& model, Option& option) requires
        requires(Inner& inner) {
        inner.keep_running_plan(job, model, option);
    }
    {
        if (!large_.find(job.name)) inner_.keep_running_plan(job, model, option);
    }

private:
    void fill(const Job& job, std::span<Option> options, const std::optional<GradientStatistics>& gradient) {
        const double batch = large_.find(job.name)->global_batch;
        const NoiseScaleEfficiency efficiency{static_cast<double>(job.initial_batch),
                                              gradient.value_or(GradientStatistics{})};
        for (Option& option : options) {
            const KnownPlan& known = large_.best_on(job.name, option.configuration);
            option.plan = {};
            if (!known.plan.stages.empty())
                option.plan = {known.plan.microbatch, known.plan.microbatches() - 1};
            option.goodput = known.throughput * batch * efficiency.efficiency(batch);
            option.knowledge = Knowledge::measured;
        }
    }

    LargeModels<Finder> large_;
    Inner inner_;
};

static_assert(ForecastPredictor<PlannedGoodput<>>);

}  // namespace goodput

#endif
