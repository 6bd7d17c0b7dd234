#ifndef GOODPUT_SIM_MODELLING_HPP
#define GOODPUT_SIM_MODELLING_HPP

// Defines how the jobs of a replay learn their own speed, and how they choose their batch from that. The
// ground truth (application.hpp) is the same for all. A modelling is a struct with these functions:
//
//     Predictor                                    what the policy expects of options (GoodputPredictor)
//     begin(job)                                   the history that the job shares with others; null: none
//     add(job, history, gpu_type, sample)          takes in a measurement and refits; the history from then
//                                                  on, as begin()
//     best_plan(model, efficiency, shape, limits)  the batch plan that a running job changes to
//     max_batch(stated, used)                      the largest total batch that the policy may plan with:
//                                                  what the job's owner stated, what the job has used

#include <algorithm>
#include <cstddef>
#include <variant>

#include "goodput/model/batch_plan.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/job_kinds.hpp"

namespace goodput::inline v0_1 {

/// Chooses the best of all integer plans by a fitted model.
struct ExactPlans {
    /// Predicts the options that the policy sees.
    using Predictor = GoodputPredictor;

    /// Returns the batch plan that a running job changes to.
    template <EfficiencyModel Efficiency>
    [[nodiscard]] static BestPlan best_plan(const TypeModel& model, const Efficiency& efficiency, Shape shape,
                                            const BatchLimits& limits) {
        return std::visit(
            [&](const auto& throughput) { return best_batch_plan(throughput, efficiency, shape, limits); },
            model.throughput);
    }

    /// Returns the larger number: a job that chooses its batch itself may use a larger one than its owner
    /// stated, which then counts.
    [[nodiscard]] static int max_batch(int stated, int used) { return std::max(stated, used); }
};

/// Fits refined models of all GPU types for a kind of jobs together, beginning with declared rates.
class RefinedModels : public ExactPlans {
public:
    /// Returns what jobs of its kind have shown, with its declared rates as measurements.
    JobHistory* begin(const Job& job) {
        kinds_.meet(job);
        kinds_.refit(job);
        return &kinds_.of(job);
    }
    /// Adds a measurement, and fits what changed.
    JobHistory* add(const Job& job, JobHistory&, std::size_t gpu_type, const ThroughputSample& sample) {
        kinds_.add(job, gpu_type, sample);
        kinds_.refit(job);
        return &kinds_.of(job);
    }

private:
    KindHistories kinds_;
};

}  // namespace goodput::inline v0_1

#endif
