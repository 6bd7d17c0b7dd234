#ifndef GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_MODELS_HPP
#define GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_MODELS_HPP

// Sia's public simulator to the letter, as the peer to compare with: its fit (fit/published_fit.hpp), its
// grid of fifty batches (model/published_batch_grid.hpp), and what it expects on GPU types on which the job
// has not run:
//
//     goodput_T(K) = goodput_S(K) * rate_T / rate_S         S: the first type, in the cluster's order, on
//                                                           which the job has trained
//
// Before the first measurement every replica counts 1, whatever the type. Nothing else in the library needs
// these rules: GoodputPredictor and SeparateModels or RefinedModels do the same better.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "peers/sia/published_batch_grid.hpp"
#include "peers/sia/separate_models.hpp"

namespace goodput::peers {

/// Fills in plan, goodput and knowledge of a job's options as the policy of Sia's public simulator does.
/// GoodputPredictor answers for pipeline jobs, for jobs with a fixed batch (which that simulator replays
/// differently), and for models that are not of the published form.
class PublishedPredictor {
public:
    /// The same as GoodputPredictor, with models of the published form.
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        (*this)(job, model, options, job.gradient);
    }
    /// The same with gradient statistics other than the job's present ones.
    void operator()(const Job& job, const JobModel& model, std::span<Option> options,
                    const std::optional<GradientStatistics>& gradient) {
        std::size_t source = 0;
        // Nothing can be planned under the limits of a type that the job can no longer use.
        while (source < model.types.size() &&
               (model.types[source].most_replicas == 0 || job.types[source].max_atomic_batch == 0))
            ++source;
        const bool pipeline = std::any_of(job.types.begin(), job.types.end(),
                                          [](const TypeLimits& type) { return type.gpus_per_replica > 1; });
        const bool refined = std::any_of(model.types.begin(), model.types.end(), [](const TypeModel& type) {
            return type.refined() || (type.most_replicas > 0 && !is_valid(type));
        });
        if (source >= model.types.size() || pipeline || refined || job.adaptivity != Adaptivity::batch ||
            !goodput::measured_gradient(gradient)) {
            general_(job, model, options, gradient);
            return;
        }
        int source_node = 0;
        for (const Option& option : options)
            if (option.configuration.first().gpu_type == source)
                source_node = option.configuration.first().gpus_per_node;
        for (Option& option : options) {
            const std::size_t type = option.configuration.first().gpu_type;
            const bool own = type < model.types.size() && model.types[type].most_replicas > 0;
            const int gpus = option.configuration.gpus();
            // Take the batch from the nodes of the source type, or from the own type if no nodes of the
            // source are left.
            const int node = source_node > 0 ? source_node : option.configuration.first().gpus_per_node;
            const Shape shape = own ? option.configuration.first().shape
                                    : Shape{gpus / node + (gpus % node > 0 ? 1 : 0), gpus};
            const std::size_t by = own ? type : source;
            const BestPlan best =
                grid_.best_plan(std::get<PolluxThroughput>(model.types[by].throughput),
                                NoiseScaleEfficiency{static_cast<double>(job.initial_batch), *gradient},
                                shape, batch_limits(job, by));
            option.plan = best.plan;
            option.goodput = best.goodput;
            option.knowledge = own ? Knowledge::measured : Knowledge::projected;
            const double rate = job.types[type].reference_rate, its_rate = job.types[source].reference_rate;
            if (!own && rate > 0 && its_rate > 0) option.goodput *= rate / its_rate;
        }
    }

private:
    PublishedBatchGrid grid_{GridPrecision::single};
    GoodputPredictor general_;
};

/// How jobs learn and choose batches in that simulator (see modelling.hpp).
class PublishedModels : public EveryJobAlone<PublishedHistoryFitter> {
public:
    /// Fills in the options that the policy sees.
    using Predictor = PublishedPredictor;

    /// The goodput is that of the grid's plan. The plan itself may be cut down to the largest batch.
    [[nodiscard]] BestPlan best_plan(const TypeModel& model, const NoiseScaleEfficiency& efficiency,
                                     Shape shape, const BatchLimits& limits) {
        BestPlan best =
            grid_.best_plan(std::get<PolluxThroughput>(model.throughput), efficiency, shape, limits);
        // Rounding up may have passed the largest batch.
        const int parts = shape.gpus * (best.plan.accumulation_steps + 1);
        best.plan.atomic_batch = std::min(best.plan.atomic_batch, std::max(limits.max_batch / parts, 1));
        return best;
    }

    /// Returns the largest batch that its owner stated, whatever the job uses.
    [[nodiscard]] static int max_batch(int stated, int) { return stated; }

private:
    PublishedBatchGrid grid_;
};

}  // namespace goodput::peers

#endif
