#ifndef GOODPUT_SIM_MODELLING_HPP
#define GOODPUT_SIM_MODELLING_HPP

// How the jobs of a replay learn their own speed, and how they choose their batch by what they learned. The
// truth (application.hpp) is the same under each; a modelling is a struct with these functions:
//
//     Predictor                                    what the policy expects of options (GoodputPredictor)
//     begin(history, job)                          what is known before the first run
//     refit(history, subject)                      what the measurements in the history say
//     best_plan(model, efficiency, shape, limits)  the batch plan that a running job changes to

#include <string>
#include <string_view>
#include <variant>

#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/throughput_fit.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/job_history.hpp"

namespace goodput {

/// Best of all integer plans by a fitted model.
struct ExactPlans {
    /// Fills in the options that the policy sees.
    using Predictor = GoodputPredictor;

    /// The batch plan that a running job changes to.
    template <EfficiencyModel Efficiency>
    [[nodiscard]] static BestPlan best_plan(const TypeModel& model, const Efficiency& efficiency, Shape shape,
                                            const BatchLimits& limits) {
        return std::visit(
            [&](const auto& throughput) { return best_batch_plan(throughput, efficiency, shape, limits); },
            model.throughput);
    }
};

/// Seven parameters a GPU type, each type by itself.
class SeparateModels : public ExactPlans {
public:
    /// Nothing is known before the first run.
    static void begin(JobHistory&, const Job&) {}
    /// Fits what changed.
    template <class = void>
    void refit(JobHistory& history, std::string_view subject) {
        history.refit(fitter_, subject);
    }

private:
    ThroughputFitter fitter_;
};

/// Refined models of all GPU types of a job together, from its declared rates on.
class RefinedModels : public ExactPlans {
public:
    /// Declared rates count as measurements.
    template <class = void>
    void begin(JobHistory& history, const Job& job) {
        history.begin(job);
        refit(history, job.name);
    }
    /// Fits what changed.
    template <class = void>
    void refit(JobHistory& history, std::string_view subject) {
        history.refit(fitter_, subject);
    }

private:
    JobFitter<> fitter_;
};

}  // namespace goodput

#endif
